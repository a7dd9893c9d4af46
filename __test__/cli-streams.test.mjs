// Streams without an end in memory, readers that stop reading, and writers that stop writing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync, truncateSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pack } from '../index.js';
import { ended, scratch, start } from './cli-helpers.mjs';
import { bytes } from './helpers.mjs';

const files = scratch();
const meter = fileURLToPath(new URL('cli-peak-memory.cjs', import.meta.url));

const MAX_MB = 200;
const STREAM_BYTES = 300e6;

/**
 * Runs a command on `pieces` and counts what it writes. Returns how it ended, the number of bytes
 * and lines, the first and the last of the output, and the most memory it had, in megabytes.
 */
async function measured(args, pieces, options = {}) {
  const peak = files.at(`peak-${args[0]}`);
  const child = start(args, {
    env: { PEAK_MEMORY_FILE: peak },
    nodeFlags: ['--require', meter],
    ...options,
  });
  const result = { bytes: 0, lines: 0, head: null, tail: Buffer.alloc(0) };
  child.stdout.on('data', (chunk) => {
    result.head ??= Buffer.from(chunk.subarray(0, 5));
    result.bytes += chunk.length;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) result.lines += 1;
    result.tail = Buffer.concat([result.tail, chunk]).subarray(-200);
  });
  const end = ended(child);
  if (pieces) await pipeline(Readable.from(pieces), child.stdin);
  Object.assign(result, await end);
  result.megabytes = Number(files.read(`peak-${args[0]}`, 'utf8')) / 1024;
  return result;
}

function* repeat(piece, times) {
  for (let i = 0; i < times; i++) yield piece;
}

function isGood({ status, stderr, megabytes }) {
  assert.deepEqual([status, stderr], [0, '']);
  assert.ok(megabytes < MAX_MB, `${megabytes} MB`);
}

const record = { id: 123456, name: 'Ada Lovelace', ok: true, score: 1.5, text: 'é'.repeat(2000) };
const PER_BLOCK = 250;
const messages = Buffer.concat(Array(PER_BLOCK).fill(pack(record)));
const line = `${JSON.stringify(record)}\n`;
const lines = Buffer.from(line.repeat(PER_BLOCK));
const blocks = Math.ceil(STREAM_BYTES / messages.length);
const count = blocks * PER_BLOCK;

test('to-json: 300 MB of messages in bounded memory', async () => {
  const result = await measured(['to-json'], repeat(messages, blocks));
  isGood(result);
  assert.equal(result.lines, count);
  assert.equal(result.bytes, blocks * lines.length);
  assert.ok(result.tail.toString().endsWith(line.slice(-100)));
});

test('to-json: one array of 300 MB in bounded memory', async () => {
  const head = Buffer.from([0xdd, 0, 0, 0, 0]);
  head.writeUInt32BE(count, 1);
  const pieces = [[head], repeat(messages, blocks)];
  const result = await measured(
    ['to-json'],
    (function* () {
      for (const each of pieces) yield* each;
    })(),
  );
  isGood(result);
  assert.equal(result.lines, 1);
  // Commas and brackets take the place of line feeds, but for the last one.
  assert.equal(result.bytes, blocks * lines.length + 2);
  assert.ok(result.tail.toString().endsWith('é"}]\n'));
});

test('from-json: 300 MB of JSON Lines in bounded memory', async () => {
  const result = await measured(['from-json'], repeat(lines, blocks));
  isGood(result);
  assert.equal(result.bytes, blocks * messages.length);
  assert.deepEqual(result.tail.subarray(-100), messages.subarray(-100));
});

test('from-json: a file that is one array of 300 MB in bounded memory', async () => {
  const file = files.put('array.json', '[\n');
  const fd = openSync(file, 'a');
  const elements = Buffer.from(`${JSON.stringify(record)},\n`.repeat(PER_BLOCK));
  for (let i = 0; i < blocks; i++) writeSync(fd, elements);
  writeSync(fd, '"the last"]\n');
  closeSync(fd);
  const result = await measured(['from-json', file], null);
  isGood(result);
  const head = Buffer.from([0xdd, 0, 0, 0, 0]);
  head.writeUInt32BE(count + 1, 1);
  const last = pack('the last');
  assert.equal(result.bytes, head.length + blocks * messages.length + last.length);
  assert.deepEqual(result.head, head);
  assert.deepEqual(
    result.tail.subarray(-100 - last.length),
    Buffer.concat([messages.subarray(-100), last]),
  );
});

test('from-json: a fault far behind in a large array', async () => {
  const times = Math.ceil(17e6 / lines.length);
  const elements = `${JSON.stringify(record)},\n`.repeat(PER_BLOCK * times);
  const file = files.put('bad-array.json', `[\n${elements}  nul]\n`);
  const result = await measured(['from-json', file], null);
  assert.equal(result.status, 1);
  // An array 16.
  assert.equal(result.bytes, 3 + times * messages.length);
  const place = `${PER_BLOCK * times + 2}:6`;
  assert.equal(result.stderr, `${file}:${place}: Bad JSON: expected more of a value\n`);
});

test('get: one value out of each message of 300 MB, in bounded memory', async () => {
  const result = await measured(['get', 'score'], repeat(messages, blocks));
  isGood(result);
  assert.equal(result.lines, count);
  assert.equal(result.bytes, 4 * count);
});

test('inspect: 300 MB of messages in bounded memory', async () => {
  const result = await measured(['inspect'], repeat(messages, blocks));
  isGood(result);
  // The map, and key and value of each property.
  assert.equal(result.lines, 11 * count);
});

test('inspect: one binary of 300 MB in bounded memory', async () => {
  const head = bytes('c6 11e1a300'); // 300 000 000
  const file = files.put('binary.msgpack', head);
  truncateSync(file, head.length + 300_000_000);
  const result = await measured(['inspect', file], null);
  isGood(result);
  assert.equal(result.lines, 1);
  assert.ok(result.tail.toString().endsWith('… (300000000 bytes)\n'));
});

test('validate: 300 MB of messages in bounded memory', async () => {
  const result = await measured(['validate'], repeat(messages, blocks));
  isGood(result);
  const total = blocks * messages.length;
  assert.equal(
    result.tail.toString(),
    `<stdin>: ${count} messages, ${total} bytes, ${11 * count} values, 1 level\n`,
  );
});

/** Writes `piece` to a child for as long as that reads. */
async function writeOn(child, piece) {
  child.stdin.on('error', () => {});
  while (!child.stdin.destroyed) {
    // Rejected when the child has gone.
    if (!child.stdin.write(piece)) await once(child.stdin, 'drain').catch(() => {});
  }
}

test('a reader that has seen enough ends the command quietly, as head does', {
  skip: process.platform === 'win32' && 'there are no such pipes',
}, async () => {
  for (const args of [['to-json'], ['inspect'], ['from-json']]) {
    const child = start(args);
    const end = ended(child);
    child.stdout.once('data', () => child.stdout.destroy());
    await writeOn(child, args[0] === 'from-json' ? lines : messages);
    assert.deepEqual(await end, { status: 141, signal: null, stderr: '' }, args[0]);
  }
});

test('a slow reader is waited for', async () => {
  const child = start(['to-json'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  // The first piece of output is there, and no more is asked for.
  let written = 0;
  child.stdin.write(messages);
  await once(child.stdout, 'readable');
  const isFull = () => child.stdin.writableLength > 0;
  while (written < 100 * messages.length) {
    written += messages.length;
    if (!child.stdin.write(messages)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (isFull()) break;
    }
  }
  // What fits into pipes and buffers, and not all there is.
  assert.ok(written < 20 * messages.length, `${written} bytes were taken`);
  child.kill();
  await once(child, 'exit');
});

test('what comes in pieces is written as it becomes certain', async () => {
  const child = start(['to-json']);
  const end = ended(child);
  child.stdin.write(bytes('82 a161 01 a1'));
  const [first] = await once(child.stdout, 'data');
  assert.ok('{"a":1'.startsWith(first.toString().slice(0, 6)), first.toString());
  let text = first.toString();
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  child.stdin.end(bytes('62 c3'));
  assert.deepEqual(await end, { status: 0, signal: null, stderr: '' });
  assert.equal(text, '{"a":1,"b":true}\n');
});

test('bad data ends the reading, too: whoever goes on writing is not waited for', async () => {
  const child = start(['to-json']);
  child.stdin.on('error', () => {});
  child.stdout.resume();
  const end = ended(child);
  // Standard input stays open.
  child.stdin.write(bytes('01 c1'));
  const { status, stderr } = await end;
  assert.deepEqual([status, stderr], [1, '<stdin>:1: The byte 0xc1 starts no value\n']);
});

test('standard input that is a file is one', async () => {
  const file = files.put('stdin.msgpack', pack([1, 2]));
  const fd = openSync(file, 'r');
  const result = await measured(['to-json'], null, { stdio: [fd, 'pipe', 'pipe'] });
  closeSync(fd);
  assert.equal(result.tail.toString(), '[1,2]\n');
});
