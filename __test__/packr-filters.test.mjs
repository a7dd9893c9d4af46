// What goes out and in which order, and what is made of it: sortKeys, keyFilter, skipValues, freeze,
// maps, variableMapSize, float32, int64 and timestamps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as peer from 'msgpackr';
import msgpack, { Ext, pack, Timestamp, unpack } from '../index.js';
import {
  bytes,
  generator,
  hex,
  nestArrays,
  nestObjects,
  runsOf,
  sameBytes,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import { both, reads, writes } from './packr-helpers.mjs';

const { Packr } = msgpack;

const text = (value) => hex(pack(value));

// sortKeys

const sorting = (options) => new Packr({ sortKeys: true, ...options });

/** UTF-8 as TextEncoder writes it. */
const utf8 = (key) => Buffer.from(new TextEncoder().encode(key));
const inOrder = (keys) => keys.slice().sort((a, b) => Buffer.compare(utf8(a), utf8(b)));

/** The same with its keys in another order, all the way down. */
function shuffled(value, next) {
  const mix = (items) => {
    const list = items.slice();
    for (let i = list.length - 1; i > 0; i--) {
      const j = next.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  };
  if (Array.isArray(value)) return value.map((item) => shuffled(item, next));
  if (value instanceof Map) {
    return new Map(mix([...value]).map(([k, v]) => [shuffled(k, next), shuffled(v, next)]));
  }
  if (value instanceof Set) return new Set(mix([...value]).map((item) => shuffled(item, next)));
  if (value === null || typeof value !== 'object') return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(mix(Object.entries(value)).map(([k, v]) => [k, shuffled(v, next)]));
}

test('sortKeys: in the order of the bytes of the keys', () => {
  const rows = [
    [{ b: 1, a: 2 }, '82 a16102 a16201'],
    [{ a: 2, b: 1 }, '82 a16102 a16201'],
    [{ b: { d: 1, c: 2 }, a: [{ f: 1, e: 2 }] }, '82 a161 91 82a16502a16601 a162 82a16302a16401'],
    [{ aa: 1, a: 2, '': 3, b: 4 }, '84 a003 a16102 a2616101 a16204'],
    [{ 10: 1, 9: 2, a: 3, '-1': 4 }, `84 ${text('-1')}04 ${text('10')}01 ${text('9')}02 a16103`],
    [{ B: 1, a: 2, A: 3 }, '83 a14103 a14201 a16102'],
    [{ z: 1, é: 2 }, '82 a17a01 a2c3a902'],
    // The units of UTF-16 are in another order than the bytes of UTF-8.
    [{ '😀': 1, '\uffff': 2 }, '82 a3efbfbf02 a4f09f988001'],
    [{ '\uffff': 2, '😀': 1 }, '82 a3efbfbf02 a4f09f988001'],
    [{ '\u{10ffff}': 1, '\ue000': 2, '\ud7ff': 3 }, '83 a3ed9fbf03 a3ee808002 a4f48fbfbf01'],
    [{ 'a😀': 1, 'a\uffff': 2, a: 3 }, '83 a16103 a461efbfbf02 a561f09f988001'],
    [{ '😀b': 1, '😀a': 2, '😁': 3 }, '83 a5f09f98806102 a5f09f98806201 a4f09f988103'],
    [{ constructor: 1, __proto__: null, a: 2 }, `82 a16102 ${text('constructor')}01`],
    [JSON.parse('{"b":1,"__proto__":2,"a":3}'), `83 ${text('__proto__')}02 a16103 a16201`],
  ];
  for (const [value, expected] of rows) {
    const packr = sorting();
    for (let i = 0; i < 150; i++) writes(packr, value, expected);
    assert.deepEqual(packr.unpack(bytes(expected)), unpack(pack(value)));
  }
});

test('sortKeys: many keys, of every length and width', (t) => {
  const next = generator(seedOf(t));
  const unit = () =>
    next.pick([
      'a',
      'b',
      'é',
      '߿',
      'ࠀ',
      '漢',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '😀',
      '\u{10ffff}',
      '\0',
      '~',
    ]);
  for (let run = 0; run < runsOf(150); run++) {
    const keys = new Set();
    const count = 1 + next.below(run % 20 === 0 ? 400 : 40);
    for (let i = 0; i < count; i++) {
      let key = '';
      for (let n = next.below(run % 10 === 0 ? 80 : 5); n >= 0; n--) key += unit();
      keys.add(key);
    }
    const list = [...keys];
    const value = Object.fromEntries(list.map((key, i) => [key, i]));
    const expected = pack(new Map(inOrder(list).map((key) => [key, value[key]])));
    writes(sorting(), value, expected, `run ${run}`);
    writes(sorting(), shuffled(value, next), expected, `run ${run}`);
    writes(
      sorting(),
      new Map(Object.entries(value)),
      sorting().pack(new Map(Object.entries(shuffled(value, next)))),
    );
  }
});

test('sortKeys: lone surrogates are the U+FFFD that they are written as', () => {
  const value = { '\uffff': 1, '\ud83d': 2, '\uffee': 3, '😀': 4 };
  writes(sorting(), value, '84 a3efbfae03 a3efbfbd02 a3efbfbf01 a4f09f988004');
  const equal = [
    { '\ud800': 1, '\udbff': 2 },
    { '\udbff': 2, '\ud800': 1 },
  ];
  assert.equal(hex(sorting().pack(equal[0])), hex(sorting().pack(equal[1])));
});

test('sortKeys: Map entries and Set elements by their bytes', () => {
  const rows = [
    [
      new Map([
        ['b', 1],
        ['a', 2],
      ]),
      '82 a16102 a16201',
    ],
    [
      new Map([
        [200, 'x'],
        [1, 'y'],
        [-1, 'z'],
      ]),
      '83 01a179 ccc8a178 ffa17a',
    ],
    [
      new Map([
        ['a', 1],
        [1, 2],
        [null, 3],
        [true, 4],
        [0.5, 5],
      ]),
      '85 0102 a16101 c003 c304 cb3fe000000000000005',
    ],
    [
      new Map([
        [[2], 1],
        [[1], 2],
      ]),
      '82 9101 02 9102 01',
    ],
    [new Map([[{ b: 1, a: 2 }, 1]]), '81 82a16102a16201 01'],
    [
      new Map([
        [
          'x',
          new Map([
            ['b', 1],
            ['a', 2],
          ]),
        ],
      ]),
      '81 a178 82a16102a16201',
    ],
    [
      new Map([
        ['aa', 1],
        ['b', 2],
      ]),
      '82 a16202 a2616101',
    ],
    [new Set([3, 1, 2]), '93010203'],
    [new Set(['b', 'a', 1]), '9301a161a162'],
    [new Set([{ b: 1, a: 2 }, { a: 1 }]), '92 81a16101 82a16102a16201'],
    [new Set([new Set([2, 1]), new Set([1])]), '92 9101 920102'],
    [new Set([-1, 128, 0.5, null]), '94 c0 cb3fe0000000000000 cc80 ff'],
    [
      {
        s: new Set([2, 1]),
        m: new Map([
          [2, 1],
          [1, 1],
        ]),
      },
      '82 a16d 82 0101 0201 a173 920102',
    ],
  ];
  for (const [value, expected] of rows) {
    const packr = sorting();
    for (let i = 0; i < 20; i++) writes(packr, value, expected);
  }
  writes(sorting({ moreTypes: true }), new Set([3, 1, 2]), 'd4730093010203');
  writes(
    sorting({ moreTypes: true }),
    new Map([
      [undefined, 1],
      ['a', 2],
    ]),
    '82 a16102 d4000001',
  );
});

test('sortKeys: arrays keep their order, and what is no map is as ever', () => {
  for (const value of [
    [3, 1, 2],
    ['b', 'a'],
    Buffer.from([3, 1]),
    new Date(5),
    new Ext(5, Buffer.alloc(2)),
    'x',
    2 ** 40,
    [[2], [1]],
  ]) {
    writes(sorting(), value, pack(value));
  }
  writes(sorting(), { b: undefined, a: 1, c: () => 1 }, '81a16101');
  writes(sorting({ undefinedAs: 'nil' }), { b: undefined, a: 1 }, '82 a16101 a162c0');
  class Thing {
    constructor() {
      this.b = 1;
      this.a = 2;
    }
  }
  writes(
    sorting(),
    [new Thing(), { toJSON: () => ({ b: 1, a: 2 }) }],
    '92 82a16102a16201 82a16102a16201',
  );
  const order = [];
  const observed = {
    get b() {
      order.push('b');
      return 1;
    },
    get a() {
      order.push('a');
      return 2;
    },
  };
  writes(sorting(), observed, '82 a16102 a16201');
  assert.equal(order.length, 2);
});

test('sortKeys: records have their names in order', () => {
  const records = () => sorting({ useRecords: true });
  writes(
    records(),
    [
      { b: 1, a: 2 },
      { a: 3, b: 4 },
    ],
    '92 d4724092a161a1620201 400304',
  );
  reads(records(), '92 d4724092a161a1620201 400304', [
    { a: 2, b: 1 },
    { a: 3, b: 4 },
  ]);
  const shared = new Packr({ sortKeys: true, structures: [] });
  writes(shared, { b: 1, a: 2 }, '400201');
  writes(shared, { a: 2, b: 1 }, '400201');
  assert.deepEqual(
    shared.structures.map((names) => [...names]),
    [['a', 'b']],
  );
});

test('sortKeys: deep, long, and within one another', () => {
  for (const depth of [100, 101, 300, 301, 900]) {
    let value = 1;
    for (let i = 0; i < depth; i++) value = { b: 1, a: value };
    writes(sorting(), value, `82a161^${depth} 01 a16201^${depth}`);
  }
  const many = Array.from({ length: 500 }, (_, i) => (i % 2 ? { b: i, a: 1 } : { a: 1, b: i }));
  writes(sorting(), many, pack(Array.from({ length: 500 }, (_, i) => ({ a: 1, b: i }))));
  const nested = {
    b: 1,
    get a() {
      return sorting().pack({ d: 1, c: 2 });
    },
  };
  writes(sorting(), nested, '82 a161 c407 82a16302a16401 a16201');
});

test('sortKeys: what is in sets and keys is not packed once more for every level', () => {
  let calls = 0;
  const counted = {
    toJSON() {
      calls++;
      return 1;
    },
  };
  const next = generator(1);
  for (const wrap of [
    (inner, i) => new Set([`z${i}`, inner, 'a']),
    (inner, i) =>
      new Map([
        [[`z${i}`], 1],
        [inner, 2],
        ['a', 3],
      ]),
    (inner) => ({ s: new Set([inner, 0]), a: 1 }),
  ]) {
    let value = counted;
    for (let i = 0; i < 12; i++) value = wrap(value, i);
    calls = 0;
    const wire = sorting().pack(value);
    assert.ok(calls <= 50, `${calls} calls for 12 levels`);
    sameBytes(sorting().pack(shuffled(value, next)), wire);
  }
});

test('sortKeys: equal values give equal bytes, whatever their order', (t) => {
  const keys = fc.oneof(
    fc.constantFrom('a', 'b', 'aa', '10', '9', 'é', '漢', '😀', '\uffff', ''),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.integer(),
      fc.string({ maxLength: 8 }),
      fc.constantFrom(null, true, 0.5),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 8 }).map((o) => ({ ...o })),
      fc
        .uniqueArray(fc.tuple(fc.oneof(fc.integer(), keys), tie('value')), {
          maxLength: 6,
          selector: ([key]) => key,
        })
        .map((entries) => new Map(entries)),
      fc
        .uniqueArray(tie('value'), { maxLength: 6, selector: (v) => JSON.stringify(v) + String(v) })
        .map((items) => new Set(items)),
    ),
  }));
  const seed = seedOf(t);
  const next = generator(seed);
  const packrs = [sorting(), sorting({ undefinedAs: 'nil', float32: true })];
  fc.assert(
    fc.property(value, (each) => {
      for (const packr of packrs) {
        const wire = packr.pack(each);
        sameBytes(packr.pack(shuffled(each, next)), wire);
        assert.deepEqual(packr.unpack(wire), unpack(wire));
      }
    }),
    { seed, numRuns: runsOf(400), endOnFailure: false },
  );
});

// keyFilter and skipValues

test('keyFilter: the properties whose key it takes', () => {
  const asked = [];
  const packr = new Packr({
    keyFilter(key) {
      assert.equal(typeof key, 'string');
      asked.push(key);
      return !key.startsWith('_');
    },
  });
  for (let i = 0; i < 200; i++) {
    writes(packr, { a: 1, _b: 2, c: { _d: 3, e: 4 } }, '82 a16101 a163 81a16504');
    writes(packr, [{ _x: 1 }, { y: [{ _z: 1, z: 2 }] }], '92 80 81a179 91 81a17a02');
  }
  assert.deepEqual([...new Set(asked)].sort(), ['_b', '_d', '_x', '_z', 'a', 'c', 'e', 'y', 'z']);
  const hidden = {
    get _secret() {
      return assert.fail('read');
    },
    a: 1,
  };
  writes(packr, hidden, '81a16101');
  writes(new Packr({ keyFilter: () => false }), { a: 1 }, '80');
  writes(new Packr({ keyFilter: () => true }), { a: 1, b: undefined }, '81a16101');
  writes(
    new Packr({ keyFilter: (key) => key !== 'a', useRecords: true }),
    [{ a: 1, b: 2 }, { b: 3 }],
    '92 d4724091a16202 4003',
  );
  const boom = new Error('boom');
  const throwing = new Packr({
    keyFilter() {
      throw boom;
    },
  });
  assert.throws(
    () => throwing.pack({ a: 1 }),
    (error) => error === boom || error.cause === boom,
  );
  writes(throwing, [1], '9101');
  const nesting = new Packr({
    keyFilter(key) {
      assert.equal(hex(pack({ k: key.length })), `81a16b${text(key.length)}`);
      return true;
    },
  });
  writes(nesting, { a: { bb: 1 } }, '81a161 81a2626201');
});

test('skipValues: properties with these values are left out of objects', () => {
  const packr = new Packr({ skipValues: [null, '', 0, undefined] });
  for (let i = 0; i < 200; i++) {
    writes(packr, { a: 1, b: null, c: '', d: 0, e: undefined, f: false }, '82 a16101 a166c2');
    writes(packr, { a: { b: null }, c: [null, 0, ''] }, '82 a16180 a163 93c000a0');
    writes(packr, [null, 0, '', { x: null }], '94c000a0 80');
  }
  writes(
    packr,
    new Map([
      ['a', null],
      ['b', 0],
    ]),
    '82 a161c0 a16200',
  );
  writes(new Packr({ skipValues: [NaN] }), { a: NaN, b: 1 }, '81a16201');
  const marker = {};
  writes(new Packr({ skipValues: [marker] }), { a: marker, b: {} }, '81a16280');
  writes(new Packr({ skipValues: [] }), { a: null, b: undefined }, '81a161c0');
  writes(
    new Packr({ skipValues: [undefined], undefinedAs: 'nil' }),
    { a: undefined, b: [undefined] },
    '81 a162 91c0',
  );
  writes(
    new Packr({ skipValues: [undefined], moreTypes: true }),
    { a: undefined, b: 1 },
    'd4724091a16201',
  );
  writes(
    new Packr({ skipValues: [null], useRecords: true }),
    [{ a: null, b: 1 }, { b: 2 }],
    '92 d4724091a16201 4002',
  );
  let reads2 = 0;
  const counted = {
    get a() {
      reads2++;
      return null;
    },
    b: 1,
  };
  writes(packr, counted, '81a16201');
  assert.equal(reads2, 1);
  sameBytes(
    packr.pack({ a: 1, b: null, c: 'x' }),
    Buffer.from(
      new peer.Packr({ useRecords: false, variableMapSize: true, skipValues: [null] }).pack({
        a: 1,
        b: null,
        c: 'x',
      }),
    ),
  );
});

test('sortKeys, keyFilter and skipValues together', () => {
  const packr = new Packr({ sortKeys: true, keyFilter: (key) => key !== 'x', skipValues: [null] });
  for (let i = 0; i < 150; i++) {
    writes(
      packr,
      { z: 1, x: 2, b: null, a: { y: 1, x: 1, c: null, b: 2 } },
      '82 a161 82a16202a17901 a17a01',
    );
  }
  const many = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`k${199 - i}`, i % 2 ? i : null]),
  );
  const expected = pack(
    new Map(
      inOrder(Object.keys(many))
        .filter((key) => many[key] !== null)
        .map((key) => [key, many[key]]),
    ),
  );
  writes(packr, many, expected);
});

// freeze

/** Whether this and all in it is frozen, except what cannot be. */
function checkFrozen(value, path = '$') {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return;
  if (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) {
    assert.ok(Object.isFrozen(value), `${path} is not frozen`);
  }
  for (const key of Object.keys(value)) checkFrozen(value[key], `${path}.${key}`);
  if (value instanceof Map) for (const [k, v] of value) checkFrozen([k, v].at(1), `${path}(${k})`);
  if (value instanceof Set) for (const v of value) checkFrozen(v, `${path}(set)`);
}

test('freeze: objects and arrays, all the way down; not the bytes', () => {
  const value = {
    a: [1, [2, { b: [] }]],
    c: { d: {} },
    e: Buffer.from([1, 2]),
    f: new Date(5),
    g: new Ext(5, Buffer.from([1])),
    list: Array.from({ length: 400 }, (_, id) => ({ id, tags: [id] })),
  };
  const packr = new Packr({ freeze: true });
  for (let i = 0; i < 20; i++) {
    const back = packr.unpack(packr.pack(value));
    assert.deepEqual(back, value);
    checkFrozen(back);
    assert.throws(() => {
      back.a[1][1].b.push(1);
    }, TypeError);
    assert.throws(() => {
      back.list[399].id = 1;
    }, TypeError);
    assert.throws(() => {
      back.x = 1;
    }, TypeError);
    back.e[0] = 9;
    assert.equal(back.e[0], 9);
    back.f.setTime(7);
  }
  for (const depth of [1, 100, 101, 300, 301, 1000]) {
    checkFrozen(packr.unpack(pack(nestArrays(depth))));
    checkFrozen(packr.unpack(pack(nestObjects(depth))));
  }
  checkFrozen(packr.unpack(pack([])));
  checkFrozen(packr.unpack(pack({})));
  checkFrozen(packr.unpack(pack(Array(5000).fill([1]))));
  checkFrozen(packr.unpack(pack(Array.from({ length: 5000 }, (_, i) => i + 0.5))));
  assert.deepEqual(packr.unpack(bytes('c40101')), Buffer.from([1]));
  for (const each of packr.unpackMultiple(bytes('9101 81a16190'))) checkFrozen(each);
  checkFrozen(packr.unpackFrom(bytes('00 81a1619101'), 1).value);
  for (const freeze of [false, undefined]) {
    const loose = new Packr({ freeze }).unpack(bytes('81a1619101'));
    assert.ok(!Object.isFrozen(loose) && !Object.isFrozen(loose.a));
  }
  assert.ok(!Object.isFrozen(unpack(bytes('9101'))));
});

test('freeze: with records, maps, sets, errors, references and extensions', () => {
  class Box {
    constructor(value) {
      this.value = value;
    }
  }
  const extensions = [
    { Class: Box, type: 6, write: (b) => b.value, read: (value) => new Box(value) },
  ];
  const packr = new Packr({ freeze: true, structuredClone: true, extensions });
  const shared = { s: [1] };
  const value = {
    records: [
      { id: 1, l: [1] },
      { id: 2, l: [2] },
    ],
    map: new Map([[{ k: [1] }, { v: [1] }]]),
    set: new Set([{ s: [1] }, [[2]]]),
    error: new Error('m', { cause: { c: [1] } }),
    views: [new Uint8Array(3), new Float64Array(2), new ArrayBuffer(2), Buffer.alloc(2)],
    box: new Box({ b: [1] }),
    shared: [shared, shared],
    cycle: [],
  };
  value.cycle.push(value.cycle, { up: value });
  const back = packr.unpack(packr.pack(value));
  assert.ok(
    Object.isFrozen(back) && Object.isFrozen(back.records[1].l) && Object.isFrozen(back.records[0]),
  );
  assert.ok(Object.isFrozen([...back.map.values()][0].v));
  assert.ok(Object.isFrozen([...back.set][0].s) && Object.isFrozen([...back.set][1][0]));
  assert.ok(Object.isFrozen(back.error.cause.c));
  assert.ok(Object.isFrozen(back.box.value.b));
  assert.ok(Object.isFrozen(back.shared[0]) && back.shared[0] === back.shared[1]);
  assert.ok(
    Object.isFrozen(back.cycle) && back.cycle[0] === back.cycle && back.cycle[1].up === back,
  );
  assert.equal(back.views[0].length, 3);
  // What belongs to the instance is not frozen with it.
  const structures = [];
  const sharing = new Packr({ freeze: true, structures });
  assert.ok(Object.isFrozen(sharing.unpack(sharing.pack({ a: 1 }))));
  writes(sharing, { b: 1 }, '4101');
  assert.equal(structures.length, 2);
  assert.ok(!Object.isFrozen(structures));
});

// maps

test('mapsAsObjects and maps', () => {
  const wire = bytes('82 a161 81a16201 a163 02');
  const object = { a: { b: 1 }, c: 2 };
  const map = new Map([
    ['a', new Map([['b', 1]])],
    ['c', 2],
  ]);
  for (const [options, expected] of [
    [{}, object],
    [{ maps: 'object' }, object],
    [{ maps: 'map' }, map],
    [{ mapsAsObjects: true }, object],
    [{ mapsAsObjects: false }, map],
    [{ useRecords: true }, map],
    [{ useRecords: true, mapsAsObjects: true }, object],
    [{ useRecords: true, maps: 'object' }, object],
    [{ useRecords: false }, object],
    [{ useRecords: false, mapsAsObjects: false }, map],
    [{ moreTypes: true }, map],
    [{ moreTypes: true, useRecords: false }, object],
    [{ structuredClone: true }, map],
    [{ structures: [] }, map],
    [{ sequential: true }, map],
    [{ getStructures: () => [] }, map],
  ]) {
    for (let i = 0; i < 50; i++) reads(new Packr(options), wire, expected, JSON.stringify(options));
  }
  throwsCode(() => new Packr().unpack(bytes('81c001')), 'ERR_MSGPACK_KEY', { offset: 1 });
  reads(new Packr({ maps: 'map' }), '81c001', new Map([[null, 1]]));
  reads(new Packr({ useRecords: true }), '81c001', new Map([[null, 1]]));
});

// variableMapSize

test('variableMapSize: false: every object as map 16, as msgpackr does by itself', (t) => {
  const packr = new Packr({ variableMapSize: false });
  for (const [value, expected] of [
    [{}, 'de0000'],
    [{ a: 1 }, 'de0001a16101'],
    [{ a: { b: [{}] } }, 'de0001a161 de0001a162 91 de0000'],
    [[{ a: 1 }, { a: 2 }], '92 de0001a16101 de0001a16102'],
    [{ a: undefined, b: 1 }, 'de0001a16201'],
  ]) {
    for (let i = 0; i < 150; i++) writes(packr, value, expected);
    reads(new Packr(), expected, unpack(pack(value)));
  }
  const wide = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, i]));
  writes(packr, wide, Buffer.concat([bytes('de0010'), pack(wide).subarray(3)]));
  // A Map has the smallest form, there too.
  writes(packr, new Map([['a', 1]]), '81a16101');
  const huge = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`k${i}`, 1]));
  assert.equal(hex(packr.pack(huge).subarray(0, 5)), 'df00011170');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 }),
      fc.double().filter((n) => !Number.isInteger(n)),
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.constantFrom(null, true, false),
      fc.date({ noInvalidDate: true }),
      fc.array(tie('value'), { maxLength: 20 }),
      fc
        .dictionary(
          fc.string({ maxLength: 12 }).filter((key) => key !== '__proto__'),
          tie('value'),
          { maxKeys: 20 },
        )
        .map((o) => ({ ...o })),
    ),
  }));
  fc.assert(
    fc.property(value, (each) => {
      const wire = packr.pack(each);
      sameBytes(wire, Buffer.from(peer.pack(each)));
      assert.deepStrictEqual(packr.unpack(wire), each);
      assert.deepStrictEqual(peer.unpack(wire), each);
    }),
    { seed: seedOf(t), numRuns: runsOf(400), endOnFailure: false },
  );
});

test('variableMapSize: true is the smallest form, which is the default', () => {
  for (const options of [{}, { variableMapSize: true }]) {
    writes(new Packr(options), { a: {} }, '81a16180');
  }
});

// float32

const MODES = { always: 1, round: 3, fit: 4 };
const floats = (float32, options) => new Packr({ float32, ...options });
const theirFloats = (float32) => new peer.Packr({ useRecords: false, useFloat32: MODES[float32] });

test('float32: what is written', () => {
  const rows = [
    // value, true, always and round, fit
    [0.1, 'cb3fb999999999999a', 'ca3dcccccd', 'ca3dcccccd'],
    [7.99, 'cb401ff5c28f5c28f6', 'ca40ffae14', 'ca40ffae14'],
    [0.5, 'ca3f000000', 'ca3f000000', 'ca3f000000'],
    [-1.5, 'cabfc00000', 'cabfc00000', 'cabfc00000'],
    [123456.789, 'cb40fe240c9fbe76c9', 'ca47f12065', 'cb40fe240c9fbe76c9'],
    [16777217.5, 'cb4170000018000000', 'ca4b800001', 'cb4170000018000000'],
    [1 / 3, 'cb3fd5555555555555', 'ca3eaaaaab', 'cb3fd5555555555555'],
    [2147483647.5, 'cb41dfffffffe00000', 'ca4f000000', 'cb41dfffffffe00000'],
    [4294967295.5, 'cb41effffffff00000', 'ca4f800000', 'cb41effffffff00000'],
    [1e-40, 'cb37a16c262777579c', 'ca000116c2', 'cb37a16c262777579c'],
    [1e-50, 'cb358dee7a4ad4b81f', 'ca00000000', 'cb358dee7a4ad4b81f'],
    [3.4e39, 'cb4823fbc05cb80bcc', 'cb4823fbc05cb80bcc', 'cb4823fbc05cb80bcc'],
  ];
  for (const [value, exact, always, fit] of rows) {
    for (const [mode, expected] of [
      [true, exact],
      ['always', always],
      ['round', always],
      ['fit', fit],
      [false, hex(pack(value))],
    ]) {
      const packr = floats(mode);
      for (let i = 0; i < 20; i++) {
        writes(packr, value, expected, `${mode} ${value}`);
        writes(packr, [value, { a: value }], `92${expected}81a161${expected}`, `${mode} ${value}`);
      }
      if (MODES[mode]) sameBytes(Buffer.from(theirFloats(mode).pack(value)), bytes(expected));
    }
  }
  // What has no fraction, or is out of range, is as without.
  const integers = [
    0,
    1,
    64,
    -1,
    -33,
    255,
    65536,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 40,
    -(2 ** 31),
    -(2 ** 31) - 1,
    2 ** 53,
    1e20,
  ];
  for (const mode of ['always', 'round', 'fit']) {
    for (const value of [...integers, -2147483648.5, 4294967296.5, 3.4e39, 1e300, 10n]) {
      writes(floats(mode), value, pack(value), `${mode} ${value}`);
    }
    for (const value of [NaN, Infinity, -Infinity]) {
      writes(floats(mode), value, pack(value), `${mode} ${value}`);
      reads(floats(mode), pack(value), value);
    }
  }
});

test('float32: in long arrays, records and everything', () => {
  for (const mode of ['always', 'round', 'fit']) {
    const packr = floats(mode);
    const list = Array.from({ length: 1000 }, (_, i) => (10 * i + 1) / 100);
    sameBytes(packr.pack(list), Buffer.from(theirFloats(mode).pack(list)), mode);
    assert.deepEqual(packr.unpack(packr.pack(list)), theirFloats(mode).unpack(packr.pack(list)));
    const objects = list.map((n, i) => ({ n, i, more: [n, -n] }));
    const records = floats(mode, { useRecords: true });
    sameBytes(
      records.pack(objects),
      Buffer.from(new peer.Packr({ useFloat32: MODES[mode] }).pack(objects)),
      mode,
    );
    writes(packr, new Map([[0.1, new Set([0.1])]]), '81 ca3dcccccd 91 ca3dcccccd');
    for (const depth of [100, 301]) writes(packr, nestArrays(depth, 0.1), `91^${depth} ca3dcccccd`);
  }
});

test('float32: what is read', () => {
  for (const [wire, exact, rounded] of [
    ['ca3dcccccd', 0.10000000149011612, 0.1],
    ['cabdcccccd', -0.10000000149011612, -0.1],
    ['ca40ffae14', 7.989999771118164, 7.99],
    ['ca47f12065', 123456.7890625, 123456.79],
    ['ca4b800001', 16777218, 16777220],
    ['ca3f000000', 0.5, 0.5],
    ['ca42c88000', 100.25, 100.25],
    ['ca3eaaaaab', 0.3333333432674408, 0.3333333],
    ['ca40b80000', 5.75, 5.75],
    ['ca4f000000', 2147483648, 2147484000],
    ['ca00000001', 1.401298464324817e-45, 1.0000000000000001e-45],
    ['ca7f7fffff', 3.4028234663852886e38, 3.402823e38],
    ['ca00800000', 1.1754943508222875e-38, 1.1754939999999999e-38],
  ]) {
    for (const mode of [false, true, 'always', 'round', 'fit']) {
      const expected = mode === 'round' || mode === 'fit' ? rounded : exact;
      const packr = floats(mode);
      for (let i = 0; i < 20; i++) {
        reads(packr, wire, expected, `${mode} ${wire}`);
        reads(packr, `92${wire}81a161${wire}`, [expected, { a: expected }], `${mode} ${wire}`);
      }
      reads(packr, `dc0190${wire.repeat(400)}`, Array(400).fill(expected));
      if (MODES[mode]) assert.equal(theirFloats(mode).unpack(bytes(wire)), expected);
    }
  }
  for (const mode of ['round', 'fit', 'always', true, false]) {
    reads(floats(mode), 'ca7fc00000', NaN);
    reads(floats(mode), 'ca7f800000', Infinity);
    reads(floats(mode), 'caff800000', -Infinity);
    reads(floats(mode), 'ca00000000', 0);
    // A float 64 is read as it stands.
    reads(floats(mode), 'cb3fb999999999999a', 0.1);
    reads(floats(mode), 'cb3fb99999a0000000', 0.10000000149011612);
  }
});

test('float32: any float 32 is read as msgpackr reads it', (t) => {
  const next = generator(seedOf(t));
  const peers = Object.fromEntries(Object.keys(MODES).map((mode) => [mode, theirFloats(mode)]));
  const ours = Object.fromEntries(Object.keys(MODES).map((mode) => [mode, floats(mode)]));
  for (let run = 0; run < runsOf(20_000); run++) {
    const wire = Buffer.alloc(5, 0xca);
    wire.writeUInt32BE(next(), 1);
    const exact = wire.readFloatBE(1);
    if (!Number.isFinite(exact) || exact === 0) continue;
    for (const mode of Object.keys(MODES)) {
      assert.equal(ours[mode].unpack(wire), peers[mode].unpack(wire), `${mode} ${hex(wire)}`);
    }
  }
});

test('float32: any number is written as msgpackr writes it', (t) => {
  const next = generator(seedOf(t));
  const ours = Object.fromEntries(Object.keys(MODES).map((mode) => [mode, floats(mode)]));
  const peers = Object.fromEntries(Object.keys(MODES).map((mode) => [mode, theirFloats(mode)]));
  const double = Buffer.alloc(8);
  for (let run = 0; run < runsOf(20_000); run++) {
    let value;
    switch (next.below(4)) {
      case 0:
        value = next.below(1_000_000) / next.pick([10, 100, 1000, 1e5, 7, 3]);
        break;
      case 1:
        value = (next() - 2 ** 31) / next.pick([10, 100, 1000, 1e6, 1e12]);
        break;
      case 2:
        value = Math.fround(next() / 2 ** next.below(60));
        break;
      default:
        double.writeUInt32BE(next(), 0);
        double.writeUInt32BE(next(), 4);
        value = double.readDoubleBE(0);
    }
    if (Number.isInteger(value) || Number.isNaN(value)) continue;
    for (const mode of Object.keys(MODES)) {
      sameBytes(ours[mode].pack(value), Buffer.from(peers[mode].pack(value)), `${mode} ${value}`);
    }
  }
});

test("float32: 'round' and 'fit' bring decimals back", () => {
  for (const mode of ['round', 'fit']) {
    const packr = floats(mode);
    for (let i = -9999; i <= 9999; i += 7) {
      for (const value of [i / 10, i / 100, i / 1000]) {
        assert.equal(packr.unpack(packr.pack(value)), value, `${mode} ${value}`);
      }
    }
  }
});

// int64 and timestamps

test('int64: in records, maps and at the top', () => {
  const wires = [
    'cf0000000000000001',
    'd3ffffffffffffffff',
    'cf0020000000000000',
    'd38000000000000000',
  ];
  const values = {
    auto: [1, -1, 2n ** 53n, -(2n ** 63n)],
    bigint: [1n, -1n, 2n ** 53n, -(2n ** 63n)],
    number: [1, -1, 2 ** 53, -(2 ** 63)],
    string: ['1', '-1', '9007199254740992', '-9223372036854775808'],
  };
  for (const [int64, expected] of Object.entries(values)) {
    for (const options of [
      {},
      { useRecords: true },
      { moreTypes: true },
      { structuredClone: true },
    ]) {
      const packr = new Packr({ int64, ...options });
      for (const [i, wire] of wires.entries()) {
        for (let n = 0; n < 20; n++) {
          reads(packr, wire, expected[i]);
          reads(packr, `92 ${wire} 05`, [expected[i], 5]);
        }
        if (Object.keys(options).length > 0) {
          reads(packr, `d4724091a161${wire}`, { a: expected[i] });
          reads(packr, `92 d4724091a16101 40${wire}`, [{ a: 1 }, { a: expected[i] }]);
          reads(packr, `81 01 ${wire}`, new Map([[1, expected[i]]]));
        } else {
          reads(packr, `81 a161 ${wire}`, { a: expected[i] });
        }
      }
    }
  }
});

test('timestamps: a Date, or what keeps the nanoseconds', () => {
  const wire = 'd7ff0000000400000005';
  for (const options of [
    {},
    { useRecords: true },
    { moreTypes: true },
    { structuredClone: true },
  ]) {
    const dates = new Packr({ timestamps: 'date', ...options });
    const exact = new Packr({ timestamps: 'timestamp', ...options });
    for (let i = 0; i < 20; i++) {
      reads(dates, [wire].join(''), new Date(5000));
      reads(dates, `91${wire}`, [new Date(5000)]);
      reads(exact, `92${wire}c0`, [new Timestamp(5n, 1), null]);
      reads(exact, 'd6ff00000005', new Timestamp(5n, 0));
    }
    both(() => exact, [new Timestamp(5n, 1)], `91${wire}`);
    writes(exact, [new Date(5000)], '91d6ff00000005');
  }
  stillWorks();
});
