// node fuzz/js/shapes.mjs [--count N]
//
// A million shapes and a million keys that come once, through each codec and both ways, and what they
// leave: memory, and the time of normal messages behind them, next to a codec that was spared.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as compat from '../../compat/msgpackr.mjs';
import { collect } from '../../__test__/helpers.mjs';
import { pack, Packr, unpack } from '../../index.js';

const { values: given } = parseArgs({
  options: { child: { type: 'string' }, count: { type: 'string' } },
});
const count = Number(given.count ?? 1_000_000);

const CODECS = {
  'the functions': () => ({ pack, unpack }),
  'Packr, useRecords': () => new Packr({ useRecords: true }),
  'Packr, sequential': () => new Packr({ sequential: true, useRecords: true }),
  'Packr, structuredClone': () => new Packr({ structuredClone: true }),
  'compat/msgpackr': () => new compat.Packr(),
};

/** What comes once, by its number: many shapes of one key, of several, and keys of dictionaries. */
const FLOODS = {
  shapes: (i) => ({ [`a${i}`]: i, same: true }),
  'nested shapes': (i) => ({ same: { [`b${i}`]: { [`c${i}`]: 1 } }, list: [{ [`d${i}`]: 1 }] }),
  keys: (i) => Object.fromEntries(Array.from({ length: 200 }, (_, k) => [`key ${200 * i + k}`, k])),
};

/** Values of each that are packed in one call. */
const TOGETHER = 100;
const NORMAL = {
  id: 7,
  name: 'a normal message',
  tags: ['x', 'y'],
  position: { x: 1.5, y: 2.5 },
  items: Array.from({ length: 20 }, (_, i) => ({ i, label: `item ${i}`, price: i / 4 })),
};

const total = () => {
  collect();
  const { external, heapUsed } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};

/**
 * Microseconds for a normal message there and back by each of two codecs, in turns, so that what else
 * the machine does meets both: the best of many short batches.
 */
function normalTimes(codecs) {
  const best = codecs.map(() => Infinity);
  for (let batch = 0; batch < 300; batch++) {
    for (const [at, codec] of codecs.entries()) {
      const start = performance.now();
      for (let i = 0; i < 100; i++) codec.unpack(codec.pack(NORMAL));
      best[at] = Math.min(best[at], (1000 * (performance.now() - start)) / 100);
    }
  }
  return best;
}

function child(codecName, floodName) {
  const codec = CODECS[codecName]();
  const flood = FLOODS[floodName];
  // The same that no flood reaches.
  const control = codecName === 'the functions' ? new Packr() : CODECS[codecName]();
  const codecs = [codec, control];
  for (let i = 0; i < 3; i++) normalTimes(codecs);
  const [ours, theirs] = normalTimes(codecs);
  const before = { memory: total(), rss: process.memoryUsage.rss() };
  const each = floodName === 'keys' ? 200 : floodName === 'shapes' ? 1 : 4;
  const calls = count / each / TOGETHER;
  for (let call = 0; call < calls; call++) {
    const values = Array.from({ length: TOGETHER }, (_, k) => flood(TOGETHER * call + k));
    const back = codec.unpack(codec.pack(values));
    if (back.length !== TOGETHER) throw new Error('wrong');
  }
  const first = performance.now();
  codec.unpack(codec.pack(NORMAL));
  const next = 1000 * (performance.now() - first);
  const after = { memory: total(), rss: process.memoryUsage.rss() };
  const [oursThen, theirsThen] = normalTimes(codecs);
  console.log(
    JSON.stringify({
      ratio: oursThen / theirsThen / (ours / theirs),
      memory: after.memory - before.memory,
      next,
      rss: (after.rss - before.rss) / 2 ** 20,
      usual: ours,
    }),
  );
}

if (given.child !== undefined) child(...JSON.parse(given.child));
else {
  console.log(`Node.js ${process.version}, ${count} that come once`);
  console.log('| codec | flood | normal messages then | the very next | kept | RSS |');
  console.log('|---|---|---|---|---|---|');
  const file = fileURLToPath(import.meta.url);
  for (const codec of Object.keys(CODECS)) {
    for (const flood of Object.keys(FLOODS)) {
      const args = [
        '--expose-gc',
        file,
        '--count',
        count,
        '--child',
        JSON.stringify([codec, flood]),
      ];
      const { status, stdout, stderr } = spawnSync(process.execPath, args.map(String), {
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${codec}, ${flood}: ${stderr}`);
      const { ratio, memory, next, rss, usual } = JSON.parse(stdout);
      console.log(
        `| ${codec} | ${flood} | ${ratio.toFixed(2)} | ${next.toFixed(0)} µs (usually ${usual.toFixed(0)}) ` +
          `| ${memory.toFixed(1)} MB | ${rss.toFixed(0)} MB |`,
      );
    }
  }
}
