// structuredClone: one object stays one, and a cycle is a cycle, in the form of msgpackr.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as peer from 'msgpackr';
import msgpack from '../index.js';
import {
  bytes,
  checkError,
  generator,
  hex,
  nestArrays,
  runsOf,
  sameBytes,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import { everyPrefix, PACKR_CODES, sameGraph, settle, writes } from './packr-helpers.mjs';

const { Packr } = msgpack;
const CODE = 'ERR_MSGPACK_REFERENCE';

const make = (options) => new Packr({ structuredClone: true, ...options });
const theirs = (options) => new peer.Packr({ structuredClone: true, ...options });

/** Exact bytes, and the same graph back. */
function graph(value, expected, options) {
  writes(make(options), value, expected);
  sameGraph(make(options).unpack(bytes(expected)), value);
}

/** And so does msgpackr, which can read it too. */
function agree(value, expected) {
  graph(value, expected);
  sameBytes(Buffer.from(theirs().pack(value)), bytes(expected), 'msgpackr');
  sameGraph(theirs().unpack(bytes(expected)), value);
}

const one = 'd66900000001';
const again = 'd67000000001';

test('one object in two places', () => {
  const o = { a: 1 };
  agree([o, o], `92 ${one} d4724091a16101 ${again}`);
  agree([o, o, o], `93 ${one} d4724091a16101 ${again} ${again}`);
  agree({ x: o, y: o }, `d4724092a178a179 ${one} d4724191a16101 ${again}`);
  const list = [1];
  agree([list, [list]], `92 ${one} 9101 91${again}`);
  agree([[], []], '929090');
  agree([{ a: 1 }, { a: 1 }], '92d4724091a161014001');
  const empty = [];
  agree([empty, empty], `92 ${one}90 ${again}`);
});

test('ids count the second encounters', () => {
  const [a, b, c] = [[], [], []];
  agree([a, b, b, a], '94 d6690000000290 d6690000000190 d67000000001 d67000000002');
  agree(
    [a, b, c, c, a, b, c],
    '97 d6690000000290 d6690000000390 d6690000000190 d67000000001 d67000000002 d67000000003 d67000000001',
  );
});

test('a reference counts for nothing in the next message', () => {
  const o = { a: 1 };
  const packr = make();
  for (let i = 0; i < 200; i++) {
    writes(packr, o, 'd4724091a16101');
    writes(packr, [o, o], `92 ${one} d4724091a16101 ${again}`);
    const [x, y] = packr.unpack(bytes(`92 ${one} d4724091a16101 ${again}`));
    assert.equal(x, y);
    throwsCode(() => packr.unpack(bytes(again)), CODE, { offset: 0 });
  }
});

test('cycles: array, object, Map, Set', () => {
  const list = [];
  list.push(list);
  agree(list, `${one} 91 ${again}`);
  const object = {};
  object.self = object;
  agree(object, `${one} d4724091a473656c66 ${again}`);
  const map = new Map();
  map.set('self', map);
  agree(map, `${one} 81a473656c66 ${again}`);
  const key = new Map();
  key.set(key, 1);
  agree(key, `${one} 81 ${again} 01`);
  const set = new Set();
  set.add(set);
  agree(set, `${one} d4730091 ${again}`);
  const x = {};
  const y = { x };
  x.y = y;
  agree(x, `${one} d4724091a179 d4724191a178 ${again}`);
  agree([x, y], `92 ${one} d4724091a179 d66900000002 d4724191a178 ${again} d67000000002`);
});

test('cycles: in every place of every container', () => {
  const self = [0];
  self.push({ in: self }, new Map([[self, self]]), new Set([self]), [[self]]);
  graph(
    self,
    `${one} 95 00 d4724091a2696e${again} 81${again}${again} d4730091${again} 9191${again}`,
  );
  const map = new Map();
  map.set(map, [map]).set([map], new Set([map, 1]));
  graph(map, `${one} 82 ${again} 91${again} 91${again} d4730092${again}01`);
  const set = new Set();
  set
    .add([set])
    .add({ s: set })
    .add(new Map([[set, set]]));
  graph(set, `${one} d4730093 91${again} d4724091a173${again} 81${again}${again}`);
});

test('Date, Buffer, typed arrays, ArrayBuffer, DataView, RegExp, Error', () => {
  for (const [value, expected] of [
    [new Date(1000), 'd6ff00000001'],
    [Buffer.from([1]), 'c40101'],
    [Uint16Array.of(1), 'c703740401 00'],
    [new ArrayBuffer(1), 'c702741000'],
    [new DataView(new ArrayBuffer(1)), 'c702741100'],
    [/a/g, 'd4780092a161a167'],
    [new Error('e'), 'd4650093a54572726f72a165d40000'],
    [new Set([1]), 'd473009101'],
    [new Map([[1, 2]]), '810102'],
  ]) {
    agree([value, value], `92 ${one} ${expected} ${again}`);
    agree(new Map([[value, value]]), `81 ${one} ${expected} ${again}`);
    agree({ a: value, b: [value] }, `d4724092a161a162 ${one} ${expected} 91${again}`);
    // Equal is not the same.
    writes(make(), [value, make().unpack(bytes(expected))], `92 ${expected} ${expected}`);
  }
});

test('what has no identity is written again', () => {
  const text = 'abcdefgh'.repeat(20);
  const wire = make().pack([text, text, 2n ** 64n, 2n ** 64n, undefined, undefined, 0.5, 0.5]);
  assert.ok(!hex(wire).includes('d669') && !hex(wire).includes('d670'));
  writes(
    make(),
    [2n ** 64n, 2n ** 64n],
    '92 d84200000000000000010000000000000000 d84200000000000000010000000000000000',
  );
  const symbolic = [true, true, null, null];
  writes(make(), symbolic, '94c3c3c0c0');
});

test('an Error whose cause is itself, or contains it', () => {
  const self = new Error('e');
  self.cause = self;
  writes(make(), self, `${one} d4650093a54572726f72a165${again}`);
  const back = make().unpack(bytes(`${one} d4650093a54572726f72a165${again}`));
  assert.ok(back instanceof Error);
  assert.equal(back.message, 'e');
  assert.equal(back.cause, back);
  const a = new TypeError('a');
  const b = new RangeError('b', { cause: { list: [a] } });
  a.cause = b;
  sameGraph(make().unpack(make().pack([a, b])), [a, b]);
  const all = new AggregateError([], 'all');
  all.errors.push(all, new Error('x', { cause: all }));
  sameGraph(make().unpack(make().pack(all)), all);
});

test('Maps and Sets that contain themselves keep their order', () => {
  const map = new Map([['first', 1]]);
  map.set(map, 2).set('last', map);
  const back = make().unpack(make().pack(map));
  assert.deepEqual(
    [...back.keys()].map((k) => (k === back ? 'self' : k)),
    ['first', 'self', 'last'],
  );
  assert.equal(back.get('last'), back);
  const set = new Set([1]);
  set.add(set).add(2);
  const again2 = make().unpack(make().pack(set));
  assert.deepEqual(
    [...again2].map((k) => (k === again2 ? 'self' : k)),
    [1, 'self', 2],
  );
});

test('class instances, toJSON and boxed values', () => {
  class Thing {
    constructor() {
      this.v = 1;
    }
  }
  const thing = new Thing();
  writes(make(), [thing, thing], `92 ${one} d4724091a17601 ${again}`);
  const json = { toJSON: () => ({ z: 1 }) };
  const [a, b] = make().unpack(make().pack([json, json]));
  assert.deepStrictEqual([a, b], [{ z: 1 }, { z: 1 }]);
  const shared = { s: 1 };
  const giving = { toJSON: () => shared };
  const [c, d] = make().unpack(make().pack([giving, shared]));
  assert.deepStrictEqual([c, d], [{ s: 1 }, { s: 1 }]);
  const bare = Object.assign(Object.create(null), { a: 1 });
  writes(make(), [bare, bare], `92 ${one} d4724091a16101 ${again}`);
  const boxed = Object(5);
  assert.deepStrictEqual(make().unpack(make().pack([boxed, boxed])), [5, 5]);
});

test('a cycle through toJSON or a getter comes to an end', () => {
  const value = {
    toJSON() {
      return { again: value };
    },
  };
  const { error } = settle(() => make().pack(value));
  if (error) checkError(error, ['ERR_MSGPACK_DEPTH']);
  const fresh = {
    get next() {
      return { ...Object.getOwnPropertyDescriptors({}), __proto__: null, fresh: [fresh] };
    },
  };
  sameGraph(make().unpack(make().pack([fresh]))[0].next.fresh.length, 1);
  stillWorks();
});

test('records: a definition before, after and around a reference', () => {
  const n = {};
  agree(
    { x: { n }, y: { n }, n },
    `d4724093a178a179a16e d4724191a16e ${one} d4724290 41${again} ${again}`,
  );
  const row = { id: 1 };
  row.next = row;
  agree(
    [row, { id: 2, next: row }],
    `92 ${one} d4724092a26964a46e657874 01 ${again} 40 02 ${again}`,
  );
  const list = [];
  const holder = { list, same: list };
  list.push(holder, { list, same: 1 });
  agree(
    holder,
    `${one} d4724092a46c697374a473616d65 d66900000002 92 ${again} 40 d67000000002 01 d67000000002`,
  );
});

test('objects as maps: cycles with useRecords false', () => {
  const options = { useRecords: false };
  const o = { a: 1 };
  graph([o, o], `92 ${one} 81a16101 ${again}`, options);
  const self = {};
  self.self = self;
  graph(self, `${one} 81a473656c66 ${again}`, options);
  const x = { y: { list: [] } };
  x.y.list.push(x, x.y, new Set([x]));
  sameGraph(make(options).unpack(make(options).pack(x)), x);
  // A cyclic object as map 16, which is how msgpackr writes it and cannot read it.
  sameGraph(make(options).unpack(bytes(`${one} de0001a473656c66 ${again}`)), self);
  // Without the option for objects it is a Map.
  const map = new Map();
  map.set('self', map);
  sameGraph(make().unpack(bytes(`${one} de0001a473656c66 ${again}`)), map);
});

test('shared structures and references together', () => {
  const structures = [];
  const packr = make({ structures });
  const row = { id: 1, next: null };
  row.next = row;
  writes(packr, [row, row], `92 ${one} 40 01 ${again} ${again}`);
  assert.deepEqual(
    structures.map((names) => [...names]),
    [['id', 'next']],
  );
  sameGraph(
    make({ structures: [['id', 'next']] }).unpack(bytes(`92 ${one} 40 01 ${again} ${again}`)),
    [row, row],
  );
});

test('without the option every occurrence is a value, and a cycle is an error', () => {
  const o = { a: 1 };
  writes(make({ structuredClone: false, moreTypes: true }), [o, o], '92d4724091a161014001');
  const cycle = [];
  cycle.push(cycle);
  throwsCode(() => new Packr({ moreTypes: true }).pack(cycle), 'ERR_MSGPACK_DEPTH');
});

test('large ids, and ids in any order', () => {
  for (const [wire, check] of [
    ['92 d669ffffffff 90 d670ffffffff', ([a, b]) => a === b],
    ['92 d66900000000 90 d67000000000', ([a, b]) => a === b],
    [
      '94 d66900000007 90 d66980000000 9101 d67080000000 d67000000007',
      ([a, b, c, d]) => a === d && b === c,
    ],
    ['92 d66900000001 9101 d67000000001', ([a, b]) => a === b && a[0] === 1],
  ]) {
    assert.ok(check(make().unpack(bytes(wire))), wire);
  }
});

test('an id may be given to anything', () => {
  for (const [wire, value] of [
    ['01', 1],
    ['c0', null],
    ['a161', 'a'],
    ['cb3fe0000000000000', 0.5],
    ['c40101', Buffer.from([1])],
    ['d40000', undefined],
    ['d842 0000000000000001 0000000000000000', 2n ** 64n],
  ]) {
    assert.deepStrictEqual(
      make().unpack(bytes(`92 ${one} ${wire} ${again}`)),
      [value, value],
      wire,
    );
  }
});

test('an id that is given twice: the later one, or an error', () => {
  const { value, error } = settle(() =>
    make().unpack(bytes('94 d66900000001 9101 d67000000001 d66900000001 9102 d67000000001')),
  );
  if (error) checkError(error, [CODE]);
  else assert.deepStrictEqual(value, [[1], [1], [2], [2]]);
});

test('a pointer to an id that there is not', () => {
  for (const [wire, offset] of [
    [again, 0],
    [`91${again}`, 1],
    [`92 01 ${again}`, 2],
    [`92 ${one} 90 d67000000002`, 8],
    [`92 ${again} ${one} 90`, 1],
    ['d4724091a161 d67000000001', 6],
    [`81 01 ${again}`, 2],
    [`d4730091 ${again}`, 4],
    [`91^350 ${again}`, 350],
    [`dc0190 00^399 ${again}`, 402],
  ]) {
    const packr = make();
    for (let i = 0; i < 5; i++) throwsCode(() => packr.unpack(bytes(wire)), CODE, { offset });
    throwsCode(() => packr.unpackFrom(bytes(`c1c1 ${wire}`), 2), CODE, { offset: offset + 2 });
    assert.deepStrictEqual(packr.unpack(bytes('9101')), [1]);
  }
  // Each of several messages has its own.
  throwsCode(() => make().unpackMultiple(bytes(`${one} 90 ${again}`)), CODE, { offset: 7 });
  stillWorks();
});

test('an id or a pointer of another form', () => {
  for (const type of ['69', '70']) {
    for (const wire of [
      `d4${type}01`,
      `d5${type}0001`,
      `c700${type}`,
      `c703${type}000001`,
      `d7${type} 00^8`,
      `c705${type} 00^5`,
      `d8${type} 00^16`,
    ]) {
      const { error } = settle(() => make().unpack(bytes(`92 ${wire} 90`)));
      checkError(error, [CODE]);
      assert.equal(error.offset, 1);
    }
  }
  // The wider headers of the right length say the same.
  for (const head of ['c704', 'c80004', 'c900000004']) {
    const { value, error } = settle(() =>
      make().unpack(bytes(`92 ${head}6900000001 90 ${head}7000000001`)),
    );
    if (error) checkError(error, [CODE]);
    else assert.equal(value[0], value[1]);
  }
  stillWorks();
});

test('an id of an id, a pointer to what is being read, as a key and in a definition', () => {
  for (const wire of [
    `${one} ${one} 90`,
    `${one} ${again}`,
    `${one} d66900000002 ${again}`,
    `${one} d473 00 ${again}`,
    `${one} d47300 d66900000002 91${again}`,
    `${one} d46500 ${again}`,
    `${one} d46500 93 ${again} ${again} ${again}`,
    `${one} d47800 92 ${again} ${again}`,
    `${one} d47240 ${again}`,
    `d47240 ${one} 91a161 05`,
    `d47240 91 ${one} a161 05`,
    `${one} d47240 91a161 40 40`,
    `${one} 81 ${again} ${again}`,
    `d47240 91 ${again} 05`,
    `${one}`,
    `91 ${one}`,
  ]) {
    const { error } = settle(() => make().unpack(bytes(wire)));
    if (error) checkError(error, PACKR_CODES);
    settle(() => make({ useRecords: false }).unpack(bytes(wire)));
  }
  throwsCode(() => make().unpack(bytes(one)), 'ERR_MSGPACK_TRUNCATED');
  stillWorks();
});

test('cycles deeper than several hundred levels', () => {
  for (const depth of [50, 99, 100, 101, 299, 300, 301, 400, 998]) {
    const list = [];
    list.push(nestArrays(depth - 1, list));
    graph(list, `${one} 91^${depth} ${again}`);
    const object = {};
    let at = object;
    for (let i = 1; i < depth; i++) at = at.a = {};
    at.a = object;
    graph(object, `${one} d4724091a161 40^${depth - 1} ${again}`);
    let map = new Map();
    const root = map;
    for (let i = 1; i < depth; i++) {
      const next = new Map();
      map.set(1, next);
      map = next;
    }
    map.set(1, root);
    graph(root, `${one} 8101^${depth} ${again}`);
    const set = new Set();
    let inner = set;
    for (let i = 1; i < depth; i++) inner = new Set([inner]);
    set.add(inner);
    graph(set, `${one} d4730091^${depth} ${again}`);
    const mixed = [];
    let level = mixed;
    for (let i = 0; i < depth; i++) {
      const next = [];
      level.push(
        i % 3 === 0
          ? { level, next }
          : i % 3 === 1
            ? new Map([[level, next]])
            : new Set([level, next]),
      );
      level = next;
      if (i > depth / 3) break;
    }
    level.push(mixed);
    sameGraph(make().unpack(make().pack(mixed)), mixed);
  }
  const deep = [];
  deep.push(nestArrays(1000, deep));
  throwsCode(() => make().pack(deep), 'ERR_MSGPACK_DEPTH');
  throwsCode(() => make().unpack(bytes(`${one} 91^1001 ${again}`)), 'ERR_MSGPACK_DEPTH');
  graph(deep, `${one} 91^1001 ${again}`, { maxDepth: 1001 });
  checkError(settle(() => make().unpack(bytes(`${one}^100000 90`))).error, PACKR_CODES);
  checkError(settle(() => make().unpack(bytes(`${one} 91^100000`))).error, PACKR_CODES);
  stillWorks();
});

/** A graph of so many nodes of every kind, each with two edges to any other. */
function randomGraph(next, size, kinds = 7) {
  const nodes = Array.from({ length: size }, (_, i) => {
    switch (next.below(kinds)) {
      case 0:
        return [];
      case 1:
        return new Set();
      case 2:
        return new Date(i);
      case 3:
        return { id: i };
      case 4:
        return { id: i, a: null, b: null };
      case 5:
        return { [`k${i % 90}`]: i };
      default:
        return new Map();
    }
  });
  const edge = (from, to) => {
    if (Array.isArray(from)) from.push(to);
    else if (from instanceof Map) from.set(next.below(2) ? to : from.size, to);
    else if (from instanceof Set) from.add(to);
    else if (!(from instanceof Date)) from[next.pick(['a', 'b', 'c'])] = to;
  };
  for (const node of nodes) {
    edge(node, nodes[next.below(size)]);
    edge(node, nodes[next.below(size)]);
  }
  return nodes;
}

test('random graphs: the same bytes as msgpackr, the same graph back', (t) => {
  const next = generator(seedOf(t));
  const packr = make();
  for (let run = 0; run < runsOf(150); run++) {
    const nodes = randomGraph(next, 1 + next.below(40));
    const wire = packr.pack(nodes);
    sameBytes(wire, Buffer.from(theirs().pack(nodes)), `run ${run}`);
    sameGraph(packr.unpack(wire), nodes);
    const plain = make({ useRecords: false });
    const objects = randomGraph(next, 1 + next.below(40), 6);
    sameGraph(plain.unpack(plain.pack(objects)), objects);
  }
});

test('graphs of ten thousand nodes', (t) => {
  const next = generator(seedOf(t));
  // Every node hangs on the list, so that the depth stays small.
  const nodes = Array.from({ length: 10_000 }, (_, id) => ({ id, links: [], seen: null }));
  for (const node of nodes) {
    node.links.push(nodes[Math.max(0, node.id - 1)], nodes[next.below(node.id + 1)]);
    node.seen = nodes[next.below(node.id + 1)];
  }
  const packr = make();
  const started = process.hrtime.bigint();
  for (let i = 0; i < 3; i++) {
    const wire = packr.pack(nodes);
    sameBytes(wire, Buffer.from(theirs().pack(nodes)));
    sameGraph(packr.unpack(wire), nodes);
  }
  assert.ok(process.hrtime.bigint() - started < 20_000_000_000n);
  const one10k = { shared: true };
  const many = Array(20_000).fill(one10k);
  const wire = packr.pack(many);
  assert.equal(wire.length, 3 + bytes(`${one} d4724091a6736861726564c3`).length + 19_999 * 6);
  const back = packr.unpack(wire);
  assert.ok(back.every((each) => each === back[0]));
  const distinct = Array.from({ length: 20_000 }, () => []);
  sameGraph(packr.unpack(packr.pack([distinct, distinct, distinct.slice().reverse()])), [
    distinct,
    distinct,
    distinct.slice().reverse(),
  ]);
});

test('a linked list of nine hundred nodes, doubly linked, and a tree with parents', () => {
  const nodes = Array.from({ length: 900 }, (_, id) => ({ id, prev: null, next: null }));
  for (let i = 1; i < nodes.length; i++) {
    nodes[i].prev = nodes[i - 1];
    nodes[i - 1].next = nodes[i];
  }
  sameGraph(make().unpack(make().pack(nodes[0])), nodes[0]);
  const tree = (depth, parent) => {
    const node = { depth, parent, children: [] };
    if (depth > 0) for (let i = 0; i < 3; i++) node.children.push(tree(depth - 1, node));
    return node;
  };
  const root = tree(6, null);
  const wire = make().pack(root);
  sameBytes(wire, Buffer.from(theirs().pack(root)));
  sameGraph(make().unpack(wire), root);
  sameGraph(theirs().unpack(wire), root);
});

test('every prefix of a message with references', () => {
  const o = { a: [1] };
  o.self = o;
  const value = { o, list: [o, o.a], map: new Map([[o, o.a]]), set: new Set([o]), d: new Date(5) };
  value.root = value;
  sameGraph(everyPrefix(make, make().pack(value)), value);
});

test('what the reader holds is what it returned: nothing of it is shared between messages', () => {
  const packr = make();
  const wire = bytes(`92 ${one} 9101 ${again}`);
  const first = packr.unpack(wire);
  const second = packr.unpack(wire);
  assert.notEqual(first[0], second[0]);
  first[0].push(2);
  assert.deepStrictEqual(second, [[1], [1]]);
});

test('an object that changes while it is packed', () => {
  const inner = { a: 1 };
  const value = {
    first: inner,
    get middle() {
      inner.a = 2;
      return inner;
    },
    last: inner,
  };
  for (let i = 0; i < 20; i++) {
    inner.a = 1;
    const back = make().unpack(make().pack(value));
    assert.equal(back.first, back.middle);
    assert.equal(back.first, back.last);
  }
  const nested = {
    o: inner,
    get p() {
      return make().pack([inner, inner]);
    },
    q: inner,
  };
  const packr = make();
  const back = packr.unpack(packr.pack(nested));
  assert.equal(back.o, back.q);
  const [x, y] = packr.unpack(back.p);
  assert.equal(x, y);
});

test('a failed message leaves no ids behind', () => {
  const packr = make();
  const o = { a: 1 };
  const boom = new Error('boom');
  for (let i = 0; i < 50; i++) {
    assert.throws(
      () =>
        packr.pack([
          o,
          o,
          {
            get x() {
              throw boom;
            },
          },
        ]),
      boom,
    );
    writes(packr, [o, [o]], `92 ${one} d4724091a16101 91${again}`);
    throwsCode(
      () => packr.unpack(bytes(`93 ${one} 90 d66900000002 90 c1`)),
      'ERR_MSGPACK_INVALID_BYTE',
    );
    throwsCode(() => packr.unpack(bytes('91 d67000000002')), CODE);
  }
});

test('damaged messages: a value or a documented error', (t) => {
  const next = generator(seedOf(t));
  const wires = Array.from({ length: 20 }, () => make().pack(randomGraph(next, 12)));
  for (let run = 0; run < runsOf(4000); run++) {
    const wire = Buffer.from(next.pick(wires));
    for (let n = 1 + next.below(3); n > 0; n--) {
      const at = next.below(wire.length);
      if (next.below(2) === 0) wire[at] = next.below(256);
      else wire[at] = next.pick([0xd6, 0x69, 0x70, 0xd4, 0x73, 0x65, 0x72, 0x91, 0x81, 0x40, 0, 1]);
    }
    settle(() => make().unpack(wire));
    if (run % 100 === 0) stillWorks();
  }
});
