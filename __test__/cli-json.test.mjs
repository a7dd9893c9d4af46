// to-json, from-json, get, and the pair of the old addon.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Ext, pack, Timestamp, unpackMultiple } from '../index.js';
import { cli, scratch } from './cli-helpers.mjs';
import { bytes, hex } from './helpers.mjs';

const { readPath } = createRequire(import.meta.url)('../src/cli/path.js');

const files = scratch();

const toJson = (input, ...args) => cli(['to-json', ...args], { input });
const fromJson = (input, ...args) => cli(['from-json', ...args], { input, encoding: 'buffer' });

const prints = (result, stdout) => assert.deepEqual(result, { status: 0, stdout, stderr: '' });

function packs(result, expected) {
  assert.deepEqual([result.status, result.stderr], [0, '']);
  assert.equal(hex(result.stdout), hex(bytes(expected)));
}

test('to-json: a value a line', () => {
  prints(toJson(bytes('01 a1 61 92 c3 c0 80')), '1\n"a"\n[true,null]\n{}\n');
  prints(toJson(''), '');
});

test('to-json: what JSON has no type for', () => {
  const value = {
    at: new Timestamp(1_700_000_000n, 1),
    bin: Buffer.from('hello'),
    big: 2n ** 64n - 1n,
    nan: Number.NaN,
  };
  prints(
    toJson(pack(value)),
    '{"at":"2023-11-14T22:13:20.000000001Z","bin":"aGVsbG8=","big":18446744073709551615,"nan":null}\n',
  );
});

test('to-json: --space, --binary, --non-finite, --utf8, --max-depth', () => {
  const nested = pack({ a: [1, {}] });
  prints(toJson(nested, '--space', '2'), `${JSON.stringify({ a: [1, {}] }, null, 2)}\n`);
  prints(toJson(nested, '--space', '0'), '{"a":[1,{}]}\n');
  const bin = pack(Buffer.of(1, 255));
  prints(toJson(bin, '--binary', 'hex'), '"01ff"\n');
  prints(toJson(bin, '--binary=array'), '[1,255]\n');
  prints(toJson(bin, '--binary=base64'), '"Af8="\n');
  const infinite = pack([1, Infinity]);
  prints(toJson(infinite), '[1,null]\n');
  const thrown = toJson(infinite, '--non-finite', 'throw');
  assert.deepEqual([thrown.status, thrown.stdout], [1, '[1,']);
  assert.equal(thrown.stderr, '<stdin>:2: JSON has no NaN and no infinity\n');
  const damaged = bytes('a2 61 ff');
  prints(toJson(damaged), '"a\ufffd"\n');
  const fatal = toJson(damaged, '--utf8', 'fatal');
  assert.deepEqual([fatal.status, fatal.stdout], [1, '']);
  assert.equal(fatal.stderr, '<stdin>:0: A string is not well-formed UTF-8\n');
  prints(toJson(bytes('91 91 90'), '--max-depth', '3'), '[[[]]]\n');
  const deep = toJson(bytes('91 91 90'), '--max-depth', '2');
  assert.deepEqual([deep.status, deep.stderr], [1, '<stdin>:2: Nested deeper than maxDepth\n']);
});

test('to-json: everything before a fault is written, and offsets count all of the input', () => {
  const long = pack('x'.repeat(200_000));
  const input = Buffer.concat([long, bytes('82 a161 01 a162 c1 05')]);
  const { status, stdout, stderr } = toJson(input);
  assert.equal(status, 1);
  assert.equal(stdout, `"${'x'.repeat(200_000)}"\n{"a":1,"b":`);
  assert.equal(stderr, `<stdin>:${long.length + 6}: The byte 0xc1 starts no value\n`);
});

test('to-json: an input that ends too soon', () => {
  const { status, stdout, stderr } = toJson(bytes('c3 93 01 a3 61'));
  assert.deepEqual([status, stdout], [1, 'true\n[1']);
  assert.equal(stderr, '<stdin>:3: The input ends in the middle of a value\n');
});

test('from-json: JSON, JSON Lines, and values with any white space between them', () => {
  packs(
    fromJson('{"a":[1,-1,1.5,"é",true,null]}'),
    '81 a161 96 01 ff cb3ff8000000000000 a2c3a9 c3 c0',
  );
  packs(fromJson('1\n2\n'), '01 02');
  packs(fromJson('1\r\n\r\n2'), '01 02');
  packs(fromJson(' [1] [2]\t{} "a" '), '91 01 91 02 80 a161');
  packs(fromJson(''), '');
  packs(fromJson(' \n'), '');
});

test('from-json: everything before a fault is written, and the place is line and column', () => {
  for (const [input, expected, place] of [
    ['1\n{"a":2}\n{"a":}\n4\n', '01 81 a161 02', '3:6'],
    ['[1,2]\n{nope}', '92 01 02', '2:2'],
    ['"a"\n[1,', 'a161', '2:4'],
  ]) {
    const { status, stdout, stderr } = fromJson(input);
    assert.equal(status, 1);
    assert.equal(hex(stdout), hex(bytes(expected)));
    assert.match(stderr, new RegExp(`^<stdin>:${place}: .+\\n$`));
    assert.equal(stderr.split('\n').length, 2);
  }
});

test('from-json: --max-depth', () => {
  packs(fromJson('[[1]]', '--max-depth', '2'), '91 91 01');
  const { status, stderr } = fromJson('[[[1]]]', '--max-depth', '2');
  assert.equal(status, 1);
  assert.match(stderr, /^<stdin>:1:3: /);
});

test('there and back: every byte', () => {
  const value = {
    list: Array.from({ length: 5000 }, (_, id) => ({ id, name: `n${id}`, half: id / 2 })),
  };
  const message = pack(value);
  const json = files.at('there.json');
  prints(cli(['to-json', '-o', json], { input: message }), '');
  assert.deepEqual(JSON.parse(files.read('there.json', 'utf8')), value);
  prints(cli(['from-json', json, '-o', files.at('back.msgpack')]), '');
  assert.deepEqual(files.read('back.msgpack'), message);
});

test('json2msgpack and msgpack2json', () => {
  const packed = cli([], { name: 'json2msgpack', input: '{"a":1}\n[2]', encoding: 'buffer' });
  packs(packed, '81 a161 01 91 02');
  prints(cli([], { name: 'msgpack2json', input: packed.stdout }), '{"a":1}\n[2]\n');
  const file = files.put('pair.msgpack', packed.stdout);
  prints(cli(['--space', '1', file], { name: 'msgpack2json' }), '{\n "a": 1\n}\n[\n 2\n]\n');
});

const people = [
  { users: [{ name: 'Ada', 'first name': 'A' }, { name: 'Bob' }], 'a.b': 1 },
  { users: [] },
  { users: [{ name: { last: 'C' } }, null] },
];
const packedPeople = Buffer.concat(people.map((each) => pack(each)));
const get = (path, ...args) => cli(['get', path, ...args], { input: packedPeople });

test('get: the values at a path, a line for each message that has it', () => {
  prints(get('users[0].name'), '"Ada"\n{"last":"C"}\n');
  prints(get('$.users[0].name.last'), '"C"\n');
  prints(get('users[1]'), '{"name":"Bob"}\nnull\n');
  prints(get('users[0]["first name"]'), '"A"\n');
  prints(get('["a.b"]'), '1\n');
  prints(get('users'), people.map(({ users }) => `${JSON.stringify(users)}\n`).join(''));
  prints(get('$'), people.map((each) => `${JSON.stringify(each)}\n`).join(''));
  prints(
    get('users[0]', '--space', '1'),
    people
      .filter(({ users }) => users.length)
      .map(({ users }) => `${JSON.stringify(users[0], null, 1)}\n`)
      .join(''),
  );
});

test('get: nothing there', () => {
  for (const path of ['nobody', 'users[7]', 'users.name', 'users[0].name.first', 'constructor']) {
    assert.deepEqual(get(path), {
      status: 1,
      stdout: '',
      stderr: `<stdin>: there is nothing at ${path}\n`,
    });
  }
});

test('get: each file by itself', () => {
  const one = files.put('get-1', pack({ a: 1 }));
  const two = files.put('get-2', pack({ b: 2 }));
  assert.deepEqual(cli(['get', 'a', one, two, one]), {
    status: 1,
    stdout: '1\n1\n',
    stderr: `${two}: there is nothing at a\n`,
  });
});

test('get: damage behind the value is told, too', () => {
  const { status, stdout, stderr } = cli(['get', 'a'], { input: bytes('82 a161 07 a162 c1') });
  assert.equal(status, 1);
  assert.ok(stdout === '7' || stdout === '7\n', stdout);
  assert.equal(stderr, '<stdin>:6: The byte 0xc1 starts no value\n');
});

test('get: what is no path', () => {
  const hint = 'A path is like users[3].name or users[3]["first name"].\n';
  for (const [path, shown] of [
    ['', ''],
    ['a.', 'a ⟶ .'],
    ['a..b', 'a ⟶ ..b'],
    ['a[', 'a ⟶ ['],
    ['a[-1]', 'a ⟶ [-1]'],
    ['a[b]', 'a ⟶ [b]'],
    ['[0]b', '[0] ⟶ b'],
    ['$a', '$ ⟶ a'],
    ['a["\\q"]', 'a ⟶ ["\\q"]'],
  ]) {
    assert.deepEqual(get(path), {
      status: 2,
      stdout: '',
      stderr: `msgpack-rs get: '${shown}' is no path\n${hint}`,
    });
  }
  assert.deepEqual(cli(['get']), {
    status: 2,
    stdout: '',
    stderr: `msgpack-rs get: The path is missing\nTry 'msgpack-rs get --help'.\n`,
  });
});

test('paths are steps', () => {
  for (const [path, steps] of [
    ['$', []],
    ['a', ['a']],
    ['.a', ['a']],
    ['$.a.b', ['a', 'b']],
    ['a[3].b', ['a', 3, 'b']],
    ['[0][10]', [0, 10]],
    ['a b.ключ.3', ['a b', 'ключ', '3']],
    ['["a.b"]["]"]["\\""]', ['a.b', ']', '"']],
    ['$["\\u00e9\\n"]', ['é\n']],
  ]) {
    assert.deepEqual(readPath(path), steps, path);
  }
});

test('from-json: --exts, --binary, --utf8', () => {
  const json = '{"$ext":5,"data":"AQI="}';
  packs(fromJson(json), '82 a424657874 05 a464617461 a44151493d');
  packs(fromJson(json, '--exts'), 'd5 05 0102');
  packs(fromJson('{"$ext":5,"data":"0102"}', '--exts', '--binary', 'hex'), 'd5 05 0102');
  packs(fromJson(bytes('22 61 ff 22')), 'a4 61 efbfbd');
  const { status, stdout, stderr } = fromJson(bytes('31 20 22 61 ff 22'), '--utf8', 'fatal');
  assert.deepEqual([status, hex(stdout)], [1, '01']);
  assert.match(stderr, /^<stdin>:1:5: /);
});

test('extensions are what they are on the wire', () => {
  const { status, stdout } = toJson(pack(new Ext(5, Buffer.of(1, 2))));
  assert.equal(status, 0);
  assert.deepEqual(JSON.parse(stdout), { $ext: 5, data: 'AQI=' });
  assert.equal(unpackMultiple(fromJson('[1]').stdout).length, 1);
});
