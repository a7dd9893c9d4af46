// Option objects: unknown values are refused, absent ones mean the default, none leaks to the next.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, packInto, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, packs, stillWorks, unpacks } from './helpers.mjs';

const CALLS = {
  pack: (options) => pack({ a: 1 }, options),
  packInto: (options) => packInto({ a: 1 }, Buffer.alloc(20), 0, options),
  unpack: (options) => unpack(bytes('81a16101'), options),
  unpackMultiple: (options) => unpackMultiple(bytes('81a16101'), options),
  unpackFrom: (options) => unpackFrom(bytes('81a16101'), 0, options),
};

test('an option value that does not exist is refused, not ignored', () => {
  const wrong = {
    pack: [{ undefinedAs: 'null' }, { undefinedAs: 1 }],
    packInto: [{ undefinedAs: 'null' }],
    unpack: [{ int64: 'float' }, { utf8: 'strict' }, { maps: 'Map' }, { timestamps: 'Date' }],
    unpackMultiple: [{ int64: 'float' }],
    unpackFrom: [{ maps: 'record' }],
  };
  const depths = [-1, 1.5, NaN, 'x', {}, Infinity].map((maxDepth) => ({ maxDepth }));
  for (const [name, call] of Object.entries(CALLS)) {
    for (const options of [...wrong[name], ...depths.slice(0, 5)]) {
      assert.throws(() => call(options), Error, `${name} ${JSON.stringify(options)}`);
      stillWorks();
    }
  }
});

test('absent, empty and undefined options all mean the defaults', () => {
  const unset = {
    undefinedAs: undefined,
    float32: undefined,
    maxDepth: undefined,
    int64: undefined,
    utf8: undefined,
    copyBuffers: undefined,
    maps: undefined,
    timestamps: undefined,
  };
  for (const options of [undefined, {}, unset, Object.create(null), { other: 1 }]) {
    packs({ a: undefined, b: 0.5 }, '81a162cb3fe0000000000000', options);
    unpacks('82 a161 cf0000000000000001 a162 d6ff00000001', { a: 1, b: new Date(1000) }, options);
    for (const call of Object.values(CALLS)) assert.ok(call(options));
  }
});

test('options of one call say nothing about the next', () => {
  const wire = bytes('83 a161 cf0000000000000001 a162 d6ff00000001 a163 c40107');
  const odd = [
    { int64: 'bigint' },
    { maps: 'map' },
    { timestamps: 'timestamp' },
    { copyBuffers: true },
    { utf8: 'raw' },
    { int64: 'string', maps: 'map', timestamps: 'timestamp', utf8: 'fatal' },
  ];
  for (let i = 0; i < 120; i++) {
    unpack(wire, odd[i % odd.length]);
    const plain = unpack(wire);
    assert.deepStrictEqual(plain, { a: 1, b: new Date(1000), c: Buffer.from([7]) });
    assert.equal(plain.c.buffer, wire.buffer);
    pack({ a: undefined, b: 0.5 }, { undefinedAs: 'nil', float32: true });
    packs({ a: undefined, b: 0.5 }, '81a162cb3fe0000000000000');
  }
});

test('every pair of unpack options acts together', () => {
  const wire = bytes('92 81 a161 cf0000000000000001 d6ff00000001');
  for (let i = 0; i < 60; i++) {
    const both = unpack(wire, { maps: 'map', int64: 'bigint', timestamps: 'timestamp' });
    assert.deepStrictEqual(both[0], new Map([['a', 1n]]));
    assert.equal(both[1].seconds, 1n);
    assert.deepStrictEqual(unpack(wire, { int64: 'string' }), [{ a: '1' }, new Date(1000)]);
  }
});
