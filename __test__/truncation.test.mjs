// Truncation at every prefix of every valid message is ERR_MSGPACK_TRUNCATED and nothing else.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ext, pack, Timestamp, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, nestArrays, nestObjects, stillWorks, throwsCode } from './helpers.mjs';

const suite = JSON.parse(readFileSync(new URL('./data/msgpack-test-suite.json', import.meta.url)));
const CODE = 'ERR_MSGPACK_TRUNCATED';
const OPTIONS = [
  undefined,
  { maps: 'map' },
  { utf8: 'fatal' },
  { timestamps: 'timestamp', int64: 'bigint' },
];

function everyPrefix(message, options) {
  for (let size = 0; size < message.length; size++) {
    const error = throwsCode(() => unpack(message.subarray(0, size), options), CODE);
    assert.ok(error.offset >= 0 && error.offset <= size, `offset ${error.offset} of ${size}`);
  }
  unpack(message, options);
}

test('every prefix of every conformance vector', () => {
  for (const cases of Object.values(suite)) {
    for (const { msgpack } of cases) {
      for (const form of msgpack) for (const options of OPTIONS) everyPrefix(bytes(form), options);
    }
  }
  stillWorks();
});

const COMPOSITE = {
  'an API object': {
    id: 12345,
    name: 'Zoë 漢字 😀',
    email: 'zoe@example.com',
    score: 0.1,
    active: true,
    tags: ['a', 'bb', 'ccc'],
    nested: { deep: { deeper: [1, 2.5, null, -1, 2 ** 40, 2n ** 63n] } },
    19: [1, 2, 3, 4],
    __proto__: null,
  },
  'a list of records': Array.from({ length: 20 }, (_, i) => ({
    id: i,
    name: `n${i}`,
    on: i % 2 === 0,
  })),
  doubles: Array.from({ length: 40 }, (_, i) => i + 0.5),
  'ints of all widths': [
    0,
    127,
    128,
    255,
    256,
    65535,
    65536,
    2 ** 32,
    -1,
    -33,
    -129,
    -32769,
    -(2 ** 31) - 1,
  ],
  binary: { a: Buffer.alloc(40, 1), b: [new Uint8Array(300)], c: new Ext(5, Buffer.alloc(20)) },
  times: [new Date(0), new Date(1), new Date(-1), new Timestamp(2n ** 40n, 1)],
  'long strings': ['x'.repeat(40), 'é'.repeat(200), '漢'.repeat(400), '😀'.repeat(20)],
  'wide keys': Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${'k'.repeat(i)}é`, i])),
  'deep arrays': nestArrays(200, 'bottom'),
  'deep objects': nestObjects(200, 'bottom'),
  'a Map with odd keys': new Map([
    [1, 'a'],
    [-5, 'b'],
    [0.5, 'c'],
  ]),
  'sixteen of each': [
    Array(16).fill('s'),
    Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, i])),
  ],
};

for (const [name, value] of Object.entries(COMPOSITE)) {
  test(`every prefix of ${name}`, () => {
    const message = pack(value);
    for (const options of OPTIONS) everyPrefix(message, options);
    stillWorks();
  });
}

test('every prefix of messages with headers wider than needed', () => {
  for (const wire of [
    'dd00000003 01 02 03',
    'df00000002 db0000000161 dd00000001 c0 da000162 c6000000020102',
    '82 01 cb3ff8000000000000 cf0000000000000001 d30000000000000001',
    'c90000000305 010203',
    'c8000cff 000000000000000000000001',
    'dc0002 de0001a161dc0001c0 d90161',
  ]) {
    everyPrefix(bytes(wire));
  }
});

test('prefixes of a view do not read the bytes after it', () => {
  const message = pack(COMPOSITE['an API object']);
  const copy = new Uint8Array(message.length + 20);
  copy.set(message, 10);
  for (let size = 0; size < message.length; size++) {
    throwsCode(() => unpack(copy.subarray(10, 10 + size)), CODE);
    throwsCode(() => unpack(new DataView(copy.buffer, 10, size)), CODE);
  }
});

test('unpackFrom and unpackMultiple: the same for every prefix', () => {
  const message = pack(COMPOSITE['a list of records'].slice(0, 4));
  const two = Buffer.concat([message, message]);
  for (let size = 1; size < two.length; size++) {
    const prefix = two.subarray(0, size);
    if (size < message.length) throwsCode(() => unpackFrom(prefix), CODE);
    else assert.equal(unpackFrom(prefix).end, message.length);
    if (size === message.length) assert.equal(unpackMultiple(prefix).length, 1);
    else throwsCode(() => unpackMultiple(prefix), CODE);
  }
  for (let size = message.length; size < two.length; size++) {
    throwsCode(() => unpackFrom(two.subarray(0, size), message.length), CODE);
  }
});

test('the tail missing of long binaries and strings, cut near both ends', () => {
  for (const value of [
    'y'.repeat(70_000),
    '漢'.repeat(30_000),
    Buffer.alloc(70_000),
    new Ext(1, Buffer.alloc(70_000)),
  ]) {
    const message = pack({ v: value });
    for (const size of [
      1,
      3,
      4,
      5,
      7,
      8,
      9,
      10,
      1000,
      65_536,
      message.length - 2,
      message.length - 1,
    ]) {
      throwsCode(() => unpack(message.subarray(0, size)), CODE);
    }
  }
});

test('a claim past the end with nothing wrong in it is truncation', () => {
  for (const wire of [
    'dd01312d00',
    'ddffffffff',
    'dfffffffff',
    'dbffffffff',
    'c6ffffffff',
    'c9ffffffff01',
    'dcffff00',
    'deffffa161',
    'daffff61',
    'c5ffff00',
    'c8ffff05',
    'd9ff61',
    'c4ff00',
    'c7ff05',
    'c70cff',
    'd6ff',
  ]) {
    throwsCode(() => unpack(bytes(wire)), CODE);
    throwsCode(() => unpack(bytes(`91${wire}`)), CODE);
    throwsCode(() => unpack(bytes(`81a161${wire}`)), CODE);
  }
});
