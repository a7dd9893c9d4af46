// Errors: class, name, code, offset and path of each, and that no call is worse for the one before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MsgpackError, pack, packInto, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { attempt, bytes, CODES, packs, stillWorks, throwsCode, unpacks } from './helpers.mjs';

const DECODING = [
  ['', 'TRUNCATED'],
  ['91', 'TRUNCATED'],
  ['a561', 'TRUNCATED'],
  ['ddffffffff', 'TRUNCATED'],
  ['0102', 'EXTRA_BYTES', 1],
  ['80c0', 'EXTRA_BYTES', 1],
  ['92010203', 'EXTRA_BYTES', 3],
  ['a161a162', 'EXTRA_BYTES', 2],
  ['c1', 'INVALID_BYTE', 0],
  ['9201c1', 'INVALID_BYTE', 2],
  ['81a161c1', 'INVALID_BYTE', 3],
  ['81c001', 'KEY', 1],
  ['9281a16101 81c301', 'KEY', 6],
  ['d4ff00', 'TIMESTAMP', 0],
  ['92c0d4ff00', 'TIMESTAMP', 2],
  ['91^1001 c0', 'DEPTH', 1000],
  ['81a161^1001 c0', 'DEPTH', 3000],
];

const cycle = {};
cycle.self = cycle;
const ring = [];
ring.push({ ring });
const boom = new Error('boom');
const throwing = () => {
  throw boom;
};

const ENCODING = [
  [() => 1, 'UNSUPPORTED_TYPE', '$'],
  [Symbol('s'), 'UNSUPPORTED_TYPE', '$'],
  [2n ** 64n, 'OUT_OF_RANGE', '$'],
  [{ a: 2n ** 64n }, 'OUT_OF_RANGE', '$.a'],
  [{ users: [{}, {}, {}, { name: 2n ** 64n }] }, 'OUT_OF_RANGE', '$.users[3].name'],
  [[[0, [2n ** 64n]]], 'OUT_OF_RANGE', '$[0][1][0]'],
  [{ 'a b': 2n ** 64n }, 'OUT_OF_RANGE', '$["a b"]'],
  [{ '': 2n ** 64n }, 'OUT_OF_RANGE', '$[""]'],
  [{ 'say "hi"': { x: 2n ** 64n } }, 'OUT_OF_RANGE', '$["say \\"hi\\""].x'],
  [{ 'a.b': [2n ** 64n] }, 'OUT_OF_RANGE', '$["a.b"][0]'],
  [{ $id: 2n ** 64n }, 'OUT_OF_RANGE', '$.$id'],
  [{ _x1: 2n ** 64n }, 'OUT_OF_RANGE', '$._x1'],
  [{ a: { toJSON: () => ({ b: 2n ** 64n }) } }, 'OUT_OF_RANGE', '$.a.b'],
  [{ a: new Set([1, 2n ** 64n]) }, 'OUT_OF_RANGE', '$.a[1]'],
  [cycle, 'DEPTH', `$${'.self'.repeat(1000)}`],
  [ring, 'DEPTH', `$${'[0].ring'.repeat(500)}`],
];

test('MsgpackError is an Error class of its own', () => {
  assert.equal(typeof MsgpackError, 'function');
  assert.equal(MsgpackError.name, 'MsgpackError');
  assert.ok(MsgpackError.prototype instanceof Error);
  const error = throwsCode(() => unpack(bytes('c1')), 'ERR_MSGPACK_INVALID_BYTE');
  assert.equal(error.constructor, MsgpackError);
  assert.ok(Object.prototype.toString.call(error) === '[object Error]');
  assert.match(error.stack, /errors\.test/);
  assert.match(String(error), /^MsgpackError/);
});

for (const [wire, name, offset] of DECODING) {
  test(`unpack of ${wire || 'nothing'} is ${name}`, () => {
    const props = offset === undefined ? {} : { offset };
    const input = bytes(wire);
    const error = throwsCode(() => unpack(input), `ERR_MSGPACK_${name}`, props);
    assert.ok(Number.isInteger(error.offset) && error.offset >= 0 && error.offset <= input.length);
    assert.equal(error.path, undefined);
    const backing = Buffer.concat([Buffer.alloc(7, 0xc1), input, Buffer.alloc(3)]);
    const view = backing.subarray(7, 7 + input.length);
    throwsCode(() => unpack(view), `ERR_MSGPACK_${name}`, { offset: error.offset });
    stillWorks();
  });
}

test('pack errors have the path of the value, and no offset', () => {
  for (const [value, name, path] of ENCODING) {
    const error = throwsCode(() => pack(value), `ERR_MSGPACK_${name}`, { path });
    assert.equal(error.offset, undefined);
    throwsCode(() => packInto(value, Buffer.alloc(100_000)), `ERR_MSGPACK_${name}`, { path });
    stillWorks();
  }
});

test('paths are right after a shape has been learnt too', () => {
  const make = (bad) => ({
    users: [
      { name: 'a', id: 1 },
      { name: 'b', id: bad },
    ],
    'odd key': { z: bad },
  });
  for (let i = 0; i < 80; i++) {
    packs(make(1), pack(make(1)));
    throwsCode(() => pack(make(2n ** 64n)), 'ERR_MSGPACK_OUT_OF_RANGE', { path: '$.users[1].id' });
    throwsCode(() => pack({ users: [], 'odd key': { z: 2n ** 64n } }), 'ERR_MSGPACK_OUT_OF_RANGE', {
      path: '$["odd key"].z',
    });
  }
});

test('an index-like key and an array index are told apart or at least both named', () => {
  const error = throwsCode(() => pack({ 19: 2n ** 64n }), 'ERR_MSGPACK_OUT_OF_RANGE');
  assert.match(error.path, /^\$(\[19\]|\["19"\])$/);
});

test("a Map's value and key have a path that starts where the Map is", () => {
  const bad = { m: new Map([['k', { x: 2n ** 64n }]]) };
  assert.match(throwsCode(() => pack(bad), 'ERR_MSGPACK_OUT_OF_RANGE').path, /^\$\.m/);
  const badKey = { m: new Map([[2n ** 64n, 1]]) };
  assert.match(throwsCode(() => pack(badKey), 'ERR_MSGPACK_OUT_OF_RANGE').path, /^\$\.m/);
});

test('a very long path does not itself fail', () => {
  let value = 2n ** 64n;
  for (let i = 0; i < 900; i++) value = { [`key number ${i} \u{1f600}`]: value };
  assert.match(
    throwsCode(() => pack(value), 'ERR_MSGPACK_OUT_OF_RANGE').path,
    /^\$\["key number 899/,
  );
});

test("an error thrown by the value's own code comes through as it is", () => {
  const values = [
    {
      get a() {
        return throwing();
      },
    },
    {
      x: 1,
      get a() {
        return throwing();
      },
    },
    [
      {
        get a() {
          return throwing();
        },
      },
    ],
    { toJSON: throwing },
    new Proxy({ a: 1 }, { ownKeys: throwing }),
    new Proxy({ a: 1 }, { get: throwing }),
    new Proxy([1], { get: throwing }),
    new Proxy({}, { getPrototypeOf: throwing, ownKeys: throwing }),
    {
      big: 'x'.repeat(5000),
      buffer: Buffer.alloc(5000),
      get a() {
        return throwing();
      },
    },
    new Map([
      [
        {
          get a() {
            return throwing();
          },
        },
        1,
      ],
    ]),
    new Map([[1, { toJSON: throwing }]]),
    new Set([{ toJSON: throwing }]),
  ];
  for (let round = 0; round < 30; round++) {
    for (const value of values) {
      assert.throws(
        () => pack(value),
        (error) => error === boom,
      );
      assert.throws(
        () => pack([1, { v: value }]),
        (error) => error === boom,
      );
      stillWorks();
    }
  }
});

test('values that are not errors can be thrown through as well', () => {
  for (const thrown of [0, null, undefined, 'text', { code: 'ERR_MSGPACK_KEY' }]) {
    let caught = 'nothing';
    try {
      pack({
        get a() {
          throw thrown;
        },
      });
    } catch (error) {
      caught = error;
    }
    assert.equal(caught, thrown);
    stillWorks();
  }
});

test('all failing calls in rotation, with good calls between', () => {
  for (let round = 0; round < 20; round++) {
    for (const [wire, name] of DECODING) {
      throwsCode(() => unpack(bytes(wire)), `ERR_MSGPACK_${name}`);
      unpacks('82a16101a162c0', { a: 1, b: null });
      const [value, encodingName] = ENCODING[(round + wire.length) % ENCODING.length];
      throwsCode(() => pack(value), `ERR_MSGPACK_${encodingName}`);
      packs({ a: 1, c: 2 }, '82a16101a16302');
      throwsCode(() => unpackFrom(bytes('c1')), 'ERR_MSGPACK_INVALID_BYTE');
      throwsCode(() => unpackMultiple(bytes('01c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
    }
    stillWorks();
  }
});

test('a failed pack leaves no trace of its keys, strings or buffers', () => {
  for (let i = 0; i < 60; i++) {
    assert.throws(() =>
      pack({
        a: 1,
        secret: 'left behind',
        d: Buffer.alloc(9),
        get b() {
          return throwing();
        },
      }),
    );
    packs({ a: 1, c: 2 }, '82a16101a16302');
    assert.throws(() => pack(['\ud83d', { toJSON: throwing }]));
    packs('\ude00', 'a3efbfbd');
  }
});

test('a failed unpack leaves no trace', () => {
  for (let i = 0; i < 60; i++) {
    throwsCode(() => unpack(bytes('81a161')), 'ERR_MSGPACK_TRUNCATED');
    unpacks('9101', [1]);
    throwsCode(() => unpack(bytes('92a4746578748301')), 'ERR_MSGPACK_TRUNCATED');
    unpacks('a474657874', 'text');
  }
});

test('every code is documented and spelt alike', () => {
  for (const code of CODES) assert.match(code, /^ERR_MSGPACK_[A-Z0-9_]+$/);
  const seen = new Set();
  for (const [wire] of DECODING) seen.add(attempt(() => unpack(bytes(wire))).error.code);
  for (const [value] of ENCODING) seen.add(attempt(() => pack(value)).error.code);
  seen.add(attempt(() => unpack(5)).error.code);
  seen.add(attempt(() => unpack(bytes('a1ff'), { utf8: 'fatal' })).error.code);
  seen.add(attempt(() => packInto([1, 2], Buffer.alloc(1))).error.code);
  assert.deepEqual([...seen].sort(), CODES.filter((code) => !code.endsWith('TOO_LARGE')).sort());
});
