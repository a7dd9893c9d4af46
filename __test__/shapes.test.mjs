// Object shapes over time: whatever has been learnt from earlier objects, each is written as it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr, pack, unpack } from '../index.js';
import { generator, packs, sameBytes, seedOf, stillWorks } from './helpers.mjs';
import { refPack } from './reference.mjs';

const check = (value, label) => {
  const wire = pack(value);
  sameBytes(wire, refPack(value), label);
  return wire;
};

const both = (value, label) => assert.deepStrictEqual(unpack(check(value, label)), value, label);

// One value of each kind a field may hold, the type changing under whatever was guessed.
const KINDS = [
  1,
  -1,
  255,
  65536,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1.5,
  -0,
  NaN,
  '',
  'text',
  'é',
  '\ud83d',
  'long '.repeat(300),
  null,
  true,
  false,
  undefined,
  () => 1,
  Symbol('s'),
  5n,
  2n ** 60n,
  [],
  [1, 2],
  [0.5],
  ['x'],
  {},
  { a: 1 },
  { b: { c: [] } },
  new Date(5000),
  new Date(NaN),
  new Map([['k', 1]]),
  new Set([1]),
  Buffer.from([1, 2]),
  new Float32Array(2),
  new Error('e'),
  /re/,
  new String('boxed'),
  { toJSON: () => 'json' },
  Object.create(null),
];

test('a field goes through every type after every other', () => {
  const shape = (v) => ({ before: 1, v, after: 'z' });
  for (const first of KINDS) {
    for (let i = 0; i < 5; i++) check(shape(first));
    for (const second of KINDS) check(shape(second));
  }
});

test('a field settled on one type for 60 uses, then another', () => {
  const makers = KINDS.map((kind, i) => [
    () => ({ [`settled${i}`]: kind, tail: i }),
    `settled${i}`,
  ]);
  for (const [make, key] of makers) {
    for (let i = 0; i < 60; i++) check(make(), key);
    for (const other of KINDS) {
      const value = make();
      value[key] = other;
      check(value, key);
    }
    check(make(), key);
  }
});

test('elements of an array go through every type', () => {
  for (const first of KINDS) {
    for (const second of KINDS) {
      check([first, second]);
      check([first, first, first, second]);
      check([{ x: first }, { x: second }]);
      check([{ x: first }, { x: first }, second]);
    }
  }
});

test('alternating shapes at one place', () => {
  const shapes = [
    { a: 1 },
    { b: 1 },
    { a: 1, b: 2 },
    { b: 2, a: 1 },
    {},
    { c: { a: 1 } },
    { a: { c: 1 } },
  ];
  for (let i = 0; i < 400; i++) {
    both({ place: shapes[i % shapes.length], other: shapes[(i * 3 + 1) % shapes.length] });
    both([
      shapes[i % shapes.length],
      shapes[(i + 1) % shapes.length],
      shapes[(i + 2) % shapes.length],
    ]);
  }
});

test('keys reordered, added and taken away', () => {
  for (let i = 0; i < 100; i++) {
    both({ a: 1, b: 2, c: 3 });
    both({ c: 3, b: 2, a: 1 });
    both({ a: 1, c: 3, b: 2 });
    both({ a: 1, b: 2 });
    both({ a: 1, b: 2, c: 3, d: 4 });
    both({ a: 1, b: 2, d: 4 });
    both({ a: 1 });
    both({ x: 0, a: 1, b: 2, c: 3 });
  }
});

test('an object that changes its hidden class between uses', () => {
  const value = { a: 1, b: 2, c: 3 };
  const step = (change) => {
    change();
    for (let i = 0; i < 30; i++) both(value);
  };
  step(() => {});
  step(() => delete value.b);
  step(() => (value.b = 'back'));
  step(() => (value.a = 1.5));
  step(() => (value.a = { deep: true }));
  step(() => delete value.a);
  step(() => delete value.c);
  step(() => (value[7] = 'index'));
  step(() => (value.z = [1]));
  step(() => delete value[7]);
  step(() => delete value.b);
  step(() => delete value.z);
  Object.freeze(value);
  step(() => {});
});

test('data property turned accessor and back, enumerable and not', () => {
  const value = { a: 1, b: 2, c: 3 };
  for (let i = 0; i < 60; i++) packs(value, '83a16101a16202a16303');
  Object.defineProperty(value, 'b', { get: () => 9, configurable: true, enumerable: true });
  for (let i = 0; i < 10; i++) packs(value, '83a16101a16209a16303');
  Object.defineProperty(value, 'b', { enumerable: false, configurable: true });
  for (let i = 0; i < 10; i++) packs(value, '82a16101a16303');
  Object.defineProperty(value, 'b', { value: 5, enumerable: true });
  for (let i = 0; i < 10; i++) packs(value, '83a16101a16205a16303');
});

test('an object with a hidden property in the middle of a learnt shape', () => {
  for (let i = 0; i < 60; i++) {
    packs({ a: 1, b: 2, c: 3 }, '83a16101a16202a16303');
    const hidden = { a: 1, b: 2, c: 3 };
    Object.defineProperty(hidden, i % 2 ? 'a' : 'c', { enumerable: false });
    packs(hidden, i % 2 ? '82a16202a16303' : '82a16101a16202');
    packs(
      [{ a: 1, b: 2, c: 3 }, hidden, { a: 1, b: 2, c: 3 }],
      `93 83a16101a16202a16303 ${i % 2 ? '82a16202a16303' : '82a16101a16202'} 83a16101a16202a16303`,
    );
  }
});

test('the same keys, inherited instead of own', () => {
  for (let i = 0; i < 60; i++) {
    packs({ a: 1, b: 2 }, '82a16101a16202');
    const half = Object.create({ b: 2 });
    half.a = 1;
    packs(half, '81a16101');
    packs([{ a: 1, b: 2 }, half], '92 82a16101a16202 81a16101');
    const none = Object.create({ a: 1, b: 2 });
    packs([{ a: 1, b: 2 }, none], '92 82a16101a16202 80');
    const over = Object.create({ a: 0, b: 0 });
    over.a = 1;
    over.b = 2;
    packs(over, '82a16101a16202');
  }
});

test('an enumerable property on Object.prototype is never written', () => {
  for (let i = 0; i < 60; i++) packs({ a: 1, b: { c: 2 } }, '82a16101a16281a16302');
  try {
    Object.prototype.polluted = 'p';
    for (let i = 0; i < 60; i++) {
      packs({ a: 1, b: { c: 2 } }, '82a16101a16281a16302');
      packs({ n: 1 }, '81a16e01');
      packs({}, '80');
      packs([{ a: 1 }, { polluted: 1 }, {}], '93 81a16101 81a8706f6c6c7574656401 80');
      packs({ __proto__: null, a: 1 }, '81a16101');
      packs(Object.create({ b: 1 }), '80');
      const decoded = unpack(pack({ x: 1 }));
      assert.deepEqual(Object.keys(decoded), ['x']);
    }
  } finally {
    delete Object.prototype.polluted;
  }
  packs({ a: 1, polluted: 2 }, '82a16101a8706f6c6c7574656402');
});

test('keys learnt as own are not written when only Object.prototype has them', () => {
  const own = { inherits: 1, too: 2 };
  const shapes = [
    {},
    { inherits: 3 },
    { x: 1, inherits: 2 },
    { x: 1 },
    { x: 1, inherits: 2, too: 3 },
  ];
  for (let i = 0; i < 60; i++) for (const value of [own, ...shapes]) check([value, own, value]);
  try {
    Object.prototype.inherits = 'p';
    for (let i = 0; i < 60; i++)
      for (const value of [own, ...shapes]) check([own, value, own, value]);
    Object.prototype.too = 'q';
    for (let i = 0; i < 60; i++)
      for (const value of [own, ...shapes]) check([own, value, own, value]);
  } finally {
    delete Object.prototype.inherits;
    delete Object.prototype.too;
  }
});

test('where shapes take turns, a key that all objects get meanwhile is not written', () => {
  const kinds = [(n) => ({ a: n }), (n) => ({ a: n, b: 2 }), (n) => ({ b: n }), () => ({})];
  const list = Array.from({ length: 400 }, (_, n) => kinds[n % kinds.length](n));
  for (let i = 0; i < 5; i++) pack(list);
  const sudden = {
    get x() {
      Object.prototype.b = 'p';
      return 1;
    },
  };
  let bytes;
  try {
    bytes = pack([...list.slice(0, 100), sudden, ...list]);
  } finally {
    delete Object.prototype.b;
  }
  assert.deepStrictEqual(unpack(bytes), [...list.slice(0, 100), { x: 1 }, ...list]);
});

test('setters and read-only properties on Object.prototype do not take decoded keys', () => {
  try {
    Object.defineProperty(Object.prototype, 'trap', {
      get: () => 'trapped',
      set: () => assert.fail('a setter of Object.prototype was called'),
      configurable: true,
    });
    Object.defineProperty(Object.prototype, 'fixed', {
      value: 1,
      writable: false,
      configurable: true,
    });
    for (let i = 0; i < 100; i++) {
      const value = unpack(Buffer.from('83a47472617001a5666978656402a17803', 'hex'));
      assert.deepEqual(Object.entries(value), [
        ['trap', 1],
        ['fixed', 2],
        ['x', 3],
      ]);
    }
    for (let i = 0; i < 3; i++) {
      const wide = Object.fromEntries(Array.from({ length: 400 }, (_, k) => [`k${k}`, k]));
      const wire = refPack({ ...wide });
      assert.deepEqual(unpack(wire), wide);
    }
  } finally {
    delete Object.prototype.trap;
    delete Object.prototype.fixed;
  }
});

test('toJSON on Object.prototype is an inherited toJSON, while it is there', () => {
  for (let i = 0; i < 60; i++) packs({ a: { b: 1 } }, '81a16181a16201');
  try {
    Object.defineProperty(Object.prototype, 'toJSON', {
      value() {
        return 'json';
      },
      configurable: true,
    });
    packs({ a: { b: 1 } }, 'a46a736f6e');
    packs([{ a: 1 }], '91a46a736f6e');
    packs({ __proto__: null, a: 1 }, '81a16101');
  } finally {
    delete Object.prototype.toJSON;
  }
  packs({ a: { b: 1 } }, '81a16181a16201');
});

test('indexed accessors and values on Array.prototype and Object.prototype do not leak', () => {
  try {
    Object.defineProperty(Object.prototype, '1', {
      value: 'leak',
      configurable: true,
      writable: true,
    });
    for (let i = 0; i < 60; i++) {
      const value = unpack(Buffer.from('92a16101', 'hex'));
      assert.deepEqual(value, ['a', 1]);
      const object = unpack(Buffer.from('82a13101a13202', 'hex'));
      assert.deepEqual(Object.entries(object), [
        ['1', 1],
        ['2', 2],
      ]);
    }
  } finally {
    delete Object.prototype[1];
  }
});

test('1 to 300 keys, each size a few times', () => {
  for (let size = 1; size <= 300; size++) {
    const value = {};
    for (let k = 0; k < size; k++) value[`key${k}`] = k % 3 === 0 ? k : k % 3 === 1 ? `v${k}` : [k];
    for (let i = 0; i < 4; i++) both(value, `${size} keys`);
  }
});

test('65 536 keys, first and second time', () => {
  const value = {};
  for (let k = 0; k < 65536; k++) value[`k${k}`] = k;
  both(value);
  both(value);
});

test('ever-new keys', () => {
  for (let i = 0; i < 20_000; i++) {
    const value = { [`fresh${i}`]: i, [`other${i * 7}`]: 'x' };
    const wire = pack(value);
    sameBytes(wire, refPack(value));
    if (i % 10 === 0) assert.deepStrictEqual(unpack(wire), value);
  }
  stillWorks();
});

test('5 000 different shapes, twice over', () => {
  const shapes = [];
  for (let i = 0; i < 5000; i++) {
    const value = { type: `t${i}` };
    for (let bit = 0; bit < 13; bit++) if (i & (1 << bit)) value[`f${bit}`] = i + bit;
    shapes.push(value);
  }
  for (let round = 0; round < 2; round++) for (const value of shapes) both(value);
  for (let i = 0; i < 60; i++) both(shapes[4999 - i]);
  both(shapes);
});

test('dictionaries: a great many keys, alone and among records', () => {
  const dictionary = {};
  for (let k = 0; k < 3000; k++) dictionary[`user-${k * 7919}`] = { id: k, ok: k % 2 === 0 };
  for (let i = 0; i < 5; i++) {
    both(dictionary);
    both({ head: { id: 1, ok: true }, dictionary, tail: [dictionary] });
    delete dictionary[`user-${i * 7919}`];
    dictionary[`new-${i}`] = { id: 0 };
  }
});

test('a dictionary whose keys are integers', () => {
  const value = {};
  for (let k = 0; k < 500; k++) value[k * 3] = `v${k}`;
  for (let i = 0; i < 10; i++) both(value);
  for (let i = 0; i < 60; i++) {
    both({ 0: 'a', 1: 'b' });
    both({ 1: 'b', x: 1 });
    both({ x: 1, 4294967295: 2 });
  }
});

test('long keys, and keys that share long prefixes', () => {
  const prefix = 'p'.repeat(300);
  for (let i = 0; i < 60; i++) {
    both({ [`${prefix}a`]: 1, [`${prefix}b`]: 2 });
    both({ [`${prefix}a`]: 1, [`${prefix}c`]: 2 });
    both({ [prefix]: 1 });
    both({ abcdefgh: 1, abcdefgi: 2, abcdefg: 3 });
    both({ abcdefgi: 1, abcdefgh: 2, abcdefghi: 3 });
  }
});

test('keys that differ in length by a byte or in the last byte only, decoded', () => {
  for (let size = 1; size <= 40; size++) {
    const base = 'k'.repeat(size);
    for (let i = 0; i < 8; i++) {
      both({ [base]: 1, [`${base}k`]: 2 });
      both({ [`${base.slice(1)}a`]: 1, [`${base.slice(1)}b`]: 2 });
      both({ [`${base.slice(1)}b`]: 1, [`${base.slice(1)}a`]: 2 });
    }
  }
});

test('a record list where the odd one out stands first, in the middle, last', () => {
  const record = (i) => ({ id: i, name: `n${i}`, score: i + 0.5, tags: ['a'], on: true });
  const odd = [
    { id: 1 },
    { name: 'x', id: 2 },
    { id: '1', name: 2, score: 'x', tags: {}, on: null },
    null,
    5,
    'text',
    [],
    { ...record(0), extra: 1 },
    new Map([['id', 1]]),
    { __proto__: null, ...record(1) },
    new Date(0),
  ];
  for (const value of odd) {
    for (const at of [0, 30, 59]) {
      const list = Array.from({ length: 60 }, (_, i) => record(i));
      list[at] = value;
      const wire = check(list);
      assert.equal(unpack(wire).length, 60);
      check(list.map((item) => ({ item })));
    }
  }
});

test('a typed array, a boxed string or an array-like where records were', () => {
  const buffer = Buffer.alloc(5_000_000, 7);
  const others = [
    buffer,
    new Float64Array(100_000),
    new String('x'.repeat(100_000)),
    new Map([[1, 2]]),
  ];
  for (let i = 0; i < 60; i++) check([{ id: i, v: { id: 1 } }]);
  for (const other of others) {
    check([other]);
    check([{ id: 1, v: other }]);
    check([{ id: 1, v: { id: 2 } }, other, { id: 3, v: { id: 4 } }]);
  }
});

test('deeply nested records with a change at the bottom', () => {
  for (let i = 0; i < 200; i++) {
    const bottom = [i, `${i}`, i + 0.5, { z: i }, { y: i, z: i }, [], null][i % 7];
    both({
      a: { b: { c: { d: { e: { f: bottom } } } } },
      list: [{ a: { b: bottom } }, { a: { b: 1 } }],
    });
  }
});

test('recursive shapes', () => {
  for (let i = 0; i < 60; i++) {
    let tree = null;
    for (let d = 0; d < 10 + (i % 20); d++)
      tree = {
        left: tree,
        value: d,
        right: d % 2 ? tree && { left: null, value: 0, right: null } : null,
      };
    both(tree);
    let list = null;
    for (let d = 0; d < 100; d++) list = { next: list };
    both(list);
  }
});

test('decoded objects and arrays are ordinary and independent', () => {
  const wire = pack([
    { a: 1, b: [1, 2] },
    { a: 1, b: [1, 2] },
  ]);
  for (let i = 0; i < 80; i++) {
    const [first, second] = unpack(wire);
    first.a = 'changed';
    first.b.push(3);
    first.c = 1;
    delete second.b;
    assert.equal(Object.getPrototypeOf(first), Object.prototype);
    assert.deepEqual(Object.getOwnPropertyDescriptor(second, 'a'), {
      value: 1,
      writable: true,
      enumerable: true,
      configurable: true,
    });
    assert.deepEqual(unpack(wire), [
      { a: 1, b: [1, 2] },
      { a: 1, b: [1, 2] },
    ]);
  }
});

test('key order of a decoded object is the order on the wire', () => {
  for (let i = 0; i < 80; i++) {
    assert.deepEqual(Object.keys(unpack(Buffer.from('83a16201a16102a16303', 'hex'))), [
      'b',
      'a',
      'c',
    ]);
    assert.deepEqual(Object.keys(unpack(Buffer.from('83a16301a16202a16103', 'hex'))), [
      'c',
      'b',
      'a',
    ]);
    assert.deepEqual(Object.keys(unpack(Buffer.from('83a16201a13102a2303103', 'hex'))), [
      '1',
      'b',
      '01',
    ]);
  }
});

test('random sequences of random shapes', (t) => {
  const next = generator(seedOf(t));
  const keys = [
    'a',
    'b',
    'c',
    'id',
    'name',
    '0',
    '19',
    '__proto__',
    'toString',
    'é',
    'x'.repeat(40),
    '',
  ];
  const make = (depth) => {
    const value = {};
    for (let n = next.below(7); n > 0; n--) {
      const key = next.pick(keys);
      const item =
        depth > 0 && next.below(4) === 0 ? make(depth - 1) : next.pick(KINDS.slice(0, 18));
      Object.defineProperty(value, key, {
        value: item,
        enumerable: true,
        writable: true,
        configurable: true,
      });
      if (next.below(10) === 0) delete value[next.pick(keys)];
    }
    return value;
  };
  for (let i = 0; i < 5000; i++)
    check(next.below(3) ? make(3) : [make(2), make(2), make(1)], `${i}`);
});

test('shapes that take turns at a place: each object by its own keys, whatever else it is', () => {
  const random = generator(20_261_201);
  class Own {
    constructor(n) {
      this.a = n;
    }
  }
  class Getter extends Own {
    toJSON() {
      return { json: this.a };
    }
  }
  const hidden = (n) =>
    Object.defineProperty({ a: n, b: 'hidden' }, 'toJSON', { value: () => [n], enumerable: false });
  const kinds = [
    (n) => ({ a: n, b: 'b' }),
    (n) => ({ a: n, c: [n] }),
    (n) => ({ a: n, b: 'b', c: { d: n } }),
    (n) => ({ b: n }),
    (n) => ({ a: undefined, b: n }),
    (n) => ({ a: () => n, c: n }),
    (n) => ({ [n % 3]: n, a: n }),
    (n) => Object.assign(Object.create(null), { a: n, b: 'b' }),
    (n) => Object.assign(Object.create({ inherited: 1 }), { a: n, b: 'b' }),
    (n) => new Own(n),
    (n) => new Getter(n),
    hidden,
    (n) => [n],
    (n) => `text ${n}`,
    () => ({}),
    (n) => Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`k${i}`, n])),
    (n) => ({ a: n, b: 'b', ['x'.repeat(300)]: 1 }),
  ];
  const many = (n) => ({ [`key ${n % 700}`]: n });
  for (const some of [kinds.slice(0, 2), kinds.slice(0, 5), kinds, [...kinds, many]]) {
    const list = Array.from({ length: 3000 }, (_, n) => some[random.below(some.length)](n));
    for (const packr of [{ pack, unpack }, new Packr({})]) {
      assert.equal(JSON.stringify(packr.unpack(packr.pack(list))), JSON.stringify(list));
      // The place of what is packed by itself.
      for (const one of list) {
        assert.equal(JSON.stringify(packr.unpack(packr.pack(one))), JSON.stringify(one));
      }
    }
    // A long run of one shape ends it, and it begins again.
    const runs = some.slice(0, 5).flatMap((make) => Array.from({ length: 200 }, (_, n) => make(n)));
    assert.equal(
      JSON.stringify(unpack(pack([...runs, ...list]))),
      JSON.stringify([...runs, ...list]),
    );
  }
});
