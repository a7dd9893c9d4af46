// msgpackToJson: exact texts, as JSON.stringify writes them, and the faults that unpack finds too.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { Ext, jsonToMsgpack, msgpackToJson, pack, Timestamp, unpack } from '../index.js';
import { bytes, generator, runsOf, seedOf, throwsCode } from './helpers.mjs';

const index = fileURLToPath(new URL('../index.js', import.meta.url));

/** A message gives exactly this text, in a Buffer. */
function writes(message, expected, options) {
  const input = typeof message === 'string' ? bytes(message) : message;
  const result = msgpackToJson(input, options);
  assert.ok(Buffer.isBuffer(result));
  assert.equal(result.toString(), expected);
  assert.deepEqual(result, Buffer.from(expected));
}

function refuses(message, code, offset, options) {
  const input = typeof message === 'string' ? bytes(message) : message;
  const error = throwsCode(() => msgpackToJson(input, options), `ERR_MSGPACK_${code}`, { offset });
  assert.match(error.message, new RegExp(`\\(at byte ${offset}\\)$`));
}

test('every form of every type', () => {
  for (const [message, expected] of [
    ['c0', 'null'],
    ['c2', 'false'],
    ['c3', 'true'],
    ['00', '0'],
    ['7f', '127'],
    ['e0', '-32'],
    ['ff', '-1'],
    ['cc00', '0'],
    ['ccff', '255'],
    ['cdffff', '65535'],
    ['ceffffffff', '4294967295'],
    ['cf0000000000000001', '1'],
    ['cf0020000000000001', '9007199254740993'],
    ['cf7fffffffffffffff', '9223372036854775807'],
    ['cf8000000000000000', '9223372036854775808'],
    ['cfffffffffffffffff', '18446744073709551615'],
    ['d080', '-128'],
    ['d07f', '127'],
    ['d18000', '-32768'],
    ['d280000000', '-2147483648'],
    ['d38000000000000000', '-9223372036854775808'],
    ['d3ffdfffffffffffff', '-9007199254740993'],
    ['d3ffffffffffffffff', '-1'],
    ['ca3f000000', '0.5'],
    ['ca3dcccccd', '0.10000000149011612'],
    ['cb3fb999999999999a', '0.1'],
    ['cb8000000000000000', '0'],
    ['ca80000000', '0'],
    ['cb3ff0000000000000', '1'],
    ['a0', '""'],
    ['a161', '"a"'],
    ['d90161', '"a"'],
    ['da000161', '"a"'],
    ['db0000000161', '"a"'],
    ['c400', '""'],
    ['c40101', '"AQ=="'],
    ['c5000201ff', '"Af8="'],
    ['c60000000301feff', '"Af7/"'],
    ['90', '[]'],
    ['dc0000', '[]'],
    ['dd00000000', '[]'],
    ['9301c0a0', '[1,null,""]'],
    ['dc0002 9190 c0', '[[[]],null]'],
    ['80', '{}'],
    ['de0000', '{}'],
    ['df00000000', '{}'],
    ['82 a161 01 a162 91 80', '{"a":1,"b":[{}]}'],
    ['de0001 a161 01', '{"a":1}'],
    ['df00000001 a161 01', '{"a":1}'],
    ['d40501', '{"$ext":5,"data":"AQ=="}'],
    ['d5800102', '{"$ext":-128,"data":"AQI="}'],
    ['d67f01020304', '{"$ext":127,"data":"AQIDBA=="}'],
    ['d700 00^8', '{"$ext":0,"data":"AAAAAAAAAAA="}'],
    ['d8fe 00^16', '{"$ext":-2,"data":"AAAAAAAAAAAAAAAAAAAAAA=="}'],
    ['c70005', '{"$ext":5,"data":""}'],
    ['c70305010203', '{"$ext":5,"data":"AQID"}'],
    ['c8000005', '{"$ext":5,"data":""}'],
    ['c90000000105ff', '{"$ext":5,"data":"/w=="}'],
    ['d6ff00000000', '"1970-01-01T00:00:00.000Z"'],
  ]) {
    writes(message, expected);
  }
});

test('headers of 15, 16, 65 535 and 65 536 entries', () => {
  for (const n of [15, 16, 65_535, 65_536]) {
    const list = new Array(n).fill(0);
    writes(pack(list), JSON.stringify(list));
    const map = Object.fromEntries(list.map((_, i) => [`k${i}`, i]));
    writes(pack(map), JSON.stringify(map));
    const inside = { a: [list, map, [list]] };
    writes(pack(inside), JSON.stringify(inside));
  }
});

test('binary data in each form, of every length up to 300', () => {
  for (let n = 0; n <= 300; n++) {
    const data = Buffer.from(Array.from({ length: n }, (_, i) => (i * 151 + n) & 255));
    const message = pack([data, new Ext(3, data)]);
    const text = data.toString('base64');
    writes(message, `["${text}",{"$ext":3,"data":"${text}"}]`);
    writes(message, `["${text}",{"$ext":3,"data":"${text}"}]`, { binary: 'base64' });
    const hex = data.toString('hex');
    writes(message, `["${hex}",{"$ext":3,"data":"${hex}"}]`, { binary: 'hex' });
    const list = JSON.stringify([...data]);
    writes(message, `[${list},{"$ext":3,"data":${list}}]`, { binary: 'array' });
  }
});

test('an ext comes back with exts, in each form', (t) => {
  const next = generator(seedOf(t));
  for (const binary of ['base64', 'hex', 'array']) {
    for (let i = 0; i < 300; i++) {
      const data = Buffer.from(Array.from({ length: next.below(40) }, () => next() & 255));
      const type = next.below(255) - 128 || 1;
      if (type === -1) continue;
      const message = pack([{ a: new Ext(type, data) }, new Ext(type, data), type]);
      for (const space of [0, 2]) {
        const json = msgpackToJson(message, { binary, space });
        assert.deepEqual(jsonToMsgpack(json, { binary, exts: true }), message);
      }
    }
  }
});

test('every character: what JSON.stringify escapes, and nothing else', () => {
  const all = [];
  for (let code = 0; code < 0x3000; code++) all.push(String.fromCodePoint(code));
  for (const text of [...all, '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}']) {
    writes(pack(text), JSON.stringify(text));
    writes(pack({ [`${text}é`]: text }), JSON.stringify({ [`${text}é`]: text }));
  }
  for (const special of [
    '"',
    '\\',
    '\n',
    '\u0000',
    '\u001f',
    '\u007f',
    ' ',
    '!',
    '#',
    '[',
    ']',
    'é',
  ]) {
    for (let before = 0; before < 20; before++) {
      for (const after of ['', 'x', special, '😀'.repeat(5)]) {
        const text = 'a'.repeat(before) + special + after;
        writes(pack(text), JSON.stringify(text));
      }
    }
  }
  const worst = '\u0001'.repeat(100_000);
  writes(pack([worst, { [worst]: worst }]), JSON.stringify([worst, { [worst]: worst }]));
});

test('ill-formed UTF-8 is U+FFFD as for TextDecoder, or a fault at the string', () => {
  for (const text of [
    'ff',
    '80',
    '6180',
    'c3',
    'e282',
    'f09f98',
    'eda080',
    'edb080',
    'c0af',
    'f8888080',
    'f4908080',
    'e28222',
    '22ff5c',
  ]) {
    const data = bytes(text);
    const head = Buffer.from([0xa0 | data.length]);
    const decoded = JSON.stringify(new TextDecoder('utf-8', { ignoreBOM: true }).decode(data));
    const message = Buffer.concat([head, data]);
    writes(message, decoded);
    writes(
      Buffer.concat([bytes('81'), message, bytes('91'), message]),
      `{${decoded}:[${decoded}]}`,
    );
    refuses(message, 'INVALID_UTF8', 0, { utf8: 'fatal' });
    refuses(Buffer.concat([bytes('92 a161'), message]), 'INVALID_UTF8', 3, { utf8: 'fatal' });
    refuses(Buffer.concat([bytes('81'), message, bytes('01')]), 'INVALID_UTF8', 1, {
      utf8: 'fatal',
    });
  }
  writes('a3efbbbf', '"\ufeff"');
  writes(pack('é漢😀'), '"é漢😀"', { utf8: 'fatal' });
});

test('numbers as JSON.stringify writes them, at the borders of its formats', () => {
  const numbers = [
    1e21, 1e20, 999999999999999900000, 1e-6, 1e-7, 9.999999e-7, 1.5e-7, 1e-5, 9.99e-6,
  ];
  numbers.push(1e15, 1e15 - 0.125, 1e15 + 0.5, 1e16, 123456789012345680000, 1.7976931348623157e308);
  numbers.push(
    5e-324,
    2.2250738585072014e-308,
    2.225073858507201e-308,
    0.1 + 0.2,
    1 / 3,
    100.5,
    1e100,
  );
  for (const number of numbers) {
    for (const x of [number, -number]) {
      writes(Buffer.concat([bytes('cb'), float64(x)]), JSON.stringify(x));
    }
  }
  for (let exponent = -1074; exponent < 1024; exponent++) {
    writes(Buffer.concat([bytes('cb'), float64(2 ** exponent)]), JSON.stringify(2 ** exponent));
  }
  for (let exponent = -324; exponent < 309; exponent++) {
    for (const digits of ['1', '9.999999999999999', '1.2345678901234567', '4.35']) {
      const x = Number(`${digits}e${exponent}`);
      if (x === Infinity) continue;
      writes(Buffer.concat([bytes('cb'), float64(x)]), JSON.stringify(x));
    }
  }
});

function float64(x) {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(x);
  return buffer;
}

test('random doubles and floats of all exponents', (t) => {
  const next = generator(seedOf(t));
  const messages = [];
  const expected = [];
  for (let i = 0; i < runsOf(50_000); i++) {
    const message = Buffer.alloc(14, 0);
    message[0] = 0xcb;
    message.writeUInt32BE(next(), 1);
    // Few digits, too.
    message.writeUInt32BE(next.below(3) === 0 ? 0 : next(), 5);
    message[9] = 0xca;
    message.writeUInt32BE(next(), 10);
    messages.push(message);
    expected.push(message.readDoubleBE(1), message.readFloatBE(10));
  }
  const text = msgpackToJson(Buffer.concat(messages), { multiple: true }).toString();
  const lines = text.split('\n');
  assert.equal(lines.pop(), '');
  assert.equal(lines.length, expected.length);
  lines.forEach((line, i) => {
    if (line !== JSON.stringify(expected[i])) assert.equal(line, JSON.stringify(expected[i]));
  });
});

test('random numbers of everyday size', (t) => {
  const next = generator(seedOf(t));
  for (let i = 0; i < runsOf(20_000); i++) {
    const digits = next.below(10 ** (1 + next.below(9)));
    const x = Number(`${digits}e${next.below(30) - 20}`);
    const text = msgpackToJson(Buffer.concat([bytes('cb'), float64(x)])).toString();
    if (text !== JSON.stringify(x)) assert.equal(text, JSON.stringify(x));
  }
});

test('NaN and the infinities: null, or a fault', () => {
  for (const message of [
    'cb7ff8000000000000',
    'cb7ff0000000000000',
    'cbfff0000000000000',
    'cbffffffffffffffff',
    'ca7f800000',
    'caff800000',
    'ca7fc00000',
  ]) {
    writes(message, 'null');
    writes(`92 01 ${message}`, '[1,null]', { nonFinite: 'null' });
    writes(`81 ${message} 01`, '{"null":1}');
    refuses(message, 'JSON', 0, { nonFinite: 'throw' });
    refuses(`92 01 ${message}`, 'JSON', 2, { nonFinite: 'throw' });
    refuses(`81 ${message} 01`, 'JSON', 1, { nonFinite: 'throw' });
  }
  writes('cb3ff8000000000000', '1.5', { nonFinite: 'throw' });
});

test('timestamps: ISO 8601, as Date has it where it can', (t) => {
  const stamp = (seconds, nanoseconds) => pack(new Timestamp(seconds, nanoseconds));
  const dates = [0, 1, -1, 999, 1000, -1000, 951782399999, 951782400000, 951868800000];
  dates.push(-62167219200000, -62167219200001, 253402300799999, 253402300800000);
  dates.push(
    8.64e15,
    -8.64e15,
    2 ** 32 * 1000,
    (2 ** 32 - 1) * 1000,
    2 ** 34 * 1000,
    (2 ** 34 - 1) * 1000,
  );
  dates.push(4102444800000, 4107542400000, 1709164800000, 1709251199999);
  const next = generator(seedOf(t));
  for (let i = 0; i < runsOf(5000); i++) {
    const size = 10 ** next.below(16);
    dates.push(Math.trunc((next() / 2 ** 31 - 1) * Math.min(size, 8.64e15)));
  }
  for (const time of dates) {
    const date = new Date(time);
    writes(pack(date), JSON.stringify(date));
    writes(pack(Timestamp.fromDate(date)), JSON.stringify(date));
  }
  writes(stamp(0, 1), '"1970-01-01T00:00:00.000000001Z"');
  writes(stamp(0, 999_999_999), '"1970-01-01T00:00:00.999999999Z"');
  writes(stamp(0, 999_999_000), '"1970-01-01T00:00:00.999999000Z"');
  writes(stamp(0, 120_000_000), '"1970-01-01T00:00:00.120Z"');
  writes(stamp(-1, 999_999_999), '"1969-12-31T23:59:59.999999999Z"');
  writes(stamp(8_640_000_000_000, 1), '"+275760-09-13T00:00:00.000000001Z"');
  writes(stamp(8_640_000_000_001), '"+275760-09-13T00:00:01.000Z"');
  writes(stamp(-8_640_000_000_001), '"-271821-04-19T23:59:59.000Z"');
  writes(stamp(2n ** 63n - 1n, 999_999_999), '"+292277026596-12-04T15:30:07.999999999Z"');
  writes(stamp(-(2n ** 63n), 0), '"-292277022657-01-27T08:29:52.000Z"');
  writes(
    Buffer.concat([bytes('92 81'), stamp(0), bytes('01 02')]),
    '[{"1970-01-01T00:00:00.000Z":1},2]',
  );
  // Not in the shortest form, and none at all.
  writes('c70cff 00000000 0000000000000001', '"1970-01-01T00:00:01.000Z"');
  writes('d7ff 0000000000000001', '"1970-01-01T00:00:01.000Z"');
  for (const message of [
    'd4ff00',
    'd5ff0000',
    'c700ff',
    'c703ff000000',
    'c705ff0000000000',
    'd8ff00000000000000000000000000000000',
  ]) {
    refuses(message, 'TIMESTAMP', 0);
    refuses(`92 c0 ${message}`, 'TIMESTAMP', 2);
  }
  refuses('c70cff 3b9aca00 0000000000000000', 'TIMESTAMP', 0);
  refuses('d7ff ee6b280000000000', 'TIMESTAMP', 0);
});

test('keys of every kind have the text of their JSON', () => {
  for (const [key, expected] of [
    ['c0', '"null"'],
    ['c2', '"false"'],
    ['c3', '"true"'],
    ['01', '"1"'],
    ['ff', '"-1"'],
    ['cfffffffffffffffff', '"18446744073709551615"'],
    ['cb3ff8000000000000', '"1.5"'],
    ['cb8000000000000000', '"0"'],
    ['cb444b1ae4d6e2ef50', '"1e+21"'],
    ['a0', '""'],
    ['a122', '"\\""'],
    ['c40101', '"AQ=="'],
    ['d40501', '"{\\"$ext\\":5,\\"data\\":\\"AQ==\\"}"'],
    ['d6ff00000000', '"1970-01-01T00:00:00.000Z"'],
    ['90', '"[]"'],
    ['80', '"{}"'],
    ['920102', '"[1,2]"'],
    ['91a3615c0a', '"[\\"a\\\\\\\\\\\\n\\"]"'],
    ['9192 91c0 80', '"[[[null],{}]]"'],
    ['81 a161 01', '"{\\"a\\":1}"'],
    ['82 01 02 c0 91 81 c3 03', '"{\\"1\\":2,\\"null\\":[{\\"true\\":3}]}"'],
    ['81 d40501 01', '"{\\"{\\\\\\"$ext\\\\\\":5,\\\\\\"data\\\\\\":\\\\\\"AQ==\\\\\\"}\\":1}"'],
    ['91 d6ff00000000', '"[\\"1970-01-01T00:00:00.000Z\\"]"'],
  ]) {
    writes(`81 ${key} 07`, `{${expected}:7}`);
    writes(`92 83 a161 01 ${key} 90 a162 02 05`, `[{"a":1,${expected}:[],"b":2},5]`);
    // White space is for what is around the key.
    writes(`81 ${key} 91 07`, `{\n ${expected}: [\n  7\n ]\n}`, { space: 1 });
  }
  writes('81 c40201ff 07', '{"[1,255]":7}', { binary: 'array' });
  writes('81 c40201ff 07', '{\n  "[1,255]": 7\n}', { binary: 'array', space: 2 });
  writes('81 c40201ff 07', '{"01ff":7}', { binary: 'hex' });
  writes('81 d50101ff 07', '{"{\\"$ext\\":1,\\"data\\":[1,255]}":7}', {
    binary: 'array',
    space: 0,
  });
});

test('in an array or a map that is a key no key is one', () => {
  refuses('81 81 90 01 02', 'KEY', 2);
  refuses('81 81 80 01 02', 'KEY', 2);
  refuses('81 91 81 9101 02 03', 'KEY', 3);
  refuses('82 a161 01 92 01 81 81 00 01 02 03', 'KEY', 7);
  // Beside one another they may be, and within a value.
  writes('82 90 01 80 02', '{"[]":1,"{}":2}');
  writes('81 90 81 90 81 80 c0', '{"[]":{"[]":{"{}":null}}}');
  writes('81 92 90 81 01 90 c0', '{"[[],{\\"1\\":[]}]":null}');
});

test('what a map has twice is there twice, in the order of the message', () => {
  writes('84 a162 01 a161 02 a162 03 00 04', '{"b":1,"a":2,"b":3,"0":4}');
  writes('82 a95f5f70726f746f5f5f 01 a95f5f70726f746f5f5f 02', '{"__proto__":1,"__proto__":2}');
});

test('space: as JSON.stringify, for numbers and texts', () => {
  const value = {
    a: [1, [], {}, [[]], { b: {} }, 'x\n', null, true],
    'k"': { c: [{ d: 1.5 }, 'é'] },
    empty: '',
  };
  for (const space of [
    0,
    1,
    2,
    3,
    10,
    11,
    100,
    '',
    ' ',
    '\t',
    '--',
    '0123456789abcdef',
    'é',
    '😀'.repeat(6),
    '\n',
    '"',
  ]) {
    const expected = Buffer.from(JSON.stringify(value, null, space)).toString();
    writes(pack(value), expected, { space });
    writes(pack(7), '7', { space });
    writes(pack([]), '[]', { space });
    writes(pack({}), '{}', { space });
    writes(Buffer.concat([pack(value), pack(1)]), `${expected}\n1\n`, { space, multiple: true });
  }
  const data = Buffer.from([1, 255]);
  for (const space of [1, 2, '\t']) {
    const lists = { a: [[1, 255], { $ext: 7, data: [1, 255] }, [], { $ext: 7, data: [] }] };
    const message = pack({
      a: [data, new Ext(7, data), Buffer.alloc(0), new Ext(7, Buffer.alloc(0))],
    });
    writes(message, JSON.stringify(lists, null, space), { space, binary: 'array' });
    const texts = { a: ['01ff', { $ext: 7, data: '01ff' }, '', { $ext: 7, data: '' }] };
    writes(message, JSON.stringify(texts, null, space), { space, binary: 'hex' });
    writes(pack(new Ext(7, data)), JSON.stringify({ $ext: 7, data: [1, 255] }, null, space), {
      space,
      binary: 'array',
    });
    writes(pack(data), JSON.stringify([1, 255], null, space), { space, binary: 'array' });
  }
});

test('property: with any space the text is that of JSON.stringify', (t) => {
  const seed = seedOf(t);
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }),
      fc.oneof(fc.nat(12), fc.string({ maxLength: 12 })),
      (value, space) => {
        const expected = JSON.stringify(unpack(pack(value)), null, space);
        assert.equal(msgpackToJson(pack(value), { space }).toString(), expected);
      },
    ),
    { seed, numRuns: runsOf(2000) },
  );
});

test('property: msgpackToJson(pack(v)) is JSON.stringify(v), and JSON.parse gives v back', (t) => {
  const seed = seedOf(t);
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, depthSize: 'medium' },
      fc.constantFrom(null, true, false, 0, -0, '', [], {}),
      fc.double(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.string({ unit: 'grapheme' }),
      fc.date({ noInvalidDate: true }),
      fc.array(tie('value')),
      fc.dictionary(fc.string({ unit: 'binary' }), tie('value')),
    ),
  })).value;
  fc.assert(
    fc.property(value, (v) => {
      const expected = JSON.stringify(v);
      const text = msgpackToJson(pack(v)).toString();
      assert.equal(text, expected);
      assert.equal(JSON.stringify(JSON.parse(text)), expected);
    }),
    { seed, numRuns: runsOf(3000) },
  );
});

test('maxDepth: the default, other limits, and where it is passed', () => {
  writes(`91^999 90`, '['.repeat(1000) + ']'.repeat(1000));
  refuses(`91^1000 90`, 'DEPTH', 1000);
  refuses(`81a161^1000 80`, 'DEPTH', 3000);
  writes('91 90', '[[]]', { maxDepth: 2 });
  refuses('91 91 90', 'DEPTH', 2, { maxDepth: 2 });
  refuses('93 90 80 91 90', 'DEPTH', 4, { maxDepth: 2 });
  refuses('81 91 90 01', 'DEPTH', 2, { maxDepth: 2 });
  writes('9101', '[1]', { maxDepth: 1 });
  for (const n of [150_000, 999_999]) {
    const text = msgpackToJson(bytes(`91^${n} c0`), { maxDepth: Infinity }).toString();
    assert.ok(text === `${'['.repeat(n)}null${']'.repeat(n)}`);
  }
  refuses('91^1000001', 'TRUNCATED', 1_000_000, { maxDepth: Infinity });
  refuses('91^1000001 c0', 'DEPTH', 1_000_000, { maxDepth: Infinity });
  refuses('81^200000', 'KEY', 2, { maxDepth: Infinity });
});

test('claims of a header are compared with what is there', () => {
  refuses('dd ffffffff', 'TRUNCATED', 0);
  refuses('df ffffffff 0101', 'TRUNCATED', 0);
  refuses('92 01', 'TRUNCATED', 0);
  refuses('91 92 01', 'TRUNCATED', 1);
  refuses('92 92 0101', 'TRUNCATED', 1);
  refuses('82 a161 01', 'TRUNCATED', 0);
  refuses('db ffffffff 61', 'TRUNCATED', 0);
  refuses('c6 ffffffff 61', 'TRUNCATED', 0);
  refuses('c9 ffffffff 01', 'TRUNCATED', 0);
  const open = Buffer.alloc(100_000, 0xdd);
  refuses(open, 'TRUNCATED', 0);
});

test('every prefix of a message is truncated, wherever it ends', () => {
  const message = pack({
    a: [1, 300, 70_000, 2n ** 63n, -1.5, 'x'.repeat(40), 'é'],
    b: { c: Buffer.alloc(3), d: new Ext(1, Buffer.alloc(5)), e: new Date(1e12) },
    n: null,
  });
  for (let n = 0; n < message.length; n++) {
    throwsCode(() => msgpackToJson(message.subarray(0, n)), 'ERR_MSGPACK_TRUNCATED');
  }
  refuses('', 'TRUNCATED', 0);
  refuses('01 02', 'EXTRA_BYTES', 1);
  refuses('91 c0 c1', 'EXTRA_BYTES', 2);
  refuses('c1', 'INVALID_BYTE', 0);
  refuses('92 01 c1', 'INVALID_BYTE', 2);
  refuses('81 c1 01', 'INVALID_BYTE', 1);
});

test('multiple: each message on a line', () => {
  writes('', '', { multiple: true });
  writes('01', '1\n', { multiple: true });
  writes('01 a161 90 81a16101', '1\n"a"\n[]\n{"a":1}\n', { multiple: true });
  refuses('01 91', 'TRUNCATED', 1, { multiple: true });
  refuses('01 c1', 'INVALID_BYTE', 1, { multiple: true });
  refuses('01 02 91 91', 'TRUNCATED', 3, { multiple: true });
});

test('the options: what each takes, and what it says otherwise', () => {
  for (const [name, values] of [
    ['space', [null, -1, 1.5, NaN, Infinity, true, {}, [], 1n]],
    ['binary', [null, '', 'BASE64', 'base64url', 1, true]],
    ['nonFinite', [null, '', 'nil', 'string', 0, false]],
    ['utf8', [null, '', 'raw', true]],
    ['multiple', [null, 0, 1, 'true']],
    ['maxDepth', [null, 0, -1, 1.5, NaN, '10']],
  ]) {
    for (const value of values) {
      assert.throws(() => msgpackToJson(bytes('01'), { [name]: value }), {
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_VALUE',
        message: new RegExp(`'${name}'`),
      });
    }
  }
  for (const options of [1, 'x', true, () => {}]) {
    assert.throws(() => msgpackToJson(bytes('01'), options), { code: 'ERR_INVALID_ARG_VALUE' });
  }
  for (const options of [undefined, null, {}, { exts: 'no option here' }]) {
    writes('01', '1', options);
  }
});

test('input of every kind', () => {
  const message = pack({ a: 'é', b: [1.5] });
  const padded = Buffer.concat([bytes('c1c1'), message, bytes('c1c1')]);
  const memory = padded.buffer.slice(padded.byteOffset, padded.byteOffset + padded.length);
  const expected = '{"a":"é","b":[1.5]}';
  const { length } = message;
  writes(new Uint8Array(memory, 2, length), expected);
  writes(new DataView(memory, 2, length), expected);
  writes(new Int8Array(memory, 2, length), expected);
  writes(memory.slice(2, 2 + length), expected);
  const shared = new SharedArrayBuffer(length);
  Buffer.from(shared).set(message);
  writes(shared, expected);
  writes(new Uint8Array(shared), expected);
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  throwsCode(() => msgpackToJson(detached), 'ERR_MSGPACK_INVALID_INPUT', { offset: undefined });
  for (const input of ['01', undefined, null, 1, 1n, true, {}, [], [1], () => {}]) {
    throwsCode(() => msgpackToJson(input), 'ERR_MSGPACK_INVALID_INPUT');
  }
});

/**
 * Where `msgpackToJson` and `unpack` differ on purpose: `unpack` has keys that it refuses (none with
 * Maps), and both stop at the first fault that they come to.
 */
test('random damaged messages: the same fault as unpack, at the same byte', (t) => {
  const next = generator(seedOf(t));
  const seeds = [
    pack({
      a: [1, 300, 2n ** 63n, -1.5, 'x'.repeat(40), 'é'],
      b: { c: Buffer.alloc(3), d: [[], {}] },
    }),
    pack([
      new Ext(1, Buffer.alloc(5)),
      new Date(1e12),
      new Timestamp(-5n, 7),
      { k: [null, true, 'z'] },
    ]),
    pack(new Array(300).fill({ a: 'text', b: 1 })),
    pack(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, [i, `${i}`]]))),
  ];
  const options = { maps: 'map', timestamps: 'timestamp', maxDepth: 8 };
  let faults = 0;
  const codes = new Set();
  for (let i = 0; i < runsOf(30_000); i++) {
    let message = Buffer.from(next.pick(seeds));
    for (let n = 1 + next.below(4); n > 0; n--) {
      const at = next.below(message.length + 1);
      switch (next.below(4)) {
        case 0:
          message = message.subarray(0, at);
          break;
        case 1:
          if (at < message.length) message[at] = next() & 255;
          break;
        case 2:
          message = Buffer.concat([
            message.subarray(0, at),
            Buffer.from([next() & 255]),
            message.subarray(at),
          ]);
          break;
        default:
          message = Buffer.concat([
            message.subarray(0, at),
            message.subarray(at + 1 + next.below(3)),
          ]);
      }
    }
    const utf8 = next.pick(['replace', 'fatal']);
    const wanted = outcome(() => unpack(message, { ...options, utf8 }));
    const found = outcome(() => msgpackToJson(message, { maxDepth: 8, utf8 }));
    // Unpack does not look whether a container in a key has a container as a key.
    if (found.error?.code === 'ERR_MSGPACK_KEY') continue;
    assert.equal(found.error?.code, wanted.error?.code, `${message.toString('hex')} ${utf8}`);
    assert.equal(
      found.error?.offset,
      wanted.error?.offset,
      `${message.toString('hex')} ${utf8} ${found.error?.code}`,
    );
    if (wanted.error !== undefined) {
      faults++;
      codes.add(wanted.error.code);
    } else {
      JSON.parse(found.value);
    }
  }
  assert.ok(faults > runsOf(30_000) / 30, `${faults} faults`);
  assert.ok(codes.size >= Math.min(5, runsOf(30_000) / 20), [...codes].join());
});

function outcome(call) {
  try {
    return { value: call() };
  } catch (error) {
    assert.equal(error.name, 'MsgpackError', error.stack);
    return { error };
  }
}

test('results are not shared, and after a fault the next call is right', () => {
  const results = Array.from({ length: 300 }, (_, i) => msgpackToJson(pack([i])));
  refuses('92 01 c1', 'INVALID_BYTE', 2);
  results.forEach((result, i) => {
    assert.equal(result.toString(), `[${i}]`);
    result.fill(0);
  });
  const large = new Array(1_500_000).fill('0123456');
  writes(pack(large), JSON.stringify(large));
  writes(pack([1]), '[1]');
});

test('extensions: an ext stays one, behind a tag is the value', () => {
  const out = execFileSync(process.execPath, [
    '-e',
    `const { addExtension, msgpackToJson, pack, Ext } = require(${JSON.stringify(index)});
     const show = (v, o) => console.log(msgpackToJson(v instanceof Uint8Array ? v : pack(v), o).toString());
     const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
     show(new Ext(5, Buffer.from([1])));
     class Point { constructor(x) { this.x = x; } }
     class Tagged { constructor(x) { this.x = x; } }
     addExtension({ Class: Point, type: 4, pack: (p) => Buffer.from([p.x]), unpack: (b) => new Point(b[0]) });
     addExtension({ Class: Tagged, type: 5, write: (p) => p.x, read: (x) => new Tagged(x) });
     show([new Point(7), new Tagged({ a: [1] }), 2]);
     show({ k: new Tagged(new Tagged(1)), l: new Tagged([new Tagged('x')]) }, { space: 1 });
     show(hex('81 d40500 a161 d40500 d40500 90'));
     show(hex('81 d40500 9101 02'));
     show(hex('c703 05 000000 c3'));
     for (const text of ['d40500', '92 01 d40500', 'd40500 c1', '91 d405', '81 d40500 91 81 90 01 02']) {
       try { show(hex(text)); } catch (e) { console.log(e.code, e.offset); }
     }
     const deep = pack([new Tagged(1)]);
     show(Buffer.concat([Buffer.alloc(300_000, 'd40500', 'hex'), hex('01')]), { maxDepth: 1 });
     console.log(deep.toString('hex'));`,
  ]);
  assert.deepEqual(out.toString().trim().split('\n'), [
    '{"$ext":5,"data":"AQ=="}',
    '[{"$ext":4,"data":"Bw=="},{"a":[1]},2]',
    '{',
    ' "k": 1,',
    ' "l": [',
    '  "x"',
    ' ]',
    '}',
    '{"a":[]}',
    '{"[1]":2}',
    'true',
    'ERR_MSGPACK_TRUNCATED 3',
    'ERR_MSGPACK_TRUNCATED 5',
    'ERR_MSGPACK_INVALID_BYTE 3',
    'ERR_MSGPACK_TRUNCATED 1',
    'ERR_MSGPACK_KEY 6',
    '1',
    '91d4050001',
  ]);
});
