// What can be decoded: every kind of bytes, of any offset; everything else is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, stillWorks, throwsCode } from './helpers.mjs';

const WIRE = bytes('83 a16101 a162 c4020708 a163 a474657874');
const VALUE = { a: 1, b: Buffer.from([7, 8]), c: 'text' };

const VIEWS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
];

const CALLS = [
  (input) => unpack(input),
  (input) => unpackMultiple(input)[0],
  (input) => unpackFrom(input).value,
  (input) => unpackFrom(input, 0).value,
];

test('Buffer, Uint8Array, ArrayBuffer, SharedArrayBuffer, DataView', () => {
  const exact = Uint8Array.from(WIRE);
  const shared = new SharedArrayBuffer(WIRE.length);
  new Uint8Array(shared).set(WIRE);
  for (const input of [
    WIRE,
    exact,
    exact.buffer,
    new DataView(exact.buffer),
    shared,
    new Uint8Array(shared),
    new DataView(shared),
    Buffer.from(shared),
  ]) {
    for (const call of CALLS) assert.deepStrictEqual(call(input), VALUE);
  }
});

test('a view with an offset and a length means exactly the bytes it shows', () => {
  for (const offset of [1, 2, 3, 7, 8, 13]) {
    for (const room of [0, 1, 50]) {
      const backing = new Uint8Array(offset + WIRE.length + room).fill(0xc1);
      backing.set(WIRE, offset);
      const shared = new SharedArrayBuffer(backing.length);
      new Uint8Array(shared).set(backing);
      for (const buffer of [backing.buffer, shared]) {
        for (const view of [
          new Uint8Array(buffer, offset, WIRE.length),
          Buffer.from(buffer, offset, WIRE.length),
          new DataView(buffer, offset, WIRE.length),
          new Int8Array(buffer, offset, WIRE.length),
          new Uint8ClampedArray(buffer, offset, WIRE.length),
        ]) {
          for (const call of CALLS) assert.deepStrictEqual(call(view), VALUE);
        }
      }
    }
  }
});

test('every kind of view, as its bytes', () => {
  const message = bytes('9f 000102030405060708090a0b0c0d0e');
  assert.equal(message.length, 16);
  const backing = new Uint8Array(32);
  backing.set(message, 8);
  backing.set(message, 16);
  for (const View of VIEWS) {
    const view = new View(backing.buffer, 16, 16 / View.BYTES_PER_ELEMENT);
    for (const call of CALLS)
      assert.deepStrictEqual(call(view), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
  }
});

test('a resizable buffer, and views that track it', () => {
  const buffer = new ArrayBuffer(WIRE.length, { maxByteLength: 100 });
  new Uint8Array(buffer).set(WIRE);
  const tracking = new Uint8Array(buffer);
  for (const call of CALLS) {
    assert.deepStrictEqual(call(buffer), VALUE);
    assert.deepStrictEqual(call(tracking), VALUE);
  }
  buffer.resize(WIRE.length - 1);
  throwsCode(() => unpack(buffer), 'ERR_MSGPACK_TRUNCATED');
  throwsCode(() => unpack(tracking), 'ERR_MSGPACK_TRUNCATED');
  buffer.resize(WIRE.length + 1);
  throwsCode(() => unpack(buffer), 'ERR_MSGPACK_EXTRA_BYTES', { offset: WIRE.length });
});

test('subclasses of Uint8Array and Buffer-like views', () => {
  class Bytes extends Uint8Array {}
  assert.deepStrictEqual(unpack(Bytes.from(WIRE)), VALUE);
  const odd = Uint8Array.from(WIRE);
  Object.defineProperty(odd, 'length', { value: 3 });
  Object.defineProperty(odd, 'byteLength', { value: 1000 });
  Object.defineProperty(odd, 'byteOffset', { value: 5 });
  // Own properties that lie must not lead to a read outside the memory.
  try {
    unpack(odd);
  } catch {}
  stillWorks();
});

test('zero bytes in every form', () => {
  for (const input of [
    Buffer.alloc(0),
    new Uint8Array(0),
    new ArrayBuffer(0),
    new SharedArrayBuffer(0),
    new DataView(new ArrayBuffer(0)),
    new Float64Array(0),
    Buffer.from([1]).subarray(1),
  ]) {
    throwsCode(() => unpack(input), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
    throwsCode(() => unpackFrom(input), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
    assert.deepStrictEqual(unpackMultiple(input), []);
  }
});

test('everything else is ERR_MSGPACK_INVALID_INPUT', () => {
  const others = [
    undefined,
    null,
    'text',
    '',
    5,
    0,
    NaN,
    true,
    1n,
    Symbol('s'),
    {},
    [],
    [0x81, 0xa1, 0x61, 1],
    () => 1,
    new Map(),
    new Date(),
    { length: 1, 0: 1 },
    { buffer: new ArrayBuffer(1), byteOffset: 0, byteLength: 1 },
    new Proxy(Uint8Array.of(1), {}),
    Object.create(Uint8Array.prototype),
    Object.create(Buffer.prototype),
    new String('a'),
    Promise.resolve(Buffer.from([1])),
    new Blob([]),
  ];
  for (const input of others) {
    for (const call of [unpack, unpackMultiple, unpackFrom]) {
      throwsCode(() => call(input), 'ERR_MSGPACK_INVALID_INPUT');
    }
  }
  throwsCode(() => unpack(), 'ERR_MSGPACK_INVALID_INPUT');
  stillWorks();
});

test('detached memory is ERR_MSGPACK_INVALID_INPUT', () => {
  const makers = [
    (b) => b,
    (b) => new Uint8Array(b),
    (b) => Buffer.from(b),
    (b) => new DataView(b),
    (b) => new Uint8Array(b, 3),
    (b) => new Float64Array(b),
  ];
  for (const make of makers) {
    for (const call of [unpack, unpackMultiple, unpackFrom]) {
      const buffer = new ArrayBuffer(16);
      const input = make(buffer);
      structuredClone(buffer, { transfer: [buffer] });
      throwsCode(() => call(input), 'ERR_MSGPACK_INVALID_INPUT');
    }
    stillWorks();
  }
});

test('a view out of the bounds of its resizable buffer is refused', () => {
  const buffer = new ArrayBuffer(8, { maxByteLength: 8 });
  const inputs = [
    new DataView(buffer, 4, 4),
    new Uint8Array(buffer, 4, 4),
    new Uint8Array(buffer, 6),
  ];
  buffer.resize(2);
  for (const input of inputs) {
    throwsCode(() => unpack(input), ['ERR_MSGPACK_INVALID_INPUT', 'ERR_MSGPACK_TRUNCATED']);
  }
  stillWorks();
});

test('the input is not changed by decoding', () => {
  const input = Uint8Array.from(WIRE);
  for (let i = 0; i < 50; i++) {
    unpack(input);
    unpack(input.buffer, { copyBuffers: true });
    unpackMultiple(input);
  }
  assert.deepStrictEqual(Buffer.from(input), WIRE);
});
