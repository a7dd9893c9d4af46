// npm run soak -- --minutes N [--seed S]
//
// Mixed work, checked against peers throughout: the functions, Packr, streams over a socket, worker
// threads that end, damaged bytes, large messages, ever-new shapes and keys, results that are kept for
// a while and must not have changed. Memory and handles are sampled after a collection, and must be
// flat: what the least-squares line through the samples behind the first third rises by, from its
// beginning to its end, has a bound.

import net from 'node:net';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { decode as peerDecode, encode as peerEncode } from '@msgpack/msgpack';
import * as msgpackr from 'msgpackr';
import { collect, sameBytes, stillWorks } from '../../__test__/helpers.mjs';
import { settle } from '../../__test__/packr-helpers.mjs';
import {
  pack,
  packInto,
  Packr,
  unpack,
  unpackFrom,
  unpackIter,
  unpackMultiple,
  writeTo,
} from '../../index.js';
import { createRandom } from './random.mjs';
import { same } from './same.mjs';

/** What the line may rise by, in MB; handles must be as many as at the start. */
const BOUNDS = { rss: 64, heap: 12, external: 12 };
const SAMPLES = 60;

const { values: given } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' } },
});
const minutes = Number(given.minutes ?? 1);
const seed = Number(given.seed ?? (Math.random() * 2 ** 31) | 0);
if (!(minutes > 0)) throw new Error('npm run soak -- --minutes N');

const index = fileURLToPath(new URL('../../index.js', import.meta.url));
const theirs = () =>
  new msgpackr.Packr({ int64AsType: 'auto', mapsAsObjects: true, moreTypes: true });
const ours = new Packr({ int64: 'auto', mapsAsObjects: true, moreTypes: true });
const target = Buffer.alloc(1 << 20);

/** Results that are kept, with what they have to be. */
const kept = [];
const KEPT = 100;

function functions(random) {
  const value = random.plain();
  const wire = pack(value);
  sameBytes(wire, Buffer.from(peerEncode(value)));
  same(peerDecode(wire), value);
  const end = packInto(value, target, 7);
  const { value: back, end: there } = unpackFrom(target, 7);
  same([back, there], [value, end]);
  kept[random.below(KEPT)] = { wire, back, value };
  const old = kept[random.below(KEPT)];
  if (old !== undefined) {
    same(old.back, old.value);
    same(unpack(old.wire), old.value);
  }
}

function packr(random) {
  const value = random.plain();
  same(theirs().unpack(ours.pack(value)), value);
  same(ours.unpack(theirs().pack(value)), value);
}

function damaged(random) {
  const message = random.damage(random.message());
  for (const read of [unpack, unpackMultiple, (bytes) => ours.unpack(bytes)]) {
    settle(() => read(message));
  }
  stillWorks();
}

/** What is only kept if it is worth it: shapes and keys that come once. */
function fresh(random) {
  const n = random();
  const value = { [`shape ${n}`]: 1, [`other ${n % 1000}`]: { [`${n}`]: `text ${n}` } };
  const dictionary = Object.fromEntries(random.many(300, (i) => [`key ${n} ${i}`, `value ${i}`]));
  for (const each of [value, dictionary]) {
    same(unpack(pack(each)), each);
    same(ours.unpack(ours.pack(each)), each);
  }
}

function large(random) {
  const rows = random.many(20_000, (i) => ({ i, name: `row ${i % 100}`, score: i / 8, ok: true }));
  const wire = pack(rows);
  same(unpack(wire), rows);
  if (random.oneIn(4)) same(peerDecode(wire), rows);
}

function codecs(random) {
  const value = random.plain();
  const packr = new Packr({
    sortKeys: random.oneIn(2),
    useRecords: random.oneIn(2),
    maps: 'object',
  });
  same(packr.unpack(packr.pack(value)), value);
}

/** Values to an echoing server and back. */
async function socket(random) {
  const values = random.many(200, () => random.plain() ?? 0);
  const server = net.createServer((socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect(server.address().port, '127.0.0.1');
  await once(client, 'connect');
  for (const value of values) writeTo(client, value);
  process.nextTick(() => client.end());
  const back = [];
  for await (const value of unpackIter(client)) back.push(value);
  server.close();
  await once(server, 'close');
  same(back, values);
}

async function worker(random) {
  const value = random.plain();
  const script = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { pack, unpack } = require(workerData.index);
    let value = unpack(workerData.wire);
    for (let i = 0; i < 50; i++) value = unpack(pack(value));
    parentPort.postMessage(pack(value));`;
  const wire = pack(value);
  const thread = new Worker(script, { eval: true, workerData: { index, wire } });
  const exit = once(thread, 'exit');
  const [message] = await once(thread, 'message');
  sameBytes(Buffer.from(message), wire);
  if (random.oneIn(2)) await thread.terminate();
  await exit;
}

/** How often each comes in a hundred. */
const WORK = [
  [functions, 40],
  [packr, 20],
  [damaged, 20],
  [fresh, 10],
  [codecs, 5],
  [large, 2],
  [socket, 2],
  [worker, 1],
];
const table = WORK.flatMap(([work, share]) => Array(share).fill(work));
const counts = new Map(WORK.map(([work]) => [work, 0]));

const MB = 2 ** 20;
const samples = [];

async function sample(at) {
  // Sockets close a turn or two later.
  await new Promise((resolve) => setTimeout(resolve, 50));
  collect();
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage();
  samples.push({
    at,
    rss: rss / MB,
    heap: heapUsed / MB,
    external: (external + arrayBuffers) / MB,
    handles: process.getActiveResourcesInfo().length,
  });
}

/** What the line through these rises by over all of them. */
function rise(list, field) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(list.map(({ at }) => at)), mean(list.map((each) => each[field]))];
  const xx = mean(list.map(({ at }) => (at - x) ** 2));
  const xy = mean(list.map((each) => (each.at - x) * (each[field] - y)));
  return (xy / xx) * (list.at(-1).at - list[0].at);
}

console.log(`${minutes} minutes, seed ${seed}`);
const start = performance.now();
const elapsed = () => (performance.now() - start) / 60_000;
let round = 0;
await sample(0);
while (elapsed() < minutes) {
  const until = (samples.length / SAMPLES) * minutes;
  while (elapsed() < until) {
    const random = createRandom(seed + Math.imul(round++, 0x9e3779b1));
    const work = random.pick(table);
    try {
      await work(random);
    } catch (error) {
      console.error(`round ${round} (${work.name}), seed ${seed}`);
      throw error;
    }
    counts.set(work, counts.get(work) + 1);
  }
  await sample(elapsed());
}

const shown = (number) => number.toFixed(1).padStart(9);
console.log('   minute       RSS      heap  external   handles');
for (const [i, { at, rss, heap, external, handles }] of samples.entries()) {
  if (i % 6 !== 0 && i !== samples.length - 1) continue;
  console.log(`${[at, rss, heap, external].map(shown).join(' ')} ${String(handles).padStart(9)}`);
}
console.log([...counts].map(([{ name }, count]) => `${name} ${count}`).join(', '));

const judged = samples.slice(Math.floor(samples.length / 3));
let isFlat = true;
for (const [field, bound] of Object.entries(BOUNDS)) {
  const by = rise(judged, field);
  isFlat &&= by <= bound;
  console.log(`${field} rises by ${by.toFixed(1)} MB (at most ${bound})`);
}
const [first, last] = [samples[0].handles, samples.at(-1).handles];
isFlat &&= last <= first;
console.log(`${last} handles, ${first} at the start`);
if (!isFlat) {
  console.error('not flat');
  process.exitCode = 1;
}
