// Memory: flat over a great many calls in one tick, results and strings pin little, errors leak none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as node from '../compat/msgpack-node.mjs';
import { jsonToMsgpack, lazy, msgpackToJson, pack, packInto, unpack } from '../index.js';
import { attempt, collect } from './helpers.mjs';

const MB = 2 ** 20;

/** As much as a process may grow by without a reason. */
const MAX_GROWTH_MB = 64;
/** V8 frees buffers on another thread, perhaps a little later. A leak shows in every round. */
const ROUNDS = 3;

/** Growth of the process in MB over `times` calls, after as many to warm up. */
function growth(times, call) {
  let least = Infinity;
  for (let i = 0; i < times; i++) call(i);
  for (let round = 0; round < ROUNDS && least >= MAX_GROWTH_MB; round++) {
    collect();
    const before = process.memoryUsage().rss;
    for (let i = 0; i < times; i++) call(i);
    collect();
    least = Math.min(least, (process.memoryUsage().rss - before) / MB);
  }
  return least;
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
    assert.ok(grown < MAX_GROWTH_MB, `RSS grew by ${grown.toFixed(1)} MB`);
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

test('a text of a hundred megabytes that is wrong at its end is not kept, in either direction', () => {
  const text = `"${'x'.repeat(100 * MB)}`;
  // An array of numbers, and a byte that begins no value.
  const message = Buffer.alloc(100 * MB, 0x7f);
  message[0] = 0xdd;
  message.writeUInt32BE(message.length - 5, 1);
  message[message.length - 1] = 0xc1;
  const calls = [
    [() => jsonToMsgpack(text), { code: 'ERR_MSGPACK_JSON' }],
    [() => msgpackToJson(message), { code: 'ERR_MSGPACK_INVALID_BYTE' }],
  ];
  // V8 may keep another form of the string from the first call on.
  text.charCodeAt(7);
  for (const [call, error] of calls) {
    const before = process.memoryUsage().rss;
    assert.throws(call, error);
    collect();
    const grown = (process.memoryUsage().rss - before) / MB;
    assert.ok(grown < MAX_GROWTH_MB, `RSS grew by ${grown.toFixed(1)} MB`);
  }
});

/** A view of which each entry is read as it is come to. */
function lazyRead(wire) {
  const view = lazy(wire);
  for (const entry of view) for (const key of Object.keys(entry)) entry[key];
  return view;
}

test('a map with one large number as its key took twelve kilobytes', () => {
  const array = (items) => {
    const header = Buffer.alloc(5, 0xdd);
    header.writeUInt32BE(items.length, 1);
    return Buffer.concat([header, ...items]);
  };
  const wide = (n) => [0xcd, n >> 8, n & 255];
  const text = (n) => [0xa0 | String(n).length, ...Buffer.from(String(n))];
  const LISTS = {
    'one number': () => [0x81, ...wide(1000), 0xc0],
    'ever-new numbers': (i) => [0x81, ...wide(700 + (i % 300)), 0xc0],
    // Only the door for users of msgpack-node reads this as an object.
    'nil and a large one': () => [0x82, 0xc0, 0xc0, ...wide(1000), 0xc0],
    'one text': () => [0x81, ...text(200), 0xc0],
    'ever-new texts': (i) => [0x81, ...text(700 + (i % 300)), 0xc0],
    'a small and a large one': (i) => [0x82, 0, 0xc0, ...wide(1000 - (i % 9)), 0xc0],
    'a string and a large one': (i) => [0x82, 0xa1, 0x61, 0xc0, ...wide(1000 - (i % 9)), 0xc0],
    'larger and larger ones': () => [0x83, ...wide(900), 1, ...wide(2000), 1, ...wide(3300), 1],
    // What a view puts off.
    'a number, of a map': () => [0x81, ...wide(1000), 0x80],
  };
  for (const [name, make] of Object.entries(LISTS)) {
    const wire = array(Array.from({ length: 3000 }, (_, i) => Buffer.from(make(i))));
    for (const read of name.startsWith('nil') ? [node.unpack] : [unpack, node.unpack, lazyRead]) {
      read(wire);
      collect();
      const before = process.memoryUsage().heapUsed;
      const value = read(wire);
      collect();
      const kept = (process.memoryUsage().heapUsed - before) / wire.length;
      assert.ok(kept < 200, `${name}: ${kept.toFixed(0)} bytes a byte`);
      assert.equal(value.length, 3000);
    }
  }
});

test('objects with keys that are numbers far apart are what they were', () => {
  for (const keys of [
    [1000],
    [5, 1000],
    [1000, 5],
    [3300, 'a', 0, 17],
    [18, 19, 20, 400],
    [9999, 10_000],
  ]) {
    const value = Object.fromEntries(keys.map((key) => [key, `${key}`]));
    const map = new Map(keys.map((key) => [key, `${key}`]));
    for (let i = 0; i < 80; i++) {
      assert.deepStrictEqual(node.unpack(Buffer.concat([pack(map)])), value);
      for (const wire of [pack(value), pack(map)]) {
        const back = unpack(wire);
        assert.deepStrictEqual(back, value);
        assert.deepStrictEqual(Object.keys(back), Object.keys(value));
        assert.deepStrictEqual(Object.entries(lazy(wire)), Object.entries(value));
        assert.equal(JSON.stringify(back), JSON.stringify(value));
      }
    }
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
