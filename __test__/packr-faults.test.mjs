// Faults of Packr that were found once: each test is named after what went wrong.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as compat from '../compat/msgpackr.mjs';
import { Ext, Packr, pack } from '../index.js';
import { bytes, generator, hex, nestArrays, sameBytes, seedOf, throwsCode } from './helpers.mjs';
import { nest, reads, sameGraph, settle, shapes, writes } from './packr-helpers.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

class Box {
  constructor(value) {
    this.value = value;
  }
}
/** A box goes out as its value behind type 1. */
const box = {
  Class: Box,
  type: 1,
  write: ({ value }) => value,
  read: (value) => new Box(value),
};

class Alias {
  constructor(value) {
    this.value = value;
  }
}
/** An alias is its value. */
const alias = { Class: Alias, write: ({ value }) => value };

const jsonOf = (value) => ({ toJSON: () => value });
const boxes = (count, value) => nest(count, value, (inner) => new Box(inner));
const innermost = (depth, value) => nest(depth, value, (outer) => outer[0]);

/** Depths of the walkers that recurse and of the one that does not. */
const DEPTHS = [0, 100, 300];

/** Runs a script in a process of its own, with the module, or what it has changed, to itself. */
function inProcess(script, ...flags) {
  const head = `
    const assert = require('node:assert/strict');
    const { Ext, Packr, addExtension, pack, unpack } = require(${JSON.stringify(path('../index.js'))});
    const compat = require(${JSON.stringify(path('../compat/msgpackr.js'))});`;
  const options = { stdio: 'pipe', timeout: 60_000 };
  execFileSync(process.execPath, [...flags, '-e', `${head}\n${script}`], options);
}

/** Runs `f` while every object inherits an enumerable property. */
function polluted(f) {
  Object.defineProperty(Object.prototype, 'inherited', {
    value: 1,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  try {
    return f();
  } finally {
    delete Object.prototype.inherited;
  }
}

const failing = (f) => assert.throws(f, { message: 'boom' });
const boom = () => {
  throw new Error('boom');
};

test('an array without a prototype, where arrays may have extensions', () => {
  class List extends Array {}
  const list = {
    Class: List,
    type: 1,
    write: (each) => [...each],
    read: (each) => List.from(each),
  };
  for (const options of [{ extensions: [list] }, { extensions: [list], structuredClone: true }]) {
    for (const wrap of [
      (value) => value,
      (value) => ({ a: value }),
      (value) => [new List(), value],
    ]) {
      const bare = Object.setPrototypeOf([1, 'x'], null);
      const packr = new Packr(options);
      assert.deepStrictEqual(packr.unpack(packr.pack(wrap(bare))), wrap([1, 'x']));
    }
  }
});

// ── Sequential streams

test('sequential: what a long message had defined before it turned out damaged stayed', () => {
  const rows = (first, rest) => Array.from({ length: 3000 }, (_, i) => (i === 0 ? first : rest(i)));
  const start = (options) => {
    const writer = new Packr({ sequential: true, maxOwnStructures: 1 });
    const reader = new Packr({ sequential: true, ...options });
    reads(reader, writer.pack({ user: 1 }), { user: 1 });
    return { reader, writer };
  };
  const value = rows({ user: 7 }, (i) => ({ price: i }));
  for (const lost of [1, 2, 5, 100, 1000, 4000]) {
    const { reader, writer } = start();
    const wire = writer.pack(value);
    for (const cut of [lost, wire.length - lost, lost]) {
      throwsCode(() => reader.unpack(wire.subarray(0, -cut)), 'ERR_MSGPACK_TRUNCATED');
      throwsCode(() => reader.unpackFrom(wire.subarray(0, -cut)), 'ERR_MSGPACK_TRUNCATED');
    }
    const damaged = Buffer.concat([wire.subarray(0, -3), bytes('c1c1c1')]);
    throwsCode(() => reader.unpack(damaged), 'ERR_MSGPACK_INVALID_BYTE');
    throwsCode(() => reader.unpack(Buffer.concat([wire, wire])), 'ERR_MSGPACK_EXTRA_BYTES');
    const back = reader.unpack(wire);
    assert.deepStrictEqual(back[0], { user: 7 });
    assert.deepStrictEqual(back, value);
  }
  // Many messages, of which the last is damaged.
  const { reader, writer } = start();
  const wire = Buffer.concat(value.map((row) => writer.pack(row)));
  for (let i = 0; i < 3; i++) {
    throwsCode(() => reader.unpackMultiple(wire.subarray(0, -1)), 'ERR_MSGPACK_TRUNCATED');
  }
  assert.deepStrictEqual(reader.unpackMultiple(wire), value);
  reads(reader, writer.pack({ price: 1 }), { price: 1 });
});

test('sequential: what a message had defined before an extension threw stayed', () => {
  for (const count of [3, 3000]) {
    for (const method of ['unpack', 'unpackMultiple', 'unpackFrom']) {
      let isFailing = false;
      const last = { type: 1, unpack: () => (isFailing ? boom() : 'last') };
      const reader = new Packr({ sequential: true, extensions: [last] });
      const writer = new Packr({ sequential: true, maxOwnStructures: 1 });
      reads(reader, writer.pack({ user: 1 }), { user: 1 });
      const value = Array.from({ length: count }, (_, i) => (i === 0 ? { user: 7 } : { price: i }));
      const wire = writer.pack([...value, new Ext(1, bytes('00'))]);
      isFailing = true;
      for (let i = 0; i < 3; i++) {
        throwsCode(() => reader[method](wire), 'ERR_MSGPACK_EXTENSION');
      }
      isFailing = false;
      const back = reader[method](wire);
      const whole = { unpack: back, unpackMultiple: back[0], unpackFrom: back.value }[method];
      assert.deepStrictEqual(whole, [...value, 'last']);
      reads(reader, writer.pack({ price: 1 }), { price: 1 });
    }
  }
});

/** Packs its value by the instance that it is packed by. */
class Nest {
  constructor(value) {
    this.value = value;
  }
}
function nesting(options) {
  const packr = new Packr(options);
  return packr.addExtension({
    Class: Nest,
    type: 1,
    pack: ({ value }) => packr.pack(value),
    unpack: (data) => new Nest(packr.unpack(data)),
  });
}

const STREAMS = [
  {},
  { maxOwnStructures: 4 },
  { maxOwnStructures: 9 },
  { maxOwnStructures: 8192 },
  { moreTypes: true },
  { structuredClone: true },
].map((options) => ({ sequential: true, ...options }));

test('sequential: objects packed within a pack came back as Maps', () => {
  for (const options of STREAMS) {
    const [writer, reader] = [nesting(options), nesting(options)];
    for (let i = 0; i < 60; i++) {
      const wrap = (inner, level) => new Nest({ [`n${(i + level) % 30}`]: inner, level });
      const value = [{ [`a${i % 7}`]: i }, nest(1 + (i % 5), { x: i }, wrap), { b: i }];
      reads(reader, writer.pack(value), value, JSON.stringify(options));
      const many = [{ a: i }, new Nest(shapes(40, i)), { a: i }];
      reads(reader, writer.pack(many), many, JSON.stringify(options));
    }
  }
});

test('sequential: objects came back as Maps while Object.prototype was polluted', () => {
  for (const options of STREAMS) {
    const [writer, reader] = [nesting(options), nesting(options)];
    for (let i = 0; i < 30; i++) {
      const value = [{ [`a${i % 9}`]: i, b: [{ c: i }] }, new Nest({ [`n${i}`]: { d: 1 } })];
      reads(reader, writer.pack(value), value, 'before');
      const wire = polluted(() => writer.pack(value));
      reads(reader, wire, value, 'meanwhile');
      const target = Buffer.alloc(200);
      const end = polluted(() => writer.packInto(value, target));
      reads(reader, target.subarray(0, end), value, 'meanwhile, into a target');
      reads(reader, writer.pack(value), value, 'after');
    }
  }
});

test('sequential: what was packed within a pack took the ids of other messages', (t) => {
  const next = generator(seedOf(t));
  for (const options of STREAMS) {
    const writer = new Packr(options);
    const reader = new Packr(options);
    // Those of the stream keep their order; those packed within one may come at any time.
    const stream = [];
    const others = [];
    const value = (depth) => {
      const result = { [`k${next.below(12)}`]: next.below(100) };
      if (depth > 0 && next.below(2) === 0) {
        Object.defineProperty(result, `g${next.below(12)}`, {
          enumerable: true,
          get() {
            const inner = value(depth - 1);
            const message = () => writer.pack(inner);
            const wire = next.below(4) === 0 ? polluted(message) : message();
            others.push([wire, inner]);
            return wire.length;
          },
        });
      }
      return result;
    };
    /** What the reader gets of what the writer was given, whose getters must not run again. */
    const plainOf = (x) => Object.fromEntries(Object.keys(x).map((key) => [key, ownOf(x, key)]));
    const ownOf = (x, key) => Object.getOwnPropertyDescriptor(x, key).value;
    for (let i = 0; i < 150; i++) {
      const rows = Array.from({ length: 1 + next.below(4) }, () => value(3));
      stream.push([writer.pack(rows), rows]);
    }
    const check = ([wire, given]) => {
      const back = reader.unpack(wire);
      for (const [j, row] of [given].flat().entries()) {
        const got = [back].flat()[j];
        assert.equal(Object.getPrototypeOf(got), Object.prototype);
        assert.deepEqual(Object.keys(got), Object.keys(row));
        const expected = plainOf(row);
        for (const key of Object.keys(got)) {
          if (expected[key] !== undefined) assert.equal(got[key], expected[key]);
        }
      }
    };
    for (const message of stream) {
      check(message);
      while (next.below(2) === 0) check(next.pick(others));
    }
    others.reverse().forEach(check);
  }
});

test('sequential: input that is none took back what the message before had defined', () => {
  for (const input of [Buffer.alloc(0), new ArrayBuffer(0), null, 'text', {}]) {
    for (const method of ['unpack', 'unpackMultiple', 'unpackFrom']) {
      const [writer, reader] = [new Packr({ sequential: true }), new Packr({ sequential: true })];
      reads(reader, writer.pack({ a: 1 }), { a: 1 });
      settle(() => reader[method](input));
      reads(reader, writer.pack({ a: 2 }), { a: 2 }, `${method} of ${typeof input}`);
    }
  }
  // Shared memory is no input to the parser, either, before it is copied.
  const [writer, reader] = [new Packr({ sequential: true }), new Packr({ sequential: true })];
  for (let i = 0; i < 5; i++) {
    const wire = writer.pack({ a: i });
    const memory = new SharedArrayBuffer(wire.length);
    new Uint8Array(memory).set(wire);
    reads(reader, [wire, memory, new Uint8Array(memory), new DataView(memory)][i % 4], { a: i });
  }
});

test('packs that failed, then one while Object.prototype was polluted: a structure too many', () => {
  for (const options of [{ structures: [] }, { structures: [['q0']] }]) {
    const writer = new Packr(options);
    const reader = () => new Packr({ structures: structuredClone(writer.structures) });
    for (let i = 0; i < 20; i++) {
      const before = structuredClone(writer.structures);
      const value = [
        { [`a${i}`]: 1 },
        Array.from({ length: 9000 }, () => 's'),
        {
          get x() {
            return boom();
          },
        },
      ];
      failing(() => writer.pack(value));
      assert.deepEqual(writer.structures, before);
      const row = { [`q${i}`]: { [`r${i}`]: i } };
      const meanwhile = polluted(() => writer.pack(row));
      assert.deepEqual(writer.structures, before);
      reads(reader(), meanwhile, row);
      const after = writer.pack(row);
      reads(reader(), after, row);
      const known = writer.structures.map((names) => names.join());
      assert.equal(new Set(known).size, known.length);
      assert.ok(known.length <= 32 && (i > 10 || known.includes(`r${i}`)), known.join(' '));
    }
  }
});

// ── Numbers

test("float32: 'fit' changed small numbers, and some of seventeen digits", (t) => {
  const fitting = new Packr({ float32: 'fit' });
  const back = (x) => {
    for (const value of [x, -x]) {
      const both = [fitting.pack(value), pack(value, { float32: 'fit' })];
      for (const wire of both) assert.ok(Object.is(fitting.unpack(wire), value), String(value));
    }
  };
  const known = [1.1652e-17, 1e-28, 0.21000000000000002, 0.1, 1e-45, 5e-324, 3.4e38, 1e39, 0.3];
  for (const x of [...known, 0.1 + 0.2, 16777217.5, 1e-38, 1.17549435e-38, 123456.7]) back(x);
  const next = generator(seedOf(t));
  const many = [];
  for (let i = 0; i < 40_000; i++) {
    const digits = next() % 10 ** (1 + next.below(9));
    const x = Number(`${digits}e${next.below(90) - 55}`);
    back(x);
    many.push(x, x + Number.EPSILON * x);
  }
  assert.deepStrictEqual(fitting.unpack(fitting.pack(many)), many);
  const rows = many.slice(0, 2000).map((x) => ({ x }));
  assert.deepStrictEqual(fitting.unpack(fitting.pack(rows)), rows);
  // It is for something.
  for (const x of [0.1, 1.1, 123456.7]) assert.equal(fitting.pack(x).length, 5);
  const theirs = new compat.Packr({ useFloat32: 4 });
  for (const x of known) assert.ok(Object.is(theirs.unpack(theirs.pack(x)), x), String(x));
});

// ── References

/** Lists of an object and what is packed in its place. */
const ORDERS = ['aaii', 'iaai', 'aiai', 'iiaa', 'aia', 'ai', 'ia', 'aa'];
const REPLACED = {
  toJSON: jsonOf,
  write: (inner) => new Alias(inner),
  'write, three times': (inner) => new Alias(new Alias(new Alias(inner))),
  'write and toJSON': (inner) => new Alias(jsonOf(inner)),
  'toJSON and write': (inner) => jsonOf(new Alias(inner)),
};
const INNER = [() => ({ x: 1 }), () => [1], () => new Map([[1, 2]]), () => new Set([1])];
const CLONING = [{}, { useRecords: false }, { structures: [] }, { sequential: true }];

function sameAgain(make, depth, options) {
  for (const order of ORDERS) {
    for (const innerOf of INNER) {
      const packr = new Packr({ structuredClone: true, extensions: [alias], ...options });
      const inner = innerOf();
      const a = make(inner);
      const list = [...order].map((letter) => (letter === 'a' ? a : inner));
      const back = innermost(depth, packr.unpack(packr.pack(nestArrays(depth, list))));
      for (const each of back) assert.equal(each, back[0], order);
      if (options.useRecords !== false) assert.deepStrictEqual(back[0], inner);
    }
  }
}

test('structuredClone: an object that stood for another, and both of them again', () => {
  for (const make of Object.values(REPLACED)) {
    for (const depth of [0, 1, 100, 200]) {
      for (const options of CLONING) sameAgain(make, depth, structuredClone(options));
    }
  }
});

test('structuredClone: the same, by write, deeper than the walkers recurse', () => {
  for (const make of [REPLACED.write, REPLACED['write, three times']]) {
    for (const options of CLONING) sameAgain(make, 300, structuredClone(options));
  }
});

test('structuredClone: the same, by toJSON, deeper than the walkers recurse', () => {
  for (const make of [REPLACED.toJSON, REPLACED['write and toJSON']]) {
    for (const options of CLONING) sameAgain(make, 300, structuredClone(options));
  }
});

test('structuredClone: an object whose toJSON returns it, at any depth', () => {
  for (const depth of [...DEPTHS, 255, 256, 257]) {
    for (const wrap of [(x) => x, (x) => new Alias(x)]) {
      const packr = new Packr({ structuredClone: true, extensions: [alias] });
      const object = {
        a: 1,
        toJSON() {
          return this;
        },
      };
      const value = [wrap(object), object, { object }];
      const back = innermost(depth, packr.unpack(packr.pack(nestArrays(depth, value))));
      assert.equal(back[0].a, 1, `${depth}`);
      assert.equal(back[1], back[0]);
      assert.equal(back[2].object, back[0]);
    }
  }
});

test('structuredClone: an object packed as an extension, twice, and what it holds', () => {
  for (const depth of DEPTHS) {
    const packr = new Packr({ structuredClone: true, extensions: [box, alias] });
    const inner = { x: 1 };
    const a = new Box(inner);
    const b = new Alias(a);
    const list = nestArrays(depth, [a, a, inner, b, new Box(b)]);
    const back = innermost(depth, packr.unpack(packr.pack(list)));
    assert.ok(back[0] instanceof Box);
    assert.equal(back[1], back[0]);
    assert.equal(back[2], back[0].value);
    assert.equal(back[3], back[0]);
    assert.equal(back[4].value, back[0]);
  }
});

/** Objects that hold themselves through what an extension writes for them. */
const CYCLES = {
  object() {
    const a = new Box();
    a.value = { a };
    return a;
  },
  array() {
    const a = new Box();
    a.value = [1, a];
    return a;
  },
  'a Map': () => {
    const a = new Box();
    a.value = new Map([[a, 1]]);
    return a;
  },
  'another box': () => {
    const a = new Box();
    a.value = new Box(new Box([{ a }]));
    return a;
  },
};

function failsToPack(depth) {
  for (const [name, make] of Object.entries(CYCLES)) {
    for (const options of [{}, { useRecords: false, maps: 'map' }]) {
      const packr = new Packr({ structuredClone: true, extensions: [box, alias], ...options });
      const value = nestArrays(depth, [make(), 1]);
      const error = throwsCode(() => packr.pack(value), 'ERR_MSGPACK_REFERENCE');
      assert.ok(error.path.startsWith(`$${'[0]'.repeat(depth + 1)}`), `${name}: ${error.path}`);
      assert.equal(error.offset, undefined);
      const shared = [1];
      sameGraph(packr.unpack(packr.pack([shared, shared])), [shared, shared]);
    }
  }
}

test('structuredClone: a cycle through write was packed, and nobody could unpack it', () => {
  for (const depth of [0, 1, 100, 200]) failsToPack(depth);
});

test('structuredClone: the same cycles, deeper than the walkers recurse', () => {
  failsToPack(300);
});

test('structuredClone: the same cycle where write returns its argument', () => {
  class Node {
    constructor() {
      this.self = this;
    }
  }
  for (const depth of [0, 300]) {
    const extension = { Class: Node, type: 1, write: (node) => node, read: (node) => node };
    const packr = new Packr({ structuredClone: true, extensions: [extension] });
    const value = nestArrays(depth, [new Node()]);
    throwsCode(() => packr.pack(value), 'ERR_MSGPACK_REFERENCE');
  }
});

test('structuredClone: ids were written twice when the tape was full where the value ends', () => {
  const packr = new Packr({ structuredClone: true });
  for (let size = 5900; size < 6300; size++) {
    const shared = [1];
    const list = Array.from({ length: size }, (_, i) => (i < 2 ? shared : ''));
    list.push(1.5);
    const back = packr.unpack(packr.pack(list));
    assert.equal(back.length, list.length);
    assert.equal(back[0], back[1], `${size}`);
  }
});

test('REFERENCE and KEY errors had no offset', () => {
  const [REFERENCE, KEY] = ['ERR_MSGPACK_REFERENCE', 'ERR_MSGPACK_KEY'];
  const id = 'd66900000001';
  const pointer = 'd67000000001';
  const read = (value) => value;
  const cloning = new Packr({
    structuredClone: true,
    maps: 'object',
    extensions: [
      { type: 1, read },
      { type: 2, unpack: read },
    ],
  });
  const long = `dc7530 01^29999`;
  const cases = [
    [REFERENCE, `92c0${pointer}`, 2],
    [REFERENCE, `92${id}91c0${id}91c0`, 9],
    [REFERENCE, `${id}d40100${pointer}`, 9],
    [REFERENCE, `92c0${id}d4010091${pointer}`, 12],
    [REFERENCE, `${id}d4780092${pointer}a0`, 10],
    [REFERENCE, `91^300 ${id}d4010091${pointer}`, 310],
    [REFERENCE, `91^300 ${pointer}`, 300],
    [REFERENCE, `${long} ${id}d4010091${pointer}`, 30_012],
    [REFERENCE, `${long} ${pointer}`, 30_002],
    [REFERENCE, 'd469 01', 0],
    [REFERENCE, 'd770 0000000000000001', 0],
    [KEY, '81c001', 1],
    [KEY, '82a16101c301', 4],
    [KEY, '8191c001', 1],
    [KEY, '818001', 1],
    [KEY, '81c4010101', 1],
    [KEY, '81d4010091c001', 1],
    [KEY, '81d4020001', 1],
    [KEY, `92${id}91c081${pointer}01`, 10],
    [KEY, '91^300 81c001', 301],
    [KEY, `${long} 81c001`, 30_003],
  ];
  for (const [code, text, offset] of cases) {
    const wire = bytes(text);
    throwsCode(() => cloning.unpack(wire), code, { offset });
    throwsCode(() => cloning.unpackFrom(wire), code, { offset });
    throwsCode(() => cloning.unpackMultiple(Buffer.concat([bytes('c0 01'), wire])), code, {
      offset: offset + 2,
    });
    reads(cloning, `92${id}91c0${pointer}`, [[null], [null]]);
  }
  const refusing = new compat.Unpackr({ structuredClone: false });
  throwsCode(() => refusing.unpack(bytes(`91${id}91c0`)), REFERENCE, { offset: 1 });
  const plain = new compat.Unpackr({ useRecords: false });
  throwsCode(() => plain.unpack(bytes('92c081 92c0c0 01')), KEY, { offset: 3 });
});

// ── Order

const unlike = (a, b) => Buffer.compare(a, b) !== 0;

/** Elements whose order changes with what is in them, in a Set and as keys of a Map. */
const ORDERED = {
  Set: (a, b) => new Set([a, b]),
  Map: (a, b) =>
    new Map([
      [a, 0],
      [b, 0],
    ]),
  'Set in a Set': (a, b) => new Set([new Set([a, b])]),
  'Set as a key': (a, b) => new Map([[new Set([a, b]), 1]]),
};

/** Packs a container before and after its elements change, by `call(packr, container)`. */
function orderedAnew(call) {
  for (const [name, make] of Object.entries(ORDERED)) {
    for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
      const sorting = () => new Packr({ sortKeys: true, useRecords: false, ...options });
      const packr = sorting();
      const [a, b] = [[1], [2]];
      const container = make(a, b);
      const before = call(packr, container);
      sameBytes(before, sorting().pack(make([1], [2])), name);
      a[0] = 3;
      const after = call(packr, container);
      assert.ok(unlike(after, before));
      sameBytes(after, sorting().pack(make([2], [3])), name);
    }
  }
}

test('sortKeys: elements that had changed since the last pack were in their old order', () => {
  orderedAnew((packr, container) => packr.pack(container));
  orderedAnew((packr, container) => {
    const target = Buffer.alloc(100);
    return target.subarray(0, packr.packInto(container, target));
  });
  orderedAnew((packr, container) => {
    failing(() => packr.pack([container, { toJSON: boom }]));
    return packr.pack(container);
  });
});

test('sortKeys: the same, for what is packed within a pack', () => {
  for (const make of Object.values(ORDERED)) {
    const packr = new Packr({ sortKeys: true });
    const [a, b] = [[1], [2]];
    const container = make(a, b);
    let inner;
    packr.pack({
      toJSON() {
        packr.pack(container);
        a[0] = 3;
        inner = packr.pack(container);
        return 1;
      },
    });
    sameBytes(inner, new Packr({ sortKeys: true }).pack(make([2], [3])));
  }
});

test('sortKeys: the same, while Object.prototype is polluted', () => {
  orderedAnew((packr, container) => polluted(() => packr.pack(container)));
});

test('sortKeys: keys of a Map that are written alike were in the order of the Map', () => {
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
    const packr = new Packr({ sortKeys: true, ...options });
    for (const [one, other] of [
      [[1], [1]],
      [{ a: 1 }, { a: 1 }],
      [new Set([1]), new Set([1])],
      ['\ud800', '\udbff'],
      ['\ud800', '\ufffd'],
      [new Date(5), new Date(5)],
      ...(options.moreTypes ? [] : [[7.5, Object(7.5)]]),
    ]) {
      for (const items of [
        ['x', 'y'],
        ['y', 'x'],
        [[2], [1]],
        [{ b: 1 }, { b: 0 }],
      ]) {
        const entries = [
          [one, items[0]],
          [other, items[1]],
        ];
        const wire = packr.pack(new Map(entries));
        sameBytes(packr.pack(new Map(entries.toReversed())), wire);
        sameBytes(packr.pack(new Map([...entries, [1, 1]])).subarray(1, 3), bytes('0101'));
      }
    }
  }
  const plain = new Packr({ sortKeys: true });
  const [x, y] = [
    [1, 'x'],
    [1n, 'y'],
  ];
  sameBytes(plain.pack(new Map([x, y])), plain.pack(new Map([y, x])));
});

/** Objects that hold themselves through a Set, or a key of a Map. */
const SORTED_CYCLES = {
  'a Set in itself': () => {
    const set = new Set();
    return set.add(set);
  },
  'a Set in an object in it': () => {
    const object = {};
    object.set = new Set([1, object]);
    return object;
  },
  'a Map that is its key': () => {
    const map = new Map();
    return map.set(map, 1);
  },
  'a Map in its keys': () => {
    const map = new Map();
    return map.set([1], 2).set([map], [map]);
  },
  'two Sets': () => {
    const set = new Set();
    return set.add(new Set([set, 2])).add(1);
  },
};

test('sortKeys: a cycle through a Set or a key of a Map was no DEPTH error', () => {
  for (const make of Object.values(SORTED_CYCLES)) {
    for (const options of [{}, { moreTypes: true }, { maxDepth: 20 }, { maxDepth: 5000 }]) {
      for (const depth of [0, 15, 300]) {
        const packr = new Packr({ sortKeys: true, ...options });
        throwsCode(() => packr.pack(nestArrays(depth, make())), 'ERR_MSGPACK_DEPTH');
        sameBytes(packr.pack(5), bytes('05'));
      }
    }
  }
});

test('sortKeys: a cycle through a Set or a key of a Map, with structuredClone', () => {
  for (const make of Object.values(SORTED_CYCLES)) {
    for (const depth of DEPTHS) {
      const packr = new Packr({ sortKeys: true, structuredClone: true });
      const value = make();
      const wire = packr.pack(nestArrays(depth, value));
      sameBytes(packr.pack(nestArrays(depth, value)), wire);
      const back = innermost(depth, packr.unpack(wire));
      if (value instanceof Set && value.has(value)) assert.ok(back.has(back));
      else if (value.set instanceof Set) assert.ok(back.set.has(back));
      else if (value instanceof Map) {
        assert.equal(back.size, value.size);
        const keys = [...back.keys()].flat();
        assert.ok(keys.includes(back));
      } else {
        assert.equal(back.size, 2);
        assert.ok([...back].some((each) => each instanceof Set && each.has(back)));
      }
    }
  }
});

/** Sets, and keys of Maps, so many levels deep. */
const SORTED_NESTS = [
  (inner) => new Set([inner]),
  (inner, i) => new Set([`x${i}`, inner]),
  (inner) => new Set([{ a: [inner] }]),
  (inner) => new Map([[inner, 1]]),
  (inner, i) =>
    new Map([
      [[inner], i],
      [i, 1],
    ]),
];

test('sortKeys: Sets within Sets took twice as long for each level', () => {
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
    for (const wrap of SORTED_NESTS) {
      const packr = new Packr({ sortKeys: true, maxOwnStructures: 64, ...options });
      let calls = 0;
      const counted = {
        toJSON() {
          calls++;
          return 5;
        },
      };
      // With an exponential number of calls this does not end.
      const wire = packr.pack(nest(30, counted, wrap));
      assert.ok(calls <= 100, `${calls} calls`);
      assert.ok(wire.length < 1000);
    }
  }
});

test('sortKeys: more than 64 levels of Sets ended in a RangeError or not at all', () => {
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }, { maxDepth: 1e6 }]) {
    for (const wrap of SORTED_NESTS) {
      const packr = new Packr({ sortKeys: true, ...options });
      for (const depth of [66, 100, 300, 1000, 5000]) {
        throwsCode(() => packr.pack(nest(depth, 1, wrap)), 'ERR_MSGPACK_DEPTH');
        assert.ok(packr.pack(nest(60, 1, wrap)).length > 60, 'and then one that is not as deep');
      }
    }
    // What is not sorted does not count.
    const packr = new Packr({ sortKeys: true, ...options });
    const values = nest(300, new Set([1]), (inner) => new Map([['k', inner]]));
    assert.ok(packr.pack(values).length > 900);
  }
});

test('sortKeys: a function in a Set, or as a key of a Map, is nil as it is without', () => {
  for (const make of [(x) => new Set([x]), (x) => new Map([[x, 1]])]) {
    for (const x of [() => 1, Symbol('s'), Object(Symbol('s')), jsonOf(boom)]) {
      for (const undefinedAs of ['omit', 'nil']) {
        const value = { a: [make(x)] };
        const expected = pack(value, { undefinedAs });
        writes(new Packr({ sortKeys: true, undefinedAs }), value, expected);
      }
    }
  }
});

// ── Structures

const names = (count) => Array.from({ length: count }, (_, i) => [`k${i}`]);

test('more structures than there are ids for were taken', () => {
  const takes = (make, count) => {
    const value = [{ [`k${count - 1}`]: 1 }, { own: 2 }, { k3: 3 }, { other: 4 }, { own: 5 }];
    const packr = make(count);
    reads(make(count), packr.pack(value), value, `${count}`);
    const fresh = make(count);
    assert.deepStrictEqual(fresh.unpack(bytes('7ff001')), { [`k${63 + 32 * 240}`]: 1 });
  };
  const given = (count) => new Packr({ structures: names(count) });
  const stored = (count) => new Packr({ getStructures: () => names(count) });
  const grown = (count) => {
    const structures = [];
    const packr = new Packr({ structures });
    packr.pack(1);
    structures.push(...names(count));
    return packr;
  };
  for (const make of [given, stored, grown]) takes(make, 8160);
  for (const count of [8161, 8192, 9000]) {
    assert.throws(() => given(count), { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' });
    for (const make of [stored, grown]) {
      const code = 'ERR_MSGPACK_RECORD';
      for (let i = 0; i < 2; i++) {
        const packr = make(count);
        throwsCode(() => packr.pack({ a: 1 }), code);
        throwsCode(() => packr.pack({ a: 1 }), code);
        throwsCode(() => make(count).unpack(bytes('7ff001')), code);
      }
    }
    const declining = new Packr({
      saveStructures: (_, isCompatible) => isCompatible(names(count)),
    });
    throwsCode(() => declining.pack({ a: 1 }), 'ERR_MSGPACK_RECORD');
  }
});

test('own structures had the ids of shared ones where there were more of both than ids', () => {
  for (const [given, maxOwnStructures] of [
    [100, 8160],
    [100, 8092],
    [33, 8160],
    [4000, 8160],
    [8160, undefined],
  ]) {
    const structures = names(given);
    const options = { structures, maxOwnStructures, shouldShareStructure: () => false };
    const packr = new Packr(options);
    const value = Array.from({ length: 8160 }, (_, i) => ({
      [`own${i % 1000}_${Math.trunc(i / 1000)}`]: 1,
      [`z${i % 61}`]: 2,
    }));
    for (let i = 0; i < given; i++) value.push({ [`k${i}`]: i });
    value.push(...value.slice(0, 100));
    for (let i = 0; i < 2; i++) {
      const wire = packr.pack(value);
      reads(packr, wire, value);
      reads(new Packr({ structures: names(given) }), wire, value);
      assert.deepEqual(structures, names(given));
    }
  }
});

test('a frozen array of structures was to grow', () => {
  for (const close of [Object.freeze, Object.seal, Object.preventExtensions]) {
    for (const given of [[], ['a'], ['a', 'b']]) {
      for (const more of [{}, { sequential: true }, { moreTypes: true }]) {
        const structures = close(given.map((name) => Object.freeze([name])));
        const [packr, reader] = [0, 1].map(() => new Packr({ structures, ...more }));
        const value = [{ a: 1 }, { c: 2 }, { c: 3 }, { a: 4 }, new Map([[1, { d: 5 }]])];
        for (let i = 0; i < 3; i++) reads(reader, packr.pack(value), value);
        if (given.length > 0) writes(packr, { a: 1 }, '4001');
        assert.deepEqual(
          structures,
          given.map((name) => [name]),
        );
      }
    }
  }
});

test('a frozen array of structures, with options by which it would grow: a TypeError of V8', () => {
  for (const more of [
    { maxSharedStructures: 32 },
    { saveStructures: () => {} },
    { getStructures: () => [['a'], ['b']] },
  ]) {
    // Refused, or used as it is; an error without a code is neither.
    let packr;
    try {
      packr = new Packr({ structures: Object.freeze([['a']]), ...more });
    } catch (error) {
      assert.equal(error.code, 'ERR_INVALID_ARG_VALUE');
      continue;
    }
    const value = [{ a: 1 }, { b: 2 }, { c: 3 }];
    const { value: wire } = settle(() => packr.pack(value));
    if (wire !== undefined) reads(packr, wire, value);
  }
});

test('options in an array were taken for none', () => {
  for (const options of [[], [1], [{ moreTypes: true }], Object.assign([], { moreTypes: true })]) {
    assert.throws(() => new Packr(options), { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' });
  }
});

test('a message of 8192 structures made the messages after it slow', () => {
  const id = (i) =>
    i < 32
      ? Buffer.from([0xd4, 0x72, 0x40 + i])
      : Buffer.from([0xd5, 0x72, 0x60 + (i % 32), Math.trunc(i / 32) - 1]);
  const parts = Array.from({ length: 8192 }, (_, i) =>
    Buffer.concat([id(i), bytes('91'), pack(`n${i}`), pack(`v${i}`)]),
  );
  const wire = Buffer.concat([bytes('dc2000'), ...parts]);
  const expected = Array.from({ length: 8192 }, (_, i) => ({ [`n${i}`]: `v${i}` }));
  const [one, defining] = [bytes('01'), bytes('d4724091a16101')];
  /** Milliseconds for some messages; the fastest of several tries. */
  const time = (packr, message) => {
    let best = Infinity;
    for (let i = 0; i < 15; i++) {
      const start = performance.now();
      for (let j = 0; j < 10; j++) packr.unpack(message);
      best = Math.min(best, performance.now() - start);
    }
    return best;
  };
  for (const options of [{ sequential: true }, { useRecords: true }]) {
    const packr = new Packr(options);
    let first = Infinity;
    for (let i = 0; i < 3; i++) {
      const start = performance.now();
      const back = packr.unpack(wire);
      first = Math.min(first, performance.now() - start);
      assert.deepStrictEqual(back, expected);
    }
    // Ten of them took some ten times as long as the large one.
    for (const message of [one, defining]) {
      const later = time(packr, message);
      assert.ok(later < first, `${later} ms for ten, ${first} ms for the large one`);
    }
    reads(packr, one, 1);
    reads(packr, defining, { a: 1 });
    if (options.sequential) reads(packr, 'd4724191a16202', { b: 2 });
  }
});

// ── Extensions

const USED = [
  [{ useRecords: true }, [114, 0], [66, 101, 105, 112, 115, 116, 120, 1, 127]],
  [{ structures: [] }, [114, 0], [66, 115]],
  [{ sequential: true }, [114, 0], [66, 115]],
  [{ moreTypes: true }, [0, 66, 101, 114, 115, 116, 120], [105, 112, 98]],
  [{ moreTypes: true, useRecords: false }, [0, 66, 101, 115, 116, 120], [105, 112, 114]],
  [{ structuredClone: true }, [0, 66, 101, 105, 112, 114, 115, 116, 120], [98]],
  [{ structuredClone: true, moreTypes: false, useRecords: false }, [105, 112], [0, 66, 114, 115]],
  [{ undefinedAs: 'undefined' }, [0], [66, 114]],
  [{}, [], [0, 66, 98, 101, 105, 112, 114, 115, 116, 120]],
];

test('an extension took a type that the instance writes itself', () => {
  for (const [options, used, free] of USED) {
    const ways = (type) => [
      { Class: Box, type, pack: () => bytes('07'), unpack: ([value]) => new Box(value) },
      { Class: Box, type, write: ({ value }) => value, read: (value) => new Box(value) },
    ];
    for (const type of used) {
      const halves = [
        { type, read: () => 1 },
        { type, unpack: () => 1 },
        { Class: Box, type, pack: () => bytes('07') },
      ];
      for (const extension of [...ways(type), ...halves]) {
        const packr = new Packr(options);
        for (const add of [
          () => new Packr({ ...options, extensions: [extension] }),
          () => packr.addExtension(extension),
        ]) {
          assert.throws(add, (error) => {
            assert.ok(error instanceof TypeError);
            assert.equal(error.code, 'ERR_INVALID_ARG_VALUE');
            assert.ok(error.message.includes(String(type)), error.message);
            return true;
          });
        }
        const value = [{ a: 1 }, [2]];
        reads(packr, packr.pack(value), value);
      }
    }
    for (const type of free) {
      for (const extension of ways(type)) {
        const value = [{ a: 1 }, new Box(7), { a: 2 }];
        const given = new Packr({ ...options, extensions: [extension] });
        const added = new Packr(options).addExtension(extension);
        for (const packr of [given, added]) reads(packr, packr.pack(value), value, `${type}`);
      }
    }
  }
});

test('an extension of type 0 works where nothing else has that type', () => {
  const zero = { Class: Box, type: 0, pack: () => bytes('07'), unpack: ([x]) => new Box(x) };
  const packr = new Packr({ extensions: [zero] });
  writes(packr, [new Box(7)], '91d40007');
  reads(packr, '91d40007', [new Box(7)]);
  reads(packr, packr.pack([undefined, { a: undefined }]), [null, {}]);
});

test('an extension of the module took a type that an instance writes itself', () => {
  inProcess(`
    class Mine { constructor(v) { this.v = v; } }
    class Zero { constructor(v) { this.v = v; } }
    class Free { constructor(v) { this.v = v; } }
    const before = new Packr({ moreTypes: true });
    addExtension({ Class: Mine, type: 115, write: (x) => x.v, read: (v) => new Mine(v) });
    addExtension({
      Class: Zero, type: 0, pack: (x) => Buffer.from([x.v]), unpack: ([v]) => new Zero(v),
    });
    addExtension({ Class: Free, type: 7, write: (x) => x.v, read: (v) => new Free(v) });
    const value = [new Mine([1, 2]), new Zero(5), new Free(3)];
    assert.deepStrictEqual(unpack(pack(value)), value);
    assert.deepStrictEqual(new Packr().unpack(new Packr().pack(value)), value);
    const records = new Packr({ useRecords: true });
    assert.deepStrictEqual(
      records.unpack(records.pack([...value, undefined])),
      [new Mine([1, 2]), { v: 5 }, new Free(3), undefined],
    );
    for (const options of [{ moreTypes: true }, { structuredClone: true }]) {
      const packr = new Packr(options);
      assert.deepStrictEqual(
        packr.unpack(packr.pack([...value, new Set([1, 2]), undefined])),
        [{ v: [1, 2] }, { v: 5 }, new Free(3), new Set([1, 2]), undefined],
      );
    }
    assert.deepStrictEqual(before.unpack(before.pack(new Set([1]))), new Set([1]));
    // And they still are what they were in the functions.
    assert.deepStrictEqual(unpack(pack(value)), value);
  `);
});

test('compat/msgpackr: an extension of Date and type 255 was not read', () => {
  inProcess(`
    compat.addExtension({
      Class: Date,
      type: 255,
      pack: (date) => Buffer.from(date.toISOString()),
      unpack: (bytes) => ({ read: bytes.toString() }),
    });
    const date = new Date(1234567890123);
    const text = date.toISOString();
    const packr = new compat.Packr();
    for (const { pack, unpack } of [compat, packr]) {
      const wire = pack.call(packr, [date, { at: date }]);
      assert.deepEqual(unpack.call(packr, wire), [{ read: text }, { at: { read: text } }]);
      assert.deepEqual(unpack.call(packr, Buffer.from('d6ff61626364', 'hex')), { read: 'abcd' });
      const odd = Buffer.from('c703ff616263', 'hex');
      assert.deepEqual(unpack.call(packr, odd), { read: 'abc' });
    }
    // Others know nothing of it.
    assert.deepEqual(unpack(pack(date)), date);
  `);
});

test('freeze: an extension that returns its argument never came to an end', () => {
  inProcess(`
    const argument = new Packr({ freeze: true, extensions: [{ type: 1, read: (v) => v }] });
    for (const wire of ['d4010081a16191c0', 'd40100 91d40100 9101', '92d401009101d401009102']) {
      const back = argument.unpack(Buffer.from(wire.replaceAll(' ', ''), 'hex'));
      assert.ok(Object.isFrozen(back));
      assert.ok(Object.isFrozen(Object.values(back)[0]));
    }
    // Two that stand for one another.
    const seen = [];
    const swap = new Packr({
      freeze: true,
      extensions: [{ type: 1, read: (v) => (seen.push(v) === 1 ? seen : seen[0]) }],
    });
    swap.unpack(Buffer.from('92d401009101d401009102', 'hex'));
    const own = { type: 1, read: (v) => Object.assign(v, { v }) };
    new Packr({ freeze: true, extensions: [own] }).unpack(Buffer.from('d4010081a161c0', 'hex'));
  `);
});

/** Unpacks with `freeze`, and returns what the extension was given, too. */
function frozen(wire, options = {}) {
  const given = [];
  const read = (value) => {
    given.push(value);
    return new Box(value);
  };
  const packr = new Packr({ freeze: true, extensions: [{ ...box, read }], ...options });
  return { value: packr.unpack(wire), given };
}

test('freeze: what an extension was made of was not frozen within another extension', () => {
  const inner = { a: [1], b: new Map([[1, { c: 2 }]]) };
  for (const depth of [0, 300]) {
    for (const value of [new Box(inner), new Box(new Box(inner)), [new Box([new Box(inner)])]]) {
      for (const options of [{ moreTypes: true }, { structuredClone: true }]) {
        const packr = new Packr({ ...options, extensions: [box] });
        const { given } = frozen(packr.pack(nestArrays(depth, value)), options);
        const isOurs = (x) => x instanceof Box;
        for (const each of given) assert.equal(Object.isFrozen(each), !isOurs(each));
        const last = given.find((each) => !isOurs(each) && !Array.isArray(each));
        for (const x of [last, last.a, last.b, last.b.get(1)]) assert.ok(Object.isFrozen(x));
      }
    }
  }
});

test('freeze: what an extension has made was frozen where it came a second time', () => {
  const same = new Box([1]);
  const packr = new Packr({ structuredClone: true, extensions: [box] });
  const { value } = frozen(packr.pack([same, same, { same }]), { structuredClone: true });
  assert.equal(value[0], value[1]);
  assert.ok(Object.isFrozen(value[0].value));
  assert.ok(!Object.isFrozen(value[0]), 'the extension’s own');
  const only = { an: 'object' };
  const constant = new Packr({ freeze: true, extensions: [{ type: 1, read: () => only }] });
  constant.unpack(bytes('92d40100c0d40100c0'));
  constant.unpack(bytes('d40100c0'));
  assert.ok(!Object.isFrozen(only), 'of two messages, and twice in one');
});

test('chains of extensions wrote past the end of the tape', () => {
  for (const [keys, length] of [
    [100, 10],
    [128, 8],
    [100, 11],
    [50, 21],
    [20, 60],
    [3, 250],
    [3, 400],
  ]) {
    const many = Object.fromEntries(
      Array.from({ length: keys }, (_, i) => [`k${i}`, boxes(length, i)]),
    );
    const plain = Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, i]));
    for (const options of [{}, { useRecords: true }, { structuredClone: true }]) {
      const packr = new Packr({ ...options, extensions: [box] });
      const shortening = new Packr({ ...options, extensions: [{ Class: Box, write: box.write }] });
      for (let before = 0; before < 6200; before += before < 4800 ? 800 : 50) {
        const front = Array.from({ length: before }, (_, i) => (i % 2 === 0 ? 0 : ''));
        reads(packr, packr.pack([front, many]), [front, many], `${keys} × ${length}, ${before}`);
        reads(shortening, shortening.pack([front, many]), [front, plain]);
      }
    }
  }
});

test('thousands of extensions in one another ended in a RangeError', () => {
  const depthOf = (value) => {
    let depth = 0;
    for (let each = value; each instanceof Box; each = each.value) depth++;
    return depth;
  };
  for (const [count, maxDepth] of [
    [4500, 5000],
    [4500, 4500],
    [1000, 1000],
    [50_000, Infinity],
  ]) {
    const packr = new Packr({ maxDepth, extensions: [box] });
    const wire = packr.pack(boxes(count, 5));
    sameBytes(wire, bytes(`d40100^${count} 05`));
    assert.equal(depthOf(packr.unpack(wire)), count);
    const mixed = nest(count >> 1, 5, (inner) => new Box([inner]));
    const mixedWire = packr.pack(mixed);
    sameBytes(mixedWire, bytes(`d4010091^${count >> 1} 05`));
    sameBytes(packr.pack(packr.unpack(mixedWire)), mixedWire);
  }
  class Endless {}
  const endless = [
    { Class: Endless, type: 2, write: () => new Endless() },
    { Class: Endless, write: () => new Endless() },
    { Class: Endless, type: 2, write: () => [new Endless()] },
    { Class: Endless, type: 2, write: () => ({ a: new Endless() }) },
  ];
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }, { maxDepth: 5000 }]) {
    for (const extension of endless) {
      const packr = new Packr({ extensions: [extension], ...options });
      for (const depth of [0, 300]) {
        const value = nestArrays(depth, new Endless());
        throwsCode(() => packr.pack(value), 'ERR_MSGPACK_DEPTH');
      }
      reads(packr, packr.pack([{ a: 1 }]), [{ a: 1 }]);
    }
    const packr = new Packr({ extensions: [box], ...options });
    const { maxDepth = 1000 } = options;
    for (const count of [maxDepth + 1, 20_000, 200_000]) {
      const value = boxes(count, 1);
      throwsCode(() => packr.pack(value), 'ERR_MSGPACK_DEPTH');
    }
    assert.equal(depthOf(packr.unpack(packr.pack(boxes(maxDepth, 1)))), maxDepth);
  }
});

/** Classes whose extension returns its argument: packed by their properties, or elements. */
const SELVES = [
  class extends Map {
    constructor() {
      super([[1, 2]]);
      this.extra = 1;
    }
  },
  class extends Set {
    extra = [1];
  },
  class extends Array {
    constructor() {
      super();
      this.push(1, { a: 2 });
      this.extra = 1;
    }
  },
  class {
    a = 1;
    toJSON() {
      return 'json';
    }
  },
  class {
    a = () => 1;
    b = undefined;
    c = { d: [1] };
  },
  class extends Error {
    constructor() {
      super('message');
      this.extra = 1;
      delete this.stack;
    }
  },
  class extends Date {
    extra = 1;
  },
  class extends Uint8Array {
    constructor() {
      super(2);
      this.extra = 1;
    }
  },
  class extends Number {
    extra = 1;
  },
  class extends RegExp {
    extra = 1;
  },
];

test('write that returns its argument was packed otherwise deeper than 256 levels', () => {
  for (const options of [
    {},
    { useRecords: true },
    { moreTypes: true },
    { structuredClone: true },
    { sortKeys: true },
    { useRecords: true, maxOwnStructures: 0 },
    { useRecords: true, undefinedAs: 'omit' },
    { keyFilter: (key) => key !== 'a' },
  ]) {
    for (const Class of SELVES) {
      for (const type of [undefined, 3]) {
        const half = type === undefined ? {} : { type, read: (value) => ({ value }) };
        const extension = { Class, write: (value) => value, ...half };
        const make = () => new Packr({ ...options, extensions: [extension] });
        const shallow = hex(make().pack([new Class(), 1]));
        for (const depth of [1, 254, 255, 256, 257, 300]) {
          const value = nestArrays(depth, [new Class(), 1]);
          const wire = make().pack(value);
          assert.equal(hex(wire), `${'91'.repeat(depth)}${shallow}`, `${depth}`);
          make().unpack(wire);
        }
      }
    }
  }
});

test('toJSON that returns an instance of an extension, deeper than 256 levels', () => {
  const ofBytes = {
    Class: Alias,
    type: 2,
    pack: ({ value }) => Buffer.from([value]),
    unpack: ([value]) => new Alias(value),
  };
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
    const packr = new Packr({ ...options, extensions: [box, ofBytes] });
    for (const depth of [0, 100, 255, 256, 257, 300]) {
      for (const value of [new Box(1), new Box([2]), new Alias(3)]) {
        const wire = packr.pack(nestArrays(depth, jsonOf(value)));
        assert.deepStrictEqual(innermost(depth, packr.unpack(wire)), value, `${depth}`);
      }
    }
  }
});

test('toJSON that returns an instance of an extension, which has a toJSON itself', () => {
  class Both extends Box {
    toJSON() {
      return 'not this';
    }
  }
  const ways = [
    { Class: Both, type: 1, write: ({ value }) => value, read: (value) => new Both(value) },
    {
      Class: Both,
      type: 1,
      pack: ({ value }) => Buffer.from([value]),
      unpack: ([value]) => new Both(value),
    },
  ];
  for (const extension of ways) {
    const packr = new Packr({ extensions: [extension] });
    for (const depth of DEPTHS) {
      const value = [new Both(1), jsonOf(new Both(2)), { a: jsonOf(new Both(3)) }];
      const back = innermost(depth, packr.unpack(packr.pack(nestArrays(depth, value))));
      assert.deepStrictEqual(back, [new Both(1), new Both(2), { a: new Both(3) }], `${depth}`);
    }
  }
});

// ── What is left out

const LEFT_OUT = {
  undefined: () => undefined,
  'a function': () => () => 1,
  'a symbol': () => Symbol('s'),
  'a boxed symbol': () => Object(Symbol('s')),
  'toJSON of undefined': () => jsonOf(undefined),
  'toJSON of a function': () => jsonOf(() => 1),
  'toJSON of a symbol': () => jsonOf(Symbol('s')),
  'toJSON of a boxed symbol': () => jsonOf(Object(Symbol('s'))),
  'a proxy of a function': () => new Proxy(() => 1, {}),
  'an extension of undefined': () => new Box(undefined),
  'an extension of a function': () => new Box(() => 1),
  'an extension of a toJSON of undefined': () => new Box(jsonOf(undefined)),
};
const filler = (count, value = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, value]));
/** Places for a value that may be left out; `b` is there in all of them. */
const PLACES = [
  (x) => ({ a: x, b: 1 }),
  (x) => ({ b: 1, a: x }),
  (x) => ({ a: x, a2: x, a3: x, b: 1 }),
  (x) => ({ ...filler(14), a: x, b: 1 }),
  (x) => ({ ...filler(15), a: x, b: 1 }),
  (x) => ({ a: x, ...filler(130), b: 1 }),
  (x) => ({ ...filler(130, x), b: 1 }),
  (x) => ({ ['l'.repeat(300)]: x, b: 1 }),
];

test("undefinedAs: 'omit' left a record, or an object that may come again, short of a value", () => {
  for (const options of [
    { useRecords: true },
    { useRecords: true, maxOwnStructures: 0 },
    { useRecords: true, sortKeys: true },
    { useRecords: true, skipValues: [5] },
    { useRecords: true, keyFilter: () => true },
    { structures: [] },
    { sequential: true },
    { moreTypes: true },
    { structuredClone: true },
    { structuredClone: true, sortKeys: true },
    { structuredClone: true, useRecords: false },
    { structuredClone: true, useRecords: false, maps: 'map' },
    { structuredClone: true, useRecords: false, skipValues: [5] },
    { structuredClone: true, useRecords: false, variableMapSize: false },
    { variableMapSize: false },
    {},
  ]) {
    const shared = options.structures && { structures: [] };
    const packr = new Packr({ ...options, ...shared, undefinedAs: 'omit', extensions: [box] });
    const get = (x, key) => (x instanceof Map ? x.get(key) : x[key]);
    for (const [name, make] of Object.entries(LEFT_OUT)) {
      for (const place of PLACES) {
        for (const depth of [0, 300]) {
          const x = make();
          const value = [place(x), x, [x], place(x), { last: 2 }];
          const wire = packr.pack(nestArrays(depth, value));
          const back = innermost(depth, packr.unpack(wire));
          const label = `${name}, ${JSON.stringify(options)}`;
          assert.equal(back.length, 5, label);
          assert.equal(get(back[4], 'last'), 2, label);
          for (const each of [back[0], back[3]]) {
            assert.equal(get(each, 'b'), 1, label);
            const rest = get(each, 'a');
            if (!(rest instanceof Box)) assert.equal(rest ?? null, null, label);
          }
        }
      }
    }
  }
});

// ── Hostile input

test('compat/msgpackr: a bundle of strings was read once for each time that it was opened', () => {
  // N bundles that are all the one at the end: a string of S bytes for each.
  const wireOf = (n, s) => {
    const total = 3 + n * 10;
    const wire = Buffer.alloc(total + 4 + s, 0x61);
    wire.set([0xdc, n >> 8, n & 255]);
    for (let i = 0; i < n; i++) {
      const at = 3 + i * 10;
      wire.set([0xd6, 98], at);
      wire.writeUInt32BE(total - (at + 2), at + 2);
      wire.set([0xc1, 0xcd, s >> 8, s & 255], at + 6);
    }
    wire.set([0xa0, 0xda, s >> 8, s & 255], total);
    return wire;
  };
  assert.deepEqual(new compat.Unpackr().unpack(wireOf(1, 10)), ['a'.repeat(10)]);
  const before = process.memoryUsage().rss;
  for (const [n, s] of [
    [2, 10],
    [2000, 50_000],
    [60_000, 60_000],
  ]) {
    throwsCode(() => new compat.Unpackr().unpack(wireOf(n, s)), 'ERR_MSGPACK_EXTENSION', {
      offset: 13,
    });
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grown < 60, `${grown.toFixed(1)} MB`);
  // Bundles in one another, each with an id in front: no end of the call stack.
  const n = 12_000;
  const nested = Array.from({ length: n }, (_, i) => {
    const part = bytes('d66200000000 d66900000000');
    part.writeUInt32BE(n * 12 + 1 - (i * 12 + 2), 2);
    part.writeUInt32BE(i + 1, 8);
    return part;
  });
  const wire = Buffer.concat([...nested, bytes('c0a0a0')]);
  throwsCode(() => new compat.Unpackr().unpack(wire), 'ERR_MSGPACK_EXTENSION');
});

/** Takes memory away, or some of it, or gives it more. */
const TAKE = {
  detached: (memory) => structuredClone(memory, { transfer: [memory] }),
  'cut short': (memory) => memory.resize(100),
  'cut by a byte': (memory) => memory.resize(memory.byteLength - 1),
  'cut to nothing': (memory) => memory.resize(0),
};

function takenAway(check) {
  const count = 50_000;
  for (const take of Object.values(TAKE)) {
    for (const method of ['unpack', 'unpackFrom', 'unpackMultiple']) {
      for (const when of [1, 2, 500, 40_000]) {
        const memory = new ArrayBuffer(5 + 4 * count, { maxByteLength: 5 + 4 * count });
        const input = new Uint8Array(memory);
        input.set([0xdd, 0, 0, count >> 8, count & 255]);
        for (let i = 5; i < input.length; i += 4) input.set([0xd4, 1, 0, 7], i);
        let calls = 0;
        const read = (x) => {
          if (++calls === when) take(memory);
          return x;
        };
        for (const options of [{}, { moreTypes: true }, { sequential: true }]) {
          if (calls > 0) break;
          const packr = new Packr({ ...options, extensions: [{ type: 1, read }] });
          const part = method === 'unpackMultiple' ? input.subarray(5) : input;
          check(() => packr[method](part));
          calls = when;
          reads(packr, '93 d4010007 a161 90', [7, 'a', []]);
          assert.deepStrictEqual(packr.unpackMultiple(bytes('01 d4010002')), [1, 2]);
          const long = Array.from({ length: 5000 }, (_, i) => ({ i }));
          reads(packr, packr.pack(long), long);
        }
      }
    }
  }
}

test('an extension took the input away between two parts of a message', () => {
  takenAway((call) => throwsCode(call, 'ERR_MSGPACK_INVALID_INPUT'));
});

test('an extension took the input away: the number of elements left was the offset', () => {
  takenAway((call) => {
    const { offset } = throwsCode(call, 'ERR_MSGPACK_INVALID_INPUT');
    assert.equal(offset, undefined);
  });
});

// ── Places where different things come

test('a Map or a Set in turn with objects and everything else at the same place', () => {
  class Mine {
    a = 1;
  }
  class Table extends Map {}
  class Tags extends Set {}
  const bytesOf = { Class: Alias, type: 2, pack: () => bytes('05'), unpack: () => new Alias(5) };
  const values = (i) => [
    [{ a: i }],
    [[i, 'x']],
    [new Map([['a', i]])],
    [new Set([i, 'y'])],
    [{ a: i, b: { c: 1 } }],
    [new Date(i)],
    [Buffer.from([i & 255])],
    [new Box(i)],
    [new Map([[i, { d: 1 }]])],
    [new Alias(5)],
    [new Mine(), { a: 1 }],
    [new Table([['t', i]]), new Map([['t', i]])],
    [new Tags([i]), new Set([i])],
    [null],
    [new Map()],
    [new Set()],
    [`text ${i}`],
    [Object.create(Map.prototype), {}],
    [Object.create(Set.prototype, { own: { value: i, enumerable: true } }), { own: i }],
    [Object.setPrototypeOf(new Map([['m', 1]]), null), {}],
    [Object.setPrototypeOf(new Set(['s']), Object.prototype), {}],
    [Object.setPrototypeOf(new Map([['m', 2]]), Set.prototype), new Map([['m', 2]])],
    [new RangeError('no')],
    [new Float64Array([i])],
    [new Map([['a', i]])],
    [true],
    [/x/g],
  ];
  const next = generator(7);
  for (const options of [{ moreTypes: true }, { structuredClone: true }, { structures: [] }]) {
    const more = options.structures ? { structures: [], moreTypes: true } : options;
    for (const extensions of [[], [box, bytesOf]]) {
      const packr = new Packr({ ...more, extensions });
      const isExtended = extensions.length > 0;
      for (let round = 0; round < 40; round++) {
        const all = values(round).filter(
          ([x]) => isExtended || !(x instanceof Box || x instanceof Alias),
        );
        const given = [];
        const expected = [];
        for (let i = 0; i < 60; i++) {
          const [x, y = x] = all[round % 2 === 0 ? i % all.length : next.below(all.length)];
          given.push({ id: i, x }, x, [x]);
          expected.push({ id: i, x: y }, y, [y]);
        }
        const list = given.filter((_, i) => i % 3 === 1);
        const back = packr.unpack(packr.pack([given, list]));
        const wanted = [expected, expected.filter((_, i) => i % 3 === 1)];
        for (let j = 0; j < 2; j++) {
          for (const [i, each] of back[j].entries()) {
            assert.deepStrictEqual(stackless(each), stackless(wanted[j][i]), `${i}`);
          }
        }
      }
    }
  }
});

/** The same without what differs between an error and its copy. */
function stackless(x) {
  if (x instanceof Error) return { name: x.name, message: x.message };
  if (Array.isArray(x)) return x.map(stackless);
  if (x !== null && typeof x === 'object' && Object.hasOwn(x, 'x')) {
    return { ...x, x: stackless(x.x) };
  }
  return x;
}

test('plain pack: the same of Maps and Sets, by the bytes', () => {
  const kinds = [
    (i) => ({ a: i }),
    (i) => new Map([['a', i]]),
    (i) => new Set([i]),
    (i) => [i],
    (i) => new Map([[i, [i]]]),
    (i) => new Date(i),
    (i) => Buffer.from([i & 255]),
    () => null,
  ];
  const packr = new Packr();
  const next = generator(3);
  for (let round = 0; round < 300; round++) {
    const list = Array.from({ length: 30 }, (_, i) =>
      kinds[round % 2 === 0 ? (i + round) % kinds.length : next.below(kinds.length)](i),
    );
    const each = list.map((x) => hex(single(x)));
    const wire = `dc001e${each.join('')}`;
    for (const write of [pack, (value) => packr.pack(value)]) {
      assert.equal(hex(write(list)), wire);
      const rows = list.map((x) => ({ x }));
      assert.equal(hex(write(rows)), `dc001e${each.map((text) => `81a178${text}`).join('')}`);
    }
  }
});

/** What a value is on the wire, written by hand. */
function single(x) {
  if (x instanceof Map) {
    const entries = [...x].flatMap(([key, value]) => [pack(key), pack(value)]);
    return Buffer.concat([Buffer.from([0x80 | x.size]), ...entries]);
  }
  if (x instanceof Set) return pack([...x]);
  return pack(x);
}

// ── What is kept

test('the keys of a large Map that was packed once were kept', () => {
  for (const options of [{}, { useRecords: true }, { sortKeys: true }]) {
    inProcess(
      `
      // Sorting packs every key by itself.
      const SIZE = ${options.sortKeys ? 20_000 : 100_000};
      const packr = new Packr(${JSON.stringify(options)});
      const places = {
        top: (map) => map,
        array: (map) => [map, map],
        property: (map) => ({ map }),
        deep: (map) => { for (let i = 0; i < 300; i++) map = [map]; return map; },
      };
      const objects = [];
      function packObjects(write, place) {
        const keys = Array.from({ length: SIZE }, (_, i) => [i]);
        objects.push(new WeakRef(keys[0]), new WeakRef(keys[1000]), new WeakRef(keys.at(-1)));
        write(place(new Map(keys.map((key) => [key, 1]))));
      }
      function packStrings(write, place) {
        const text = 'x'.repeat(80);
        write(place(new Map(Array.from({ length: SIZE }, (_, i) => [text + i, i]))));
      }
      const tick = () => new Promise((resolve) => setTimeout(resolve, 1));
      async function collect() {
        for (let i = 0; i < 3; i++) {
          await tick();
          globalThis.gc();
        }
      }
      const writers = [pack, (value) => packr.pack(value)];
      async function main() {
        for (const write of writers) write({ warm: new Map([['up', 1]]) });
        await collect();
        const before = process.memoryUsage().heapUsed;
        for (const write of writers) {
          for (const place of Object.values(places)) packObjects(write, place);
          for (const place of [places.top, places.property]) packStrings(write, place);
        }
        await collect();
        const kept = objects.filter((reference) => reference.deref() !== undefined);
        assert.equal(kept.length, 0, 'objects that were keys');
        const grown = (process.memoryUsage().heapUsed - before) / 2 ** 20;
        assert.ok(grown < 12, grown.toFixed(1) + ' MB');
      }
      main().catch((error) => {
        console.error(error);
        process.exitCode = 1;
      });
      `,
      '--expose-gc',
    );
  }
});
