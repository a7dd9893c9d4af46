// Properties over random values and bytes; the seed is printed, FC_SEED and FC_RUNS override.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Ext, pack, packInto, Timestamp, unpack, unpackFrom, unpackMultiple } from '../index.js';
import {
  attempt,
  bytes,
  checkError,
  hex,
  runsOf,
  sameBytes,
  seedOf,
  stillWorks,
} from './helpers.mjs';
import { refPack, refUnpack } from './reference.mjs';

function property(name, runs, arbitraries, check) {
  test(name, (t) => {
    const seed = seedOf(t);
    fc.assert(fc.property(...arbitraries, check), {
      seed,
      numRuns: runsOf(runs),
      endOnFailure: false,
    });
  });
}

const EDGES = [
  0,
  -0,
  1,
  -1,
  31,
  32,
  -32,
  -33,
  127,
  128,
  -128,
  -129,
  255,
  256,
  32767,
  32768,
  -32768,
  -32769,
  65535,
  65536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  -(2 ** 31) - 1,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53 - 1,
  -(2 ** 53) + 1,
  2 ** 53,
  1e21,
  NaN,
  Infinity,
  -Infinity,
  0.1,
  0.5,
  Number.MIN_VALUE,
  Number.MAX_VALUE,
  Math.fround(0.1),
];
const numbers = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.float(),
);
const bigints = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.constantFrom(2n ** 53n, -(2n ** 53n), 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)),
);
const strings = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ maxLength: 40 }),
  fc.tuple(fc.string({ maxLength: 3 }), fc.nat(1100)).map(([s, n]) => s.repeat(n).slice(0, 3000)),
);
const damaged = fc
  .array(fc.constantFrom('\ud83d', '\ude00', 'a', 'é', '漢', '😀', ''))
  .map((parts) => parts.join(''));
const keys = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    '',
    '0',
    '1',
    '19',
    '01',
    '-1',
    'a',
    'b',
    'id',
    'name',
  ),
);
const dates = fc.oneof(
  fc.date({ noInvalidDate: true }),
  fc
    .constantFrom(
      0,
      -1,
      1,
      999,
      -999,
      -1000,
      2 ** 32 * 1000,
      2 ** 34 * 1000,
      2 ** 34 * 1000 - 1,
      8.64e15,
      -8.64e15,
    )
    .map((ms) => new Date(ms)),
);
const buffers = fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.nat(20)).map(([data, offset]) => {
  const backing = Buffer.alloc(data.length + offset + 3, 0xaa);
  backing.set(data, offset);
  return backing.subarray(offset, offset + data.length);
});
const exts = fc
  .tuple(fc.integer({ min: 0, max: 127 }), buffers)
  .map(([type, data]) => new Ext(type, Buffer.from(data)));

/** An object of these entries as own properties, `__proto__` too, in insertion order. */
function objectOf(entries) {
  const result = {};
  for (const [key, value] of entries) {
    Object.defineProperty(result, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return result;
}

const { faithful } = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom(null, true, false),
    numbers,
    strings,
    bigints.map(safe),
    dates,
    buffers.map((b) => Buffer.from(b)),
    exts,
  ),
  faithful: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    tie('array'),
    tie('object'),
    tie('records'),
  ),
  array: fc.oneof(
    fc.array(tie('faithful'), { maxLength: 20 }),
    fc.array(numbers, { maxLength: 40 }),
    fc.array(strings, { maxLength: 20 }),
  ),
  object: fc.array(fc.tuple(keys, tie('faithful')), { maxLength: 20 }).map(objectOf),
  records: fc
    .tuple(
      fc.uniqueArray(keys, { maxLength: 6 }),
      fc.array(fc.array(tie('leaf'), { minLength: 6, maxLength: 6 }), { maxLength: 8 }),
    )
    .map(([names, rows]) => rows.map((row) => objectOf(names.map((name, i) => [name, row[i]])))),
}));

const { anything } = fc.letrec((tie) => ({
  leaf: fc
    .oneof(
      numbers,
      damaged,
      strings,
      bigints,
      dates,
      buffers,
      exts,
      fc.constantFrom(null, true, undefined, () => 1, Symbol('s'), new Date(NaN)),
      fc.constantFrom(
        new Float64Array([1, 2]),
        new ArrayBuffer(3),
        new DataView(new ArrayBuffer(5), 1, 2),
        new String('é'),
        new Number(-0),
        new Boolean(false),
        Object(5n),
        /re/g,
        new TypeError('te'),
      ),
    )
    .filter((value) => !(value instanceof Ext)),
  anything: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    tie('array'),
    tie('object'),
    tie('bare'),
    tie('map'),
    tie('set'),
    tie('json'),
  ),
  array: fc.array(tie('anything'), { maxLength: 20 }),
  object: fc
    .array(fc.tuple(fc.oneof(keys, damaged), tie('anything')), { maxLength: 20 })
    .map(objectOf),
  bare: fc
    .array(fc.tuple(keys, tie('anything')), { maxLength: 5 })
    .map((entries) => Object.setPrototypeOf(objectOf(entries), null)),
  map: fc
    .array(fc.tuple(tie('anything'), tie('anything')), { maxLength: 6 })
    .map((entries) => new Map(entries)),
  set: fc.array(tie('anything'), { maxLength: 6 }).map((items) => new Set(items)),
  json: tie('leaf').map((value) => ({ hidden: 1, toJSON: () => value })),
}));

function safe(value) {
  return value >= -(2n ** 53n) + 1n && value <= 2n ** 53n - 1n ? value + 2n ** 55n : value;
}

/** A stand-in for lone surrogates: what a string becomes on the wire. */
const wellFormed = (value) => (typeof value === 'string' ? value.toWellFormed() : value);

function expected(value) {
  if (typeof value === 'string') return wellFormed(value);
  if (Array.isArray(value)) return value.map(expected);
  if (
    value !== null &&
    typeof value === 'object' &&
    Object.getPrototypeOf(value) === Object.prototype
  ) {
    return objectOf(Object.entries(value).map(([key, item]) => [wellFormed(key), expected(item)]));
  }
  return value;
}

property(
  'round trip: what is packed comes back, and packs to the same bytes',
  1500,
  [faithful],
  (value) => {
    const wire = pack(value);
    const back = unpack(wire);
    assert.deepStrictEqual(back, expected(value));
    sameBytes(pack(back), wire);
    assert.deepStrictEqual(unpack(wire), back);
  },
);

property('bytes: exactly those of the reference encoder', 2500, [anything], (value) => {
  const reference = refPack(value);
  if (typeof value === 'function' || typeof value === 'symbol') return;
  if (value !== null && typeof value === 'object' && typeof value.toJSON === 'function') {
    const json = value.toJSON();
    if (typeof json === 'function' || typeof json === 'symbol') return;
  }
  sameBytes(pack(value), reference);
  sameBytes(pack(value, { undefinedAs: 'nil' }), refPack(value, { undefinedAs: 'nil' }));
  sameBytes(pack(value, { float32: true }), refPack(value, { float32: true }));
  const target = Buffer.alloc(reference.length + 9, 0xaa);
  assert.equal(packInto(value, target, 4), reference.length + 4);
  sameBytes(target.subarray(4, -5), reference);
  assert.equal(hex(target.subarray(0, 4)) + hex(target.subarray(-5)), 'aa'.repeat(9));
});

property('sparse arrays: holes are nil', 300, [fc.sparseArray(numbers)], (list) => {
  sameBytes(pack(list), refPack(list));
});

property(
  'several messages: unpackMultiple and unpackFrom agree with unpack',
  300,
  [fc.array(faithful, { maxLength: 6 })],
  (list) => {
    const parts = list.map((value) => pack(value));
    const wire = Buffer.concat(parts);
    assert.deepStrictEqual(unpackMultiple(wire), list.map(expected));
    let at = 0;
    for (const part of parts) {
      const { value, end } = unpackFrom(wire, at);
      assert.equal(end, at + part.length);
      sameBytes(pack(value), part);
      at = end;
    }
  },
);

property(
  'timestamps: every second and nanosecond comes back',
  500,
  [fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.integer({ min: 0, max: 999_999_999 })],
  (seconds, nanoseconds) => {
    for (const at of [seconds, seconds >> 20n, seconds >> 29n, seconds >> 33n]) {
      const back = unpack(pack(new Timestamp(at, nanoseconds)), { timestamps: 'timestamp' });
      assert.equal(back.seconds, at);
      assert.equal(back.nanoseconds, nanoseconds);
    }
  },
);

const make = (type, data) => new Ext(type, data);

/** The decoder and the reference agree: the same value, or an error the message really has. */
function agree(input) {
  let reference;
  try {
    reference = { value: refUnpack(input, make) };
  } catch (error) {
    if (error.code === undefined) throw error;
    reference = { error };
  }
  const result = attempt(() => unpack(input));
  if (reference.error === undefined) {
    assert.ok(result.error === undefined, `${hex(input)}: ${result.error?.message}`);
    assert.deepStrictEqual(result.value, reference.value, hex(input));
  } else {
    const { code, offset } = reference.error;
    assert.ok(result.error !== undefined, `${hex(input)} decoded, expected ${code}`);
    // A declared length past the end may be noticed before a fault further on.
    if (result.error.code !== 'ERR_MSGPACK_TRUNCATED') {
      assert.equal(result.error.code, code, hex(input));
      assert.equal(result.error.offset, offset, hex(input));
    }
    if (code === 'ERR_MSGPACK_TRUNCATED') assert.equal(result.error.code, code, hex(input));
  }
  for (const options of [
    { maps: 'map' },
    { utf8: 'fatal' },
    { utf8: 'raw' },
    { int64: 'bigint', timestamps: 'timestamp', copyBuffers: true },
  ]) {
    attempt(() => unpack(input, options));
  }
  attempt(() => unpackMultiple(input));
  attempt(() => unpackFrom(input));
}

const wireByte = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0x80, max: 0xdf }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 8 }) },
);

property(
  'random bytes: a value or a documented error, as the reference has it',
  3000,
  [fc.uint8Array({ maxLength: 60 })],
  (input) => {
    agree(Buffer.from(input));
    stillWorks();
  },
);

property('random markers: the same', 6000, [fc.array(wireByte, { maxLength: 40 })], (input) => {
  agree(Buffer.from(input));
});

property(
  'valid messages with bytes changed, cut, doubled or swapped',
  2500,
  [
    faithful,
    fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat(4)), {
      minLength: 1,
      maxLength: 3,
    }),
  ],
  (value, edits) => {
    let wire = pack(value);
    for (const [at, byte, how] of edits) {
      const i = wire.length === 0 ? 0 : at % wire.length;
      if (how === 0)
        wire = Buffer.concat([
          wire.subarray(0, i),
          bytes(byte.toString(16).padStart(2, '0')),
          wire.subarray(i),
        ]);
      else if (how === 1) wire = Buffer.concat([wire.subarray(0, i), wire.subarray(i + 1)]);
      else if (how === 2) wire = wire.subarray(0, i);
      else {
        wire = Buffer.from(wire);
        if (wire.length > 0) wire[i] = byte;
      }
    }
    agree(wire);
  },
);

property(
  'getters that throw at random places leave nothing behind',
  500,
  [faithful, fc.nat(30)],
  (value, when) => {
    let reads = 0;
    const boom = new Error('boom');
    const mined = (item) => {
      if (Array.isArray(item)) return item.map(mined);
      if (
        item !== null &&
        typeof item === 'object' &&
        Object.getPrototypeOf(item) === Object.prototype
      ) {
        const result = {};
        for (const [key, inner] of Object.entries(item)) {
          const held = mined(inner);
          Object.defineProperty(result, key, {
            get() {
              if (reads++ === when) throw boom;
              return held;
            },
            enumerable: true,
            configurable: true,
          });
        }
        return result;
      }
      return item;
    };
    try {
      sameBytes(pack(mined(value)), refPack2(value));
    } catch (error) {
      if (error !== boom) throw error;
    }
    sameBytes(pack(value), refPack2(value));
    stillWorks();
  },
);

/** The reference bytes of a value that may hold Ext. */
function refPack2(value) {
  return pack(unpack(pack(value)));
}

property(
  'maxDepth is the same both ways',
  300,
  [faithful, fc.integer({ min: 1, max: 6 })],
  (value, maxDepth) => {
    const wire = pack(value);
    const packed = attempt(() => pack(value, { maxDepth }));
    const unpacked = attempt(() => unpack(wire, { maxDepth }));
    assert.equal(packed.error?.code, unpacked.error?.code);
    if (packed.error !== undefined) checkError(packed.error, ['ERR_MSGPACK_DEPTH']);
  },
);
