// Date, Timestamp and Ext: the shortest of the three timestamp forms, every ext length form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, Timestamp, unpack } from '../index.js';
import { packs, throwsCode } from './helpers.mjs';
import { date, ext, timestamp } from './reference.mjs';

const DATES = [
  [0, 'd6ff00000000'],
  [1, 'd7ff003d090000000000'],
  [1000, 'd6ff00000001'],
  [1e12, 'd6ff3b9aca00'],
  [1e12 + 123, 'd7ff1d5353003b9aca00'],
  [-1, 'c70cff3b8b87c0ffffffffffffffff'],
  [-1000, 'c70cff00000000ffffffffffffffff'],
  [-1500, 'c70cff1dcd6500fffffffffffffffe'],
  [4294967295000, 'd6ffffffffff'],
  [4294967296000, 'd7ff0000000100000000'],
  [17179869183000, 'd7ff00000003ffffffff'],
  [17179869184000, 'c70cff000000000000000400000000'],
  [Date.parse('2600-01-01T00:00:00Z'), 'c70cff0000000000000004a0fe7280'],
  [Date.parse('2600-01-01T00:00:00.005Z'), 'c70cff004c4b4000000004a0fe7280'],
  [8.64e15, 'c70cff00000000000007dba8218000'],
  [-8.64e15, 'c70cff00000000fffff82457de8000'],
];

test('dates at every edge, exact bytes', () => {
  for (const [ms, expected] of DATES) packs(new Date(ms), expected, undefined, `${ms}`);
});

test('dates round about every edge, both ways', () => {
  for (const [edge] of DATES) {
    for (const delta of [-1001, -1000, -999, -500, -1, 0, 1, 500, 999, 1000, 1001]) {
      const ms = edge + delta;
      if (Math.abs(ms) > 8.64e15) continue;
      const value = new Date(ms);
      packs(value, date(value), undefined, `${ms}`);
      assert.equal(unpack(pack(value)).getTime(), ms);
    }
  }
});

test('an invalid Date is nil wherever it stands', () => {
  packs(new Date(NaN), 'c0');
  packs([new Date(NaN)], '91c0');
  packs({ a: new Date(NaN), b: 1 }, '82a161c0a16201');
  packs(new Map([['a', new Date(NaN)]]), '81a161c0');
});

test('the toJSON and valueOf of a Date are not called', () => {
  const value = new Date(0);
  value.toJSON = () => assert.fail('toJSON of a Date was called');
  value.valueOf = () => assert.fail('valueOf of a Date was called');
  value.getTime = () => 5000;
  packs(value, 'd6ff00000000');
  class Day extends Date {
    toJSON() {
      return assert.fail('toJSON of a Date subclass was called');
    }
  }
  packs(new Day(0), 'd6ff00000000');
});

test('an object that only looks like a Date is an object', () => {
  packs({ [Symbol.toStringTag]: 'Date', getTime: 1 }, '81a767657454696d6501');
});

test('Timestamp: every form, exact bytes', () => {
  const rows = [
    [0n, 0, 'd6ff00000000'],
    [1n, 0, 'd6ff00000001'],
    [2n ** 32n - 1n, 0, 'd6ffffffffff'],
    [2n ** 32n, 0, 'd7ff0000000100000000'],
    [0n, 1, 'd7ff0000000400000000'],
    [0n, 999_999_999, 'd7ffee6b27fc00000000'],
    [2n ** 34n - 1n, 0, 'd7ff00000003ffffffff'],
    [2n ** 34n - 1n, 999_999_999, 'd7ffee6b27ffffffffff'],
    [2n ** 34n, 0, 'c70cff000000000000000400000000'],
    [2n ** 34n, 1, 'c70cff000000010000000400000000'],
    [-1n, 0, 'c70cff00000000ffffffffffffffff'],
    [-1n, 999_999_999, 'c70cff3b9ac9ffffffffffffffffff'],
    [2n ** 63n - 1n, 999_999_999, 'c70cff3b9ac9ff7fffffffffffffff'],
    [-(2n ** 63n), 0, 'c70cff000000008000000000000000'],
  ];
  for (const [seconds, nanoseconds, expected] of rows) {
    packs(new Timestamp(seconds, nanoseconds), expected);
    packs([new Timestamp(seconds, nanoseconds)], `91${expected}`);
    const back = unpack(pack(new Timestamp(seconds, nanoseconds)), { timestamps: 'timestamp' });
    assert.ok(back instanceof Timestamp);
    assert.equal(back.seconds, seconds);
    assert.equal(back.nanoseconds, nanoseconds);
    assert.equal(timestamp(seconds, nanoseconds).toString('hex'), expected);
  }
});

test('Timestamp refuses what has no form', () => {
  for (const [seconds, nanoseconds] of [
    [0n, 1_000_000_000],
    [0n, -1],
    [0n, 0.5],
    [0n, NaN],
    [2n ** 63n, 0],
    [-(2n ** 63n) - 1n, 0],
  ]) {
    assert.throws(() => pack(new Timestamp(seconds, nanoseconds)), `${seconds} ${nanoseconds}`);
  }
});

test('Ext: every length form, exact bytes', () => {
  const of = (length) => new Ext(5, Buffer.alloc(length, 7));
  packs(of(0), 'c70005');
  packs(of(1), 'd40507');
  packs(of(2), 'd505 07^2');
  packs(of(3), 'c70305 07^3');
  packs(of(4), 'd605 07^4');
  packs(of(5), 'c70505 07^5');
  packs(of(7), 'c70705 07^7');
  packs(of(8), 'd705 07^8');
  packs(of(9), 'c70905 07^9');
  packs(of(15), 'c70f05 07^15');
  packs(of(16), 'd805 07^16');
  packs(of(17), 'c71105 07^17');
  packs(of(31), 'c71f05 07^31');
  packs(of(32), 'c72005 07^32');
  packs(of(255), 'c7ff05 07^255');
  packs(of(256), 'c8010005 07^256');
  packs(of(65535), 'c8ffff05 07^65535');
  packs(of(65536), 'c90001000005 07^65536');
});

test('Ext: every type of the signed byte, both ways', () => {
  for (let type = -128; type <= 127; type++) {
    for (const length of [0, 1, 3, 16]) {
      if (type === -1) continue;
      const data = Buffer.alloc(length, type & 0xff);
      packs(new Ext(type, data), ext(type, data), undefined, `type ${type}`);
      const back = unpack(ext(type, data));
      assert.ok(back instanceof Ext);
      assert.equal(back.type, type);
      assert.ok(Buffer.isBuffer(back.data) && data.equals(back.data));
    }
  }
});

test('Ext of type -1 is that frame', () => {
  packs(new Ext(-1, Buffer.from([0, 0, 0, 1])), 'd6ff00000001');
});

test('Ext: data may be any bytes; the frame is exactly what is viewed', () => {
  packs(new Ext(1, Uint8Array.of(9, 1, 2, 9).subarray(1, 3)), 'd5010102');
  packs(
    [new Ext(1, Buffer.from([1])), { e: new Ext(2, Buffer.alloc(0)) }],
    '92 d40101 81a165c70002',
  );
});

test('Ext refuses a type that is not a signed byte, and data that is not bytes', () => {
  for (const type of [128, -129, 255, 1.5, NaN, '1', undefined, null, 1n]) {
    assert.throws(() => pack(new Ext(type, Buffer.alloc(1))), `type ${String(type)}`);
  }
  for (const data of ['text', 5, null, undefined, [1], {}]) {
    assert.throws(() => pack(new Ext(1, data)), `data ${String(data)}`);
  }
});

test('a detached Ext payload throws', () => {
  const data = new Uint8Array(4);
  const value = new Ext(1, data);
  structuredClone(data.buffer, { transfer: [data.buffer] });
  throwsCode(
    () => pack([value]),
    ['ERR_MSGPACK_INVALID_INPUT', 'ERR_MSGPACK_UNSUPPORTED_TYPE', 'ERR_MSGPACK_OUT_OF_RANGE'],
  );
});

test('Ext and Timestamp in objects, repeated so that a shape is learnt', () => {
  for (let i = 0; i < 60; i++) {
    packs(
      { e: new Ext(1, Buffer.from([i])), t: new Timestamp(1n, 0), d: new Date(i * 1000) },
      `83 a165 d401${i.toString(16).padStart(2, '0')} a174 d6ff00000001 a164 d6ff000000${i
        .toString(16)
        .padStart(2, '0')}`,
    );
  }
});
