// Faults that were found once: each test is named after what went wrong.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { Ext, pack, packInto, unpack } from '../index.js';
import { throwsCode } from './helpers.mjs';

const index = fileURLToPath(new URL('../index.js', import.meta.url));

test('a large binary behind a larger result overwrote what follows it', () => {
  for (const before of [0, 100, 2000, 3000, 20_000, 33_000, 70_000]) {
    for (const size of [31_000, 32_768, 33_000, 40_000, 64_000, 70_000, 130_000, 300_000]) {
      pack('x'.repeat(before));
      const decoded = unpack(pack([Buffer.alloc(size, 5), 42, 'tail', Buffer.alloc(size, 6), 43]));
      assert.ok(decoded[0].equals(Buffer.alloc(size, 5)));
      assert.ok(decoded[3].equals(Buffer.alloc(size, 6)));
      assert.deepStrictEqual([decoded[1], decoded[2], decoded[4]], [42, 'tail', 43]);
    }
  }
});

test('packInto of memory that is part of the target', () => {
  for (const size of [10, 5000, 32_768, 50_000, 90_000]) {
    for (const [from, at] of [
      [0, 0],
      [0, 3],
      [100, 0],
      [5, 2000],
    ]) {
      const target = Buffer.alloc(200_000);
      for (let i = 0; i < target.length; i++) target[i] = i % 251;
      const source = target.subarray(from, from + size);
      const expected = pack([source, 'and', source]);
      if (at + expected.length > target.length) continue;
      const end = packInto([source, 'and', source], target, at);
      assert.ok(target.subarray(at, end).equals(expected), `${size} ${from} ${at}`);
    }
  }
});

test('the memory behind a small result can be taken away, before and within a pack', () => {
  // `transfer` detaches what is marked untransferable on some versions of Node.js, throws on others
  // and is not there on the rest; postMessage must not be able to either.
  const script = `
    const assert = require('node:assert');
    const { pack, unpack } = require(${JSON.stringify(index)});
    const take = (result) => {
      try { result.buffer.transfer(); } catch {}
      try { structuredClone(result.buffer, { transfer: [result.buffer] }); } catch {}
    };
    for (let i = 0; i < 2000; i++) {
      const size = [1, 300, 5000][i % 3];
      const last = pack({ z: 'y'.repeat(size) });
      if (i % 2) take(last);
      const value = {
        a: 'x'.repeat(i % 700),
        get b() { take(last); return 'b'.repeat(300); },
        list: Array.from({ length: i % 50 ? 3 : 9000 }, () => ({ k: 'v' })),
      };
      const plain = { a: value.a, b: 'b'.repeat(300), list: value.list };
      assert.deepStrictEqual(unpack(pack(value)), plain);
      if (i % 100 === 0) globalThis.gc();
    }`;
  execFileSync(process.execPath, ['--expose-gc', '-e', script], { stdio: 'pipe' });
});

test('an inherited property passed for an own one in a compiled walker', () => {
  function Old(a, b) {
    this.a = a;
    if (b !== undefined) this.b = b;
  }
  Old.prototype.b = 'inherited';
  for (let i = 0; i < 2000; i++) pack(new Old(1, 2));
  assert.deepStrictEqual(unpack(pack(new Old(1))), { a: 1 });
  assert.deepStrictEqual(unpack(pack([new Old(1), new Old(1, 2), new Old(3)])), [
    { a: 1 },
    { a: 1, b: 2 },
    { a: 3 },
  ]);

  const defaults = { b: 1 };
  const derived = (own) => Object.assign(Object.create(defaults), own);
  for (let i = 0; i < 2000; i++) pack(derived({ a: 1, b: 2 }));
  assert.deepStrictEqual(unpack(pack(derived({ a: 1 }))), { a: 1 });
});

test('a script ended in the middle of unpack left keys that nobody holds', () => {
  for (let round = 0; round < 30; round++) {
    const dictionary = {};
    for (let i = 0; i < 3000; i++) dictionary[`k${round}_${i}`] = `v${round}_${i % 50}`;
    const bytes = pack(dictionary);
    try {
      vm.runInNewContext('for (;;) unpack(bytes)', { unpack, bytes }, { timeout: 1 + (round % 4) });
    } catch (error) {
      assert.equal(error.code, 'ERR_SCRIPT_EXECUTION_TIMEOUT');
    }
    assert.deepStrictEqual(unpack(bytes), dictionary);
    try {
      vm.runInNewContext('for (;;) pack(value)', { pack, value: dictionary }, { timeout: 2 });
    } catch (error) {
      assert.equal(error.code, 'ERR_SCRIPT_EXECUTION_TIMEOUT');
    }
    assert.ok(pack(dictionary).equals(bytes));
  }
});

test('thousands of shapes that came once, then ordinary ones', () => {
  const strange = Array.from({ length: 3000 }, (_, i) => ({ [`strange${i}`]: 1 }));
  assert.deepStrictEqual(unpack(pack(strange)), strange);
  for (let round = 0; round < 20; round++) {
    const records = Array.from({ length: 1000 }, (_, i) => ({
      [`id${round}`]: i,
      ok: true,
      round,
    }));
    assert.deepStrictEqual(unpack(pack(records)), records);
  }
});

test('a setter on Object.prototype takes no decoded key, nor does one that was there before', () => {
  const script = `
    const assert = require('node:assert');
    let calls = 0;
    const accessor = { get() {}, set() { calls++; }, configurable: true };
    Object.defineProperty(Object.prototype, 'should', accessor);
    const { pack, unpack } = require(${JSON.stringify(index)});
    for (const size of [2, 200]) {
      const map = new Map([['should', 1]]);
      for (let i = 0; i < size; i++) map.set('k' + i, i);
      for (let round = 0; round < 30; round++) {
        const value = unpack(pack(map));
        assert.ok(Object.hasOwn(value, 'should'));
        assert.equal(Object.keys(value).length, size + 1);
      }
    }
    assert.equal(calls, 0);`;
  execFileSync(process.execPath, ['-e', script], { stdio: 'pipe' });
});

test('getters of an input that is a subclass do not run in the middle', () => {
  const inner = pack({ inner: ['x', {}] });
  class Strange extends Uint8Array {
    get buffer() {
      unpack(inner);
      return super.buffer;
    }
    get byteOffset() {
      return 1000;
    }
  }
  const value = {
    a: 'hello',
    b: Buffer.from([1, 2, 3]),
    c: new Ext(3, Buffer.from([4])),
    d: ['z'],
  };
  for (const options of [undefined, { copyBuffers: true }]) {
    for (let i = 0; i < 20; i++) {
      assert.deepStrictEqual(unpack(new Strange(pack(value)), options), value);
    }
  }
});

test('a property left out is left out at any depth', () => {
  const wide = { gone: { toJSON() {} } };
  for (let i = 0; i < 150; i++) wide[`k${i}`] = i;
  const narrow = { gone: undefined, also: () => 1, kept: 1 };
  for (const depth of [0, 10, 250, 256, 257, 300, 900]) {
    for (const [value, keys] of [
      [wide, 150],
      [narrow, 1],
    ]) {
      let nested = value;
      for (let i = 0; i < depth; i++) nested = [nested];
      let decoded = unpack(pack(nested));
      for (let i = 0; i < depth; i++) decoded = decoded[0];
      assert.equal(Object.keys(decoded).length, keys);
    }
  }
});

test('the path of a fault is that of its own value', () => {
  const large = (change) => ({
    x: { big: Buffer.from(new ArrayBuffer(40_000)) },
    get y() {
      change(this.x.big.buffer);
      return 1;
    },
    z: 1n,
  });
  const detach = (buffer) => structuredClone(buffer, { transfer: [buffer] });
  const small = {
    x: { big: Buffer.from(new ArrayBuffer(10)) },
    get y() {
      detach(this.x.big.buffer);
      return 1;
    },
    z: 2n ** 70n,
  };
  throwsCode(() => pack(large(detach)), 'ERR_MSGPACK_INVALID_INPUT', { path: '$.x.big' });
  throwsCode(() => pack(small), 'ERR_MSGPACK_INVALID_INPUT', { path: '$.x.big' });
});

test("an error of the user's comes through, a stack overflow too", () => {
  const endless = {
    toJSON() {
      return this.toJSON() + 1;
    },
  };
  assert.throws(() => pack(endless), RangeError);
  assert.deepStrictEqual(unpack(pack([1])), [1]);
});

test("undefinedAs: 'nil' holds at the top too", () => {
  for (const value of [undefined, () => {}, Symbol('s')]) {
    assert.equal(pack(value, { undefinedAs: 'nil' }).toString('hex'), 'c0');
  }
});

test('options that are none are refused', () => {
  const refused = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' };
  assert.throws(() => pack(1, 5), refused);
  assert.throws(() => unpack(pack(1), 'fatal'), refused);
  assert.throws(() => unpack(pack(1), { int64: ['bigint'] }), refused);
  assert.throws(() => pack(1, { maxDepth: Object.create(null) }), refused);
});
