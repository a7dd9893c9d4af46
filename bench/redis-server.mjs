// A Redis of one's own, for the time of a test or a measurement: on a socket in a directory of its
// own, nothing written to disk, nothing to collide with.

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { startServer } from './server.mjs';

const PROGRAM = 'redis-server';

export const HOW_TO_INSTALL =
  'redis-server is not on the PATH: apt-get install redis-server, or brew install redis';

/** The installed server's version, or undefined. */
export function redisVersion() {
  const { stdout, status } = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  return status === 0 ? /v=(\S+)/.exec(stdout)?.[1] : undefined;
}

/** Resolves to `{ socket, stop }` when the server takes connections; ioredis takes the socket. */
export async function startRedis() {
  if (!redisVersion()) throw new Error(HOW_TO_INSTALL);
  const { address, stop } = await startServer(PROGRAM, (directory) => {
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
    return { address: { path: socket }, args };
  });
  return { socket: address.path, stop };
}
