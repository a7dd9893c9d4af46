// Measures memory, each figure in a process of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runChild } from './spawn.mjs';
import { findWorkload } from './workloads.mjs';

const PEAK_OF = { quick: ['growth-1mb'], full: ['growth-10mb', 'growth-100mb', 'array-1m'] };
const MESSAGES_KEPT = { quick: 100, full: 10_000 };
const CALLS_IN_ONE_TURN = {
  quick: [['event', 100_000]],
  // The larger ones are past what shares a slab, and stand for memory that only a finalizer frees.
  full: [
    ['event', 1_000_000],
    ['records', 100_000],
    ['users', 2000],
  ],
};

// V8 resizes its young generation when it sees fit, by as much as a leak would come to, and fills a
// large one page by page. The smallest is full after the warm-up and stays as it is.
const FIXED_YOUNG = ['--min-semi-space-size=1', '--max-semi-space-size=1'];

function measurePeaks(node, names, folder) {
  const codecs = ['msgpack-rs', 'JSON'];
  return names.flatMap((name) => {
    const { title } = findWorkload(name);
    const file = path.join(folder, name);
    runChild(node, 'prepare', { workload: name, file });
    return ['pack', 'unpack'].flatMap((direction) =>
      codecs.map((codec) => {
        const answer = runChild(node, 'peak', { file, direction, codec });
        return { workload: name, title, direction, codec, ...answer };
      }),
    );
  });
}

export function measureMemory(node, quick) {
  const size = quick ? 'quick' : 'full';
  const folder = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-bench-'));
  try {
    return {
      peak: measurePeaks(node, PEAK_OF[size], folder),
      retention: runChild(node, 'retention', { messages: MESSAGES_KEPT[size] }),
      flat: CALLS_IN_ONE_TURN[size].flatMap(([workload, calls]) =>
        ['pack', 'unpack'].map((direction) => {
          const answer = runChild(node, 'flat', { workload, direction, calls }, FIXED_YOUNG);
          return { workload, title: findWorkload(workload).title, direction, calls, ...answer };
        }),
      ),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
