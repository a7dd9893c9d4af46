// Buffers, typed arrays of every kind, DataView, ArrayBuffer, SharedArrayBuffer: bin of the bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, unpack } from '../index.js';
import { checkError, packs, stillWorks, throwsCode } from './helpers.mjs';
import { bin } from './reference.mjs';

const KINDS = [
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
  ...(globalThis.Float16Array ? [globalThis.Float16Array] : []),
];

const filled = (length, from = 1) => Uint8Array.from({ length }, (_, i) => (i + from) & 0xff);

test('headers at every boundary, by exact bytes', () => {
  packs(Buffer.alloc(0), 'c400');
  packs(Buffer.from([1, 2]), 'c4020102');
  packs(Buffer.alloc(31, 7), 'c41f 07^31');
  packs(Buffer.alloc(32, 7), 'c420 07^32');
  packs(Buffer.alloc(255, 7), 'c4ff 07^255');
  packs(Buffer.alloc(256, 7), 'c50100 07^256');
  packs(Buffer.alloc(65535, 7), 'c5ffff 07^65535');
  packs(Buffer.alloc(65536, 7), 'c600010000 07^65536');
});

test('every kind of typed array, exact bytes', () => {
  packs(Int8Array.of(-1), 'c401ff');
  packs(Uint8Array.of(1, 2), 'c4020102');
  packs(Uint8ClampedArray.of(1, 300), 'c40201ff');
  packs(Uint16Array.of(258), 'c4020201');
  packs(Float32Array.of(1), 'c4040000803f');
  packs(Float64Array.of(1), 'c408000000000000f03f');
  packs(BigInt64Array.of(1n), 'c4080100000000000000');
  packs(new DataView(filled(2).buffer), 'c4020102');
  packs(filled(2).buffer, 'c4020102');
});

for (const Kind of KINDS) {
  test(`${Kind.name}: whole, an offset, empty, the end, subclass`, () => {
    const size = Kind.BYTES_PER_ELEMENT;
    const backing = filled(16 * size + 64).buffer;
    const all = Buffer.from(backing);
    for (const [offset, length] of [
      [0, 4],
      [size, 3],
      [8, 0],
      [16, 8],
      [16 * size + 56, 8 / size],
    ]) {
      const view = new Kind(backing, offset, length);
      const expected = bin(all.subarray(offset, offset + view.byteLength));
      packs(view, expected, undefined, `${Kind.name} ${offset}+${length}`);
      packs([view], Buffer.concat([Buffer.from([0x91]), expected]));
      packs({ a: view }, Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), expected]));
    }
    packs(new Kind(0), 'c400');
    packs(new Kind(new ArrayBuffer(0)), 'c400');
    class Sub extends Kind {}
    packs(new Sub(backing, 0, 1), bin(all.subarray(0, size)));
  });
}

test('Buffer slices of a pool and of an offset view', () => {
  packs(Buffer.from('hello world').subarray(6), 'c405776f726c64');
  packs(filled(9).subarray(2, 5), 'c403030405');
  packs(new Float32Array([1, 2]).subarray(1), 'c40400000040');
  packs(Buffer.from([1, 2, 3]).slice(1, 1), 'c400');
});

test('DataView with an offset, and of no length', () => {
  packs(new DataView(filled(9).buffer, 3, 2), 'c4020405');
  packs(new DataView(filled(9).buffer, 9), 'c400');
  packs(new DataView(new ArrayBuffer(0)), 'c400');
});

test('ArrayBuffer and SharedArrayBuffer', () => {
  packs(new ArrayBuffer(0), 'c400');
  packs({ a: new ArrayBuffer(3) }, '81a161c403000000');
  const shared = new SharedArrayBuffer(2);
  new Uint8Array(shared).set([8, 9]);
  packs(shared, 'c4020809');
  packs({ s: shared }, '81a173c4020809');
  packs(new SharedArrayBuffer(0), 'c400');
  packs(new Uint8Array(shared, 1), 'c40109');
  packs(new DataView(shared, 1), 'c40109');
  packs(new Uint16Array(shared), 'c4020809');
});

test('views of a resizable buffer are as long as they are now', () => {
  const buffer = new ArrayBuffer(4, { maxByteLength: 16 });
  const tracking = new Uint8Array(buffer);
  const fixed = new Uint8Array(buffer, 1, 2);
  tracking.set([1, 2, 3, 4]);
  packs([buffer, tracking, fixed], '93 c40401020304 c40401020304 c4020203');
  buffer.resize(6);
  packs([buffer, tracking, fixed], '93 c406010203040000 c406010203040000 c4020203');
  buffer.resize(0);
  packs([buffer, tracking], '92 c400 c400');
  const grown = new SharedArrayBuffer(1, { maxByteLength: 4 });
  const over = new Uint8Array(grown);
  packs([grown, over], '92 c40100 c40100');
  grown.grow(2);
  packs([grown, over], '92 c4020000 c4020000');
});

test('a view out of its resizable buffer bounds throws', () => {
  const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
  const view = new Uint8Array(buffer, 4, 4);
  const data = new DataView(buffer, 4, 4);
  buffer.resize(2);
  for (const value of [data, [data]]) {
    assert.throws(
      () => pack(value),
      (error) => {
        checkError(error);
        return true;
      },
    );
  }
  // A typed array reports length 0 here, so both an error and an empty bin are honest.
  try {
    packs(view, 'c400');
  } catch (error) {
    checkError(error);
  }
  stillWorks();
});

const detach = (buffer) => structuredClone(buffer, { transfer: [buffer] });

test('a detached buffer throws, whichever way it is seen, and says where', () => {
  const makers = [
    (buffer) => buffer,
    (buffer) => Buffer.from(buffer),
    (buffer) => new Uint8Array(buffer),
    (buffer) => new Uint8Array(buffer, 4, 2),
    (buffer) => new Float64Array(buffer),
    (buffer) => new BigInt64Array(buffer),
    (buffer) => new DataView(buffer),
  ];
  const codes = ['ERR_MSGPACK_INVALID_INPUT', 'ERR_MSGPACK_UNSUPPORTED_TYPE'];
  for (const make of makers) {
    const buffer = new ArrayBuffer(16);
    const value = make(buffer);
    detach(buffer);
    throwsCode(() => pack(value), codes, { path: '$' });
    throwsCode(() => pack({ list: [1, value] }), codes, { path: '$.list[1]' });
    throwsCode(() => pack(new Map([['k', value]])), codes);
    stillWorks();
  }
});

test('the result holds a copy: a later write to the value does not show', () => {
  for (const length of [1, 100, 5000, 70_000, 1_000_000]) {
    const value = Buffer.alloc(length, 1);
    const result = pack(value);
    value.fill(2);
    packs(Buffer.alloc(length, 1), Buffer.from(result));
  }
});

test('large binary beside text, both sides exact', () => {
  const big = filled(300_000);
  const message = {
    name: 'é'.repeat(10),
    data: big,
    tail: 'end',
    more: [big.subarray(0, 10), big.buffer],
  };
  const decoded = unpack(pack(message));
  assert.equal(decoded.name, message.name);
  assert.ok(Buffer.from(big).equals(decoded.data));
  assert.equal(decoded.tail, 'end');
  assert.ok(Buffer.from(big.subarray(0, 10)).equals(decoded.more[0]));
  assert.ok(Buffer.from(big).equals(decoded.more[1]));
});

test('own properties on a buffer are not packed, and its toJSON is not called', () => {
  const buffer = Buffer.from([1]);
  buffer.extra = 1;
  buffer.toJSON = () => assert.fail('toJSON of a Buffer was called');
  packs(buffer, 'c40101');
  const array = Uint8Array.of(1);
  array.toJSON = () => assert.fail('toJSON of a typed array was called');
  packs([array], '91c40101');
});

test('an object that only looks like a typed array is an object', () => {
  packs(Object.create(Uint8Array.prototype), '80');
  packs({ byteLength: 1, buffer: null }, '82 aa627974654c656e677468 01 a6627566666572 c0');
  packs({ [Symbol.toStringTag]: 'Uint8Array' }, '80');
  packs({ [Symbol.toStringTag]: 'ArrayBuffer', a: 1 }, '81a16101');
});
