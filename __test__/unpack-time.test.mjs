// Timestamps: Date floored to the millisecond, Timestamp exact, everything else refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack, Timestamp, unpack } from '../index.js';
import { bytes, hex, sameBytes, stillWorks, throwsCode, unpacks } from './helpers.mjs';
import { timestamp } from './reference.mjs';

test('every form as a Date', () => {
  unpacks('d6ff00000000', new Date(0));
  unpacks('d6ff00000001', new Date(1000));
  unpacks('d6ffffffffff', new Date(4294967295000));
  unpacks('d7ff0000000100000000', new Date(4294967296000));
  unpacks('d7ff0000000400000001', new Date(1000));
  unpacks('d7ff1d5353003b9aca00', new Date(1e12 + 123));
  unpacks('d7ffee6b27ffffffffff', new Date(17179869183999));
  unpacks('c70cff000000000000000400000000', new Date(17179869184000));
  unpacks('c70cff3b8b87c0ffffffffffffffff', new Date(-1));
  unpacks('c70cff1dcd6500fffffffffffffffe', new Date(-1500));
  unpacks('c70cff000000010000000000000000', new Date(0));
  unpacks('c70cff00000000000007dba8218000', new Date(8.64e15));
  unpacks('c70cff00000000fffff82457de8000', new Date(-8.64e15));
});

test('milliseconds are floored, before 1970 too', () => {
  const rows = [
    [0n, 1, 0],
    [0n, 999_999, 0],
    [0n, 1_000_000, 1],
    [0n, 999_999_999, 999],
    [-1n, 0, -1000],
    [-1n, 1, -1000],
    [-1n, 999_999, -1000],
    [-1n, 1_000_000, -999],
    [-1n, 999_999_999, -1],
    [-2n, 500_000_001, -1500],
    [8_640_000_000_000n, 0, 8.64e15],
    [8_640_000_000_000n, 999_999, 8.64e15],
    [-8_640_000_000_000n, 0, -8.64e15],
  ];
  for (const [seconds, nanoseconds, ms] of rows) {
    unpacks(timestamp(seconds, nanoseconds), new Date(ms), undefined, `${seconds} ${nanoseconds}`);
    const exact = unpack(timestamp(seconds, nanoseconds), { timestamps: 'timestamp' });
    assert.ok(exact instanceof Timestamp);
    assert.equal(exact.seconds, seconds);
    assert.equal(exact.nanoseconds, nanoseconds);
  }
});

test('outside the range of Date: refused as a Date, exact as a Timestamp', () => {
  const rows = [
    [8_640_000_000_000n, 1_000_000],
    [8_640_000_000_001n, 0],
    [-8_640_000_000_001n, 0],
    [-8_640_000_000_001n, 999_999_999],
    [2n ** 53n, 0],
    [2n ** 63n - 1n, 0],
    [2n ** 63n - 1n, 999_999_999],
    [-(2n ** 63n), 0],
    [2n ** 62n, 1],
  ];
  for (const [seconds, nanoseconds] of rows) {
    const wire = timestamp(seconds, nanoseconds);
    throwsCode(() => unpack(wire), 'ERR_MSGPACK_TIMESTAMP', { offset: 0 });
    throwsCode(() => unpack(Buffer.concat([bytes('9201'), wire])), 'ERR_MSGPACK_TIMESTAMP', {
      offset: 2,
    });
    const exact = unpack(wire, { timestamps: 'timestamp' });
    assert.equal(exact.seconds, seconds);
    assert.equal(exact.nanoseconds, nanoseconds);
    sameBytes(pack(exact), wire);
    stillWorks();
  }
});

test('wrong lengths and too many nanoseconds are refused in both modes', () => {
  const wrong = [
    'd4ff01',
    'd5ff0102',
    'c703ff010203',
    'c705ff0000000000',
    'c700ff',
    'd8ff 00^16',
    'c70dff 00^13',
    'c7ffff 00^255',
    'c80100ff 00^256',
    'd7ffee6b280000000001',
    'd7ffffffffff00000000',
    'c70cff3b9aca000000000000000000',
    'c70cffffffffff0000000000000000',
  ];
  for (const wire of wrong) {
    for (const options of [
      undefined,
      { timestamps: 'timestamp' },
      { maps: 'map', copyBuffers: true },
    ]) {
      throwsCode(() => unpack(bytes(wire), options), 'ERR_MSGPACK_TIMESTAMP', { offset: 0 });
      throwsCode(() => unpack(bytes(`81a161 ${wire}`), options), 'ERR_MSGPACK_TIMESTAMP', {
        offset: 3,
      });
    }
    stillWorks();
  }
  unpacks('d7ffee6b27fc00000001', new Date(1999));
  unpacks('c70cff3b9ac9ff0000000000000000', new Date(999));
});

test('a longer form than needed is read all the same', () => {
  unpacks('c704ff00000001', new Date(1000));
  unpacks('c80004ff00000001', new Date(1000));
  unpacks('c708ff0000000000000001', new Date(1000));
  unpacks('c70cff000000000000000000000001', new Date(1000));
});

test('Timestamp round trip is lossless and shortest', () => {
  for (const seconds of [
    0n,
    1n,
    2n ** 32n - 1n,
    2n ** 32n,
    2n ** 34n - 1n,
    2n ** 34n,
    -1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ]) {
    for (const nanoseconds of [0, 1, 999, 1000, 999_999, 1_000_000, 999_999_999]) {
      const wire = timestamp(seconds, nanoseconds);
      const value = unpack(wire, { timestamps: 'timestamp' });
      assert.equal(hex(pack(value)), hex(wire));
      assert.equal(hex(pack(new Timestamp(seconds, nanoseconds))), hex(wire));
    }
  }
});
