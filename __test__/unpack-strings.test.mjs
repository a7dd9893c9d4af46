// Strings: WHATWG replacement of ill-formed UTF-8, BOM, the utf8 option, memory of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpack, unpackMultiple } from '../index.js';
import {
  bytes,
  generator,
  hex,
  runsOf,
  seedOf,
  stillWorks,
  throwsCode,
  unpacks,
  WIDTHS,
} from './helpers.mjs';
import { arrayHeader, mapHeader } from './reference.mjs';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const fatal = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** A str of these bytes, whatever they are. */
function rawStr(data) {
  const n = data.length;
  const head =
    n <= 31
      ? Buffer.from([0xa0 | n])
      : n <= 255
        ? Buffer.from([0xd9, n])
        : n <= 65535
          ? Buffer.from([0xda, n >> 8, n & 255])
          : Buffer.from([0xdb, n >>> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255]);
  return Buffer.concat([head, data]);
}

const ILL_FORMED = [
  ['ff', '\ufffd'],
  ['80', '\ufffd'],
  ['c328', '\ufffd('],
  ['c080', '\ufffd\ufffd'],
  ['c0af', '\ufffd\ufffd'],
  ['c1bf', '\ufffd\ufffd'],
  ['e080af', '\ufffd\ufffd\ufffd'],
  ['e09f80', '\ufffd\ufffd\ufffd'],
  ['eda080', '\ufffd\ufffd\ufffd'],
  ['edbfbf', '\ufffd\ufffd\ufffd'],
  ['eda0bdedb0a6', '\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd'],
  ['f0808080', '\ufffd\ufffd\ufffd\ufffd'],
  ['f08fbfbf', '\ufffd\ufffd\ufffd\ufffd'],
  ['f4908080', '\ufffd\ufffd\ufffd\ufffd'],
  ['f7bfbfbf', '\ufffd\ufffd\ufffd\ufffd'],
  ['f8888080', '\ufffd\ufffd\ufffd\ufffd'],
  ['fe', '\ufffd'],
  ['c3', '\ufffd'],
  ['e2', '\ufffd'],
  ['e282', '\ufffd'],
  ['e28241', '\ufffdA'],
  ['e241', '\ufffdA'],
  ['f09f', '\ufffd'],
  ['f09f98', '\ufffd'],
  ['f09f9841', '\ufffdA'],
  ['f09f41', '\ufffdA'],
  ['f0e28282', '\ufffd₂'],
  ['61ff62', 'a\ufffdb'],
  ['e282e28282', '\ufffd₂'],
];

test('ill-formed sequences, by exact result', () => {
  for (const [wire, expected] of ILL_FORMED) {
    assert.equal(decoder.decode(bytes(wire)), expected, 'the test itself is wrong');
    unpacks(rawStr(bytes(wire)), expected, undefined, wire);
  }
});

test('ill-formed sequences after and before text of every length', () => {
  for (const [wire] of ILL_FORMED) {
    for (const length of [
      1, 2, 3, 7, 8, 12, 15, 16, 28, 31, 32, 33, 60, 63, 64, 100, 200, 250, 300, 1030, 5000,
    ]) {
      for (const text of ['x', 'é', '漢', '😀']) {
        if (length > 64 && text !== 'x' && length % 3 !== 0) continue;
        const filler = Buffer.from(text.repeat(length));
        for (const data of [
          Buffer.concat([filler, bytes(wire)]),
          Buffer.concat([bytes(wire), filler]),
          Buffer.concat([filler, bytes(wire), filler]),
        ]) {
          assert.equal(
            unpack(rawStr(data)),
            decoder.decode(data),
            `${wire} with ${length} × ${text}`,
          );
        }
      }
    }
  }
});

test('a sequence cut at the end of a string does not take bytes of the next value', () => {
  unpacks('92a2e282a161', ['\ufffd', 'a']);
  unpacks('92a1f0a3616263', ['\ufffd', 'abc']);
  unpacks('92a1f0a39f9880', ['\ufffd', '\ufffd\ufffd\ufffd']);
  unpacks('92a1c3a1a9', ['\ufffd', '\ufffd']);
  unpacks('93a3f09f98a180a0', ['\ufffd', '\ufffd', '']);
  unpacks('81a1c3a1a9', { '\ufffd': '\ufffd' });
  unpacks('92a1c300', ['\ufffd', 0]);
});

test('ill-formed keys', () => {
  for (let i = 0; i < 80; i++) {
    unpacks('81a1ff01', { '\ufffd': 1 });
    unpacks('82a1ff01a16102', { '\ufffd': 1, a: 2 });
    unpacks('82a1ff01a1fe02', { '\ufffd': 2 });
    unpacks('81a3eda08001', { '\ufffd\ufffd\ufffd': 1 });
  }
});

test('a BOM is data, at the start or anywhere, at every length', () => {
  unpacks('a3efbbbf', '\ufeff');
  unpacks('a4efbbbf61', '\ufeffa');
  unpacks('81a4efbbbf6101', { '\ufeffa': 1 });
  for (const length of [1, 10, 28, 29, 60, 200, 250, 300, 1000, 5000, 70_000]) {
    const data = Buffer.concat([bytes('efbbbf'), Buffer.alloc(length, 0x61)]);
    const value = unpack(rawStr(data));
    assert.equal(value.length, length + 1);
    assert.equal(value, `\ufeff${'a'.repeat(length)}`);
    unpacks(rawStr(Buffer.concat([data, data])), value + value);
  }
});

test('well-formed text of every width at every length', () => {
  for (const { text } of WIDTHS) {
    for (let length = 0; length <= 300; length++) {
      const value = text.repeat(length);
      assert.equal(unpack(rawStr(Buffer.from(value))), value, `${length} × ${text}`);
    }
    for (const length of [1023, 1024, 1025, 4096, 8192, 16384, 32767, 65535, 65536, 100_000]) {
      const value = text.repeat(length);
      assert.equal(unpack(rawStr(Buffer.from(value))), value, `${length} × ${text}`);
    }
  }
});

test('one wide or damaged character anywhere in an ASCII string', () => {
  for (const length of [1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1024, 4097]) {
    for (const odd of ['c3a9', 'e6bca2', 'f09f9880', 'ff', 'e282', '00', '7f']) {
      for (const at of new Set([0, 1, length >> 1, length - 1, length])) {
        const data = Buffer.concat([
          Buffer.alloc(at, 0x61),
          bytes(odd),
          Buffer.alloc(length - at, 0x62),
        ]);
        assert.equal(unpack(rawStr(data)), decoder.decode(data), `${odd} at ${at} of ${length}`);
      }
    }
  }
});

test('random bytes as a string and as a key, against TextDecoder', (t) => {
  const next = generator(seedOf(t));
  const alphabet = [
    0x61, 0x7f, 0x80, 0xbf, 0xc2, 0xc3, 0xdf, 0xe0, 0xa0, 0xe2, 0x82, 0xed, 0x9f, 0xef, 0xbb, 0xf0,
    0x90, 0x9f, 0x98, 0xf4, 0x8f, 0xf5, 0xff, 0xc0,
  ];
  for (let run = 0; run < runsOf(6000); run++) {
    const length = next.below(8) ? next.below(40) : next.below(600);
    const plain = next.below(3);
    const data = Buffer.from(
      Array.from({ length }, () =>
        plain && next.below(6) ? 0x61 : next.below(4) ? next.pick(alphabet) : next.below(256),
      ),
    );
    const expected = decoder.decode(data);
    assert.equal(unpack(rawStr(data)), expected, hex(data));
    if (run % 4 === 0) {
      const map = Buffer.concat([mapHeader(1), rawStr(data), Buffer.from([1])]);
      assert.deepStrictEqual(Object.entries(unpack(map)), [[expected, 1]], hex(data));
      const list = Buffer.concat([
        arrayHeader(3),
        rawStr(data),
        rawStr(Buffer.from('mid')),
        rawStr(data),
      ]);
      assert.deepStrictEqual(unpack(list), [expected, 'mid', expected], hex(data));
    }
  }
});

test("utf8: 'fatal' throws with the offset of the string, and only for damage", () => {
  const options = { utf8: 'fatal' };
  for (const [wire] of ILL_FORMED) {
    assert.throws(() => fatal.decode(bytes(wire)));
    for (const pad of [0, 40, 300, 5000]) {
      const data = Buffer.concat([Buffer.alloc(pad, 0x61), bytes(wire)]);
      const error = throwsCode(() => unpack(rawStr(data), options), 'ERR_MSGPACK_INVALID_UTF8');
      assert.ok(
        Number.isInteger(error.offset) && error.offset >= 0 && error.offset <= rawStr(data).length,
      );
    }
  }
  throwsCode(() => unpack(bytes('81a1ff01'), options), 'ERR_MSGPACK_INVALID_UTF8');
  throwsCode(() => unpack(bytes('92a161a1ff'), options), 'ERR_MSGPACK_INVALID_UTF8');
  throwsCode(() => unpack(bytes('92a1ffa161'), options), 'ERR_MSGPACK_INVALID_UTF8');
  for (const { text } of WIDTHS) {
    for (const length of [0, 1, 10, 100, 1000, 10_000]) {
      unpacks(rawStr(Buffer.from(text.repeat(length))), text.repeat(length), options);
    }
  }
  unpacks('82a3efbfbd01a4efbbbf6102', { '\ufffd': 1, '\ufeffa': 2 }, options);
  for (let i = 0; i < 60; i++) {
    throwsCode(() => unpack(bytes('81a1ff01'), options), 'ERR_MSGPACK_INVALID_UTF8');
    unpacks('81a1ff01', { '\ufffd': 1 });
  }
  stillWorks();
});

test("utf8: 'raw' gives the bytes of a damaged string and the others as strings", () => {
  const options = { utf8: 'raw' };
  unpacks('a2e280', Buffer.from([0xe2, 0x80]), options);
  unpacks('a161', 'a', options);
  unpacks(
    '94a161a1ffa3e282aca2c328',
    ['a', Buffer.from([0xff]), '€', Buffer.from([0xc3, 0x28])],
    options,
  );
  unpacks('81a161a1ff', { a: Buffer.from([0xff]) }, options);
  for (const [wire] of ILL_FORMED) {
    for (const pad of [0, 40, 300, 5000]) {
      const data = Buffer.concat([Buffer.alloc(pad, 0x61), bytes(wire)]);
      const value = unpack(rawStr(data), options);
      assert.ok(Buffer.isBuffer(value));
      assert.deepStrictEqual(value, data);
    }
  }
  stillWorks();
});

test("utf8: 'raw' with a damaged key", () => {
  const options = { utf8: 'raw' };
  const map = unpack(bytes('82a1ff01a16102'), { ...options, maps: 'map' });
  assert.deepStrictEqual(
    [...map],
    [
      [Buffer.from([0xff]), 1],
      ['a', 2],
    ],
  );
});

test('changing the input afterwards changes no string and no key', () => {
  for (const text of ['short', 'é', '漢字', 'x'.repeat(100), 'y'.repeat(5000), '😀'.repeat(2000)]) {
    const wire = Buffer.concat([
      mapHeader(1),
      rawStr(Buffer.from(text)),
      rawStr(Buffer.from(text)),
    ]);
    const value = unpack(wire);
    wire.fill(0x2a);
    assert.deepStrictEqual(value, { [text]: text });
  }
});

test('many strings of one message, kept while others are decoded', () => {
  const kept = [];
  for (let i = 0; i < 300; i++) {
    const list = Array.from(
      { length: 20 },
      (_, k) => `message ${i} item ${k} ${'é'.repeat(i % 3)}`,
    );
    const wire = Buffer.concat([arrayHeader(20), ...list.map((s) => rawStr(Buffer.from(s)))]);
    kept.push([unpack(wire), list]);
  }
  for (const [value, list] of kept) assert.deepStrictEqual(value, list);
});

test('a large text message: strings that straddle any internal block', () => {
  for (const make of [
    (i) => `line ${i}: ${'lorem ipsum '.repeat(i % 17)}`,
    (i) => `${i}:${'дом '.repeat(i % 23)}`,
    (i) => (i % 50 ? `a${i}` : '漢'.repeat(3000)),
    (i) => 'b'.repeat((i * 37) % 5000),
  ]) {
    const list = Array.from({ length: 1500 }, (_, i) => make(i));
    const wire = Buffer.concat([arrayHeader(1500), ...list.map((s) => rawStr(Buffer.from(s)))]);
    assert.deepStrictEqual(unpack(wire), list);
    assert.deepStrictEqual(unpackMultiple(wire.subarray(3)), list);
  }
});
