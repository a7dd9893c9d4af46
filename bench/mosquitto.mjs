// A broker of one's own, for the time of a test or a measurement: on a port and with a directory of
// its own, nothing written to disk, nothing to collide with.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

// Debian has it where the PATH of users may not look.
const PATH = [process.env.PATH, '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin']
  .filter(Boolean)
  .join(path.delimiter);
const PROGRAM = 'mosquitto';
const START_MS = 10_000;
/** A port that was free may be taken by the time that the broker wants it. */
const ATTEMPTS = 3;

export const HOW_TO_INSTALL =
  'mosquitto is not installed: apt-get install mosquitto, or brew install mosquitto';

/** The installed broker's version, or undefined. */
export function mosquittoVersion() {
  const options = { encoding: 'utf8', env: { ...process.env, PATH } };
  const { stdout, error } = spawnSync(PROGRAM, ['-h'], options);
  return error ? undefined : /version (\S+)/.exec(stdout)?.[1];
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function accepts(port) {
  return new Promise((resolve) => {
    const connection = net.connect(port, '127.0.0.1');
    connection.once('error', () => resolve(false));
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
  });
}

async function startOnce() {
  const port = await freePort();
  const directory = mkdtempSync(path.join(os.tmpdir(), 'mosquitto-'));
  const config = path.join(directory, 'mosquitto.conf');
  const settings = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    'persistence false',
    'log_dest stderr',
    'log_type error',
    'log_type warning',
    // No message is dropped because a reader is slower than a writer.
    'max_queued_messages 0',
  ];
  writeFileSync(config, `${settings.join('\n')}\n`);
  const broker = spawn(PROGRAM, ['-c', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH },
  });
  let output = '';
  broker.stderr.on('data', (data) => {
    output += data;
  });
  let ended;
  const gone = new Promise((resolve) => {
    broker.once('error', (error) => resolve({ error: error.message }));
    broker.once('exit', (status, signal) => resolve({ status, signal }));
  }).then((how) => {
    ended = how;
  });

  const kill = () => broker.kill('SIGKILL');
  process.once('exit', kill);
  async function stop() {
    process.off('exit', kill);
    kill();
    await gone;
    rmSync(directory, { recursive: true, force: true });
  }

  const deadline = Date.now() + START_MS;
  while (!ended && Date.now() < deadline) {
    if (await accepts(port)) return { url: `mqtt://127.0.0.1:${port}`, pid: broker.pid, stop };
    await wait(10);
  }
  const what = ended ? JSON.stringify(ended) : 'no connection';
  await stop();
  throw new Error(`${PROGRAM} did not start: ${what}\n${output}`);
}

/** Resolves to `{ url, pid, stop }` when the broker takes connections. */
export async function startMosquitto() {
  if (!mosquittoVersion()) throw new Error(HOW_TO_INSTALL);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce();
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
