// unpackMultiple and unpackFrom: values back to back, and where each ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, stillWorks, throwsCode } from './helpers.mjs';

const VALUES = [
  null,
  1,
  'two',
  [3, 'x'],
  { four: 4 },
  2.5,
  -0,
  2n ** 60n,
  Buffer.from([6]),
  new Date(7000),
  true,
  new Ext(8, Buffer.from([9])),
  {},
  [],
  '',
  'é'.repeat(100),
];

test('unpackMultiple: all values in order, nil included', () => {
  assert.deepStrictEqual(unpackMultiple(Buffer.alloc(0)), []);
  assert.deepStrictEqual(unpackMultiple(bytes('01')), [1]);
  assert.deepStrictEqual(unpackMultiple(bytes('01c002')), [1, null, 2]);
  assert.deepStrictEqual(unpackMultiple(bytes('9090')), [[], []]);
  const wire = Buffer.concat(VALUES.map((value) => pack(value)));
  for (let i = 0; i < 60; i++) assert.deepStrictEqual(unpackMultiple(wire), VALUES);
});

test('unpackMultiple: the same object shape many times', () => {
  const list = Array.from({ length: 3000 }, (_, i) => ({ id: i, name: `n${i}`, tags: [i] }));
  const wire = Buffer.concat(list.map((value) => pack(value)));
  assert.deepStrictEqual(unpackMultiple(wire), list);
});

test('unpackMultiple: options act on every value', () => {
  const wire = bytes('81a16101 cf0000000000000001 d6ff00000001 c40107');
  const values = unpackMultiple(wire, { maps: 'map', int64: 'bigint', copyBuffers: true });
  assert.deepStrictEqual(values, [new Map([['a', 1]]), 1n, new Date(1000), Buffer.from([7])]);
  throwsCode(() => unpackMultiple(bytes('01 91 91 02'), { maxDepth: 1 }), 'ERR_MSGPACK_DEPTH', {
    offset: 2,
  });
});

test('unpackMultiple: a bad one fails with its offset in the whole input', () => {
  throwsCode(() => unpackMultiple(bytes('01 02 c1 03')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 2 });
  throwsCode(() => unpackMultiple(bytes('01 81c001')), 'ERR_MSGPACK_KEY', { offset: 2 });
  throwsCode(() => unpackMultiple(bytes('01 02 d4ff00')), 'ERR_MSGPACK_TIMESTAMP', { offset: 2 });
  throwsCode(() => unpackMultiple(bytes('01 02 a561')), 'ERR_MSGPACK_TRUNCATED');
  throwsCode(() => unpackMultiple(bytes('01 02 92 03')), 'ERR_MSGPACK_TRUNCATED');
  stillWorks();
});

test('unpackFrom: the value and where it ends, at every offset', () => {
  const parts = VALUES.map((value) => pack(value));
  const wire = Buffer.concat(parts);
  for (let round = 0; round < 20; round++) {
    let at = 0;
    for (let i = 0; i < VALUES.length; i++) {
      const { value, end } = unpackFrom(wire, at);
      assert.deepStrictEqual(value, VALUES[i]);
      assert.equal(end, at + parts[i].length);
      at = end;
    }
    assert.equal(at, wire.length);
  }
});

test('unpackFrom: without an offset it starts at 0; what follows is not looked at', () => {
  assert.deepStrictEqual(unpackFrom(bytes('01')), { value: 1, end: 1 });
  assert.deepStrictEqual(unpackFrom(bytes('01'), undefined), { value: 1, end: 1 });
  assert.deepStrictEqual(unpackFrom(bytes('01c1')), { value: 1, end: 1 });
  assert.deepStrictEqual(unpackFrom(bytes('9201 02 ff ff')), { value: [1, 2], end: 3 });
  assert.deepStrictEqual(unpackFrom(bytes('c1 c1 a161 c1'), 2), { value: 'a', end: 4 });
  assert.deepStrictEqual(unpackFrom(bytes('d6ff00000001 00')), { value: new Date(1000), end: 6 });
});

test('unpackFrom: options, and bin at the right place', () => {
  const wire = bytes('c0 81a161cf0000000000000001 c4020708');
  assert.deepStrictEqual(unpackFrom(wire, 1, { maps: 'map', int64: 'bigint' }), {
    value: new Map([['a', 1n]]),
    end: 13,
  });
  const { value, end } = unpackFrom(wire, 13);
  assert.equal(end, 17);
  assert.equal(value.buffer, wire.buffer);
  assert.equal(value.byteOffset, wire.byteOffset + 15);
  const shifted = new Uint8Array(40);
  shifted.set(wire, 10);
  const inner = unpackFrom(shifted.subarray(10, 10 + wire.length), 13);
  assert.equal(inner.end, 17);
  assert.equal(inner.value.buffer, shifted.buffer);
  assert.equal(inner.value.byteOffset, 25);
});

test('unpackFrom: errors have the offset in the whole input', () => {
  throwsCode(() => unpackFrom(bytes('01 c1'), 1), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
  throwsCode(() => unpackFrom(bytes('01 02 81c001'), 2), 'ERR_MSGPACK_KEY', { offset: 3 });
  throwsCode(() => unpackFrom(bytes('01'), 1), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
  throwsCode(() => unpackFrom(bytes('01 a561'), 1), 'ERR_MSGPACK_TRUNCATED');
  assert.equal(unpackFrom(bytes('91^1001 c0'), 1).end, 1002);
  stillWorks();
});

test('unpackFrom: an offset that is no place in the input is refused', () => {
  const input = bytes('010203');
  for (const offset of [-1, 4, 1e9, 2 ** 32, 2 ** 53, 1.5, NaN, Infinity, -Infinity, '1', {}, 1n]) {
    assert.throws(() => unpackFrom(input, offset), Error, `offset ${String(offset)}`);
    stillWorks();
  }
});

test('unpack of each value alone agrees', () => {
  for (const value of VALUES) {
    const wire = pack(value);
    assert.deepStrictEqual(unpack(wire), unpackFrom(wire).value);
    assert.deepStrictEqual([unpack(wire)], unpackMultiple(wire));
  }
});
