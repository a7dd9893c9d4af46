// Packr itself: its options, each of them checked; its methods; instances that know nothing of one
// another. Without options it is pack and unpack.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { addExtension, Decoder, Encoder, Packr as EsmPackr, Unpackr } from '../index.mjs';
import msgpack, {
  Ext,
  pack,
  packInto,
  Timestamp,
  unpack,
  unpackFrom,
  unpackMultiple,
} from '../index.js';
import {
  bytes,
  hex,
  nestArrays,
  nestObjects,
  sameBytes,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import { outcome, reads, writes } from './packr-helpers.mjs';

const { Packr } = msgpack;

class Point {
  constructor(x, y) {
    this.x = x;
    this.y = y;
  }
}

const failure = new TypeError('no');
failure.code = 'E_NO';

const VALUES = [
  null,
  true,
  false,
  undefined,
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
  [undefined, , 1],
  { a: undefined, b: 1 },
  ...[0, -0, 1, 63, 64, 100, 127, 128, 255, 256, 65535, 65536, 2 ** 32, 2 ** 53, 1e300],
  ...[-1, -32, -33, -128, -129, -32769, -(2 ** 31) - 1, 0.1, 0.5, NaN, Infinity],
  ...[0n, 1n, -1n, 64n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n), 2n ** 64n],
  '',
  'a',
  'é漢😀',
  '\ud83d',
  'x'.repeat(40),
  '漢'.repeat(400),
  'y'.repeat(70_000),
  [],
  [1, [2, [3, []]]],
  Array.from({ length: 400 }, (_, i) => i),
  {},
  { a: 1, b: { c: [1, { d: null }] }, 19: 'x', é: 2, '': 3 },
  JSON.parse('{"__proto__":{"x":1},"a":2}'),
  Array.from({ length: 300 }, (_, i) => ({ id: i, name: `n${i}`, on: i % 2 === 0 })),
  Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, i])),
  nestArrays(400),
  nestObjects(400),
  nestArrays(1001),
  new Map([
    [1, 'a'],
    ['b', new Map()],
    [null, 2],
  ]),
  new Set([1, 'a', [2]]),
  new Date(1e12),
  new Date(NaN),
  new Timestamp(5n, 7),
  new Ext(0, Buffer.alloc(1)),
  new Ext(114, Buffer.from([0x40])),
  new Ext(-5, Buffer.alloc(20)),
  Buffer.from([1, 2, 3]),
  new Uint8Array([4, 5]),
  new Float32Array([1.5]),
  new ArrayBuffer(3),
  new DataView(new ArrayBuffer(4), 1),
  failure,
  /a\/b/gi,
  new Point(1, 2),
  { toJSON: () => ({ j: 1 }) },
  Object.assign(Object.create(null), { a: 1 }),
  Object(5),
  () => 1,
  Symbol('s'),
  { f() {}, s: Symbol('s'), z: 1 },
  {
    get g() {
      return 7;
    },
  },
];

const WIRES = [
  '',
  '05',
  '0502',
  '40',
  '7f',
  '81a16101',
  '8101a161',
  '81c001',
  '81 a161 cf0000000000000001',
  'd30000000000000001',
  'cf0020000000000001',
  'ca3dcccccd',
  'd40000',
  'd40001',
  'c70000',
  'd47240',
  'd4724091a16101',
  'd4730091 01',
  'd6690000000191d67000000001',
  'd67000000001',
  'd8420000000000000001 0000000000000000',
  'c70374010102',
  'd6ff00000001',
  'd7ff003d090000000000',
  'd4ffff',
  'c1',
  '92c1',
  '91',
  'a161ff',
  'a1ff',
  'c40201',
  'c4020102',
  'dd00000002 01 02',
  'df00000001 a161 81a16201',
  '82a95f5f70726f746f5f5f81a17801a16102',
  `${'91'.repeat(1001)}c0`,
].map(bytes);

test('the names: one class, exported both ways', () => {
  for (const name of ['Packr', 'Unpackr', 'Encoder', 'Decoder']) {
    assert.equal(msgpack[name], Packr, name);
  }
  for (const each of [EsmPackr, Unpackr, Encoder, Decoder]) assert.equal(each, Packr);
  assert.equal(typeof msgpack.addExtension, 'function');
  assert.equal(addExtension, msgpack.addExtension);
  assert.ok(new Packr() instanceof Packr);
  assert.throws(() => Packr(), TypeError);
});

const UNSET = Object.fromEntries(
  [
    ...['undefinedAs', 'float32', 'maxDepth', 'int64', 'utf8', 'copyBuffers', 'maps', 'timestamps'],
    ...['extensions', 'moreTypes', 'structuredClone', 'useRecords', 'mapsAsObjects', 'structures'],
    ...['getStructures', 'saveStructures', 'maxSharedStructures', 'maxOwnStructures', 'sequential'],
    ...['shouldShareStructure', 'sortKeys', 'keyFilter', 'skipValues', 'freeze', 'variableMapSize'],
  ].map((name) => [name, undefined]),
);

test('without options every method does what the function of its name does', () => {
  const instances = [undefined, {}, UNSET, Object.create(null), { useRecords: false }];
  for (const options of instances) {
    const packr = new Packr(options);
    for (const [i, value] of VALUES.entries()) {
      const plain = outcome(() => hex(pack(value)));
      assert.deepStrictEqual(
        outcome(() => hex(packr.pack(value))),
        plain,
        `value ${i}`,
      );
      assert.deepStrictEqual(
        outcome(() => hex(packr.encode(value))),
        plain,
        `value ${i}`,
      );
      const [ours, theirs] = [Buffer.alloc(100_000), Buffer.alloc(100_000)];
      assert.deepStrictEqual(
        outcome(() => packr.packInto(value, ours, 3)),
        outcome(() => packInto(value, theirs, 3)),
      );
      if (plain.code === undefined) sameBytes(ours, theirs, `value ${i}`);
    }
    for (const wire of WIRES) {
      const label = hex(wire).slice(0, 60);
      const plain = outcome(() => unpack(wire));
      assert.deepStrictEqual(
        outcome(() => packr.unpack(wire)),
        plain,
        label,
      );
      assert.deepStrictEqual(
        outcome(() => packr.decode(wire)),
        plain,
        label,
      );
      for (const offset of [undefined, 0, 1, wire.length, wire.length + 1]) {
        assert.deepStrictEqual(
          outcome(() => packr.unpackFrom(wire, offset)),
          outcome(() => unpackFrom(wire, offset)),
          label,
        );
      }
      assert.deepStrictEqual(
        outcome(() => packr.unpackMultiple(wire)),
        outcome(() => unpackMultiple(wire)),
        label,
      );
    }
  }
});

test('an option of pack or unpack means in an instance what it means in a call', () => {
  for (const options of [
    { undefinedAs: 'omit' },
    { undefinedAs: 'nil' },
    { undefinedAs: 'throw' },
    { float32: true },
    { float32: false },
    { maxDepth: 2 },
    { maxDepth: 2000 },
    { maxDepth: 3, float32: true, undefinedAs: 'nil' },
  ]) {
    const packr = new Packr(options);
    for (const [i, value] of VALUES.entries()) {
      assert.deepStrictEqual(
        outcome(() => hex(packr.pack(value))),
        outcome(() => hex(pack(value, options))),
        `value ${i} ${JSON.stringify(options)}`,
      );
    }
  }
  for (const options of [
    ...['auto', 'bigint', 'number', 'string'].map((int64) => ({ int64 })),
    ...['replace', 'fatal', 'raw'].map((utf8) => ({ utf8 })),
    ...['object', 'map'].map((maps) => ({ maps })),
    ...['date', 'timestamp'].map((timestamps) => ({ timestamps })),
    ...[true, false].map((copyBuffers) => ({ copyBuffers })),
    { maxDepth: 1 },
    { maxDepth: 2000 },
    { int64: 'bigint', maps: 'map', timestamps: 'timestamp', utf8: 'raw', maxDepth: 5 },
  ]) {
    const packr = new Packr(options);
    for (const wire of WIRES) {
      assert.deepStrictEqual(
        outcome(() => packr.unpack(wire)),
        outcome(() => unpack(wire, options)),
        `${hex(wire).slice(0, 60)} ${JSON.stringify(options)}`,
      );
    }
  }
  const wire = bytes('c40107');
  assert.notEqual(new Packr({ copyBuffers: true }).unpack(wire).buffer, wire.buffer);
  assert.equal(new Packr().unpack(wire).buffer, wire.buffer);
});

test("undefinedAs: 'undefined' writes ext 0", () => {
  const packr = new Packr({ undefinedAs: 'undefined' });
  for (let i = 0; i < 200; i++) {
    writes(packr, undefined, 'd40000');
    writes(packr, [undefined, 1], '92d4000001');
    writes(packr, { a: undefined, b: 1 }, '82a161d40000a16201');
    writes(packr, new Map([[undefined, undefined]]), '81d40000d40000');
  }
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
  writes(packr, [, 1], '92d4000001');
});

test("undefinedAs: 'undefined' reads what it writes", () => {
  for (const options of [{}, { useRecords: true }, { moreTypes: true }, { useRecords: false }]) {
    const packr = new Packr({ ...options, undefinedAs: 'undefined' });
    reads(packr, 'd40000', undefined);
    reads(packr, '92d4000001', [undefined, 1]);
    const value = [{ a: undefined, b: 1 }, undefined];
    assert.deepStrictEqual(packr.unpack(packr.pack(value)), value);
  }
});

const noop = () => {};
const refused = [
  ...['null', 1, true, null, 'Omit'].map((v) => ['undefinedAs', v]),
  ...[1, 3, 'yes', 'true', 'DECIMAL_FIT', {}].map((v) => ['float32', v]),
  ...[-1, 0, 1.5, NaN, 'x', '3', {}].map((v) => ['maxDepth', v]),
  ...['float', 1, true, {}].map((v) => ['int64', v]),
  ...['strict', true, 1].map((v) => ['utf8', v]),
  ...['Map', true, {}].map((v) => ['maps', v]),
  ...['Date', true, 1].map((v) => ['timestamps', v]),
  ...[
    'copyBuffers',
    'moreTypes',
    'structuredClone',
    'useRecords',
    'mapsAsObjects',
    'sequential',
    'sortKeys',
    'freeze',
    'variableMapSize',
  ].flatMap((name) => [1, 0, 'yes', {}, []].map((v) => [name, v])),
  ...['getStructures', 'saveStructures', 'keyFilter'].flatMap((name) =>
    [1, true, 'f', {}, []].map((v) => [name, v]),
  ),
  ...['x', 5, true, {}].map((v) => ['structures', v]),
  ...['x', 5, true].map((v) => ['skipValues', v]),
  ...[
    'x',
    5,
    {},
    [5],
    [null],
    [{}],
    [noop],
    [{ Class: Point }],
    [{ Class: Point, type: 1 }],
    [{ Class: Point, pack: noop }],
    [{ Class: Point, unpack: noop }],
    [{ Class: Point, read: noop }],
    [{ Class: 'Point', type: 1, pack: noop }],
    [{ Class: {}, type: 1, pack: noop }],
    [{ Class: Point, type: 1, pack: 5 }],
    [{ Class: Point, type: 1, write: 'x' }],
    [{ Class: Point, type: 1, unpack: true }],
    ...[-1, 128, 255, 1.5, NaN, '1', null, 1n].map((type) => [{ Class: Point, type, pack: noop }]),
  ].map((v) => ['extensions', v]),
];

test('a value that an option does not take is refused, by the name of the option', () => {
  for (const [name, value] of refused) {
    assert.throws(
      () => new Packr({ [name]: value }),
      (error) => {
        assert.ok(error instanceof TypeError, `${name}: ${error}`);
        assert.equal(error.code, 'ERR_INVALID_ARG_VALUE');
        const said = name === 'extensions' ? 'extension' : name;
        assert.ok(error.message.includes(said), `${name} is not in “${error.message}”`);
        return true;
      },
      `${name}: ${inspect(value)}`,
    );
  }
  stillWorks();
});

test('the options of records are checked, whether or not there are records', () => {
  for (const useRecords of [true, false, undefined]) {
    for (const [name, values] of Object.entries({
      shouldShareStructure: [1, true, 'f', {}, []],
      maxSharedStructures: [-1, 1.5, NaN, '3', true, Infinity, 100_000, {}],
      maxOwnStructures: [-1, 1.5, NaN, '3', true, Infinity, 100_000, {}],
    })) {
      for (const value of values) {
        assert.throws(
          () => new Packr({ useRecords, [name]: value }),
          (error) =>
            error instanceof TypeError &&
            error.code === 'ERR_INVALID_ARG_VALUE' &&
            error.message.includes(name),
          `${name}: ${String(value)}, useRecords: ${useRecords}`,
        );
      }
    }
  }
});

test('structures that are no arrays of names are refused, at once or when they are used', () => {
  for (const structures of [[1], [['a', 1]], ['a'], [{}], [null], [[null]], [['a'], undefined]]) {
    for (const use of [(packr) => packr.pack({ a: 1 }), (packr) => packr.unpack(bytes('4001'))]) {
      assert.throws(
        () => use(new Packr({ structures })),
        (error) => ['ERR_INVALID_ARG_VALUE', 'ERR_MSGPACK_RECORD'].includes(error.code),
      );
    }
  }
  stillWorks();
});

test('an option that there is not is refused, by its name', () => {
  for (const name of [
    ...['other', 'useFloat32', 'useRecord', 'Extensions', 'moretypes', 'int64AsType', 'pack', ''],
    ...['bundleStrings', 'encodeUndefinedAsNil', 'constructor', 'toString', 'hasOwnProperty'],
  ]) {
    for (const value of [1, true]) {
      assert.throws(
        () => new Packr({ float32: true, [name]: value }),
        (error) =>
          error instanceof TypeError &&
          error.code === 'ERR_INVALID_ARG_VALUE' &&
          error.message.includes(name),
        `${name}: ${value}`,
      );
    }
  }
  for (const options of ['x', 5, true, noop]) {
    assert.throws(() => new Packr(options), { code: 'ERR_INVALID_ARG_VALUE' }, String(options));
  }
});

test('every value that an option does take', () => {
  const both = [true, false];
  const taken = {
    undefinedAs: ['omit', 'nil', 'throw', 'undefined'],
    float32: [...both, 'round', 'fit', 'always'],
    maxDepth: [1, 1000, Infinity],
    int64: ['auto', 'bigint', 'number', 'string'],
    utf8: ['replace', 'fatal', 'raw'],
    copyBuffers: both,
    maps: ['object', 'map'],
    timestamps: ['date', 'timestamp'],
    extensions: [[], [{ Class: Point, type: 0, pack: () => Buffer.alloc(0) }]],
    moreTypes: both,
    structuredClone: both,
    useRecords: both,
    mapsAsObjects: both,
    structures: [[], [['a', 'b'], []]],
    getStructures: [noop],
    saveStructures: [noop],
    maxSharedStructures: [0, 1, 32, 33, 64],
    maxOwnStructures: [0, 1, 32, 64, 65, 8192],
    shouldShareStructure: [noop],
    sequential: both,
    sortKeys: both,
    keyFilter: [() => true],
    skipValues: [[], [undefined, null, '']],
    freeze: both,
    variableMapSize: both,
  };
  assert.deepEqual(Object.keys(taken).sort(), Object.keys(UNSET).sort());
  for (const [name, values] of Object.entries(taken)) {
    for (const value of values) {
      const options = { [name]: value };
      assert.deepEqual(
        new Packr(options).unpack(new Packr(options).pack([1, 'a'])),
        [1, 'a'],
        name,
      );
    }
  }
});

test('at most 8160 shared structures, and 8192 of both kinds', () => {
  const make = (shared, own) =>
    new Packr({ structures: [], maxSharedStructures: shared, maxOwnStructures: own });
  for (const [shared, own] of [
    [8160, 32],
    [8160, undefined],
    [8160, 0],
    [0, 8192],
    [4096, 4096],
  ]) {
    const packr = make(shared, own);
    assert.deepEqual(packr.unpack(packr.pack({ a: 1 })), { a: 1 });
  }
  for (const [shared, own] of [
    [8161, 0],
    [8160, 33],
    [4096, 4097],
    [0, 8193],
  ]) {
    assert.throws(() => make(shared, own), {
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
      message: /max(Shared|Own)Structures/,
    });
  }
});

test('options are read once, when the instance is made', () => {
  const options = { float32: true, undefinedAs: 'nil', extensions: [] };
  const packr = new Packr(options);
  options.float32 = false;
  options.undefinedAs = 'throw';
  options.extensions.push({ Class: Point, type: 1, pack: () => assert.fail('not an extension') });
  writes(packr, [0.5, undefined, new Point(1, 2)], '93 ca3f000000 c0 82a17801a17902');
});

test('instances know nothing of one another, nor the functions of them', () => {
  const plain = new Packr();
  const odd = new Packr({ float32: true, undefinedAs: 'nil', int64: 'string', maps: 'map' });
  const typed = new Packr({ moreTypes: true });
  const cloning = new Packr({ structuredClone: true });
  const seen = { a: 1 };
  for (let i = 0; i < 300; i++) {
    writes(plain, { a: undefined, b: 0.5 }, '81a162cb3fe0000000000000');
    writes(odd, { a: undefined, b: 0.5 }, '82a161c0a162ca3f000000');
    writes(typed, { a: undefined, b: 0.5 }, 'd4724092a161a162d40000cb3fe0000000000000');
    writes(cloning, [seen, seen], '92d66900000001d4724091a16101d67000000001');
    writes(typed, [seen, seen], '92d4724091a161014001');
    writes(plain, [seen, seen], '9281a1610181a16101');
    reads(plain, '81a161cf0000000000000001', { a: 1 });
    reads(odd, '81a161cf0000000000000001', new Map([['a', '1']]));
    reads(typed, '81a161cf0000000000000001', new Map([['a', 1n]]));
    reads(typed, 'd4724091a161 d47300 9101', { a: new Set([1]) });
    stillWorks();
  }
});

test('methods called in one another, of one instance and of two', () => {
  const outer = new Packr({ float32: true });
  const inner = new Packr({ moreTypes: true });
  const value = {
    a: 0.5,
    get b() {
      return outer.pack({ c: 0.5, d: inner.pack({ e: 0.5 }) });
    },
    z: { y: 1 },
  };
  const hexInner = 'd4724091a165cb3fe0000000000000';
  const hexMiddle = `82a163ca3f000000a164c40f${hexInner}`;
  for (let i = 0; i < 200; i++) {
    writes(outer, value, `83a161ca3f000000 a162c41b${hexMiddle} a17a81a17901`);
    const buffer = outer.unpack(outer.unpack(outer.pack(value)).b).d;
    assert.deepStrictEqual(inner.unpack(buffer), { e: 0.5 });
  }
});

test('errors of a call, and the next call is right', () => {
  const makes = [{}, { moreTypes: true }, { structuredClone: true }, { structures: [] }];
  for (const options of makes) {
    const packr = new Packr(options);
    const expected = hex(new Packr(structuredClone(options)).pack([{ a: 1, b: [2] }, 'é']));
    const right = () => {
      writes(packr, [{ a: 1, b: [2] }, 'é'], expected, JSON.stringify(options));
      assert.deepStrictEqual(packr.unpack(bytes(expected)), [{ a: 1, b: [2] }, 'é']);
    };
    right();
    const boom = new Error('boom');
    const view = new Uint8Array(2);
    structuredClone(view.buffer, { transfer: [view.buffer] });
    const throwing = {
      a: 1,
      get b() {
        throw boom;
      },
    };
    for (let i = 0; i < 20; i++) {
      assert.throws(() => packr.pack({ a: 1, b: throwing }), boom);
      right();
      throwsCode(() => packr.pack(nestArrays(1001)), 'ERR_MSGPACK_DEPTH', {
        path: `$${'[0]'.repeat(1000)}`,
      });
      right();
      throwsCode(() => packr.pack({ l: [new Ext(1, view)] }), 'ERR_MSGPACK_INVALID_INPUT');
      right();
      throwsCode(() => packr.packInto([1, 2, 3], Buffer.alloc(3)), 'ERR_MSGPACK_BUFFER_TOO_SMALL');
      right();
      throwsCode(() => packr.packInto([1], 'x'), 'ERR_MSGPACK_INVALID_INPUT');
      right();
      for (const offset of [-1, 1.5, '1', NaN]) {
        assert.throws(() => packr.packInto([1], Buffer.alloc(9), offset), {
          code: 'ERR_INVALID_ARG_VALUE',
        });
        assert.throws(() => packr.unpackFrom(bytes('01'), offset), {
          code: 'ERR_INVALID_ARG_VALUE',
        });
      }
      right();
      throwsCode(() => packr.unpack(bytes('92a161')), 'ERR_MSGPACK_TRUNCATED');
      right();
      throwsCode(() => packr.unpack(bytes('0102')), 'ERR_MSGPACK_EXTRA_BYTES', { offset: 1 });
      right();
      throwsCode(() => packr.unpack(bytes('91c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
      right();
      throwsCode(() => packr.unpack(Buffer.alloc(0)), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
      assert.deepStrictEqual(packr.unpackMultiple(Buffer.alloc(0)), []);
      right();
      for (const input of [null, undefined, 'text', 5, {}, [1]]) {
        throwsCode(() => packr.unpack(input), 'ERR_MSGPACK_INVALID_INPUT');
      }
      right();
      throwsCode(() => packr.unpack(bytes(`91^1001 c0`)), 'ERR_MSGPACK_DEPTH', { offset: 1000 });
      right();
      throwsCode(() => packr.unpackMultiple(bytes('01 02 91')), 'ERR_MSGPACK_TRUNCATED');
      right();
    }
  }
});

test('input of every kind', () => {
  for (const options of [{}, { moreTypes: true }, { structures: [] }, { structuredClone: true }]) {
    const packr = new Packr(options);
    const wire = packr.pack([{ a: 'é' }, 'text']);
    const memory = new ArrayBuffer(wire.length);
    new Uint8Array(memory).set(wire);
    const shared = new SharedArrayBuffer(wire.length);
    new Uint8Array(shared).set(wire);
    const within = Buffer.concat([Buffer.alloc(3, 0xc1), wire, Buffer.alloc(3, 0xc1)]);
    for (const input of [
      wire,
      Uint8Array.from(wire),
      memory,
      shared,
      new DataView(memory),
      new Uint8Array(shared),
      within.subarray(3, -3),
    ]) {
      assert.deepStrictEqual(packr.unpack(input), [{ a: 'é' }, 'text']);
    }
    assert.deepStrictEqual(packr.unpackFrom(within, 3), {
      value: [{ a: 'é' }, 'text'],
      end: within.length - 3,
    });
  }
});

test('unpackFrom and unpackMultiple with records, sets and references', () => {
  const make = () => new Packr({ structuredClone: true });
  const shared = [1];
  const values = [{ a: 1 }, new Set([{ a: 2 }]), [shared, shared], 100, { a: undefined }];
  const wires = values.map((value) => make().pack(value));
  const all = Buffer.concat(wires);
  const packr = make();
  assert.deepStrictEqual(packr.unpackMultiple(all), values);
  const [, , list] = packr.unpackMultiple(all);
  assert.equal(list[0], list[1]);
  let at = 0;
  for (const [i, value] of values.entries()) {
    const { value: back, end } = packr.unpackFrom(all, at);
    assert.deepStrictEqual(back, value);
    at += wires[i].length;
    assert.equal(end, at);
  }
  assert.equal(at, all.length);
});

test('packInto writes what pack returns, and nothing but that', () => {
  const shared = { s: 1 };
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }, { structures: [] }]) {
    const make = () => new Packr(structuredClone(options));
    for (const value of [
      5,
      'text',
      { a: [1, { a: 2 }] },
      [shared, shared],
      new Set([1]),
      'x'.repeat(5000),
    ]) {
      const wire = make().pack(value);
      const target = Buffer.alloc(wire.length + 9, 0xee);
      assert.equal(make().packInto(value, target, 4), wire.length + 4);
      sameBytes(target, Buffer.concat([Buffer.alloc(4, 0xee), wire, Buffer.alloc(5, 0xee)]));
      const exact = Buffer.alloc(wire.length);
      assert.equal(make().packInto(value, exact), wire.length);
      sameBytes(exact, wire);
      throwsCode(
        () => make().packInto(value, Buffer.alloc(wire.length - 1)),
        'ERR_MSGPACK_BUFFER_TOO_SMALL',
      );
    }
  }
});

test('a result never changes later', () => {
  const packr = new Packr({ moreTypes: true });
  const first = packr.pack({ a: 1 });
  const copy = hex(first);
  for (let i = 0; i < 500; i++) packr.pack({ b: i, c: 'x'.repeat(i) });
  assert.equal(hex(first), copy);
});

test('a subclass, and a method without its instance', () => {
  class Mine extends Packr {
    pack(value) {
      return super.pack([value]);
    }
  }
  const mine = new Mine({ float32: true });
  assert.ok(mine instanceof Packr);
  writes(mine, 0.5, '91ca3f000000');
  for (const name of ['pack', 'encode', 'unpack', 'decode', 'unpackMultiple', 'unpackFrom']) {
    for (const self of [undefined, null, 5, {}, Object.create(Packr.prototype)]) {
      assert.throws(() => Packr.prototype[name].call(self, bytes('01')), TypeError, name);
    }
  }
});
