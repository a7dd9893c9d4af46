// Everything is measured in a process of its own: no codec meets the heap, the hidden classes or
// the compiled code that another measurement left behind.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const TEN_MINUTES = 600_000;

/** Runs one of children/ and returns its answer, or `{ died }` with what became of it. */
export function runChild(node, name, task = {}, flags = []) {
  const script = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const { status, signal, error, stdout } = spawnSync(
    node,
    ['--expose-gc', ...flags, script, JSON.stringify(task)],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], timeout: TEN_MINUTES },
  );
  if (error || status !== 0) {
    return { died: error?.message ?? `the process ended with ${signal ?? `status ${status}`}` };
  }
  return JSON.parse(stdout.trim().split('\n').at(-1));
}
