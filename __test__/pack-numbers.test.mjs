// Numbers and BigInts: the shortest form that is exact, every edge by its bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, unpack } from '../index.js';
import { hex, packs, throwsCode } from './helpers.mjs';
import { number } from './reference.mjs';

const INTEGERS = [
  [0n, '00'],
  [1n, '01'],
  [126n, '7e'],
  [127n, '7f'],
  [128n, 'cc80'],
  [254n, 'ccfe'],
  [255n, 'ccff'],
  [256n, 'cd0100'],
  [32767n, 'cd7fff'],
  [32768n, 'cd8000'],
  [65535n, 'cdffff'],
  [65536n, 'ce00010000'],
  [2n ** 28n - 1n, 'ce0fffffff'],
  [2n ** 28n, 'ce10000000'],
  [2n ** 30n - 1n, 'ce3fffffff'],
  [2n ** 30n, 'ce40000000'],
  [2n ** 31n - 1n, 'ce7fffffff'],
  [2n ** 31n, 'ce80000000'],
  [2n ** 32n - 1n, 'ceffffffff'],
  [2n ** 32n, 'cf0000000100000000'],
  [298080447363n, 'cf0000004566faab83'],
  [2n ** 53n - 1n, 'cf001fffffffffffff'],
  [-1n, 'ff'],
  [-31n, 'e1'],
  [-32n, 'e0'],
  [-33n, 'd0df'],
  [-127n, 'd081'],
  [-128n, 'd080'],
  [-129n, 'd1ff7f'],
  [-32767n, 'd18001'],
  [-32768n, 'd18000'],
  [-32769n, 'd2ffff7fff'],
  [-214748365n, 'd2f3333333'],
  [-300000000n, 'd2ee1e5d00'],
  [-(2n ** 27n), 'd2f8000000'],
  [-(2n ** 27n) - 1n, 'd2f7ffffff'],
  [-(2n ** 28n), 'd2f0000000'],
  [-(2n ** 30n) - 1n, 'd2bfffffff'],
  [-(2n ** 31n), 'd280000000'],
  [-(2n ** 31n) - 1n, 'd3ffffffff7fffffff'],
  [-(2n ** 32n), 'd3ffffffff00000000'],
  [-(2n ** 53n) + 1n, 'd3ffe0000000000001'],
];

test('every integer edge, as a Number', () => {
  for (const [value, expected] of INTEGERS) packs(Number(value), expected);
});

test('every integer edge, as a BigInt', () => {
  for (const [value, expected] of INTEGERS) packs(value, expected);
});

test('BigInts past 2^53 up to both ends of 64 bits', () => {
  packs(2n ** 53n - 1n, 'cf001fffffffffffff');
  packs(2n ** 53n, 'd30020000000000000');
  packs(2n ** 53n + 1n, 'd30020000000000001');
  packs(2n ** 63n - 1n, 'd37fffffffffffffff');
  packs(2n ** 63n, 'cf8000000000000000');
  packs(2n ** 64n - 1n, 'cfffffffffffffffff');
  packs(-(2n ** 53n), 'd3ffe0000000000000');
  packs(-(2n ** 53n) - 1n, 'd3ffdfffffffffffff');
  packs(-(2n ** 63n) + 1n, 'd38000000000000001');
  packs(-(2n ** 63n), 'd38000000000000000');
});

test('a BigInt outside 64 bits is ERR_MSGPACK_OUT_OF_RANGE with its path', () => {
  for (const value of [2n ** 64n, -(2n ** 63n) - 1n, 2n ** 65n, -(2n ** 64n), 2n ** 1024n]) {
    throwsCode(() => pack(value), 'ERR_MSGPACK_OUT_OF_RANGE', { path: '$' });
    throwsCode(() => pack({ a: [1, value] }), 'ERR_MSGPACK_OUT_OF_RANGE', { path: '$.a[1]' });
    throwsCode(() => pack(new Map([['k', value]])), 'ERR_MSGPACK_OUT_OF_RANGE');
  }
});

test('a Number past 2^53-1 is float 64, as are fractions, -0 and the rest', () => {
  packs(2 ** 53, 'cb4340000000000000');
  packs(-(2 ** 53), 'cbc340000000000000');
  packs(2 ** 63, 'cb43e0000000000000');
  packs(2 ** 64, 'cb43f0000000000000');
  packs(1e20, 'cb4415af1d78b58c40');
  packs(1e21, 'cb444b1ae4d6e2ef50');
  packs(-1e19, number(-1e19));
  packs(Number.MAX_VALUE, 'cb7fefffffffffffff');
  packs(Number.MIN_VALUE, 'cb0000000000000001');
  packs(0.5, 'cb3fe0000000000000');
  packs(0.1, 'cb3fb999999999999a');
  packs(-0.1, 'cbbfb999999999999a');
  packs(3.14, 'cb40091eb851eb851f');
  packs(-0, 'cb8000000000000000');
  packs(NaN, 'cb7ff8000000000000');
  packs(Infinity, 'cb7ff0000000000000');
  packs(-Infinity, 'cbfff0000000000000');
  packs(2 ** 31 + 0.5, number(2 ** 31 + 0.5));
  packs(-(2 ** 31) - 0.5, number(-(2 ** 31) - 0.5));
});

test('1.0 and a sum that is whole are integers', () => {
  packs(1.0, '01');
  packs(0.5 + 0.5, '01');
  packs([1.5, 2.5 - 0.5], '92 cb3ff8000000000000 02');
});

test('float32: float 32 exactly where nothing is lost', () => {
  const float32 = { float32: true };
  packs(0.5, 'ca3f000000', float32);
  packs(-0.5, 'cabf000000', float32);
  packs(0.1, 'cb3fb999999999999a', float32);
  packs(Math.fround(0.1), 'ca3dcccccd', float32);
  packs(NaN, 'ca7fc00000', float32);
  packs(Infinity, 'ca7f800000', float32);
  packs(-Infinity, 'caff800000', float32);
  packs(-0, 'ca80000000', float32);
  packs(2 ** -149, 'ca00000001', float32);
  packs(2 ** -150, 'cb3690000000000000', float32);
  packs(2 ** -126, 'ca00800000', float32);
  packs(2 ** -126 - 2 ** -149, 'ca007fffff', float32);
  packs(3.4028234663852886e38, 'ca7f7fffff', float32);
  packs(3.4028235677973366e38, number(3.4028235677973366e38), float32);
  packs(16777217.5, number(16777217.5), float32);
  packs(Number.MAX_VALUE, 'cb7fefffffffffffff', float32);
  packs(Number.MIN_VALUE, 'cb0000000000000001', float32);
  packs(2 ** 53, 'ca5a000000', float32);
  packs(2 ** 64, 'ca5f800000', float32);
});

test('float32 leaves integers alone, in every place a number can stand', () => {
  const float32 = { float32: true };
  packs(1, '01', float32);
  packs(-(2 ** 53) + 1, 'd3ffe0000000000001', float32);
  packs([0.5, 1, 0.1], '93 ca3f000000 01 cb3fb999999999999a', float32);
  packs({ a: 0.5, b: 0.1 }, '82 a161 ca3f000000 a162 cb3fb999999999999a', float32);
  packs(new Map([[0.5, -0]]), '81 ca3f000000 ca80000000', float32);
  packs([0.5, 0.25], '92 ca3f000000 ca3e800000', float32);
  packs([0.5, 0.25], '92 cb3fe0000000000000 cb3fd0000000000000', { float32: false });
});

test('float32 of one call says nothing about the next', () => {
  for (let i = 0; i < 60; i++) {
    packs([0.5], i % 2 ? '91 ca3f000000' : '91 cb3fe0000000000000', { float32: i % 2 === 1 });
    packs({ x: 0.5 }, '81 a178 cb3fe0000000000000');
  }
});

test('every power of two and its neighbours, both signs', () => {
  for (let exponent = 0; exponent <= 70; exponent++) {
    for (const delta of [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]) {
      for (const sign of [1, -1]) {
        const value = sign * (2 ** exponent + delta);
        packs(value, number(value), undefined, `${value}`);
        packs([value], `91${hex(number(value))}`, undefined, `[${value}]`);
        packs({ v: value }, `81a176${hex(number(value))}`, undefined, `{v:${value}}`);
        packs(value, number(value, { float32: true }), { float32: true }, `float32 ${value}`);
      }
    }
  }
});

test('arrays of numbers keep each number its own form', () => {
  const edges = INTEGERS.map(([value]) => Number(value));
  const mixes = [
    edges,
    edges.map((n) => n + 0.5),
    [...edges, 0.5],
    [0.5, ...edges],
    [-0, 0, -0, 0],
    [1, 2, -0],
    [0.5, NaN, Infinity, -Infinity, -0, 1],
    [1, 2, 3n, 4],
    [1, 2.5, '3', null, true],
  ];
  for (const mix of mixes) {
    const expected = mix.map((n) => {
      if (typeof n === 'number') return hex(number(n));
      if (typeof n === 'bigint') return hex(number(Number(n)));
      return { 3: 'a133', null: 'c0', true: 'c3' }[String(n)];
    });
    const head =
      mix.length < 16 ? (0x90 + mix.length).toString(16) : `dc00${mix.length.toString(16)}`;
    packs(mix, head + expected.join(''));
  }
});

test('unpacking gives the same number back, -0 and NaN included', () => {
  for (const value of [
    -0,
    0,
    NaN,
    Infinity,
    0.1,
    1e21,
    2 ** 53,
    2 ** 53 - 1,
    2 ** 32,
    -(2 ** 31),
  ]) {
    assert.ok(Object.is(unpack(pack(value)), value), `${value}`);
    assert.ok(Object.is(unpack(pack([value]))[0], value), `[${value}]`);
  }
});
