// Every first byte, every integer and float form, int64 modes, arrays of every kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, unpack } from '../index.js';
import { bytes, hex, sameBytes, stillWorks, throwsCode, unpacks } from './helpers.mjs';
import { arrayHeader, float32, float64, int, refUnpack, str } from './reference.mjs';
import { pack } from '../index.js';

test('every first byte, followed by enough zeros, is what the format table says', () => {
  for (let first = 0; first <= 0xff; first++) {
    const input = Buffer.concat([Buffer.from([first]), Buffer.alloc(40)]);
    let expected;
    if (first <= 0x7f) expected = { size: 1, value: first };
    else if (first <= 0x8f) {
      const n = first & 15;
      expected = { size: 1 + 2 * n, value: n ? { 0: 0 } : {} };
    } else if (first <= 0x9f) {
      expected = { size: 1 + (first & 15), value: Array(first & 15).fill(0) };
    } else if (first <= 0xbf) {
      expected = { size: 1 + (first & 31), value: '\0'.repeat(first & 31) };
    } else if (first >= 0xe0) expected = { size: 1, value: first - 256 };
    else {
      expected = {
        192: { size: 1, value: null },
        193: null,
        194: { size: 1, value: false },
        195: { size: 1, value: true },
        196: { size: 2, value: Buffer.alloc(0) },
        197: { size: 3, value: Buffer.alloc(0) },
        198: { size: 5, value: Buffer.alloc(0) },
        199: { size: 3, value: new Ext(0, Buffer.alloc(0)) },
        200: { size: 4, value: new Ext(0, Buffer.alloc(0)) },
        201: { size: 6, value: new Ext(0, Buffer.alloc(0)) },
        202: { size: 5, value: 0 },
        203: { size: 9, value: 0 },
        204: { size: 2, value: 0 },
        205: { size: 3, value: 0 },
        206: { size: 5, value: 0 },
        207: { size: 9, value: 0 },
        208: { size: 2, value: 0 },
        209: { size: 3, value: 0 },
        210: { size: 5, value: 0 },
        211: { size: 9, value: 0 },
        212: { size: 3, value: new Ext(0, Buffer.alloc(1)) },
        213: { size: 4, value: new Ext(0, Buffer.alloc(2)) },
        214: { size: 6, value: new Ext(0, Buffer.alloc(4)) },
        215: { size: 10, value: new Ext(0, Buffer.alloc(8)) },
        216: { size: 18, value: new Ext(0, Buffer.alloc(16)) },
        217: { size: 2, value: '' },
        218: { size: 3, value: '' },
        219: { size: 5, value: '' },
        220: { size: 3, value: [] },
        221: { size: 5, value: [] },
        222: { size: 3, value: {} },
        223: { size: 5, value: {} },
      }[first];
    }
    const name = first.toString(16);
    if (expected === null) {
      throwsCode(() => unpack(input), 'ERR_MSGPACK_INVALID_BYTE', { offset: 0 });
      continue;
    }
    const whole = input.subarray(0, expected.size);
    unpacks(whole, expected.value, undefined, name);
    throwsCode(() => unpack(input), 'ERR_MSGPACK_EXTRA_BYTES', { offset: expected.size });
    for (let size = 0; size < expected.size; size++) {
      throwsCode(() => unpack(input.subarray(0, size)), 'ERR_MSGPACK_TRUNCATED');
    }
  }
});

test('0xc1 is refused wherever a value can stand', () => {
  throwsCode(() => unpack(bytes('c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 0 });
  throwsCode(() => unpack(bytes('91c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
  throwsCode(() => unpack(bytes('9301c103')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 2 });
  throwsCode(() => unpack(bytes('81c101')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
  throwsCode(() => unpack(bytes('81a161c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 3 });
  throwsCode(() => unpack(bytes('81a16192a162c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 6 });
  unpacks('a1c1', '\ufffd');
  unpacks('c401c1', Buffer.from([0xc1]));
  stillWorks();
});

test('integers of every width, minimal or not', () => {
  for (const wire of [
    '01',
    'cc01',
    'cd0001',
    'ce00000001',
    'cf0000000000000001',
    'd001',
    'd10001',
    'd200000001',
    'd30000000000000001',
  ]) {
    unpacks(wire, 1, undefined, wire);
    unpacks(`92${wire}${wire}`, [1, 1], undefined, wire);
    unpacks(`81a161${wire}`, { a: 1 }, undefined, wire);
  }
  for (const wire of ['ff', 'd0ff', 'd1ffff', 'd2ffffffff', 'd3ffffffffffffffff']) {
    unpacks(wire, -1, undefined, wire);
    unpacks(`91${wire}`, [-1], undefined, wire);
  }
  unpacks('cc80', 128);
  unpacks('d080', -128);
  unpacks('ccff', 255);
  unpacks('cdffff', 65535);
  unpacks('d18000', -32768);
  unpacks('ce7fffffff', 2 ** 31 - 1);
  unpacks('ce80000000', 2 ** 31);
  unpacks('ceffffffff', 2 ** 32 - 1);
  unpacks('d280000000', -(2 ** 31));
  unpacks('d27fffffff', 2 ** 31 - 1);
});

test('64-bit integers: a number where safe, else a BigInt, by default', () => {
  unpacks('cf0000018b157cf31b', 0x18b157cf31b);
  unpacks('cf0000000100000000', 2 ** 32);
  unpacks('cf001fffffffffffff', Number.MAX_SAFE_INTEGER);
  unpacks('cf0020000000000000', 2n ** 53n);
  unpacks('cf0020000000000001', 9007199254740993n);
  unpacks('cf7fffffffffffffff', 2n ** 63n - 1n);
  unpacks('cf8000000000000000', 2n ** 63n);
  unpacks('cfffffffffffffffff', 2n ** 64n - 1n);
  unpacks('d3001fffffffffffff', Number.MAX_SAFE_INTEGER);
  unpacks('d30020000000000000', 2n ** 53n);
  unpacks('d3ffe0000000000001', Number.MIN_SAFE_INTEGER);
  unpacks('d3ffe0000000000000', -(2n ** 53n));
  unpacks('d3ffdfffffffffffff', -(2n ** 53n) - 1n);
  unpacks('d38000000000000000', -(2n ** 63n));
  unpacks('d37fffffffffffffff', 2n ** 63n - 1n);
  unpacks('d3ffffffff7fffffff', -(2 ** 31) - 1);
});

test('int64 modes act on the 64-bit forms and on no other', () => {
  const rows = [
    ['cf0000000000000001', 1n],
    ['cf001fffffffffffff', 2n ** 53n - 1n],
    ['cf0020000000000001', 2n ** 53n + 1n],
    ['cfffffffffffffffff', 2n ** 64n - 1n],
    ['d3ffffffffffffffff', -1n],
    ['d30000000000000000', 0n],
    ['d3ffdfffffffffffff', -(2n ** 53n) - 1n],
    ['d38000000000000000', -(2n ** 63n)],
  ];
  for (const [wire, value] of rows) {
    for (const [mode, expected] of [
      ['bigint', value],
      ['number', Number(value)],
      ['string', String(value)],
    ]) {
      unpacks(wire, expected, { int64: mode }, `${wire} ${mode}`);
      unpacks(`92${wire}${wire}`, [expected, expected], { int64: mode });
      unpacks(`9301${wire}a161`, [1, expected, 'a'], { int64: mode });
      unpacks(`81a161${wire}`, { a: expected }, { int64: mode });
    }
  }
  for (const mode of ['auto', 'bigint', 'number', 'string']) {
    unpacks(
      '98 01 ff cc80 cdffff ceffffffff d080 d280000000 cb43f0000000000000',
      [1, -1, 128, 65535, 2 ** 32 - 1, -128, -(2 ** 31), 2 ** 64],
      { int64: mode },
    );
  }
});

test('floats', () => {
  unpacks('ca3dcccccd', 0.10000000149011612);
  unpacks('ca80000000', -0);
  unpacks('cb8000000000000000', -0);
  unpacks('ca00000000', 0);
  unpacks('ca7fa00000', NaN);
  unpacks('cb7ff0000000000001', NaN);
  unpacks('cbfff8000000000000', NaN);
  unpacks('cbffffffffffffffff', NaN);
  unpacks('ca7f800000', Infinity);
  unpacks('caff800000', -Infinity);
  unpacks('cb7fefffffffffffff', Number.MAX_VALUE);
  unpacks('cb0000000000000001', 5e-324);
  unpacks('ca00000001', 2 ** -149);
  unpacks('cb3ff0000000000000', 1);
  unpacks('cb43f0000000000000', 2 ** 64);
});

test('nil, booleans, empty containers', () => {
  unpacks('c0', null);
  unpacks('c2', false);
  unpacks('c3', true);
  unpacks('90', []);
  unpacks('80', {});
  unpacks('a0', '');
  unpacks('c400', Buffer.alloc(0));
});

test('non-minimal headers of every kind', () => {
  unpacks('d900', '');
  unpacks('da0000', '');
  unpacks('db00000000', '');
  unpacks('d90161', 'a');
  unpacks('da000161', 'a');
  unpacks('db0000000161', 'a');
  unpacks('c50001aa', Buffer.from([0xaa]));
  unpacks('c600000001aa', Buffer.from([0xaa]));
  unpacks('dc000101', [1]);
  unpacks('dd0000000101', [1]);
  unpacks('de0001a16101', { a: 1 });
  unpacks('df00000001a16101', { a: 1 });
  unpacks('c7010507', new Ext(5, Buffer.from([7])));
  unpacks('c800010507', new Ext(5, Buffer.from([7])));
  unpacks('c9000000010507', new Ext(5, Buffer.from([7])));
  unpacks('c704ff00000001', new Date(1000));
  unpacks('c80008ff0000000000000001', new Date(1000));
  unpacks('c90000000cff000000000000000000000001', new Date(1000));
  for (let i = 0; i < 80; i++) {
    unpacks('82 d90161 01 da000162 02', { a: 1, b: 2 });
    unpacks('82 a161 01 db0000000162 02', { a: 1, b: 2 });
    unpacks('de0002 db00000001 61 01 a162 02', { a: 1, b: 2 });
  }
});

const INTS = [
  0,
  1,
  127,
  128,
  255,
  65535,
  65536,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  -1,
  -33,
  -(2 ** 31),
];

/** A list of `length` values made by `make`, through the wire and the reference. */
function listOf(length, make) {
  const list = Array.from({ length }, (_, i) => make(i));
  const wire = [arrayHeader(length)];
  for (const item of list) {
    if (typeof item === 'string') wire.push(str(item));
    else if (item === null) wire.push(Buffer.from([0xc0]));
    else if (typeof item === 'object') wire.push(item.wire);
    else if (Number.isSafeInteger(item) && !Object.is(item, -0)) wire.push(int(item));
    else wire.push(float64(item));
  }
  return {
    wire: Buffer.concat(wire),
    list: list.map((v) => (v !== null && typeof v === 'object' ? v.value : v)),
  };
}

const KINDS = {
  'small ints': (i) => i % 100,
  'negative ints': (i) => -i,
  'ints of all widths': (i) => INTS[i % INTS.length],
  doubles: (i) => i + 0.5,
  'doubles with -0, NaN': (i) => [-0, NaN, Infinity, 1.5, 1e300][i % 5],
  'float 32': (i) => ({ wire: float32(i + 0.5), value: i + 0.5 }),
  'float 32 of whole numbers': (i) => ({ wire: float32(i), value: i }),
  'float 64 of whole numbers': (i) => ({ wire: float64(i), value: i }),
  'float 64 of -0 and 0': (i) => ({ wire: float64(i % 2 ? -0 : 0), value: i % 2 ? -0 : 0 }),
  'ints then a double': (i) => (i < 3 ? i : i + 0.5),
  'ints, one double last': (i) => (i % 10 === 9 ? 0.5 : i),
  'doubles then an int': (i) => (i < 3 ? i + 0.5 : i),
  'ints then a string': (i) => (i < 3 ? i : `s${i}`),
  'ints then nil': (i) => (i < 5 ? i : null),
  'doubles then a string': (i) => (i < 3 ? i + 0.5 : `s${i}`),
  'ints then uint64 past 2^53': (i) =>
    i < 4 ? i : { wire: bytes('cf0020000000000001'), value: 2n ** 53n + 1n },
  'doubles then uint64 past 2^53': (i) =>
    i < 4 ? i + 0.5 : { wire: bytes('cfffffffffffffffff'), value: 2n ** 64n - 1n },
  'safe 64-bit ints': (i) => ({
    wire: bytes(`cf00000000000000${((i % 128) + 128).toString(16)}`),
    value: (i % 128) + 128,
  }),
  strings: (i) => `string ${i}`,
  'wide strings': (i) => `é${i}`,
  'ASCII then wide': (i) => (i < 3 ? `a${i}` : `漢${i}`),
  'empty strings': () => '',
  nils: () => null,
  'nested arrays': (i) => ({ wire: bytes(i % 2 ? '920102' : '90'), value: i % 2 ? [1, 2] : [] }),
  'nested maps': (i) => ({ wire: bytes(i % 2 ? '81a16101' : '80'), value: i % 2 ? { a: 1 } : {} }),
  booleans: (i) => ({ wire: bytes(i % 2 ? 'c3' : 'c2'), value: i % 2 === 1 }),
};

for (const [name, make] of Object.entries(KINDS)) {
  test(`arrays of ${name}, lengths 0 to 40 and 1000, repeatedly`, () => {
    for (const length of [...Array.from({ length: 41 }, (_, i) => i), 255, 256, 1000]) {
      const { wire, list } = listOf(length, make);
      for (let i = 0; i < 3; i++) {
        const result = unpack(wire);
        assert.deepStrictEqual(result, list, `${length}`);
        assert.ok(Array.isArray(result) && result.length === length);
        for (let k = 0; k < length; k++) assert.ok(k in result, `no hole at ${k} of ${length}`);
      }
      assert.deepStrictEqual(unpack(Buffer.concat([bytes('81a161'), wire])), { a: list });
    }
  });
}

test('decoded arrays of every kind are ordinary arrays', () => {
  for (const make of Object.values(KINDS)) {
    for (const length of [0, 1, 2, 3, 4, 5, 20]) {
      const { wire } = listOf(length, make);
      const result = unpack(wire);
      const again = unpack(wire);
      result.push('x', undefined, 1.5, {});
      assert.equal(result.length, length + 4);
      if (length > 0) result[0] = 'changed';
      assert.deepStrictEqual(unpack(wire), again);
    }
  }
});

test('arrays of 65 535 and 65 536 and 100 000', () => {
  for (const length of [65535, 65536, 100_000]) {
    for (const make of [
      (i) => i,
      (i) => i + 0.5,
      (i) => `s${i}`,
      (i) => (i === length - 1 ? 'end' : i),
    ]) {
      const { wire, list } = listOf(length, make);
      assert.deepStrictEqual(unpack(wire), list);
    }
  }
});

test('what is decoded from packed values packs to the same bytes', () => {
  for (const make of Object.values(KINDS)) {
    const { wire } = listOf(17, make);
    const once = pack(unpack(wire));
    sameBytes(pack(unpack(once)), once, hex(wire));
  }
});

test('one byte of every value, and two bytes of most, agree with the reference', () => {
  const make = (type, data) => new Ext(type, data);
  for (let a = 0; a <= 0xff; a++) {
    for (let b = 0; b <= 0xff; b += a >= 0xc0 && a <= 0xdf ? 1 : 17) {
      const input = Buffer.from([a, b]);
      let expected;
      try {
        expected = refUnpack(input, make);
      } catch (error) {
        // A declared length past the end may be noticed before a fault further on.
        throwsCode(() => unpack(input), [error.code, 'ERR_MSGPACK_TRUNCATED']);
        continue;
      }
      unpacks(input, expected, undefined, hex(input));
    }
  }
});
