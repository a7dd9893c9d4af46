// biome-ignore-all lint/suspicious/noSparseArray: holes are what is tested
// Arrays, objects, Map and Set: headers at every boundary, order, holes, keys as values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, unpack } from '../index.js';
import { packs } from './helpers.mjs';
import { mapHeader, refPack, str } from './reference.mjs';

test('array headers at every boundary', () => {
  packs([], '90');
  packs(Array(15).fill(0), '9f 00^15');
  packs(Array(16).fill(0), 'dc0010 00^16');
  packs(Array(31).fill(0), 'dc001f 00^31');
  packs(Array(32).fill(0), 'dc0020 00^32');
  packs(Array(255).fill(null), 'dc00ff c0^255');
  packs(Array(256).fill(true), 'dc0100 c3^256');
  packs(Array(65535).fill(0), 'dcffff 00^65535');
  packs(Array(65536).fill(0), 'dd00010000 00^65536');
  packs(Array(65536).fill('a'), 'dd00010000 a161^65536');
});

test('array headers hold for doubles, strings, objects and mixtures', () => {
  for (const length of [14, 15, 16, 17, 255, 256, 65535, 65536]) {
    for (const make of [(i) => i + 0.5, (i) => (i % 2 ? 'x' : i), () => [], (i) => i * 1e9]) {
      const list = Array.from({ length }, (_, i) => make(i));
      packs(list, refPack(list), undefined, `${length}`);
    }
  }
});

test('object headers at every boundary', () => {
  packs({}, '80');
  for (const size of [1, 14, 15, 16, 17, 31, 32, 255, 256, 300, 65535, 65536]) {
    const value = {};
    for (let i = 0; i < size; i++) value[`k${i}`] = i & 0x7f;
    const expected = [mapHeader(size)];
    for (const [key, item] of Object.entries(value)) expected.push(str(key), Buffer.from([item]));
    const wire = Buffer.concat(expected);
    for (let i = 0; i < (size > 1000 ? 2 : 8); i++) packs(value, wire, undefined, `${size} keys`);
  }
  const header = pack(Object.fromEntries(Array.from({ length: 65536 }, (_, i) => [`k${i}`, 0])));
  assert.equal(header.subarray(0, 5).toString('hex'), 'df00010000');
});

test('holes are nil, extra properties of an array are not written', () => {
  packs([, 1], '92c001');
  packs([1, , 3], '9301c003');
  packs(new Array(2), '92c0c0');
  packs([1.5, , 2.5], '93 cb3ff8000000000000 c0 cb4004000000000000');
  packs(['a', , 'b'], '93 a161 c0 a162');
  const sparse = [];
  sparse[20] = 1;
  packs(sparse, 'dc0015 c0^20 01');
  const extra = [1, 2];
  extra.name = 'x';
  packs(extra, '920102');
});

test('a hole reads through to nothing even where the prototype has an index', () => {
  const list = [1, , 3];
  Object.setPrototypeOf(list, Object.create(Array.prototype));
  packs(list, '9301c003');
});

test('array subclass, array of a null prototype, frozen and sealed arrays', () => {
  class List extends Array {}
  packs(List.of(1, 2), '920102');
  const bare = [1];
  Object.setPrototypeOf(bare, null);
  packs(bare, '9101');
  packs(Object.freeze([1, 'a']), '9201a161');
  packs(Object.seal([0.5]), '91cb3fe0000000000000');
});

test('an array with accessors reads each once', () => {
  let reads = 0;
  const list = [1, 2, 3];
  Object.defineProperty(list, 1, { get: () => ++reads, enumerable: true });
  packs(list, '93010103');
  assert.equal(reads, 1);
});

test('undefined, functions and symbols in an array are nil', () => {
  packs([undefined], '91c0');
  packs([() => 1, Symbol('x'), undefined, 1], '94c0c0c001');
});

test('Map: keys packed as values, in order', () => {
  packs(new Map(), '80');
  packs(new Map([['a', 1]]), '81a16101');
  packs(new Map([[1, 2]]), '810102');
  packs(new Map([[{}, 1]]), '818001');
  packs(
    new Map([
      ['b', 1],
      [-1, 'x'],
      [1.5, null],
      [true, [1]],
      [null, undefined],
      [undefined, 2],
      [1n, new Map([[[], new Set()]])],
      [Buffer.from([7]), new Date(0)],
    ]),
    '88 a16201 ffa178 cb3ff8000000000000c0 c39101 c0c0 c002 01819090 c40107d6ff00000000',
  );
  for (const size of [15, 16, 65535, 65536]) {
    const map = new Map(Array.from({ length: size }, (_, i) => [i, i]));
    packs(map, refPack(map), undefined, `${size}`);
  }
});

test('Map: undefined, functions and symbols are nil as key and as value', () => {
  packs(
    new Map([
      ['a', undefined],
      ['b', () => 1],
      ['c', Symbol('s')],
    ]),
    '83 a161c0 a162c0 a163c0',
  );
  packs(new Map([[Symbol('s'), 1]]), '81c001');
});

test('Set: an array, in order', () => {
  packs(new Set(), '90');
  packs(new Set([1, 2]), '920102');
  packs(new Set(['a', undefined, null, [1]]), '94a161c0c09101');
  for (const size of [15, 16, 65535, 65536]) {
    const set = new Set(Array.from({ length: size }, (_, i) => i));
    packs(set, refPack(set), undefined, `${size}`);
  }
});

test('Map and Set subclasses, own properties, and overridden iteration', () => {
  class M extends Map {}
  class S extends Set {}
  packs(new M([['a', 1]]), '81a16101');
  packs(new S([1]), '9101');
  const map = new Map([['a', 1]]);
  map.extra = 1;
  map.toJSON = () => assert.fail('toJSON of a Map was called');
  packs(map, '81a16101');
  packs(Object.create(Map.prototype), '80');
  packs(Object.create(Set.prototype), '80');
});

test('a Map whose size or iterator lies still gives a well-formed message', () => {
  class Liar extends Map {
    get size() {
      return 5;
    }
  }
  class Short extends Map {
    *[Symbol.iterator]() {
      yield ['only', 1];
    }
    *entries() {
      yield ['only', 1];
    }
    forEach() {}
  }
  class Set5 extends Set {
    get size() {
      return 5;
    }
  }
  for (const value of [
    new Liar([['a', 1]]),
    new Short([
      ['a', 1],
      ['b', 2],
    ]),
    new Set5([1]),
  ]) {
    unpack(pack(value));
    unpack(pack([value, 1]));
    assert.equal(unpack(pack([value, 'tail']))[1], 'tail');
  }
});

test('the same object twice is written twice', () => {
  const shared = { s: 1 };
  packs([shared, shared], '9281a1730181a17301');
  packs({ a: shared, b: shared }, '82a16181a17301a16281a17301');
  const list = [1];
  packs([list, list, [list, list]], '939101910192 9101 9101');
});

test('nesting of every container in every other', () => {
  const value = { a: [{ b: new Map([['c', new Set([[{ d: [] }]])]]) }], e: { f: { g: {} } } };
  packs(value, refPack(value));
  packs([[[[]]]], '91919190');
  packs({ a: { b: { c: {} } } }, '81a16181a16281a16380');
});
