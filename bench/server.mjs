// A server of one's own, for the time of a test or a measurement: a process in a directory of its
// own, gone with the one that started it.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const START_MS = 10_000;

function accepts(address) {
  return new Promise((resolve) => {
    const connection = net.connect(address);
    connection.once('error', () => resolve(false));
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
  });
}

/**
 * Starts `program`. `configure(directory)` gives its `args` and the `address` where it will take
 * connections, as net.connect has it. Resolves to `{ address, pid, stop }` when it does.
 */
export async function startServer(program, configure, { env = process.env } = {}) {
  // A socket's path has little more than 100 characters, which a deep directory would use up.
  const directory = mkdtempSync(path.join(os.tmpdir(), `${program}-`));
  const { address, args } = configure(directory);
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  let ended;
  const gone = new Promise((resolve) => {
    server.once('error', (error) => resolve({ error: error.message }));
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
    if (await accepts(address)) return { address, pid: server.pid, stop };
    await wait(10);
  }
  const what = ended ? JSON.stringify(ended) : 'no connection';
  await stop();
  throw new Error(`${program} did not start: ${what}\n${output}`);
}
