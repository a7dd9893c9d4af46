// Keys of a Map that V8 puts in one place: made on purpose they are refused, and nothing else is.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Packr, pack, unpack } from '../index.js';
import { throwsCode } from './helpers.mjs';

const require = createRequire(import.meta.url);
const { checkGrown, hashOf } = require('../src/unpack/collisions');

const PLACES = 1 << 15;

/** So many of `next(0)`, `next(1)` … that have one place in a table of 2^16 entries. */
function colliding(count, next) {
  const found = [];
  for (let i = 0; found.length < count; i++) {
    const key = next(i);
    if ((hashOf(key) & (PLACES - 1)) === 7) found.push(key);
  }
  return found;
}

const KINDS = {
  integers: (i) => i,
  'negative integers': (i) => -i,
  doubles: (i) => i + 0.5,
  'large numbers': (i) => 2 ** 40 + i,
  bigints: (i) => 2n ** 60n + BigInt(i),
};

test('the hashes are those of the description, bit by bit', () => {
  const mask = (1n << 64n) - 1n;
  const hash64 = (bits) => {
    let h = bits;
    h = ((~h & mask) + (h << 18n)) & mask;
    h ^= h >> 31n;
    h = (h * 21n) & mask;
    h ^= h >> 11n;
    h = (h + (h << 6n)) & mask;
    h ^= h >> 22n;
    return Number(h & 0x3fffffffn);
  };
  const view = new DataView(new ArrayBuffer(8));
  for (let i = 0; i < 2000; i++) {
    const x = (i - 1000) * 1234.567 * 10 ** (i % 30);
    view.setFloat64(0, x);
    if (x !== (x | 0)) assert.equal(hashOf(x) & 0x3fffffff, hash64(view.getBigUint64(0)), `${x}`);
    const big = 0x9e3779b97f4a7c15n * BigInt(i * i);
    assert.equal(hashOf(big) & 0x3fffffff, hash64(big & mask), `${big}`);
    assert.equal(hashOf(-big), hashOf(big));
  }
  for (const key of ['1', null, true, undefined, {}]) assert.equal(hashOf(key), undefined);
});

for (const [kind, next] of Object.entries(KINDS)) {
  test(`${kind} that collide: refused in every kind of container, and the next call is right`, () => {
    const keys = colliding(600, next);
    const map = new Map(keys.map((key) => [key, 1]));
    const set = new Set(keys);
    const more = new Packr({ moreTypes: true });
    const records = new Packr({ useRecords: true });
    let deepMap = map;
    for (let i = 0; i < 500; i++) deepMap = [deepMap];
    for (const [bytes, call] of [
      [pack(map), (b) => unpack(b, { maps: 'map' })],
      [pack({ map }), (b) => unpack(b, { maps: 'map' })],
      [pack(deepMap), (b) => unpack(b, { maps: 'map', maxDepth: 1000 })],
      [records.pack(map), (b) => records.unpack(b)],
      [more.pack(set), (b) => more.unpack(b)],
      [more.pack([map]), (b) => more.unpack(b)],
    ]) {
      const error = throwsCode(() => call(bytes), 'ERR_MSGPACK_KEY');
      assert.match(error.message, /collide/);
      assert.deepEqual(unpack(pack(new Map([[1, 2]])), { maps: 'map' }), new Map([[1, 2]]));
      assert.deepEqual(more.unpack(more.pack(new Set([1]))), new Set([1]));
    }
  });
}

test('fewer of them, or the same ones again and again, are no reason', () => {
  const keys = colliding(100, KINDS.integers);
  const others = Array.from({ length: 3000 }, (_, i) => 1e6 + i);
  const map = new Map([...keys, ...others].map((key) => [key, key]));
  assert.deepEqual(unpack(pack(map), { maps: 'map' }), map);
  // A map of equal keys: each is the last one's.
  const twice = Buffer.concat([Buffer.from('de1000', 'hex'), Buffer.alloc(2 * 4096, 5)]);
  assert.deepEqual(unpack(twice, { maps: 'map' }), new Map([[5, 5]]));
});

test('keys as users have them are far from it', () => {
  const keys = [];
  for (let bits = 0; bits < 53; bits++) keys.push((i) => i * 2 ** bits);
  // Of a bigint V8 looks at 64 bits.
  for (let bits = 0; bits < 50; bits++) keys.push((i) => BigInt(i) << BigInt(bits));
  for (const step of [0.1, 0.25, 0.5, 1 / 3, 1e-9, 1e20, 1000, 3600, 86_400_000, 65_537, 10 ** 6]) {
    keys.push((i) => i * step);
    keys.push((i) => -i * step);
    keys.push((i) => 1_700_000_000_000 + i * step);
  }
  keys.push((i) => i * i);
  keys.push((i) => 1 / (i + 1));
  keys.push((i) => Math.sin(i));
  keys.push((i) => ((i & 0xff) << 24) | (i >> 8));
  for (const next of keys) {
    const map = new Map();
    for (let i = 0; i < 1 << 14; i++) {
      map.set(next(i), i);
      checkGrown(map);
    }
  }
});

test('pointers to values have ids, which may be chosen, too', () => {
  const packr = new Packr({ structuredClone: true });
  const ids = colliding(600, KINDS.integers);
  // ["id" of an empty array] of each: fixext4, type 0x69, and the array that it names.
  const named = ids.map((id) => {
    const bytes = Buffer.from('d66900000000 90'.replace(' ', ''), 'hex');
    bytes.writeUInt32BE(id, 2);
    return bytes;
  });
  const header = Buffer.from('dc0258', 'hex');
  throwsCode(() => packr.unpack(Buffer.concat([header, ...named])), 'ERR_MSGPACK_KEY');
  assert.deepEqual(packr.unpack(packr.pack([1])), [1]);
});
