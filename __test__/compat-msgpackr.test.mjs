// msgpack-rs/compat/msgpackr next to msgpackr itself: the same bytes, and each reads the other,
// except for what docs/compat-msgpackr.md lists. Every difference listed there has a test here.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import fc from 'fast-check';
import * as theirNames from 'msgpackr';
import * as ourNames from '../compat/msgpackr.mjs';
import { Ext, MsgpackError } from '../index.js';
import { bytes, generator, hex, nestArrays, runsOf, sameBytes, seedOf } from './helpers.mjs';

const ours = { ...ourNames };
// msgpackr writes into the options that it is given.
const copying = (Class) =>
  class extends Class {
    constructor(options) {
      super({ ...options });
    }
  };
const theirs = {
  ...theirNames,
  Packr: copying(theirNames.Packr),
  Unpackr: copying(theirNames.Unpackr),
};

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const text = (options) =>
  JSON.stringify(options, (_, v) => (typeof v === 'function' ? String(v) : (v ?? String(v))));

/** What `fn` gives, or that it throws. */
function outcome(fn) {
  try {
    return { value: fn() };
  } catch (error) {
    return { error };
  }
}

/** Ours throws a MsgpackError of this code. */
function throwsCode(fn, code, label) {
  const { value, error } = outcome(fn);
  assert.ok(error !== undefined, `${label ?? ''} nothing was thrown but given: ${value}`);
  assert.ok(error instanceof MsgpackError, `${label ?? ''} ${error.stack}`);
  assert.equal(error.code, code, `${label ?? ''} ${error.message}`);
  return error;
}

/** Ours writes this: hex, or a code that it throws. */
function writes(pack, expected, label) {
  if (expected.startsWith('ERR_')) throwsCode(pack, expected, label);
  else sameBytes(pack(), bytes(expected), label);
}

// ── The module

const names = (module) =>
  Object.keys(module)
    .filter((name) => name !== 'default' && name !== 'module.exports')
    .sort();

test('the exports of msgpackr', () => {
  const expected = names(theirs);
  assert.deepEqual(names(ours), expected);
  assert.deepEqual(Object.keys(ours.default).sort(), expected);
  for (const name of expected) {
    assert.equal(typeof ours[name], typeof theirs[name], name);
    if (['number', 'boolean'].includes(typeof theirs[name])) {
      if (name !== 'isNativeAccelerationEnabled') assert.equal(ours[name], theirs[name], name);
    }
  }
  assert.deepEqual({ ...ours.FLOAT32_OPTIONS }, { ...theirs.FLOAT32_OPTIONS });
  assert.equal(ours.isNativeAccelerationEnabled, true);
  assert.deepEqual({ ...ours.C1 }, { ...theirs.C1 });
  assert.equal(ours.Encoder, ours.Packr);
  assert.equal(ours.Decoder, ours.Unpackr);
  assert.equal(ours.encode, ours.pack);
  assert.equal(ours.decode, ours.unpack);
  assert.ok(new ours.Packr() instanceof ours.Unpackr);
  assert.ok(!(new ours.Unpackr() instanceof ours.Packr));
});

test('require and import give one module', () => {
  const required = require('../compat/msgpackr.js');
  assert.equal(ours.default, required);
  for (const name of names(ours)) assert.equal(ours[name], required[name], name);
});

test('the document names every export and every option', () => {
  const read = (name) => readFileSync(path.join(root, name), 'utf8');
  const listed = (title) => {
    const section = read('docs/compat-msgpackr.md').split(`## ${title}\n`)[1].split('\n## ')[0];
    const cells = [...section.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell);
    return new Set(cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, n]) => n)));
  };
  const inExports = listed('Exports');
  for (const name of Object.keys(theirs)) assert.ok(inExports.has(name), `export ${name}`);
  const inOptions = listed('Options');
  const types = read('compat/msgpackr.d.ts').match(/^export interface Options \{(.*?)^\}/ms)[1];
  const declared = [...types.matchAll(/^ {2}(\w+)\??[:(]/gm)].map(([, name]) => name);
  assert.ok(declared.length > 30);
  for (const name of declared) assert.ok(inOptions.has(name), `option ${name}`);
  for (const name of inOptions) assert.ok(declared.includes(name), `option ${name} in the types`);
});

// ── Packing: exact bytes

class Point {
  constructor() {
    this.x = 1;
    this.y = 2;
  }
}
class SubMap extends Map {}
class SubSet extends Set {}
class SubArray extends Array {}
class SubDate extends Date {}
class WithToJSON {
  constructor() {
    this.q = 9;
  }
  toJSON() {
    return { j: 1 };
  }
}
const circle = () => {
  const self = { a: 1 };
  self.self = self;
  return self;
};
const circularArray = () => {
  const self = [];
  self.push(self);
  return self;
};
const twice = () => {
  const s = { s: 1 };
  return [s, s];
};
const realm = (code) => vm.runInNewContext(code);
const numbered = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]));
const records = ({ useRecords }) => useRecords !== false;
const object = (options, ...fields) => {
  const [names_, values] = [fields.filter((_, i) => i % 2 === 0), fields.filter((_, i) => i % 2)];
  if (records(options)) return `d47240 9${names_.length} ${names_.join(' ')} ${values.join(' ')}`;
  const head = options.variableMapSize ? `8${names_.length}` : `de000${names_.length}`;
  return [head, ...fields].join(' ');
};
const undefinedIn = ({ encodeUndefinedAsNil }) => (encodeUndefinedAsNil ? 'c0' : 'd40000');

// A name, a function that makes the value and, where we differ, what we write instead.
const INPUTS = [
  ['undefined', () => undefined],
  ['[undefined]', () => [undefined]],
  ['{ a: undefined }', () => ({ a: undefined })],
  ['null', () => null],
  ['booleans', () => [true, false]],
  ['NaN, ±Infinity', () => [NaN, Infinity, -Infinity]],
  ['-0', () => -0, (o) => (o.useFloat32 ? 'ca80000000' : 'cb8000000000000000')],
  ...[0.5, 0.1, 1e21, 1e300, 5e-324, 7.99, 123456.789, 16777217.5, 3.4e39, -0.5, 1 / 3],
  ...[0, 1, 63, 64, 127, 128, 255, 256, 65535, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32],
  ...[2 ** 53 - 1, 2 ** 53, 2 ** 63, 2 ** 64, -1, -32, -33, -128, -129, -32768, -32769],
  ...[-214748365, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 53) + 1, -(2 ** 53)],
  ...[1n, -1n, 0n, 64n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)],
  ...[2n ** 64n, -(2n ** 63n) - 1n, -(2n ** 64n), 2n ** 127n - 1n, 2n ** 127n, -(2n ** 127n)],
  ...[2n ** 1024n, -(2n ** 1024n), 2n ** 128n + 5n],
  ...[0, 1e12, 1e12 + 123, -1, -1000, -1500, 2 ** 32 * 1000, 2 ** 32 * 1000 - 1].map(dateInput),
  ...[2 ** 34 * 1000, 2 ** 34 * 1000 - 1, 8.64e15, -8.64e15, NaN].map(dateInput),
  ['Map {}', () => new Map()],
  ["Map { 'a' => 1 }", () => new Map([['a', 1]])],
  ['Map { 1 => 2, null => 3 }', () => new Map([[1, 2]]).set(null, 3)],
  ['Map { {} => 1 }', () => new Map([[{}, 1]])],
  ['Map of 16', () => new Map(Array.from({ length: 16 }, (_, i) => [i, i]))],
  ['Set {}', () => new Set()],
  ['Set { 1, 2 }', () => new Set([1, 2])],
  ['Buffer', () => Buffer.from([1, 2])],
  ['Uint8Array', () => new Uint8Array([1, 2])],
  ['Uint8ClampedArray', () => new Uint8ClampedArray([1, 2])],
  ['Int8Array', () => new Int8Array([-1])],
  ['Int16Array', () => new Int16Array([-2])],
  ['Uint16Array', () => new Uint16Array([258])],
  ['Int32Array', () => new Int32Array([-5, 5])],
  ['Uint32Array', () => new Uint32Array([2 ** 31])],
  ['Float32Array', () => new Float32Array([1])],
  ['Float64Array', () => new Float64Array([1])],
  ['Float64Array, empty', () => new Float64Array(0)],
  ['BigInt64Array', () => new BigInt64Array([1n])],
  ['BigUint64Array', () => new BigUint64Array([2n ** 64n - 1n])],
  ['a typed array that starts later', () => new Uint16Array(new ArrayBuffer(8), 2, 2)],
  ['ArrayBuffer', () => new Uint8Array([1, 2]).buffer],
  ['DataView', () => new DataView(new Uint8Array([0, 1, 2]).buffer, 1)],
  ...[254, 255, 65534, 65535].map((n) => [`Uint8Array of ${n}`, () => new Uint8Array(n)]),
  ...[255, 256, 65535, 65536].map((n) => [`Buffer of ${n}`, () => Buffer.alloc(n, 7)]),
  ['Uint8Array over shared memory', () => new Uint8Array(new SharedArrayBuffer(2))],
  [
    'SharedArrayBuffer',
    () => new SharedArrayBuffer(2),
    (o) => ((o.moreTypes ?? o.structuredClone) ? 'c70374100000' : 'c4020000'),
  ],
  ['symbol', () => Symbol('s'), () => 'ERR_MSGPACK_UNSUPPORTED_TYPE'],
  ['[symbol]', () => [Symbol('s')], () => 'ERR_MSGPACK_UNSUPPORTED_TYPE'],
  ['{ a: symbol }', () => ({ a: Symbol('s') }), () => 'ERR_MSGPACK_UNSUPPORTED_TYPE'],
  ['symbol key', () => ({ [Symbol('s')]: 1, a: 1 })],
  ['function', () => () => 1],
  ['[function]', () => [() => 1]],
  ['{ a: function }', () => ({ a: () => 1 })],
  ['instance of a class', () => new Point()],
  ['toJSON of a class', () => new WithToJSON()],
  ['{ a: toJSON of a class }', () => ({ a: new WithToJSON() })],
  ['toJSON of a plain object', () => ({ a: 1, toJSON: () => 5 }), () => '05'],
  ['toJSON that gives undefined', () => ({ a: 1, toJSON() {} }), undefinedIn],
  ['toJSON that is no function', () => ({ toJSON: 1 })],
  ['toJSON of an object without prototype', () => ({ __proto__: null, toJSON: () => 7 })],
  ['toJSON that is inherited', () => Object.create({ toJSON: () => 6 }), () => '06'],
  ['new String', () => new String('hi'), () => 'a26869'],
  ['new Number', () => new Number(5), () => '05'],
  ['new Boolean', () => new Boolean(false), () => 'c2'],
  ['Object(1n)', () => Object(1n), () => 'd30000000000000001'],
  // biome-ignore lint/suspicious/noSparseArray: that is the case
  ['[1, , 3]', () => [1, , 3]],
  ['new Array(2)', () => new Array(2)],
  ['array with a property', () => Object.assign([1, 2], { a: 1 })],
  ['object without prototype', () => ({ __proto__: null, a: 1 })],
  ['own __proto__', () => JSON.parse('{"__proto__":1,"a":2}')],
  [
    'getter',
    () => ({
      get g() {
        return 7;
      },
    }),
  ],
  ['not enumerable', () => Object.defineProperty({ a: 1 }, 'b', { value: 2 })],
  ['inherited', () => Object.assign(Object.create({ inh: 1 }), { own: 2 })],
  ['own hasOwnProperty', () => ({ hasOwnProperty: 1, a: 2 })],
  ['own constructor', () => ({ constructor: 1 })],
  ['keys like integers', () => ({ b: 1, 1: 2 })],
  [
    'cycle of an object',
    circle,
    // msgpackr writes this one but cannot read it without records.
    (o) =>
      o.structuredClone
        ? `d66900000001 ${object(o, 'a161', '01', 'a473656c66', 'd67000000001')}`
        : 'ERR_MSGPACK_DEPTH',
  ],
  [
    'cycle of an array',
    circularArray,
    (o) => (o.structuredClone ? 'd6690000000191d67000000001' : 'ERR_MSGPACK_DEPTH'),
  ],
  ['the same object twice', twice],
  ['the same Buffer twice', () => Array(2).fill(Buffer.from([1]))],
  ['the same Date twice', () => Array(2).fill(new Date(0))],
  ['the same Map twice', () => Array(2).fill(new Map([[1, 2]]))],
  ['the same Set twice', () => Array(2).fill(new Set([1]))],
  ['the same typed array twice', () => Array(2).fill(new Uint16Array(1))],
  [
    'the same function twice',
    () => Array(2).fill(() => 1),
    (o) => `92 ${undefinedIn(o).repeat(2)}`,
  ],
  [
    '[a, b, b, a]',
    () => {
      const [a, b] = [[], []];
      return [a, b, b, a];
    },
  ],
  ['arrays 100 deep', () => nestArrays(100, 1)],
  ['arrays 1000 deep', () => nestArrays(1000, 1)],
  ['lone high surrogate', () => '\ud800'],
  ['lone low surrogate', () => '\udc00x'],
  ['lone surrogate in a longer text', () => `${'a'.repeat(69)}\ud800`],
  ['😀, é, NUL, empty', () => ['😀', 'é', '\0', '']],
  ...[31, 32, 255, 256, 65535, 65536].map((n) => [`text of ${n}`, () => 'a'.repeat(n)]),
  ['é × 20', () => 'é'.repeat(20)],
  ...[0, 15, 16, 65535, 65536].map((n) => [`array of ${n}`, () => Array(n).fill(0)]),
  ...[0, 1, 15, 16, 17].map((n) => [`object of ${n}`, () => numbered(n)]),
  ['object of 65535', () => numbered(65535)],
  ['RegExp', () => /a\/b/gi],
  ['Error', () => new Error('boom')],
  ['TypeError', () => new TypeError('boom')],
  ['Error with a cause', () => new Error('b', { cause: 1 })],
  ['AggregateError', () => new AggregateError([1], 'm')],
  ['Error with another name', () => Object.assign(new Error('m'), { name: 'Mine' })],
  ['URL', () => new URL('http://a/b')],
  ['URLSearchParams', () => new URLSearchParams('a=1')],
  ['WeakMap', () => new WeakMap()],
  ['Promise', () => Promise.resolve(1)],
  ['Proxy of an object', () => new Proxy({ a: 1 }, {})],
  ['Proxy of an array', () => new Proxy([1], {})],
  [
    'arguments',
    () =>
      (function () {
        // biome-ignore lint/complexity/noArguments: that is the case
        return arguments;
      })(1, 2),
  ],
  ['subclass of Array', () => SubArray.from([1, 2])],
  ['subclass of Set', () => new SubSet([1])],
  ['subclass of Date', () => new SubDate(0)],
  ['subclass of Map', () => new SubMap([['a', 1]]), () => '81a16101'],
  ['object of another realm', () => realm('({ a: 1 })')],
  ['array of another realm', () => realm('[1]')],
  ['Date of another realm', () => realm('new Date(0)'), () => 'd6ff00000000'],
  ['Map of another realm', () => realm("new Map([['a', 1]])"), () => '81a16101'],
  [
    'Set of another realm',
    () => realm('new Set([1])'),
    (o) => ((o.moreTypes ?? o.structuredClone) ? 'd473009101' : '9101'),
  ],
  [
    'Uint8Array of another realm',
    () => realm('new Uint8Array([1])'),
    (o) => ((o.moreTypes ?? o.structuredClone) ? 'c702740101' : 'c40101'),
  ],
  [
    '200 records of two shapes',
    () => Array.from({ length: 200 }, (_, i) => ({ [`k${i % 2}`]: i })),
  ],
  ['100 shapes', () => Array.from({ length: 100 }, (_, i) => ({ [`k${i}`]: i, z: 64 + (i % 64) }))],
  [
    'the same names in another order',
    () => [
      { a: 1, b: 2 },
      { b: 1, a: 2 },
      { a: 3, b: 4 },
    ],
  ],
  ['objects in objects', () => ({ x: { y: 1 }, z: { y: 2 }, w: { y: { y: {} } } })],
].map((input) => (Array.isArray(input) ? input : [String(input), () => input]));

function dateInput(time) {
  return [`Date ${time}`, () => new Date(time)];
}

const OPTION_SETS = [
  {},
  { useRecords: false },
  { useRecords: false, variableMapSize: true },
  { moreTypes: true },
  { moreTypes: true, useRecords: false },
  { structuredClone: true },
  { structuredClone: true, useRecords: false },
  { structuredClone: true, moreTypes: false },
  { structuredClone: false },
  { encodeUndefinedAsNil: true },
  { encodeUndefinedAsNil: true, useRecords: false },
  { useFloat32: 1 },
  { useFloat32: 3, useRecords: false },
  { useFloat32: 4 },
  { useTimestamp32: true },
  { largeBigIntToFloat: true },
  { largeBigIntToString: true },
  { useBigIntExtension: true },
  { moreTypes: true, largeBigIntToString: true },
  { mapAsEmptyObject: true, setAsEmptyObject: true },
  { setAsEmptyObject: true, useRecords: false, variableMapSize: true },
  { maxOwnStructures: 5 },
  { maxOwnStructures: 0 },
  { maxOwnStructures: 100 },
];

for (const options of OPTION_SETS) {
  test(`bytes: ${text(options)}`, () => {
    for (const [name, make, instead] of INPUTS) {
      const label = `${name} with ${text(options)}`;
      const emptied =
        (options.mapAsEmptyObject && /Map/.test(name)) ||
        (options.setAsEmptyObject && /\bSet\b/.test(name));
      if (instead !== undefined && !emptied) {
        writes(() => new ours.Packr(options).pack(make()), instead(options), label);
        continue;
      }
      const expected = outcome(() => hex(new theirs.Packr(options).pack(make())));
      if (expected.error === undefined) {
        const actual = outcome(() => new ours.Packr(options).pack(make()));
        if (actual.error) assert.fail(`${label}: ${actual.error.stack}`);
        if (!emptied || !/subclass|realm/.test(name)) {
          sameBytes(actual.value, bytes(expected.value), label);
        }
      } else {
        assert.match(expected.error.message, /too large to fit/, label);
        throwsCode(() => new ours.Packr(options).pack(make()), 'ERR_MSGPACK_OUT_OF_RANGE', label);
      }
    }
  });
}

test('bytes: pack()', () => {
  for (const [name, make, instead] of INPUTS) {
    if (instead !== undefined) {
      writes(() => ours.pack(make()), instead({ useRecords: false }), name);
      continue;
    }
    const expected = outcome(() => hex(theirs.pack(make())));
    if (expected.error) throwsCode(() => ours.pack(make()), 'ERR_MSGPACK_OUT_OF_RANGE', name);
    else sameBytes(ours.pack(make()), bytes(expected.value), name);
  }
});

// ── Unpacking

// Messages that msgpackr reads, and what it refuses.
const MESSAGES = `
  c0 c2 c3 00 3f 7f e0 ff cc80 cdffff ceffffffff d080 d18000 d280000000 cc01 cd0001 ce00000001
  d001 d10001 cf0000000000000001 cf001fffffffffffff cf0020000000000001 cfffffffffffffffff
  d3ffffffffffffffff d38000000000000000 d3ffdfffffffffffff
  ca3dcccccd cb8000000000000000 cb7ff0000000000000
  80 81a16101 de0001a16101 df00000001a16101 82a16101a16102 810102 81ff02 81c001 81c301 81c201
  81cb3ff800000000000001 81cf000000000000000a01 81a001 81d4000001
  90 9101 dc000101 dd0000000101 c40101 c5000101 c60000000101
  d40000 d7000000000000000001 c70000 c703000102ff
  d6ff00000001 d6ffffffffff d7ff0000000400000001 d4ffff
  c70cff3b8b87c0ffffffffffffffff c70cff000000010000000000000000
  a1ff a2c328 a2c080 a3eda080 a4f7bfbfbf a2e282 a4efbbbf61 a461616161
  d9016b da00016b db000000016b

  d47300920102 d4730090 d4730193c0c3a161
  c7097408000000000000f03f c70374010102 c70374020102 c7027400ff c70374100102 c70374110102
  c70574070000803f c70974090100000000000000 c7017408
  d44201 d442ff d84200000000000000010000000000000000 c70942800000000000000000 d64200000001
  d4780092a4615c2f62a26769 d4780092a161a0
  d4650093a54572726f72a4626f6f6dd40000 d4650093a9547970654572726f72a4626f6f6dd40000
  d4650093a54572726f72a16201 d4650094ae4167677265676174654572726f72a16dd400009101
  d4650093ae4167677265676174654572726f72a16dd40000 d4650093a44d696e65a16dc0
  d4724091a16101 92d4724091a161014002 91d472409001 d4724090 92d472409040
  d4724092a178a17ad4724191a179014102 d4724094c0c301cf000000000000000a01020304
  92d572600091a36b333200600005 92d4724091a16101d4724091a16202 9240417f 40 7f
  92d66900000001d4724091a16101d67000000001 94d6690000000290d6690000000190d67000000001d67000000002
  92d66900000001c40101d67000000001 92d66900000001d6ff00000000d67000000001
  92d66900000001d4730091a161d67000000001
  93d6620000000ac105c105c105a0af68656c6c6f776f726c6468656c6c6f
  92d66200000008c1fbc105a668c3a96c6c6fa568656c6c6f
  d4724091d66200000008c104c105a0a96e616d65616c696365

  a561 d9 d90561 da0005 dbffffffff 9201 dc 81a161 cd01 cb00 c40201 d6ff00 d4 ddffffffff
  dfffffffff c6ffffffff c9ffffffff05 0102 80c0 d47300 d47240 d4724091 d4724091a161
  d66900000001 d4420101`
  .trim()
  .split(/\s+/)
  .concat(
    '',
    `d9ff ${'61'.repeat(255)}`,
    `da0100 ${'c3a9'.repeat(128)}`,
    `d9fd efbbbf ${'61'.repeat(250)}`,
  );

const ext =
  (type, ...data) =>
  (value) =>
    assert.deepStrictEqual(value, new Ext(type, Buffer.from(data)));

// Messages that we read otherwise: the code that we throw, or what checks what we give.
const OTHERWISE = [
  ['c1', 'ERR_MSGPACK_INVALID_BYTE'],
  ['91c1', 'ERR_MSGPACK_INVALID_BYTE'],
  ['d46301', ext(99, 1)],
  ['d66300000001', ext(99, 0, 0, 0, 1)],
  ['c70063', ext(99)],
  ['d4fe00', ext(-2, 0)],
  ['ca80000000', (value) => assert.equal(value, -0)],
  ['ca7fa00000', (value) => assert.equal(value, NaN)],
  ['caff800000', (value) => assert.equal(value, -Infinity)],
  ['d7ffee6b27ffffffffff', (date) => assert.equal(date.toJSON(), '2514-05-30T01:53:03.999Z')],
  ['d7fffffffffc00000000', 'ERR_MSGPACK_TIMESTAMP'],
  ['c70cff000000000020000000000000', 'ERR_MSGPACK_TIMESTAMP'],
  ['c70cff000000007fffffffffffffff', 'ERR_MSGPACK_TIMESTAMP'],
  ['c705ff0000000000', 'ERR_MSGPACK_TIMESTAMP'],
  ['d67000000001', 'ERR_MSGPACK_REFERENCE'],
  ['c702746300', 'ERR_MSGPACK_EXTENSION'],
  ['d4780092a128a0', 'ERR_MSGPACK_EXTENSION'],
];

const OBJECT_KEYS = ['91 01', '80', 'c40101', 'd6ff00000001', 'd4724091a16101', 'd66300000000'];

const READ_SETS = [
  {},
  { useRecords: false },
  { mapsAsObjects: true },
  { useRecords: false, mapsAsObjects: false },
  { moreTypes: true },
  { structuredClone: true },
  { int64AsType: 'number' },
  { int64AsType: 'string' },
  { int64AsType: 'auto' },
  { int64AsNumber: true, copyBuffers: true },
  { useFloat32: 1 },
  { useFloat32: 3 },
  { useFloat32: 4 },
];

/** Equal as values, and the same objects in the same places. */
function same(actual, expected, label) {
  assert.deepStrictEqual(places(actual), places(expected), `${label}: identities`);
  assert.deepStrictEqual(comparable(actual), comparable(expected), label);
}

/** A copy with what can be compared in the place of invalid dates, which equal nothing, and of errors. */
function comparable(value, seen = new Map()) {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value;
  if (seen.has(value)) return seen.get(value);
  const inner = (x) => comparable(x, seen);
  const copied = (copy, fill) => {
    seen.set(value, copy);
    fill(copy);
    return copy;
  };
  if (value instanceof Error) {
    const { name, message, cause, errors } = value;
    return copied({ of: value.constructor, name, message }, (copy) =>
      Object.assign(copy, { cause: inner(cause), errors: inner(errors) }),
    );
  }
  if (value instanceof Map) {
    return copied(new Map(), (copy) => {
      for (const [key, x] of value) copy.set(inner(key), inner(x));
    });
  }
  if (value instanceof Set) {
    return copied(new Set(), (copy) => {
      for (const x of value) copy.add(inner(x));
    });
  }
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  return copied(Array.isArray(value) ? [] : Object.create(prototype), (copy) => {
    for (const key of Object.keys(value)) {
      const own = {
        value: inner(value[key]),
        configurable: true,
        enumerable: true,
        writable: true,
      };
      Object.defineProperty(copy, key, own);
    }
    if (Array.isArray(value)) copy.length = value.length;
  });
}

/** For every object in the order of a walk, the number of the place where it was first seen. */
function places(value) {
  const seen = new Map();
  const list = [];
  const walk = (x) => {
    if (typeof x !== 'object' || x === null) return;
    if (seen.has(x)) return void list.push(seen.get(x));
    list.push(seen.size);
    seen.set(x, seen.size);
    if (ArrayBuffer.isView(x)) return;
    if (x instanceof Map) for (const entry of x) entry.forEach(walk);
    else if (x instanceof Set) x.forEach(walk);
    else if (x instanceof Error) walk(x.cause);
    else for (const key of Object.keys(x)) walk(x[key]);
  };
  walk(value);
  return list;
}

/** Ours reads the message as msgpackr did, or throws as it did. */
function readsAs(message, expected, read) {
  const { value, error } = outcome(() => read(bytes(message)));
  if (expected.error) {
    assert.ok(error instanceof MsgpackError, `${message}: ${error?.stack ?? value}`);
    assert.equal(error.incomplete, expected.error.incomplete, message);
  } else if (error) assert.fail(`${message}: ${error.stack}`);
  else same(value, expected.value, message);
}

function reads(message, expected, read) {
  if (typeof expected === 'string') throwsCode(() => read(bytes(message)), expected, message);
  else expected(read(bytes(message)));
}

for (const options of READ_SETS) {
  test(`values: ${text(options)}`, () => {
    const read = (input) => new ours.Unpackr(options).unpack(input);
    for (const message of MESSAGES) {
      const expected = outcome(() => new theirs.Unpackr(options).unpack(bytes(message)));
      readsAs(message, expected, read);
    }
    for (const [message, expected] of OTHERWISE) reads(message, expected, read);
  });
}

test('values: unpack()', () => {
  for (const message of MESSAGES) {
    readsAs(
      message,
      outcome(() => theirs.unpack(bytes(message))),
      ours.unpack,
    );
  }
  for (const [message, expected] of OTHERWISE) reads(message, expected, ours.unpack);
});

test('keys that an object cannot have', () => {
  for (const key of OBJECT_KEYS) {
    const input = bytes(`81 ${key} 01`);
    assert.ok(outcome(() => theirs.unpack(input)).error, key);
    throwsCode(() => ours.unpack(input), 'ERR_MSGPACK_KEY', key);
  }
  same(
    new ours.Unpackr().unpack(bytes('81 9101 01')),
    new theirs.Unpackr().unpack(bytes('81 9101 01')),
    'in a Map',
  );
});

test('the key __proto__ is a property like any other', () => {
  for (const message of ['81a95f5f70726f746f5f5f01', 'd4724091a95f5f70726f746f5f5f01']) {
    const value = ours.unpack(bytes(message));
    assert.deepEqual(Object.entries(value), [['__proto__', 1]]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.deepEqual(Object.keys(theirs.unpack(bytes(message))), ['__proto_']);
  }
});

test('64-bit integers: auto gives a number where it is safe', () => {
  const read = (module, message) =>
    new module.Unpackr({ int64AsType: 'auto' }).unpack(bytes(message));
  for (const [message, value] of [
    ['cf0020000000000000', 2n ** 53n],
    ['d3ffe0000000000000', -(2n ** 53n)],
  ]) {
    assert.equal(read(ours, message), value);
    assert.equal(read(theirs, message), Number(value));
  }
});

test('buffers are Buffers, whatever the bytes were', () => {
  const message = bytes('c40107');
  assert.ok(Buffer.isBuffer(ours.unpack(new Uint8Array(message))));
  assert.ok(Buffer.isBuffer(ours.unpack(message)));
  const copied = new ours.Unpackr({ copyBuffers: true }).unpack(message);
  const view = new ours.Unpackr().unpack(message);
  message[2] = 8;
  assert.equal(copied[0], 7);
  assert.equal(view[0], 8);
});

test('structuredClone: false refuses references', () => {
  for (const message of ['d66900000001c0', '92 d66900000001 90 d67000000001']) {
    assert.match(
      outcome(() => new theirs.Unpackr({ structuredClone: false }).unpack(bytes(message))).error
        .message,
      /disabled/,
    );
    throwsCode(
      () => new ours.Unpackr({ structuredClone: false }).unpack(bytes(message)),
      'ERR_MSGPACK_REFERENCE',
    );
  }
  assert.deepEqual(ours.unpack(bytes('d6690000000190')), []);
});

// Written by msgpackr 1.11.9, where it differs from 2.1.4.
test('data of msgpackr 1', () => {
  const cases = [
    ['c70cff000000000000000100000000', new Date(2 ** 32 * 1000)],
    ['c4020200', Buffer.from([2, 0])],
    ['c400', Buffer.alloc(0)],
    ['a3eda080', '\ufffd\ufffd\ufffd'],
    ['d4650093ae4167677265676174654572726f72a16dd40000', 'AggregateError'],
  ];
  for (const [message, expected] of cases) {
    for (const options of [{}, { useRecords: false }, { moreTypes: true }]) {
      const value = new ours.Unpackr(options).unpack(bytes(message));
      if (expected === 'AggregateError') {
        assert.ok(value instanceof AggregateError);
        assert.equal(value.message, 'm');
        assert.deepEqual(value.errors, []);
      } else {
        assert.deepStrictEqual(value, expected);
      }
      same(value, new theirs.Unpackr(options).unpack(bytes(message)), message);
    }
  }
});

// ── Options, one by one

test('options that change what is written', () => {
  const f = function foo() {};
  const keys = { 1: 1, a: 2, 1.5: 3, '-1': 4, '': 5, '0x10': 6, '1e3': 7, Infinity: 8, '007': 9 };
  const cases = [
    [
      { coercibleKeyAsNumber: true, useRecords: false },
      { 1: 1, a: 2 },
    ],
    [{ coercibleKeyAsNumber: true, useRecords: false }, keys],
    [
      { coercibleKeyAsNumber: true, useRecords: false },
      { 4294967296: 1, '-0.5': 2, NaN: 3 },
    ],
    [{ coercibleKeyAsNumber: true, useRecords: false }, numbered(20)],
    [{ coercibleKeyAsNumber: true, useRecords: false }, new Map([['1', 1]])],
    [{ coercibleKeyAsNumber: true }, keys],
    [
      { skipValues: [undefined], useRecords: false },
      { a: 1, b: undefined, c: null },
    ],
    [{ skipValues: [undefined, null], useRecords: false, variableMapSize: true }, { a: null }],
    [
      { skipValues: { includes: (v) => v === 1 }, useRecords: false },
      { a: 1, b: undefined },
    ],
    [{ skipValues: [undefined] }, { a: 1, b: undefined }],
    [{ skipValues: [1], useRecords: false }, new Map([[1, 1]])],
    [{ encodeUndefinedAsNil: true }, [undefined, f, { a: undefined }]],
    [{ onInvalidDate: () => null }, [new Date(NaN), new Date(0)]],
    [{ onInvalidDate: () => ({ x: 1 }) }, [new Date(NaN)]],
    [{ onInvalidDate() {} }, [new Date(NaN)]],
    [{ writeFunction: (fn) => fn.name }, [f, { a: f }]],
    [{ writeFunction: (fn) => ({ n: fn.name }), useRecords: false }, f],
    [{ useToJSON: false }, [new WithToJSON(), new URL('http://a'), { toJSON: 1 }]],
    [{ useToJSON: true }, [new WithToJSON()]],
    [{ useRecords: (o) => o.a !== undefined }, [{ b: 1 }, { a: 64 }, { a: { b: 1 } }]],
    [{ useRecords: () => false, variableMapSize: true }, [{ b: 1 }, 64]],
    // Long enough for what is learnt of a place to count.
    [{ useRecords: (o) => o.i % 3 > 0 }, Array.from({ length: 100 }, (_, i) => ({ i }))],
    [{ useFloat32: true }, [0.1, 7.99]],
    [{ bundleStrings: true }, ['abc']],
  ];
  for (const [options, value] of cases) {
    const label = text([options, value]);
    const expected = Buffer.from(new theirs.Packr(options).pack(value));
    const packr = new ours.Packr(options);
    sameBytes(packr.pack(value), expected, label);
    same(packr.unpack(expected), new theirs.Packr(options).unpack(expected), label);
  }
});

test('allowArraysInMapKeys', () => {
  const options = { mapsAsObjects: true, allowArraysInMapKeys: true };
  for (const message of [
    '819301a162920304c0',
    '8192c3cf0000000000000005c0',
    '8190c0',
    '8191cb3ff8000000000000c0',
  ]) {
    const expected = outcome(() => new theirs.Unpackr(options).unpack(bytes(message)));
    const actual = outcome(() => new ours.Unpackr(options).unpack(bytes(message)));
    assert.equal(actual.error === undefined, expected.error === undefined, message);
    assert.deepStrictEqual(actual.value, expected.value, message);
  }
  for (const message of ['8191c0c0', '8191d40000c0', '819180c0']) {
    throwsCode(() => new ours.Unpackr(options).unpack(bytes(message)), 'ERR_MSGPACK_KEY', message);
  }
});

test('useFloat32, read back', () => {
  const next = generator(7);
  const numbers = [
    0.1,
    7.99,
    123456.789,
    16777217.5,
    -0.5,
    1e-7,
    1 / 3,
    2147483646.5,
    4294967295.5,
  ];
  for (let i = 0; i < 2000; i++) numbers.push((next() - 2 ** 31) / 10 ** next.below(12));
  for (const useFloat32 of [0, 1, 3, 4]) {
    const [t, o] = [theirs, ours].map((m) => new m.Packr({ useFloat32, useRecords: false }));
    const expected = Buffer.from(t.pack(numbers));
    sameBytes(o.pack(numbers), expected, `useFloat32 ${useFloat32}`);
    assert.deepStrictEqual(o.unpack(expected), t.unpack(expected));
  }
  for (const number of numbers) {
    assert.equal(ours.roundFloat32(number), theirs.roundFloat32(number), String(number));
  }
  assert.deepStrictEqual([NaN, Infinity, -0].map(ours.roundFloat32), [NaN, Infinity, -0]);
});

test('freezeData', () => {
  const packr = new ours.Packr({ freezeData: true, useRecords: false });
  const value = packr.unpack(packr.pack({ a: [1, { b: 1 }] }));
  for (const object of [value, value.a, value.a[1]]) assert.ok(Object.isFrozen(object));
});

test('a map of more than 65 535 keys needs no option', () => {
  const value = numbered(65536);
  assert.match(outcome(() => theirs.pack(value)).error.message, /too large/);
  const packed = ours.pack(value);
  assert.equal(hex(packed.subarray(0, 5)), 'df00010000');
  assert.deepStrictEqual(theirs.unpack(packed), value);
});

test('depth', () => {
  const value = nestArrays(900, 1);
  sameBytes(ours.pack(value), Buffer.from(theirs.pack(value)));
  const packed = ours.pack(nestArrays(10_000, 1));
  let inner = ours.unpack(packed);
  for (let i = 0; i < 10_000; i++) [inner] = inner;
  assert.equal(inner, 1);
  throwsCode(() => ours.pack(nestArrays(10_001)), 'ERR_MSGPACK_DEPTH');
  throwsCode(() => ours.unpack(bytes('91^10001 c0')), 'ERR_MSGPACK_DEPTH');
});

test('options that cannot be', () => {
  for (const options of [
    { useFloat32: 2 },
    { useFloat32: 'round' },
    { int64AsType: 'integer' },
    { getStructures: 5 },
    { saveStructures: {} },
    { shouldShareStructure: [] },
    { onInvalidDate: null, writeFunction: 'name' },
    { structures: {} },
    { skipValues: 5 },
    { maxSharedStructures: 8161 },
    { maxSharedStructures: -1 },
    { maxOwnStructures: 1.5 },
    { maxSharedStructures: 8000, maxOwnStructures: 193 },
  ]) {
    const { error } = outcome(() => new ours.Packr(options));
    assert.equal(error?.code, 'ERR_INVALID_ARG_VALUE', text(options));
  }
});

test('options that are not known, and no options', () => {
  const odd = [null, undefined, 5, 'text', () => 1, { what: 1, useRecord: false, pack: 5 }, []];
  for (const options of odd) {
    const packr = new ours.Packr(options);
    sameBytes(packr.pack({ a: 1 }), bytes('d4724091a16101'), text(options));
    assert.deepEqual(packr.unpack(bytes('d4724091a16101')), { a: 1 });
  }
  assert.equal(new ours.Packr({ what: 1 }).what, 1);
  const undefinedOnes = { useRecords: undefined, structures: null, useFloat32: null };
  sameBytes(new ours.Packr(undefinedOnes).pack({ a: 1 }), bytes('d4724091a16101'));
});

test('an option can be read and set on the instance', () => {
  const packr = new ours.Packr({ useRecords: false, int64AsType: 'number' });
  assert.equal(packr.useRecords, false);
  assert.equal(packr.unpack(bytes('cf0000000000000001')), 1);
  packr.int64AsType = 'string';
  assert.equal(packr.unpack(bytes('cf0000000000000001')), '1');
  assert.throws(() => {
    packr.int64AsType = 'none';
  }, TypeError);
  assert.equal(packr.unpack(bytes('cf0000000000000001')), '1');
  packr.mapsAsObjects = false;
  assert.deepEqual(packr.unpack(bytes('81a16101')), new Map([['a', 1]]));
});

test('functions among the options have the instance as this', () => {
  const seen = [];
  class Store extends ours.Packr {}
  const packr = new Store({
    table: [['a']],
    getStructures() {
      seen.push(this);
      return this.table;
    },
    saveStructures(structures) {
      this.table = structures;
    },
  });
  sameBytes(packr.pack({ a: 1 }), bytes('4001'));
  assert.ok(seen.length > 0 && seen.every((self) => self === packr));
});

// ── Records and shared structures

/** The structures without what msgpackr keeps beside the names. */
const plain = (structures) => structures && Array.from(structures, (names_) => [...names_]);

const shaped = (i) => ({ [`k${i}`]: i, same: 64 + (i % 64) });

for (const options of [
  { structures: [] },
  { structures: [['k1', 'same'], ['k0']] },
  { structures: [], maxSharedStructures: 3 },
  { structures: [], maxSharedStructures: 3, maxOwnStructures: 4 },
  { structures: [], maxOwnStructures: 0, mapsAsObjects: true },
  { structures: [], maxSharedStructures: 100 },
  { structures: [], shouldShareStructure: (keys) => keys[0] !== 'k2' && keys.length > 1 },
  { structures: [], moreTypes: true, structuredClone: true },
  { sequential: true },
  { sequential: true, maxOwnStructures: 5 },
]) {
  test(`records: ${text(options)}`, () => {
    const fresh = () => ({
      ...options,
      ...(options.structures && { structures: plain(options.structures) }),
    });
    const [t, o] = [new theirs.Packr(fresh()), new ours.Packr(fresh())];
    const readers = () => ({
      reader: { t: new theirs.Packr(fresh()), o: new ours.Packr(fresh()) },
    });
    const { reader } = readers();
    for (let round = 0; round < 60; round++) {
      const value =
        round % 10 === 9
          ? Array.from({ length: 70 }, (_, i) => shaped(i))
          : { first: shaped(round % 40), list: [shaped(round % 7), shaped(round % 7), {}] };
      const expected = Buffer.from(t.pack(value));
      const label = `message ${round} with ${text(options)}`;
      const packed = o.pack(value);
      // msgpackr goes on with the ids of what is not shared, we begin again with each message.
      if (round === 0 || !options.shouldShareStructure) sameBytes(packed, expected, label);
      if (options.structures) {
        assert.deepStrictEqual(o.unpack(packed), value, label);
        assert.deepStrictEqual(plain(o.structures), plain(t.structures), label);
        assert.deepStrictEqual(o.unpack(expected), value, label);
        // Another process that has the structures.
        const other = new ours.Packr({ ...fresh(), structures: plain(t.structures) });
        if (!options.sequential) assert.deepStrictEqual(other.unpack(expected), value, label);
      } else {
        assert.deepStrictEqual(reader.o.unpack(expected), value, label);
        assert.deepStrictEqual(reader.t.unpack(expected), value, label);
      }
    }
  });
}

test('the array of structures that was given is the one that grows', () => {
  const structures = [];
  const packr = new ours.Packr({ structures });
  sameBytes(packr.pack({ a: 1 }), bytes('4001'));
  sameBytes(packr.pack({ a: 2 }), bytes('4002'));
  sameBytes(packr.pack({ b: 1 }), bytes('4101'));
  assert.equal(packr.structures, structures);
  assert.deepEqual(plain(structures), [['a'], ['b']]);
  packr.structures = [['z']];
  sameBytes(packr.pack({ z: 1 }), bytes('4001'));
  sameBytes(packr.pack({ a: 1 }), bytes('4101'));
});

test('without records, structures are read and not written', () => {
  const options = () => ({ structures: [['a']], useRecords: false });
  for (const module of [theirs, ours]) {
    const packr = new module.Packr(options());
    assert.equal(hex(packr.pack({ a: 1 })), 'de0001a16101');
    assert.deepEqual(packr.unpack(bytes('4001')), { a: 1 });
  }
});

test('getStructures and saveStructures', () => {
  const log = { t: [], o: [] };
  const store = (key) => {
    let saved;
    return {
      getStructures() {
        log[key].push('get');
        return saved && theirs.unpack(saved);
      },
      saveStructures(structures, isCompatible) {
        log[key].push(`save ${JSON.stringify(plain(structures))} ${typeof isCompatible}`);
        saved = Buffer.from(theirs.pack(structures));
      },
    };
  };
  const [forT, forO] = [store('t'), store('o')];
  const [t, o] = [new theirs.Packr(forT), new ours.Packr(forO)];
  for (const value of [{ a: 1 }, { a: 2 }, [{ b: 1 }, { a: { c: 1 } }], 5, { b: 2 }]) {
    const expected = Buffer.from(t.pack(value));
    sameBytes(o.pack(value), expected, text(value));
    assert.deepEqual(new ours.Packr(forO).unpack(expected), value);
    assert.deepEqual(new theirs.Packr(forO).unpack(o.pack(value)), value);
  }
  assert.deepEqual(
    log.o.filter((line) => line !== 'get'),
    log.t.filter((line) => line !== 'get'),
  );
});

test('saveStructures that declines: what was saved meanwhile is loaded', () => {
  const results = [theirs, ours].map((module) => {
    let stored = [];
    let declines = 1;
    const packr = new module.Packr({
      getStructures: () => plain(stored),
      saveStructures(structures) {
        if (declines-- > 0) {
          stored = [['other']];
          return false;
        }
        stored = plain(structures);
      },
    });
    return [hex(packr.pack({ mine: 1 })), stored];
  });
  assert.deepEqual(results[1], results[0]);
  assert.deepEqual(results[1], ['4101', [['other'], ['mine']]]);
});

test('defects of msgpackr with shared structures', () => {
  const many = Array.from({ length: 40 }, (_, i) => [`k${i}`]);
  const preset = { structures: plain(many), maxSharedStructures: 64 };
  const o = new ours.Packr(preset);
  const again = new ours.Packr({ structures: plain(many), maxSharedStructures: 64 });
  for (let i = 0; i < 40; i++) {
    assert.deepEqual(again.unpack(o.pack({ [`k${i}`]: i })), { [`k${i}`]: i });
  }
  const notShared = new ours.Packr({
    structures: [],
    maxSharedStructures: 100,
    shouldShareStructure: () => false,
  });
  const packed = notShared.pack([{ a: 1 }, { a: 2 }]);
  assert.deepEqual(new ours.Packr({ structures: [] }).unpack(packed), [{ a: 1 }, { a: 2 }]);

  const lost = new ours.Unpackr({ getStructures: () => [] });
  throwsCode(() => lost.unpack(bytes('4001')), 'ERR_MSGPACK_RECORD');
  throwsCode(() => new ours.Packr({ structures: [] }).unpack(bytes('40')), 'ERR_MSGPACK_RECORD');
  assert.equal(new ours.Packr().unpack(bytes('40')), 64);

  // A store that is only read: what is new is defined in the message.
  const readOnly = { getStructures: () => [['a']] };
  sameBytes(new ours.Packr(readOnly).pack({ a: 1 }), bytes('4001'));
  const defined = new ours.Packr(readOnly).pack([{ b: 1 }, { b: 2 }]);
  assert.deepEqual(new ours.Packr(readOnly).unpack(defined), [{ b: 1 }, { b: 2 }]);
});

test('structures: objects with many names, or long ones, are shared like others', () => {
  for (const value of [numbered(129), { ['k'.repeat(256)]: 1 }]) {
    const [t, o] = [theirs, ours].map((module) => new module.Packr({ structures: [] }));
    const shared = Buffer.from(t.pack(value));
    assert.equal(hex(o.pack(value)), hex(shared));
    assert.deepEqual(plain(o.structures), plain(t.structures));
    assert.deepEqual(new ours.Packr({ structures: plain(t.structures) }).unpack(shared), value);
    assert.equal(hex(o.pack([value, value])), hex(t.pack([value, value])));
  }
});

test('structures: as before after an error, and well-formed', () => {
  const [t, o] = [theirs, ours].map((module) => new module.Packr({ structures: [['a']] }));
  for (const packr of [t, o]) assert.throws(() => packr.pack([{ b: 1 }, Symbol('s')]));
  for (const packr of [t, o]) packr.pack(1);
  assert.deepEqual(plain(t.structures), [['a'], ['b']]);
  assert.deepEqual(plain(o.structures), [['a']]);
  o.pack({ '\ud800': 1 });
  assert.deepEqual(plain(o.structures), [['a'], ['\ufffd']]);
});

test('errors: without a cause, and with a name of their own', () => {
  const [t, o] = [theirs, ours].map((module) => new module.Packr({ moreTypes: true }));
  const [theirError, ourError] = [t, o].map((packr) => packr.unpack(packr.pack(new Error('m'))));
  assert.deepEqual(
    [Object.hasOwn(theirError, 'cause'), Object.hasOwn(ourError, 'cause')],
    [true, false],
  );
  const mine = o.unpack(o.pack(Object.assign(new Error('m'), { name: 'Mine' })));
  assert.deepEqual([mine.name, mine.message, Object.keys(mine)], ['Mine', 'm', []]);
});

test('structured clone: names of a structure that have an id', () => {
  const value = Array.from({ length: 130 }, (_, i) => ({ [`k${i % 65}`]: i }));
  const t = new theirs.Packr({ structuredClone: true });
  const packed = Buffer.from(t.pack(value));
  assert.match(hex(packed), /d47240d66900000001/);
  assert.deepEqual(new ours.Packr({ structuredClone: true }).unpack(packed), value);
  assert.deepEqual(ours.unpack(packed), value);
});

test('structured clone: cycles through everything', () => {
  const array = [1];
  const map = new Map([['k', array]]);
  const set = new Set([map]);
  const value = { array, map, set, again: [map, set, array] };
  value.self = value;
  array.push(value, set);
  map.set('self', map).set('value', value);
  set.add(set);
  for (const options of [{ structuredClone: true }, { structuredClone: true, structures: [] }]) {
    const o = new ours.Packr({ ...options });
    const packed = o.pack(value);
    sameBytes(
      packed,
      Buffer.from(
        new theirs.Packr({ ...options, structures: options.structures && [] }).pack(value),
      ),
    );
    same(o.unpack(packed), value, text(options));
  }
  const noRecords = new ours.Packr({ structuredClone: true, useRecords: false });
  const copy = noRecords.unpack(noRecords.pack(circle()));
  assert.equal(copy.self, copy);
  const error = new Error('e');
  error.cause = error;
  const clone = new ours.Packr({ structuredClone: true });
  const read = clone.unpack(clone.pack(error));
  assert.equal(read.message, 'e');
  assert.equal(read.cause, read);
});

// ── Extensions: of the whole module

class Dice {
  constructor(n) {
    this.n = n;
  }
}
class Pair {
  constructor(a, b) {
    Object.assign(this, { a, b });
  }
}
class Money {
  constructor(cents) {
    this.cents = cents;
  }
}
class Base {}
class Derived extends Base {}
class Same {
  constructor() {
    this.x = 1;
  }
}
class Broken {}
class Nested {}
const failure = new RangeError('mine');
const older = [theirs, ours].map((module) => new module.Packr({ useRecords: false }));

for (const module of [theirs, ours]) {
  const inner = new module.Packr({ useRecords: false });
  const add = module.addExtension;
  add({
    Class: Dice,
    type: 11,
    pack: (dice) => Buffer.alloc(dice.n, dice.n),
    unpack: (data) => new Dice(data.length),
  });
  add({ Class: Pair, type: 12, write: ({ a, b }) => [a, b], read: ([a, b]) => new Pair(a, b) });
  add({ Class: Money, write: (money) => money.cents });
  add({ Class: Base, type: 13, write: () => 'base', read: (name) => name });
  add({ Class: Derived, type: 14, write: () => 'derived', read: (name) => name });
  add({
    Class: Same,
    type: 15,
    write: (same_) => same_,
    read: (o) => Object.assign(new Same(), o),
  });
  add({
    Class: Broken,
    type: 16,
    pack() {
      throw failure;
    },
    unpack() {
      throw failure;
    },
  });
  add({
    Class: Nested,
    type: 17,
    pack: () => inner.pack({ in: 1 }),
    unpack: (data) => inner.unpack(data),
  });
  add({ type: 18, unpack: (data) => `old ${data.length}` });
  add({ type: 18, unpack: (data) => `new ${data.length}` });
  add({ Class: URLSearchParams, type: 200, write: String, read: (s) => new URLSearchParams(s) });
  add({ type: 19 });
  add({});
}

test('extensions: the same bytes and values, in instances that were there, too', () => {
  const values = [
    ...[0, 1, 2, 3, 4, 8, 16, 17, 255, 256].map((n) => new Dice(n)),
    [new Dice(1), new Pair(1, { a: [new Dice(2)] }), new Pair(new Pair(1, 2), null)],
    [new Money(5), { price: new Money(500) }],
    [new Base(), new Derived()],
    { same: new Same(), list: [new Same()] },
    [new Nested(), new Nested()],
    [new URLSearchParams('a=1')],
    new Map([[new Dice(1), new Pair(1, 2)]]),
  ];
  for (const options of [
    { useRecords: false },
    {},
    { moreTypes: true },
    { structuredClone: true },
  ]) {
    const [t, o] = [new theirs.Packr(options), new ours.Packr(options)];
    for (const value of values) {
      const expected = Buffer.from(t.pack(value));
      sameBytes(o.pack(value), expected, text(value));
      if (value instanceof Map && options.useRecords === false) continue;
      same(o.unpack(expected), t.unpack(expected), text(value));
    }
  }
  const [t, o] = older;
  sameBytes(
    o.pack([new Dice(3), new Pair(1, 2)]),
    Buffer.from(t.pack([new Dice(3), new Pair(1, 2)])),
  );
  assert.deepEqual(o.unpack(bytes('c7030b 030303')), new Dice(3));
  sameBytes(ours.pack(new Dice(1)), bytes('d40b01'));
  for (const message of ['d41201', 'd5120102']) {
    assert.equal(ours.unpack(bytes(message)), theirs.unpack(bytes(message)));
  }
});

test('extensions: an instance that comes twice', () => {
  const pair = new Pair(1, 2);
  const o = new ours.Packr({ structuredClone: true });
  const packed = o.pack([pair, pair]);
  sameBytes(packed, Buffer.from(new theirs.Packr({ structuredClone: true }).pack([pair, pair])));
  const [a, b] = o.unpack(packed);
  assert.deepEqual(a, pair);
  assert.equal(a, b);
});

test('extensions: what they throw comes through', () => {
  for (const packr of [new ours.Packr(), older[1]]) {
    assert.equal(outcome(() => packr.pack([new Broken()])).error, failure);
    assert.equal(outcome(() => packr.unpack(bytes('d41000'))).error, failure);
    sameBytes(packr.pack([1]), bytes('9101'));
  }
});

test('extensions: a subclass has the nearest, whatever the order', () => {
  class A {}
  class B extends A {}
  for (const module of [theirs, ours]) {
    module.addExtension({ Class: B, type: 21, write: () => 'b', read: (name) => name });
    module.addExtension({ Class: A, type: 22, write: () => 'a', read: (name) => name });
  }
  assert.deepEqual(theirs.unpack(theirs.pack([new A(), new B()])), ['a', 'a']);
  assert.deepEqual(ours.unpack(ours.pack([new A(), new B()])), ['a', 'b']);
});

test('extensions: what cannot be added', () => {
  class A {}
  for (const [extension, message] of [
    [{ Class: A }, /no pack or write/],
    [{ Class: A, pack: () => Buffer.alloc(1) }, /no type/],
  ]) {
    assert.throws(() => theirs.addExtension(extension), message);
    assert.throws(() => ours.addExtension(extension), message);
  }
  for (const extension of [
    { Class: A, type: 256, write: () => 1 },
    { Class: A, type: '23', write: () => 1 },
    { Class: 'A', type: 23, write: () => 1 },
    { Class: A, type: 23, write: () => 1, unpack: () => 1 },
    { Class: A, type: 23, pack: () => Buffer.alloc(1), read: () => 1 },
  ]) {
    assert.throws(() => ours.addExtension(extension), text(extension));
  }
  sameBytes(ours.pack(new A()), bytes('de0000'));
});

// ── The rest of the interface

test('unpack: where the bytes end, and where they start', () => {
  for (const [message, options] of [
    ['0102', 1],
    ['01', 5],
    ['01', 0],
    ['0102', { start: 1 }],
    ['01020304', { start: 1, end: 2 }],
    ['01020304', { end: 1 }],
    ['01', {}],
    ['0102', { start: 5 }],
    ['01', -1],
    ['01', NaN],
    ['0102', undefined],
    ['0081a16101ff', { start: 1, end: 5 }],
  ]) {
    for (const name of ['unpack', 'decode']) {
      const label = `${name} ${message} ${text(options)}`;
      const t = outcome(() => theirs[name](bytes(message), options));
      const o = outcome(() => ours[name](bytes(message), options));
      assert.deepStrictEqual(o.value, t.value, label);
      assert.equal(o.error === undefined, t.error === undefined, label);
      assert.equal(o.error?.incomplete, t.error?.incomplete, label);
    }
  }
  assert.deepEqual(ours.unpack(new Uint8Array([0, 1, 2]).buffer, { start: 1, end: 2 }), 1);
  const shared = new Uint8Array(new SharedArrayBuffer(1));
  shared[0] = 5;
  assert.equal(ours.unpack(shared.buffer), 5);
  assert.deepEqual(ours.unpack(new Uint16Array(new Uint8Array([0x91, 7]).buffer)), [7]);
  const view = new DataView(new Uint8Array([9, 1, 2]).buffer, 1);
  assert.deepEqual(ours.unpackMultiple(view), [1, 2]);
  assert.equal(ours.unpack(view, 1), 1);
  assert.equal(outcome(() => ours.unpack(bytes('00 92 01 c1'), { start: 1 })).error.offset, 3);
  for (const input of ['text', [1], null, undefined, 5]) {
    throwsCode(() => ours.unpack(input), 'ERR_MSGPACK_INVALID_INPUT');
    throwsCode(() => ours.unpack(input, 1), 'ERR_MSGPACK_INVALID_INPUT');
    throwsCode(() => ours.unpackMultiple(input), 'ERR_MSGPACK_INVALID_INPUT');
  }
});

test('unpackMultiple', () => {
  const message = bytes('01 81a16102 9103 c0');
  const calls = { t: [], o: [] };
  theirs.unpackMultiple(message, (...args) => void calls.t.push(args));
  assert.equal(
    ours.unpackMultiple(message, (...args) => void calls.o.push(args)),
    undefined,
  );
  assert.deepEqual(calls.o, calls.t);
  const seen = [];
  ours.unpackMultiple(bytes('01 02 c1'), (value) => seen.push(value) < 2);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(ours.unpackMultiple(message), theirs.unpackMultiple(message));
  assert.deepEqual(
    new ours.Unpackr().unpackMultiple(message),
    new theirs.Unpackr().unpackMultiple(message),
  );
  // Nothing is no message, not an incomplete one.
  assert.deepEqual(ours.unpackMultiple(Buffer.alloc(0)), []);
  assert.equal(
    ours.unpackMultiple(Buffer.alloc(0), () => assert.fail()),
    undefined,
  );
});

test('unpackMultiple: definitions of records last until its end', () => {
  const message = bytes('d4724091a16101 4002 d4724191a16203 4104 4005');
  const expected = [{ a: 1 }, { a: 2 }, { b: 3 }, { b: 4 }, { a: 5 }];
  for (const unpackr of [new ours.Unpackr(), ours, new ours.Packr({ sequential: true })]) {
    assert.deepEqual(unpackr.unpackMultiple(message), expected);
    const values = [];
    unpackr.unpackMultiple(message, (value) => values.push(value));
    assert.deepEqual(values, expected);
  }
  assert.equal(new ours.Unpackr().unpack(bytes('40')), 64);
});

test('unpackMultiple: where it stopped', () => {
  for (const [message, incomplete] of [
    ['01 02 9301', true],
    ['9301', true],
    ['01 02 03 04 d90561', true],
  ]) {
    const t = outcome(() => theirs.unpackMultiple(bytes(message))).error;
    const o = outcome(() => ours.unpackMultiple(bytes(message))).error;
    assert.equal(o.code, 'ERR_MSGPACK_TRUNCATED');
    assert.equal(o.incomplete, incomplete);
    assert.equal(o.lastPosition, t.lastPosition, message);
    assert.deepEqual(o.values, t.values ?? [], message);
    const values = [];
    const called = outcome(() => ours.unpackMultiple(bytes(message), (v) => values.push(v))).error;
    assert.equal(called.lastPosition, t.lastPosition);
    assert.equal(called.values, undefined);
    assert.deepEqual(values, o.values);
  }
  const bad = outcome(() => ours.unpackMultiple(bytes('01 c1 02'))).error;
  assert.equal(bad.code, 'ERR_MSGPACK_INVALID_BYTE');
  assert.equal(bad.incomplete, undefined);
  assert.equal(bad.lastPosition, 1);
  const mine = new Error('mine');
  const thrown = outcome(() =>
    ours.unpackMultiple(bytes('01 02'), (value) => {
      if (value === 2) throw mine;
    }),
  ).error;
  assert.equal(thrown, mine);
  assert.equal(mine.lastPosition, 1);
});

test('incomplete messages say so, at every length', () => {
  const value = {
    a: [1, 'text', new Date(5), 2n, Buffer.alloc(3)],
    m: new Map([[1, new Set([1])]]),
  };
  for (const options of [{ useRecords: false }, {}, { structuredClone: true }]) {
    const packed = new ours.Packr(options).pack([value, value]);
    for (let length = 0; length < packed.length; length++) {
      const { error } = outcome(() => new ours.Unpackr(options).unpack(packed.subarray(0, length)));
      assert.equal(error?.incomplete, true, `${length} of ${hex(packed)}`);
      const partly = outcome(() => ours.unpack(packed, length)).error;
      assert.equal(partly?.incomplete, true);
    }
  }
});

test('pack: space in front, and the other modes', () => {
  for (const n of [0, 1, 4, 255]) {
    for (const packr of [ours, new ours.Packr({ useRecords: false })]) {
      const result = packr.pack({ a: 1 }, ours.RESERVE_START_SPACE | n);
      sameBytes(result, Buffer.concat([Buffer.alloc(n), bytes('de0001a16101')]));
    }
  }
  const reused = ours.pack([1], ours.REUSE_BUFFER_MODE | ours.RESET_BUFFER_MODE);
  sameBytes(reused.subarray(reused.start, reused.end), bytes('9101'));
  sameBytes(ours.pack(5, 4), bytes('05'));
  const [first, second] = [ours.pack([1]), ours.pack([2])];
  assert.deepEqual([hex(first), hex(second)], ['9101', '9102']);
});

test('useBuffer', () => {
  const runs = [theirs, ours].map((module) => {
    const buffer = Buffer.alloc(4096);
    const packr = new module.Packr({ useRecords: false });
    packr.useBuffer(buffer);
    const results = [packr.pack({ a: 1 }), packr.pack(7), packr.pack([1, 2])];
    const at = results.map((result) => {
      assert.equal(result.buffer, buffer.buffer);
      return result.byteOffset - buffer.byteOffset;
    });
    at.push(packr.offset, packr.position);
    packr.position = 100;
    at.push(packr.pack(7).byteOffset - buffer.byteOffset);
    packr.useBuffer(buffer);
    packr.pack(8, module.RESET_BUFFER_MODE);
    at.push(packr.position, packr.pack(9).byteOffset - buffer.byteOffset);
    return [at, results.map(hex)];
  });
  assert.deepEqual(runs[1], runs[0]);
  const small = new ours.Packr({ useRecords: false });
  small.useBuffer(Buffer.alloc(10));
  const text_ = 'a'.repeat(50);
  assert.equal(small.unpack(small.pack(text_)), text_);
  sameBytes(small.pack(1), bytes('01'));
  small.clearSharedData();
});

test('functions taken off their instance', () => {
  const { pack, encode } = new ours.Packr();
  const { unpack, decode, unpackMultiple } = ours;
  sameBytes(pack({ a: 1 }), bytes('d4724091a16101'));
  sameBytes(encode({ a: 1 }), bytes('d4724091a16101'));
  assert.deepEqual(unpack(ours.pack({ a: 1 })), { a: 1 });
  assert.deepEqual(decode(ours.encode({ a: 1 })), { a: 1 });
  assert.deepEqual(unpackMultiple(bytes('0102')), [1, 2]);
  const { unpack: taken } = new ours.Unpackr();
  assert.deepEqual(taken(bytes('81a16101')), { a: 1 });
});

test('a subclass that overrides unpack', () => {
  class Loud extends ours.Unpackr {
    unpack(...args) {
      return ['loud', super.unpack(...args)];
    }
  }
  assert.deepEqual(new Loud().decode(bytes('01')), ['loud', 1]);
});

test('a pack inside a pack', () => {
  for (const options of [
    {},
    { structures: [] },
    { useRecords: false },
    { structuredClone: true },
  ]) {
    const packr = new ours.Packr(options);
    let inner;
    const value = {
      before: { x: 1 },
      get inside() {
        inner = packr.pack({ y: { x: 2 } });
        return 1;
      },
      after: { x: 3 },
    };
    const packed = packr.pack(value);
    assert.deepEqual(packr.unpack(packed), { before: { x: 1 }, inside: 1, after: { x: 3 } });
    assert.deepEqual(packr.unpack(inner), { y: { x: 2 } });
  }
});

// ── Strings in bundles, which are read

test('bundled strings of msgpackr', () => {
  const next = generator(11);
  const word = () => next.pick(['a', 'hello', 'héllo', 'wörld wörld', '漢字漢字', 'x'.repeat(300)]);
  for (const options of [
    {},
    { useRecords: false },
    { moreTypes: true },
    { structuredClone: true },
  ]) {
    const t = new theirs.Packr({ ...options, bundleStrings: true });
    const o = new ours.Packr(options);
    for (let i = 0; i < 60; i++) {
      const value = Array.from({ length: next.below(300) }, () => ({
        [word()]: word(),
        list: [word(), new Map([[word(), word()]])],
      }));
      const packed = Buffer.from(t.pack(value));
      same(o.unpack(packed), t.unpack(packed), text(options));
    }
    for (const value of ['hello', ['hello'], 'x'.repeat(5000), Array(30).fill('y'.repeat(4095))]) {
      same(o.unpack(Buffer.from(t.pack(value))), value, text(options));
    }
  }
});

// ── Random values and options

const boundaries = [0, 1, 63, 64, 127, 128, 255, 256, 65535, 65536, 2 ** 31, 2 ** 32, 2 ** 53];
const anyNumber = fc.oneof(
  fc.constantFrom(
    ...boundaries.flatMap((n) => [n, n - 1, n + 1, -n - 1]),
    NaN,
    Infinity,
    -Infinity,
  ),
  fc.integer({ min: -200, max: 200 }),
  fc.integer(),
  fc.integer({ min: -100_000, max: 100_000 }).map((n) => n / 100),
  fc.double(),
  fc.float(),
);
// msgpackr loses the sign of -0, in float 32, too.
const numbers = anyNumber.filter((n) => !Object.is(Math.fround(n), -0));
const bigints = fc
  .oneof(
    fc.constantFrom(0n, 1n, -1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
  )
  // Where 'auto' differs.
  .filter((n) => n !== 2n ** 53n && n !== -(2n ** 53n));
const strings = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', 'id', 'name', 'é', '\ud800', 'constructor', 'toString', '1', '007', '-1.5'),
  fc.tuple(fc.constantFrom('a', 'é', '漢', '😀'), fc.nat(300)).map(([c, n]) => c.repeat(n)),
);
// msgpackr renames the first and trips over the others; in shared structures it keeps names that are
// not well-formed, which are others when they come back.
const UNUSABLE_KEYS = ['__proto__', '__keys__', 'hasOwnProperty', 'toJSON'];
const keyNames = fc
  .oneof(fc.constantFrom('a', 'b', 'c', 'd', 'list', 'name'), strings)
  .filter((key) => key.isWellFormed() && key.length < 60 && !UNUSABLE_KEYS.includes(key));
const typedArrays = fc
  .tuple(
    fc.constantFrom(
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
      DataView,
      ArrayBuffer,
    ),
    fc.uint8Array({ maxLength: 40 }),
  )
  .map(([Type, data]) => {
    const memory = data.slice(0, data.length & ~7).buffer;
    return Type === ArrayBuffer ? memory : new Type(memory);
  });
const errors = fc
  .tuple(fc.constantFrom(Error, TypeError, RangeError), strings, fc.option(numbers))
  .map(([Type, message, cause]) =>
    cause === null ? new Type(message) : new Type(message, { cause }),
  );
const leaf = fc.oneof(
  { arbitrary: numbers, weight: 6 },
  { arbitrary: strings, weight: 5 },
  { arbitrary: fc.constantFrom(null, true, false, undefined), weight: 3 },
  { arbitrary: bigints, weight: 2 },
  { arbitrary: fc.date({ noInvalidDate: false }), weight: 1 },
  { arbitrary: fc.uint8Array({ maxLength: 300 }).map((data) => Buffer.from(data)), weight: 1 },
  { arbitrary: typedArrays, weight: 1 },
  { arbitrary: fc.constantFrom(/a\/b/gi, /^é$/u), weight: 1 },
  // A new one each time: see what becomes of the same function twice.
  { arbitrary: fc.constant(null).map(() => () => 1), weight: 1 },
  { arbitrary: errors, weight: 1 },
  { arbitrary: fc.integer().map((x) => Object.assign(new Point(), { x })), weight: 1 },
);
const { anything } = fc.letrec((tie) => ({
  anything: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('anything'), { maxLength: 20 }),
    tie('object'),
    tie('object'),
    fc.array(fc.tuple(tie('key'), tie('anything')), { maxLength: 6 }).map((list) => new Map(list)),
    fc.array(tie('anything'), { maxLength: 5 }).map((list) => new Set(list)),
  ),
  key: fc.oneof({ weight: 4, arbitrary: keyNames }, leaf),
  object: fc.dictionary(keyNames, tie('anything'), { maxKeys: 20 }).map((o) => ({ ...o })),
}));

const maybe = (value) => fc.option(value, { nil: undefined, freq: 3 });
const on = maybe(fc.constant(true));
const optionSets = fc
  .record({
    useRecords: fc.constantFrom(undefined, undefined, true, false, false, (o) => o.a === undefined),
    mapsAsObjects: maybe(fc.boolean()),
    variableMapSize: on,
    moreTypes: maybe(fc.boolean()),
    structuredClone: maybe(fc.boolean()),
    useFloat32: fc.constantFrom(undefined, undefined, 0, 1, 3, 4),
    int64AsType: fc.constantFrom(undefined, 'bigint', 'number', 'string', 'auto'),
    encodeUndefinedAsNil: on,
    largeBigIntToFloat: on,
    largeBigIntToString: on,
    useBigIntExtension: on,
    useTimestamp32: on,
    coercibleKeyAsNumber: on,
    allowArraysInMapKeys: on,
    copyBuffers: on,
    mapAsEmptyObject: fc.constantFrom(undefined, undefined, undefined, true),
    setAsEmptyObject: fc.constantFrom(undefined, undefined, undefined, true),
    skipValues: fc.constantFrom(undefined, [undefined], [null, undefined, 0]),
    maxOwnStructures: fc.constantFrom(undefined, undefined, 0, 1, 5, 30),
    structures: on,
    sequential: on,
    bundleStrings: on,
  })
  .map((options) => {
    // Only what is given.
    const set = Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined));
    if (set.structures) delete set.sequential;
    // They are for useRecords: false; msgpackr heeds them also where it falls back to a map.
    if (set.useRecords !== false) {
      delete set.coercibleKeyAsNumber;
      delete set.skipValues;
    }
    return set;
  });

/** Puts objects that are there into other places, cycles included if `cycles`. */
function withAliases(value, seed, cycles) {
  const next = generator(seed);
  const places_ = [];
  const visit = (x, above) => {
    if (typeof x !== 'object' || x === null || ArrayBuffer.isView(x)) return;
    const inside = [...above, x];
    if (Array.isArray(x)) {
      x.forEach((_, i) => {
        places_.push([x, i, inside]);
      });
      for (const item of x) visit(item, inside);
    } else if (x instanceof Map || x instanceof Set) {
      for (const item of x.values()) visit(item, inside);
    } else if (Object.getPrototypeOf(x) === Object.prototype) {
      for (const key of Object.keys(x)) places_.push([x, key, inside]);
      for (const key of Object.keys(x)) visit(x[key], inside);
    }
  };
  visit(value, []);
  const objects = places_.map(([x, key]) => x[key]).filter((x) => typeof x === 'object' && x);
  for (let i = next.below(6); i > 0 && places_.length > 0 && objects.length > 0; i--) {
    const [x, key, above] = next.pick(places_);
    if (cycles && next.below(2) === 0) x[key] = next.pick(above);
    else {
      const other = next.pick(objects);
      if (!contains(other, x)) x[key] = other;
    }
  }
  return value;
}

function contains(outer, wanted, seen = new Set()) {
  if (outer === wanted) return true;
  if (typeof outer !== 'object' || outer === null || seen.has(outer)) return false;
  seen.add(outer);
  const inside =
    outer instanceof Map
      ? [...outer].flat()
      : outer instanceof Set
        ? [...outer]
        : Object.values(outer);
  return inside.some((x) => contains(x, wanted, seen));
}

/** Both give the same, or both throw. */
function agree(actual, expected, label) {
  if (expected.error) {
    assert.ok(actual.error, `${label}: expected it to throw ${expected.error.message}`);
    assert.ok(actual.error instanceof MsgpackError, `${label}: ${actual.error.stack}`);
    return;
  }
  if (actual.error) assert.fail(`${label}: ${actual.error.stack}`);
  same(actual.value, expected.value, label);
}

/**
 * Packs with both and reads each with both. The bytes are the same, but for strings in bundles and
 * for the names of a structure that is defined again, which msgpackr gives an id as any object.
 */
function differential(values, options, cycles) {
  const withStructures = (structures) => ({
    ...options,
    ...(options.structures && { structures: plain(structures) }),
  });
  const writer = { t: new theirs.Packr(withStructures([])), o: new ours.Packr(withStructures([])) };
  // One reader for each kind of message, because sequential ones remember.
  const make = () => ({
    t: new theirs.Packr(withStructures(writer.t.structures ?? [])),
    o: new ours.Packr(withStructures(writer.t.structures ?? [])),
  });
  let readT = make();
  let readO = make();
  for (const [i, value] of values.entries()) {
    const label = `value ${i} of ${values.length}, ${text(options)}`;
    const t = outcome(() => Buffer.from(writer.t.pack(value)));
    const o = outcome(() => writer.o.pack(value));
    if (t.error) {
      assert.ok(o.error instanceof MsgpackError, `${label}: ${t.error.message}`);
      // The shapes before the error stay in the structures of msgpackr, not in ours.
      return;
    }
    if (o.error) assert.fail(`${label}: ${o.error.stack}`);
    if (!options.bundleStrings && !/d472..d6(69|70)/.test(hex(t.value))) {
      sameBytes(o.value, t.value, label);
    }
    if (options.structures) {
      assert.deepStrictEqual(plain(writer.o.structures), plain(writer.t.structures), label);
      readT = make();
      readO = make();
    }
    const expected = outcome(() => readT.t.unpack(t.value));
    // msgpackr cannot read every cycle that it writes.
    if (!(cycles && expected.error)) {
      agree(
        outcome(() => readT.o.unpack(t.value)),
        expected,
        `${label}: theirs, read by us`,
      );
    }
    const back = outcome(() => readO.t.unpack(o.value));
    assert.equal(back.error === undefined, expected.error === undefined, label);
    if (!back.error) same(back.value, expected.value, `${label}: ours, read by them`);
    const own = outcome(() => readO.o.unpack(o.value));
    if (!(cycles && expected.error)) agree(own, expected, `${label}: ours, read by us`);
    // What an unreadable message has defined may be lost.
    if (expected.error && options.sequential) return;
  }
}

test('random values and options: both ways, with each other', (t) => {
  fc.assert(
    fc.property(
      fc.array(anything, { minLength: 1, maxLength: 3 }),
      optionSets,
      fc.nat(),
      (values, options, seed) => {
        const cloned = options.structuredClone === true;
        differential(
          cloned ? values.map((v) => withAliases(v, seed, false)) : values,
          options,
          false,
        );
      },
    ),
    { seed: seedOf(t), numRuns: runsOf(2000), endOnFailure: process.env.FC_END !== undefined },
  );
});

test('random cycles: both ways, with each other', (t) => {
  fc.assert(
    fc.property(anything, fc.nat(), fc.boolean(), (value, seed, moreTypes) => {
      // msgpackr loses track of what is the same as an invalid Date.
      fc.pre(!inspect(value, { depth: Infinity }).includes('Invalid Date'));
      differential([withAliases(value, seed, true)], { structuredClone: true, moreTypes }, true);
    }),
    { seed: seedOf(t), numRuns: runsOf(500), endOnFailure: process.env.FC_END !== undefined },
  );
});

// ── In the place of msgpackr

const PROGRAM = `
  const value = { id: 7, name: 'Ada', tags: ['new', 'vip'], seen: new Date(0) };
  const serialized = pack(value);
  assert.deepEqual(unpack(serialized), value);
  assert.equal(serialized.toString('hex').slice(0, 6), 'de0004');

  // A queue that talks to Lua.
  const packer = new Packr({ useRecords: false, encodeUndefinedAsNil: true });
  const packArgs = packer.pack;
  assert.equal(packArgs([undefined, 'x', 1]).toString('hex'), '93c0a17801');

  // A store with shared structures.
  const structures = [];
  const store = new Encoder({ structures });
  const record = store.encode({ foo: 4, bar: 2 });
  assert.equal(record.toString('hex'), '400402');
  assert.deepEqual(store.decode(record), { foo: 4, bar: 2 });
  assert.equal(structures.length, 1);

  // Structured clone.
  const obj = { set: new Set(['a', 'b']), regular: /a\\spattern/ };
  obj.self = obj;
  const packr = new Packr({ structuredClone: true });
  const copy = packr.unpack(packr.pack(obj));
  assert.ok(copy.self === copy && copy.set.has('a') && copy.regular.source === 'a\\\\spattern');

  // Values one after the other, the last one incomplete.
  assert.deepEqual(unpackMultiple(new Uint8Array([1, 2, 3])), [1, 2, 3]);
  try {
    unpackMultiple(Buffer.from([1, 2, 0x93]));
    assert.fail();
  } catch (error) {
    assert.ok(error.incomplete && error.lastPosition === 2 && error.values.length === 2);
  }

  class MyCustomClass {}
  addExtension({
    Class: MyCustomClass,
    type: 11,
    pack: (instance) => Buffer.from([instance.myData]),
    unpack: (buffer) => Object.assign(new MyCustomClass(), { myData: buffer[0] }),
  });
  const mine = Object.assign(new MyCustomClass(), { myData: 5 });
  assert.deepEqual(unpack(pack(mine)), mine);
  console.log('works');
`;

test('a package msgpackr of three lines: programs run unchanged', (t) => {
  const project = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-compat-'));
  t.after(() => rmSync(project, { recursive: true, force: true }));
  const shim = path.join(project, 'node_modules', 'msgpackr');
  mkdirSync(shim, { recursive: true });
  symlinkSync(root, path.join(project, 'node_modules', 'msgpack-rs'), 'junction');
  const both = { import: './index.mjs', require: './index.js' };
  const manifest = {
    name: 'msgpackr',
    version: '2.1.4',
    exports: { '.': both, './pack': both, './unpack': both },
  };
  writeFileSync(path.join(shim, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    path.join(shim, 'index.js'),
    "module.exports = require('msgpack-rs/compat/msgpackr');\n",
  );
  writeFileSync(path.join(shim, 'index.mjs'), "export * from 'msgpack-rs/compat/msgpackr';\n");

  const imported = '{ addExtension, Encoder, pack, Packr, unpack, unpackMultiple }';
  writeFileSync(
    path.join(project, 'main.cjs'),
    `const assert = require('node:assert');
     const ${imported} = require('msgpackr');
     assert.equal(require('msgpackr/unpack').unpack, unpack);
     assert.equal(require('msgpackr/pack').Packr, Packr);
     ${PROGRAM}`,
  );
  writeFileSync(
    path.join(project, 'main.mjs'),
    `import assert from 'node:assert';
     import ${imported} from 'msgpackr';
     import * as unpackOnly from 'msgpackr/unpack';
     assert.equal(unpackOnly.unpack, unpack);
     ${PROGRAM}`,
  );
  for (const main of ['main.cjs', 'main.mjs']) {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--test'));
    const out = execFileSync(process.execPath, [...flags, main], {
      cwd: project,
      encoding: 'utf8',
    });
    assert.equal(out.trim(), 'works', main);
  }
});
