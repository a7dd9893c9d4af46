// unpackIter and UnpackrStream: chunks cut anywhere give what the bytes give as a whole.
import { counts, reset } from './stream-counter.mjs';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addExtension,
  Ext,
  NIL,
  Packr,
  pack,
  Timestamp,
  UnpackrStream,
  unpack,
  unpackIter,
  unpackMultiple,
} from '../index.js';
import {
  bytes,
  collect,
  generator,
  nestArrays,
  runsOf,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import { sameGraph } from './packr-helpers.mjs';
import {
  atRandom,
  everyCut,
  failsAt,
  gives,
  inPieces,
  later,
  READERS,
  reusing,
  settled,
  settledLater,
  sleep,
  soon,
  throughStream,
} from './stream-helpers.mjs';

const suite = JSON.parse(readFileSync(new URL('./data/msgpack-test-suite.json', import.meta.url)));
const FORMS = Object.values(suite)
  .flat()
  .flatMap(({ msgpack }) => msgpack.map((form) => bytes(form)));

/** `once` fails with the stream's error. */
const closed = (stream) => soon(new Promise((resolve) => stream.once('close', resolve)), 'close');

const list = (length, each) => Array.from({ length }, (_, i) => each(i));

/** Every width of header, character and ext, and all that nests. */
const VALUES = [
  { id: 12345, name: 'Zoë 漢字 😀', nested: { deep: [1, 2.5, null, -1, 2 ** 40, 2n ** 63n] } },
  list(20, (i) => ({ id: i, name: `n${i}`, on: i % 2 === 0 })),
  ['x'.repeat(40), 'é'.repeat(200), '漢'.repeat(30_000), '😀'.repeat(20)],
  { a: Buffer.alloc(40, 1), b: [Buffer.alloc(300, 2)], c: new Ext(5, Buffer.alloc(20, 3)) },
  [new Date(0), new Date(1), new Date(-1), new Date(2 ** 40)],
  [new Ext(1, Buffer.alloc(1)), new Ext(2, Buffer.alloc(2)), new Ext(4, Buffer.alloc(4))],
  [new Ext(8, Buffer.alloc(8)), new Ext(16, Buffer.alloc(16)), new Ext(3, Buffer.alloc(70_000))],
  null,
  [],
  {},
  '',
  Buffer.alloc(0),
  Object.fromEntries(list(30, (i) => [`${'k'.repeat(i)}é`, i])),
  nestArrays(200, 'bottom'),
  [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32, -1, -33, -129, -32_769, -(2 ** 31) - 1],
];

/** Cuts at every byte are too many for these. */
const isLong = (message) => message.length > 3000;

// Sources

const THREE = [1, 'two', { three: [3, null] }];
const THREE_BYTES = Buffer.concat(THREE.map((value) => pack(value)));

test('sources: iterables, sync and async', async () => {
  const pieces = inPieces(THREE_BYTES, 2);
  function* generate() {
    yield* pieces;
  }
  gives(settled(unpackIter(pieces)), THREE);
  gives(settled(unpackIter(new Set(pieces))), THREE);
  gives(settled(unpackIter(generate())), THREE);
  gives(settled(unpackIter(pieces.values())), THREE);
  gives(await settledLater(unpackIter(later(pieces))), THREE);
  const iterable = { [Symbol.asyncIterator]: () => later(pieces) };
  gives(await settledLater(unpackIter(iterable)), THREE);
});

test('sources: all bytes at once, as a view of any kind', () => {
  const exact = new Uint8Array(THREE_BYTES);
  const within = Buffer.concat([bytes('c1'), THREE_BYTES, bytes('c1')]);
  gives(settled(unpackIter(THREE_BYTES)), THREE);
  gives(settled(unpackIter(exact)), THREE);
  gives(settled(unpackIter(within.subarray(1, -1))), THREE);
});

test('sources: Node streams and web streams', async () => {
  const pieces = inPieces(THREE_BYTES, 3);
  gives(await settledLater(unpackIter(Readable.from(pieces))), THREE);
  const pass = new PassThrough();
  for (const piece of pieces) pass.write(piece);
  pass.end();
  gives(await settledLater(unpackIter(pass)), THREE);
  const web = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new Uint8Array(piece));
      controller.close();
    },
  });
  gives(await settledLater(unpackIter(web)), THREE);
  gives(await settledLater(unpackIter(new Blob(pieces).stream())), THREE);
});

test('chunks of every kind of memory', async () => {
  const message = pack(['four', 4, 4.5, Buffer.from('4')]);
  const [head, tail] = [message.subarray(0, 7), message.subarray(7)];
  const kinds = {
    Buffer: (part) => Buffer.from(part),
    Uint8Array: (part) => new Uint8Array(part),
    DataView: (part) => new DataView(new Uint8Array(part).buffer),
    Int8Array: (part) => new Int8Array(new Uint8Array(part).buffer),
    ArrayBuffer: (part) => new Uint8Array(part).buffer,
    SharedArrayBuffer(part) {
      const shared = new SharedArrayBuffer(part.length);
      new Uint8Array(shared).set(part);
      return shared;
    },
    'a view of shared memory'(part) {
      const shared = new SharedArrayBuffer(part.length + 8);
      const view = new Uint8Array(shared, 3, part.length);
      view.set(part);
      return view;
    },
  };
  const expected = [unpack(message), unpack(message)];
  for (const [name, make] of Object.entries(kinds)) {
    const chunks = [make(head), make(tail), make(message)];
    gives(settled(unpackIter(chunks)), expected, name);
    gives(await settledLater(unpackIter(later(chunks))), expected, name);
  }
});

test('a source that is none', () => {
  for (const source of [null, undefined, 1, 'text', {}, () => {}, Symbol('s'), true]) {
    assert.throws(() => unpackIter(source), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
  }
});

test('chunks that are no bytes: ERR_MSGPACK_INVALID_INPUT behind the values before', async () => {
  for (const chunk of ['text', '', 1, null, undefined, {}, [1], [Buffer.from([1])]]) {
    const label = String(chunk);
    const chunks = [bytes('01'), chunk, bytes('02')];
    const code = 'ERR_MSGPACK_INVALID_INPUT';
    failsAt(settled(unpackIter(chunks)), [1], code, undefined, label);
    failsAt(await settledLater(unpackIter(later(chunks))), [1], code, undefined, label);
  }
  const texts = new Readable({ encoding: 'utf8', read() {} });
  texts.push(bytes('01'));
  texts.push(null);
  failsAt(await settledLater(unpackIter(texts)), [], 'ERR_MSGPACK_INVALID_INPUT');
  const detached = new Uint8Array(pack(THREE));
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  gives(settled(unpackIter([bytes('01'), detached, bytes('02')])), [1, 2]);
  stillWorks();
});

// Cuts

test('every conformance message, cut at every byte', async () => {
  for (const form of FORMS) {
    const expected = [7, unpack(form), 'end'];
    const stream = Buffer.concat([bytes('07'), form, pack('end')]);
    for (const cut of everyCut(stream)) gives(settled(unpackIter(cut)), expected, form);
    for (const size of [1, 3, 7]) {
      for (const [name, read] of Object.entries(READERS)) {
        gives(await read(inPieces(stream, size)), expected, `${name}, ${size}`);
      }
    }
  }
});

test('all conformance messages in one stream', async () => {
  const expected = FORMS.map((form) => unpack(form));
  const all = Buffer.concat(FORMS);
  for (const size of [1, 2, 3, 5, 7, 64, 1000, all.length]) {
    for (const [name, read] of Object.entries(READERS)) {
      gives(await read(inPieces(all, size)), expected, `${name}, ${size}`);
    }
  }
});

test('values of every kind, cut at every byte or at many', async (t) => {
  const random = generator(seedOf(t));
  for (const value of VALUES) {
    const message = pack(value);
    const stream = Buffer.concat([pack('before'), message, pack('behind')]);
    const expected = ['before', unpack(message), 'behind'];
    if (isLong(message)) {
      for (let i = 0; i < 30; i++) {
        gives(settled(unpackIter(atRandom(random, stream, 1 << random.below(14)))), expected);
      }
    } else {
      for (const cut of everyCut(stream)) gives(settled(unpackIter(cut)), expected);
      gives(await throughStream(inPieces(stream, 1)), expected);
    }
  }
  stillWorks();
});

test('options, cut at every byte', () => {
  const stream = Buffer.concat([
    pack(
      new Map([
        [1, 'one'],
        [null, [0.5]],
        [[1], 'list'],
      ]),
    ),
    pack([2n ** 60n, -(2n ** 60n), new Timestamp(2n ** 40n, 7), new Date(5)]),
    bytes('92 a3 61ff62 a1 61'),
  ]);
  for (const options of [
    { maps: 'map' },
    { maps: 'map', int64: 'string', timestamps: 'timestamp' },
    { maps: 'map', int64: 'bigint', utf8: 'raw', timestamps: 'timestamp' },
    { maps: 'map', int64: 'number', copyBuffers: false, timestamps: 'timestamp' },
  ]) {
    const expected = unpackMultiple(stream, options);
    gives(settled(unpackIter(stream, options)), expected);
    for (const cut of everyCut(stream)) gives(settled(unpackIter(cut, options)), expected);
    gives(settled(unpackIter(inPieces(stream, 1), options)), expected);
  }
});

test('headers wider than needed, cut at every byte', () => {
  const stream = bytes(
    'dd00000003 01 02 03  df00000002 db0000000161 dd00000001 c0 da000162 c6000000020102' +
      ' 82 01 cb3ff8000000000000 cf0000000000000001 d30000000000000001' +
      ' c90000000305 010203  c8000cff 000000000000000000000001  dc0002 de0001a161dc0001c0 d90161' +
      ' dd00000000 df00000000 db00000000 c600000000 c90000000007',
  );
  const expected = unpackMultiple(stream);
  for (const cut of everyCut(stream)) gives(settled(unpackIter(cut)), expected);
  gives(settled(unpackIter(inPieces(stream, 1))), expected);
});

test('random values, random cuts', async (t) => {
  const seed = seedOf(t);
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.constant(null),
        fc.boolean(),
        fc.integer(),
        fc.double({ noNaN: true }),
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.string({ unit: 'grapheme', maxLength: 300 }),
        fc.uint8Array({ maxLength: 300 }).map((data) => Buffer.from(data)),
        fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n),
        fc.date({ noInvalidDate: true }),
        fc
          .tuple(fc.integer({ min: 0, max: 70 }), fc.uint8Array({ maxLength: 20 }))
          .map(([type, data]) => new Ext(type, Buffer.from(data))),
      ),
      fc.array(tie('value'), { maxLength: 20 }),
      fc.dictionary(fc.string({ maxLength: 12 }), tie('value'), { maxKeys: 18 }),
    ),
  })).value;
  const sizes = fc.infiniteStream(
    fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 300 })),
  );
  const property = fc.asyncProperty(
    fc.array(value, { maxLength: 30 }),
    sizes,
    async (all, each) => {
      const stream = Buffer.concat(all.map((one) => pack(one)));
      const expected = unpackMultiple(stream);
      const chunks = [];
      for (let at = 0; at < stream.length; ) {
        const size = each.next().value;
        chunks.push(stream.subarray(at, at + size));
        at += size;
      }
      gives(settled(unpackIter(chunks)), expected, 'sync');
      gives(settled(unpackIter(reusing(chunks))), expected, 'one memory for all chunks');
      gives(await settledLater(unpackIter(later(chunks))), expected, 'async');
      gives(await throughStream(chunks), expected, 'UnpackrStream');
    },
  );
  await fc.assert(property, { seed, numRuns: runsOf(60), endOnFailure: false });
});

// Records, tags, ids

const POINT = class Point {
  constructor(x, y) {
    this.x = x;
    this.y = y;
  }
};
const EXTENSIONS = () => [
  { type: 20, unpack: (data) => `bytes ${data.toString('hex')}` },
  { Class: POINT, type: 21, write: ({ x, y }) => [x, y], read: ([x, y]) => new POINT(x, y) },
];

const MANY_SHAPES = list(150, (i) => ({ [`key ${i}`]: i, more: { [`é${i}`]: `v${i}` } }));
const AGAIN = [...MANY_SHAPES, ...MANY_SHAPES.toReversed()];
const MORE = [
  undefined,
  [undefined, 10n ** 30n, new Set([1, { a: 1 }]), /x+/gi],
  new Uint16Array([1, 2, 500]),
  new Float64Array([0.5, -1]),
  new Map([[{ a: 1 }, [1, 2]]]),
  { a: new Uint8Array(3), at: new Date(7) },
];

/** Objects that come again, within one another too. */
function graph() {
  const one = { k: 'v', list: [1] };
  const all = { a: one, b: one, c: [one, { k: 'w', list: one.list }] };
  all.self = all;
  all.set = new Set([one, all]);
  all.map = new Map([[one, all]]);
  return all;
}

const CODECS = {
  records: [{ useRecords: true }, [{ a: 1, b: { c: 'é' } }, { a: 2, b: { c: 70 } }, [], 64, 100]],
  'records and maps': [{ useRecords: true }, [new Map([['a', { x: 1 }]]), { x: { x: 5 } }, {}]],
  'more than 64 structures: ids of two bytes': [{ useRecords: true, maxOwnStructures: 500 }, AGAIN],
  'few structures, taken again': [{ useRecords: true, maxOwnStructures: 4 }, AGAIN],
  'each message by itself': [{ useRecords: true, sequential: false }, AGAIN.slice(0, 30)],
  moreTypes: [{ moreTypes: true }, [...MORE, ...MORE]],
  'moreTypes without records': [
    { moreTypes: true, useRecords: false },
    [...MORE, ...MORE].filter((value) => !(value instanceof Map)),
  ],
  structuredClone: [{ structuredClone: true }, [graph(), graph(), { a: 1 }, graph()]],
  'structuredClone without records': [
    { structuredClone: true, useRecords: false, mapsAsObjects: false },
    [new Map([['a', [1]]]), [1, [2]]],
  ],
  extensions: [
    { extensions: EXTENSIONS() },
    [new POINT(1, [2]), new Ext(20, Buffer.from('abc')), [new POINT(new POINT(1, 2), null)]],
  ],
  'extensions and records': [
    { extensions: EXTENSIONS(), useRecords: true },
    [new POINT({ a: 1 }, { a: 2 }), { a: new POINT(1, { b: 1 }) }, new Ext(20, Buffer.alloc(9))],
  ],
  'shared structures': [
    { structures: list(70, (i) => [`s${i}`, 'x']) },
    list(70, (i) => ({ [`s${69 - i}`]: i, x: { s3: null, x: 3 } })),
  ],
  'float32 rounded': [{ float32: 'round' }, [0.1, [0.2, { a: 0.3 }], 1.5]],
  frozen: [{ freeze: true }, [{ a: [{ b: 1 }] }, [1]]],
};

/** What the packer of a stream with these options writes. */
function packed(options, values) {
  const hasRecords = options.useRecords ?? (options.moreTypes || options.structuredClone);
  const codec = new Packr(hasRecords ? { sequential: true, ...options } : options);
  return values.map((value) => Buffer.from(codec.pack(value)));
}

function sameValues({ values, error }, expected, label) {
  if (error !== undefined) throw new Error(`${label}: ${error.code}`, { cause: error });
  assert.equal(values.length, expected.length, label);
  for (let i = 0; i < values.length; i++) sameGraph(values[i], expected[i]);
}

for (const [name, [options, values]] of Object.entries(CODECS)) {
  test(`${name}: cut anywhere`, async (t) => {
    const random = generator(seedOf(t));
    const messages = packed(options, values);
    const stream = Buffer.concat(messages);
    const expected = settled(unpackIter(stream, options)).values;
    assert.equal(expected.length, values.length);
    if (name !== 'extensions' && !name.includes('extensions')) sameValues({ values }, expected);
    const cuts = isLong(stream)
      ? list(40, () => atRandom(random, stream, 1 << (1 + random.below(12))))
      : everyCut(stream);
    for (const chunks of cuts) {
      sameValues(
        settled(unpackIter(chunks, options)),
        expected,
        chunks.map((c) => c.length),
      );
    }
    for (const size of [1, 3, 7]) {
      for (const read of Object.values(READERS)) {
        const result = await read(inPieces(stream, size), options);
        sameValues(result, expected, `${name}, ${size}`);
      }
    }
    sameValues(settled(unpackIter(reusing(inPieces(stream, 5)), options)), expected);
    // The same messages, each in a chunk of its own.
    sameValues(settled(unpackIter(messages, options)), expected);
  });
}

test('freeze holds for values of one chunk and of several', () => {
  const message = pack({ a: [{ b: 1 }] });
  for (const chunks of [[message], ...everyCut(message)]) {
    const [value] = unpackIter(chunks, { freeze: true });
    assert.ok(Object.isFrozen(value) && Object.isFrozen(value.a) && Object.isFrozen(value.a[0]));
  }
});

test('structures that are loaded when a message needs them, cut anywhere', async () => {
  let saved;
  const writer = new Packr({
    getStructures: () => saved,
    saveStructures(structures) {
      saved = structures.map((names) => [...names]);
    },
  });
  const values = [[1, { a: 1, b: 'text' }], { c: 2, d: [{ a: 3, b: 4 }] }, 'end'];
  const messages = values.map((value) => Buffer.from(writer.pack(value)));
  const stream = Buffer.concat(messages);
  for (const chunks of [[stream], messages, inPieces(stream, 1), ...everyCut(stream)]) {
    let loads = 0;
    const getStructures = () => {
      loads++;
      return saved;
    };
    const label = chunks.map((chunk) => chunk.length).join();
    gives(settled(unpackIter(chunks, { getStructures })), values, label);
    assert.ok(loads > 0 && loads < 4, `loaded ${loads} times`);
    gives(await throughStream(chunks, { getStructures }), values, label);
  }
  // Structures that are added while the stream goes on.
  saved = undefined;
  const other = new Packr({
    getStructures: () => saved,
    saveStructures(structures) {
      saved = structures.map((names) => [...names]);
    },
  });
  function* write() {
    for (const value of values) yield* inPieces(Buffer.from(other.pack(value)), 2);
  }
  gives(settled(unpackIter(write(), { getStructures: () => saved })), values);
});

test('definitions in other forms than ours, cut at every byte', () => {
  for (const [wire, options, expected] of [
    // An id in an ext 8; definitions within definitions' values; no names.
    ['c7017240 91a161 05 4006', { useRecords: true }, [{ a: 5 }, { a: 6 }]],
    ['d47240 90 40 07', { useRecords: true }, [{}, {}, 7]],
    ['d47240 91a161 d47241 91a162 05 4006', { useRecords: true }, [{ a: { b: 5 } }, { a: 6 }]],
    ['d47240 91a161 d47240 91a162 05 4006', { useRecords: true }, [{ a: { b: 5 } }, { b: 6 }]],
    ['d5726001 dc0001d90161 05 600106', { useRecords: true }, [{ a: 5 }, { a: 6 }]],
    // One-byte ids that are there already next to one of two bytes.
    ['d47268 91a161 05 92 d5726602 91a162 05 6806 07', { useRecords: true }, undefined],
    // A name that is a number, and would be an id in another place.
    ['d47240 91 5d 05 4006', { useRecords: true }, [{ 93: 5 }, { 93: 6 }]],
    // A definition in the place of a shared structure holds for its own message.
    [
      'd47240 92a161a162 0102 4005 c0 4006 07',
      { structures: [['x']] },
      [{ a: 1, b: 2 }, { x: 5 }, null, { x: 6 }, 7],
    ],
    // The array of names is an object that comes again.
    [
      '92 d47240 d66900000001 91a161 05 d47241 d67000000001 06 07',
      { structuredClone: true },
      [[{ a: 5 }, { a: 6 }], 7],
    ],
  ]) {
    const stream = bytes(wire);
    const { values, error } = settled(unpackIter(stream, options));
    assert.equal(error, undefined, wire);
    if (expected !== undefined) assert.deepStrictEqual(values, expected, wire);
    for (const cut of everyCut(stream)) {
      gives(settled(unpackIter(cut, options)), values, `${wire} at ${cut[0].length}`);
    }
    gives(settled(unpackIter(inPieces(stream, 1), options)), values, `${wire} by bytes`);
  }
});

// nil, undefined, nothing

test('nil: null from unpackIter, NIL from UnpackrStream', async () => {
  assert.equal(NIL, Symbol.for('msgpack-rs.nil'));
  const stream = bytes('01 c0 02 91c0 c0');
  const expected = [1, null, 2, [null], null];
  for (const size of [1, 2, 7]) {
    gives(settled(unpackIter(inPieces(stream, size))), expected);
    gives(await settledLater(unpackIter(later(inPieces(stream, size)))), expected);
    const transform = new UnpackrStream();
    for (const chunk of inPieces(stream, size)) transform.write(chunk);
    transform.end();
    gives(await settledLater(transform), [1, NIL, 2, [null], NIL]);
  }
});

test('undefined, false, 0 and the empty string are values', async () => {
  const values = [undefined, 0, false, '', undefined];
  const stream = Buffer.concat(packed({ moreTypes: true }, values));
  for (const size of [1, 2, 50]) {
    for (const read of Object.values(READERS)) {
      gives(await read(inPieces(stream, size), { moreTypes: true }), values);
    }
  }
  const transform = new UnpackrStream({ moreTypes: true });
  const seen = [];
  transform.on('data', (value) => seen.push(value));
  transform.end(stream);
  await soon(once(transform, 'end'));
  assert.deepStrictEqual(seen, values);
});

test('no bytes, and empty chunks', async () => {
  const none = Buffer.alloc(0);
  for (const read of Object.values(READERS)) {
    gives(await read([]), []);
    gives(await read([none]), []);
    gives(await read([none, none, bytes('93'), none, bytes('01'), none, bytes('0203'), none]), [
      [1, 2, 3],
    ]);
  }
  gives(settled(unpackIter(none)), []);
  gives(await settledLater(unpackIter(new Blob([]).stream())), []);
});

// Much at once, and much in all

test('many small messages in one chunk: a few calls', () => {
  const values = list(20_000, (i) => ({ i }));
  const chunk = Buffer.concat(values.map((value) => pack(value)));
  reset();
  gives(settled(unpackIter([chunk])), values);
  assert.ok(counts.parses <= 20, `${counts.parses} calls`);
  assert.equal(counts.scans, 0);
  // In chunks of 64 KiB: one to parse, one to look for the end of the last message, and the message.
  reset();
  const chunks = inPieces(chunk, 8 << 10);
  gives(settled(unpackIter(chunks)), values);
  const most = 4 * chunks.length;
  assert.ok(counts.parses + counts.scans <= most, `${JSON.stringify(counts)} of ${most}`);
});

test('a large message over many chunks: each is looked at once', async () => {
  const value = list(60_000, (i) => ({ id: i, name: `name ${i % 100}` }));
  const message = pack(value);
  for (const size of [1000, 16 << 10, 64 << 10]) {
    const chunks = inPieces(message, size);
    reset();
    const all = settled(unpackIter(chunks));
    assert.equal(all.error, undefined);
    assert.equal(counts.scanned, message.length);
    assert.ok(counts.scans <= chunks.length, `${counts.scans} scans of ${chunks.length} chunks`);
    // The first chunk, and as many calls as the whole message takes at once.
    const { parses } = counts;
    reset();
    unpack(message);
    assert.ok(parses <= 2 * counts.parses, `${parses} calls, ${counts.parses} at once`);
    assert.deepStrictEqual(all.values, [value]);
  }
  gives(await throughStream(inPieces(message, 10_000)), [value]);
});

test('what waits to be looked at is looked at in time: the end, damage, a cut end', () => {
  const value = list(8000, (i) => ({ id: i, name: `name ${i % 1000}` }));
  const message = pack(value);
  const behind = pack('behind');
  for (const size of [1, 100, 1000, 5000, 20_000, 70_000]) {
    const pieces = inPieces(Buffer.concat([message, behind]), size);
    let pulled = 0;
    const chunks = function* () {
      for (const piece of pieces) {
        pulled++;
        yield piece;
      }
    };
    const values = unpackIter(chunks());
    assert.deepStrictEqual(values.next().value, value);
    assert.equal(pulled, Math.ceil(message.length / size), `in pieces of ${size}`);
    assert.equal(values.next().value, 'behind');
    // A byte that starts no value, within each part of the message.
    for (const part of [0.1, 0.5, 0.99]) {
      const at = message.indexOf(pack({ id: 0 }).subarray(1, 4), message.length * part) - 1;
      const broken = Buffer.from(message);
      broken[at] = 0xc1;
      for (const bytes of [broken, broken.subarray(0, at + 1)]) {
        const result = settled(unpackIter(inPieces(bytes, size)));
        failsAt(result, [], 'ERR_MSGPACK_INVALID_BYTE', at, `in pieces of ${size}`);
      }
      const cut = settled(unpackIter(inPieces(message.subarray(0, at), size)));
      failsAt(cut, [], 'ERR_MSGPACK_TRUNCATED', at, `in pieces of ${size}`);
    }
  }
});

test('memory that messages are put together in is used again; their values are their own', () => {
  const text = (i) => `text ${i} `.repeat(40);
  const values = list(200, (i) => ({
    body: Buffer.alloc(300, i),
    text: text(i),
    ext: new Ext(5, Buffer.from(text(i))),
  }));
  const stream = Buffer.concat(values.map((value) => pack(value)));
  for (const size of [1, 100, 700, 3000]) {
    const read = [...unpackIter(inPieces(stream, size))];
    assert.deepStrictEqual(read, values, `in pieces of ${size}`);
  }
});

test('empty chunks in the middle of a large message', async () => {
  const value = [Buffer.alloc(1 << 21, 1)];
  const [empty, message] = [Buffer.alloc(0), pack(value)];
  const chunks = inPieces(message, 700_000).flatMap((piece) => [empty, piece, empty]);
  for (const [name, read] of Object.entries(READERS)) gives(await read(chunks), [value], name);
});

test('what waits turns out to be damaged in the middle of another message', async () => {
  class Sudden {}
  let meanwhile = () => {};
  addExtension({
    Class: Sudden,
    type: 77,
    pack: () => Buffer.alloc(1),
    unpack() {
      meanwhile();
      return new Sudden();
    },
  });
  const message = Buffer.alloc(20_000, 1);
  message.set([0xdd, 0, 1, 0, 0]);
  message[9050] = 0xc1;
  for (const size of [10, 5000]) {
    const stream = new UnpackrStream();
    const seen = settledLater(stream, `${size}`);
    stream.write(message.subarray(0, 9000));
    stream.write(message.subarray(9000, 9100));
    meanwhile = () => stream.write(message.subarray(9100, 9100 + size));
    assert.ok(unpack(pack(new Sudden())) instanceof Sudden);
    failsAt(await seen, [], 'ERR_MSGPACK_INVALID_BYTE', 9050, `${size}`);
  }
});

test('a stream that is destroyed by an extension of its own keeps nothing of the chunk', async () => {
  class Fatal {}
  let stream;
  const fatal = {
    Class: Fatal,
    type: 78,
    pack: () => Buffer.alloc(1),
    unpack() {
      stream.destroy();
      return new Fatal();
    },
  };
  const extensions = [fatal];
  const message = new Packr({ extensions }).pack(new Fatal());
  const open = counts.open;
  stream = new UnpackrStream({ extensions });
  const closed = soon(once(stream, 'close'));
  stream.write(Buffer.concat([message, bytes('93 01')]));
  await closed;
  assert.equal(counts.open, open);
});

test('what is known of an open message goes with a reader that is dropped', async () => {
  const open = counts.open;
  for (let i = 0; i < 100; i++) new UnpackrStream().write(bytes('93 01'));
  assert.ok(counts.open >= open + 100);
  for (let i = 0; i < 100 && counts.open > open; i++) {
    await new Promise((done) => setTimeout(done, 10));
    collect();
  }
  assert.ok(counts.open <= open + 5, `${counts.open - open} of 100`);
});

test('an extension that reads another stream in the middle of a message', () => {
  class Nested {
    constructor(values) {
      this.values = values;
    }
  }
  const inner = list(500, (i) => ({ i, of: 'inner' }));
  const wire = Buffer.concat(inner.map((value) => pack(value)));
  const extensions = [
    {
      Class: Nested,
      type: 7,
      pack: () => wire,
      unpack: (bytes) => new Nested([...unpackIter(inPieces(bytes, 10))]),
    },
  ];
  const outer = list(50, (i) => ({ i, nested: new Nested([]), after: 'x'.repeat(i) }));
  const message = new Packr({ extensions }).pack(outer);
  for (const size of [10, 1000, 50_000]) {
    const [values] = [...unpackIter(inPieces(message, size), { extensions })];
    assert.deepStrictEqual(
      values,
      outer.map((each) => ({ ...each, nested: new Nested(inner) })),
    );
  }
});

test('a message that comes byte by byte took a hundred bytes of memory for each', () => {
  const message = pack('x'.repeat(600_000));
  const taken = () => {
    collect();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  for (const long of [1, 40, 2000]) {
    let grown;
    function* chunks() {
      const before = taken();
      for (let at = 0; at < message.length; ) {
        // Large ones among them.
        const size = at % 3000 === 0 ? long : 1;
        if (grown === undefined && at + 4000 > message.length) grown = taken() - before;
        yield message.subarray(at, at + size);
        at += size;
      }
    }
    gives(settled(unpackIter(chunks())), ['x'.repeat(600_000)]);
    assert.ok(grown < 8 * message.length, `${(grown / message.length).toFixed(1)} bytes a byte`);
  }
});

test('time is linear in the bytes', () => {
  const message = pack(list(200_000, (i) => i * 7));
  const best = (fn) => {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      fn();
      least = Math.min(least, performance.now() - start);
    }
    return least;
  };
  const chunks = inPieces(message, 1 << 10);
  const whole = best(() => unpack(message));
  const cut = best(() => [...unpackIter(chunks)]);
  assert.ok(cut < 10 * whole + 20, `${cut.toFixed(1)} ms, ${whole.toFixed(1)} ms at once`);
});

test('32 MB in 64 KB chunks', () => {
  const data = Buffer.alloc(32 << 20, 7);
  data[31 << 20] = 8;
  const message = pack(['before', data, 'behind']);
  const [[before, copy, behind]] = unpackIter(inPieces(message, 64 << 10));
  assert.deepStrictEqual([before, behind], ['before', 'behind']);
  assert.equal(Buffer.compare(copy, data), 0);
});

// Truncated

test('a stream that ends in the middle of a message, at every byte', async () => {
  const stream = Buffer.concat([pack('a'), pack({ id: 1, name: 'Zoë', list: [1, [2.5]] })]);
  const code = 'ERR_MSGPACK_TRUNCATED';
  for (let end = 3; end < stream.length; end++) {
    const cut = stream.subarray(0, end);
    failsAt(settled(unpackIter(cut)), ['a'], code, end);
    failsAt(settled(unpackIter(inPieces(cut, 1))), ['a'], code, end);
    failsAt(settled(unpackIter(inPieces(cut, 3))), ['a'], code, end);
  }
  for (const end of [3, 4, 9, stream.length - 1]) {
    const cut = stream.subarray(0, end);
    for (const [name, read] of Object.entries(READERS)) {
      failsAt(await read([cut]), ['a'], code, end, name);
      failsAt(await read(inPieces(cut, 2)), ['a'], code, end, name);
    }
  }
  failsAt(settled(unpackIter(bytes('d9'))), [], code, 1);
  gives(settled(unpackIter(stream)), unpackMultiple(stream));
});

test('every conformance message without its last byte', () => {
  for (const form of FORMS.filter(({ length }) => length > 1)) {
    const stream = Buffer.concat([bytes('05'), form.subarray(0, -1)]);
    for (const chunks of [[stream], inPieces(stream, 1), inPieces(stream, 4)]) {
      failsAt(settled(unpackIter(chunks)), [5], 'ERR_MSGPACK_TRUNCATED', stream.length);
    }
  }
});

// Malformed

/** Bytes of one message, the code of its fault, where in it that is, and the options. */
const FAULTS = [
  ['c1', 'ERR_MSGPACK_INVALID_BYTE', 0],
  ['93 01 a161 c1', 'ERR_MSGPACK_INVALID_BYTE', 4],
  ['92 93 01 a161 02 c1', 'ERR_MSGPACK_INVALID_BYTE', 6],
  ['81 c0 01', 'ERR_MSGPACK_KEY', 1],
  ['82 a26964 01 c40161 02', 'ERR_MSGPACK_KEY', 5],
  ['92 a3616263 82 a26964 01 90 02', 'ERR_MSGPACK_KEY', 10],
  ['d5ff0000', 'ERR_MSGPACK_TIMESTAMP', 0],
  ['92 a2616a d7ffffffffff00000000', 'ERR_MSGPACK_TIMESTAMP', 4],
  ['a2c328', 'ERR_MSGPACK_INVALID_UTF8', 0, { utf8: 'fatal' }],
  ['81 a26964 a1ff', 'ERR_MSGPACK_INVALID_UTF8', 4, { utf8: 'fatal' }],
  ['92 a3e4b8ad 81 a1ff 01', 'ERR_MSGPACK_INVALID_UTF8', 6, { utf8: 'fatal' }],
  ['91 91 91 90', 'ERR_MSGPACK_DEPTH', 3, { maxDepth: 3 }],
  ['92 a3616263 91 81 a161 80', 'ERR_MSGPACK_DEPTH', 9, { maxDepth: 3 }],
  ['45', 'ERR_MSGPACK_RECORD', 0, { useRecords: true, mapsAsObjects: true }],
  ['93 01 a161 45', 'ERR_MSGPACK_RECORD', 4, { useRecords: true, mapsAsObjects: true }],
  ['92 a161 d67000000001', 'ERR_MSGPACK_REFERENCE', 3, { structuredClone: true }],
];
const GOOD = ['first', [1, 2.5], { a: 'é' }];

for (const [wire, code, behind, options] of FAULTS) {
  test(`${code} (${wire}) anywhere: the values before, and its place in the stream`, async () => {
    const codec = new Packr({ ...options, useRecords: false });
    const good = GOOD.map((value) => Buffer.from(codec.pack(value)));
    const values = unpackMultiple(Buffer.concat(good), { maps: options?.maps ?? 'object' });
    const maps = options?.structuredClone ? { mapsAsObjects: true } : {};
    const all = { ...options, ...maps };
    for (let before = 0; before <= GOOD.length; before++) {
      const head = Buffer.concat(good.slice(0, before));
      const stream = Buffer.concat([head, bytes(wire), ...good]);
      const place = head.length + behind;
      const expected = values.slice(0, before);
      failsAt(settled(unpackIter(stream, all)), expected, code, place, 'whole');
      for (const cut of everyCut(stream)) {
        const label = `cut at ${cut[0].length}`;
        failsAt(settled(unpackIter(cut, all)), expected, code, place, label);
        failsAt(settled(unpackIter(reusing(cut), all)), expected, code, place, label);
      }
      for (const size of [1, 2, 3, 7, 50]) {
        for (const [name, read] of Object.entries(READERS)) {
          const result = await read(inPieces(stream, size), all);
          failsAt(result, expected, code, place, `${name}, ${size}`);
        }
      }
    }
    stillWorks();
  });
}

test('a fault behind many messages and many chunks', async () => {
  const before = list(5000, (i) => ({ i, text: `text ${i}` }));
  const head = Buffer.concat(before.map((value) => pack(value)));
  const stream = Buffer.concat([head, bytes('82 a161 01 c0 02'), head]);
  for (const size of [500, 4096, 70_000, stream.length]) {
    for (const [name, read] of Object.entries(READERS)) {
      const result = await read(inPieces(stream, size));
      failsAt(result, before, 'ERR_MSGPACK_KEY', head.length + 4, `${name}, ${size}`);
    }
  }
  // Within a message of many chunks.
  const large = Buffer.concat([bytes('92 dd00001388'), head, bytes('c1'), head]);
  for (const size of [500, 4096, 70_000]) {
    const chunks = [bytes('01'), ...inPieces(large, size)];
    failsAt(settled(unpackIter(chunks)), [1], 'ERR_MSGPACK_INVALID_BYTE', 1 + 6 + head.length);
  }
});

test('after an error there is nothing more', async () => {
  const chunks = [bytes('01 c1'), bytes('02')];
  const sync = unpackIter(chunks);
  assert.deepStrictEqual(sync.next(), { value: 1, done: false });
  throwsCode(() => sync.next(), 'ERR_MSGPACK_INVALID_BYTE');
  assert.deepStrictEqual(sync.next(), { value: undefined, done: true });
  const iterator = unpackIter(later(chunks));
  assert.deepStrictEqual(await iterator.next(), { value: 1, done: false });
  await assert.rejects(iterator.next(), { code: 'ERR_MSGPACK_INVALID_BYTE' });
  assert.deepStrictEqual(await iterator.next(), { value: undefined, done: true });
});

test('an error closes the source', async () => {
  let closed = 0;
  function* sync() {
    try {
      yield bytes('01 c1');
      yield bytes('02');
    } finally {
      closed++;
    }
  }
  failsAt(settled(unpackIter(sync())), [1], 'ERR_MSGPACK_INVALID_BYTE', 1);
  assert.equal(closed, 1);
  async function* async() {
    yield* sync();
  }
  failsAt(await settledLater(unpackIter(async())), [1], 'ERR_MSGPACK_INVALID_BYTE', 1);
  assert.equal(closed, 2);
  const readable = new Readable({ read() {} });
  readable.push(bytes('01 c1'));
  failsAt(await settledLater(unpackIter(readable)), [1], 'ERR_MSGPACK_INVALID_BYTE', 1);
  assert.ok(readable.destroyed);
});

test('errors of the source come through, behind the values before them', async () => {
  const open = counts.open;
  const failure = new Error('the source');
  for (const chunk of [bytes('01 02'), bytes('01 02 93 01')]) {
    const source = function* () {
      yield chunk;
      throw failure;
    };
    const sync = settled(unpackIter(source()));
    assert.deepStrictEqual(sync, { values: [1, 2], error: failure });
    const iterator = unpackIter(later(source()));
    const async = await settledLater(iterator);
    assert.deepStrictEqual(async, { values: [1, 2], error: failure });
    assert.deepStrictEqual(await iterator.next(), { value: undefined, done: true });
    const readable = new Readable({ read() {} });
    readable.push(chunk);
    setImmediate(() => readable.destroy(failure));
    const { error } = await settledLater(unpackIter(readable));
    assert.equal(error, failure);
  }
  assert.equal(counts.open, open, 'scanners that nobody closes');
});

// Sizes

test('maxMessageSize: messages that are there', async () => {
  const values = ['small', { list: list(30, (i) => i), text: 'x'.repeat(100), data: null }];
  const [small, large] = values.map((value) => pack(value));
  const stream = Buffer.concat([small, large, small]);
  const code = 'ERR_MSGPACK_TOO_LARGE';
  const fits = { maxMessageSize: large.length };
  const less = { maxMessageSize: large.length - 1 };
  for (const chunks of [[stream], inPieces(stream, 1), inPieces(stream, 64), ...everyCut(stream)]) {
    const label = chunks.length > 2 ? `${chunks.length} chunks` : `cut at ${chunks[0].length}`;
    gives(settled(unpackIter(chunks, fits)), [...values, 'small'], label);
    const { error } = settled(unpackIter(chunks, less));
    failsAt(settled(unpackIter(chunks, less)), ['small'], code, undefined, label);
    assert.ok(error.offset >= small.length && error.offset < small.length + large.length);
  }
  for (const [name, read] of Object.entries(READERS)) {
    gives(await read(inPieces(stream, 10), fits), [...values, 'small'], name);
    failsAt(await read(inPieces(stream, 10), less), ['small'], code, undefined, name);
    failsAt(await read([stream], less), ['small'], code, undefined, name);
  }
});

test('maxMessageSize counts a message, not a stream', () => {
  const values = list(1000, (i) => [`message ${1000 + i}`]);
  const stream = Buffer.concat(values.map((value) => pack(value)));
  const maxMessageSize = pack(values[0]).length;
  for (const size of [1, 10, 1000, stream.length]) {
    gives(settled(unpackIter(inPieces(stream, size), { maxMessageSize })), values);
  }
});

test('maxMessageSize: lengths that are only said', async () => {
  for (const wire of [
    'c6ffffffff',
    'dbffffffff',
    'c9ffffffff05',
    'ddffffffff',
    'dfffffffff',
    'c604000000',
    'db04000000',
    'c90400000005',
    'dd04000000',
    'df02000000',
    '93 ddffffffff',
    '82 a161 dbffffffff',
    '91 91 81 a161 dfffffffff',
    // Each of them fits, all of them do not.
    'dd03000000 dd02000000',
    'dd01000000 dd01000000 dd01000000 dd01000000 dd01000000',
    'df01800000 df01000000',
    'dd02000000 c602000000',
    'dd03fffffc',
  ]) {
    const claim = bytes(wire);
    const stream = Buffer.concat([bytes('01'), claim]);
    for (const size of [1, 3, stream.length]) {
      let pulled = 0;
      const forever = function* () {
        for (const chunk of inPieces(stream, size)) yield chunk;
        for (; pulled < 100; pulled++) yield bytes('00');
      };
      const { values, error } = settled(unpackIter(forever()));
      failsAt({ values, error }, [1], 'ERR_MSGPACK_TOO_LARGE', undefined, wire);
      assert.equal(pulled, 0, `${wire}: read on`);
      assert.ok(error.offset >= 1 && error.offset <= stream.length, wire);
    }
    const result = await throughStream([stream]);
    failsAt(result, [1], 'ERR_MSGPACK_TOO_LARGE', undefined, wire);
  }
});

test('maxMessageSize: exactly at the limit is fine', () => {
  // Header and the rest: 64 MiB, or one byte more.
  for (const [most, over] of [
    ['dd03fffffb', 'dd03fffffc'],
    ['df01fffffd', 'df01fffffe'],
    ['c603fffffb', 'c603fffffc'],
    ['db03fffffb', 'db03fffffc'],
    ['c903fffffa05', 'c903fffffb05'],
    ['92 dd03fffff9', '92 dd03fffffa'],
  ]) {
    const fits = settled(unpackIter(bytes(most)));
    failsAt(fits, [], 'ERR_MSGPACK_TRUNCATED', bytes(most).length, most);
    failsAt(settled(unpackIter(bytes(over))), [], 'ERR_MSGPACK_TOO_LARGE', undefined, over);
  }
  for (const [maxMessageSize, wire] of [
    [1, '05'],
    [2, '91c0'],
    [5, 'dd00000000'],
    [3, 'a26162'],
  ]) {
    const stream = bytes(wire);
    const expected = unpackMultiple(stream);
    for (const chunks of [[stream], inPieces(stream, 1)]) {
      gives(settled(unpackIter(chunks, { maxMessageSize })), expected, wire);
      const less = { maxMessageSize: maxMessageSize - 1 };
      failsAt(settled(unpackIter(chunks, less)), [], 'ERR_MSGPACK_TOO_LARGE', undefined, wire);
    }
  }
});

test('maxMessageSize: more than the default', () => {
  const data = Buffer.alloc(70 << 20);
  const chunks = inPieces(pack(data), 8 << 20);
  failsAt(settled(unpackIter(chunks)), [], 'ERR_MSGPACK_TOO_LARGE');
  const [copy] = unpackIter(chunks, { maxMessageSize: 80 << 20 });
  assert.equal(copy.length, data.length);
});

test('options that are none', () => {
  const invalid = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' };
  for (const options of [
    { maxMessageSize: -1 },
    { maxMessageSize: 1.5 },
    { maxMessageSize: '5' },
    { maxMessageSize: null },
    { copyBuffers: 1 },
    { maps: 'maps' },
    { utf8: null },
    { maxDepth: 0 },
    { useRecords: 'yes' },
    { extensions: [{ type: -5, unpack() {} }] },
    { noSuchOption: 1 },
  ]) {
    const name = JSON.stringify(options);
    assert.throws(() => unpackIter([], options), invalid, name);
    assert.throws(() => new UnpackrStream(options), invalid, name);
  }
  for (const options of [null, 5, 'text']) {
    assert.throws(() => unpackIter([], options), invalid);
    assert.throws(() => new UnpackrStream(options), invalid);
  }
  assert.deepStrictEqual([...unpackIter(bytes('01'), { maps: undefined })], [1]);
  assert.deepStrictEqual([...unpackIter(bytes('01'), undefined)], [1]);
});

// Flow

test('a slow consumer of UnpackrStream pauses the source', async () => {
  let pulled = 0;
  const source = new Readable({
    highWaterMark: 16,
    read() {
      pulled++;
      this.push(Buffer.alloc(16, 1));
    },
  });
  const stream = source.pipe(
    new UnpackrStream({ readableHighWaterMark: 4, writableHighWaterMark: 32 }),
  );
  assert.equal(stream.readableHighWaterMark, 4);
  assert.equal(stream.writableHighWaterMark, 32);
  let taken = 0;
  for await (const value of stream) {
    assert.equal(value, 1);
    if (++taken % 64 === 0) {
      await sleep(2);
      assert.ok(16 * pulled <= taken + 200, `${16 * pulled} bytes for ${taken} values`);
    }
    if (taken === 1024) break;
  }
  source.destroy();
});

test('a slow consumer of unpackIter: a chunk is asked for when the one before is used up', async () => {
  let pulled = 0;
  const chunks = function* () {
    for (; pulled < 100; ) {
      pulled++;
      yield bytes('01 02 93');
      pulled++;
      yield bytes('010203');
    }
  };
  let taken = 0;
  for (const _ of unpackIter(chunks())) {
    taken++;
    assert.ok(pulled <= 1 + (2 * taken) / 3, `${pulled} chunks for ${taken} values`);
  }
  pulled = taken = 0;
  for await (const _ of unpackIter(later(chunks()))) {
    taken++;
    assert.ok(pulled <= 1 + (2 * taken) / 3, `${pulled} chunks for ${taken} values`);
  }
});

test('a fast producer is told to wait, and to go on', async () => {
  const stream = new UnpackrStream();
  let isRoomLeft = true;
  let written = 0;
  for (; isRoomLeft && written < 10_000; written++) {
    isRoomLeft = stream.write(Buffer.alloc(1 << 10, 1));
  }
  assert.equal(isRoomLeft, false);
  let taken = 0;
  stream.on('data', () => taken++);
  await soon(once(stream, 'drain'));
  stream.end();
  await soon(once(stream, 'end'));
  assert.equal(taken, written << 10);
});

test('pipeline: from bytes to values to a slow object Writable', async () => {
  const values = list(3000, (i) => ({ i, text: `text ${i}` }));
  const stream = Buffer.concat(values.map((value) => pack(value)));
  const seen = [];
  const sink = new Writable({
    objectMode: true,
    highWaterMark: 4,
    write(value, _encoding, callback) {
      seen.push(value);
      if (seen.length % 100 === 0) setImmediate(callback);
      else callback();
    },
  });
  await soon(pipeline(Readable.from(inPieces(stream, 100)), new UnpackrStream(), sink));
  assert.deepStrictEqual(seen, values);
  const broken = pipeline(
    Readable.from([bytes('01 02 c1')]),
    new UnpackrStream(),
    new Writable({ objectMode: true, write: (_value, _encoding, callback) => callback() }),
  );
  await assert.rejects(soon(broken), { code: 'ERR_MSGPACK_INVALID_BYTE', offset: 2 });
});

test('an error waits for the values before it, however they are read', async () => {
  const check = (error, seen) => {
    failsAt({ values: seen, error }, [1, 2, 3], 'ERR_MSGPACK_INVALID_BYTE', 3);
  };
  // 'data'
  {
    const stream = new UnpackrStream();
    const seen = [];
    stream.on('data', (value) => seen.push(value));
    stream.write(bytes('010203c1'));
    const [error] = await soon(once(stream, 'error'), 'data');
    check(error, seen);
  }
  // 'data', attached late, and paused in between
  {
    const stream = new UnpackrStream();
    stream.on('error', () => {});
    stream.write(bytes('010203c1'));
    await sleep(5);
    const seen = [];
    stream.on('data', (value) => {
      seen.push(value);
      stream.pause();
      setImmediate(() => stream.resume());
    });
    const [error] = await soon(once(stream, 'error'), 'data, paused');
    check(error, seen);
  }
  // read()
  {
    const stream = new UnpackrStream();
    stream.write(bytes('010203c1'));
    const seen = [];
    stream.on('readable', () => {
      for (let value = stream.read(); value !== null; value = stream.read()) seen.push(value);
    });
    const [error] = await soon(once(stream, 'error'), 'read()');
    check(error, seen);
  }
  // read(), one at a time
  {
    const stream = new UnpackrStream();
    stream.write(bytes('010203c1'));
    const failed = once(stream, 'error');
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await sleep(1);
      seen.push(stream.read());
    }
    stream.read();
    const [error] = await soon(failed, 'read(), one at a time');
    check(error, seen);
  }
  // for await, slowly
  {
    const stream = new UnpackrStream();
    stream.write(bytes('010203c1'));
    const seen = [];
    const all = async () => {
      for await (const value of stream) {
        seen.push(value);
        await sleep(1);
      }
    };
    const error = await soon(all(), 'for await').catch((thrown) => thrown);
    check(error, seen);
  }
});

test('an error at the end waits for the values before it', async () => {
  for (const highWaterMark of [1, 2, 16]) {
    const stream = new UnpackrStream({ readableHighWaterMark: highWaterMark });
    stream.end(bytes('010203 93 01'));
    const result = await settledLater(stream, `highWaterMark ${highWaterMark}`);
    failsAt(result, [1, 2, 3], 'ERR_MSGPACK_TRUNCATED', 5);
  }
});

test('what is written after an error, and the callbacks of what was written', async () => {
  const stream = new UnpackrStream();
  stream.on('error', () => {});
  const outcomes = [];
  stream.write(bytes('c1'), (error) => outcomes.push(error?.code));
  stream.write(bytes('01'), (error) => outcomes.push(error !== undefined && error !== null));
  await closed(stream);
  await sleep(1);
  assert.equal(outcomes.length, 2);
  assert.equal(outcomes[1], true);
});

// Leaks

test('nothing stays open: to the end, destroyed, returned, failed', async () => {
  const open = counts.open;
  const large = Buffer.concat([Buffer.alloc(50, 1), pack(Buffer.alloc(3 << 20)), bytes('93')]);
  for (const chunk of [bytes('01 93 01'), large]) {
    for (const ending of [(s) => s.destroy(), (s) => s.destroy(new Error('why')), (s) => s.end()]) {
      const stream = new UnpackrStream();
      stream.on('error', () => {});
      stream.resume();
      stream.write(chunk);
      await sleep(1);
      ending(stream);
      await closed(stream);
    }
    const stream = new UnpackrStream();
    stream.on('data', () => stream.destroy());
    stream.write(chunk);
    await closed(stream);
    for (const finish of [(it) => it.return(), (it) => settled(it)]) {
      const sync = unpackIter([chunk, bytes('01')]);
      assert.equal(sync.next().value, 1);
      finish(sync);
    }
    const async = unpackIter(later([chunk, bytes('01')]));
    assert.equal((await async.next()).value, 1);
    await async.return();
    settled(unpackIter([chunk, bytes('c1')]));
    settled(unpackIter([chunk, 'text']));
  }
  const controller = new AbortController();
  const aborted = new UnpackrStream({ signal: controller.signal });
  aborted.write(bytes('93'));
  controller.abort();
  const [error] = await soon(once(aborted, 'error'));
  assert.equal(error.name, 'AbortError');
  assert.equal(counts.open, open);
});

test('many streams at once share a parser', async () => {
  const values = list(50, (i) => ({
    id: i,
    records: list(200 + 10 * i, (j) => ({ j, text: `${i}-${j} é`, half: j / 2 })),
    data: Buffer.alloc(100 * i, i),
  }));
  const streams = values.map((value, i) => Buffer.concat([pack(value), pack(i), pack(value)]));
  const expected = values.map((value, i) => [value, i, value]);
  const all = streams.map((stream, i) => {
    const chunks = inPieces(stream, 97 + i);
    return i % 2 === 0 ? settledLater(unpackIter(later(chunks))) : throughStream(chunks);
  });
  const results = await Promise.all(all);
  for (const [i, result] of results.entries()) gives(result, expected[i], `source ${i}`);
  // By hand, a chunk of each in turn.
  const iterators = streams.map((stream, i) => unpackIter(inPieces(stream, 61 + i)));
  const got = values.map(() => []);
  for (let round = 0; round < 3; round++) {
    for (const [i, iterator] of iterators.entries()) got[i].push(iterator.next().value);
  }
  assert.deepStrictEqual(got, expected);
});

test('a source that itself reads a stream, and unpacks', () => {
  const inner = inPieces(pack(list(500, (i) => ({ i }))), 50);
  function* source() {
    for (const chunk of inPieces(pack({ outer: list(300, (i) => `${i}`) }), 64)) {
      assert.equal([...unpackIter(inner)][0].length, 500);
      assert.deepStrictEqual(unpack(bytes('81a16101')), { a: 1 });
      yield chunk;
    }
  }
  gives(settled(unpackIter(source())), [{ outer: list(300, (i) => `${i}`) }]);
});

// The protocol of iterators

test('break, return and throw close the source', async () => {
  let closed = 0;
  function* sync() {
    try {
      for (;;) yield bytes('01 02 93 01');
    } finally {
      closed++;
    }
  }
  const chunks = () => later(sync());
  for (const value of unpackIter(sync())) {
    assert.equal(value, 1);
    break;
  }
  assert.equal(closed, 1);
  for await (const _ of unpackIter(chunks())) break;
  assert.equal(closed, 2);

  const returned = unpackIter(sync());
  returned.next();
  assert.deepStrictEqual(returned.return('r'), { value: 'r', done: true });
  assert.deepStrictEqual(returned.next(), { value: undefined, done: true });
  assert.equal(closed, 3);
  const failure = new Error('thrown in');
  const thrown = unpackIter(sync());
  thrown.next();
  assert.throws(() => thrown.throw(failure), failure);
  assert.deepStrictEqual(thrown.next(), { value: undefined, done: true });
  assert.equal(closed, 4);

  const returnedLater = unpackIter(chunks());
  await returnedLater.next();
  assert.deepStrictEqual(await returnedLater.return('r'), { value: 'r', done: true });
  assert.deepStrictEqual(await returnedLater.next(), { value: undefined, done: true });
  assert.equal(closed, 5);
  const thrownLater = unpackIter(chunks());
  await thrownLater.next();
  await assert.rejects(thrownLater.throw(failure), failure);
  assert.deepStrictEqual(await thrownLater.next(), { value: undefined, done: true });
  assert.equal(closed, 6);
});

test('break closes Node streams and web streams, without waiting for a chunk', async () => {
  const readable = new Readable({ read() {} });
  readable.push(bytes('01 02'));
  const first = async (source) => {
    for await (const value of unpackIter(source)) return value;
  };
  assert.equal(await soon(first(readable), 'Readable'), 1);
  assert.ok(readable.destroyed);
  let cancelled = false;
  const web = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array([1, 2])),
    cancel() {
      cancelled = true;
    },
  });
  assert.equal(await soon(first(web), 'ReadableStream'), 1);
  assert.ok(cancelled);
  const stream = new UnpackrStream();
  stream.write(bytes('01 02'));
  for await (const value of stream) {
    assert.equal(value, 1);
    break;
  }
  assert.ok(stream.destroyed);
});

test('several next() at once get the values in their order', async () => {
  async function* slow() {
    yield bytes('01 02 93');
    await sleep(2);
    yield bytes('01');
    await sleep(2);
    yield bytes('02 03 04 05');
  }
  const iterator = unpackIter(slow());
  const results = await soon(Promise.all(list(8, () => iterator.next())));
  const values = results.filter(({ done }) => !done).map(({ value }) => value);
  assert.deepStrictEqual(values, [1, 2, [1, 2, 3], 4, 5]);
  assert.deepStrictEqual(
    results.map(({ done }) => done),
    [false, false, false, false, false, true, true, true],
  );
  // With a return among them.
  const other = unpackIter(slow());
  const mixed = [other.next(), other.next(), other.return('end'), other.next()];
  assert.deepStrictEqual(await soon(Promise.all(mixed)), [
    { value: 1, done: false },
    { value: 2, done: false },
    { value: 'end', done: true },
    { value: undefined, done: true },
  ]);
  // With an error among them.
  const failing = unpackIter(later([bytes('01'), bytes('c1')]));
  const settledAll = await soon(Promise.allSettled(list(4, () => failing.next())));
  assert.deepStrictEqual(
    settledAll.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.equal(settledAll[3].value.done, true);
});

test('iterators: their own iterable, nothing read before the first next()', async () => {
  let pulled = 0;
  function* source() {
    pulled++;
    yield bytes('01');
  }
  const sync = unpackIter(source());
  assert.equal(sync[Symbol.iterator](), sync);
  const async = unpackIter(later(source()));
  assert.equal(async[Symbol.asyncIterator](), async);
  await null;
  assert.equal(pulled, 0);
  assert.deepStrictEqual([...sync], [1]);
  assert.ok(async.next() instanceof Promise);
});

// Extensions

test('an extension that throws: the values before it, its place, its cause', async () => {
  const cause = new Error('of the extension');
  const options = {
    extensions: [
      {
        type: 5,
        unpack(data) {
          if (data[0] === 0) throw cause;
          return `fine ${data[0]}`;
        },
      },
    ],
  };
  const stream = bytes('01 d40502 92 a161 d40500 d40503');
  const expected = [1, 'fine 2'];
  const check = (result, label) => {
    failsAt(result, expected, 'ERR_MSGPACK_EXTENSION', 7, label);
    assert.equal(result.error.cause, cause, label);
  };
  check(settled(unpackIter(stream, options)), 'whole');
  for (const cut of everyCut(stream)) {
    check(settled(unpackIter(cut, options)), `cut at ${cut[0].length}`);
  }
  for (const [name, read] of Object.entries(READERS)) {
    for (const size of [1, 2, 50]) check(await read(inPieces(stream, size), options), name);
  }
  stillWorks();
});

/** Bytes that are messages themselves: read as a stream within the stream. */
const NESTED = 99;

test('an extension that reads streams with the same functions', () => {
  addExtension({ type: NESTED, unpack: (data) => [...unpackIter(inPieces(data, 2))] });
  const wrap = (...values) =>
    new Ext(NESTED, Buffer.concat(values.map((value) => Buffer.from(pack(value)))));
  const inner = [list(40, (i) => ({ i, text: `text ${i} é` })), 'x', { a: wrap(1, [2, 'two']) }];
  const values = [1, wrap(...inner), { a: wrap('b', 3), c: 'after' }, 'end'];
  const stream = Buffer.concat(values.map((value) => Buffer.from(pack(value))));
  const innerOut = [inner[0], 'x', { a: [1, [2, 'two']] }];
  const expected = [1, innerOut, { a: ['b', 3], c: 'after' }, 'end'];
  assert.deepStrictEqual(unpackMultiple(stream), expected);
  for (const size of [1, 3, 10, 100, stream.length]) {
    gives(settled(unpackIter(inPieces(stream, size))), expected, `${size}`);
  }
  // In the middle of an array that is handed over in parts.
  const long = pack(list(5000, (i) => (i % 1000 === 7 ? wrap(i, ['w']) : { i })));
  const [array] = unpackIter([long]);
  assert.deepStrictEqual(array[4007], [4007, ['w']]);
  assert.deepStrictEqual(array[4999], { i: 4999 });
  gives(settled(unpackIter(inPieces(long, 1000))), [array]);
  stillWorks();
});

test('an extension of a codec of its own that unpacks with the plain functions', () => {
  const options = {
    useRecords: true,
    extensions: [{ type: 9, unpack: (data) => [...unpackIter([data]), unpack(bytes('91c3'))] }],
  };
  const values = [{ a: new Ext(9, bytes('01 93010203')) }, { a: 'x' }];
  const stream = Buffer.concat(packed({ useRecords: true }, values));
  const expected = [{ a: [1, [1, 2, 3], [true]] }, { a: 'x' }];
  for (const chunks of [[stream], ...everyCut(stream)]) {
    gives(settled(unpackIter(chunks, options)), expected);
  }
});

// Memory

const BINARY = { data: Buffer.from('some bytes'), ext: new Ext(3, Buffer.from('other bytes')) };

test('values do not change with the memory of chunks', async () => {
  const message = pack([BINARY, BINARY]);
  const values = list(3, () => [BINARY, BINARY]);
  const stream = Buffer.concat([message, message, message]);
  for (let size = 1; size <= stream.length; size++) {
    const chunks = inPieces(stream, size);
    gives(settled(unpackIter(reusing(chunks))), values, `${size}`);
    gives(await settledLater(unpackIter(later(reusing(chunks)))), values, `${size}`);
  }
  const all = Buffer.from(stream);
  const fromWhole = [...unpackIter(all)];
  all.fill(0xc1);
  assert.deepStrictEqual(fromWhole, values);
});

test('UnpackrStream: memory that is used again once it has been written', async () => {
  const stream = Buffer.concat(list(3, () => Buffer.from(pack([BINARY, BINARY]))));
  for (const size of [1, 3, 10, 64, stream.length]) {
    const memory = Buffer.alloc(size);
    const transform = new UnpackrStream();
    const seen = settledLater(transform, `${size}`);
    for (let at = 0; at < stream.length; at += size) {
      const length = stream.copy(memory, 0, at, at + size);
      await soon(new Promise((done) => transform.write(memory.subarray(0, length), done)));
      memory.fill(0xc1);
    }
    transform.end();
    gives(
      await seen,
      list(3, () => [BINARY, BINARY]),
      `${size}`,
    );
  }
});

test('copyBuffers: false gives the memory of the chunk', () => {
  const chunk = Buffer.from(pack(BINARY));
  const [value] = unpackIter([chunk], { copyBuffers: false });
  assert.equal(value.data.buffer, chunk.buffer);
  assert.equal(value.ext.data.buffer, chunk.buffer);
  chunk.fill(0x41);
  assert.equal(value.data.toString(), 'AAAAAAAAAA');
  const [copy] = unpackIter([Buffer.from(pack(BINARY))], { copyBuffers: true });
  assert.deepStrictEqual(copy, BINARY);
  // Over several chunks it is put together, in memory that is nobody else's.
  const message = Buffer.alloc(pack(BINARY).length);
  message.set(pack(BINARY));
  for (const cut of everyCut(message)) {
    const [joined] = unpackIter(cut, { copyBuffers: false });
    assert.notEqual(joined.data.buffer, message.buffer);
    assert.deepStrictEqual(joined, BINARY);
  }
});

test('UnpackrStream, copyBuffers: the default and false', async () => {
  for (const copyBuffers of [undefined, true, false]) {
    const chunk = Buffer.from(pack(BINARY));
    const stream = new UnpackrStream({ copyBuffers });
    stream.end(chunk);
    const [value] = await soon(once(stream, 'data'));
    assert.equal(value.data.buffer === chunk.buffer, copyBuffers === false);
    assert.deepStrictEqual(value, BINARY);
  }
});
