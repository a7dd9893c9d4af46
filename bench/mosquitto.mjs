// A broker of one's own, for the time of a test or a measurement: on a port and with a directory of
// its own, nothing written to disk, nothing to collide with.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { startServer } from './server.mjs';

// Debian has it where the PATH of users may not look.
const PATH = [process.env.PATH, '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin']
  .filter(Boolean)
  .join(path.delimiter);
const PROGRAM = 'mosquitto';
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

async function startOnce() {
  const port = await freePort();
  const configure = (directory) => {
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
    return { address: { port, host: '127.0.0.1' }, args: ['-c', config] };
  };
  const { pid, stop } = await startServer(PROGRAM, configure, { env: { ...process.env, PATH } });
  return { url: `mqtt://127.0.0.1:${port}`, pid, stop };
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
