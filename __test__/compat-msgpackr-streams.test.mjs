// The streams and iterators of msgpack-rs/compat/msgpackr next to those of msgpackr.
import assert from 'node:assert/strict';
import { Readable, Transform } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import * as theirs from 'msgpackr';
import * as ours from '../compat/msgpackr.mjs';
import { MsgpackError } from '../index.js';
import { generator, runsOf, sameBytes, seedOf } from './helpers.mjs';

const VALUES = [
  { id: 1, name: 'Ada', tags: ['x', 'y'] },
  { id: 2, name: 'Grace', tags: [] },
  [1, -1, 1.5, 300, 70_000, 2n ** 63n],
  'é漢😀',
  true,
  undefined,
  new Map([[1, { id: 3, name: 'Lin', tags: ['z'] }]]),
  { id: 4, name: 'x'.repeat(100), tags: [{ a: 1 }] },
  new Date(1_700_000_000_000),
  Buffer.from('bytes'),
];

/** All that comes out of a stream into which these are written. */
async function through(stream, inputs) {
  const out = [];
  stream.on('data', (x) => out.push(x));
  for (const input of inputs) stream.write(input);
  stream.end();
  await finished(stream);
  return out;
}

function cut(all, next, most) {
  const pieces = [];
  for (let at = 0; at < all.length; ) {
    const size = 1 + next.below(most);
    pieces.push(all.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

test('the same bytes, and each reads the other, cut anywhere', async (t) => {
  const next = generator(seedOf(t));
  for (const options of [
    {},
    { useRecords: false },
    { moreTypes: true },
    { variableMapSize: true },
  ]) {
    const written = Buffer.concat(await through(new ours.PackrStream(options), VALUES));
    const expected = Buffer.concat(await through(new theirs.PackrStream({ ...options }), VALUES));
    sameBytes(written, expected);
    for (let run = 0; run < runsOf(20); run++) {
      const chunks = cut(written, next, 1 + next.below(60));
      const found = await through(new ours.UnpackrStream(options), chunks);
      assert.deepStrictEqual(
        found,
        await through(new theirs.UnpackrStream({ ...options }), chunks),
      );
      assert.deepStrictEqual([...ours.decodeIter(chunks, options)], found);
      const later = [];
      for await (const value of ours.decodeIter(Readable.from(chunks), options)) later.push(value);
      assert.deepStrictEqual(later, found);
    }
  }
});

test('definitions of records last for a stream, and come again with encodeIter', async () => {
  const objects = [{ a: 1 }, { a: 2 }];
  const streamed = Buffer.concat(await through(new ours.PackrStream(), objects));
  assert.equal(streamed.toString('hex'), 'd4724091a16101' + '4002');
  const each = [...ours.encodeIter(objects)];
  assert.deepEqual(
    each.map((bytes) => bytes.toString('hex')),
    ['d4724091a16101', 'd4724091a16102'],
  );
  assert.deepEqual(each, [...theirs.encodeIter(objects)]);
  const sequential = [...ours.encodeIter(objects, { sequential: true })];
  assert.equal(Buffer.concat(sequential).toString('hex'), streamed.toString('hex'));
});

test('encodeIter and decodeIter: sync, async, promises; and what is none of them', async () => {
  assert.equal(typeof ours.encodeIter([1])[Symbol.iterator], 'function');
  async function* later() {
    yield 1;
    yield { a: 1 };
  }
  for (const source of [later(), Promise.resolve([1, { a: 1 }]), Promise.resolve(later())]) {
    const bytes = [];
    for await (const each of ours.encodeIter(source, { useRecords: false })) bytes.push(each);
    assert.equal(Buffer.concat(bytes).toString('hex'), '01de0001a16101');
  }
  const set = new Set([1, null]);
  assert.equal(Buffer.concat([...ours.encodeIter(set)]).toString('hex'), '01c0');
  for (const wrong of [undefined, null, 1, 'text', {}, Buffer.of(1)]) {
    if (!Buffer.isBuffer(wrong)) {
      assert.throws(() => ours.encodeIter(wrong), { code: 'ERR_INVALID_ARG_TYPE' });
    }
    assert.throws(() => ours.decodeIter(wrong), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  assert.deepEqual([...ours.decodeIter([Buffer.of(0xc0, 1), Buffer.of(2)])], [null, 1, 2]);
});

test('nil is Symbol.for(null), or what a subclass says', async () => {
  const bytes = [Buffer.of(0xc0, 1)];
  assert.deepEqual(await through(new ours.UnpackrStream(), bytes), [Symbol.for(null), 1]);
  class Nothing extends ours.UnpackrStream {
    getNullValue() {
      return 'nothing';
    }
  }
  assert.deepEqual(await through(new Nothing(), bytes), ['nothing', 1]);
});

test('a truncated end, damaged bytes, a value that is too long: after the values before it', async () => {
  const run = async (stream, chunks) => {
    const values = [];
    stream.on('data', (value) => values.push(value));
    const error = await pipeline(Readable.from(chunks, { objectMode: false }), stream).then(
      () => null,
      (e) => e,
    );
    return { values, error };
  };
  const truncated = await run(new ours.UnpackrStream(), [Buffer.of(1, 0x92), Buffer.of(2)]);
  assert.deepEqual(truncated.values, [1]);
  assert.ok(truncated.error instanceof MsgpackError);
  assert.equal(truncated.error.code, 'ERR_MSGPACK_TRUNCATED');
  assert.equal(truncated.error.incomplete, true);
  assert.throws(() => [...ours.decodeIter([Buffer.of(0x92, 1)])], { incomplete: true });

  const damaged = await run(new ours.UnpackrStream(), [Buffer.of(1), Buffer.of(2, 0xd4)]);
  assert.equal(damaged.error.code, 'ERR_MSGPACK_TRUNCATED');
  const unknown = await run(new ours.UnpackrStream(), [Buffer.of(1), Buffer.of(2, 0xc1)]);
  assert.deepEqual(
    [unknown.values, unknown.error.code, unknown.error.offset],
    [[1, 2], 'ERR_MSGPACK_INVALID_BYTE', 2],
  );

  const long = ours.pack('x'.repeat(1000));
  const limited = await run(new ours.UnpackrStream({ maxIncompleteBufferSize: 500 }), [
    Buffer.of(7),
    long.subarray(0, 100),
    long.subarray(100),
  ]);
  assert.deepEqual([limited.values, limited.error.code], [[7], 'ERR_MSGPACK_TOO_LARGE']);
  const most = { maxIncompleteBufferSize: Infinity };
  assert.deepEqual([...ours.decodeIter([long], most)], ['x'.repeat(1000)]);
  assert.throws(() => new ours.UnpackrStream({ maxIncompleteBufferSize: -1 }), {
    code: 'ERR_INVALID_ARG_VALUE',
    message: /maxIncompleteBufferSize/,
  });
});

test('what cannot be packed is an error of the stream, and throws out of an iterator', async () => {
  const stream = new ours.PackrStream();
  const error = await new Promise((resolve) => {
    stream.on('error', resolve);
    stream.write({ at: 2n ** 70n });
  });
  assert.equal(error.code, 'ERR_MSGPACK_OUT_OF_RANGE');
  const values = ours.encodeIter([1, 2n ** 70n]);
  assert.equal(values.next().value.toString('hex'), '01');
  assert.throws(() => values.next(), { code: 'ERR_MSGPACK_OUT_OF_RANGE' });
});

test('instances that are given: packr packs, unpackr unpacks, with extensions', async () => {
  class Point {
    constructor(x) {
      this.x = x;
    }
  }
  const stream = new ours.UnpackrStream();
  // Added when the stream is there already.
  ours.addExtension({ Class: Point, type: 0x41, write: (p) => [p.x], read: ([x]) => new Point(x) });
  const packr = new ours.Packr({ structures: [] });
  const out = new ours.PackrStream({ packr });
  assert.equal(out.packr, packr);
  assert.ok(out instanceof Transform && stream instanceof Transform);
  const points = [new Point(1), { a: new Point(2) }, { a: new Point(3) }];
  const bytes = Buffer.concat(await through(out, points));
  assert.deepEqual(packr.structures, [['a']]);
  const unpackr = new ours.Unpackr({ structures: [['a']] });
  const given = new ours.UnpackrStream({ unpackr });
  assert.equal(given.unpackr, unpackr);
  assert.deepStrictEqual(await through(given, [bytes.subarray(0, 5), bytes.subarray(5)]), points);
  const own = Buffer.concat(await through(new ours.PackrStream(), points));
  assert.deepStrictEqual(await through(stream, [own]), points);
});

test('the names of msgpackr: the same classes and functions twice', () => {
  assert.equal(ours.EncoderStream, ours.PackrStream);
  assert.equal(ours.DecoderStream, ours.UnpackrStream);
  for (const name of Object.keys(theirs)) assert.ok(name in ours, name);
});
