// Large messages: pieces of tape, ropes, blocks and tables that fill up on the way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode as peerDecode } from '@msgpack/msgpack';
import { Ext, pack, packInto, unpack, unpackMultiple } from '../index.js';
import { bytes, generator, packs, sameBytes, seedOf, stillWorks, throwsCode } from './helpers.mjs';
import { refPack, refUnpack } from './reference.mjs';

const TEXTS = [
  '',
  'a',
  'é',
  '漢字',
  '😀',
  '\ud83d',
  '\ude00',
  'key',
  'x'.repeat(40),
  'y'.repeat(1023),
];
const LONG_TEXTS = [
  'z'.repeat(1024),
  'é'.repeat(1500),
  `${'漢'.repeat(2000)}\ud83d`,
  'w'.repeat(70_000),
];

/** A random document of about `budget` values, wide and deep by turns. */
function documentOf(next, budget) {
  let left = budget;
  const leaf = () => {
    left--;
    switch (next.below(12)) {
      case 0:
        return null;
      case 1:
        return next.below(2) === 0;
      case 2:
        return next();
      case 3:
        return -next.below(1 << 20);
      case 4:
        return next() / 3;
      case 5:
        return next() * 2 ** 20 + next.below(1000);
      case 6:
        return BigInt(next()) << 31n;
      case 7:
        return new Date(next() * 1000 + next.below(1000));
      case 8:
        return Buffer.alloc(next.below(next.below(20) ? 20 : 5000), next.below(256));
      case 9:
        return next.below(300) ? next.pick(TEXTS) : next.pick(LONG_TEXTS);
      default:
        return next.pick(TEXTS) + next.below(100_000);
    }
  };
  const make = (depth) => {
    if (left <= 0 || depth > 30 || next.below(3) === 0) return leaf();
    switch (next.below(7)) {
      case 0:
        return Array.from({ length: next.below(40) }, leaf);
      case 1:
        return Array.from({ length: next.below(2000) }, () => next.below(1000));
      case 2:
        return Array.from({ length: next.below(2000) }, () => next() / 7);
      case 3: {
        const names = Array.from({ length: next.below(8) }, (_, i) => `f${i}${next.below(3)}`);
        return Array.from({ length: next.below(60) }, () =>
          Object.fromEntries(names.map((name) => [name, leaf()])),
        );
      }
      case 4:
        return Object.fromEntries(
          Array.from({ length: next.below(next.below(10) ? 12 : 400) }, () => [
            next.pick(TEXTS) + next.below(500),
            make(depth + 1),
          ]),
        );
      default:
        return Array.from({ length: next.below(12) }, () => make(depth + 1));
    }
  };
  const roots = [];
  while (left > 0) roots.push(make(0));
  return roots;
}

const make = (type, data) => new Ext(type, data);

test('random documents of up to 60 000 values, both ways against the reference', (t) => {
  const next = generator(seedOf(t));
  for (let i = 0; i < 8; i++) {
    const value = documentOf(next, [100, 3000, 20_000, 60_000][i % 4]);
    const wire = refPack(value);
    packs(value, wire, undefined, `document ${i}`);
    assert.deepStrictEqual(unpack(wire), refUnpack(wire, make));
    const target = Buffer.alloc(wire.length + 5);
    assert.equal(packInto(value, target, 5), wire.length + 5);
    sameBytes(target.subarray(5), wire);
    for (const cut of [1, 2, 100, wire.length >> 1, wire.length - 1]) {
      if (cut < wire.length) {
        throwsCode(() => unpack(wire.subarray(0, cut)), 'ERR_MSGPACK_TRUNCATED');
      }
    }
    const [first, second] = unpackMultiple(Buffer.concat([wire, wire]));
    sameBytes(pack(second), pack(first));
    stillWorks();
  }
});

/** The keys a path names, whichever of them it writes with a dot. */
function keysOf(path) {
  assert.ok(path.startsWith('$'));
  const step = /\.([^.[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy;
  const keys = [];
  step.lastIndex = 1;
  while (step.lastIndex < path.length) {
    const at = step.lastIndex;
    const match = step.exec(path);
    assert.ok(match !== null, `${path} at ${at}`);
    keys.push(match[1] ?? match[2] ?? JSON.parse(match[3]));
  }
  return keys;
}

const BAD = 2n ** 64n;

test('the path of an error far inside a large value', () => {
  for (const size of [10, 1000, 5000, 14_000, 20_000, 50_000]) {
    for (const at of [0, 1, size >> 1, size - 1]) {
      const path = { path: `$[${at}]` };
      const code = 'ERR_MSGPACK_OUT_OF_RANGE';
      for (const filler of [0, 0.5, 'text', null]) {
        const list = new Array(size).fill(filler);
        list[at] = BAD;
        throwsCode(() => pack(list), code, path);
        throwsCode(() => pack({ before: 1, list }), code, { path: `$.list[${at}]` });
      }
      const records = Array.from({ length: size }, (_, i) => ({ id: i, v: { name: `n${i}` } }));
      records[at].v.name = BAD;
      throwsCode(() => pack(records), code, { path: `$[${at}].v.name` });
    }
    stillWorks();
  }
});

test('the path of an error at a random place of a random document', (t) => {
  const next = generator(seedOf(t));
  for (let i = 0; i < 150; i++) {
    const value = documentOf(next, [50, 500, 5000][i % 3]);
    const path = [];
    let at = value;
    for (;;) {
      const keys = Object.keys(at);
      if (keys.length === 0) break;
      const key = next.pick(keys);
      path.push(key.toWellFormed());
      const inner = at[key];
      const isObject = inner !== null && typeof inner === 'object';
      const plain =
        isObject && (Array.isArray(inner) || Object.getPrototypeOf(inner) === Object.prototype);
      if (!plain || Object.keys(inner).length === 0 || next.below(4) === 0) {
        at[key] = BAD;
        break;
      }
      at = inner;
    }
    const error = throwsCode(() => pack(value), 'ERR_MSGPACK_OUT_OF_RANGE');
    assert.deepEqual(keysOf(error.path), path, error.path);
    if (i % 10 === 0) stillWorks();
  }
});

test('large and small messages by turns', () => {
  const large = Array.from({ length: 30_000 }, (_, i) => ({
    id: i,
    text: `text ${i}`,
    half: i / 2,
  }));
  const wire = pack(large);
  for (let i = 0; i < 6; i++) {
    assert.deepStrictEqual(unpack(wire), large);
    for (let k = 0; k < 100; k++) {
      const small = { k, text: `é${k}`, list: [k, k / 2] };
      assert.deepStrictEqual(unpack(pack(small)), small);
    }
    sameBytes(pack(large), wire);
  }
});

test('tens of thousands of buffers, strings and dates in one message', () => {
  for (const item of [
    (i) => Buffer.from([i & 255, i >> 8]),
    (i) => 'é'.repeat(i % 30),
    (i) => `${'q'.repeat(1020 + (i % 10))}`,
    (i) => new Date(i * 999),
    (i) => BigInt(i) << 40n,
    (i) => new Ext(i % 100, Buffer.alloc(i % 20)),
    (i) => new Map([[i, `${i}`]]),
  ]) {
    const list = Array.from({ length: 20_000 }, (_, i) => item(i));
    const wire = pack(list);
    peerDecode(wire);
    const back = unpack(wire, { maps: list[0] instanceof Map ? 'map' : 'object' });
    assert.equal(back.length, list.length);
    for (let i = 0; i < list.length; i += 97) {
      if (typeof list[i] === 'bigint') assert.equal(BigInt(back[i]), list[i]);
      else assert.deepStrictEqual(back[i], list[i]);
    }
    sameBytes(pack(back), wire);
  }
});

test('a dictionary of 30 000 keys of every width, and one of objects', () => {
  const texts = {};
  const objects = {};
  for (let i = 0; i < 30_000; i++) {
    texts[`${TEXTS[i % 5]}-${i}`] = TEXTS[i % TEXTS.length].toWellFormed();
    objects[`id${i}`] = { n: i, s: `${i}`, list: [i] };
  }
  for (const value of [texts, objects, [texts, objects]]) {
    const wire = refPack(value);
    packs(value, wire);
    assert.deepStrictEqual(unpack(wire), value);
  }
});

test('a string of 20 MB and a binary of 20 MB, exact at both ends and in the middle', () => {
  const text = `start ${'lorem ipsum é '.repeat(1_400_000)}end`;
  const wire = pack({ text, n: 1 });
  assert.equal(wire.readUInt32BE(7), Buffer.byteLength(text));
  const back = unpack(wire);
  assert.ok(back.text === text && back.n === 1);
  const data = Buffer.alloc(20_000_000, 'pattern');
  const packed = pack([data, 'tail']);
  assert.equal(packed.length, data.length + 11);
  const [view, tail] = unpack(packed);
  assert.ok(view.equals(data) && tail === 'tail');
});

test('errors in the middle of large messages, at their offset', () => {
  const good = pack(Array.from({ length: 20_000 }, (_, i) => ({ id: i, s: `s${i}` })));
  const at = good.length >> 1;
  const start = good.indexOf(bytes('82a26964'), at);
  const broken = Buffer.from(good);
  broken[start] = 0xc1;
  throwsCode(() => unpack(broken), 'ERR_MSGPACK_INVALID_BYTE', { offset: start });
  broken[start] = 0x82;
  broken[start + 1] = 0xc0;
  throwsCode(() => unpack(broken), 'ERR_MSGPACK_KEY', { offset: start + 1 });
  const longer = Buffer.concat([good, bytes('c0')]);
  throwsCode(() => unpack(longer), 'ERR_MSGPACK_EXTRA_BYTES', { offset: good.length });
  stillWorks();
});
