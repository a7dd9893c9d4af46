// msgpack-rs bench: what it compares, not how fast it is.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pack } from '../index.js';
import { cli, root, scratch } from './cli-helpers.mjs';
import { bytes } from './helpers.mjs';

const files = scratch();

/** The tables by their titles: rows of a label, a ratio, bytes, and whether there is a mark. */
function tables(stdout) {
  const result = {};
  for (const block of stdout.split('\n\n').slice(1)) {
    const [head, ...lines] = block.trimEnd().split('\n');
    if (!head.includes(' ratio ')) continue;
    const [, title] = /^(.*?) {2,}time {2,}ratio/.exec(head);
    result[title] = lines.map((line) => {
      const row = /^ {2}(.*?) +([\d.]+) (µs|ms|s) +([\d.]+)×(?: +(\d+))?( +\*)?$/.exec(line);
      assert.ok(row, line);
      const [, label, time, , ratio, size, mark] = row;
      assert.ok(Number(time) > 0, line);
      return { label, ratio: Number(ratio), size: Number(size), isMarked: mark !== undefined };
    });
  }
  return result;
}

const value = { id: 7, name: 'Ada', tags: ['new', 'vip'], score: 1.5 };
const json = JSON.stringify(value);

test('a JSON file against JSON and the packages that are installed', () => {
  const file = files.put('value.json', json);
  const { status, stdout, stderr } = cli(['bench', file], { cwd: root });
  assert.deepEqual([status, stderr], [0, '']);
  assert.ok(stdout.startsWith(`${file}: JSON, 1 message, ${json.length} bytes\nNode.js `), stdout);
  const found = tables(stdout);
  assert.deepEqual(Object.keys(found), [
    'pack',
    'unpack',
    'MessagePack to JSON text',
    'JSON text to MessagePack',
  ]);
  for (const title of ['pack', 'unpack']) {
    const rows = found[title];
    assert.deepEqual(
      rows.slice(0, 3).map(({ label }) => label.replace(/ \d.*/, '')),
      ['msgpack-rs', 'JSON, as a string', 'JSON, as a Buffer'],
    );
    const peers = rows.slice(3).map(({ label }) => label);
    assert.ok(
      peers.some((label) => /^msgpackr 2\.\d+\.\d+$/.test(label)),
      peers.join(),
    );
    assert.ok(
      peers.some((label) => /^@msgpack\/msgpack 3\.\d+\.\d+/.test(label)),
      peers.join(),
    );
    assert.equal(rows[0].ratio, 1);
    assert.equal(rows[0].size, pack(value).length);
    assert.equal(rows[1].size, json.length);
    assert.ok(rows.every(({ isMarked }) => !isMarked));
  }
  assert.deepEqual(
    found['JSON text to MessagePack'].map(({ label }) => label),
    ['jsonToMsgpack', 'pack(JSON.parse())'],
  );
});

test('a MessagePack file whose values JSON does not have', () => {
  const messages = [{ at: new Date(0) }, { bin: Buffer.of(1) }];
  const file = files.put('values.msgpack', Buffer.concat(messages.map((each) => pack(each))));
  const { status, stdout, stderr } = cli(['bench', '--quick', file], { cwd: files.dir });
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(stdout, /: MessagePack, 2 messages, \d+ bytes\n/);
  const { pack: rows } = tables(stdout);
  // Nothing is installed in that directory.
  assert.deepEqual(
    rows.map(({ isMarked }) => isMarked),
    [false, true, true],
  );
  assert.match(stdout, /\n\* with another result: not all values come back as they were\n/);
});

test('a package that cannot take a value is named with its reason', () => {
  const dir = files.at('project');
  mkdirSync(path.join(dir, 'node_modules', 'msgpack-lite'), { recursive: true });
  files.put(
    'project/node_modules/msgpack-lite/package.json',
    '{"name":"msgpack-lite","version":"9.8.7"}',
  );
  files.put(
    'project/node_modules/msgpack-lite/index.js',
    'exports.encode = () => { throw new Error("not today"); };',
  );
  const file = files.put('big.msgpack', pack(2n ** 60n));
  const { status, stdout } = cli(['bench', '--quick', file], { cwd: dir });
  assert.equal(status, 0);
  assert.match(stdout, /\nmsgpack-lite 9\.8\.7 does not take part: not today\n/);
  assert.match(stdout, /\nJSON, as a string does not take part: .*BigInt/);
  assert.deepEqual(
    tables(stdout).pack.map(({ label }) => label.replace(/ \d.*/, '')),
    ['msgpack-rs'],
  );
});

test('JSON Lines, and --format', () => {
  const file = files.put('lines', '1\n[2]\n');
  const { stdout } = cli(['bench', '--quick', file]);
  assert.match(stdout, /: JSON, 2 messages, 6 bytes\n/);
  // The same bytes are six messages: digits, brackets and line feeds are fixints.
  assert.match(
    cli(['bench', '--quick', '--format', 'msgpack', file]).stdout,
    /: MessagePack, 6 messages, 6 bytes\n/,
  );
});

test('bad data, nothing to measure, and wrong calls', () => {
  const damaged = files.put('damaged.msgpack', bytes('01 c1'));
  assert.deepEqual(cli(['bench', damaged]), {
    status: 1,
    stdout: '',
    stderr: `${damaged}:1: The byte 0xc1 starts no value\n`,
  });
  const text = files.put('damaged.json', '[1,\n2,}');
  const { status, stderr } = cli(['bench', text]);
  assert.equal(status, 1);
  assert.ok(stderr.startsWith(`${text}:2:3: `), stderr);
  const empty = files.put('empty.json', '');
  assert.deepEqual(cli(['bench', empty]), {
    status: 1,
    stdout: '',
    stderr: `${empty}: there is nothing to measure\n`,
  });
  const missing = files.at('missing');
  assert.deepEqual(cli(['bench', missing]), {
    status: 1,
    stdout: '',
    stderr: `msgpack-rs: ${missing}: no such file or directory\n`,
  });
  assert.deepEqual(cli(['bench']), {
    status: 2,
    stdout: '',
    stderr: `msgpack-rs bench: One file is needed, not none\nTry 'msgpack-rs bench --help'.\n`,
  });
});
