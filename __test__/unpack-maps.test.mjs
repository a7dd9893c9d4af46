// Maps: own properties only, __proto__ harmless, key types, duplicates, the maps option.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, unpack } from '../index.js';
import { bytes, sameBytes, stillWorks, throwsCode, unpacks } from './helpers.mjs';
import { float64, int, mapHeader, str } from './reference.mjs';

test('a map is a plain object of Object.prototype', () => {
  for (let i = 0; i < 80; i++) {
    const value = unpack(bytes('82a16101a162c0'));
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.deepEqual(Object.entries(value), [
      ['a', 1],
      ['b', null],
    ]);
    assert.equal(Object.getPrototypeOf(unpack(bytes('80'))), Object.prototype);
  }
});

test('__proto__ is an own property like any other, on the first and on the hundredth use', () => {
  const wires = [
    '81a95f5f70726f746f5f5f81a17801',
    '82a95f5f70726f746f5f5f81a17801a16102',
    '82a16102a95f5f70726f746f5f5f81a17801',
    '82a13102a95f5f70726f746f5f5f81a17801',
    'de0002d90161 02 da00095f5f70726f746f5f5f81a17801',
    '81a95f5f70726f746f5f5fc0',
    '81a95f5f70726f746f5f5f9101',
    '81a95f5f70726f746f5f5f01',
  ];
  for (const wire of wires) {
    for (let i = 0; i < 100; i++) {
      const value = unpack(bytes(wire));
      assert.equal(Object.getPrototypeOf(value), Object.prototype);
      assert.equal(value.x, undefined);
      assert.ok(Object.hasOwn(value, '__proto__'));
      const own = Object.getOwnPropertyDescriptor(value, '__proto__');
      assert.ok(own.enumerable && own.writable && own.configurable);
      sameBytes(pack(unpack(pack(value))), pack(value));
    }
  }
  assert.equal({}.x, undefined);
  assert.equal(Object.prototype.x, undefined);
});

test('__proto__ twice, nested, and in a wide map', () => {
  for (let i = 0; i < 80; i++) {
    const twice = unpack(bytes('82a95f5f70726f746f5f5f01a95f5f70726f746f5f5f81a17802'));
    assert.deepEqual(Object.entries(twice), [['__proto__', { x: 2 }]]);
    const nested = unpack(bytes('81a95f5f70726f746f5f5f81a95f5f70726f746f5f5f81a17801'));
    assert.equal(Object.getPrototypeOf(nested), Object.prototype);
    assert.equal(nested.x, undefined);
  }
  const wide = {};
  for (let k = 0; k < 400; k++) wide[`k${k}`] = k;
  const wire = Buffer.concat([
    mapHeader(401),
    pack(wide).subarray(3),
    str('__proto__'),
    bytes('81a17801'),
  ]);
  for (let i = 0; i < 5; i++) {
    const value = unpack(wire);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(value.x, undefined);
    assert.equal(Object.keys(value).length, 401);
  }
});

test('constructor, prototype and the names of Object.prototype are plain keys', () => {
  const names = [
    'constructor',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    '__defineGetter__',
    'toJSON',
  ];
  for (const name of names) {
    const wire = Buffer.concat([
      mapHeader(1),
      str(name),
      bytes('81a9'),
      Buffer.from('prototype'),
      bytes('81a17801'),
    ]);
    for (let i = 0; i < 100; i++) {
      const value = unpack(wire);
      assert.deepEqual(Object.keys(value), [name]);
      assert.deepEqual(value[name], { prototype: { x: 1 } });
    }
  }
  assert.equal({}.x, undefined);
  assert.equal(Object.x, undefined);
});

test('the last of equal keys wins, in the place of the first', () => {
  for (let i = 0; i < 80; i++) {
    unpacks('82a16101a16102', { a: 2 });
    unpacks('83a16101a16202a16103', { a: 3, b: 2 });
    assert.deepEqual(Object.keys(unpack(bytes('83a16101a16202a16103'))), ['a', 'b']);
    unpacks('82a16101d9016102', { a: 2 });
    unpacks('82a13101 0102', { 1: 2 });
    unpacks('84a16101a16102a16103a162c0', { a: 3, b: null });
    unpacks('82a161 81a17801 a161 81a17902', { a: { y: 2 } });
    unpacks('82a16101a16201', { a: 1, b: 1 });
  }
});

test('integer and float keys are their decimal string', () => {
  const rows = [
    ['01', '1'],
    ['00', '0'],
    ['7f', '127'],
    ['ff', '-1'],
    ['e0', '-32'],
    ['cc01', '1'],
    ['ccff', '255'],
    ['cdffff', '65535'],
    ['ceffffffff', '4294967295'],
    ['cf0000000000000001', '1'],
    ['cf001fffffffffffff', '9007199254740991'],
    ['cf0020000000000001', '9007199254740993'],
    ['cfffffffffffffffff', '18446744073709551615'],
    ['d0df', '-33'],
    ['d18000', '-32768'],
    ['d280000000', '-2147483648'],
    ['d3ffffffffffffffff', '-1'],
    ['d38000000000000000', '-9223372036854775808'],
    ['cb3ff8000000000000', '1.5'],
    ['ca3fc00000', '1.5'],
    ['ca3dcccccd', '0.10000000149011612'],
    ['cb3fb999999999999a', '0.1'],
    ['cb3ff0000000000000', '1'],
    ['cb8000000000000000', '0'],
    ['cb7ff8000000000000', 'NaN'],
    ['cb7ff0000000000000', 'Infinity'],
    ['cbfff0000000000000', '-Infinity'],
    ['cb444b1ae4d6e2ef50', '1e+21'],
    ['cb4415af1d78b58c40', '100000000000000000000'],
    ['cb3e7ad7f29abcaf48', '1e-7'],
    ['cb0000000000000001', '5e-324'],
  ];
  for (const [wire, key] of rows) {
    for (let i = 0; i < 3; i++) {
      unpacks(`81${wire}a178`, { [key]: 'x' }, undefined, wire);
      unpacks(`82a16101${wire}c0`, { a: 1, [key]: null }, undefined, wire);
    }
  }
  unpacks('8101a161', { 1: 'a' });
  unpacks('83 0201 0102 a16103', { 1: 2, 2: 1, a: 3 });
  for (let i = 0; i < 80; i++) unpacks('82 01a161 02a162', { 1: 'a', 2: 'b' });
  const many = Buffer.concat([
    mapHeader(300),
    ...Array.from({ length: 300 }, (_, i) => Buffer.concat([int(i * 7), int(i)])),
  ]);
  unpacks(many, Object.fromEntries(Array.from({ length: 300 }, (_, i) => [i * 7, i])));
});

test('keys of any other type are ERR_MSGPACK_KEY at the key', () => {
  const keys = [
    'c0',
    'c2',
    'c3',
    '90',
    '9101',
    '80',
    '81a16101',
    'c400',
    'c40101',
    'd40101',
    'd6ff00000001',
    'c70005',
    'dc0000',
    'de0000',
  ];
  for (const key of keys) {
    throwsCode(() => unpack(bytes(`81${key}01`)), 'ERR_MSGPACK_KEY', { offset: 1 });
    throwsCode(() => unpack(bytes(`82a16101${key}01`)), 'ERR_MSGPACK_KEY', { offset: 4 });
    throwsCode(() => unpack(bytes(`9201 81${key}01`)), 'ERR_MSGPACK_KEY', { offset: 3 });
    throwsCode(() => unpack(bytes(`81a16181${key}01`)), 'ERR_MSGPACK_KEY', { offset: 4 });
    stillWorks();
  }
  throwsCode(() => unpack(bytes('82c001a46e756c6c02')), 'ERR_MSGPACK_KEY', { offset: 1 });
  throwsCode(() => unpack(bytes('81c4095f5f70726f746f5f5f81a17801')), 'ERR_MSGPACK_KEY', {
    offset: 1,
  });
});

test("maps: 'map' keeps the type of every key, the order, and the last of equal ones", () => {
  const options = { maps: 'map' };
  unpacks('80', new Map(), options);
  unpacks('81a16101', new Map([['a', 1]]), options);
  unpacks('8101a161', new Map([[1, 'a']]), options);
  unpacks(
    '82c001a46e756c6c02',
    new Map([
      [null, 1],
      ['null', 2],
    ]),
    options,
  );
  unpacks(
    '83a16201a13102a2303103',
    new Map([
      ['b', 1],
      ['1', 2],
      ['01', 3],
    ]),
    options,
  );
  unpacks('82a16101a16102', new Map([['a', 2]]), options);
  unpacks('81c301', new Map([[true, 1]]), options);
  unpacks('81cb3ff800000000000001', new Map([[1.5, 1]]), options);
  unpacks('81cf002000000000000101', new Map([[2n ** 53n + 1n, 1]]), options);
  unpacks('81d6ff0000000101', new Map([[new Date(1000), 1]]), options);
  unpacks('91 81a161 81a162 80', [new Map([['a', new Map([['b', new Map()]])]])], options);
  const complex = unpack(bytes('84 9101 01 80 02 c40107 03 d40109 04'), options);
  assert.deepStrictEqual(
    [...complex.keys()],
    [[1], new Map(), Buffer.from([7]), new Ext(1, Buffer.from([9]))],
  );
  assert.deepStrictEqual([...complex.values()], [1, 2, 3, 4]);
  const proto = unpack(bytes('81a95f5f70726f746f5f5f81a17801'), options);
  assert.deepStrictEqual(proto, new Map([['__proto__', new Map([['x', 1]])]]));
  for (let i = 0; i < 60; i++) {
    unpacks(
      '82a16101a16202',
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
      options,
    );
    unpacks('82a16101a16202', { a: 1, b: 2 });
  }
  for (const size of [15, 16, 300, 65536]) {
    const map = new Map(Array.from({ length: size }, (_, i) => [i, `v${i}`]));
    unpacks(pack(map), map, options);
  }
});

test("maps: 'map' with -0, NaN and the int64 modes as keys", () => {
  assert.deepStrictEqual(
    [...unpack(bytes('81cb7ff800000000000001'), { maps: 'map' }).keys()],
    [NaN],
  );
  assert.deepStrictEqual(
    [...unpack(bytes('81cf000000000000000101'), { maps: 'map', int64: 'bigint' }).keys()],
    [1n],
  );
});

test('map headers of every width', () => {
  for (const size of [0, 1, 15, 16, 17, 255, 256, 65535, 65536]) {
    const expected = {};
    const parts = [];
    for (let i = 0; i < size; i++) {
      expected[`k${i}`] = i;
      parts.push(str(`k${i}`), int(i));
    }
    const body = Buffer.concat(parts);
    const long = Buffer.alloc(5, 0xdf);
    long.writeUInt32BE(size, 1);
    for (const head of [mapHeader(size), long]) {
      for (let i = 0; i < (size > 1000 ? 1 : 3); i++)
        unpacks(Buffer.concat([head, body]), expected);
    }
  }
});

test('empty keys, long keys and keys of every width of text', () => {
  for (let i = 0; i < 60; i++) {
    unpacks('81a001', { '': 1 });
    unpacks('82a001a10002', { '': 1, '\0': 2 });
    for (const key of [
      'é',
      '漢字',
      '😀',
      'x'.repeat(31),
      'y'.repeat(32),
      'z'.repeat(256),
      'é'.repeat(200),
    ]) {
      unpacks(Buffer.concat([mapHeader(1), str(key), Buffer.from([1])]), { [key]: 1 });
    }
  }
  const huge = 'k'.repeat(70_000);
  unpacks(Buffer.concat([mapHeader(1), str(huge), float64(0.5)]), { [huge]: 0.5 });
});
