// A Redis of one's own, for the time of a test or a measurement: on a socket in a directory of its
// own, nothing written to disk, nothing to collide with.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const PROGRAM = 'redis-server';
const START_MS = 10_000;

export const HOW_TO_INSTALL =
  'redis-server is not on the PATH: apt-get install redis-server, or brew install redis';

/** The installed server's version, or undefined. */
export function redisVersion() {
  const { stdout, status } = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  return status === 0 ? /v=(\S+)/.exec(stdout)?.[1] : undefined;
}

function accepts(socket) {
  return new Promise((resolve) => {
    const connection = net.connect(socket);
    connection.once('error', () => resolve(false));
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
  });
}

/** Resolves to `{ socket, stop }` when the server takes connections; ioredis takes the socket. */
export async function startRedis() {
  if (!redisVersion()) throw new Error(HOW_TO_INSTALL);
  // A socket's path has little more than 100 characters, which a deep directory would use up.
  const directory = mkdtempSync(path.join(os.tmpdir(), 'redis-'));
  const socket = path.join(directory, 'socket');
  const settings = {
    port: '0',
    unixsocket: socket,
    dir: directory,
    save: '',
    appendonly: 'no',
    daemonize: 'no',
    loglevel: 'warning',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const server = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  let ended;
  const gone = new Promise((resolve) => {
    server.once('error', (error) => resolve({ error }));
    server.once('exit', (status, signal) => resolve({ status, signal }));
  }).then((how) => {
    ended = how;
  });

  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  async function stop() {
    process.off('exit', kill);
    kill();
    await gone;
    rmSync(directory, { recursive: true, force: true });
  }

  const deadline = Date.now() + START_MS;
  while (!ended && Date.now() < deadline) {
    if (await accepts(socket)) return { socket, stop };
    await wait(10);
  }
  const what = ended ? JSON.stringify(ended) : 'no connection';
  await stop();
  throw new Error(`${PROGRAM} did not start: ${what}\n${output}`);
}
