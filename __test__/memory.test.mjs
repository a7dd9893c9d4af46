// Memory: flat over a great many calls in one tick, results and strings pin little, errors leak none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, packInto, unpack } from '../index.js';
import { attempt, collect } from './helpers.mjs';

const MB = 2 ** 20;

/** Growth of the process in MB over `times` calls, after as many to warm up. */
function growth(times, call) {
  for (let i = 0; i < times; i++) call(i);
  collect();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < times; i++) call(i);
  collect();
  return (process.memoryUsage().rss - before) / MB;
}

const VALUE = { abcdef: 1, qqq: 13, 19: [1, 2, 3, 4], text: 'text é', data: Buffer.from([1, 2]) };
const WIRE = pack(VALUE);
const cycle = {};
cycle.self = cycle;

const CALLS = {
  'small packs': [200_000, () => pack(VALUE)],
  'small unpacks': [200_000, () => unpack(WIRE)],
  'packs of 4 KB': [20_000, () => pack({ text: 'x'.repeat(4000) })],
  'packs of 100 KB': [1_000, () => pack({ data: Buffer.alloc(100_000) })],
  'packs into one target': [
    50_000,
    (() => {
      const target = Buffer.alloc(200);
      return () => packInto(VALUE, target);
    })(),
  ],
  'packs that fail': [600, () => attempt(() => pack(cycle))],
  'unpacks that fail': [30_000, () => attempt(() => unpack(WIRE.subarray(0, 20)))],
  'ever-new keys, both ways': [30_000, (i) => unpack(pack({ [`key ${i * Math.random()}`]: 1 }))],
  'ever-new shapes, both ways': [
    3_000,
    (i) => unpack(pack({ [`a${i}`]: 1, [`b${Math.random()}`]: { [`c${i}`]: 2 } })),
  ],
  'large unpacks': [
    20,
    (() => {
      const wire = pack(Array.from({ length: 20_000 }, (_, i) => ({ i, s: `s${i}` })));
      return () => unpack(wire);
    })(),
  ],
};

for (const [name, [times, call]] of Object.entries(CALLS)) {
  test(`${times} ${name} in one tick leave the process as large as it was`, () => {
    const grown = growth(times, call);
    assert.ok(grown < 64, `RSS grew by ${grown.toFixed(1)} MB`);
  });
}

test('one short string kept of each of 400 messages of 1 MB keeps no message', () => {
  const fields = Array.from(
    { length: 2000 },
    (_, i) => `a string of some length ${i} ${'x'.repeat(480)}`,
  );
  const wires = [
    pack({ list: fields, id: 'twenty characters ok' }),
    pack({ id: 'twenty characters ok', list: fields }),
    pack({ id: 'twenty chäracters é!', list: fields.map((s) => `${s}é`) }),
    pack({ text: 'y'.repeat(MB), id: 'twenty characters ok' }),
  ];
  for (const wire of wires) {
    const kept = [];
    unpack(wire);
    collect();
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 400; i++) kept.push(unpack(wire).id);
    collect();
    const grown = (process.memoryUsage().rss - before) / MB;
    assert.equal(kept.length, 400);
    assert.ok(grown < 120, `RSS grew by ${grown.toFixed(1)} MB`);
  }
});

test('one small result kept of every hundred keeps little', () => {
  const kept = [];
  collect();
  const before = process.memoryUsage();
  for (let i = 0; i < 200_000; i++) {
    const wire = pack({ i });
    if (i % 100 === 0) kept.push(wire);
  }
  collect();
  const after = process.memoryUsage();
  assert.equal(kept.length, 2000);
  const grown = (after.arrayBuffers - before.arrayBuffers) / MB;
  assert.ok(grown < 40, `${grown.toFixed(1)} MB of buffers`);
});
