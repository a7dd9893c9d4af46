import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack } from '../index.js';
import { cli, scratch } from './cli-helpers.mjs';
import { bytes } from './helpers.mjs';

const files = scratch();

const good = files.put('good.msgpack', Buffer.concat([pack({ a: [1, { b: null }] }), pack(2)]));

test('validate says what a file has', () => {
  const counts = '2 messages, 10 bytes, 8 values, 3 levels';
  assert.deepEqual(cli(['validate', good]), {
    status: 0,
    stdout: `${good}: ${counts}\n`,
    stderr: '',
  });
  assert.deepEqual(cli(['validate'], { input: files.read('good.msgpack') }), {
    status: 0,
    stdout: `<stdin>: ${counts}\n`,
    stderr: '',
  });
});

test('validate: one of each, and nothing', () => {
  const of = (input) => cli(['validate'], { input }).stdout;
  assert.equal(of(bytes('c0')), '<stdin>: 1 message, 1 byte, 1 value, 0 levels\n');
  assert.equal(of(bytes('90')), '<stdin>: 1 message, 1 byte, 1 value, 1 level\n');
  assert.equal(of(''), '<stdin>: 0 messages, 0 bytes, 0 values, 0 levels\n');
});

test('validate: bad files, with the place', () => {
  const c1 = files.put('c1', bytes('01 92 02 c1'));
  const short = files.put('short', bytes('01 92 02 a5 61'));
  assert.deepEqual(cli(['validate', c1, good, short]), {
    status: 1,
    stdout: `${good}: 2 messages, 10 bytes, 8 values, 3 levels\n`,
    stderr:
      `${c1}:3: The byte 0xc1 starts no value\n` +
      `${short}:3: The input ends in the middle of a value\n`,
  });
});

test('validate --quiet says only what is wrong', () => {
  assert.deepEqual(cli(['validate', '-q', good]), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(cli(['validate', '--quiet', '-'], { input: bytes('c1') }), {
    status: 1,
    stdout: '',
    stderr: '<stdin>:0: The byte 0xc1 starts no value\n',
  });
});

test('validate --utf8 and --max-depth', () => {
  const input = bytes('a1 ff');
  assert.equal(cli(['validate'], { input }).status, 0);
  assert.deepEqual(cli(['validate', '--utf8', 'fatal'], { input }), {
    status: 1,
    stdout: '',
    stderr: '<stdin>:0: A string is not well-formed UTF-8\n',
  });
  const deep = bytes('91 91 90');
  assert.equal(cli(['validate', '--max-depth', '3'], { input: deep }).status, 0);
  assert.deepEqual(cli(['validate', '--max-depth', '2'], { input: deep }), {
    status: 1,
    stdout: '',
    stderr: '<stdin>:2: Nested deeper than maxDepth\n',
  });
});
