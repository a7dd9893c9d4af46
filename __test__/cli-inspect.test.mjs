// msgpack-rs inspect: every character of what it prints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, Timestamp } from '../index.js';
import { cli, scratch } from './cli-helpers.mjs';
import { bytes } from './helpers.mjs';

const files = scratch();

const MESSAGE = bytes(`
  84 a26964 07
     a474616773 92 a36e6577 cb3ff8000000000000
     a26174 d6ff 6553f100
     a3626967 c7 0c 05 00^12`);

const TREE = `\
       0  84                          fixmap, 4 pairs
       1  a2 69 64                      key: fixstr "id"
       4  07                            "id": positive fixint 7
       5  a4 74 61 67 73                key: fixstr "tags"
      10  92                            "tags": fixarray, 2 elements
      11  a3 6e 65 77                     [0]: fixstr "new"
      15  cb 3f f8 00 00 00 00 00 00      [1]: float 64 1.5
      24  a2 61 74                      key: fixstr "at"
      27  d6 ff 65 53 f1 00             "at": fixext 4 timestamp 2023-11-14T22:13:20.000Z
      33  a3 62 69 67                   key: fixstr "big"
      37  c7 0c 05 00 00 00 00 00 …     "big": ext 8 type 5, 00 00 00 00 00 00 00 00 00 00 00 00
`;

test('a tree of offsets, bytes, formats and values', () => {
  const file = files.put('message.msgpack', MESSAGE);
  const expected = { status: 0, stdout: TREE, stderr: '' };
  assert.deepEqual(cli(['inspect', file]), expected);
  assert.deepEqual(cli(['inspect'], { input: MESSAGE }), expected);
  assert.deepEqual(cli(['inspect', '-', '-o', files.at('tree.txt')], { input: MESSAGE }), {
    ...expected,
    stdout: '',
  });
  assert.equal(files.read('tree.txt', 'utf8'), TREE);
});

test('messages one behind the other, and nothing at all', () => {
  assert.deepEqual(cli(['inspect'], { input: bytes('01 a0 c0') }), {
    status: 0,
    stdout: `\
       0  01                          positive fixint 1
       1  a0                          fixstr ""
       2  c0                          nil
`,
    stderr: '',
  });
  assert.deepEqual(cli(['inspect']), { status: 0, stdout: '', stderr: '' });
});

test('--hex', () => {
  const { stdout } = cli(['inspect', '--hex'], { input: pack(Array(12).fill(0)) });
  assert.equal(
    stdout.split('\n')[11],
    '0000000b  00                            [10]: positive fixint 0',
  );
});

test('a damaged file: all up to the fault, and what is wrong and where', () => {
  const damaged = Buffer.from(MESSAGE);
  damaged[15] = 0xc1;
  const file = files.put('damaged.msgpack', damaged);
  assert.deepEqual(cli(['inspect', file]), {
    status: 1,
    stdout: `${TREE.split('\n').slice(0, 6).join('\n')}
      15  c1                              [1]: !! 0xc1 is the byte that MessagePack never uses
          in element 2 of 2 of the array at 10
          in value 2 of 4 of the map at 0
          7: 61 67 73 92 a3 6e 65 77 c1 3f f8 00 00 00 00 00 00
                                     ^^
`,
    stderr: `${file}:15: The byte 0xc1 starts no value\n`,
  });
});

test('a file that ends too soon', () => {
  const file = files.put('short.msgpack', MESSAGE.subarray(0, 14));
  assert.deepEqual(cli(['inspect', file]), {
    status: 1,
    stdout: `${TREE.split('\n').slice(0, 5).join('\n')}
      11  a3 6e 65 …                      [0]: fixstr "ne…" (3 bytes)
      14                                  !! the input ends here: 1 byte of the fixstr at 11 is missing
          in element 1 of 2 of the array at 10
          in value 2 of 4 of the map at 0
          0: 84 a2 69 64 07 a4 74 61 67 73 92 a3 6e 65
                                                       ^^
`,
    stderr: `${file}:11: The input ends in the middle of a value\n`,
  });
});

test('every prefix of a message is shown up to its end, with status 1', () => {
  // One process for all of them.
  const names = [];
  for (let length = 1; length < MESSAGE.length; length++) {
    names.push(files.put(`prefix-${length}`, MESSAGE.subarray(0, length)));
  }
  const { status, stdout, stderr } = cli(['inspect', ...names]);
  assert.equal(status, 1);
  const found = stderr.trimEnd().split('\n');
  assert.equal(found.length, names.length);
  assert.equal(stdout.match(/!! the input ends here/g).length, names.length);
  // Where the value starts that is not complete, or would start.
  const starts = TREE.trimEnd()
    .split('\n')
    .map((line) => Number(line.slice(0, 8)));
  for (const [i, line] of found.entries()) {
    const start = starts.findLast((each) => each <= i + 1);
    assert.equal(line, `${names[i]}:${start}: The input ends in the middle of a value`);
  }
});

test('nested deeper than it is to be', () => {
  const input = bytes('91^5 90');
  assert.equal(cli(['inspect', '--max-depth', '6'], { input }).status, 0);
  const { status, stdout, stderr } = cli(['inspect', '--max-depth', '5'], { input });
  assert.equal(status, 1);
  assert.match(stdout, /^ {7}5 {2}90 {36}\[0\]: !! nested deeper than 5 levels$/m);
  assert.equal(stderr, '<stdin>:5: Nested deeper than maxDepth\n');
});

test('a hundred thousand levels, of which sixteen are indented', () => {
  const depth = 100_000;
  const { status, stdout } = cli(['inspect'], { input: bytes(`91^${depth} c0`) });
  assert.equal(status, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, depth + 1);
  assert.equal(lines.at(-1), `  100000  c0${' '.repeat(26 + 32)}(100000 deep) [0]: nil`);
});

test('text that could steer a terminal is escaped', () => {
  const { stdout } = cli(['inspect'], { input: pack('\x1b]0;title\x07\u{9b}31m\u202e') });
  assert.ok(stdout.endsWith('fixstr "\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}"\n'), stdout);
});

test('a long string and a long binary are cut, however they arrive', () => {
  const input = Buffer.concat([pack('é'.repeat(100_000)), pack(Buffer.alloc(100_000, 7))]);
  const { status, stdout } = cli(['inspect'], { input });
  assert.equal(status, 0);
  assert.equal(
    stdout,
    `       0  db 00 03 0d 40 c3 a9 c3 …   str 32 "${'é'.repeat(32)}…" (200000 bytes)\n` +
      `  200005  c6 00 01 86 a0 07 07 07 …   bin 32 ${Array(16).fill('07').join(' ')}… (100000 bytes)\n`,
  );
});

test('nanoseconds, and timestamps that are none', () => {
  const input = Buffer.concat([
    pack(new Timestamp(1_700_000_000n, 1)),
    pack(new Timestamp(-1n, 999_999_999)),
    pack(new Ext(-1, Buffer.alloc(3))),
  ]);
  const { status, stdout } = cli(['inspect'], { input });
  assert.equal(status, 0);
  assert.deepEqual(
    stdout.split('\n').map((line) => line.slice(38)),
    [
      'fixext 8 timestamp 2023-11-14T22:13:20.000000001Z',
      'ext 8 timestamp 1969-12-31T23:59:59.999999999Z',
      'ext 8 type -1, 00 00 00 is no timestamp',
      '',
    ],
  );
});

test('colours: none into a pipe or a file, unless they are forced', () => {
  const input = MESSAGE;
  const plain = cli(['inspect'], { input }).stdout;
  assert.equal(plain, TREE);
  for (const env of [{ FORCE_COLOR: '0' }, { NO_COLOR: '1' }, { TERM: 'xterm-256color' }]) {
    assert.equal(cli(['inspect'], { input, env }).stdout, plain);
  }
  for (const env of [
    { FORCE_COLOR: '1' },
    { FORCE_COLOR: '' },
    { FORCE_COLOR: '1', NO_COLOR: '1' },
  ]) {
    const { stdout, stderr } = cli(['inspect'], { input, env });
    assert.equal(stderr, '');
    assert.notEqual(stdout, plain);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them.
    assert.equal(stdout.replaceAll(/\x1b\[[\d;]*m/g, ''), plain);
    assert.ok(stdout.includes('\x1b[36mfixmap\x1b[0m'));
  }
  const env = { FORCE_COLOR: '1' };
  assert.equal(cli(['inspect', '-o', files.at('plain.txt')], { input, env }).status, 0);
  assert.equal(files.read('plain.txt', 'utf8'), plain);
});
