// packInto: the end it returns, targets of every kind, too small a target, bytes around untouched.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, packInto, unpack } from '../index.js';
import { hex, stillWorks, throwsCode } from './helpers.mjs';

const VALUES = [
  null,
  5,
  -0,
  'text',
  'é漢😀\ud83d',
  'x'.repeat(40),
  'y'.repeat(2000),
  [1, 'a', [2.5]],
  { a: 1, b: 'two', c: [3], 19: null },
  { d: Buffer.alloc(100, 7), e: new Ext(1, Buffer.alloc(5)), t: new Date(1) },
  Array.from({ length: 100 }, (_, i) => ({ id: i, name: `n${i}` })),
  Buffer.alloc(70_000, 3),
];

test('writes what pack gives, at the offset, and returns the end', () => {
  for (let round = 0; round < 10; round++) {
    for (const value of VALUES) {
      const wire = pack(value);
      for (const offset of [0, 1, 7, 64]) {
        const target = Buffer.alloc(wire.length + 100, 0xaa);
        const end = packInto(value, target, offset);
        assert.equal(end, offset + wire.length);
        assert.equal(hex(target.subarray(offset, end)), hex(wire));
        assert.ok(
          target.subarray(0, offset).every((b) => b === 0xaa),
          'before',
        );
        assert.ok(
          target.subarray(end).every((b) => b === 0xaa),
          'after',
        );
      }
      const exact = Buffer.alloc(wire.length);
      assert.equal(packInto(value, exact), wire.length);
      assert.equal(hex(exact), hex(wire));
    }
  }
});

test('a target too small, at every size: the error, and nothing before the offset or outside', () => {
  for (const value of VALUES.slice(0, 10)) {
    const wire = pack(value);
    const step = wire.length > 300 ? 37 : 1;
    for (let size = 0; size < wire.length; size += step) {
      for (const offset of [0, 3]) {
        const backing = Buffer.alloc(size + offset + 40, 0xaa);
        const target = backing.subarray(20, 20 + offset + size);
        throwsCode(() => packInto(value, target, offset), 'ERR_MSGPACK_BUFFER_TOO_SMALL');
        assert.ok(
          backing.subarray(0, 20 + offset).every((b) => b === 0xaa),
          'before the offset',
        );
        assert.ok(
          backing.subarray(20 + offset + size).every((b) => b === 0xaa),
          'after the target',
        );
      }
    }
    stillWorks();
  }
  throwsCode(
    () => packInto(Buffer.alloc(70_000), Buffer.alloc(70_000)),
    'ERR_MSGPACK_BUFFER_TOO_SMALL',
  );
  throwsCode(() => packInto(1, Buffer.alloc(0)), 'ERR_MSGPACK_BUFFER_TOO_SMALL');
  throwsCode(() => packInto(1, Buffer.alloc(5), 5), 'ERR_MSGPACK_BUFFER_TOO_SMALL');
});

test('one message after another', () => {
  const target = Buffer.alloc(10_000);
  let end = 0;
  const ends = [];
  for (let i = 0; i < 200; i++) {
    end = packInto({ id: i, s: `item ${i}` }, target, end);
    ends.push(end);
  }
  let from = 0;
  for (let i = 0; i < 200; i++) {
    assert.deepStrictEqual(unpack(target.subarray(from, ends[i])), { id: i, s: `item ${i}` });
    from = ends[i];
  }
});

test('a target with an offset of its own in a larger buffer', () => {
  const backing = new Uint8Array(64).fill(0xaa);
  const target = backing.subarray(16, 32);
  assert.equal(packInto({ a: 1 }, target, 2), 6);
  assert.equal(hex(backing.subarray(16, 24)), 'aaaa81a16101aaaa');
  assert.equal(packInto([1], Buffer.from(backing.buffer, 40, 8)), 2);
  assert.equal(hex(backing.subarray(40, 43)), '9101aa');
});

test('options', () => {
  const target = Buffer.alloc(50);
  assert.equal(packInto({ a: undefined }, target, 0, { undefinedAs: 'nil' }), 4);
  assert.equal(hex(target.subarray(0, 4)), '81a161c0');
  assert.equal(packInto(0.5, target, 0, { float32: true }), 5);
  assert.equal(packInto(0.5, target, undefined, { float32: false }), 9);
  throwsCode(() => packInto([[1]], target, 0, { maxDepth: 1 }), 'ERR_MSGPACK_DEPTH', {
    path: '$[0]',
  });
});

test('what is no writable run of bytes is ERR_MSGPACK_INVALID_INPUT', () => {
  for (const target of [undefined, null, 'text', 5, {}, [], new Map(), [0, 0, 0], () => 1]) {
    throwsCode(() => packInto(1, target), 'ERR_MSGPACK_INVALID_INPUT');
    stillWorks();
  }
});

test('a detached target is an error, before anything is written', () => {
  const target = Buffer.from(new ArrayBuffer(32));
  structuredClone(target.buffer, { transfer: [target.buffer] });
  throwsCode(
    () => packInto(1, target),
    ['ERR_MSGPACK_INVALID_INPUT', 'ERR_MSGPACK_BUFFER_TOO_SMALL'],
  );
  stillWorks();
});

test('an offset that is no place in the target is refused', () => {
  for (const offset of [-1, 9, 2 ** 32, 2 ** 53, 1.5, NaN, Infinity, -Infinity, '1', {}, 1n]) {
    const target = Buffer.alloc(8, 0xaa);
    assert.throws(() => packInto(1, target, offset), Error, `offset ${String(offset)}`);
    assert.ok(target.every((b) => b === 0xaa));
    stillWorks();
  }
});

test('the value may be a view over the target itself', () => {
  const target = Buffer.from('aabbccddeeff00112233', 'hex');
  const value = target.subarray(2, 6);
  const end = packInto(value, target, 0);
  assert.equal(end, 6);
  assert.equal(hex(target.subarray(0, 2)), 'c404');
  const separate = Buffer.alloc(20, 1);
  const tail = separate.subarray(10, 14);
  assert.equal(packInto([tail], separate, 0), 7);
  assert.equal(hex(separate.subarray(0, 7)), '91c40401010101');
});

test('a getter that fills, detaches or shrinks the target: an error or a result, never a crash', () => {
  const makers = [
    (target) => target.fill(0),
    (target) => structuredClone(target.buffer, { transfer: [target.buffer] }),
    (target) => target.buffer.resize(3),
    (target) => target.buffer.resize(0),
    (target) => target.buffer.resize(4096),
    (target) => packInto({ inner: 'x'.repeat(20) }, target, 0),
  ];
  for (const act of makers) {
    for (let round = 0; round < 20; round++) {
      const target = new Uint8Array(new ArrayBuffer(256, { maxByteLength: 4096 }));
      const value = {
        before: 'text',
        get g() {
          act(target);
          return 1;
        },
        after: Buffer.alloc(20, 5),
      };
      try {
        const end = packInto(value, target, 1);
        const decoded = unpack(target.subarray(1, end));
        assert.equal(decoded.g, 1);
        assert.equal(decoded.after.length, 20);
      } catch (error) {
        assert.equal(error.name, 'MsgpackError', error.stack);
      }
      stillWorks();
    }
  }
});

test('a failed value leaves the bytes before the offset', () => {
  const target = Buffer.alloc(200, 0xaa);
  throwsCode(
    () => packInto({ a: 'written', b: 2n ** 64n }, target, 10),
    'ERR_MSGPACK_OUT_OF_RANGE',
    { path: '$.b' },
  );
  assert.ok(target.subarray(0, 10).every((b) => b === 0xaa));
});
