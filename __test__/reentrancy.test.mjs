// The value's own code runs while it is packed: it packs, unpacks, throws, and changes what is walked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode as peerDecode } from '@msgpack/msgpack';
import { Ext, pack, packInto, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, checkError, hex, packs, stillWorks, throwsCode } from './helpers.mjs';

/** Decodes what must be one whole message for this decoder and for another one. */
function decodeWhole(wire) {
  peerDecode(wire);
  return unpack(wire);
}

/** Packs; the result is one whole message. */
function wellFormed(value, options) {
  return decodeWhole(pack(value, options));
}

/** Packs, allowing a MsgpackError; a result is one whole message. Then the next call is right. */
function settles(value) {
  let wire;
  try {
    wire = pack(value);
  } catch (error) {
    checkError(error);
  }
  stillWorks();
  return wire === undefined ? undefined : decodeWhole(wire);
}

const INNER = { id: 1, name: 'inner é', list: [1, 2.5, 'x'], big: 'z'.repeat(2000) };
const INNER_HEX = hex(pack(INNER));

/** Calls of every kind, each checked, for a getter or toJSON to make. */
function callEverything() {
  assert.equal(hex(pack(INNER)), INNER_HEX);
  assert.deepStrictEqual(unpack(pack(INNER)), INNER);
  throwsCode(() => pack({ a: 2n ** 64n }), 'ERR_MSGPACK_OUT_OF_RANGE');
  throwsCode(() => unpack(bytes('92c1')), ['ERR_MSGPACK_INVALID_BYTE', 'ERR_MSGPACK_TRUNCATED']);
  assert.deepStrictEqual(unpackMultiple(bytes('01a161')), [1, 'a']);
  assert.equal(unpackFrom(bytes('a16100')).end, 2);
  const target = Buffer.alloc(4000);
  assert.equal(hex(target.subarray(0, packInto(INNER, target))), INNER_HEX);
}

test('getters, toJSON, proxy traps and iterators that make every kind of call', () => {
  for (let i = 0; i < 60; i++) {
    packs(
      {
        a: 'text',
        get g() {
          callEverything();
          return 7;
        },
        z: [1, 'é'],
      },
      '83 a161a474657874 a16707 a17a9201a2c3a9',
    );
    packs(
      {
        a: 'text',
        t: {
          toJSON() {
            callEverything();
            return { j: 'json' };
          },
        },
        z: 0.5,
      },
      '83 a161a474657874 a17481a16aa46a736f6e a17acb3fe0000000000000',
    );
    const proxy = new Proxy(
      { p: 1, q: 'two' },
      {
        get(target, key) {
          callEverything();
          return target[key];
        },
        ownKeys(target) {
          callEverything();
          return Reflect.ownKeys(target);
        },
      },
    );
    packs(['\ud83d', proxy, '\ude00'], '93 a3efbfbd 82a17001a171a374776f a3efbfbd');
  }
});

test('nested packing, one inside the other, ten deep', () => {
  const make = (depth) => ({
    depth,
    text: `level ${depth} é`,
    get inner() {
      return depth === 0 ? Buffer.from('end') : pack(make(depth - 1));
    },
    after: [depth, depth + 0.5],
  });
  for (let i = 0; i < 20; i++) {
    let value = unpack(pack(make(10)));
    for (let depth = 10; depth >= 0; depth--) {
      assert.equal(value.depth, depth);
      assert.equal(value.text, `level ${depth} é`);
      assert.deepStrictEqual(value.after, [depth, depth + 0.5]);
      if (depth > 0) value = unpack(value.inner);
    }
  }
});

test('options of the inner call are its own, those of the outer hold after it', () => {
  for (let i = 0; i < 60; i++) {
    packs(
      {
        a: 0.5,
        u: undefined,
        get g() {
          return pack({ b: 0.5, u: undefined });
        },
        c: 0.5,
        v: undefined,
      },
      '85 a161ca3f000000 a175c0 a167c40c 81a162cb3fe0000000000000 a163ca3f000000 a176c0',
      { float32: true, undefinedAs: 'nil' },
    );
    const deep = {
      get g() {
        return unpack(pack([[[[[1]]]]])).length;
      },
      x: { y: 1 },
    };
    throwsCode(() => pack(deep, { maxDepth: 1 }), 'ERR_MSGPACK_DEPTH', { path: '$.x' });
    packs(deep, '82 a16701 a17881a17901', { maxDepth: 2 });
  }
});

test('an inner call that throws, caught outside or inside, spoils neither', () => {
  for (let i = 0; i < 60; i++) {
    packs(
      {
        a: 'kept',
        get g() {
          try {
            pack({
              s: 'lost',
              get t() {
                throw new Error('inner');
              },
            });
          } catch {}
          return 1;
        },
        z: 'z',
      },
      '83 a161a46b657074 a16701 a17aa17a',
    );
    assert.throws(
      () =>
        pack({
          a: 'lost',
          get g() {
            return pack({
              get t() {
                throw new TypeError('inner');
              },
            });
          },
        }),
      TypeError,
    );
    stillWorks();
  }
});

test('a getter that packs the very object it belongs to, a few times', () => {
  let depth = 0;
  const value = {
    n: 1,
    get self() {
      if (depth >= 3) return 'stop';
      depth++;
      try {
        return pack(value);
      } finally {
        depth--;
      }
    },
  };
  for (let i = 0; i < 60; i++) {
    let layer = wellFormed(value);
    for (let d = 0; d < 3; d++) layer = unpack(layer.self);
    assert.deepStrictEqual(layer, { n: 1, self: 'stop' });
  }
});

test('unbounded recursion through the value ends in an error, and the next call is right', () => {
  const value = {
    get again() {
      return pack(value);
    },
  };
  assert.throws(
    () => pack(value),
    (error) => error instanceof RangeError || error.code === 'ERR_MSGPACK_DEPTH',
  );
  stillWorks();
});

/** Runs `change` from a getter, from a toJSON and from a proxy trap at every place of an object. */
function changers(change, make) {
  for (let i = 0; i < 40; i++) {
    for (const at of [0, 1, 2, 3]) {
      for (const how of ['getter', 'toJSON']) {
        const value = make();
        const keys = Object.keys(value);
        const act = () => change(value);
        if (!Array.isArray(value)) {
          for (const key of keys) delete value[key];
          keys.forEach((key, k) => {
            if (k === at) trigger(value, 'trigger', how, act);
            value[key] = k;
          });
        } else {
          trigger(value, Math.min(at, value.length - 1), how, act);
        }
        settles(value);
        settles({ outer: [value, 'tail'], last: 'end' });
      }
    }
  }
}

/** An object that acts when it is packed, as this value. */
function acting(act, value) {
  return {
    toJSON() {
      act();
      return value;
    },
  };
}

function trigger(holder, key, how, act) {
  if (how === 'getter') {
    let busy = false;
    Object.defineProperty(holder, key, {
      get() {
        // What `act` moves about may read this again.
        if (busy) return 'again';
        busy = true;
        act();
        busy = false;
        return 'got';
      },
      set() {},
      enumerable: true,
      configurable: true,
    });
  } else {
    holder[key] = acting(act, 'json');
  }
}

const OBJECTS = {
  'deletes a later key': (o) => delete o.c,
  'deletes an earlier key': (o) => delete o.a,
  'deletes every key': (o) => {
    for (const key of Object.keys(o)) delete o[key];
  },
  'adds a key': (o) => (o[`new${Object.keys(o).length}`] = 1),
  'adds 100 keys': (o) => {
    for (let i = 0; i < 100; i++) o[`n${i}`] = i;
  },
  'adds an integer key': (o) => (o[5] = 1),
  'turns a later key into undefined': (o) => (o.d = undefined),
  'turns a later key into a function': (o) => (o.d = () => 1),
  'turns a later key into a deep object': (o) => (o.d = { x: { y: [1, { z: 1 }] } }),
  'turns a later key into a getter': (o) =>
    Object.defineProperty(o, 'd', { get: () => 5, enumerable: true, configurable: true }),
  'hides a later key': (o) =>
    Object.defineProperty(o, 'd', { enumerable: false, configurable: true, writable: true }),
  'turns the object around': (o) => {
    const k = Object.keys(o);
    for (const key of k) {
      const d = Object.getOwnPropertyDescriptor(o, key);
      if (d.configurable) {
        delete o[key];
        Object.defineProperty(o, key, d);
      }
    }
  },
  'gives it another prototype': (o) => Object.setPrototypeOf(o, { inherited: 1 }),
  'gives it a toJSON': (o) => (o.toJSON = () => 'late'),
  'freezes it': (o) => Object.freeze(o),
};

for (const [name, change] of Object.entries(OBJECTS)) {
  test(`object: a getter or toJSON that ${name}`, () => {
    changers(change, () => ({ a: 0, b: 1, c: 2, d: 3 }));
    for (let i = 0; i < 80; i++) packs({ a: 0, b: 1, c: 2, d: 3 }, '84a16100a16201a16302a16403');
  });
}

const ARRAYS = {
  pop: (a) => a.pop(),
  push: (a) => a.push(1),
  'push 1000': (a) => a.push(...Array(1000).fill(7)),
  'length = 0': (a) => (a.length = 0),
  'length = 1': (a) => (a.length = 1),
  'length = 100': (a) => (a.length = 100),
  shift: (a) => a.shift(),
  unshift: (a) => a.unshift(0),
  reverse: (a) => a.reverse(),
  'a string among numbers': (a) => (a[a.length - 1] = 'text'),
  'a hole': (a) => delete a[a.length - 1],
  'fill with objects': (a) => a.fill({ x: 1 }),
  'fill with doubles': (a) => a.fill(0.5),
};

for (const [name, change] of Object.entries(ARRAYS)) {
  test(`array: an element's getter or toJSON that does ${name}`, () => {
    changers(change, () => [1, 2, 3, 4, 5, 6]);
    changers(change, () => [0.5, 1.5, 2.5, 3.5]);
    changers(change, () => ['a', 'b', 'c', 'd']);
    for (let i = 0; i < 10; i++) {
      const list = [];
      for (let k = 0; k < 20; k++)
        list.push({
          k,
          get g() {
            change(list);
            return k;
          },
        });
      settles(list);
      settles({ list, tail: list });
      const records = Array.from({ length: 10 }, (_, k) => ({
        k,
        t: acting(() => change(records), k),
      }));
      settles(records);
    }
  });
}

test('Map and Set changed while they are walked', () => {
  const acts = [
    (c) => c.clear(),
    (c) => (c instanceof Map ? c.set(`k${c.size}`, 1) : c.add(`k${c.size}`)),
    (c) => c.delete([...c.keys()][c.size - 1]),
    (c) => c.delete([...c.keys()][0]),
  ];
  for (const act of acts) {
    for (let i = 0; i < 30; i++) {
      const map = new Map([['a', 1]]);
      let once = 0;
      const trap = acting(() => once++ < 5 && act(map), 'x');
      map.set('t', trap).set('b', 2).set('c', 3);
      settles(map);
      settles([map, 'tail']);
      const keyed = new Map();
      keyed
        .set(
          acting(() => act(keyed), 'key'),
          1,
        )
        .set('b', 2)
        .set('c', 3);
      settles([keyed, 'tail']);
      const set = new Set(['a']);
      once = 0;
      set
        .add(acting(() => once++ < 5 && act(set), 'x'))
        .add('b')
        .add('c');
      settles([set, 'tail']);
    }
  }
});

const BUFFERS = {
  'overwrites its bytes': (u8) => u8.fill?.(9),
  'detaches it by transfer': (u8) => structuredClone(u8.buffer, { transfer: [u8.buffer] }),
  'shrinks it to nothing': (u8) => u8.buffer.resize(0),
  'shrinks it by a byte': (u8) => u8.buffer.resize(u8.buffer.byteLength - 1),
  'grows it': (u8) => u8.buffer.resize(u8.buffer.maxByteLength),
};

for (const [name, change] of Object.entries(BUFFERS)) {
  test(`buffer: a getter after it that ${name}`, () => {
    for (const size of [1, 8, 100, 5000, 100_000]) {
      for (const make of [
        (b) => new Uint8Array(b),
        (b) => Buffer.from(b),
        (b) => new Uint8Array(b, 0, size),
        (b) => new DataView(b),
        (b) => b,
        (b) => new Ext(5, new Uint8Array(b)),
      ]) {
        for (const place of ['after', 'before', 'both']) {
          for (let i = 0; i < 3; i++) {
            const buffer = new ArrayBuffer(size, { maxByteLength: size * 2 });
            const u8 = new Uint8Array(buffer).fill(1);
            const view = make(buffer);
            const value = { head: 'text' };
            let done = false;
            const act = () => {
              if (!done) change(u8);
              done = true;
              return 1;
            };
            if (place !== 'after')
              Object.defineProperty(value, 'early', { get: act, enumerable: true });
            value.view = view;
            if (place !== 'before')
              Object.defineProperty(value, 'late', { get: act, enumerable: true });
            value.tail = 'é';
            const result = settles(value);
            if (result === undefined) continue;
            assert.equal(result.tail, 'é');
            const data = result.view instanceof Ext ? result.view.data : result.view;
            assert.ok(Buffer.isBuffer(data));
            if (place === 'after') {
              assert.ok(
                [size, buffer.byteLength].includes(data.length),
                `${data.length} of ${size}`,
              );
              assert.ok(data.every((b) => b === 1 || b === 9 || b === 0));
            } else
              assert.equal(
                data.length,
                ArrayBuffer.isView(view) ? view.byteLength : (view.data ?? view).byteLength,
              );
          }
        }
      }
    }
  });
}

test('a buffer visited before is detached and its memory given to another', () => {
  for (let i = 0; i < 100; i++) {
    const data = new Uint8Array(4096).fill(1);
    const value = [
      data,
      {
        toJSON() {
          structuredClone(data.buffer, { transfer: [data.buffer] });
          return new Uint8Array(4096).fill(2);
        },
      },
      'tail',
    ];
    const result = settles(value);
    if (result !== undefined) assert.equal(result[2], 'tail');
  }
});

test('a typed array changed by a getter has old or new bytes, not something else', () => {
  for (let i = 0; i < 100; i++) {
    const data = new Uint8Array(1000).fill(1);
    const result = wellFormed({
      data,
      get g() {
        data.fill(2);
        return 0;
      },
    });
    assert.equal(result.data.length, 1000);
    assert.ok(result.data.every((b) => b === result.data[0]) && [1, 2].includes(result.data[0]));
  }
});

test('getters that return strings so long that buffers must grow, then throw', () => {
  const boom = new Error('boom');
  for (let i = 0; i < 20; i++) {
    const value = {};
    for (let k = 0; k < 10; k++) value[`k${k}`] = 'x'.repeat(50_000);
    Object.defineProperty(value, 'g', {
      get() {
        throw boom;
      },
      enumerable: true,
    });
    assert.throws(
      () => pack(value),
      (error) => error === boom,
    );
    stillWorks();
  }
});

test('proxies that lie about their keys give a well-formed message or an error', () => {
  const liars = [
    { ownKeys: () => ['a', 'b', 'c'] },
    { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => undefined },
    {
      ownKeys: () => ['a'],
      getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
    },
    { get: () => undefined },
    { get: (_, k) => (k === 'toJSON' ? 5 : 'v') },
    { has: () => false },
    { getPrototypeOf: () => null },
    { getPrototypeOf: () => Array.prototype },
  ];
  for (const handler of liars) {
    for (let i = 0; i < 30; i++) {
      settles(new Proxy({ a: 1, b: 2 }, handler));
      settles([new Proxy({ a: 1, b: 2 }, handler), 'tail']);
    }
  }
  for (const length of [0, 1, 5, 1000, -1, 0.5, NaN, '3', undefined]) {
    const proxy = new Proxy([1, 2, 3], {
      get: (target, key) => (key === 'length' ? length : target[key]),
    });
    const result = settles([proxy, 'tail']);
    if (result !== undefined) assert.equal(result[1], 'tail');
  }
});

test('a getter that packs thousands of new shapes in the middle of an object', () => {
  let fresh = 0;
  for (let i = 0; i < 3; i++) {
    const value = {
      a: 'text',
      get g() {
        for (let k = 0; k < 9000; k++) pack({ [`reentrant${fresh++}`]: 1, x: { y: k } });
        return { a: 1, z: [{ a: 2 }] };
      },
      tail: { a: 'text', n: { y: 1 } },
    };
    packs(
      [value, { a: 1 }],
      '92 83 a161a474657874 a167 82a16101a17a9181a16102 a47461696c 82a161a474657874a16e81a17901 81a16101',
    );
  }
});

test('the prototype gains and loses enumerable properties while an object is walked', () => {
  for (let i = 0; i < 60; i++) {
    try {
      const value = wellFormed({
        a: 1,
        get g() {
          Object.prototype.sudden = 1;
          return 2;
        },
        z: { q: 1 },
      });
      assert.deepStrictEqual(Object.keys(value), ['a', 'g', 'z']);
      assert.deepStrictEqual(Object.keys(value.z), ['q']);
    } finally {
      delete Object.prototype.sudden;
    }
  }
  stillWorks();
});

test('a getter that decodes and keeps: results of inner calls do not change later', () => {
  const kept = [];
  const value = {
    get g() {
      const wire = pack({ n: kept.length, s: `s${kept.length}` });
      kept.push([wire, Buffer.from(wire)]);
      return unpack(wire);
    },
  };
  for (let i = 0; i < 500; i++) pack([value, value]);
  for (const [wire, copy] of kept) assert.ok(wire.equals(copy));
});
