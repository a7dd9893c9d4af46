// Worker threads: loaded only in workers that exit, many at once, terminated at any moment.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { pack, unpack } from '../index.js';
import { hex, stillWorks } from './helpers.mjs';

const index = fileURLToPath(new URL('../index.js', import.meta.url));
const run = promisify(execFile);

/** A program in a process of its own; it must end by itself with exit code 0. */
async function child(source, args = []) {
  const { stdout } = await run(process.execPath, [...args, '-e', source], { timeout: 60_000 });
  return stdout.trim();
}

const VALUE = {
  id: 1,
  name: 'worker é',
  list: [1, 2.5, 'x', null],
  data: Buffer.from([1, 2]),
  19: { a: [] },
};

/** Work for a worker: packs and unpacks shapes of its own and reports what it saw. */
const WORK = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { pack, unpack } = require(workerData.index);
  for (let i = 0; i < workerData.rounds; i++) {
    const value = { ['w' + workerData.id]: i, name: 'n' + i, list: [i, i + 0.5, 'é'.repeat(i % 50)], same: { a: 1 } };
    const back = unpack(pack(value));
    if (JSON.stringify(back) !== JSON.stringify(value)) throw new Error('wrong: ' + JSON.stringify(back));
    if (i % 10 === 0) {
      try { pack({ a: 2n ** 64n }); throw new Error('no error'); } catch (e) { if (e.code !== 'ERR_MSGPACK_OUT_OF_RANGE') throw e; }
      try { unpack(Buffer.from('92c1', 'hex')); throw new Error('no error'); } catch (e) { if (e.name !== 'MsgpackError') throw e; }
    }
  }
  parentPort.postMessage(pack(workerData.value ?? 'done').toString('hex'));`;

function start(id, rounds, value) {
  const worker = new Worker(WORK, { eval: true, workerData: { index, id, rounds, value } });
  const result = new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`exit ${code} without a message`)));
  });
  return { worker, result };
}

test('loaded only in a worker that exits, five times over, never in the main thread', async () => {
  const out = await child(`
    const { Worker } = require('node:worker_threads');
    const source = "const { pack, unpack } = require(" + ${JSON.stringify(JSON.stringify(index))} + ");" +
      "for (let i = 0; i < 200; i++) unpack(pack({ i, s: 'x'.repeat(i) }));";
    (async () => {
      for (let i = 0; i < 5; i++) {
        const code = await new Promise((resolve, reject) =>
          new Worker(source, { eval: true }).on('exit', resolve).on('error', reject));
        if (code !== 0) process.exit(3);
      }
      console.log('ended');
    })();`);
  assert.equal(out, 'ended');
});

test('loaded in a worker first, then in the main thread, then in a worker again', async () => {
  const out = await child(`
    const { Worker } = require('node:worker_threads');
    const index = ${JSON.stringify(index)};
    const source = "require(" + JSON.stringify(index) + ").pack({ a: 1 })";
    const once = () => new Promise((resolve, reject) => new Worker(source, { eval: true }).on('exit', resolve).on('error', reject));
    (async () => {
      await once();
      const { pack, unpack } = require(index);
      const first = pack({ a: [1, 'two'] }).toString('hex');
      await once();
      await Promise.all([once(), once(), once()]);
      if (pack({ a: [1, 'two'] }).toString('hex') !== first) process.exit(4);
      console.log(JSON.stringify(unpack(Buffer.from(first, 'hex'))));
    })();`);
  assert.equal(out, '{"a":[1,"two"]}');
});

test('process.exit in the middle of work, with workers busy, ends at once with its code', async () => {
  const out = await child(`
    const { Worker } = require('node:worker_threads');
    const index = ${JSON.stringify(index)};
    const source = "const { pack, unpack } = require(" + JSON.stringify(index) + "); require('node:worker_threads').parentPort.postMessage(1); for (;;) unpack(pack({ a: [1, 'x', 0.5] }));";
    let ready = 0;
    for (let i = 0; i < 3; i++) new Worker(source, { eval: true }).on('message', () => {
      if (++ready === 3) { console.log('leaving'); process.exit(0); }
    });`);
  assert.equal(out, 'leaving');
});

test('several workers at once, and the main thread beside them, all right', async () => {
  const workers = Array.from({ length: 4 }, (_, id) => start(id, 300, VALUE));
  for (let i = 0; i < 300; i++) {
    const value = { main: i, list: [i, `${i}`, i / 2] };
    assert.deepStrictEqual(unpack(pack(value)), value);
  }
  const expected = hex(pack(VALUE));
  for (const { result } of workers) assert.equal(await result, expected);
  stillWorks();
});

test('workers terminated abruptly while they pack and unpack', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { pack, unpack } = require(workerData);
    parentPort.postMessage('busy');
    for (let i = 0; ; i++) unpack(pack({ i, s: 'text '.repeat(i % 300), l: [1, 0.5, { k: i }], b: Buffer.alloc(i % 5000) }));`;
  for (let round = 0; round < 6; round++) {
    const worker = new Worker(source, { eval: true, workerData: index });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    if (round % 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(await worker.terminate(), 1);
    stillWorks();
  }
});

test('a worker terminated in a getter, inside a call', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { pack } = require(workerData);
    pack({ a: 'x', get g() { parentPort.postMessage('inside'); for (;;); } });`;
  for (let round = 0; round < 3; round++) {
    const worker = new Worker(source, { eval: true, workerData: index });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    assert.equal(await worker.terminate(), 1);
  }
  stillWorks();
});

test('results can be posted and transferred, and are then whole', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { pack } = require(workerData);
    parentPort.postMessage(pack({ small: 1 }));
    parentPort.postMessage(pack({ large: 'x'.repeat(100000) }));
    parentPort.postMessage('end');`;
  const worker = new Worker(source, { eval: true, workerData: index });
  const messages = [];
  await new Promise((resolve, reject) => {
    worker.on('message', (message) => (message === 'end' ? resolve() : messages.push(message)));
    worker.once('error', reject);
  });
  await worker.terminate();
  assert.deepStrictEqual(
    messages.map((m) => unpack(m)),
    [{ small: 1 }, { large: 'x'.repeat(100_000) }],
  );
});

test('transferring one small result does not take others with it', () => {
  const results = Array.from({ length: 50 }, (_, i) => pack({ i }));
  for (const result of results.filter((_, i) => i % 7 === 0)) {
    try {
      structuredClone(result.buffer, { transfer: [result.buffer] });
    } catch (error) {
      assert.equal(error.name, 'DataCloneError');
    }
  }
  for (let i = 0; i < 50; i++) {
    if (i % 7 !== 0) assert.deepStrictEqual(unpack(results[i]), { i });
  }
  stillWorks();
});

test('a SharedArrayBuffer that a worker writes to while it is decoded and packed', async () => {
  const shared = new SharedArrayBuffer(4096);
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const bytes = new Uint8Array(workerData);
     parentPort.postMessage(1);
     for (let i = 0; ; i++) { bytes[i % 4096] = (i * 7919) >> 3; if (i % 64 === 0) bytes[0] = 0xdc; }`,
    { eval: true, workerData: shared },
  );
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  for (let i = 0; i < 2000; i++) {
    try {
      unpack(i % 2 ? shared : new Uint8Array(shared));
    } catch (error) {
      assert.equal(error.name, 'MsgpackError', error.stack);
    }
    assert.equal(unpack(pack({ v: new Uint8Array(shared) })).v.length, 4096);
  }
  await worker.terminate();
  stillWorks();
});
