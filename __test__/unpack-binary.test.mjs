// bin and ext payloads: Buffers over the memory of the input, or copies on request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, unpack, unpackMultiple } from '../index.js';
import { bytes, sameBytes, unpacks } from './helpers.mjs';
import { bin, ext } from './reference.mjs';

test('a bin is a Buffer over the memory of the input, at its place', () => {
  const input = bytes('92 c403010203 c4020405');
  const [first, second] = unpack(input);
  assert.ok(Buffer.isBuffer(first) && Buffer.isBuffer(second));
  assert.equal(first.buffer, input.buffer);
  assert.equal(first.byteOffset, input.byteOffset + 3);
  assert.equal(second.byteOffset, input.byteOffset + 8);
  assert.equal(first.length, 3);
  input[3] = 0x7f;
  assert.deepStrictEqual(first, Buffer.from([0x7f, 2, 3]));
  second[0] = 0x55;
  assert.equal(input[8], 0x55);
});

test('a view with an offset, a plain Uint8Array, an ArrayBuffer and a DataView alike', () => {
  const backing = new Uint8Array(32);
  backing.set(bytes('81a164c4020708'), 5);
  const whole = Uint8Array.from(bytes('81a164c4020708'));
  for (const [input, buffer, at] of [
    [backing.subarray(5, 12), backing.buffer, 5],
    [Buffer.from(backing.buffer, 5, 7), backing.buffer, 5],
    [new DataView(backing.buffer, 5, 7), backing.buffer, 5],
    [whole.buffer, whole.buffer, 0],
  ]) {
    const { d } = unpack(input);
    assert.ok(Buffer.isBuffer(d));
    assert.deepStrictEqual(d, Buffer.from([7, 8]));
    assert.equal(d.buffer, buffer);
    assert.equal(d.byteOffset, at + 5);
  }
});

test('copyBuffers gives memory of its own', () => {
  const input = bytes('93 c403010203 d50a0405 c7030b060708');
  const [data, two, three] = unpack(input, { copyBuffers: true });
  assert.ok(Buffer.isBuffer(data) && Buffer.isBuffer(two.data) && Buffer.isBuffer(three.data));
  input.fill(0xee);
  assert.deepStrictEqual(data, Buffer.from([1, 2, 3]));
  assert.deepStrictEqual(two.data, Buffer.from([4, 5]));
  assert.deepStrictEqual(three.data, Buffer.from([6, 7, 8]));
  data[0] = 9;
  assert.equal(input[3], 0xee);
});

test('copyBuffers at every size', () => {
  for (const length of [0, 1, 31, 255, 256, 4096, 65535, 65536, 1_000_000]) {
    const input = bin(Buffer.alloc(length, 7));
    const value = unpack(input, { copyBuffers: true });
    const view = unpack(input);
    assert.equal(value.length, length);
    assert.equal(view.length, length);
    if (length > 0) assert.equal(view.buffer, input.buffer);
    input.fill(0);
    assert.ok(value.every((b) => b === 7));
    assert.ok(view.every((b) => b === 0));
  }
});

test('of a SharedArrayBuffer everything is copied first', () => {
  const shared = new SharedArrayBuffer(5);
  new Uint8Array(shared).set(bytes('c403010203'));
  for (const input of [shared, new Uint8Array(shared), Buffer.from(shared), new DataView(shared)]) {
    const value = unpack(input);
    assert.ok(Buffer.isBuffer(value));
    assert.notEqual(value.buffer, shared);
    new Uint8Array(shared)[2] = 0x7f;
    assert.deepStrictEqual(value, Buffer.from([1, 2, 3]));
    new Uint8Array(shared)[2] = 1;
  }
});

test('every bin and ext length, and packing them again gives the same bytes', () => {
  for (const length of [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 255, 256, 65535, 65536]) {
    const data = Buffer.alloc(length, 5);
    unpacks(bin(data), data);
    sameBytes(pack(unpack(bin(data))), bin(data));
    for (const type of [-128, -2, 0, 1, 127]) {
      const value = unpack(ext(type, data));
      assert.ok(value instanceof Ext);
      assert.equal(value.type, type);
      assert.deepStrictEqual(value.data, data);
      sameBytes(pack(value), ext(type, data));
    }
  }
});

test('ext type 0, private and unknown types are kept', () => {
  unpacks('d40001', new Ext(0, Buffer.from([1])));
  unpacks('d4fe01', new Ext(-2, Buffer.from([1])));
  unpacks('d42001', new Ext(32, Buffer.from([1])));
  unpacks('c70020', new Ext(32, Buffer.alloc(0)));
  unpacks('92c7002001', [new Ext(32, Buffer.alloc(0)), 1]);
  unpacks('d40101', new Ext(1, Buffer.from([1])));
  unpacks('d47801', new Ext(120, Buffer.from([1])));
  unpacks('d40000', new Ext(0, Buffer.from([0])));
});

test('a decoded Ext looks over the input as a bin does', () => {
  const input = bytes('91 d50a0102');
  const [value] = unpack(input);
  assert.equal(value.data.buffer, input.buffer);
  assert.equal(value.data.byteOffset, input.byteOffset + 3);
});

test('many bins in one message', () => {
  const parts = Array.from({ length: 500 }, (_, i) => Buffer.alloc(i % 40, i));
  const wire = Buffer.concat([bytes('dc01f4'), ...parts.map((part) => bin(part))]);
  for (const options of [undefined, { copyBuffers: true }]) {
    unpacks(wire, parts, options);
    assert.deepStrictEqual(unpackMultiple(wire.subarray(3), options), parts);
  }
});
