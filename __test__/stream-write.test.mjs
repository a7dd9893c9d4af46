// writeTo, packParts, packIter and PackrStream: the bytes of pack, without copies, in few writes.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { PassThrough, Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import {
  Ext,
  NIL,
  Packr,
  PackrStream,
  pack,
  packIter,
  packParts,
  UnpackrStream,
  unpack,
  unpackIter,
  unpackMultiple,
  writeTo,
} from '../index.js';
import { bytes, generator, sameBytes, seedOf, stillWorks, throwsCode } from './helpers.mjs';
import {
  failsAt,
  gives,
  inPieces,
  later,
  settled,
  settledLater,
  sleep,
  soon,
} from './stream-helpers.mjs';

const list = (length, each) => Array.from({ length }, (_, i) => each(i));
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Binaries of this size or more are not copied. */
const LARGE = 32 << 10;
const large = (size = LARGE, fill = 7) => Buffer.alloc(size, fill);

/** A Writable that keeps what it gets, a list of chunks for each `_write` and `_writev`. */
function recorder(options = {}) {
  const batches = [];
  const take = (chunks, callback) => {
    batches.push(chunks);
    if (options.slow) setImmediate(callback);
    else callback();
  };
  const stream = new Writable({
    ...options,
    write: (chunk, _encoding, callback) => take([chunk], callback),
    writev: (chunks, callback) =>
      take(
        chunks.map(({ chunk }) => chunk),
        callback,
      ),
  });
  return { batches, stream, written: () => Buffer.concat(batches.flat()) };
}

const VALUES = [
  null,
  undefined,
  true,
  0,
  '',
  'text é 漢字',
  [],
  {},
  [1, [2.5, { a: null }]],
  { id: 1, name: 'Zoë', skipped: undefined, list: list(300, (i) => i) },
  new Map([[1, new Set([2])]]),
  new Date(5),
  new Ext(5, Buffer.alloc(9)),
  Buffer.alloc(100),
  'x'.repeat(100_000),
  list(5000, (i) => ({ i, text: `text ${i}` })),
  large(),
  { before: 1, data: large(100_000), behind: [large(LARGE, 1), large(LARGE - 1, 2)] },
];

// writeTo

test('writeTo writes what pack packs', async () => {
  const { batches, stream, written } = recorder();
  const expected = [];
  for (const value of VALUES) {
    writeTo(stream, value);
    expected.push(Buffer.from(pack(value)));
    await tick();
  }
  sameBytes(written(), Buffer.concat(expected));
  assert.equal(batches.length, VALUES.length);
  assert.ok(batches.flat().every((chunk) => Buffer.isBuffer(chunk) && chunk.length > 0));
});

test('writeTo with options', async () => {
  for (const options of [
    { float32: true },
    { undefinedAs: 'nil', maxDepth: 5 },
    { moreTypes: true },
    { useRecords: true },
    { structuredClone: true },
    { sortKeys: true },
    { copy: true },
    { copy: false, float32: 'always' },
    {},
  ]) {
    const { stream, written } = recorder();
    const value = { b: 0.5, a: [undefined, { c: 1 }, { c: large() }] };
    writeTo(stream, value, options);
    await tick();
    const { copy, ...rest } = options;
    sameBytes(written(), new Packr(rest).pack(value), JSON.stringify(options));
  }
  const { batches, stream } = recorder();
  for (const options of [null, 1, { copy: 1 }, { float32: 'no' }, { maxDepth: 0 }, { nope: 1 }]) {
    const invalid = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' };
    assert.throws(() => writeTo(stream, 1, options), invalid, JSON.stringify(options));
  }
  await tick();
  assert.equal(batches.length, 0);
  assert.equal(stream.writableCorked, 0);
});

test('all that is written in a tick is one _writev', async () => {
  const { batches, stream } = recorder();
  for (let round = 1; round <= 3; round++) {
    for (let i = 0; i < 100; i++) writeTo(stream, i);
    await null;
    assert.equal(batches.length, round - 1);
    await tick();
    assert.equal(batches.length, round);
    assert.equal(stream.writableCorked, 0);
  }
  assert.deepStrictEqual(
    unpackMultiple(Buffer.concat(batches.flat())),
    list(300, (i) => i % 100),
  );
});

test('several streams in one tick, each in one _writev', async () => {
  const all = list(5, () => recorder());
  for (let i = 0; i < 10; i++) for (const { stream } of all) writeTo(stream, i);
  await tick();
  for (const { batches, stream, written } of all) {
    assert.equal(batches.length, 1);
    assert.deepStrictEqual(
      unpackMultiple(written()),
      list(10, (i) => i),
    );
    assert.equal(stream.writableCorked, 0);
  }
});

test("nests with the user's own cork", async () => {
  const { batches, stream } = recorder();
  // Theirs lasts longer than the tick.
  stream.cork();
  writeTo(stream, 1);
  await tick();
  assert.equal(batches.length, 0);
  assert.equal(stream.writableCorked, 1);
  writeTo(stream, 2);
  stream.uncork();
  await tick();
  assert.equal(stream.writableCorked, 0);
  assert.equal(batches.length, 1);
  // Theirs ends within it.
  stream.cork();
  writeTo(stream, 3);
  stream.uncork();
  assert.equal(batches.length, 1);
  writeTo(stream, 4);
  await tick();
  assert.equal(batches.length, 2);
  assert.equal(stream.writableCorked, 0);
  // Ours is taken away: no harm.
  writeTo(stream, 5);
  stream.uncork();
  writeTo(stream, 6);
  await tick();
  assert.equal(stream.writableCorked, 0);
  assert.deepStrictEqual(unpackMultiple(Buffer.concat(batches.flat())), [1, 2, 3, 4, 5, 6]);
});

test("keeps the order among the user's own writes", async () => {
  const { stream, written } = recorder();
  stream.write(pack(1));
  writeTo(stream, [2, large()]);
  stream.write(pack(3));
  writeTo(stream, 4);
  stream.end(pack(5));
  await soon(once(stream, 'finish'));
  assert.deepStrictEqual(unpackMultiple(written()), [1, [2, large()], 3, 4, 5]);
});

test('returns what write returns, and drains', async () => {
  const { stream } = recorder({ highWaterMark: 1000, slow: true });
  assert.equal(writeTo(stream, 'x'.repeat(100)), true);
  assert.equal(writeTo(stream, 'x'.repeat(1000)), false);
  await soon(once(stream, 'drain'));
  assert.equal(writeTo(stream, [large()]), false);
  await soon(once(stream, 'drain'));
  assert.equal(writeTo(stream, 1), true);
});

test('what cannot be packed throws before a byte is written', async () => {
  const { batches, stream, written } = recorder();
  const bad = () => writeTo(stream, [large(), Symbol('bad')], { undefinedAs: 'throw' });
  throwsCode(bad, 'ERR_MSGPACK_UNSUPPORTED_TYPE', { path: '$[1]' });
  assert.equal(stream.writableCorked, 0);
  assert.equal(stream.writableLength, 0);
  await tick();
  assert.equal(batches.length, 0);
  writeTo(stream, 'before');
  throwsCode(bad, 'ERR_MSGPACK_UNSUPPORTED_TYPE');
  throwsCode(() => writeTo(stream, () => {}), 'ERR_MSGPACK_UNSUPPORTED_TYPE');
  throwsCode(() => writeTo(stream, 2n ** 70n), 'ERR_MSGPACK_OUT_OF_RANGE');
  writeTo(stream, 'behind');
  await tick();
  assert.equal(stream.writableCorked, 0);
  assert.deepStrictEqual(unpackMultiple(written()), ['before', 'behind']);
  stillWorks();
});

test('a large Buffer is a chunk itself', async () => {
  const data = large(100_000);
  const { batches, stream } = recorder();
  writeTo(stream, { id: 1, data, more: [data] });
  writeTo(stream, data);
  await tick();
  const chunks = batches.flat();
  assert.equal(chunks.filter((chunk) => chunk === data).length, 3);
  assert.equal(batches.length, 1);
  const sum = chunks.reduce((size, { length }) => size + (length > 1000 ? 0 : length), 0);
  assert.ok(sum < 50);
});

test('views, typed arrays, other memory', async () => {
  const memory = new ArrayBuffer(3 * LARGE);
  new Uint8Array(memory).forEach((_, i, all) => {
    all[i] = i % 251;
  });
  const shared = new SharedArrayBuffer(LARGE);
  new Uint8Array(shared).fill(9);
  const values = {
    Uint8Array: new Uint8Array(memory, 8, LARGE),
    Float64Array: new Float64Array(memory, 8, LARGE / 8),
    DataView: new DataView(memory, 3, LARGE + 1),
    ArrayBuffer: memory,
    Ext: new Ext(3, new Uint8Array(memory, 16, LARGE)),
  };
  for (const [name, value] of Object.entries(values)) {
    const { batches, stream, written } = recorder();
    writeTo(stream, [value, 1]);
    await tick();
    sameBytes(written(), pack([value, 1]), name);
    assert.ok(
      batches.flat().some((chunk) => chunk.buffer === memory),
      `${name} was copied`,
    );
    assert.ok(batches.flat().every((chunk) => Buffer.isBuffer(chunk)));
  }
  for (const value of [shared, new Uint8Array(shared), new Uint16Array(shared)]) {
    const { batches, stream, written } = recorder();
    writeTo(stream, { value });
    await tick();
    sameBytes(written(), pack({ value }));
    assert.ok(batches.flat().every((chunk) => chunk.buffer !== shared));
  }
});

test('copy: true', async () => {
  const data = large(100_000);
  const { batches, stream, written } = recorder();
  const expected = Buffer.from(pack([data, data.buffer]));
  writeTo(stream, [data, data.buffer], { copy: true });
  data.fill(0);
  await tick();
  sameBytes(written(), expected);
  assert.ok(batches.flat().every((chunk) => chunk.buffer !== data.buffer));
});

test('memory in flight is not written again', async () => {
  const waiting = [];
  const kept = [];
  const stream = new Writable({
    highWaterMark: 1 << 30,
    writev(chunks, callback) {
      kept.push(...chunks.map(({ chunk }) => chunk));
      waiting.push(callback);
    },
  });
  const values = list(3000, (i) => ({ i, text: `${i}`.repeat(1 + (i % 900)) }));
  const expected = [];
  for (const [i, value] of values.entries()) {
    writeTo(stream, value);
    expected.push(Buffer.from(pack(value)));
    if (i % 50 === 0) await tick();
    for (let k = 0; k < 3; k++) pack([i, 'something else', k]);
  }
  while (waiting.length > 0) {
    waiting.shift()();
    await tick();
  }
  sameBytes(Buffer.concat(kept), Buffer.concat(expected));
});

test('streams that are gone', async () => {
  const destroyed = new PassThrough();
  destroyed.on('error', () => {});
  destroyed.destroy();
  assert.equal(writeTo(destroyed, 1), false);
  const ended = new PassThrough();
  const errors = [];
  ended.on('error', ({ code }) => errors.push(code));
  ended.end();
  writeTo(ended, 1);
  await tick();
  assert.deepStrictEqual(errors, ['ERR_STREAM_WRITE_AFTER_END']);
  // Destroyed between the write and the end of the tick; the others of the tick go out.
  const { stream, written } = recorder();
  const other = recorder();
  stream.on('error', () => {});
  writeTo(stream, 1);
  writeTo(other.stream, 2);
  stream.destroy();
  await tick();
  assert.equal(written().length, 0);
  sameBytes(other.written(), pack(2));
});

test('streams without cork, of objects, written to within a write', async () => {
  class Bare extends EventEmitter {
    chunks = [];
    write(chunk) {
      this.chunks.push(chunk);
      return this.chunks.length < 3;
    }
  }
  const bare = new Bare();
  const data = large();
  assert.equal(writeTo(bare, 1), true);
  assert.equal(writeTo(bare, [data]), false);
  sameBytes(Buffer.concat(bare.chunks), Buffer.concat([pack(1), pack([data])]));

  const seen = [];
  const second = recorder();
  const objects = new Writable({
    objectMode: true,
    write(chunk, _encoding, callback) {
      seen.push(unpack(chunk));
      writeTo(second.stream, ['seen', unpack(chunk)]);
      if (seen.length < 3) writeTo(objects, seen.length);
      callback();
    },
  });
  writeTo(objects, 'start');
  await tick();
  await tick();
  assert.deepStrictEqual(seen, ['start', 1, 2]);
  assert.deepStrictEqual(
    unpackMultiple(second.written()),
    seen.map((value) => ['seen', value]),
  );
  assert.equal(second.stream.writableCorked, 0);
  assert.equal(objects.writableCorked, 0);
});

// packParts

/** The parts are the message, none is empty, and those expected are the user's own. */
function partsOf(value, own, options) {
  const parts = packParts(value, options);
  const expected = options === undefined ? pack(value) : new Packr(options).pack(value);
  assert.ok(parts.every((part) => Buffer.isBuffer(part) && part.length > 0));
  sameBytes(Buffer.concat(parts), expected);
  const shared = parts.filter((part) => own.some((each) => part.buffer === each.buffer));
  assert.equal(shared.length, own.length, `${shared.length} parts are not copied`);
  own.forEach((each, i) => {
    if (Buffer.isBuffer(each)) assert.equal(shared[i], each);
    assert.deepStrictEqual(
      [shared[i].byteOffset, shared[i].byteLength],
      [each.byteOffset, each.byteLength],
    );
  });
  return parts;
}

test('packParts: what is large is the very same Buffer', () => {
  const [a, b, c] = [large(LARGE, 1), large(LARGE + 1, 2), large(200_000, 3)];
  for (const value of VALUES) {
    const parts = packParts(value);
    sameBytes(Buffer.concat(parts), pack(value));
    assert.ok(parts.every((part) => Buffer.isBuffer(part) && part.length > 0));
  }
  assert.equal(partsOf(a, [a]).length, 2);
  assert.equal(partsOf([a], [a]).length, 2);
  assert.equal(partsOf([a, 1], [a]).length, 3);
  assert.equal(partsOf([a, b, c], [a, b, c]).length, 6);
  assert.equal(partsOf([a, a], [a, a]).length, 4);
  partsOf({ a, nested: { list: [1, { b }, 'x'.repeat(70_000)], c }, end: null }, [a, b, c]);
  partsOf(
    new Map([
      ['a', a],
      [1, [b]],
    ]),
    [a, b],
  );
  partsOf(new Set([a, b]), [a, b]);
  partsOf({ ext: new Ext(5, a), more: b }, [a, b]);
  partsOf({ toJSON: () => ({ a }) }, [a]);
  partsOf(
    list(300, (i) => (i % 100 === 50 ? a : i)),
    [a, a, a],
  );
});

test('packParts: the threshold', () => {
  const less = large(LARGE - 1);
  const most = large(LARGE);
  assert.equal(packParts([less]).length, 1);
  assert.equal(packParts({ less, also: less, text: 'x'.repeat(100_000) }).length, 1);
  assert.equal(packParts([most]).length, 2);
  assert.equal(packParts([new Ext(1, less), new Float64Array(LARGE / 8 - 1)]).length, 1);
  assert.equal(packParts([new Ext(1, most), new Float64Array(LARGE / 8)]).length, 4);
});

test('packParts: beside properties that are left out', () => {
  const [a, b] = [large(LARGE, 1), large(40_000, 2)];
  const skipped = { u: undefined, a, f() {}, s: Symbol('s'), b, v: undefined };
  partsOf(skipped, [a, b]);
  partsOf({ ...skipped, n: 1 }, [a, b]);
  partsOf({ u: undefined, v: undefined, a }, [a]);
  partsOf([undefined, a, undefined, { u: undefined }, b], [a, b]);
  partsOf(skipped, [a, b], { undefinedAs: 'nil' });
  partsOf(skipped, [a, b], { undefinedAs: 'undefined' });
  partsOf({ b, a, x: 1 }, [a, b], { sortKeys: true });
  partsOf({ a, b, x: 1 }, [b], { keyFilter: (key) => key !== 'a' });
  partsOf({ x: 1, a, n: null, b, z: null }, [a, b], { skipValues: [null] });
  partsOf({ x: 1, n: null, a: [{ n: null, b }], z: null }, [b], { skipValues: [1, null] });
  const many = Object.fromEntries(list(40, (i) => [`k${i}`, i % 7 === 3 ? undefined : i]));
  partsOf({ ...many, a, more: { ...many, b } }, [a, b]);
});

test('packParts: records, types of ours, ids, extensions', () => {
  const [a, b, c] = [large(LARGE, 1), large(40_000, 2), large(50_000, 3)];
  const record = { a, x: { b, y: 1 } };
  for (const options of [{ useRecords: true }, { moreTypes: true }, { structuredClone: true }]) {
    partsOf(record, [a, b], options);
    partsOf(
      [record, record.x, { a: c, x: 1 }],
      options.structuredClone ? [a, b, c] : [a, b, b, c],
      options,
    );
    partsOf(new Map([[{ k: a }, new Map([[1, b]])]]), [a, b], options);
  }
  const typed = new Uint16Array(new ArrayBuffer(2 * LARGE));
  const doubles = new Float64Array(new ArrayBuffer(2 * LARGE), 8, LARGE / 8);
  const view = new DataView(new ArrayBuffer(LARGE + 100), 50);
  partsOf({ typed, doubles, view, a }, [typed, doubles, view, a], { moreTypes: true });
  partsOf(new Set([typed, a]), [typed, a], { moreTypes: true });
  const memory = new ArrayBuffer(LARGE);
  partsOf([memory], [new Uint8Array(memory)], { moreTypes: true });
  class Image {
    constructor(data) {
      this.data = data;
    }
  }
  const image = new Image(b);
  const asBytes = [{ Class: Image, type: 7, pack: ({ data }) => data }];
  const asValue = [{ Class: Image, type: 7, write: ({ data }) => ({ data, a }) }];
  // What an extension returns may be memory that it uses again.
  partsOf([image, 1, a], [a], { extensions: asBytes });
  partsOf({ image, a }, [a], { extensions: asBytes, useRecords: true });
  partsOf([image, 1], [b, a], { extensions: asValue });
});

test('packParts: shared memory is copied, other large memory is not', () => {
  const shared = new SharedArrayBuffer(LARGE);
  for (const value of [shared, new Uint8Array(shared), new DataView(shared)]) {
    const parts = packParts([value]);
    sameBytes(Buffer.concat(parts), pack([value]));
    new Uint8Array(shared).fill(1);
    assert.ok(parts.every((part) => part.buffer !== shared));
    new Uint8Array(shared).fill(0);
  }
});

test('packParts: memory that goes away in the middle of packing', () => {
  const detaches = (memory) => ({
    toJSON() {
      structuredClone(memory, { transfer: [memory] });
      return 'gone';
    },
  });
  for (const run of [packParts, (value) => [pack(value)]]) {
    const data = new Uint8Array(LARGE);
    const value = { data, after: detaches(data.buffer) };
    throwsCode(() => run(value), 'ERR_MSGPACK_INVALID_INPUT');
  }
  const { buffer } = new Uint8Array(new ArrayBuffer(2 * LARGE, { maxByteLength: 2 * LARGE }));
  const shrinks = {
    data: new Uint8Array(buffer),
    after: {
      toJSON() {
        buffer.resize(LARGE);
        return 'less';
      },
    },
  };
  throwsCode(() => packParts(shrinks), 'ERR_MSGPACK_INVALID_INPUT');
  stillWorks();
});

test('packParts within packParts', () => {
  const [a, b] = [large(LARGE, 1), large(LARGE, 2)];
  let inner;
  const value = {
    a,
    x: {
      toJSON() {
        inner = packParts({ b, c: [b] });
        return { b };
      },
    },
    behind: a,
  };
  const parts = packParts(value);
  sameBytes(Buffer.concat(inner), pack({ b, c: [b] }));
  sameBytes(Buffer.concat(parts), pack({ a, x: { b }, behind: a }));
});

test('packParts: errors and options', () => {
  throwsCode(
    () => packParts([large(), Symbol('s')], { undefinedAs: 'throw' }),
    ['ERR_MSGPACK_UNSUPPORTED_TYPE'],
  );
  throwsCode(() => packParts(2n ** 64n), 'ERR_MSGPACK_OUT_OF_RANGE');
  for (const options of [null, 1, 'x', { float32: 2 }, { noSuchOption: 1 }]) {
    const invalid = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' };
    assert.throws(() => packParts(1, options), invalid, JSON.stringify(options));
  }
  const a = large();
  partsOf([a], [a]);
  stillWorks();
});

// packIter

const RECORDS = list(1000, (i) => ({
  id: i,
  name: `n${i % 9}`,
  ...(i % 3 === 0 && { more: [i] }),
}));

test('packIter: the bytes of pack, sync and async', async () => {
  for (const count of [0, 1, 127, 128, 129, 1000]) {
    const values = RECORDS.slice(0, count);
    const expected = Buffer.concat(values.map((value) => Buffer.from(pack(value))));
    const chunks = [...packIter(values)];
    sameBytes(Buffer.concat(chunks), expected);
    assert.ok(chunks.every((chunk) => Buffer.isBuffer(chunk) && chunk.length > 0));
    assert.ok(chunks.length <= 1 + count / 50);
    sameBytes(Buffer.concat([...packIter(values.values())]), expected);
    const async = await settledLater(packIter(later(values)));
    assert.equal(async.error, undefined);
    sameBytes(Buffer.concat(async.values), expected);
    const { values: fromStream } = await settledLater(packIter(Readable.from(values)));
    sameBytes(Buffer.concat(fromStream), expected);
  }
  sameBytes(Buffer.concat([...packIter([null, undefined, [undefined]])]), bytes('c0 c0 91c0'));
});

test('packIter: with options, read back', async () => {
  for (const options of [
    { useRecords: true },
    { moreTypes: true },
    { structuredClone: true },
    { useRecords: true, sequential: false },
    { useRecords: true, maxOwnStructures: 2 },
    { float32: true },
  ]) {
    const read = { ...options, mapsAsObjects: true };
    gives(settled(unpackIter(packIter(RECORDS, options), read)), RECORDS);
    const async = unpackIter(packIter(later(RECORDS), options), read);
    gives(await settledLater(async), RECORDS);
  }
  const records = Buffer.concat([...packIter(RECORDS, { useRecords: true })]);
  const maps = Buffer.concat([...packIter(RECORDS)]);
  assert.ok(records.length < 0.7 * maps.length, 'definitions are written once');
});

const FAILURE = new Error('of a getter');
const BAD = {
  get x() {
    throw FAILURE;
  },
};

test('packIter: an error comes behind the values before it', async () => {
  for (const options of [
    {},
    { useRecords: true },
    { moreTypes: true },
    { structuredClone: true },
  ]) {
    const read = { ...options, mapsAsObjects: true };
    for (const at of [0, 1, 5, 127, 128, 500]) {
      const values = [...RECORDS.slice(0, at), BAD, 'behind'];
      const label = `${JSON.stringify(options)}, ${at}`;
      for (const result of [
        settled(packIter(values, options)),
        await settledLater(packIter(later(values), options)),
      ]) {
        assert.equal(result.error, FAILURE, label);
        gives(settled(unpackIter(result.values, read)), RECORDS.slice(0, at), label);
      }
    }
  }
  const { error } = settled(packIter([1, 2n ** 70n]));
  assert.equal(error.code, 'ERR_MSGPACK_OUT_OF_RANGE');
  assert.equal(error.path, '$');
});

test('packIter: errors of the source come behind the values before them', async () => {
  const failure = new Error('the source');
  const source = function* (count) {
    yield* RECORDS.slice(0, count);
    throw failure;
  };
  for (const count of [0, 1, 5, 128, 200]) {
    for (const result of [
      settled(packIter(source(count))),
      await settledLater(packIter(later(source(count)))),
    ]) {
      assert.equal(result.error, failure);
      const read = unpackMultiple(Buffer.concat(result.values));
      assert.deepStrictEqual(read, RECORDS.slice(0, count), `${count}`);
    }
  }
});

test('packIter: values of a slow source are not held back', async () => {
  // The source goes on only when its values have arrived.
  let arrived = null;
  async function* slow() {
    for (let i = 0; i < 5; i++) {
      const both = new Promise((resolve) => {
        arrived = resolve;
      });
      yield i;
      yield [i];
      await both;
    }
  }
  const got = [];
  const all = async () => {
    for await (const chunk of packIter(slow())) {
      got.push(...unpackMultiple(chunk));
      if (got.length % 2 === 0) arrived();
    }
  };
  await soon(all(), 'values that are held back');
  assert.deepStrictEqual(got, list(5, (i) => [i, [i]]).flat());
  // One that never comes.
  async function* stuck() {
    yield 1;
    await new Promise(() => {});
  }
  const { value } = await soon(packIter(stuck()).next());
  sameBytes(value, pack(1));
});

test('packIter: break closes the source, and does not wait for its next value', async () => {
  let closed = 0;
  function* sync() {
    try {
      for (let i = 0; ; i++) yield i;
    } finally {
      closed++;
    }
  }
  for (const _ of packIter(sync())) break;
  assert.equal(closed, 1);
  for await (const _ of packIter(later(sync()))) break;
  assert.equal(closed, 2);
  function* bad() {
    try {
      yield BAD;
    } finally {
      closed++;
    }
  }
  for (const source of [bad(), later(bad())]) {
    const { error } = await settledLater(packIter(source));
    assert.equal(error, FAILURE);
  }
  assert.equal(closed, 4);
  const readable = new Readable({ objectMode: true, read() {} });
  readable.push(1);
  const first = async () => {
    for await (const chunk of packIter(readable)) return chunk;
  };
  sameBytes(await soon(first(), 'break with a source that waits', 1000), pack(1));
  await tick();
  assert.ok(readable.destroyed);
});

test('packIter: asks no more of a source than it is asked for, but for one batch', async () => {
  let pulled = 0;
  async function* source() {
    for (;;) {
      await tick();
      yield ++pulled;
    }
  }
  const iterator = packIter(source());
  await iterator.next();
  await sleep(50);
  assert.ok(pulled <= 300, `${pulled} values that nobody has asked for`);
  await iterator.return();
});

test('packIter: a source that fails while nobody asks', async () => {
  // What is rejected with nobody listening ends a process.
  const unhandled = [];
  const listen = (error) => unhandled.push(error.message);
  process.on('unhandledRejection', listen);
  try {
    for (const count of [1, 127, 128, 129]) {
      const source = async function* () {
        yield* list(count, (i) => i);
        await sleep(2);
        throw new Error(`source ${count}`);
      };
      const iterator = packIter(source());
      const { value } = await iterator.next();
      assert.ok(value.length > 0);
      await sleep(20);
      const rest = await settledLater(iterator);
      assert.equal(rest.error?.message, `source ${count}`);
      // And when packing has failed before.
      const failing = async function* () {
        yield BAD;
        await sleep(2);
        throw new Error('of the source');
      };
      const { error } = await settledLater(packIter(failing()));
      assert.equal(error, FAILURE);
    }
    await sleep(20);
  } finally {
    process.off('unhandledRejection', listen);
  }
  assert.deepStrictEqual(unhandled, []);
});

test('packIter: what it does not take', () => {
  for (const values of [null, undefined, 1, {}, () => {}]) {
    assert.throws(() => packIter(values), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
  }
  for (const options of [null, 1, { float32: 2 }, { noSuchOption: 1 }]) {
    const invalid = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' };
    assert.throws(() => packIter([], options), invalid, JSON.stringify(options));
  }
});

// PackrStream

/** What a PackrStream makes of values, written one by one or all at once. */
async function packedBy(values, options, corked) {
  const stream = new PackrStream(options);
  const out = settledLater(stream, 'PackrStream');
  if (corked) stream.cork();
  for (const value of values) {
    stream.write(value);
    if (!corked) await null;
  }
  stream.end();
  const { values: chunks, error } = await out;
  return { bytes: Buffer.concat(chunks), chunks, error };
}

test('PackrStream: objects, NIL, undefined and all else', async () => {
  const values = [1, NIL, 'text', undefined, false, 0, '', { a: [NIL === null] }, [null], {}];
  const plain = values.map((value) => (value === NIL ? null : value));
  const expected = Buffer.concat(plain.map((value) => Buffer.from(pack(value))));
  for (const corked of [false, true]) {
    const { bytes: written, error } = await packedBy(values, {}, corked);
    assert.equal(error, undefined);
    sameBytes(written, expected);
    const more = await packedBy(values, { moreTypes: true }, corked);
    gives(settled(unpackIter(more.bytes, { moreTypes: true, mapsAsObjects: true })), plain);
  }
  const stream = new PackrStream();
  assert.throws(() => stream.write(null), { code: 'ERR_STREAM_NULL_VALUES' });
});

test('PackrStream: together or one by one, the same bytes', async () => {
  for (const options of [
    {},
    { useRecords: true },
    { moreTypes: true },
    { structuredClone: true },
    { useRecords: true, sequential: false },
    { useRecords: true, maxOwnStructures: 3 },
    { float32: true, undefinedAs: 'nil' },
  ]) {
    const one = await packedBy(RECORDS, options, false);
    const all = await packedBy(RECORDS, options, true);
    const label = JSON.stringify(options);
    gives(settled(unpackIter(one.bytes, { ...options, mapsAsObjects: true })), RECORDS, label);
    gives(settled(unpackIter(all.bytes, { ...options, mapsAsObjects: true })), RECORDS, label);
    sameBytes(all.bytes, one.bytes, label);
  }
  const records = await packedBy(RECORDS, { useRecords: true }, true);
  const maps = await packedBy(RECORDS, {}, true);
  assert.ok(records.bytes.length < 0.7 * maps.bytes.length, 'definitions are written once');
  assert.ok(records.chunks.length < 20, `${records.chunks.length} chunks`);
});

test('PackrStream: what cannot be packed is an error behind the values before', async () => {
  for (const options of [{}, { useRecords: true }, { structuredClone: true }]) {
    for (const corked of [false, true]) {
      const stream = new PackrStream(options);
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      const failed = new Promise((resolve) => stream.on('error', resolve));
      if (corked) stream.cork();
      for (const value of [...RECORDS.slice(0, 20), BAD, 'behind']) stream.write(value);
      if (corked) stream.uncork();
      assert.equal(await soon(failed), FAILURE);
      const read = { ...options, mapsAsObjects: true };
      gives(settled(unpackIter(chunks, read)), RECORDS.slice(0, 20), JSON.stringify(options));
      assert.ok(stream.destroyed);
    }
  }
});

test("PackrStream: Node's options, and options that are none", async () => {
  const stream = new PackrStream({ readableHighWaterMark: 50, writableHighWaterMark: 3 });
  assert.equal(stream.readableHighWaterMark, 50);
  assert.equal(stream.writableHighWaterMark, 3);
  assert.equal(stream.writableObjectMode, true);
  assert.equal(stream.readableObjectMode, false);
  assert.equal(new PackrStream({ highWaterMark: 7 }).writableHighWaterMark, 7);
  const controller = new AbortController();
  const aborted = new PackrStream({ signal: controller.signal });
  controller.abort();
  const [error] = await soon(once(aborted, 'error'));
  assert.equal(error.name, 'AbortError');
  for (const options of [null, 1, { float32: 2 }, { noSuchOption: 1 }, { maxMessageSize: 5 }]) {
    const invalid = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' };
    assert.throws(() => new PackrStream(options), invalid, JSON.stringify(options));
  }
});

test('PackrStream: what is written in one tick is one chunk, with callbacks, cork and end', async () => {
  const stream = new PackrStream({ highWaterMark: 5 });
  const chunks = [];
  const called = [];
  stream.on('data', (chunk) => chunks.push(chunk.toString('hex')));
  const taken = [1, 2, 3].map((value) => stream.write(value, () => called.push(value)));
  assert.deepEqual([taken, chunks, called], [[true, true, true], [], []]);
  await new Promise(setImmediate);
  assert.deepEqual([chunks, called], [['010203'], [1, 2, 3]]);
  // More than fits: it says so, and drains.
  const drained = new Promise((resolve) => stream.once('drain', resolve));
  assert.equal([4, 5, 6, 7, 8].map((value) => stream.write(value)).at(-1), false);
  await drained;
  // Corked by the user, too.
  stream.cork();
  stream.write(9);
  await new Promise(setImmediate);
  assert.equal(chunks.join(), '010203,0405060708');
  stream.uncork();
  stream.write(10);
  stream.end(11);
  await finished(stream);
  assert.equal(chunks.join(''), '0102030405060708090a0b');
  // The end in the very tick, and none at all.
  const short = new PackrStream();
  short.write(1);
  short.end();
  assert.equal(Buffer.concat(await short.toArray()).toString('hex'), '01');
  const gone = new PackrStream();
  gone.write(1);
  gone.destroy();
  await new Promise(setImmediate);
  assert.equal(gone.destroyed, true);
});

test('PackrStream: backpressure', async () => {
  let pulled = 0;
  const source = new Readable({
    objectMode: true,
    highWaterMark: 4,
    read() {
      pulled++;
      this.push('x'.repeat(98));
    },
  });
  const stream = source.pipe(new PackrStream({ highWaterMark: 4, readableHighWaterMark: 1000 }));
  let read = 0;
  for await (const chunk of stream) {
    read += chunk.length;
    await sleep(1);
    assert.ok(100 * pulled < read + 5000, `${pulled} values for ${read} bytes`);
    if (read > 20_000) break;
  }
  source.destroy();
});

// Both

test('PackrStream → UnpackrStream', async () => {
  for (const options of [
    {},
    { useRecords: true },
    { moreTypes: true },
    { structuredClone: true },
  ]) {
    const seen = [];
    await soon(
      pipeline(
        Readable.from(RECORDS),
        new PackrStream(options),
        new UnpackrStream({ ...options, mapsAsObjects: true }),
        async (values) => {
          for await (const value of values) seen.push(value);
        },
      ),
    );
    assert.deepStrictEqual(seen, RECORDS);
  }
});

/** A connection on loopback: what the server reads, and the client's socket. */
async function connection(serve) {
  // What is answered when the other side has ended must still go out.
  const server = net.createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const served = once(server, 'connection').then(([socket]) => serve(socket));
  const client = net.connect(server.address().port, '127.0.0.1');
  client.on('error', () => {});
  await once(client, 'connect');
  return {
    client,
    served,
    close() {
      client.destroy();
      server.close();
    },
  };
}

/** Messages from a byte to a megabyte. */
function messages(random, count) {
  return list(count, (i) => {
    const size = 1 << random.below(i % 40 === 0 ? 21 : 12);
    switch (random.below(4)) {
      case 0:
        return { i, data: Buffer.alloc(random.below(size), i) };
      case 1:
        return { i, text: 'é'.repeat(random.below(1 + (size >> 1))), on: true };
      case 2:
        return list(random.below(1 + (size >> 4)), (j) => ({ i, j, half: j / 2 }));
      default:
        return i % 5 === 0 ? NIL : i;
    }
  });
}
const plainOf = (values) => values.map((value) => (value === NIL ? null : value));

test('through a socket: PackrStream → UnpackrStream, and what comes back', async (t) => {
  const random = generator(seedOf(t));
  for (const options of [{}, { useRecords: true, mapsAsObjects: true }]) {
    const values = messages(random, 300);
    const { client, served, close } = await connection(async (socket) => {
      await pipeline(socket, new UnpackrStream(options), new PackrStream(options), socket);
    });
    const back = settledLater(client.pipe(new UnpackrStream(options)), 'the echo');
    await soon(pipeline(Readable.from(values), new PackrStream(options), client));
    const { values: seen, error } = await back;
    assert.equal(error, undefined);
    assert.deepStrictEqual(plainOf(seen), plainOf(values));
    await soon(served);
    close();
  }
});

test('through a socket: writeTo → unpackIter', async (t) => {
  const random = generator(seedOf(t));
  const values = plainOf(messages(random, 400));
  const { client, served, close } = await connection((socket) => settledLater(unpackIter(socket)));
  for (const [i, value] of values.entries()) {
    if (!writeTo(client, value)) await soon(once(client, 'drain'));
    if (i % 7 === 0) await null;
  }
  client.end();
  gives(await soon(served), values);
  close();
});

test('through a socket: packIter and packParts', async (t) => {
  const random = generator(seedOf(t));
  const values = plainOf(messages(random, 200));
  const { client, served, close } = await connection((socket) => settledLater(unpackIter(socket)));
  client.cork();
  for (const part of packParts(values)) client.write(part);
  client.uncork();
  await soon(pipeline(Readable.from(packIter(values)), client));
  gives(await soon(served), [values, ...values]);
  close();
});

test('through a socket that is closed in the middle of a message', async () => {
  const message = pack({ text: 'x'.repeat(1000) });
  const stream = Buffer.concat([pack('whole'), message.subarray(0, 500)]);
  for (const read of [
    (socket) => settledLater(unpackIter(socket)),
    (socket) => settledLater(socket.pipe(new UnpackrStream())),
  ]) {
    const { client, served, close } = await connection(read);
    client.end(stream);
    failsAt(await soon(served), ['whole'], 'ERR_MSGPACK_TRUNCATED', stream.length);
    close();
  }
  // Reset: the error of the socket.
  const { client, served, close } = await connection((socket) => settledLater(unpackIter(socket)));
  client.write(stream, () => setTimeout(() => client.resetAndDestroy(), 20));
  const { values, error } = await soon(served);
  assert.deepStrictEqual(values, ['whole']);
  assert.equal(error.code, 'ECONNRESET');
  close();
});

test('a stream cut in the middle, byte by byte, through PassThrough', async () => {
  const values = [{ a: 1 }, { b: [2, 'é'] }];
  const stream = Buffer.concat([...packIter(values)]);
  const pass = new PassThrough();
  const out = settledLater(pass.pipe(new UnpackrStream()));
  for (const piece of inPieces(stream, 1)) {
    pass.write(piece);
    await null;
  }
  pass.end();
  gives(await out, values);
});

// Last: what it finds would hold back the streams of every test behind it.
test('a stream that throws in _writev keeps no other back', async () => {
  const failing = new Writable({
    writev() {
      throw new Error('in _writev');
    },
  });
  const { stream, written } = recorder();
  // As somebody's own handler of what nobody has caught would do.
  const caught = [];
  const handlers = process.rawListeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => caught.push(error.message));
  try {
    for (const value of [1, 2]) {
      writeTo(failing, value);
      writeTo(stream, value);
    }
    await tick();
    writeTo(stream, 3);
    await tick();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const handler of handlers) process.on('uncaughtException', handler);
  }
  assert.deepStrictEqual(caught, ['in _writev']);
  assert.deepStrictEqual(unpackMultiple(written()), [1, 2, 3]);
  assert.equal(stream.writableCorked, 0);
});

test('PackrStream: as many values wait as are packed at once, or as many as the user says', () => {
  for (const [options, most] of [
    [{}, 128],
    [{ useRecords: true }, 128],
    [{ highWaterMark: 5 }, 5],
    [{ writableHighWaterMark: 1 }, 1],
    [{ highWaterMark: 3, writableHighWaterMark: 9 }, 3],
  ]) {
    const stream = new PackrStream(options);
    assert.equal(stream.writableHighWaterMark, most);
    let written = 1;
    while (stream.write(written)) written++;
    assert.equal(written, most, JSON.stringify(options));
    stream.destroy();
  }
});
