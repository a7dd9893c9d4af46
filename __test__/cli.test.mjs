// What all commands have in common: help, versions, wrong calls, files and how they end.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pack } from '../index.js';
import { cli, root, scratch } from './cli-helpers.mjs';

const files = scratch();
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const COMMANDS = ['to-json', 'from-json', 'inspect', 'get', 'validate', 'bench'];

/** A wrong call: status 2, a message and a hint, and nothing else. */
function wrong(args, message, hint, options) {
  assert.deepEqual(cli(args, options), { status: 2, stdout: '', stderr: `${message}\n${hint}\n` });
}

test('the package names its commands, and they start Node.js', () => {
  assert.deepEqual(Object.keys(manifest.bin), ['msgpack-rs', 'json2msgpack', 'msgpack2json']);
  for (const [name, file] of Object.entries(manifest.bin)) {
    assert.equal(file, `bin/${name}.js`);
    const text = readFileSync(path.join(root, file), 'utf8');
    assert.ok(text.startsWith('#!/usr/bin/env node\n'), file);
    assert.ok(!text.includes('\r'), file);
  }
});

test('--version', () => {
  for (const flag of ['--version', '-V']) {
    assert.deepEqual(cli([flag]), { status: 0, stdout: `${manifest.version}\n`, stderr: '' });
  }
});

test('help lists the commands, with examples', () => {
  const { status, stdout, stderr } = cli(['--help']);
  assert.equal(status, 0);
  assert.equal(stderr, '');
  for (const name of COMMANDS) assert.match(stdout, new RegExp(`^  ${name} +\\S`, 'm'));
  assert.match(stdout, /^Examples:\n {2}msgpack-rs to-json /m);
  assert.match(stdout, /^Exit status: /m);
  for (const args of [['-h'], ['help']]) assert.equal(cli(args).stdout, stdout);
});

test('help of a command, three ways, in lines that fit a terminal', () => {
  for (const name of COMMANDS) {
    const { status, stdout, stderr } = cli(['help', name]);
    assert.equal(status, 0);
    assert.equal(stderr, '');
    assert.ok(stdout.startsWith(`Usage: msgpack-rs ${name} `), stdout);
    assert.match(stdout, new RegExp(`^Examples:\n  msgpack-rs ${name} `, 'm'));
    for (const line of stdout.split('\n')) assert.ok(line.length <= 88, `${name}: ${line}`);
    assert.equal(cli([name, '--help']).stdout, stdout);
    assert.equal(cli([name, '-h', 'file']).stdout, stdout);
  }
});

test('without the addon there is help, and else what to do about it', () => {
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: files.at('no.node') };
  for (const args of [['--help'], ['help', 'bench'], ['--version']]) {
    assert.equal(cli(args, { env }).status, 0);
  }
  const { status, stdout, stderr } = cli(['to-json'], { env });
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /^msgpack-rs: .*no\.node.*\n {2}1\. Unset NAPI_RS_NATIVE_LIBRARY_PATH/s);
  assert.doesNotMatch(stderr, /^ +at /m);
});

test('the pair of the old addon speaks of itself by its own names', () => {
  for (const name of ['json2msgpack', 'msgpack2json']) {
    const { status, stdout } = cli(['--help'], { name });
    assert.equal(status, 0);
    assert.ok(stdout.startsWith(`Usage: ${name} [options] [file...]\n`), stdout);
    assert.doesNotMatch(stdout, /msgpack-rs/);
    wrong(['--no'], `${name}: Unknown option '--no'`, `Try '${name} --help'.`, { name });
  }
});

test('no command, or one that is none', () => {
  const commands = `The commands are ${COMMANDS.join(', ')}.`;
  const hint = `Try 'msgpack-rs --help'.`;
  wrong([], 'msgpack-rs: Which command?', hint);
  wrong(['foo'], `msgpack-rs: There is no command 'foo'. ${commands}`, hint);
  wrong(['help', 'foo'], `msgpack-rs: There is no command 'foo'. ${commands}`, hint);
  wrong(['--foo'], `msgpack-rs: There is no option '--foo'. ${commands}`, hint);
  // Names that every object has.
  wrong(['constructor'], `msgpack-rs: There is no command 'constructor'. ${commands}`, hint);
});

test('options that a command does not have, or values that they do not take', () => {
  const hint = `Try 'msgpack-rs inspect --help'.`;
  for (const [args, message] of [
    [['--foo'], `Unknown option '--foo'`],
    [['-x'], `Unknown option '-x'`],
    [['--hex=1'], `Option '--hex' does not take an argument`],
    [['--output'], `Option '-o, --output <value>' argument missing`],
    [['--max-depth', '0'], `--max-depth takes an integer from 1 to 1000000, not '0'`],
    [['--max-depth', '1e3'], `--max-depth takes an integer from 1 to 1000000, not '1e3'`],
    [['--max-depth', '1000001'], `--max-depth takes an integer from 1 to 1000000, not '1000001'`],
    [['-', '-'], 'Standard input can be read once'],
  ]) {
    wrong(['inspect', ...args], `msgpack-rs inspect: ${message}`, hint);
  }
  wrong(
    ['to-json', '--binary', 'base32'],
    `msgpack-rs to-json: --binary takes base64, hex or array, not 'base32'`,
    `Try 'msgpack-rs to-json --help'.`,
  );
});

test('a file is not written over while it is read', () => {
  const file = files.put('same.msgpack', pack([1, 2]));
  wrong(
    ['to-json', file, '-o', file],
    `msgpack-rs to-json: ${file}: the input is the output, too`,
    `Try 'msgpack-rs to-json --help'.`,
  );
  assert.deepEqual(files.read('same.msgpack'), pack([1, 2]));
});

test('what follows -- is a file, whatever it looks like', () => {
  files.put('--hex', pack('dashes'));
  const { status, stdout } = cli(['to-json', '--', '--hex'], { cwd: files.dir });
  assert.deepEqual([status, stdout], [0, '"dashes"\n']);
});

test('files one after the other, and standard input among them', () => {
  const one = files.put('one.msgpack', pack(1));
  const two = files.put('two.msgpack', Buffer.concat([pack(2), pack([3])]));
  assert.deepEqual(cli(['to-json', one, '-', two], { input: pack('in') }), {
    status: 0,
    stdout: '1\n"in"\n2\n[3]\n',
    stderr: '',
  });
});

test('a file that is not there, or a directory, does not keep the others from their turn', () => {
  const good = files.put('good.msgpack', pack('good'));
  const missing = files.at('missing');
  const { status, stdout, stderr } = cli(['to-json', missing, good, files.dir, good]);
  assert.equal(status, 1);
  assert.equal(stdout, '"good"\n"good"\n');
  const [first, second, ...rest] = stderr.split('\n');
  assert.equal(first, `${missing}: no such file or directory`);
  // Windows cannot even open it.
  assert.ok(second.startsWith(`${files.dir}: `), second);
  assert.deepEqual(rest, ['']);
});

test('a damaged file does not keep the others from their turn', () => {
  const bad = files.put('bad.msgpack', Buffer.concat([pack('before'), Buffer.of(0x92, 1, 0xc1)]));
  const good = files.put('good.msgpack', pack('good'));
  assert.deepEqual(cli(['to-json', bad, good]), {
    status: 1,
    stdout: '"before"\n[1,\n"good"\n'.replace('[1,\n', '[1'),
    stderr: `${bad}:9: The byte 0xc1 starts no value\n`,
  });
});

test('-o writes a file: new, over one that is there, and an empty one for nothing', () => {
  const input = pack({ a: 1 });
  const out = files.at('out.json');
  for (const expected of ['{"a":1}\n', '{"a":1}\n']) {
    const { status, stdout, stderr } = cli(['to-json', '-o', out], { input });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
    assert.equal(files.read('out.json', 'utf8'), expected);
  }
  assert.equal(cli(['to-json', '--output', out]).status, 0);
  assert.equal(files.read('out.json', 'utf8'), '');
  assert.equal(cli(['to-json', '-o', '-'], { input }).stdout, '{"a":1}\n');
});

test('an output that cannot be written is said so', () => {
  const out = path.join(files.dir, 'no', 'such', 'dir');
  const { status, stdout, stderr } = cli(['to-json', '-o', out], { input: pack(1) });
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, `msgpack-rs: ${out}: no such file or directory\n`);
  assert.ok(!existsSync(out));
});
