// Peers as oracles, both ways, over the values on which they and the specification agree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode as jDecode, encode as jEncode, ExtData } from '@msgpack/msgpack';
import fc from 'fast-check';
import { Packr, Unpackr } from 'msgpackr';
import { Ext, pack, unpack } from '../index.js';
import { runsOf, sameBytes, seedOf } from './helpers.mjs';

const packr = new Packr({ useRecords: false, variableMapSize: true, encodeUndefinedAsNil: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

// No __proto__ (refused or renamed by them), no -0 (written as 0), whole numbers up to 2^53.
const keys = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 10 }),
    fc.constantFrom('id', 'name', 'é', '19', ''),
  )
  .filter((key) => key !== '__proto__');
const doubles = fc
  .double({ noNaN: false })
  .filter(
    (n) =>
      !Object.is(n, -0) &&
      (Number.isSafeInteger(n) || !Number.isInteger(n) || Math.abs(n) >= 2 ** 53),
  );
const leaf = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    1,
    127,
    128,
    255,
    256,
    65535,
    65536,
    2 ** 31,
    2 ** 32 - 1,
    -1,
    -32,
    -33,
    -128,
    -129,
    -32768,
    -32769,
    -(2 ** 31),
  ),
  fc.integer(),
  doubles,
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ maxLength: 300 }),
  fc.tuple(fc.constantFrom('a', 'é', '漢', '😀'), fc.nat(400)).map(([c, n]) => c.repeat(n)),
  fc.date({ noInvalidDate: true }),
);
const { plain } = fc.letrec((tie) => ({
  plain: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('plain'), { maxLength: 20 }),
    tie('object'),
  ),
  object: fc.dictionary(keys, tie('plain'), { maxKeys: 20 }).map((o) => ({ ...o })),
}));
const inInt32 = (value) => {
  if (typeof value === 'number')
    return !Number.isSafeInteger(value) || (value >= -(2 ** 31) && value < 2 ** 32);
  if (Array.isArray(value)) return value.every(inInt32);
  return value === null || typeof value !== 'object' || Object.values(value).every(inInt32);
};

function property(name, runs, check) {
  test(name, (t) => {
    fc.assert(fc.property(plain, check), {
      seed: seedOf(t),
      numRuns: runsOf(runs),
      endOnFailure: false,
    });
  });
}

property('@msgpack/msgpack: the same bytes, and each reads the other', 1500, (value) => {
  const wire = pack(value);
  sameBytes(wire, Buffer.from(jEncode(value)));
  assert.deepStrictEqual(jDecode(wire, { useBigInt64: false }), value);
  assert.deepStrictEqual(unpack(jEncode(value)), value);
});

property(
  'msgpackr: the same bytes where integers have 32 bits, and each reads the other',
  1500,
  (value) => {
    const wire = pack(value);
    if (inInt32(value)) sameBytes(wire, packr.pack(value));
    assert.deepStrictEqual(unpackr.unpack(wire), value);
    assert.deepStrictEqual(unpack(packr.pack(value)), value);
  },
);

test('64-bit integers written by @msgpack/msgpack with useBigInt64', () => {
  for (const value of [
    0n,
    1n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 63n,
    2n ** 64n - 1n,
    -1n,
    -(2n ** 53n),
    -(2n ** 63n),
  ]) {
    const wire = jEncode(value, { useBigInt64: true });
    assert.equal(BigInt(unpack(wire)), value);
    assert.equal(unpack(wire, { int64: 'bigint' }), value);
    assert.equal(BigInt(jDecode(pack(value), { useBigInt64: true })), value);
  }
});

test('binary and ext, both ways', () => {
  for (const length of [0, 1, 2, 3, 4, 8, 15, 16, 17, 255, 256, 65535, 65536]) {
    const data = Buffer.alloc(length, 3);
    sameBytes(pack(data), Buffer.from(jEncode(data)));
    assert.deepStrictEqual(Buffer.from(jDecode(pack(data))), data);
    sameBytes(pack(new Ext(5, data)), Buffer.from(jEncode(new ExtData(5, data))));
    const theirs = jDecode(pack(new Ext(-3, data)));
    assert.equal(theirs.type, -3);
    assert.deepStrictEqual(Buffer.from(theirs.data), data);
  }
});

test('documents of every size, both ways', () => {
  for (let size = 1; size <= 4096; size *= 4) {
    const value = Array.from({ length: size }, (_, i) => ({
      id: i,
      name: `user ${i} é`,
      score: i / 8 + 0.1,
      on: i % 2 === 0,
      tags: ['a', String(i)],
      at: new Date(i * 1001),
    }));
    const wire = pack(value);
    sameBytes(wire, Buffer.from(jEncode(value)));
    assert.deepStrictEqual(unpack(jEncode(value)), value);
    assert.deepStrictEqual(unpackr.unpack(wire), value);
    assert.deepStrictEqual(unpack(packr.pack(value)), value);
  }
});

test('messages the peers write wider than needed', () => {
  const wide = new Packr({ useRecords: false });
  for (let i = 0; i < 80; i++) {
    const value = { id: i, name: `n${i}`, list: [{ a: 1 }, { a: 2 }] };
    assert.deepStrictEqual(unpack(wide.pack(value)), value);
    assert.deepStrictEqual(unpack(jEncode(value, { forceIntegerToFloat: true })), value);
  }
});
