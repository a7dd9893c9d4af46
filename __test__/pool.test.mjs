// The functions that return promises: the same results and errors as those that do not.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import {
  Ext,
  jsonToMsgpack,
  jsonToMsgpackAsync,
  msgpackToJson,
  msgpackToJsonAsync,
  pack,
  Timestamp,
  unpack,
  unpackAsync,
  validate,
  validateAsync,
} from '../index.js';
import { bytes, generator, nestArrays, runsOf, seedOf } from './helpers.mjs';

const require = createRequire(import.meta.url);
const index = fileURLToPath(new URL('../index.js', import.meta.url));
const run = promisify(execFile);

/** A program in a process of its own; it must end by itself with exit code 0. */
async function child(source, env = {}) {
  const { stdout } = await run(process.execPath, ['-e', source], {
    timeout: 120_000,
    env: { ...process.env, ...env },
  });
  return stdout.trim();
}

async function outcome(call) {
  try {
    return { value: await call() };
  } catch (error) {
    const { code, column, line, message, name, offset } = error;
    return { code, column, line, message, name, offset };
  }
}

/** The promise comes to what the call without one comes to. */
async function same(asynchronous, call) {
  const found = await outcome(asynchronous);
  assert.deepStrictEqual(found, await outcome(call));
  return found;
}

const VALUES = [
  null,
  7,
  -0,
  NaN,
  2n ** 63n,
  '',
  'é😀',
  'x'.repeat(100_000),
  'é'.repeat(50_000),
  [],
  {},
  { a: [1, 2.5, { b: 'text' }], 19: true, __proto: null },
  Buffer.from([1, 2, 3]),
  new Ext(5, Buffer.from([1])),
  new Date(1e12),
  new Timestamp(-5n, 7),
  new Map([
    ['a', 1],
    ['b', [null]],
  ]),
  new Array(1000).fill('same'),
  Array.from({ length: 5000 }, (_, i) => i * 1.5),
  Array.from({ length: 3000 }, (_, i) => ({ id: i, name: `name ${i}`, tags: ['x', `t${i % 50}`] })),
  Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`key${i}`, i])),
  nestArrays(900, 'deep'),
];

test('unpackAsync: every kind of value, with every option', async () => {
  const all = [
    undefined,
    null,
    {},
    { int64: 'bigint' },
    { int64: 'string' },
    { maps: 'map' },
    { timestamps: 'timestamp' },
    { copyBuffers: true },
    { utf8: 'raw' },
    { maxDepth: 3 },
    { maxDepth: Infinity },
  ];
  for (const value of VALUES) {
    const message = pack(value);
    for (const options of all) {
      await same(
        () => unpackAsync(message, options),
        () => unpack(message, options),
      );
    }
  }
});

test('unpackAsync: errors with their code and offset, and the next call is right', async () => {
  const long = pack(new Array(1000).fill({ a: 'text', b: 1 }));
  const damaged = Buffer.from(long);
  damaged[long.length - 3] = 0xc1;
  for (const [input, options] of [
    [Buffer.alloc(0)],
    [bytes('c1')],
    [bytes('92 01')],
    [bytes('01 02')],
    [bytes('81 90 01')],
    [bytes('a1ff'), { utf8: 'fatal' }],
    [bytes('91 91 91 c0'), { maxDepth: 2 }],
    [bytes('d4ff00')],
    [bytes('dd ffffffff')],
    [long.subarray(0, long.length - 1)],
    [Buffer.concat([long, bytes('01')])],
    [damaged],
  ]) {
    const { code } = await same(
      () => unpackAsync(input, options),
      () => unpack(input, options),
    );
    assert.match(code, /^ERR_MSGPACK_/);
    assert.deepStrictEqual(await unpackAsync(long), unpack(long));
  }
  for (const input of [undefined, null, 'text', 1, {}, [1]]) {
    const { code } = await same(
      () => unpackAsync(input),
      () => unpack(input),
    );
    assert.equal(code, 'ERR_MSGPACK_INVALID_INPUT');
  }
});

test('jsonToMsgpackAsync and msgpackToJsonAsync: results and errors', async () => {
  for (const value of VALUES) {
    const message = pack(value);
    for (const options of [
      {},
      { space: 2 },
      { binary: 'array' },
      { nonFinite: 'throw' },
      { maxDepth: 3 },
    ]) {
      const json = await same(
        () => msgpackToJsonAsync(message, options),
        () => msgpackToJson(message, options),
      );
      if (json.value === undefined) continue;
      for (const text of [json.value, json.value.toString()]) {
        await same(
          () => jsonToMsgpackAsync(text, options.space ? {} : { ...options, exts: true }),
          () => jsonToMsgpack(text, options.space ? {} : { ...options, exts: true }),
        );
      }
    }
  }
  for (const [text, options] of [
    [''],
    ['[1,\n 2 x]'],
    ['"\\ud800"'],
    ['1 2', { multiple: true }],
    ['"é😀\ud800"'],
    [Buffer.from('"\xff"', 'latin1')],
    [Buffer.from('"\xff"', 'latin1'), { utf8: 'fatal' }],
    ['[[[]]]', { maxDepth: 2 }],
    [undefined],
    [{}],
    [`${'['.repeat(200_000)}${']'.repeat(200_000)}`, { maxDepth: Infinity }],
    ['['.repeat(200_000), { maxDepth: Infinity }],
  ]) {
    await same(
      () => jsonToMsgpackAsync(text, options),
      () => jsonToMsgpack(text, options),
    );
  }
  for (const message of ['c1', '', '92 01', '01 02', '81 81 90 01 01', '91^200000 c0']) {
    await same(
      () => msgpackToJsonAsync(bytes(message), { maxDepth: Infinity }),
      () => msgpackToJson(bytes(message), { maxDepth: Infinity }),
    );
  }
});

test('validateAsync: figures and errors', async () => {
  for (const value of VALUES) {
    const wire = pack(value);
    await same(
      () => validateAsync(wire),
      () => validate(wire),
    );
    for (const options of [{ multiple: true }, { maxDepth: 1 }, { maps: 'map', utf8: 'fatal' }]) {
      const twice = Buffer.concat([wire, wire]);
      await same(
        () => validateAsync(twice, options),
        () => validate(twice, options),
      );
    }
  }
  assert.deepStrictEqual(await validateAsync(bytes('82 01 90 a161 c0')), {
    values: 1,
    bytes: 6,
    depth: 2,
    nodes: 5,
  });
  for (const wrong of ['', 'c1', '92 01', '01 02', '81 c0 01', 'd4 ff 00', '81 90 01']) {
    const { code } = await same(
      () => validateAsync(bytes(wrong)),
      () => validate(bytes(wrong)),
    );
    assert.match(code, /^ERR_MSGPACK_/, wrong);
  }
  await same(
    () => validateAsync(new Uint8Array(0), { multiple: true }),
    () => validate(new Uint8Array(0), { multiple: true }),
  );
  const input = pack(['x'.repeat(1_000_000), { a: 1 }]);
  const promise = validateAsync(input);
  input.fill(0xc1);
  assert.deepStrictEqual(await promise, { values: 1, bytes: 1_000_010, depth: 2, nodes: 5 });
  const reason = new Error('enough');
  await assert.rejects(validateAsync(input, { signal: AbortSignal.abort(reason) }), reason);
  const unknown = { code: 'ERR_INVALID_ARG_VALUE' };
  await assert.rejects(validateAsync(input, { multiple: 1 }), unknown);
  await assert.rejects(validateAsync(input, { signal: 1 }), unknown);
  await assert.rejects(validateAsync('text'), { code: 'ERR_MSGPACK_INVALID_INPUT' });
});

test('wrong options and input reject, they do not throw', async () => {
  for (const [name, call] of Object.entries({
    jsonToMsgpackAsync,
    msgpackToJsonAsync,
    unpackAsync,
  })) {
    for (const [option, value] of [
      ['maxDepth', 0],
      ['utf8', 'no'],
      ['signal', null],
      ['signal', {}],
      ['signal', 'abort'],
      ['signal', new AbortController()],
    ]) {
      const promise = call(Buffer.from([0x31]), { [option]: value });
      assert.ok(promise instanceof Promise, name);
      await assert.rejects(promise, {
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_VALUE',
        message: new RegExp(`'${option}'`),
      });
    }
    await assert.rejects(call(Buffer.from([0x31]), 7), { code: 'ERR_INVALID_ARG_VALUE' });
    await assert.rejects(call(Symbol('x')), { code: 'ERR_MSGPACK_INVALID_INPUT' });
    assert.ok((await call(Buffer.from([0x31]), { signal: undefined })) !== undefined);
    assert.ok((await call(Buffer.from([0x31]), null)) !== undefined);
  }
});

test('the input may be changed, transferred or shared while the work goes on', async () => {
  const value = {
    list: Array.from({ length: 5000 }, (_, i) => `text ${i}`),
    data: Buffer.from('bytes'),
  };
  const message = pack(value);
  const text = JSON.stringify(value.list);
  for (const call of [unpackAsync, msgpackToJsonAsync]) {
    const expected = await call(message);
    const input = new Uint8Array(message);
    const changed = call(input);
    input.fill(0xc1);
    assert.deepStrictEqual(await changed, expected);
    const moved = new Uint8Array(message);
    const promise = call(moved);
    structuredClone(moved.buffer, { transfer: [moved.buffer] });
    assert.equal(moved.length, 0);
    assert.deepStrictEqual(await promise, expected);
    const shared = new Uint8Array(new SharedArrayBuffer(message.length));
    shared.set(message);
    const fromShared = call(shared);
    shared.fill(0xc1);
    assert.deepStrictEqual(await fromShared, expected);
  }
  const json = new Uint8Array(Buffer.from(text));
  const promise = jsonToMsgpackAsync(json);
  structuredClone(json.buffer, { transfer: [json.buffer] });
  assert.deepStrictEqual(await promise, pack(value.list));
});

test('what is binary is over a copy of the input, of which nobody else has a part', async () => {
  const message = pack([Buffer.from('one'), Buffer.from('two'), new Ext(1, Buffer.from('three'))]);
  const [first, second] = await Promise.all([unpackAsync(message), unpackAsync(message)]);
  first[0].fill(0);
  first[2].data.fill(0);
  assert.deepEqual(second, unpack(message));
  assert.deepEqual(unpack(message)[0], Buffer.from('one'));
  assert.notEqual(first[0].buffer, message.buffer);
  const texts = await Promise.all([msgpackToJsonAsync(message), msgpackToJsonAsync(message)]);
  texts[0].fill(0);
  assert.deepEqual(texts[1], msgpackToJson(message));
});

test('hundreds at once, of all three, and calls that wait for nothing between them', async () => {
  const values = Array.from({ length: 400 }, (_, i) => ({
    id: i,
    [`own${i % 60}`]: `text ${i % 7}`,
    list: Array.from({ length: i }, (_, n) => ({ n, s: `${n % 10}` })),
  }));
  const messages = values.map((value) => pack(value));
  const unpacked = messages.map((message) => unpackAsync(message));
  const texts = messages.map((message) => msgpackToJsonAsync(message));
  const packed = values.map((value) => jsonToMsgpackAsync(JSON.stringify(value)));
  assert.deepStrictEqual(unpack(messages[399]), values[399]);
  assert.deepStrictEqual(await Promise.all(unpacked), values);
  assert.deepStrictEqual(
    (await Promise.all(packed)).map((each) => unpack(each)),
    values,
  );
  for (const [i, text] of (await Promise.all(texts)).entries()) {
    assert.equal(text.toString(), JSON.stringify(values[i]));
  }
});

test('known strings and shapes stay right from call to call, with sync calls between', async (t) => {
  const next = generator(seedOf(t));
  const word = () => `w${next.below(300)}`;
  const value = () => {
    switch (next.below(6)) {
      case 0:
        return word();
      case 1:
        return next.below(1000);
      case 2:
        return `${word()} é`;
      case 3:
        return Array.from({ length: next.below(5) }, word);
      default: {
        const object = {};
        for (let n = next.below(5); n > 0; n--) object[word()] = word();
        return object;
      }
    }
  };
  for (let round = 0; round < runsOf(60); round++) {
    // A long array comes in parts, with strings and shapes that only later ones have.
    const list = Array.from({ length: next.below(2) ? 3000 : 20 }, value);
    const damaged = Buffer.from(pack(list));
    damaged[next.below(damaged.length)] = 0xc1;
    const [first, second, third] = await Promise.all([
      unpackAsync(pack(list)),
      outcome(() => unpackAsync(damaged)),
      unpackAsync(pack(list), { maps: 'map' }),
    ]);
    assert.deepStrictEqual(first, list);
    assert.deepStrictEqual(second, await outcome(() => unpack(damaged)));
    assert.deepStrictEqual(third, unpack(pack(list), { maps: 'map' }));
  }
});

test('long arrays with new strings and shapes in every part', async () => {
  for (const length of [255, 256, 257, 1000, 20_000, 100_000]) {
    const list = Array.from({ length }, (_, i) => {
      if (i % 3 === 0) return { [`k${i % 500}`]: `v${i % 700}`, n: i };
      return i % 3 === 1 ? `s${i % 900}` : [`é${i % 40}`, i / 2];
    });
    const message = pack(list);
    assert.deepStrictEqual(await unpackAsync(message), list);
    assert.deepStrictEqual(await unpackAsync(message), list);
  }
  const long = Array.from({ length: 2000 }, (_, i) => `${i}`.repeat(1 + (i % 300)));
  assert.deepStrictEqual(await unpackAsync(pack(long)), long);
});

const rows = (n) => Array.from({ length: n }, (_, i) => ({ id: i, name: `row ${i}`, at: [i, -i] }));

/** Counts the turns of the loop until a promise is settled. */
async function turnsUntil(promise) {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    if (isOver) return;
    turns++;
    setImmediate(turn);
  };
  setImmediate(turn);
  const found = await outcome(() => promise);
  isOver = true;
  return { found, turns };
}

test('a long array is built in slices, and others have their turns and their calls', async () => {
  const value = rows(100_000);
  const message = pack(value);
  // Nothing but building takes turns here.
  const { found, turns } = await turnsUntil(unpackAsync(message));
  assert.deepStrictEqual(found, { value });
  assert.ok(turns > 3, `${turns} turns`);
  const others = [];
  const all = Promise.all([unpackAsync(message), unpackAsync(message), unpackAsync(pack([1]))]);
  for (let isOver = false; !isOver; ) {
    others.push(unpack(pack(rows(10))).length);
    isOver = (await Promise.race([all, new Promise((go) => setImmediate(go, 'turn'))])) !== 'turn';
  }
  assert.ok(others.every((length) => length === 10));
  assert.deepStrictEqual(await all, [value, value, [1]]);
});

test('a fault, an abort and an extension that throws in a later part of a long array', async () => {
  const message = pack(rows(100_000));
  const cut = message.subarray(0, message.length - 2);
  const truncated = await same(
    () => unpackAsync(cut),
    () => unpack(cut),
  );
  assert.equal(truncated.code, 'ERR_MSGPACK_TRUNCATED');
  const damaged = Buffer.from(message);
  // The marker of the last number.
  damaged[message.length - 5] = 0xc1;
  const invalid = await same(
    () => unpackAsync(damaged),
    () => unpack(damaged),
  );
  assert.equal(invalid.offset, message.length - 5);

  // Aborted while it is built, whenever that is: with the reason, or too late.
  const reason = new Error('enough');
  let aborted = 0;
  for (let turns = 0; turns < 60; turns += 3) {
    const controller = new AbortController();
    const promise = outcome(() => unpackAsync(message, { signal: controller.signal }));
    for (let i = 0; i < turns; i++) await new Promise(setImmediate);
    controller.abort(reason);
    const { message: said, value } = await promise;
    if (value === undefined) {
      aborted++;
      assert.equal(said, 'enough');
    } else assert.equal(value.length, 100_000);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  }
  assert.ok(aborted > 0);

  const out = await child(
    `const m = require(${JSON.stringify(index)});
     class Point {}
     let left = 50_000;
     m.addExtension({
       Class: Point, type: 7, pack: () => Buffer.of(1),
       unpack: () => { if (--left === 0) throw new Error('no more'); return left; },
     });
     const message = m.pack(Array.from({ length: 60_000 }, () => new Point()));
     (async () => {
       const error = await m.unpackAsync(message).catch((e) => e);
       console.log(error.code, error.cause.message, error.offset);
       left = Infinity;
       console.log((await m.unpackAsync(message)).length, m.unpack(message).length);
     })();`,
  );
  assert.equal(out, `ERR_MSGPACK_EXTENSION no more ${3 + 49_999 * 3}\n60000 60000`);
});

test('what objects inherit changes between two slices: keys stay properties of their own', async () => {
  const out = await child(
    `const m = require(${JSON.stringify(index)});
     class Point {}
     let hook;
     m.addExtension({ Class: Point, type: 7, pack: () => Buffer.of(1), unpack: (data) => hook(data) });
     // Too many keys for a shape: they are assigned one by one.
     const dictionary = (i) => ({
       ...Object.fromEntries(Array.from({ length: 200 }, (_, k) => ['k' + i + '_' + k, k])), late: i,
     });
     const values = Array.from({ length: 3000 }, (_, i) => dictionary(i));
     const message = m.pack([new Point(), ...values]);
     let called = 0;
     const set = () => { called++; };
     hook = () => {
       setImmediate(() => Object.defineProperty(Object.prototype, 'late', { configurable: true, set }));
     };
     (async () => {
       const [, ...found] = await m.unpackAsync(message);
       const isSet = 'late' in {};
       delete Object.prototype.late;
       console.log(isSet, called, found.filter((o, i) => Object.hasOwn(o, 'late') && o.late === i).length);
       // An extension has the memory of the input's copy, and may take it away.
       hook = ({ buffer }) => structuredClone(buffer, { transfer: [buffer] });
       console.log((await m.unpackAsync(message).catch((e) => e)).code);
     })();`,
  );
  assert.equal(out, 'true 0 3000\nERR_MSGPACK_INVALID_INPUT');
});

test('timers that a test has put in place of the real ones do not stop it', async () => {
  const message = pack(rows(50_000));
  const { setImmediate: real } = globalThis;
  globalThis.setImmediate = () => {};
  try {
    assert.equal((await unpackAsync(message)).length, 50_000);
  } finally {
    globalThis.setImmediate = real;
  }
});

test('so many shapes that the table of shapes fills and starts anew, in the middle', async () => {
  const shapes = Array.from({ length: 60_000 }, (_, i) => ({
    [`a${i % 251}`]: i,
    [`b${i % 241}`]: 'x',
    [`c${i}`]: [],
  }));
  const message = pack(shapes);
  for (let round = 0; round < 3; round++) {
    assert.deepStrictEqual(await unpackAsync(message), shapes);
    const part = shapes.slice(round * 100, round * 100 + 50);
    assert.deepStrictEqual(await unpackAsync(pack(part)), part);
    assert.deepStrictEqual(await unpackAsync(pack({ part })), { part });
  }
});

test('a signal that is aborted already: its reason, and nothing is begun', async () => {
  const reason = new Error('mine');
  for (const call of [jsonToMsgpackAsync, msgpackToJsonAsync, unpackAsync]) {
    await assert.rejects(call(Buffer.from([0x31]), { signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(call(Buffer.from([0x31]), { signal: AbortSignal.abort() }), {
      name: 'AbortError',
    });
    const text = await call(Buffer.from([0x31]), { signal: AbortSignal.abort('text') }).catch(
      (x) => x,
    );
    assert.equal(text, 'text');
    // What is wrong with the arguments comes first.
    const signal = AbortSignal.abort();
    await assert.rejects(call(7n, { signal }), { code: 'ERR_MSGPACK_INVALID_INPUT' });
    await assert.rejects(call(7n, { signal, maxDepth: 0 }), { code: 'ERR_INVALID_ARG_VALUE' });
  }
});

const LARGE = pack(Array.from({ length: 200_000 }, (_, i) => ({ i, s: `text ${i}` })));

test('aborted while it is under way: rejected with the reason, no listener stays', async () => {
  const json = msgpackToJson(LARGE);
  for (const [call, input] of [
    [jsonToMsgpackAsync, json],
    [msgpackToJsonAsync, LARGE],
    [unpackAsync, LARGE],
  ]) {
    const controller = new AbortController();
    const { signal } = controller;
    const promise = call(input, { signal });
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    const reason = { any: 'thing' };
    controller.abort(reason);
    const found = await promise.catch((error) => error);
    assert.equal(found, reason);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    const next = await call(input, { signal: new AbortController().signal });
    assert.ok(next !== undefined);
  }
});

test('a signal that throws: its error, and the turn that it had is given back', async () => {
  const boom = new Error('boom');
  const throws = () => {
    throw boom;
  };
  for (const name of ['throwIfAborted', 'addEventListener', 'removeEventListener']) {
    const idle = { aborted: false, throwIfAborted() {}, addEventListener() {} };
    const signal = { removeEventListener() {}, ...idle, [name]: throws };
    // More than there are turns.
    for (let i = 0; i < 40; i++) {
      await assert.rejects(unpackAsync(bytes('9101'), { signal }), boom);
    }
    await assert.rejects(msgpackToJsonAsync(bytes('9101'), { signal }), boom);
    assert.deepEqual(await unpackAsync(bytes('9101')), [1]);
  }
});

test('a signal that is not aborted, or too late: the result, and no listener stays', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  for (let i = 0; i < 30; i++) {
    assert.deepEqual(await unpackAsync(bytes('9101'), { signal }), [1]);
    assert.deepEqual(await jsonToMsgpackAsync('[1]', { signal }), bytes('9101'));
    assert.deepEqual(await msgpackToJsonAsync(bytes('9101'), { signal }), Buffer.from('[1]'));
    await assert.rejects(unpackAsync(bytes('c1'), { signal }), {
      code: 'ERR_MSGPACK_INVALID_BYTE',
    });
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  }
  const promise = unpackAsync(bytes('9101'), { signal });
  const value = await promise;
  controller.abort();
  assert.deepEqual(value, [1]);
  assert.deepEqual(await promise, [1]);
});

test('hundreds aborted while they wait, and those behind them still come', async () => {
  const message = pack({ a: ['x', 1] });
  const controllers = Array.from({ length: 500 }, () => new AbortController());
  const promises = controllers.map(({ signal }) => outcome(() => unpackAsync(message, { signal })));
  const behind = Array.from({ length: 50 }, () => unpackAsync(message));
  controllers.forEach((controller, i) => {
    if (i % 3 !== 0) controller.abort();
  });
  for (const [i, found] of (await Promise.all(promises)).entries()) {
    if (i % 3 === 0) assert.deepEqual(found, { value: { a: ['x', 1] } });
    else assert.equal(found.name, 'AbortError');
  }
  for (const value of await Promise.all(behind)) assert.deepEqual(value, { a: ['x', 1] });
  // The turns of those that were aborted have come back.
  for (let round = 0; round < 5; round++) {
    const controller = new AbortController();
    const all = Array.from({ length: 40 }, () =>
      unpackAsync(message, { signal: controller.signal }),
    );
    queueMicrotask(() => controller.abort());
    for (const { status } of await Promise.allSettled(all)) assert.ok(status.length > 0);
    assert.deepEqual(await unpackAsync(message), { a: ['x', 1] });
  }
});

test('aborted after every number of microtasks: a reason or the value, and the turns come back', async () => {
  const message = pack([1, 'x']);
  for (let ticks = 0; ticks < 60; ticks++) {
    const controller = new AbortController();
    const all = Array.from({ length: 20 }, () =>
      outcome(() => unpackAsync(message, { signal: controller.signal })),
    );
    for (let i = 0; i < ticks; i++) await null;
    controller.abort();
    for (const found of await Promise.all(all)) {
      if (found.name !== 'AbortError') assert.deepEqual(found, { value: [1, 'x'] });
    }
  }
  const values = await Promise.all(Array.from({ length: 100 }, () => unpackAsync(message)));
  assert.equal(values.length, 100);
});

test('turns: so many at a time, in their order, and back from those who gave up', async () => {
  const { Turns } = require('../src/pool/turns');
  const turns = new Turns(2);
  const log = [];
  const taken = ['a', 'b', 'c', 'd', 'e'].map((name) => {
    const turn = turns.take();
    turn.promise.then(() => log.push(name));
    return turn;
  });
  await new Promise(setImmediate);
  assert.deepEqual(log, ['a', 'b']);
  taken[2].cancel();
  turns.give();
  await new Promise(setImmediate);
  assert.deepEqual(log, ['a', 'b', 'd']);
  // It has come already: there is nothing to cancel.
  taken[3].cancel();
  await new Promise(setImmediate);
  assert.deepEqual(log, ['a', 'b', 'd']);
  turns.give();
  await new Promise(setImmediate);
  assert.deepEqual(log, ['a', 'b', 'd', 'e']);
  turns.give();
  turns.give();
  assert.equal(turns.free, 2);
});

test('work that is cancelled before a thread has begun it is not done', async () => {
  const out = await child(
    `const binding = require(${JSON.stringify(require.resolve('../binding.js'))});
     const transcoder = binding.createTranscoder();
     const large = Buffer.from('[' + '1,'.repeat(3_000_000) + '1]');
     const first = transcoder.fromJsonAsync(large, 0, 1000, []);
     const second = transcoder.fromJsonAsync(Buffer.from('[1]'), 0, 1000, []);
     const third = transcoder.fromJsonAsync(Buffer.from('[2]'), 0, 1000, []);
     const message = transcoder.toJsonAsync(Buffer.from([1]), 0, 1000, []);
     second.cancel();
     message.cancel();
     (async () => {
       const show = (job) => job.promise.then((x) => x.length, (e) => e.message);
       console.log(JSON.stringify(await Promise.all([first, second, third, message].map(show))));
       first.cancel();
       third.cancel();
     })();`,
    { UV_THREADPOOL_SIZE: '1' },
  );
  assert.deepEqual(JSON.parse(out), [3_000_001 + 5, 'cancelled', 2, 'cancelled']);
});

test('the loop ends when the work is done, with no rejection that nobody handles', async () => {
  const out = await child(`
    const m = require(${JSON.stringify(index)});
    process.on('unhandledRejection', (e) => { console.log('unhandled', e); process.exit(3); });
    const bad = Buffer.from([0xc1]);
    const large = m.pack(new Array(100_000).fill({ a: 'x' }));
    (async () => {
      for (const call of [m.unpackAsync, m.msgpackToJsonAsync, m.jsonToMsgpackAsync]) {
        await call(bad).catch(() => {});
        for (const input of [bad, large]) {
          const controller = new AbortController();
          const promise = call(input, { signal: controller.signal });
          controller.abort();
          await promise.catch(() => {});
        }
        const all = Array.from({ length: 100 }, () => {
          const controller = new AbortController();
          const promise = call(bad, { signal: controller.signal }).catch(() => {});
          setTimeout(() => controller.abort(), 1);
          return promise;
        });
        await Promise.all(all);
      }
      console.log('done');
    })();
    m.unpackAsync(large).then(() => console.log('in flight'));`);
  assert.deepEqual(out.split('\n').sort(), ['done', 'in flight']);
});

test('nobody waits for the result: the garbage may be collected, the work ends', async () => {
  const out = await child(`
    require('node:v8').setFlagsFromString('--expose-gc');
    const gc = require('node:vm').runInNewContext('gc');
    const m = require(${JSON.stringify(index)});
    const value = Array.from({ length: 20_000 }, (_, i) => ({ i, s: 'text ' + i }));
    const message = m.pack(value);
    const json = JSON.stringify(value);
    for (let i = 0; i < 40; i++) {
      m.unpackAsync(message);
      m.msgpackToJsonAsync(message);
      m.jsonToMsgpackAsync(json);
      const controller = new AbortController();
      m.unpackAsync(message, { signal: controller.signal }).catch(() => {});
      controller.abort();
      gc();
    }
    setImmediate(function again(n = 20) { gc(); if (n > 0) setImmediate(again, n - 1); });
    m.unpackAsync(message).then((v) => console.log(v.length, v[19_999].s));`);
  assert.equal(out, '20000 text 19999');
});

test('what a thread reads stays, though the call was aborted and the garbage is collected', async () => {
  const out = await child(`
    require('node:v8').setFlagsFromString('--expose-gc');
    const gc = require('node:vm').runInNewContext('gc');
    const m = require(${JSON.stringify(index)});
    // Long enough to be parsed when the memory is unmapped: an array of {id: 1, n: 'abc'}.
    const n = 4_000_000;
    const row = Buffer.from('82a2696401a16ea3616263', 'hex');
    const message = Buffer.alloc(5 + n * row.length);
    message.fill(row, 5);
    message[0] = 0xdd;
    message.writeUInt32BE(n, 1);
    (async () => {
      for (let round = 0; round < 4; round++) {
        const controller = new AbortController();
        const promise = m.unpackAsync(message, { signal: controller.signal });
        setTimeout(() => controller.abort(new Error('enough')), 20);
        await promise.catch((error) => console.log(error.message));
        for (let i = 0; i < 3; i++) {
          await new Promise(setImmediate);
          gc();
        }
      }
      console.log((await m.unpackAsync(m.pack([1])))[0]);
    })();`);
  assert.equal(out, 'enough\nenough\nenough\nenough\n1');
});

test('process.exit with work in flight ends with its code', async () => {
  for (let round = 0; round < 3; round++) {
    const out = await child(`
      const m = require(${JSON.stringify(index)});
      const message = m.pack(Array.from({ length: 50_000 }, (_, i) => ({ i, s: 'text ' + i })));
      for (let i = 0; i < 30; i++) { m.unpackAsync(message); m.msgpackToJsonAsync(message); }
      const leave = () => { console.log('leaving'); process.exit(0); };
      ${round === 0 ? 'leave();' : `setTimeout(leave, ${round * 5});`}`);
    assert.equal(out, 'leaving');
  }
});

test('workers that are terminated with work in flight', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const m = require(workerData);
    const value = Array.from({ length: 30_000 }, (_, i) => ({ i, s: 'text ' + i, ['k' + i % 90]: [i] }));
    const message = m.pack(value);
    const json = m.msgpackToJson(message);
    const go = async (call, input) => { for (;;) { const all = [call(input), call(input), call(input)]; parentPort.postMessage(1); await Promise.all(all); } };
    go(m.unpackAsync, message);
    go(m.msgpackToJsonAsync, message);
    go(m.jsonToMsgpackAsync, json);`;
  for (let round = 0; round < 20; round++) {
    const worker = new Worker(source, { eval: true, workerData: index });
    let left = 1 + (round % 6);
    await new Promise((resolve, reject) => {
      worker.on('message', () => --left === 0 && resolve());
      worker.once('error', reject);
    });
    if (round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, round));
    assert.equal(await worker.terminate(), 1);
    assert.deepEqual(await unpackAsync(bytes('9101')), [1]);
  }
});

test('workers that end by themselves, or by process.exit, with work in flight', async () => {
  for (const end of ['', 'process.exit(0);', 'setTimeout(() => process.exit(0), 3);']) {
    for (let round = 0; round < 4; round++) {
      const worker = new Worker(
        `const m = require(require('node:worker_threads').workerData);
         const message = m.pack(Array.from({ length: 20_000 }, (_, i) => ({ i, s: 'text ' + i })));
         for (let i = 0; i < 10; i++) { m.unpackAsync(message); m.msgpackToJsonAsync(message); }
         ${end}`,
        { eval: true, workerData: index },
      );
      const code = await new Promise((resolve, reject) => {
        worker.once('exit', resolve).once('error', reject);
      });
      assert.equal(code, 0);
    }
  }
});

test('extensions: run when the value is built; one that throws, and the calls behind it', async () => {
  const out = await child(`
    const m = require(${JSON.stringify(index)});
    const assert = require('node:assert/strict');
    class P { constructor(x) { this.x = x; } }
    class T { constructor(x) { this.x = x; } }
    let fails = false;
    m.addExtension({ Class: P, type: 1, pack: (p) => m.pack(p.x), unpack: (b) => { if (fails) throw new Error('no'); return new P(m.unpack(b)); } });
    m.addExtension({ Class: T, type: 2, write: (t) => t.x, read: (x) => { if (fails) throw new Error('no'); return new T(x); } });
    const value = Array.from({ length: 1000 }, (_, i) => i % 100 === 5 ? new P({ k: i }) : i % 100 === 7 ? new T(['t' + i]) : { i, s: 'text ' + i });
    const message = m.pack(value);
    (async () => {
      for (let round = 0; round < 3; round++) {
        assert.deepStrictEqual(await m.unpackAsync(message), value);
        fails = true;
        const [a, b] = await Promise.allSettled([m.unpackAsync(message), m.unpackAsync(message)]);
        for (const { reason } of [a, b]) {
          assert.equal(reason.code, 'ERR_MSGPACK_EXTENSION');
          assert.equal(reason.cause.message, 'no');
          try { m.unpack(message); assert.fail(); } catch (e) { assert.equal(e.offset, reason.offset); }
        }
        fails = false;
        for (let i = 0; i < 6; i++) assert.deepStrictEqual(await m.unpackAsync(message), value);
      }
      // One that is added while a message is under way.
      const late = m.pack([new m.Ext(3, Buffer.from([1])), new m.Ext(4, Buffer.from([2])), 'x']);
      const promise = m.unpackAsync(late);
      for (let i = 0; i < 10; i++) await null;
      m.addExtension({ type: 3, unpack: (b) => 'late ' + b[0] });
      m.addExtension({ type: 4, read: (x) => ['tag', x] });
      const found = await promise;
      assert.equal(found[2], 'x');
      assert.equal(found[1].type, 4);
      assert.deepStrictEqual(await m.unpackAsync(Buffer.from('92d40300d40400a178', 'hex').subarray(0)), ['late 0', ['tag', 'x']]);
      assert.equal((await m.msgpackToJsonAsync(m.pack([new T(1), new P(2)]))).toString(), '[1,{"$ext":1,"data":"Ag=="}]');
      // One that detaches the memory of the message that is being built.
      const parts = m.pack([...new Array(3000).fill('a text of some length'), new m.Ext(5, Buffer.from([1])), ...new Array(9000).fill({ a: 'b' })]);
      m.addExtension({ type: 5, unpack: (b) => structuredClone(b.buffer, { transfer: [b.buffer] }) });
      await m.unpackAsync(parts).then(() => {}, (e) => assert.equal(e.code, 'ERR_MSGPACK_INVALID_INPUT'));
      // One that begins others.
      m.addExtension({ type: 6, unpack: (b) => m.unpackAsync(b) });
      const inner = await m.unpackAsync(m.pack([new m.Ext(6, m.pack({ in: 1 })), new m.Ext(6, m.pack([2]))]));
      assert.deepStrictEqual(await Promise.all(inner), [{ in: 1 }, [2]]);
      assert.deepStrictEqual(await m.unpackAsync(message), value);
      console.log('right');
    })();`);
  assert.equal(out, 'right');
});

test('in a worker with little stack, texts and messages of many levels', async () => {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const m = require(workerData);
     (async () => {
       const n = 150_000;
       const json = '['.repeat(n) + ']'.repeat(n);
       const message = await m.jsonToMsgpackAsync(json, { maxDepth: Infinity });
       const back = await m.msgpackToJsonAsync(message, { maxDepth: Infinity });
       let value = await m.unpackAsync(message, { maxDepth: Infinity });
       let depth = 0;
       while (value !== undefined) { value = value[0]; depth++; }
       parentPort.postMessage([back.toString() === json, depth]);
     })();`,
    { eval: true, workerData: index, resourceLimits: { stackSizeMb: 1 } },
  );
  const found = await new Promise((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  assert.deepEqual(found, [true, 150_000]);
  await worker.terminate();
});
