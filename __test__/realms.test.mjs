// Values of another realm (a vm context) are what they are; no instanceof decides anything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { pack, unpack } from '../index.js';
import { packs, stillWorks, throwsCode } from './helpers.mjs';
import { refPack } from './reference.mjs';

const context = vm.createContext({}, { codeGeneration: { strings: true, wasm: true } });
const realm = (source) => vm.runInContext(`(${source})`, context);

const ROWS = [
  ['{ a: 1 }', '81a16101'],
  ['{ a: { b: [1, "x", { c: null }] } }', '81a16181a1629301a17881a163c0'],
  ['[1, "a"]', '9201a161'],
  ['[]', '90'],
  ['new Date(0)', 'd6ff00000000'],
  ['new Date(NaN)', 'c0'],
  ['new Date(-1)', 'c70cff3b8b87c0ffffffffffffffff'],
  ['new Map([["a", 1], [2, new Map()]])', '82a161010280'],
  ['new Set([1, "x"])', '9201a178'],
  ['/a\\/b/g', 'a7 2f615c2f622f67'],
  ['new Error("boom")', '82a46e616d65a54572726f72a76d657373616765a4626f6f6d'],
  [
    'Object.assign(new TypeError("t"), { code: "E" })',
    '83a46e616d65a9547970654572726f72a76d657373616765a174a4636f6465a145',
  ],
  ['new Uint8Array([1, 2])', 'c4020102'],
  ['new Uint16Array([258])', 'c4020201'],
  ['new Float64Array([1])', 'c408000000000000f03f'],
  ['new BigInt64Array([1n])', 'c4080100000000000000'],
  ['new Uint8Array([9, 1, 2]).subarray(1)', 'c4020102'],
  ['new DataView(new ArrayBuffer(4), 1, 2)', 'c4020000'],
  ['new ArrayBuffer(3)', 'c403000000'],
  ['new SharedArrayBuffer(2)', 'c4020000'],
  ['new String("hi")', 'a26869'],
  ['new Number(5)', '05'],
  ['new Boolean(false)', 'c2'],
  ['Object(7n)', '07'],
  ['Object.create(null, { a: { value: 1, enumerable: true } })', '81a16101'],
  ['new (class P { constructor() { this.x = 1; this.y = 2; } })()', '82a17801a17902'],
  ['new (class J { toJSON() { return { j: 1 }; } })()', '81a16a01'],
  ['{ toJSON() { return new Date(1000); } }', 'd6ff00000001'],
  ['(function () { return arguments; })(1, 2)', '82a13001a13102'],
  ['new Proxy({ a: 1 }, {})', '81a16101'],
  ['new Proxy([1], {})', '9101'],
  ['new (class L extends Array {})(1, 2)', '920102'],
  ['new (class M extends Map {})([["k", 1]])', '81a16b01'],
  ['new (class D extends Date {})(0)', 'd6ff00000000'],
  ['undefined', 'c0'],
  ['null', 'c0'],
  ['5n', '05'],
];

test('every kind of value, at the top and inside, on every use', () => {
  for (const [source, expected] of ROWS) {
    for (let i = 0; i < 5; i++) {
      packs(realm(source), expected, undefined, source);
      if (source === 'undefined') continue;
      packs([realm(source)], `91${expected}`, undefined, source);
      packs({ v: realm(source) }, `81a176${expected}`, undefined, source);
    }
  }
});

test('functions and symbols of another realm', () => {
  packs({ f: realm('() => 1'), s: realm('Symbol("s")'), a: 1 }, '81a16101');
  throwsCode(() => pack(realm('() => 1')), 'ERR_MSGPACK_UNSUPPORTED_TYPE', { path: '$' });
  stillWorks();
});

test('the same keys from two realms, taking turns', () => {
  const make = realm('(i) => ({ a: i, b: [i, { c: "x" }] })');
  for (let i = 0; i < 80; i++) {
    const here = { a: i, b: [i, { c: 'x' }] };
    packs(make(i), refPack(here));
    packs(here, refPack(here));
    packs([make(i), here, make(i)], refPack([here, here, here]));
  }
});

test('what is decoded belongs to this realm', () => {
  for (let i = 0; i < 60; i++) {
    const value = unpack(pack(realm('{ a: [1, { b: new Date(0) }] }')));
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(Object.getPrototypeOf(value.a), Array.prototype);
    assert.ok(value.a[1].b instanceof Date);
  }
});

test('bytes of another realm can be decoded', () => {
  for (const source of [
    'new Uint8Array([0x92, 1, 0xa1, 0x61])',
    'new Uint8Array([9, 0x92, 1, 0xa1, 0x61, 9]).subarray(1, 5)',
    'new Uint8Array([0x92, 1, 0xa1, 0x61]).buffer',
    'new DataView(new Uint8Array([0, 0x92, 1, 0xa1, 0x61]).buffer, 1)',
    '(() => { const s = new SharedArrayBuffer(4); new Uint8Array(s).set([0x92, 1, 0xa1, 0x61]); return s; })()',
    'new Int8Array([-110, 1, -95, 97])',
  ]) {
    assert.deepStrictEqual(unpack(realm(source)), [1, 'a'], source);
  }
  const data = unpack(realm('new Uint8Array([0xc4, 1, 7])'));
  assert.ok(Buffer.isBuffer(data));
  assert.deepStrictEqual(data, Buffer.from([7]));
});

test('options may come from another realm', () => {
  packs({ a: undefined }, '81a161c0', realm("{ undefinedAs: 'nil' }"));
  assert.deepStrictEqual(unpack(Buffer.from('80', 'hex'), realm("{ maps: 'map' }")), new Map());
});

test('errors thrown by code of another realm come through', () => {
  const value = realm('{ get a() { throw new TypeError("there"); } }');
  assert.throws(
    () => pack(value),
    (error) => error.message === 'there',
  );
  stillWorks();
});

test('a polluted Object.prototype of another realm adds nothing', () => {
  const other = vm.createContext({});
  const value = vm.runInContext('Object.prototype.polluted = 1; ({ a: 1, b: { c: 2 } })', other);
  for (let i = 0; i < 60; i++) packs(value, '82a16101a16281a16302');
  const json = vm.runInContext('Object.prototype.toJSON = () => "json"; ({ a: 1 })', other);
  packs(json, 'a46a736f6e');
  packs({ a: 1 }, '81a16101');
});

test('a realm that is gone', () => {
  for (let i = 0; i < 20; i++) {
    const value = vm.runInContext(
      '({ a: 1, d: new Date(0), m: new Map([[1, 2]]) })',
      vm.createContext({}),
    );
    packs(value, '83a16101a164d6ff00000000a16d810102');
  }
});
