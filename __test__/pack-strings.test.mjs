// Strings: shortest header, UTF-8, lone surrogates as U+FFFD at every length.
import { test } from 'node:test';
import { pack } from '../index.js';
import { packs, sameBytes, WIDTHS } from './helpers.mjs';
import { arrayHeader, mapHeader, str } from './reference.mjs';

// Lengths around header widths and around sizes where an implementation may change its ways.
const LENGTHS = [
  [0, 70],
  [250, 260],
  [508, 516],
  [1020, 1030],
  [2040, 2060],
  [4090, 4100],
  [8190, 8200],
  [16380, 16390],
  [65530, 65540],
].flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

test('headers at every boundary, by exact bytes', () => {
  packs('', 'a0');
  packs('a', 'a161');
  packs('a'.repeat(31), 'bf 61^31');
  packs('a'.repeat(32), 'd920 61^32');
  packs('a'.repeat(255), 'd9ff 61^255');
  packs('a'.repeat(256), 'da0100 61^256');
  packs('a'.repeat(65535), 'daffff 61^65535');
  packs('a'.repeat(65536), 'db00010000 61^65536');
});

test('the header counts bytes, not characters', () => {
  packs('é'.repeat(15), 'be c3a9^15');
  packs('é'.repeat(16), 'd920 c3a9^16');
  packs('漢'.repeat(10), 'be e6bca2^10');
  packs('漢'.repeat(11), 'd921 e6bca2^11');
  packs('😀'.repeat(7), 'bc f09f9880^7');
  packs('😀'.repeat(8), 'd920 f09f9880^8');
  packs('é'.repeat(127), 'd9fe c3a9^127');
  packs('é'.repeat(128), 'da0100 c3a9^128');
  packs('漢'.repeat(85), 'd9ff e6bca2^85');
  packs('漢'.repeat(86), 'da0102 e6bca2^86');
  packs('😀'.repeat(64), 'da0100 f09f9880^64');
  packs('é'.repeat(32767), 'dafffe c3a9^32767');
  packs('é'.repeat(32768), 'db00010000 c3a9^32768');
  packs('漢'.repeat(21845), 'daffff e6bca2^21845');
  packs('漢'.repeat(21846), 'db00010002 e6bca2^21846');
  packs('😀'.repeat(16384), 'db00010000 f09f9880^16384');
});

test('the ends of each UTF-8 width', () => {
  packs('\u0000', 'a100');
  packs('\u007f', 'a17f');
  packs('\u0080', 'a2c280');
  packs('\u00ff', 'a2c3bf');
  packs('\u0100', 'a2c480');
  packs('\u07ff', 'a2dfbf');
  packs('\u0800', 'a3e0a080');
  packs('\ud7ff', 'a3ed9fbf');
  packs('\ue000', 'a3ee8080');
  packs('\uffff', 'a3efbfbf');
  packs('\u{10000}', 'a4f0908080');
  packs('\u{10ffff}', 'a4f48fbfbf');
  packs('\ufeffa', 'a4efbbbf61');
  packs('🐦', 'a4f09f90a6');
});

for (const { name, text } of WIDTHS) {
  test(`${name} characters at every length near a threshold`, () => {
    for (const length of LENGTHS) {
      const value = text.repeat(length);
      packs(value, str(value), undefined, `${length} × ${text}`);
    }
  });
}

test('one wide character anywhere in an ASCII string', () => {
  for (const length of [1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 1023, 1024, 4096, 8192]) {
    for (const { text } of WIDTHS) {
      for (const at of [0, 1, length >> 1, length - 1]) {
        const value = 'x'.repeat(at) + text + 'y'.repeat(length - at);
        packs(value, str(value), undefined, `${text} at ${at} of ${length}`);
      }
    }
  }
});

test('ropes and slices are what they read as', () => {
  let rope = '';
  for (let i = 0; i < 300; i++) rope += i % 7 === 0 ? 'é' : `${i},`;
  packs(rope, str(rope));
  packs({ [rope]: rope }, Buffer.concat([mapHeader(1), str(rope), str(rope)]));
  const sliced = 'x'.repeat(100).concat('漢字'.repeat(50)).slice(37, 151);
  packs(sliced, str(sliced));
});

const LONE = ['\ud83d', '\udc00', '\ud800', '\udfff', '\udbff'];

test('a lone surrogate is one U+FFFD, short strings by exact bytes', () => {
  packs('\ud83d', 'a3efbfbd');
  packs('\udc00', 'a3efbfbd');
  packs('hi \ud83d', 'a6686920efbfbd');
  packs('\udc00x', 'a4efbfbd78');
  packs('a\ud83db', 'a561efbfbd62');
  packs('\ud83d\ud83d', 'a6efbfbdefbfbd');
  packs('\udc00\ud83d', 'a6efbfbdefbfbd');
  packs('\ud83d\ud83d\ude00', 'a7efbfbdf09f9880');
  packs('\ud83d\ude00\ude00', 'a7f09f9880efbfbd');
  packs('é\ud83d', 'a5c3a9efbfbd');
});

test('a lone surrogate at the start, in the middle, at the end, at every length', () => {
  for (const length of LENGTHS.filter((n) => n <= 8200)) {
    const filler = length % 3 === 0 ? 'é' : 'a';
    for (const lone of length > 70 ? LONE.slice(0, 2) : LONE) {
      const half = filler.repeat(length >> 1);
      for (const value of [lone + half + half, half + lone + half, half + half + lone]) {
        packs(value, str(value), undefined, `${length}`);
      }
    }
  }
  for (const length of [65530, 65533, 65536, 200_000]) {
    const value = `${'a'.repeat(length)}\ud83d`;
    packs(value, str(value));
  }
});

test('halves in neighbouring strings do not fuse', () => {
  packs(['\ud83d', '\ude00'], '92 a3efbfbd a3efbfbd');
  packs(['a\ud83d', '\ude00b'], '92 a461efbfbd a4efbfbd62');
  packs(['\ud83d', '', '\ude00'], '93 a3efbfbd a0 a3efbfbd');
  packs({ a: '\ud83d', b: '\ude00' }, '82 a161 a3efbfbd a162 a3efbfbd');
  packs({ '\ud83d': '\ude00' }, '81 a3efbfbd a3efbfbd');
  packs({ a: '\ud83d', '\ude00': 1 }, '82 a161 a3efbfbd a3efbfbd 01');
  packs({ '\ud83d': 1, '\ude00': 2 }, '82 a3efbfbd 01 a3efbfbd 02');
  packs(new Map([['\ud83d', '\ude00']]), '81 a3efbfbd a3efbfbd');
  packs(['\ud83d', { '\ude00': '\ude00' }], '92 a3efbfbd 81 a3efbfbd a3efbfbd');
});

test('halves in neighbouring strings do not fuse, at every length', () => {
  for (const length of LENGTHS.filter((n) => n <= 8200 && n % 3 === 0)) {
    for (const filler of ['a', '漢']) {
      const left = `${filler.repeat(length)}\ud83d`;
      const right = `\ude00${filler.repeat(length)}`;
      packs([left, right], Buffer.concat([arrayHeader(2), str(left), str(right)]));
    }
  }
});

test('lone surrogates in keys, repeated so that a shape is learnt', () => {
  for (let i = 0; i < 60; i++) {
    packs(
      { '\ud83d': i, 'x\udc00': 'y' },
      `82 a3efbfbd ${i.toString(16).padStart(2, '0')} a478efbfbd a179`,
    );
  }
});

test('strings of all kinds side by side in one message', () => {
  const parts = [
    '',
    'a',
    'é',
    '漢',
    '😀',
    '\ud83d',
    'x'.repeat(40),
    'é'.repeat(1030),
    'y'.repeat(5000),
    '\udc00',
  ];
  for (let shift = 0; shift < parts.length; shift++) {
    const list = [...parts.slice(shift), ...parts.slice(0, shift), ...parts];
    const expected = Buffer.concat([arrayHeader(list.length), ...list.map(str)]);
    packs(list, expected, undefined, `shift ${shift}`);
    const record = Object.fromEntries(list.map((text, i) => [`k${i}`, text]));
    const fields = Object.entries(record).flatMap(([key, text]) => [str(key), str(text)]);
    packs(record, Buffer.concat([mapHeader(list.length), ...fields]), undefined, `shift ${shift}`);
  }
});

test('thousands of strings, one of them wide', () => {
  for (const odd of ['é', '漢', '😀', '\ud83d']) {
    for (const at of [0, 1500, 2999]) {
      const list = Array.from({ length: 3000 }, (_, i) => (i === at ? odd : `item ${i}`));
      packs(list, Buffer.concat([arrayHeader(list.length), ...list.map(str)]));
    }
  }
});

test('Latin-1 beside ASCII beside two-byte, short and long', () => {
  const list = [];
  for (let i = 0; i < 200; i++) list.push('ÿ'.repeat(i), 'z'.repeat(i * 7), '语'.repeat(i % 40));
  sameBytes(pack(list), Buffer.concat([arrayHeader(list.length), ...list.map(str)]));
});

test('keys of every width at every header boundary', () => {
  for (const { text } of WIDTHS) {
    for (const length of [
      0, 1, 7, 8, 10, 11, 15, 16, 31, 32, 63, 64, 85, 86, 127, 128, 255, 256, 300,
    ]) {
      const key = text.repeat(length);
      for (let i = 0; i < 4; i++) {
        packs({ [key]: 1 }, Buffer.concat([mapHeader(1), str(key), Buffer.from([1])]));
      }
    }
    const key = text.repeat(65536 / 4);
    packs({ [key]: 1 }, Buffer.concat([mapHeader(1), str(key), Buffer.from([1])]));
  }
  for (const length of [65535, 65536]) {
    const key = 'k'.repeat(length);
    packs({ [key]: 1 }, Buffer.concat([mapHeader(1), str(key), Buffer.from([1])]));
  }
});
