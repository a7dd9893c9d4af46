// JSON and MessagePack in pieces, as the command line has them: however the input is cut, the output
// and the place of a fault are those of the whole.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Ext, jsonToMsgpack, msgpackToJson, pack } from '../index.js';
import { bytes, generator, runsOf, seedOf } from './helpers.mjs';

const require = createRequire(import.meta.url);
const { createTranscode } = require('../src/transcode');
const { plainFeatures } = require('../src/features');
const { Extensions } = require('../src/extensions');

const extensions = new Extensions();
extensions.add({ type: 9, read: (x) => x });
const { createFromJson, createToJson } = createTranscode(
  require('../binding.js'),
  plainFeatures(extensions),
);

/** What comes of these pieces: all output, and the fault if there is one. */
function run(stream, pieces) {
  const output = [];
  try {
    for (const piece of pieces) output.push(stream.write(piece));
    output.push(stream.end());
    return { output: Buffer.concat(output) };
  } catch (error) {
    assert.equal(error.name, 'MsgpackError', error.stack);
    assert.ok(Buffer.isBuffer(error.output), 'an error has the output before it');
    output.push(error.output);
    const { code, column, line, message, offset } = error;
    return { output: Buffer.concat(output), fault: { code, column, line, message, offset } };
  }
}

/** Runs it whole, cut in two at every byte, and in pieces of every small size; all are the same. */
function everyCut(create, input) {
  const whole = run(create(), [input]);
  const label = input.length < 200 ? input.toString('hex') : `${input.length} bytes`;
  for (let at = 0; at <= input.length; at++) {
    const cut = run(create(), [input.subarray(0, at), input.subarray(at)]);
    assert.deepEqual(cut, whole, `${label} cut at ${at}`);
  }
  for (const size of [1, 2, 3, 5, 7]) {
    const pieces = [];
    for (let at = 0; at < input.length; at += size) {
      pieces.push(input.subarray(at, at + size), Buffer.alloc(0));
    }
    assert.deepEqual(run(create(), pieces), whole, `${label} in pieces of ${size}`);
  }
  return whole;
}

const toJson = (input, options, path) => everyCut(() => createToJson(options, path), input);
const fromJson = (text, options) =>
  everyCut(() => createFromJson(options), typeof text === 'string' ? Buffer.from(text) : text);

const MESSAGES = [
  null,
  {
    a: [1, 300, 70_000, 2n ** 63n, -1.5, 'x'.repeat(40), 'é"\n'],
    b: { c: Buffer.from([1, 2, 3]) },
  },
  [],
  {},
  [[], {}, [[{ x: {} }]]],
  new Ext(5, Buffer.from([9, 8, 7])),
  new Date(1e12),
  new Map([
    [1, 'int'],
    [null, 'nil'],
    [[1, { k: ['v"'] }], 'array'],
    [new Map([['a', [[]]]]), 'map'],
    [new Ext(3, Buffer.from([1])), 'ext'],
    [[], {}],
  ]),
  'last',
];

test('messages in pieces are the text of the whole, with every option', () => {
  const input = Buffer.concat(MESSAGES.map((message) => pack(message)));
  for (const options of [{}, { space: 2 }, { binary: 'array', space: '\t' }, { binary: 'hex' }]) {
    const { output, fault } = toJson(input, options);
    assert.equal(fault, undefined);
    assert.deepEqual(output, msgpackToJson(input, { ...options, multiple: true }));
  }
});

test('a key that is a container comes out when it is complete', () => {
  const stream = createToJson();
  assert.equal(stream.write(bytes('82 a161 01 92 c0')).toString(), '{"a":1,');
  assert.equal(stream.write(bytes('81')).toString(), '');
  assert.equal(stream.write(bytes('a162')).toString(), '');
  assert.equal(stream.write(bytes('a163')).toString(), '"[null,{\\"b\\":\\"c\\"}]":');
  assert.equal(stream.write(bytes('07')).toString(), '7}\n');
  assert.equal(stream.end().toString(), '');
});

test('text comes as soon as it is certain', () => {
  const stream = createToJson({ space: 1 });
  assert.equal(stream.write(bytes('93 01')).toString(), '[\n 1');
  assert.equal(stream.write(bytes('a3 61')).toString(), '');
  assert.equal(stream.write(bytes('62')).toString(), '');
  assert.equal(stream.write(bytes('63')).toString(), ',\n "abc"');
  assert.equal(stream.write(bytes('c3 c0')).toString(), ',\n true\n]\nnull\n');
  assert.equal(stream.end().toString(), '');
});

test('faults of messages: the offset in the whole stream, and the text before', () => {
  for (const [message, code, offset, text, options] of [
    ['01 c1', 'INVALID_BYTE', 1, '1\n'],
    ['01 92 02 c1', 'INVALID_BYTE', 3, '1\n[2'],
    ['01 02 92 03', 'TRUNCATED', 4, '1\n2\n[3'],
    ['01 a5 6162', 'TRUNCATED', 1, '1\n'],
    ['dd ffffffff 01 02', 'TRUNCATED', 7, '[1,2'],
    ['cd 01', 'TRUNCATED', 0, ''],
    ['90 91 91 90', 'DEPTH', 3, '[]\n[[[', { maxDepth: 2 }],
    ['92 01 d4ff00', 'TIMESTAMP', 2, '[1,'],
    ['92 01 a1ff', 'INVALID_UTF8', 2, '[1,', { utf8: 'fatal' }],
    ['92 01 cb7ff8000000000000', 'JSON', 2, '[1,', { nonFinite: 'throw' }],
    // Nothing of a key that is not complete.
    ['82 a161 01 92 02 c1', 'INVALID_BYTE', 6, '{"a":1,'],
    ['82 a161 01 92 02', 'TRUNCATED', 6, '{"a":1,'],
    ['81 92 90 81 90 01 02', 'KEY', 4, '{'],
    ['d40900 d40900', 'TRUNCATED', 6, ''],
    ['91 d40900', 'TRUNCATED', 4, '['],
  ]) {
    const { output, fault } = toJson(bytes(message), options);
    assert.equal(fault?.code, `ERR_MSGPACK_${code}`, message);
    assert.equal(fault.offset, offset, message);
    assert.equal(output.toString(), text, message);
  }
});

test('what is behind a tag, wherever it is cut', () => {
  const input = bytes('d40900 01 92 d40900 d40900 a161 d40900 81 d40900 a162 d40900 90 c0');
  const { output } = toJson(input);
  assert.equal(output.toString(), '1\n["a",{"b":[]}]\nnull\n');
});

test('a path: only the value that it leads to, of each message', () => {
  const messages = [
    { a: { b: [10, { c: 'first' }, 30] }, z: 1 },
    { z: { a: 1 }, a: { b: [0, { c: { d: [1, 2] } }] } },
    { a: 5 },
    'no map',
    { a: { b: [1] } },
    { a: { b: { 1: { c: 'in a map' } } } },
    [{ b: 1 }],
    { a: { x: [[['b']]], b: [[], { c: [] }] } },
  ];
  const input = Buffer.concat(messages.map((message) => pack(message)));
  const lines = (path, options) => toJson(input, options, path).output.toString();
  assert.equal(lines(['a', 'b', '1', 'c']), '"first"\n{"d":[1,2]}\n"in a map"\n[]\n');
  assert.equal(lines(['a', 'b', 1, 'c', 'd', 1]), '2\n');
  assert.equal(lines(['a', 'b', '1', 'c', 'd'], { space: 2 }), '[\n  1,\n  2\n]\n');
  assert.equal(lines(['z']), '1\n{"a":1}\n');
  assert.equal(lines(['0', 'b']), '1\n');
  assert.equal(lines(['0']), '{"b":1}\n');
  assert.equal(lines(['a', 'b', '01']), '');
  assert.equal(lines(['a', 'b', '-1']), '');
  assert.equal(lines(['nothing']), '');
  assert.equal(lines([]), toJson(input).output.toString());
});

test('a path: keys that are numbers, equal keys, containers as keys, tags', () => {
  const at = (message, path) => toJson(bytes(message), {}, path).output.toString();
  assert.equal(at('81 01 a178', ['1']), '"x"\n');
  assert.equal(at('81 ff a178', ['-1']), '"x"\n');
  assert.equal(at('81 cb3ff8000000000000 a178', ['1.5']), '"x"\n');
  assert.equal(at('81 cfffffffffffffffff a178', ['18446744073709551615']), '"x"\n');
  assert.equal(at('83 a161 01 a161 02 a162 03', ['a']), '1\n');
  assert.equal(at('82 81 a161 01 02 a161 03', ['a']), '3\n');
  assert.equal(at('82 92 a161 90 02 a161 03', ['a']), '3\n');
  assert.equal(at('82 80 02 a161 03', ['a']), '3\n');
  assert.equal(at('82 c0 02 a161 03', ['a']), '3\n');
  assert.equal(at('82 c40161 02 a161 81 92 01 02 03', ['a']), '{"[1,2]":3}\n');
  assert.equal(at('82 a161 d40900 01 a162 02', ['a']), '1\n');
  assert.equal(at('82 a162 d40900 91 a161 a161 d40900 90', ['a']), '[]\n');
  assert.equal(at('d40900 81 a161 01 81 a161 02', ['a']), '2\n');
  // As in the text of all of it.
  assert.equal(at('82 d40900 a161 01 a161 02', ['a']), '1\n');
});

test('a path: what is passed over is checked, too', () => {
  for (const [message, code, offset, text, options] of [
    ['82 a162 c1 a161 01', 'INVALID_BYTE', 3, ''],
    ['82 a161 01 a162 c1', 'INVALID_BYTE', 6, '1\n'],
    ['82 a161 01 a162', 'TRUNCATED', 6, '1\n'],
    ['82 a161 92 01', 'TRUNCATED', 5, '[1'],
    ['81 a162 91 91 90', 'DEPTH', 4, '', { maxDepth: 2 }],
    ['81 a161 91 91 90', 'DEPTH', 4, '[[', { maxDepth: 2 }],
    ['81 a161 90 81 a161 91 01', 'none', 0, '[]\n[1]\n', { maxDepth: 2 }],
    ['81 a162 d40900', 'TRUNCATED', 6, ''],
  ]) {
    const { output, fault } = toJson(bytes(message), options, ['a']);
    assert.equal(output.toString(), text, message);
    if (code === 'none') assert.equal(fault, undefined);
    else assert.deepEqual([fault?.code, fault?.offset], [`ERR_MSGPACK_${code}`, offset], message);
  }
});

test('a stream of one long message in single bytes, and one of many small messages', () => {
  const long = pack([Buffer.alloc(300_000, 7), 'é'.repeat(100_000), 'end']);
  const stream = createToJson();
  const out = [];
  for (let at = 0; at < long.length; at += 1) out.push(stream.write(long.subarray(at, at + 1)));
  out.push(stream.end());
  assert.deepEqual(Buffer.concat(out), Buffer.concat([msgpackToJson(long), Buffer.from('\n')]));
  const text = Buffer.from(`${JSON.stringify(['x'.repeat(200_000), [1, 2]])}\n7`);
  const reader = createFromJson();
  const messages = [];
  for (let at = 0; at < text.length; at++) messages.push(reader.write(text.subarray(at, at + 1)));
  messages.push(reader.end());
  assert.deepEqual(
    Buffer.concat(messages),
    Buffer.concat([pack(['x'.repeat(200_000), [1, 2]]), pack(7)]),
  );
});

test('a key that is a long container, in single bytes', () => {
  const key = new Array(5000).fill('text "');
  const input = pack(new Map([[key, [1]]]));
  const stream = createToJson();
  const out = [];
  for (let at = 0; at < input.length; at++) out.push(stream.write(input.subarray(at, at + 1)));
  out.push(stream.end());
  assert.equal(
    Buffer.concat(out).toString(),
    `${JSON.stringify({ [JSON.stringify(key)]: [1] })}\n`,
  );
});

test('JSON in pieces gives the messages of the whole', () => {
  const text = ` 1 22\n"a\\"]é😀"[1,{"]":"}\\\\"}]{}\r\n null[] "x""y\\u00e9" true\t-1.5e3 {"a":\n[ ] } 7`;
  const { output, fault } = fromJson(text);
  assert.equal(fault, undefined);
  assert.deepEqual(output, jsonToMsgpack(text, { multiple: true }));
  for (const each of [
    '',
    ' \n ',
    '12',
    '12 ',
    '"\\ud83d\\ude00" "\\ud800"',
    `[${'0,'.repeat(40)}0]`,
  ]) {
    assert.deepEqual(fromJson(each), { output: jsonToMsgpack(each, { multiple: true }) });
  }
  const exts = fromJson('{"$ext":1,"data":"ff"} {"$ext":1,"data":"é"}', {
    exts: true,
    binary: 'hex',
  });
  assert.deepEqual(exts.output.subarray(0, 3), bytes('d401ff'));
});

test('each message comes when its text has ended', () => {
  const stream = createFromJson();
  assert.deepEqual(stream.write(Buffer.from('[1,')), Buffer.alloc(0));
  assert.deepEqual(stream.write(Buffer.from('2]"a')), bytes('92 01 02'));
  assert.deepEqual(stream.write(Buffer.from('" 1')), bytes('a161'));
  assert.deepEqual(stream.write(Buffer.from('2')), Buffer.alloc(0));
  assert.deepEqual(stream.write(Buffer.from('\n')), bytes('0c'));
  assert.deepEqual(stream.write(Buffer.from('{}{')), bytes('80'));
  assert.deepEqual(stream.write(Buffer.from('}3')), bytes('80'));
  assert.deepEqual(stream.end(), bytes('03'));
});

test('errors in JSON: byte, line and column in the whole stream, and the messages before', () => {
  for (const [text, code, offset, line, column, output, options] of [
    ['1 2 x', 'JSON', 4, 1, 5, '01 02'],
    ['1\n2\n\n x', 'JSON', 6, 4, 2, '01 02'],
    ['[1]\n["é😀", x]\n[3]', 'JSON', 15, 2, 9, '9101'],
    ['"é" "😀" [1 2] 3', 'JSON', 15, 1, 13, 'a2c3a9 a4f09f9880'],
    ['"a\\n"\n"b" nul', 'JSON', 13, 2, 8, 'a2610a a162'],
    ['1 [', 'JSON', 3, 1, 4, '01'],
    ['1\n"abc', 'JSON', 6, 2, 5, '01'],
    ['1\n[\n\n2\n3]', 'JSON', 7, 5, 1, '01'],
    ['1\r\n2\r\n]', 'JSON', 6, 3, 1, '01 02'],
    ['{"a":1}{"a":}{}', 'JSON', 12, 1, 13, '81a16101'],
    ['1 "\\u12" 2', 'JSON', 7, 1, 8, '01'],
    ['1\n 1e999 2', 'JSON', 3, 2, 2, '01'],
    ['[]\n[[\n[]]]', 'DEPTH', 6, 3, 1, '90', { maxDepth: 2 }],
    ['"\\ud800" "\\udc00" ]', 'JSON', 18, 1, 19, 'a3efbfbd a3efbfbd'],
  ]) {
    const result = fromJson(text, options);
    assert.deepEqual(result.output, bytes(output), text);
    const { fault } = result;
    assert.deepEqual(
      [fault?.code, fault?.offset, fault?.line, fault?.column],
      [`ERR_MSGPACK_${code}`, offset, line, column],
      text,
    );
    assert.ok(fault.message.endsWith(`(at byte ${offset}, line ${line}, column ${column})`));
  }
});

test('ill-formed UTF-8 in pieces, replaced and as a fault', () => {
  const text = Buffer.from('"\xff" ["\xf0\x9f\x98",\n"\xc3"] x', 'latin1');
  const replaced = fromJson(text);
  assert.deepEqual(replaced.output, bytes('a3efbfbd 92 a3efbfbd a3efbfbd'));
  assert.deepEqual([replaced.fault.offset, replaced.fault.line, replaced.fault.column], [17, 2, 6]);
  for (const [latin1, offset, line, column, output] of [
    ['1 2 "\xff" 3', 5, 1, 6, '01 02'],
    ['"\xc3\xa9"\n[1] [2, "\xc3', 14, 2, 10, 'a2c3a9 9101'],
    ['1\n12\xff3 4', 4, 2, 3, '01'],
    ['\xff', 0, 1, 1, ''],
  ]) {
    const result = fromJson(Buffer.from(latin1, 'latin1'), { utf8: 'fatal' });
    assert.deepEqual(result.output, bytes(output), latin1);
    assert.equal(result.fault.code, 'ERR_MSGPACK_INVALID_UTF8');
    assert.deepEqual(
      [result.fault.offset, result.fault.line, result.fault.column],
      [offset, line, column],
    );
  }
});

test('random damaged streams, cut at random: as the whole', (t) => {
  const next = generator(seedOf(t));
  const messages = Buffer.concat(MESSAGES.map((message) => pack(message)));
  const text = Buffer.from(
    '{"a":[1,"é\\n"]}\n[[]] "x😀" 12 {"b":\n{"c":null}}"\\ud800"-1.5 true\n[1,\n2]',
  );
  const damaged = (input) => {
    const copy = Buffer.from(input);
    for (let n = next.below(3); n > 0; n--) copy[next.below(copy.length)] = next() & 255;
    return copy;
  };
  const cut = (input) => {
    const pieces = [];
    for (let at = 0; at < input.length; ) {
      const size = 1 + next.below(12);
      pieces.push(input.subarray(at, at + size));
      at += size;
    }
    return pieces;
  };
  for (let i = 0; i < runsOf(3000); i++) {
    const utf8 = next.pick(['replace', 'fatal']);
    const message = damaged(messages);
    const toOptions = { utf8, space: next.below(3), maxDepth: 6 };
    for (const path of [[], ['a'], ['a', '6'], ['0', '0']]) {
      assert.deepEqual(
        run(createToJson(toOptions, path), cut(message)),
        run(createToJson(toOptions, path), [message]),
        message.toString('hex'),
      );
    }
    const json = damaged(text);
    assert.deepEqual(
      run(createFromJson({ utf8, maxDepth: 3 }), cut(json)),
      run(createFromJson({ utf8, maxDepth: 3 }), [json]),
      json.toString('latin1'),
    );
  }
});

test('streams share nothing', () => {
  const [a, b] = [createToJson(), createToJson()];
  const [c, d] = [createFromJson(), createFromJson()];
  a.write(bytes('92 01'));
  c.write(Buffer.from('[1,'));
  assert.equal(b.write(bytes('02')).toString(), '2\n');
  assert.deepEqual(d.write(Buffer.from('7 ')), bytes('07'));
  assert.equal(msgpackToJson(bytes('92 03 04')).toString(), '[3,4]');
  assert.deepEqual(jsonToMsgpack('[5]'), bytes('91 05'));
  assert.equal(a.write(bytes('03')).toString(), ',3]\n');
  assert.deepEqual(c.write(Buffer.from('2]')), bytes('92 01 02'));
});

test('extensions that are added later hold for the streams that are opened then', () => {
  const later = new Extensions();
  const transcode = createTranscode(require('../binding.js'), plainFeatures(later));
  const input = bytes('d40700 01');
  assert.equal(
    run(transcode.createToJson(), [input]).output.toString(),
    '{"$ext":7,"data":"AA=="}\n1\n',
  );
  later.add({ type: 7, read: (x) => x });
  transcode.extend();
  assert.equal(run(transcode.createToJson(), [input]).output.toString(), '1\n');
});
