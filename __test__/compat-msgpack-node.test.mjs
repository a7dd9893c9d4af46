// msgpack-rs/compat/msgpack-node, by what msgpack-node is known to do: there is no build of it here to
// compare with. Every difference that docs/compat-msgpack-node.md lists has a test.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import util, { inherits } from 'node:util';
import vm from 'node:vm';
import fc from 'fast-check';
import * as module from '../compat/msgpack-node.mjs';
import { addExtension, Ext, MsgpackError, Timestamp } from '../index.js';
import {
  bytes,
  collect,
  generator,
  hex,
  nestArrays,
  nestObjects,
  runsOf,
  sameBytes,
  seedOf,
} from './helpers.mjs';
import { arrayHeader, bin, float64, int, mapHeader, str } from './reference.mjs';

const ours = { ...module };
const { pack, Stream, unpack } = ours;
const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const realm = (code) => vm.runInNewContext(code);

const CIRCULAR = {
  name: 'TypeError',
  message: 'Cowardly refusing to pack object with circular reference',
};
const MALFORMED = { name: 'Error', message: 'Error de-serializing object' };
const NO_BUFFER = { name: 'TypeError', message: 'First argument must be a Buffer' };

/** Packs to exactly these bytes, alone and inside others. */
function packs(value, expected, label) {
  const result = pack(value);
  assert.ok(Buffer.isBuffer(result), label);
  sameBytes(result, bytes(expected), label);
}

function roundTrips(value, expected = value) {
  const packed = pack(value);
  assert.ok(Buffer.isBuffer(packed));
  assert.deepStrictEqual(unpack(packed), expected);
  assert.equal(unpack.bytes_remaining, 0);
}

// ── The module

test('the exports of msgpack-node', () => {
  const names = ['Stream', 'pack', 'unpack'];
  assert.deepEqual(Object.keys(ours.default).sort(), names);
  for (const name of names) {
    assert.equal(ours[name], ours.default[name]);
    assert.equal(typeof ours[name], 'function');
  }
  assert.equal(require('../compat/msgpack-node.js'), ours.default);
});

// ── Packing: exact bytes

class Point {
  constructor() {
    this.x = 1;
    this.y = 2;
  }
  sum() {
    return this.x + this.y;
  }
}

class SubDate extends Date {}
class SubMap extends Map {}
class SubSet extends Set {}
class SubArray extends Array {}
class SubError extends Error {}

// As it was written when there were no classes.
function Old() {
  this.own = 1;
}
Old.prototype = { constructor: Old, kind: 'old', 7: 'seven', method() {} };

const ROWS = [
  // nil and booleans
  ['undefined', undefined, 'c0'],
  ['null', null, 'c0'],
  ['undefined inside', { a: undefined, b: [undefined] }, '82 a161 c0 a162 91c0'],
  ['booleans', [true, false], '92 c3 c2'],
  // numbers
  ['fractions', [1.5, -0.1], '92 cb3ff8000000000000 cbbfb999999999999a'],
  ['NaN', NaN, 'cb7ff8000000000000'],
  ['Infinity', [Infinity, -Infinity], '92 cb7ff0000000000000 cbfff0000000000000'],
  ['0', 0, '00'],
  ['-0', -0, '00'],
  ['-0 inside', { a: -0, b: [-0], c: [1, 'x', -0] }, '83 a161 00 a162 9100 a163 9301a17800'],
  ['1', 1, '01'],
  ['127', 127, '7f'],
  ['128', 128, 'cc80'],
  ['255', 255, 'ccff'],
  ['256', 256, 'cd0100'],
  ['65535', 65535, 'cdffff'],
  ['65536', 65536, 'ce00010000'],
  ['2^32 - 1', 2 ** 32 - 1, 'ceffffffff'],
  ['2^32', 2 ** 32, 'cf0000000100000000'],
  ['2^53 - 1', 2 ** 53 - 1, 'cf001fffffffffffff'],
  ['2^63', 2 ** 63, 'cf8000000000000000'],
  ['the last below 2^64', 2 ** 64 - 2 ** 11, 'cffffffffffffff800'],
  ['-1', -1, 'ff'],
  ['-32', -32, 'e0'],
  ['-33', -33, 'd0df'],
  ['-128', -128, 'd080'],
  ['-129', -129, 'd1ff7f'],
  ['-32768', -32768, 'd18000'],
  ['-32769', -32769, 'd2ffff7fff'],
  ['-2^31', -(2 ** 31), 'd280000000'],
  ['-2^31 - 1', -(2 ** 31) - 1, 'd3ffffffff7fffffff'],
  ['-2^53', -(2 ** 53), 'd3ffe0000000000000'],
  ['-2^63', -(2 ** 63), 'd38000000000000000'],
  // Integers all, of which the forms differ: there it was uint 64.
  ['2^53', [2 ** 53, 1], '92 d30020000000000000 01'],
  ['the last below 2^63', { a: 2 ** 63 - 2 ** 10 }, '81 a161 d37ffffffffffffc00'],
  ['2^64', 2 ** 64, 'cb43f0000000000000'],
  ['below -2^63', -(2 ** 63) - 2 ** 11, 'cbc3e0000000000001'],
  ['1e300', 1e300, 'cb7e37e43c8800759c'],
  // text and bytes
  ['empty text', '', 'a0'],
  ['text', 'abcdef', 'a6616263646566'],
  ['text of 31', 'a'.repeat(31), 'bf 61^31'],
  ['text of 32', 'a'.repeat(32), 'd920 61^32'],
  ['text of 256', 'a'.repeat(256), 'da0100 61^256'],
  ['text of 65536', 'a'.repeat(65536), 'db00010000 61^65536'],
  ['UTF-8', 'é漢😀', 'a9 c3a9 e6bca2 f09f9880'],
  ['Buffer at the top', Buffer.from([1, 2]), 'c4020102'],
  ['Buffer', { a: Buffer.from([1, 2]) }, '81 a161 c4020102'],
  ['Buffer of 256', [Buffer.alloc(256)], '91 c50100 00^256'],
  ['typed array', [new Uint16Array([258])], '91 c4020201'],
  ['DataView', [new DataView(new ArrayBuffer(1))], '91 c40100'],
  // dates
  ['Date', [new Date(0)], '91 b8 313937302d30312d30315430303a30303a30302e3030305a'],
  ['Date at the top', new Date(0), 'b8 313937302d30312d30315430303a30303a30302e3030305a'],
  ['subclass of Date', [new SubDate(0)], '91 b8 313937302d30312d30315430303a30303a30302e3030305a'],
  ['invalid Date', [new Date(NaN)], '91 c0'],
  ['invalid Date at the top', new Date(NaN), 'c0'],
  // arrays
  ['array', [1, 'abc', false, null], '94 01 a3616263 c2 c0'],
  // biome-ignore lint/suspicious/noSparseArray: that is the case
  ['holes', [1, , 3], '93 01 c0 03'],
  ['only holes', new Array(2), '92 c0 c0'],
  ['array of 16', Array(16).fill(0), 'dc0010 00^16'],
  ['array of 65536', Array(65536).fill(0), 'dd00010000 00^65536'],
  ['subclass of Array', SubArray.from([1]), '91 01'],
  ['array with a property', Object.assign([1], { a: 2 }), '91 01'],
  // objects
  ['object', { a: 1, b: { c: 'd' } }, '82 a161 01 a162 81 a163 a164'],
  ['empty object', {}, '80'],
  ['object without prototype', { __proto__: null, a: 1 }, '81 a161 01'],
  ['instance', new Point(), '82 a178 01 a179 02'],
  [
    'property that is not enumerable',
    Object.defineProperty({ a: 1 }, 'b', { value: 2 }),
    '81 a161 01',
  ],
  ['key that is a symbol', { a: 1, [Symbol('s')]: 2 }, '81 a161 01'],
  ['own __proto__', JSON.parse('{"__proto__":1,"1":2}'), '82 01 02 a95f5f70726f746f5f5f 01'],
  // keys that are integers
  ['key 0', { 0: 1 }, '81 00 01'],
  ['key 65535', { 65535: 0 }, '81 cdffff 00'],
  ['keys in order', { b: 1, 10: 2, 9: 3 }, '83 09 03 0a 02 a162 01'],
  ['the last index', { 4294967294: 1 }, '81 cefffffffe 01'],
  ['one more is a name', { 4294967295: 1 }, '81 aa34323934393637323935 01'],
  [
    'no integers',
    { '01': 1, 1.5: 2, '-1': 3, '1e3': 4, '': 5 },
    '85 a23031 01 a3312e35 02 a22d31 03 a3316533 04 a0 05',
  ],
  ['inside', [{ a: { 5: [{ 6: 7 }] } }], '91 81 a161 81 05 91 81 06 07'],
  ['in an instance', Object.assign(new Point(), { 3: 4 }), '83 03 04 a178 01 a179 02'],
  [
    'arguments',
    (function () {
      // biome-ignore lint/complexity/noArguments: that is the case
      return arguments;
    })('x'),
    '81 00 a178',
  ],
  // inherited properties: data, not methods
  ['inherited', Object.assign(Object.create({ inh: 1 }), { own: 2 }), '82 a36f776e 02 a3696e68 01'],
  ['all inherited', Object.create({ inh: 1 }), '81 a3696e68 01'],
  [
    'inherited twice',
    Object.create(Object.create({ a: 1, b: 2 }, { b: { value: 3, enumerable: true } })),
    '82 a162 03 a161 01',
  ],
  ['inherited and hidden', Object.assign(Object.create({ a: 1 }), { a: 2 }), '81 a161 02'],
  ['old class', [new Old()], '91 83 a36f776e 01 07 a5736576656e a46b696e64 a36f6c64'],
  // what has no form
  ['function', [() => 1, function f() {}], '92 c0 c0'],
  ['function at the top', () => 1, 'c0'],
  ['function as a property', { a() {} }, '81 a161 c0'],
  ['symbol', [Symbol('s')], '91 c0'],
  ['symbol at the top', Symbol('s'), 'c0'],
  // what was an empty map
  ['bigint', [5n, -1n, 2n ** 64n - 1n], '93 05 ff cfffffffffffffffff'],
  ['RegExp', [/a/g], '91 a42f612f67'],
  ['Map', [new Map([[1, 'x']]).set('a', new Date(NaN))], '91 82 01 a178 a161 c0'],
  ['Map at the top', new Map([[null, -0]]), '81 c0 00'],
  ['Map that needs no copy', new SubMap([['a', 1]]), '81 a161 01'],
  ['Set', [new Set([1, -0, { 1: 2 }])], '91 93 01 00 81 01 02'],
  ['subclass of Set', new SubSet(['a']), '91 a161'],
  ['Error', [new RangeError('m')], '91 82 a46e616d65 aa52616e67654572726f72 a76d657373616765 a16d'],
  [
    'Error with properties',
    Object.assign(new SubError('m'), { 1: -0 }),
    '83 01 00 a46e616d65 a54572726f72 a76d657373616765 a16d',
  ],
  ['ArrayBuffer', [new Uint8Array([7]).buffer], '91 c40107'],
  ['SharedArrayBuffer', [new SharedArrayBuffer(1)], '91 c40100'],
  [
    'boxed',
    [new String('hi'), new Number(5), new Boolean(false), Object(1n)],
    '94 a26869 05 c2 01',
  ],
  // of msgpack-rs
  ['Ext', [new Ext(5, Buffer.from([1]))], '91 d40501'],
  ['Timestamp', [new Timestamp(1n, 0)], '91 d6ff00000001'],
  ['Ext with a property', Object.assign(new Ext(5, Buffer.from([1])), { at: -0 }), 'd40501'],
  // other realms
  ['object of another realm', realm('({ a: 1, 2: [] })'), '82 02 90 a161 01'],
  [
    'Date of another realm',
    [realm('new Date(0)')],
    '91 b8 313937302d30312d30315430303a30303a30302e3030305a',
  ],
  ['Map of another realm', [realm('new Map([[1, 2]])')], '91 81 01 02'],
  [
    'Error of another realm',
    [realm('new Error("m")')],
    '91 82 a46e616d65 a54572726f72 a76d657373616765 a16d',
  ],
  ['bytes of another realm', [realm('new Uint8Array([1])')], '91 c40101'],
];

for (const [name, value, expected] of ROWS) {
  test(`pack: ${name}`, () => {
    packs(value, expected, name);
    // Behind something that has to be copied, which the look at the next value is left out for.
    packs([{ 1: 1 }, value], `92 81 01 01 ${expected}`, 'behind a copy');
    packs(value, expected, 'after a copy');
    packs(value, expected, 'again');
    packs({ a: value }, `81 a161 ${expected}`, 'as a property');
  });
}

test('pack: values back to back, or none', () => {
  sameBytes(pack(1, 'a', null, [{ 2: -0 }], new Date(NaN)), bytes('01 a161 c0 91 81 02 00 c0'));
  sameBytes(pack(undefined, undefined), bytes('c0 c0'));
  const none = pack();
  assert.ok(Buffer.isBuffer(none));
  assert.equal(none.length, 0);
  sameBytes(
    pack(...Array(1000).fill('x'.repeat(40))),
    bytes(`${`d928${'78'.repeat(40)}`.repeat(1000)}`),
  );
});

test('pack: results are never changed, nor is what is packed', () => {
  const value = { 1: -0, date: new Date(0), list: [1, -0, new Date(0)], inner: { 5: 6 } };
  const before = util.inspect(value, { depth: 9 });
  const [first, second] = [pack(value), pack(value, value)];
  const text = hex(first);
  for (let i = 0; i < 1000; i++) pack(value, i);
  assert.equal(hex(first), text);
  assert.equal(hex(second), text + text);
  assert.equal(util.inspect(value, { depth: 9 }), before);
});

test('pack: properties added to Object.prototype are none of the value', (t) => {
  t.after(() => {
    delete Object.prototype.polluted;
    delete Object.prototype[5];
  });
  const values = [
    { a: 1 },
    { a: -0 },
    new Point(),
    Object.create({ inh: 1 }),
    new Old(),
    [new Map([[1, { 2: 3 }]])],
  ];
  const before = values.map((value) => hex(pack(value)));
  Object.prototype.polluted = 'x';
  Object.prototype[5] = 'y';
  const during = values.map((value) => hex(pack(value)));
  delete Object.prototype.polluted;
  delete Object.prototype[5];
  assert.deepEqual(during, before);
});

test('pack: extensions of msgpack-rs are not heeded', () => {
  class Mine {
    constructor() {
      this.a = 1;
    }
  }
  addExtension({ Class: Mine, type: 77, pack: () => Buffer.from([1]), unpack: () => 'mine' });
  packs(new Mine(), '81 a161 01');
  assert.ok(unpack(bytes('d44d01')) instanceof Ext);
});

test('pack: a bigint of more than 64 bits, and memory that is gone, throw as in msgpack-rs', () => {
  for (const value of [2n ** 64n, [-(2n ** 63n) - 1n]]) {
    assert.throws(() => pack(value), { code: 'ERR_MSGPACK_OUT_OF_RANGE' });
  }
  const view = new Uint8Array(4);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  assert.throws(() => pack(1, view), { code: 'ERR_MSGPACK_INVALID_INPUT' });
  packs(1, '01');
});

// ── toJSON

test('toJSON: at the top, with others, and one that gives undefined', () => {
  packs({ a: 1, toJSON: () => ({ b: 2 }) }, '81 a162 02');
  const second = { toJSON() {} };
  sameBytes(pack({ toJSON: () => 'x' }, second, 3), bytes('a178 c0 03'));
});

test('toJSON: inside what another one gave, and inside of others', () => {
  const inner = { toJSON: () => 'inner' };
  packs({ toJSON: () => ({ inner }) }, '81 a5696e6e6572 a5696e6e6572');
  packs(
    [inner, { inner }, new Map([['k', inner]])],
    '93 a5696e6e6572 81a5696e6e6572a5696e6e6572 81a16ba5696e6e6572',
  );
  packs({ toJSON: () => inner }, 'a5696e6e6572', 'what it gives is asked for its own');
  packs([{ toJSON: () => ({ toJSON: () => inner }) }], '91 a5696e6e6572');
});

test('toJSON: inherited', () => {
  class Shape {
    toJSON() {
      return { 1: this.size };
    }
  }
  packs(Object.assign(new Shape(), { size: 2 }), '81 01 02');
  packs([Object.assign(Object.create({ toJSON: () => 7 }), { a: 1 })], '91 07');
  packs([Object.assign(new Error('m'), { toJSON: () => 8 })], '91 08');
  packs([Object.assign(new Map([[1, 2]]), { toJSON: () => 9 })], '91 09');
  packs(new URL('http://a/b'), 'aa 687474703a2f2f612f62');
  packs([new URL('http://a/b')], '91 aa 687474703a2f2f612f62');
});

test('toJSON: of arrays and dates at the top only, of bytes never, of functions', () => {
  const array = Object.assign([1], { toJSON: () => 'list' });
  packs(array, 'a46c697374');
  packs([array], '91 91 01');
  const date = Object.assign(new Date(0), { toJSON: () => 'date' });
  packs(date, 'a464617465');
  packs([date], '91 b8 313937302d30312d30315430303a30303a30302e3030305a');
  packs(Object.assign(Buffer.from([1]), { toJSON: () => 'no' }), 'c40101');
  packs([Object.assign(() => 1, { toJSON: () => 'f' })], '91 a166');
});

test('toJSON: called with the object as this, without arguments, and once', () => {
  const calls = [];
  const value = {
    toJSON(...args) {
      calls.push([this === value, args.length]);
      return 1;
    },
  };
  packs({ value }, '81 a576616c7565 01');
  packs(value, '01');
  assert.deepEqual(calls, Array(2).fill([true, 0]));
});

test('toJSON: one that is no function is a property; one that returns its own object', () => {
  packs({ toJSON: 1 }, '81 a6746f4a534f4e 01');
  class Self {
    constructor() {
      this.a = -0;
    }
    toJSON() {
      return this;
    }
  }
  packs(new Self(), '81 a161 00');
  packs([Object.assign(new Self(), { a: 'x' })], '91 81 a161 a178');
});

test('toJSON and getters: what they throw comes through', () => {
  const error = new Error('mine');
  const fails = () => {
    throw error;
  };
  for (const value of [
    { toJSON: fails },
    [{ toJSON: fails }],
    Object.defineProperty({}, 'g', { get: fails, enumerable: true }),
  ]) {
    assert.throws(
      () => pack(value),
      (thrown) => thrown === error,
    );
    assert.throws(
      () => pack(1, { 1: value }),
      (thrown) => thrown === error,
    );
  }
  const noDate = Object.create(Date.prototype);
  for (const value of [noDate, [noDate], { 1: [noDate] }])
    assert.throws(() => pack(value), TypeError);
  packs(1, '01');
});

// ── Cycles and depth

test('cycles: of arrays, of objects, through what is copied, Maps, Sets and toJSON', () => {
  const array = [1];
  array.push(array);
  const object = { a: 1 };
  object.self = object;
  const copied = { 1: new Date(0) };
  copied.self = [copied];
  const map = new Map();
  map.set('self', map);
  const set = new Set();
  set.add(set);
  const instance = new Point();
  instance.self = { instance };
  const forever = () => ({ toJSON: forever });
  const error = Object.assign(new Error('m'), { own: [] });
  error.own.push(error);
  for (const value of [
    array,
    object,
    copied,
    map,
    set,
    instance,
    error,
    { toJSON: forever },
    { toJSON: () => [object] },
  ]) {
    assert.throws(() => pack(value), CIRCULAR);
    assert.throws(() => pack(1, [value]), CIRCULAR);
    packs(1, '01');
  }
});

test('what comes twice is no cycle, however often it is packed', () => {
  const e = {};
  packs({ a: e, b: e }, '82 a161 80 a162 80');
  const shared = { 1: [{ at: -0 }] };
  for (let i = 0; i < 10; i++)
    packs([shared, { shared }], '92 81 01 91 81a2617400 81 a6736861726564 81 01 91 81a2617400');
});

test('depth: 512 arrays and maps inside one another, and no more', () => {
  const ways = [
    nestArrays,
    nestObjects,
    (n, value) => nestObjects(n, value, '1'),
    (n, value) => nestArrays(n - 1, new Map([[1, value ?? null]])),
    (n, value) => nestArrays(n - 1, new Set([value])),
  ];
  for (const nest of ways) {
    for (const leaf of [null, 1, -0, 'x', new Date(0)]) {
      const packed = pack(nest(512, leaf));
      assert.notEqual(unpack(packed), undefined);
      assert.equal(unpack.bytes_remaining, 0);
      assert.throws(() => pack(nest(513, leaf)), CIRCULAR);
    }
  }
  assert.throws(() => pack(nestArrays(100_000)), CIRCULAR);
});

test('refused packs leave no memory behind', () => {
  const array = [];
  array.push(array);
  const refuse = (n) => {
    for (let i = 0; i < n; i++) {
      try {
        pack(array);
        assert.fail();
      } catch (error) {
        if (error.name !== 'TypeError') throw error;
      }
    }
  };
  refuse(3_000);
  collect();
  const before = process.memoryUsage().rss;
  refuse(12_000);
  collect();
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 12e6, `${grown} bytes more`);
});

// ── Unpacking

test('unpack: every form of MessagePack', () => {
  const forms = [
    ['c0', null],
    ['c2', false],
    ['c3', true],
    ['ca3fc00000', 1.5],
    ['cb3ff8000000000000', 1.5],
    ['7f', 127],
    ['ccff', 255],
    ['cdffff', 65535],
    ['ceffffffff', 2 ** 32 - 1],
    ['cf001fffffffffffff', 2 ** 53 - 1],
    ['ff', -1],
    ['d080', -128],
    ['d18000', -32768],
    ['d280000000', -(2 ** 31)],
    ['d3ffe0000000000001', -(2 ** 53) + 1],
    ['a0', ''],
    ['d90161', 'a'],
    ['da000161', 'a'],
    ['db0000000161', 'a'],
    ['c40101', Buffer.from([1])],
    ['c5000101', Buffer.from([1])],
    ['c60000000101', Buffer.from([1])],
    ['92 01 c0', [1, null]],
    ['dc0001 01', [1]],
    ['dd00000001 01', [1]],
    ['81 a161 01', { a: 1 }],
    ['de0001 a161 01', { a: 1 }],
    ['df00000001 a161 01', { a: 1 }],
  ];
  for (const [wire, expected] of forms) {
    assert.deepStrictEqual(unpack(bytes(wire)), expected, wire);
    assert.equal(unpack.bytes_remaining, 0, wire);
  }
});

test('unpack: 64-bit integers are numbers, rounded where they must be', () => {
  assert.equal(unpack(bytes('cf0020000000000001')), 2 ** 53);
  assert.equal(unpack(bytes('cfffffffffffffffff')), 2 ** 64);
  assert.equal(unpack(bytes('d38000000000000000')), -(2 ** 63));
  assert.deepEqual(unpack(bytes('81 cf0020000000000001 01')), { 9007199254740992: 1 });
});

test('unpack: bytes_remaining, and undefined for what is incomplete', () => {
  const value = { a: [1, 'text', { 1: Buffer.from('bytes') }] };
  const whole = pack(value);
  const more = Buffer.concat([whole, Buffer.from([1, 2, 3])]);
  assert.deepStrictEqual(unpack(more), value);
  assert.equal(unpack.bytes_remaining, 3);
  assert.deepStrictEqual(unpack(whole), value);
  assert.equal(unpack.bytes_remaining, 0);
  for (let n = 0; n < whole.length; n++) {
    assert.equal(unpack(whole.subarray(0, n)), undefined, `${n} bytes`);
    assert.equal(unpack.bytes_remaining, n);
  }
  assert.equal(unpack(bytes('81 c0')), undefined, 'a key that is no text, cut');
  assert.equal(unpack(bytes('dfffffffff')), undefined);
});

test('unpack: malformed bytes, and what is no bytes', () => {
  unpack(bytes('01 02 03'));
  for (const wire of ['c1', '91 c1', '81 a161 c1', '81 c0 c1']) {
    const check = (error) => {
      assert.equal(error.name, MALFORMED.name);
      assert.equal(error.message, MALFORMED.message);
      assert.equal(error.code, 'ERR_MSGPACK_INVALID_BYTE');
      assert.equal(error.offset, bytes(wire).length - 1);
      assert.ok(error.cause instanceof MsgpackError);
      return true;
    };
    assert.throws(() => unpack(bytes(wire)), check);
  }
  assert.throws(() => unpack(pack(...Array(2).fill(nestArrays(500))).fill(0x91)), {
    ...MALFORMED,
    code: 'ERR_MSGPACK_DEPTH',
  });
  assert.throws(() => unpack(bytes('c701ff00')), { ...MALFORMED, code: 'ERR_MSGPACK_TIMESTAMP' });
  assert.equal(unpack.bytes_remaining, 2, 'an error leaves it');
  for (const value of [undefined, null, 'text', 5, {}, [1]]) {
    assert.throws(() => unpack(value), NO_BUFFER);
  }
  assert.throws(() => unpack(), NO_BUFFER);
  const view = Buffer.alloc(4);
  const lost = new Uint8Array(4);
  structuredClone(lost.buffer, { transfer: [lost.buffer] });
  assert.throws(() => unpack(lost), NO_BUFFER);
  assert.equal(unpack(view), 0);
});

test('unpack: any kind of bytes', () => {
  const { buffer } = new Uint8Array([0, 0x92, 1, 2, 3]);
  for (const input of [
    new Uint8Array(buffer, 1),
    new DataView(buffer, 1),
    Buffer.from(buffer, 1),
    realm('new Uint8Array([0x92, 1, 2, 3])'),
    buffer.slice(1),
  ]) {
    assert.deepStrictEqual(unpack(input), [1, 2]);
    assert.equal(unpack.bytes_remaining, 1);
  }
});

test('unpack: bytes have memory of their own', () => {
  const packed = pack([Buffer.from('abc'), new Ext(1, Buffer.from('abc'))]);
  const [data, ext] = unpack(packed);
  packed.fill(0);
  assert.equal(data.toString(), 'abc');
  assert.equal(ext.data.toString(), 'abc');
  assert.ok(Buffer.isBuffer(data));
});

test('unpack: any key, as text', () => {
  const keys = [
    ['01', '1'],
    ['ff', '-1'],
    ['cb3ff8000000000000', '1.5'],
    ['c0', 'null'],
    ['c3', 'true'],
    ['c40161', 'a'],
    ['93 01 c0 92 02 80', '1,,2,[object Object]'],
    ['81 a8746f537472696e67 01', '[object Object]'],
    ['d40101', '[object Object]'],
  ];
  for (const [wire, text] of keys) {
    const input = bytes(`92 81 ${wire} 81 01 c0 02`);
    assert.deepStrictEqual(unpack(input), [{ [text]: { 1: null } }, 2], text);
    assert.equal(unpack.bytes_remaining, 0);
  }
  assert.deepStrictEqual(unpack(bytes('82 c0 01 a46e756c6c 02 03')), { null: 2 });
  assert.equal(unpack.bytes_remaining, 1);
});

test('unpack: __proto__ is a property, whatever the other keys', () => {
  for (const wire of [
    '81 a95f5f70726f746f5f5f 81 a161 01',
    '82 c0 01 a95f5f70726f746f5f5f 81 a161 01',
  ]) {
    const value = unpack(bytes(wire));
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.ok(Object.hasOwn(value, '__proto__'));
    assert.equal(value.a, undefined);
  }
  const own = bytes('81 a95f5f70726f746f5f5f 81 a161 01');
  sameBytes(pack(unpack(own)), own);
  assert.equal({}.a, undefined);
});

test('unpack: extension types', () => {
  assert.deepStrictEqual(unpack(bytes('d6ff00000001')), new Date(1000));
  const ext = unpack(bytes('d50a 0102'));
  assert.ok(ext instanceof Ext);
  assert.equal(ext.type, 10);
  sameBytes(pack(ext), bytes('d50a0102'));
});

test('unpack: text that is not UTF-8', () => {
  assert.equal(unpack(bytes('a2 ff61')), '\ufffda');
});

// ── What the tests of msgpack-node asked of it

test('as there: round trips', () => {
  const values = [
    ...['abcdef', 123, null, -1243.111, -123, true, false],
    ...[
      [1, 2, 3],
      [1, 'abc', false, null],
    ],
    { a: [1, 2, 3], b: 'cdef', c: { nuller: null, subobj: { g: 'h', i: 'j' } } },
    ...[-(2 ** 31) - 1, -(2 ** 40) - 1, 2 ** 31 + 1, 2 ** 40 + 1, 123456782345245],
  ];
  for (const value of values) roundTrips(value);
  const d = new Date();
  roundTrips({ d }, { d: d.toISOString() });
});

test('as there: a message through a file, and from a binary string', (t) => {
  const file = path.join(mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-')), 'message');
  t.after(() => rmSync(path.dirname(file), { recursive: true, force: true }));
  const value = {
    text: 'ÿþ\0x'.repeat(3000),
    list: [1, -500, 2.5],
    data: Buffer.alloc(2000, 0xfe),
  };
  const packed = pack(value);
  writeFileSync(file, packed);
  assert.deepStrictEqual(unpack(readFileSync(file)), value);
  unlinkSync(file);
  assert.deepStrictEqual(unpack(Buffer.from(packed.toString('binary'), 'binary')), value);
});

// ── Properties

/** Unlike Object.assign it makes a property of __proto__, too. */
function withProperties(object, properties) {
  return Object.defineProperties(object, Object.getOwnPropertyDescriptors(properties));
}

const keyNames = fc.oneof(
  fc.constantFrom(
    'a',
    'id',
    '0',
    '1',
    '19',
    '65535',
    '4294967294',
    '4294967295',
    '01',
    '__proto__',
    'é',
  ),
  fc.string({ maxLength: 6 }),
);
const numbers = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(
    -0,
    0,
    2 ** 53,
    2 ** 62,
    2 ** 63,
    -(2 ** 53),
    -(2 ** 63),
    2 ** 64,
    -(2 ** 64),
    Infinity,
  ),
);
const dates = fc.date({ noInvalidDate: false });
const { anything } = fc.letrec((tie) => ({
  anything: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: numbers },
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(null, undefined, true, false),
    fc.uint8Array({ maxLength: 40 }).map((data) => Buffer.from(data)),
    dates,
    { weight: 3, arbitrary: fc.array(tie('anything'), { maxLength: 18 }) },
    { weight: 5, arbitrary: tie('object') },
    fc
      .tuple(tie('object'), tie('object'))
      .map(([own, above]) => withProperties(Object.create(above), own)),
    fc.array(fc.tuple(keyNames, tie('anything')), { maxLength: 4 }).map((list) => new Map(list)),
    fc.array(tie('anything'), { maxLength: 4 }).map((list) => new Set(list)),
    tie('anything').map((value) => ({ toJSON: () => value, other: 1 })),
    tie('object').map((fields) => withProperties(new Point(), fields)),
  ),
  object: fc.dictionary(keyNames, tie('anything'), { maxKeys: 8, noNullPrototype: true }),
}));

/** What msgpack-node would say of a value, in the words of this package: slow, and plain to see. */
function described(x, isTop = false) {
  if (x === undefined || x === null || typeof x === 'function') return Buffer.from([0xc0]);
  if (typeof x === 'boolean') return Buffer.from([x ? 0xc3 : 0xc2]);
  if (typeof x === 'number') {
    const isInteger = Number.isInteger(x) && x >= -(2 ** 63) && x < 2 ** 64;
    return isInteger ? int(x) : float64(x);
  }
  if (typeof x === 'string') return str(x);
  if (Buffer.isBuffer(x)) return bin(x);
  if (isTop && typeof x.toJSON === 'function') return described(x.toJSON());
  if (x instanceof Date) return described(Number.isNaN(x.getTime()) ? null : x.toISOString());
  if (x instanceof Set) x = [...x];
  if (Array.isArray(x)) {
    const items = Array.from(x, (item) => described(item));
    return Buffer.concat([arrayHeader(items.length), ...items]);
  }
  if (typeof x.toJSON === 'function') return described(x.toJSON());
  const entries = x instanceof Map ? [...x] : propertiesOf(x);
  const parts = entries.map(([key, value]) => Buffer.concat([described(key), described(value)]));
  return Buffer.concat([mapHeader(entries.length), ...parts]);
}

function propertiesOf(x) {
  const keys = new Set(Object.keys(x));
  for (
    let each = x;
    each !== null && each !== Object.prototype;
    each = Object.getPrototypeOf(each)
  ) {
    for (const key of Object.keys(each)) keys.add(key);
  }
  // __proto__ of a prototype cannot be read through it.
  const own = [...keys].filter((key) => Object.hasOwn(x, key) || key !== '__proto__');
  const data = own.filter((key) => Object.hasOwn(x, key) || typeof x[key] !== 'function');
  const isIndex = (key) => /^(0|[1-9][0-9]*)$/.test(key) && Number(key) < 2 ** 32 - 1;
  return data.map((key) => [isIndex(key) ? Number(key) : key, x[key]]);
}

test('random values: exactly the bytes of the description', (t) => {
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 3 }), (values) => {
      const expected = Buffer.concat(values.map((value) => described(value, true)));
      sameBytes(pack(...values), expected);
      sameBytes(pack(...values), expected, 'again');
    }),
    { seed: seedOf(t), numRuns: runsOf(2000) },
  );
});

/** What comes back of a value. */
function back(x, isTop = false) {
  if (x === undefined || x === null) return null;
  if (typeof x === 'number') return x === 0 ? 0 : x;
  if (typeof x !== 'object' || Buffer.isBuffer(x)) return x;
  if (isTop && typeof x.toJSON === 'function') return back(x.toJSON());
  if (x instanceof Date) return Number.isNaN(x.getTime()) ? null : x.toISOString();
  if (x instanceof Set || Array.isArray(x)) return Array.from(x, (item) => back(item));
  if (typeof x.toJSON === 'function') return back(x.toJSON());
  const entries = x instanceof Map ? [...x] : propertiesOf(x);
  return Object.fromEntries(entries.map(([key, value]) => [key, back(value)]));
}

test('random values: pack of several, and a loop of unpack by bytes_remaining', (t) => {
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 6 }), (values) => {
      let rest = pack(...values);
      const found = [];
      while (rest.length > 0) {
        const value = unpack(rest);
        assert.notEqual(value, undefined);
        found.push(value);
        rest = rest.subarray(rest.length - unpack.bytes_remaining);
      }
      assert.deepStrictEqual(
        found,
        values.map((value) => back(value, true)),
      );
    }),
    { seed: seedOf(t), numRuns: runsOf(1000) },
  );
});

// ── Streams

/** Like a socket, but everything happens at once. */
class Pipe extends EventEmitter {
  written = [];
  result = true;
  write(...args) {
    this.written.push(args);
    return this.result;
  }
}

/** What comes of these chunks: for each, the values that it completes. */
function reads(chunks) {
  const pipe = new Pipe();
  const stream = new Stream(pipe);
  const messages = [];
  stream.on('msg', (value) => messages.push(value));
  return chunks.map((chunk) => {
    pipe.emit('data', chunk);
    return messages.splice(0);
  });
}

function cut(data, size) {
  const chunks = [];
  for (let at = 0; at < data.length; at += size) chunks.push(data.subarray(at, at + size));
  return chunks;
}

const VALUES = [
  0,
  false,
  '',
  null,
  1,
  { a: [1, 2, { b: 'text', c: null }] },
  [],
  'a text that is longer than a header',
  Buffer.alloc(300, 7),
  new Date(0),
  NaN,
  -70_000,
  { 1: 2, long: 'é漢😀'.repeat(100) },
  Array.from({ length: 70 }, (_, i) => ({ i })),
  0,
  null,
];
const WIRE = pack(...VALUES);

test('Stream: with new, without it, and as a base', async (t) => {
  const socket = new PassThrough();
  assert.ok(new Stream(socket) instanceof Stream);
  assert.ok(Stream(socket) instanceof EventEmitter);
  function Sub(s) {
    Stream.call(this, s);
  }
  inherits(Sub, Stream);
  class Class extends Stream {
    twice(value) {
      return this.send([value, value]);
    }
  }
  for (const Each of [Sub, Class]) {
    await t.test(Each.name, async () => {
      const through = new PassThrough();
      const stream = new Each(through);
      assert.ok(stream instanceof Each && stream instanceof Stream);
      const message = once(stream, 'msg');
      if (Each === Class) stream.twice(1);
      else stream.send([1, 1]);
      assert.deepEqual(await message, [[1, 1]]);
    });
  }
});

test('Stream: send gives the value to write, and all else as it is', () => {
  const pipe = new Pipe();
  const { send } = new Stream(pipe);
  const callback = () => {};
  pipe.result = 'what write returns';
  assert.equal(send({ 1: new Date(NaN) }, 'binary', callback), 'what write returns');
  const [[packed, ...rest]] = pipe.written;
  sameBytes(packed, bytes('81 01 c0'));
  assert.deepEqual(rest, ['binary', callback]);
  pipe.result = false;
  assert.equal(send(), false);
  sameBytes(pipe.written[1][0], bytes('c0'));
  assert.equal(pipe.written[1].length, 1);

  const circle = [];
  circle.push(circle);
  assert.throws(() => send(circle), CIRCULAR);
  assert.equal(pipe.written.length, 2, 'nothing is written of what cannot be packed');
});

test('Stream: 0, false, the empty string and null are messages', () => {
  assert.deepEqual(reads([pack(0, false, '', null, 'end')]), [[0, false, '', null, 'end']]);
  assert.deepEqual(reads([pack(0), pack(false), pack(''), pack(null), pack(1)]), [
    [0],
    [false],
    [''],
    [null],
    [1],
  ]);
});

for (const size of [1, 3, 7, 64, 1 << 20]) {
  test(`Stream: chunks of ${size}, each message when its last byte is there`, () => {
    const chunks = cut(WIRE, size);
    const found = reads(chunks);
    assert.deepStrictEqual(
      found.flat(),
      VALUES.map((value) => back(value, true)),
    );
    // By the offset where each ends, the chunk that it comes with.
    let end = 0;
    const expected = chunks.map(() => 0);
    for (const value of VALUES) {
      end += pack(value).length;
      expected[Math.ceil(end / size) - 1]++;
    }
    assert.deepEqual(
      found.map((list) => list.length),
      expected,
    );
  });
}

test('Stream: every form of MessagePack, cut at every byte', () => {
  const forms = [
    ...['c0', 'c2', 'c3', '00', '7f', 'e0', 'ff', 'ca3fc00000', 'cb3ff8000000000000'],
    ...['ccff', 'cdffff', 'ceffffffff', 'cf0000000000000001', 'd080', 'd18000', 'd280000000'],
    ...['d3ffffffffffffffff', 'a0', 'a3616263', 'd900', 'd903616263', 'da0000', 'da0003616263'],
    ...['db00000000', 'db00000003616263', 'c400', 'c403010203', 'c50000', 'c50003010203'],
    ...['c600000000', 'c600000003010203', '90', '9301a16102', 'dc0000', 'dc000301a16102'],
    ...['dd00000000', 'dd0000000301a16102', '80', '8201a16102a162', 'de0000', 'de000201a16102a162'],
    ...['df00000000', 'df0000000201a16102a162', 'd40501', 'd5050102', 'd60501020304'],
    ...['d7050102030405060708', `d805${'01'.repeat(16)}`, 'c70005', 'c70305010203', 'c8000005'],
    ...['c8000305010203', 'c90000000005', 'c90000000305010203', 'd6ff00000001'],
    ...['d7ff0000000000000001', 'c70cff000000000000000000000001', '81c0c3', '81910182a16100a16280'],
    ...[
      '93 93 93 00 00 00 90 80 91 92 81 a0 d40100 01 c0',
      '92 dc0002 dd00000001 c400 c0 82 01 90 02 80',
    ],
  ].map((wire) => bytes(wire));
  for (const wire of forms) {
    const value = unpack(wire);
    assert.equal(unpack.bytes_remaining, 0);
    for (let at = 1; at < wire.length; at++) {
      const chunks = [
        wire.subarray(0, at),
        Buffer.concat([wire.subarray(at), wire, wire.subarray(0, 1)]),
      ];
      const found = reads([...chunks, wire.subarray(1)]);
      const expected =
        wire.length === 1 ? [[], [value, value, value], []] : [[], [value, value], [value]];
      assert.deepStrictEqual(found, expected, `${hex(wire)} at ${at}`);
    }
    const bits = reads(cut(Buffer.concat([wire, wire]), 1));
    assert.deepEqual(
      bits.map((list) => list.length),
      [...wire, ...wire].map((_, i) => Number((i + 1) % wire.length === 0)),
    );
  }
});

test('Stream: random values in random chunks', (t) => {
  fc.assert(
    fc.property(fc.array(anything, { minLength: 1, maxLength: 8 }), fc.nat(), (values, seed) => {
      const next = generator(seed);
      const wire = pack(...values);
      const chunks = [];
      for (let at = 0; at < wire.length; ) {
        const size = next.below(3) === 0 ? next.below(4) : next.below(60);
        chunks.push(wire.subarray(at, at + size));
        at += size;
      }
      assert.deepStrictEqual(
        reads(chunks).flat(),
        values.map((value) => back(value, true)),
      );
    }),
    { seed: seedOf(t), numRuns: runsOf(1000) },
  );
});

test('Stream: a large message in small chunks costs what its bytes cost', () => {
  const messages = [
    Array.from({ length: 300_000 }, (_, i) => ({ i })),
    Buffer.alloc(4_000_000, 1),
    'x'.repeat(4_000_000),
  ];
  const wire = pack(...messages);
  const start = performance.now();
  const found = reads(cut(wire, 64)).flat();
  const time = performance.now() - start;
  assert.deepStrictEqual(found, messages);
  // Beginning again with every chunk would take minutes.
  assert.ok(time < 8000, `${time} ms`);
});

test('Stream: a declared length takes no memory before the bytes are there', () => {
  const before = process.memoryUsage();
  const streams = [];
  for (const head of ['ddffffffff', 'dfffffffff', 'c6ffffffff', 'dbffffffff', 'c9ffffffff01']) {
    for (let i = 0; i < 20; i++) {
      const pipe = new Pipe();
      streams.push(new Stream(pipe));
      for (const byte of bytes(head)) pipe.emit('data', Buffer.from([byte]));
      pipe.emit('data', Buffer.alloc(10));
    }
  }
  const after = process.memoryUsage();
  assert.ok(after.arrayBuffers - before.arrayBuffers < 10e6);
  assert.ok(after.rss - before.rss < 100e6);
});

test('Stream: what it gives does not change with the chunk', () => {
  const data = pack([Buffer.from('bytes'), 'text']);
  for (const chunks of [[data], cut(data, 3)]) {
    const copies = chunks.map((chunk) => Buffer.from(chunk));
    const pipe = new Pipe();
    const found = [];
    new Stream(pipe).on('msg', (value) => found.push(value));
    for (const copy of copies) {
      pipe.emit('data', copy);
      copy.fill(0xff);
    }
    pipe.emit('data', data);
    assert.deepEqual(found, [
      [Buffer.from('bytes'), 'text'],
      [Buffer.from('bytes'), 'text'],
    ]);
  }
});

test('Stream: chunks that are any kind of bytes', () => {
  const { buffer } = new Uint8Array([0, 0x92, 1, 2]);
  assert.deepEqual(reads([new Uint8Array(buffer, 1), new DataView(buffer, 1), new Uint8Array(0)]), [
    [[1, 2]],
    [[1, 2]],
    [],
  ]);
});

/** The errors and messages of a stream, once all has happened. */
async function events(chunks, last) {
  const pipe = new Pipe();
  const stream = new Stream(pipe);
  const seen = [];
  stream.on('msg', (value) => seen.push(value));
  stream.on('error', (error) => seen.push(error));
  for (const chunk of chunks) pipe.emit('data', chunk);
  for (const name of last ?? []) pipe.emit(name);
  await delay(1);
  return seen;
}

test('Stream: malformed bytes are an error event, after what came before; then it is over', async () => {
  const wire = bytes('01 a161 92 00 c1 05');
  for (const size of [1, 2, 3, 100]) {
    const [one, two, error, ...rest] = await events(
      [...cut(wire, size), pack('more')],
      ['end', 'close'],
    );
    assert.deepEqual([one, two, rest], [1, 'a', []]);
    assert.equal(error.message, MALFORMED.message);
    assert.equal(error.code, 'ERR_MSGPACK_INVALID_BYTE');
    assert.equal(error.offset, 5, `chunks of ${size}`);
    assert.ok(error.cause instanceof MsgpackError);
  }
  const [first, error] = await events(
    cut(pack(1, nestArrays(500)).fill(0x91, 1), 7).concat(
      Buffer.alloc(600, 0x91),
      Buffer.from([0]),
    ),
  );
  assert.equal(first, 1);
  assert.equal(error.code, 'ERR_MSGPACK_DEPTH');
});

test('Stream: malformed bytes are an error at once, although more values were announced', async () => {
  for (const wire of ['93 c1', '92 91 c1', 'dd00010000 00 c1', '82 a161 c1']) {
    const [error, ...rest] = await events(cut(bytes(wire), 1));
    assert.equal(error?.code, 'ERR_MSGPACK_INVALID_BYTE', wire);
    assert.equal(error.offset, bytes(wire).length - 1);
    assert.deepEqual(rest, []);
  }
});

test('Stream: text for a chunk is an error event', async () => {
  const [error, ...rest] = await events(['text', pack(1)]);
  assert.equal(error.message, NO_BUFFER.message);
  assert.deepEqual(rest, []);
});

test('Stream: an end in the middle of a message is an error event, once', async () => {
  for (const last of [['end'], ['close'], ['end', 'close']]) {
    const [value, error, ...rest] = await events([pack('first'), bytes('93 01')], last);
    assert.equal(value, 'first');
    assert.equal(error.message, MALFORMED.message);
    assert.equal(error.code, 'ERR_MSGPACK_TRUNCATED');
    assert.equal(error.offset, 6);
    assert.deepEqual(rest, []);
    assert.deepEqual(await events([pack('whole')], last), ['whole']);
    assert.deepEqual(await events([], last), []);
  }
});

test('Stream: programs that do not ask for errors outlive an end in the middle of a message', () => {
  const pipe = new Pipe();
  new Stream(pipe).on('msg', () => {});
  pipe.emit('data', bytes('93 01'));
  pipe.emit('end');
  pipe.emit('close');
});

test('Stream: an error that nobody listens to is uncaught, but not thrown at the stream', () => {
  const program = `
    const { EventEmitter } = require('node:events');
    const { Stream } = require(${JSON.stringify(path.join(root, 'compat/msgpack-node.js'))});
    const pipe = new EventEmitter();
    new Stream(pipe);
    pipe.emit('data', Buffer.from([0xc1]));
    console.log('goes on');
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
    encoding: 'utf8',
  });
  assert.notEqual(status, 0);
  assert.equal(stdout.trim(), 'goes on');
  assert.match(stderr, /Error de-serializing object/);
});

test('Stream: a listener that throws loses no message', () => {
  const pipe = new Pipe();
  const found = [];
  new Stream(pipe).on('msg', (value) => {
    found.push(value);
    if (value === 2) throw new Error('mine');
  });
  const wire = pack(1, 2, 3, 'four');
  assert.throws(() => pipe.emit('data', wire.subarray(0, -2)), { message: 'mine' });
  pipe.emit('data', wire.subarray(-2));
  assert.deepEqual(found, [1, 2, 3, 'four']);
  assert.throws(() => pipe.emit('data', pack(2, 'last')), { message: 'mine' });
  pipe.emit('end');
  assert.deepEqual(found.slice(4), [2, 'last']);
});

test('Stream: what a listener causes to come comes after what was there', () => {
  const pipe = new Pipe();
  const stream = new Stream(pipe);
  pipe.write = (data) => pipe.emit('data', data);
  const found = [];
  stream.on('msg', (value) => {
    found.push(value);
    if (value === 1) stream.send('answer');
  });
  pipe.emit('data', pack(1, 2, 3));
  assert.deepEqual(found, [1, 2, 3, 'answer']);
});

test('Stream: over a PassThrough', async () => {
  const through = new PassThrough();
  const stream = new Stream(through);
  const found = [];
  stream.on('msg', (value) => found.push(value));
  for (const value of VALUES) stream.send(value);
  through.end();
  await once(through, 'end');
  assert.deepStrictEqual(
    found,
    VALUES.map((value) => back(value, true)),
  );
});

/** A server that answers with `serve(stream, socket)`, and a client of it. */
async function connected(t, serve) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    serve(new Stream(socket), socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = net.connect(server.address().port, '127.0.0.1');
  t.after(() => {
    socket.destroy();
    server.close();
  });
  await once(socket, 'connect');
  return socket;
}

test('Stream: over a socket, both ways', async (t) => {
  const socket = await connected(t, (stream) => {
    stream.on('msg', (value) => stream.send([value]));
  });
  const client = new Stream(socket);
  const large = {
    data: Buffer.alloc(3_000_000, 5),
    list: Array.from({ length: 50_000 }, (_, i) => i),
  };
  const values = [...VALUES, large, null];
  const found = [];
  const done = new Promise((resolve) => {
    client.on('msg', (value) => {
      found.push(value);
      if (found.length === values.length) resolve();
    });
  });
  for (const value of values) client.send(value);
  await done;
  assert.deepStrictEqual(
    found,
    values.map((value) => [back(value, true)]),
  );
});

test('Stream: a socket closed in the middle of a message', async (t) => {
  for (const how of ['end', 'destroy']) {
    let asked;
    const errors = new Promise((resolve) => {
      asked = resolve;
    });
    const messages = [];
    const socket = await connected(t, (stream, peer) => {
      peer.on('close', () => setImmediate(asked, 'closed, without an error'));
      stream.on('msg', (value) => {
        messages.push(value);
        stream.send('got it');
      });
      stream.on('error', asked);
    });
    socket.write(pack('whole'));
    socket.write(pack('x'.repeat(1000)).subarray(0, 500));
    await once(socket, 'data');
    await delay(20);
    socket[how]();
    const error = await errors;
    assert.equal(error.code, 'ERR_MSGPACK_TRUNCATED', String(error));
    assert.equal(error.offset, pack('whole').length);
    assert.deepEqual(messages, ['whole']);
  }
});

// ── In the place of msgpack-node

const PROGRAM = `
  const assert = require('assert');
  const net = require('net');
  const msgpack = require('msgpack');

  var o = { 'a': 1, 'b': 2, 'c': [1, 2, 3] };
  var b = msgpack.pack(o);
  assert.deepEqual(msgpack.unpack(b), o);

  const server = net.createServer(function (socket) {
    var ms = new msgpack.Stream(socket);
    ms.addListener('msg', function (m) {
      assert.deepEqual(m, o);
      ms.send(0, function () {
        socket.end();
      });
    });
  });
  server.listen(0, '127.0.0.1', function () {
    const socket = net.connect(server.address().port, '127.0.0.1');
    const ms = msgpack.Stream(socket);
    ms.on('msg', function (m) {
      assert.equal(m, 0);
      console.log('works');
      server.close();
    });
    ms.send(o);
  });
`;

test('a package msgpack of one line: programs run unchanged', (t) => {
  const project = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-compat-'));
  t.after(() => rmSync(project, { recursive: true, force: true }));
  const shim = path.join(project, 'node_modules', 'msgpack');
  mkdirSync(shim, { recursive: true });
  symlinkSync(root, path.join(project, 'node_modules', 'msgpack-rs'), 'junction');
  const manifest = { name: 'msgpack', version: '1.0.3', main: 'index.js' };
  writeFileSync(path.join(shim, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    path.join(shim, 'index.js'),
    "module.exports = require('msgpack-rs/compat/msgpack-node');\n",
  );
  writeFileSync(path.join(project, 'main.js'), PROGRAM);
  writeFileSync(
    path.join(project, 'main.mjs'),
    "import msgpack from 'msgpack-rs/compat/msgpack-node';\n" +
      "import { pack, Stream, unpack } from 'msgpack-rs/compat/msgpack-node';\n" +
      "console.log(unpack(pack('works')));\n" +
      'if (msgpack.Stream !== Stream) process.exit(1);\n',
  );
  for (const main of ['main.js', 'main.mjs']) {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--test'));
    const options = { cwd: project, encoding: 'utf8', timeout: 60_000 };
    const out = execFileSync(process.execPath, [...flags, main], options);
    assert.equal(out.trim(), 'works', main);
  }
});
