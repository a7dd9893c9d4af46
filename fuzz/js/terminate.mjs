// node fuzz/js/terminate.mjs [--times N] [--seed S]
//
// Eight workers at once, each terminated abruptly in the middle of its work, N times (1000) in all:
// while they pack, unpack, read a stream, or are inside a getter, a toJSON or an extension. The main
// thread works on beside them, and nothing may crash, leak or come out wrong.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { collect, generator, stillWorks } from '../../__test__/helpers.mjs';

const AT_ONCE = 8;
/** What the process may grow by, in MB, from a quarter of the way to the end. */
const MAX_GROWTH = 64;

const { values: given } = parseArgs({
  options: { seed: { type: 'string' }, times: { type: 'string' } },
});
const times = Number(given.times ?? 1000);
const seed = Number(given.seed ?? (Math.random() * 2 ** 31) | 0);
const random = generator(seed);

/** What a worker does until it is ended. */
const WORK = {
  packing: `for (let i = 0; ; i++) pack({ i, s: 'text é '.repeat(i % 300), l: [1, 0.5, { k: i }],
    b: Buffer.alloc(i % 50_000), ['k' + i]: i });`,
  unpacking: `const wires = [pack(Array.from({ length: 3000 }, (_, i) => ({ i, s: 's' + i }))),
      pack({ a: 'é'.repeat(9000) }), pack(new Array(5000).fill(0.5)), Buffer.alloc(900, 0x81)];
    for (let i = 0; ; i++) { try { unpack(wires[i % 4]); } catch {} }`,
  'packing records': `const packr = new Packr({ structuredClone: true });
    for (let i = 0; ; i++) packr.unpack(packr.pack([{ i, ['k' + (i % 90)]: new Set([i]) }, 2n ** 80n]));`,
  'making codecs': 'for (;;) new Packr({ moreTypes: true }).pack({ a: new Map([[1, 2]]) });',
  'reading a stream': `const wire = pack(Array.from({ length: 300 }, (_, i) => ({ i })));
    const chunks = function* () { for (;;) { yield wire.subarray(0, 500); yield wire.subarray(500); } };
    for (const value of unpackIter(chunks())) if (value.length !== 300) throw new Error('wrong');`,
  'inside a getter': 'pack({ a: "x", get g() { inside(); for (;;); } });',
  'inside toJSON': 'pack([new Array(9000).fill("y"), { toJSON() { inside(); for (;;); } }]);',
  'inside an extension that packs':
    'new Packr({ extensions: [{ Class: Date, type: 1, pack() { inside(); for (;;); } }] }).pack([1, new Date()]);',
  'inside an extension that unpacks': `new Packr({ extensions: [{ type: 1, unpack() { inside(); for (;;); } }] })
    .unpack(Buffer.from('93a161d40101a162', 'hex'));`,
  'inside a call within a call':
    'pack({ get a() { unpack(pack({ b: 1 })); return pack({ get c() { inside(); for (;;) unpack(pack([1])); } }); } });',
};

const source = (work) => `
  const { parentPort, workerData } = require('node:worker_threads');
  const { pack, Packr, unpack, unpackIter } = require(workerData);
  const inside = () => parentPort.postMessage('inside');
  ${work.includes('inside()') ? '' : 'inside();'}
  ${work}`;

const index = fileURLToPath(new URL('../../index.js', import.meta.url));
const names = Object.keys(WORK);
const counts = new Map(names.map((name) => [name, 0]));

async function one(number) {
  const name = names[number % names.length];
  const worker = new Worker(source(WORK[name]), { eval: true, workerData: index });
  await new Promise((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', (code) => reject(new Error(`${name}: exit ${code} before its end`)));
  });
  const wait = random.below(4) * random.below(6);
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  const code = await worker.terminate();
  if (code !== 1) throw new Error(`${name}: exit code ${code}`);
  counts.set(name, counts.get(name) + 1);
}

console.log(`seed ${seed}`);
const start = performance.now();
let next = 0;
let before;

async function lane() {
  while (next < times) {
    await one(next++);
    stillWorks();
    if (before === undefined && next >= times / 4) {
      collect();
      before = process.memoryUsage.rss();
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, lane));
collect();
const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
for (const [name, count] of counts) console.log(`${String(count).padStart(5)}  ${name}`);
const seconds = ((performance.now() - start) / 1000).toFixed(0);
console.log(`${times} workers terminated in ${seconds} s, RSS grew by ${grown.toFixed(1)} MB`);
if (grown > MAX_GROWTH) {
  console.error(`that is more than ${MAX_GROWTH} MB`);
  process.exitCode = 1;
}
