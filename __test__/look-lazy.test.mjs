// lazy: a view is read, iterated, spread, printed, compared and packed like the value, and keeps what
// it has read.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { format, inspect, isDeepStrictEqual } from 'node:util';
import vm from 'node:vm';
import { Ext, lazy, pack, Timestamp, unpack } from '../index.js';
import { bytes, hex, runsOf, seedOf, stillWorks, throwsCode } from './helpers.mjs';
import { outcome } from './look-differences.mjs';
import { OPTION_SETS, wireOf } from './look-helpers.mjs';

const VALUE = {
  id: 7,
  users: [{ name: 'Ann', tags: ['a', 'b'] }, { name: 'Zoë 漢字 😀', tags: [] }, null],
  numbers: [1, 2, 3, 4.5],
  points: [
    [1.5, 2.5],
    [3.5, 4.5],
  ],
  19: { deep: { deeper: [1, { x: {} }] } },
  on: true,
  none: null,
  at: new Date(7000),
  raw: Buffer.from([1, 2, 3]),
  ext: new Ext(5, Buffer.from([9, 9])),
  big: 2n ** 60n,
  text: 'x'.repeat(100),
};
const WIRE = pack(VALUE);

test('reads like the value, in any order', () => {
  const view = lazy(WIRE);
  assert.equal(view.users[1].name, 'Zoë 漢字 😀');
  assert.equal(view.id, 7);
  assert.equal(view[19].deep.deeper[1].x.toString(), '[object Object]');
  assert.equal(view.users.length, 3);
  assert.equal(view.users[3], undefined);
  assert.equal(view.users[-1], undefined);
  assert.equal(view.users['01'], undefined);
  assert.equal(view.no, undefined);
  assert.equal(view.users[2], null);
  assert.deepStrictEqual(view.at, new Date(7000));
  assert.deepStrictEqual(view.raw, Buffer.from([1, 2, 3]));
  assert.equal(view.raw.buffer, WIRE.buffer);
  assert.deepStrictEqual(view.ext, VALUE.ext);
  assert.equal(view.big, 2n ** 60n);
});

test('a child is one object, and what was read stays', () => {
  const view = lazy(WIRE);
  assert.equal(view.users, view.users);
  assert.equal(view.users[0], view.users[0]);
  assert.equal(view.users[0].tags, [...view.users][0].tags);
  assert.equal(view.at, view.at);
  assert.equal(view.raw, Object.values(view)[Object.keys(view).indexOf('raw')]);
  // The input may change once all was read.
  const input = Buffer.from(pack({ a: ['x'.repeat(50), [1]], b: 2 }));
  const small = lazy(input);
  const before = JSON.stringify(small);
  input.fill(0xc1);
  assert.equal(JSON.stringify(small), before);
});

test('scalars are themselves', () => {
  for (const value of [null, true, 0, -1.5, 'text', 2n ** 60n, new Date(5), Buffer.from([1])]) {
    assert.deepStrictEqual(lazy(pack(value)), value);
  }
  assert.deepStrictEqual(lazy(pack([])), unpack(pack([])));
  assert.deepStrictEqual(lazy(pack({})), unpack(pack({})));
});

test('keys, entries, in, for…in, for…of, destructuring, spread', () => {
  const view = lazy(WIRE);
  assert.deepStrictEqual(Object.keys(view), Object.keys(VALUE));
  assert.deepStrictEqual(Reflect.ownKeys(view), Reflect.ownKeys(VALUE));
  assert.deepStrictEqual(Reflect.ownKeys(view.users), ['0', '1', '2', 'length']);
  assert.deepStrictEqual(Object.entries(view.users[0]), Object.entries(VALUE.users[0]));
  assert.ok('id' in view && !('no' in view) && 'toString' in view);
  assert.ok(0 in view.users && !(3 in view.users) && 'length' in view.users);
  assert.ok(Object.hasOwn(view, 'users') && !Object.hasOwn(view, 'toString'));
  const names = [];
  for (const name in view) names.push(name);
  assert.deepStrictEqual(names, Object.keys(VALUE));
  const seen = [];
  for (const user of view.users) seen.push(user?.name);
  assert.deepStrictEqual(seen, ['Ann', 'Zoë 漢字 😀', undefined]);
  const {
    id,
    users: [first, ...rest],
    ...others
  } = view;
  assert.equal(id, 7);
  assert.equal(first.name, 'Ann');
  assert.equal(rest.length, 2);
  assert.equal(others.on, true);
  assert.deepStrictEqual({ ...view }, VALUE);
  assert.deepStrictEqual([...view.users], VALUE.users);
  assert.deepStrictEqual(Object.getOwnPropertyDescriptor(view, 'id'), {
    value: 7,
    writable: true,
    enumerable: true,
    configurable: true,
  });
});

test('arrays are arrays: all methods that do not write', () => {
  const view = lazy(WIRE);
  assert.ok(Array.isArray(view.users) && !Array.isArray(view));
  assert.ok(
    Array.prototype.isPrototypeOf.call(Array.prototype, view.users) && view instanceof Object,
  );
  assert.equal(Object.getPrototypeOf(view.users), Array.prototype);
  assert.equal(Object.getPrototypeOf(view), Object.prototype);
  assert.equal(view.constructor, Object);
  assert.deepStrictEqual(
    view.users.map((user) => user?.name),
    ['Ann', 'Zoë 漢字 😀', undefined],
  );
  assert.deepStrictEqual(view.numbers.slice(1, 3), [2, 3]);
  assert.deepStrictEqual(view.numbers.concat(view.points[0], [9]), [1, 2, 3, 4.5, 1.5, 2.5, 9]);
  assert.deepStrictEqual([0].concat(view.numbers), [0, 1, 2, 3, 4.5]);
  assert.equal(view.users.at(-2).name, 'Zoë 漢字 😀');
  assert.ok(view.numbers.includes(4.5) && view.users.includes(null));
  assert.equal(view.users.indexOf(view.users[1]), 1);
  assert.equal(
    view.users.findIndex((user) => user?.name === undefined),
    2,
  );
  assert.equal(view.numbers.join('-'), '1-2-3-4.5');
  assert.equal(String(view.numbers), '1,2,3,4.5');
  assert.equal(
    view.numbers.reduce((sum, n) => sum + n),
    10.5,
  );
  assert.deepStrictEqual(view.points.flat(), [1.5, 2.5, 3.5, 4.5]);
  assert.deepStrictEqual(Array.from(view.users.keys()), [0, 1, 2]);
  assert.deepStrictEqual(
    view.numbers.toSorted((a, b) => b - a),
    [4.5, 3, 2, 1],
  );
  assert.equal(Object.prototype.toString.call(view.users), '[object Array]');
  assert.equal(Math.max(...view.numbers), 4.5);
});

test('prints, formats, compares, packs and stringifies like the value', () => {
  const value = unpack(WIRE);
  const same = [
    (x) => inspect(x),
    (x) => inspect(x, { depth: 0 }),
    (x) => inspect(x, { depth: 1 }),
    (x) => inspect(x, { depth: Infinity, compact: false }),
    (x) => inspect(x, { colors: true, sorted: true }),
    (x) => inspect([x, { x }], { depth: 3 }),
    (x) => format('%j %s %O', x.users, x.numbers, x),
    (x) => JSON.stringify({ ...x, big: 0 }),
    (x) => JSON.stringify(x.users, null, 2),
    (x) => hex(pack(x)),
    (x) => hex(pack([x.users, x])),
  ];
  for (const show of same) assert.equal(show(lazy(WIRE)), show(value), String(show));
  assert.deepStrictEqual(lazy(WIRE), value);
  assert.deepStrictEqual(value, lazy(WIRE));
  assert.deepEqual(lazy(WIRE), value);
  assert.ok(isDeepStrictEqual(lazy(WIRE), lazy(WIRE)));
  assert.notDeepStrictEqual(lazy(WIRE), { ...value, id: 8 });
  assert.throws(() => assert.deepStrictEqual(lazy(WIRE), { ...value, id: 8 }));
});

test('printing unpacks what it prints', () => {
  const list = Array.from({ length: 500 }, (_, i) => ({ name: 'x'.repeat(40), i }));
  const input = pack({ list });
  assert.equal(inspect(lazy(input)), inspect({ list }));
  assert.equal(
    inspect(lazy(input), { maxArrayLength: 3 }),
    inspect({ list }, { maxArrayLength: 3 }),
  );
  assert.equal(
    inspect(lazy(input), { maxArrayLength: null }),
    inspect({ list }, { maxArrayLength: null }),
  );
  assert.equal(
    inspect(lazy(pack([[], {}, [[]], [{}]])), { depth: 0 }),
    '[ [], {}, [Array], [Array] ]',
  );
});

test('equal keys: the last wins, as in unpack; __proto__ and inherited names are properties', () => {
  const equal = bytes('84 a16101 a162 9102 a161 9103 a163 a0');
  assert.deepStrictEqual(unpack(equal), { a: [3], b: [2], c: '' });
  assert.deepStrictEqual(lazy(equal), unpack(equal));
  assert.deepStrictEqual(lazy(equal).a, [3]);
  const proto = bytes('83 a95f5f70726f746f5f5f 81a17801 a8746f537472696e67 02 a6 6c656e677468 90');
  const view = lazy(proto);
  assert.deepStrictEqual(Object.keys(view), ['__proto__', 'toString', 'length']);
  assert.equal(view.x, undefined);
  const inner = Reflect.get(view, '__proto__');
  assert.equal(inner.x, 1);
  assert.equal(view.toString, 2);
  assert.deepStrictEqual({ ...inner }, { x: 1 });
  assert.equal(Object.getPrototypeOf(view), Object.prototype);
  assert.equal(JSON.stringify(view), JSON.stringify(unpack(proto)));
  assert.equal(Reflect.get(lazy(bytes('81a16101')), '__proto__'), Object.prototype);
  // The same, with nothing in it that has a length of its own.
  assert.deepStrictEqual(Object.keys(lazy(bytes('82 a95f5f70726f746f5f5f 01 a161 02'))), [
    '__proto__',
    'a',
  ]);
});

test('keys that are numbers, and keys of every length', () => {
  const wire = bytes('84 ffa161 0591c0 cb3ff800000000000001 a0 90');
  assert.deepStrictEqual(lazy(wire), unpack(wire));
  assert.equal(lazy(wire)[-1], 'a');
  assert.equal(lazy(wire)['1.5'], 1);
  const long = { ['k'.repeat(40)]: [1], ['é'.repeat(200)]: { a: [] }, ['x'.repeat(70_000)]: 'y' };
  assert.deepStrictEqual(lazy(pack(long)), long);
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, [i]]));
  assert.deepStrictEqual(lazy(pack(many)), many);
});

test('a view cannot be written to', () => {
  const view = lazy(WIRE);
  const writes = [
    () => {
      view.id = 8;
    },
    () => {
      view.more = 8;
    },
    () => {
      view.users[0] = 1;
    },
    () => {
      view.users.length = 0;
    },
    () => delete view.id,
    () => Object.defineProperty(view, 'id', { value: 8 }),
    () => Object.freeze(view),
    () => Object.seal(view.users),
    () => Object.preventExtensions(view),
    () => Object.setPrototypeOf(view, null),
    () => Object.assign(view, { id: 8 }),
    () => view.users.push(1),
    () => view.users.pop(),
    () => view.users.sort(),
    () => view.users.fill(0),
    () => view.numbers.reverse(),
  ];
  for (const write of writes) {
    assert.throws(write, { name: 'TypeError', message: /read-only/ }, String(write));
  }
  // Not even in sloppy mode.
  assert.throws(() => vm.runInThisContext('(view) => { view.id = 8; }')(view), TypeError);
  assert.deepStrictEqual(view, unpack(WIRE));
});

test('structuredClone takes no views, by a rule of the language', () => {
  assert.throws(() => structuredClone(lazy(WIRE)), { name: 'DataCloneError' });
});

test('options act on every level; Maps are unpacked whole', () => {
  const value = {
    at: new Date(1500),
    n: [2n ** 60n, ['x'.repeat(40)]],
    b: [Buffer.from([1]), 'x'.repeat(40)],
  };
  const wire = pack(value);
  const view = lazy(wire, { timestamps: 'timestamp', int64: 'string', copyBuffers: true });
  assert.deepStrictEqual(view.at, new Timestamp(1n, 5e8));
  assert.equal(view.n[0], String(2n ** 60n));
  assert.notEqual(view.b[0].buffer, wire.buffer);
  const maps = lazy(pack([value, 'x'.repeat(40)]), { maps: 'map' });
  const [first] = maps;
  assert.ok(Array.isArray(maps) && first instanceof Map && maps[0] === first);
  assert.deepStrictEqual(maps[0], unpack(wire, { maps: 'map' }));
  assert.deepStrictEqual(lazy(wire, { maps: 'map' }), unpack(wire, { maps: 'map' }));
  for (const options of OPTION_SETS) {
    const whole = outcome(() => unpack(wire, options));
    if (whole.code === undefined) assert.deepStrictEqual(lazy(wire, options), whole.value);
    else
      assert.deepStrictEqual(
        outcome(() => lazy(wire, options)),
        whole,
      );
  }
});

test('what does not unpack throws when the view is made', () => {
  throwsCode(() => lazy(bytes('9201c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 2 });
  throwsCode(() => lazy(bytes('81c001')), 'ERR_MSGPACK_KEY', { offset: 1 });
  throwsCode(() => lazy(bytes('9101 02')), 'ERR_MSGPACK_EXTRA_BYTES', { offset: 2 });
  throwsCode(
    () => lazy(bytes('9191'), { maxDepth: 1 }),
    ['ERR_MSGPACK_DEPTH', 'ERR_MSGPACK_TRUNCATED'],
  );
  throwsCode(() => lazy(bytes('')), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  throwsCode(() => lazy('text'), 'ERR_MSGPACK_INVALID_INPUT');
  stillWorks();
});

test('an input that changes meanwhile: an error of ours or another value, never a crash', (t) => {
  const { next } = wireOf(seedOf(t));
  for (let run = 0; run < runsOf(500); run++) {
    const input = Buffer.from(WIRE);
    const view = lazy(input);
    if (next.below(2) > 0) void view.users[0];
    for (let i = 0; i < 20; i++) input[next.below(input.length)] = next.below(256);
    for (const read of [
      () => view.users?.[1]?.name,
      () => view.users?.[0]?.tags?.[1],
      () => inspect(view),
      () => ({ ...view }),
      () => view[19]?.deep?.deeper,
    ]) {
      outcome(read);
    }
  }
  const detached = new Uint8Array(WIRE);
  const view = lazy(detached);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  throwsCode(() => view.users, ['ERR_MSGPACK_INVALID_INPUT', 'ERR_MSGPACK_TRUNCATED']);
  stillWorks();
});

test('deep: 5000 levels, one by one', () => {
  const depth = 5000;
  const wire = Buffer.concat([...Array(depth).fill(bytes('81a161')), bytes('07')]);
  let view = lazy(wire, { maxDepth: Infinity });
  for (let i = 0; i < depth; i++) view = view.a;
  assert.equal(view, 7);
});

test('properties: views of random messages are deeply equal to what unpack makes', (t) => {
  const { next, value } = wireOf(seedOf(t));
  for (let run = 0; run < runsOf(3000); run++) {
    const options = next.pick(OPTION_SETS);
    const wire = value();
    const whole = outcome(() => unpack(wire, options));
    const view = outcome(() => lazy(wire, options));
    const label = `${JSON.stringify(options)} ${hex(wire)}`;
    if (whole.code !== undefined) {
      assert.deepStrictEqual(view, whole, label);
      continue;
    }
    assert.equal(inspect(view.value, { depth: 9 }), inspect(whole.value, { depth: 9 }), label);
    assert.deepStrictEqual(view.value, whole.value, label);
    assert.deepStrictEqual(whole.value, lazy(wire, options), label);
  }
});

test('shared memory is copied, and a view holds what it is over', () => {
  const shared = new SharedArrayBuffer(WIRE.length);
  new Uint8Array(shared).set(WIRE);
  const view = lazy(shared);
  new Uint8Array(shared).fill(0xc1);
  assert.deepStrictEqual(view, unpack(WIRE));
});

test('extensions: instances, once each', () => {
  const source = `
    import assert from 'node:assert/strict';
    import { addExtension, lazy, pack, unpack } from './index.js';
    class Point { constructor(x) { this.x = x; } }
    class Wrap { constructor(inner) { this.inner = inner; } }
    let reads = 0;
    addExtension({ Class: Point, type: 5, pack: (p) => Buffer.from([p.x]), unpack: (b) => { reads++; return new Point(b[0]); } });
    addExtension({ Class: Wrap, type: 9, write: (w) => w.inner, read: (inner) => new Wrap(inner) });
    const value = { p: new Point(1), list: [new Wrap({ a: [1] }), 'x'.repeat(50), { w: new Wrap(1) }] };
    const view = lazy(pack(value));
    assert.equal(reads, 0);
    assert.equal(view.p, view.p);
    assert.equal(reads, 1);
    assert.deepStrictEqual(view, value);
    assert.equal(view.list[0], view.list[0]);
    // A view that an extension reads while another message is unpacked.
    addExtension({ type: 7, unpack: () => lazy(pack(value)).list[2].w.inner });
    assert.deepStrictEqual(unpack(Buffer.from('92d40700d40700', 'hex')), [1, 1]);
    console.log('right');`;
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const args = ['--input-type=module', '-e', source];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd });
  assert.equal(`${stdout}${stderr}`, 'right\n');
});
