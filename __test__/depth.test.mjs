// Depth: one limit both ways, a cycle is an error with its path, and nothing deep crashes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { pack, packInto, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, hex, nestArrays, nestObjects, stillWorks, throwsCode } from './helpers.mjs';
import { mapHeader } from './reference.mjs';

const CODE = 'ERR_MSGPACK_DEPTH';

/** How deep a decoded value is, without recursion. */
function depthOf(value) {
  let depth = 0;
  let at = value;
  while (at !== null && typeof at === 'object') {
    depth++;
    at = at instanceof Map ? [...at.values()][0] : Object.values(at)[0];
  }
  return depth;
}

test('exactly 1000 packs and unpacks, 1001 does neither', () => {
  for (const nest of [nestArrays, nestObjects]) {
    const wire = pack(nest(1000));
    assert.equal(depthOf(unpack(wire)), 1000);
    throwsCode(() => pack(nest(1001)), CODE);
    stillWorks();
  }
  throwsCode(() => pack(nestArrays(1001)), CODE, { path: `$${'[0]'.repeat(1000)}` });
  throwsCode(() => pack(nestObjects(1001)), CODE, { path: `$${'.a'.repeat(1000)}` });
  assert.equal(hex(pack(nestArrays(1000))), `${'91'.repeat(1000)}c0`);
  assert.equal(depthOf(unpack(bytes('91^999 90'))), 1000);
  throwsCode(() => unpack(bytes('91^1000 90')), CODE, { offset: 1000 });
  throwsCode(() => unpack(bytes('91^1001 c0')), CODE, { offset: 1000 });
  assert.equal(depthOf(unpack(bytes('81a161^999 80'))), 1000);
  throwsCode(() => unpack(bytes('81a161^1000 80')), CODE, { offset: 3000 });
});

test('empty containers count, scalars do not', () => {
  for (const empty of [[], {}, new Map(), new Set()]) {
    pack(nestArrays(999, empty));
    throwsCode(() => pack(nestArrays(1000, empty)), CODE);
    throwsCode(() => pack([empty], { maxDepth: 1 }), CODE, { path: '$[0]' });
  }
  for (const scalar of [1, 'x', null, 0.5, Buffer.alloc(3), new Date(0), 5n]) {
    pack(nestArrays(1000, scalar));
    pack([scalar], { maxDepth: 1 });
    pack({ a: scalar }, { maxDepth: 1 });
    unpack(pack(nestArrays(1000, scalar)));
  }
});

test('maxDepth, both ways, for arrays, objects, Maps and Sets', () => {
  for (const maxDepth of [1, 2, 3, 10, 100, 999, 1001, 1500]) {
    for (const nest of [
      nestArrays,
      nestObjects,
      (d) => {
        let v = null;
        for (let i = 0; i < d; i++) v = i % 2 ? new Map([['k', v]]) : new Set([v]);
        return v;
      },
      (d) => {
        let v = null;
        for (let i = 0; i < d; i++) v = [[v], { a: v }, new Map([['k', v]])][i % 3];
        return v;
      },
    ]) {
      const options = { maxDepth };
      const wire = pack(nest(maxDepth), options);
      assert.equal(depthOf(unpack(wire, options)), maxDepth);
      assert.equal(depthOf(unpack(wire, { maps: 'map', maxDepth })), maxDepth);
      throwsCode(() => pack(nest(maxDepth + 1), options), CODE);
      throwsCode(() => packInto(nest(maxDepth + 1), Buffer.alloc(100_000), 0, options), CODE);
      const deeper = pack(nest(maxDepth + 1), { maxDepth: maxDepth + 1 });
      for (const call of [unpack, unpackMultiple, (input, o) => unpackFrom(input, 0, o)]) {
        throwsCode(() => call(deeper, options), CODE);
      }
    }
    stillWorks();
  }
});

test('maxDepth with a learnt shape', () => {
  const value = { a: { b: { c: 1 } }, list: [{ x: [1] }] };
  for (let i = 0; i < 80; i++) {
    pack(value);
    pack(value, { maxDepth: 4 });
    throwsCode(() => pack(value, { maxDepth: 3 }), CODE, { path: '$.list[0].x' });
    throwsCode(() => pack(value, { maxDepth: 2 }), CODE, { path: '$.a.b' });
    throwsCode(() => pack(value, { maxDepth: 1 }), CODE, { path: '$.a' });
    const wire = pack(value);
    unpack(wire, { maxDepth: 4 });
    throwsCode(() => unpack(wire, { maxDepth: 3 }), CODE);
    throwsCode(() => unpack(wire, { maxDepth: 1 }), CODE);
  }
});

test('depth is depth, not the number of containers before', () => {
  const wide = Array.from({ length: 5000 }, () => [[]]);
  assert.equal(unpack(pack(wide, { maxDepth: 3 }), { maxDepth: 3 }).length, 5000);
  const objects = Array.from({ length: 5000 }, (_, i) => ({ a: { b: i } }));
  assert.equal(unpack(pack(objects, { maxDepth: 3 }), { maxDepth: 3 }).length, 5000);
});

test('cycles are ERR_MSGPACK_DEPTH with their path', () => {
  const self = {};
  self.self = self;
  throwsCode(() => pack(self), CODE, { path: `$${'.self'.repeat(1000)}` });
  throwsCode(() => pack(self, { maxDepth: 3 }), CODE, { path: '$.self.self.self' });
  const ring = [];
  ring.push(ring);
  throwsCode(() => pack(ring, { maxDepth: 2 }), CODE, { path: '$[0][0]' });
  const a = { name: 'a' };
  const b = { name: 'b', a };
  a.b = [1, b];
  throwsCode(() => pack(a, { maxDepth: 4 }), CODE, { path: '$.b[1].a.b' });
  const map = new Map();
  map.set('m', map);
  throwsCode(() => pack(map), CODE);
  const set = new Set();
  set.add(set);
  throwsCode(() => pack(set), CODE);
  const key = new Map();
  key.set(key, 1);
  throwsCode(() => pack(key), CODE);
  const error = new Error('e');
  error.self = error;
  throwsCode(() => pack(error), CODE);
  stillWorks();
});

test('1000 cyclic values, one after the other', () => {
  for (let i = 0; i < 1000; i++) {
    const value = { i };
    value.back = value;
    throwsCode(() => pack(value), CODE);
    if (i % 50 === 0) stillWorks();
  }
});

test('toJSON that goes ever deeper ends in ERR_MSGPACK_DEPTH', () => {
  class Deep {
    toJSON() {
      return { next: new Deep() };
    }
  }
  throwsCode(() => pack(new Deep()), CODE);
  const getter = {
    get next() {
      return Object.create(Object.prototype, Object.getOwnPropertyDescriptors(getter));
    },
  };
  throwsCode(() => pack(getter), CODE);
  const proxy = new Proxy({ a: 1 }, { get: (_, k) => (k === 'a' ? proxy : undefined) });
  throwsCode(() => pack(proxy), CODE);
  stillWorks();
});

test('100 000 deep bytes and values are an error, with any limit not a crash', () => {
  throwsCode(() => unpack(bytes('91^100000 c0')), CODE);
  throwsCode(() => unpack(bytes('81a161^100000 c0')), CODE);
  throwsCode(() => unpack(bytes('91^100000')), CODE);
  throwsCode(() => unpack(bytes('dd00000001^100000 c0')), CODE);
  throwsCode(() => unpack(bytes('81^100000')), ['ERR_MSGPACK_KEY', CODE]);
  throwsCode(() => unpack(bytes('81^100000'), { maps: 'map' }), CODE);
  throwsCode(() => pack(nestArrays(100_000)), CODE);
  throwsCode(() => pack(nestObjects(100_000)), CODE);
  stillWorks();
});

test('a limit far past the stack: a value, ERR_MSGPACK_DEPTH or a RangeError, then the next call', () => {
  const settle = (fn) => {
    try {
      fn();
    } catch (error) {
      if (!(error instanceof RangeError)) assert.equal(error.code, CODE, error.stack);
    }
    stillWorks();
  };
  for (const depth of [5_000, 20_000, 100_000]) {
    const options = { maxDepth: 1_000_000 };
    settle(() => unpack(bytes(`91^${depth} c0`), options));
    settle(() => unpack(bytes(`81a161^${depth} c0`), options));
    settle(() => unpack(bytes(`81a161^${depth} c0`), { ...options, maps: 'map' }));
    settle(() => pack(nestArrays(depth), options));
    settle(() => pack(nestObjects(depth), options));
    settle(() => pack(nestObjects(depth, new Map([[1, 2]])), options));
  }
});

test("near the end of the caller's stack: the value or an error, then the next call is right", () => {
  const value = nestObjects(200, [1, 'two']);
  const wire = pack(value);
  let calls = 0;
  const dive = () => {
    calls++;
    try {
      pack(value);
      unpack(wire);
    } catch (error) {
      assert.ok(error instanceof RangeError || error.code === CODE, String(error));
    }
    dive();
  };
  assert.throws(dive, RangeError);
  assert.ok(calls > 100);
  stillWorks();
  assert.equal(hex(pack(value)), hex(wire));
  assert.deepStrictEqual(unpack(wire), value);
});

test('1000 deep in a worker with a small stack', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { pack, unpack } = require(workerData);
    let value = null;
    for (let i = 0; i < 1000; i++) value = i % 2 ? [value] : { a: value };
    let codes = [];
    for (const call of [() => unpack(pack(value)), () => unpack(Buffer.alloc(100000, 0x91))]) {
      try { call(); codes.push('ok'); } catch (e) { codes.push(e.code ?? e.name); }
    }
    parentPort.postMessage(codes);`;
  const worker = new Worker(source, {
    eval: true,
    workerData: new URL('../index.js', import.meta.url).pathname,
    resourceLimits: { stackSizeMb: 1 },
  });
  const codes = await new Promise((resolve, reject) => {
    worker.on('message', resolve);
    worker.on('error', reject);
  });
  await worker.terminate();
  assert.deepEqual(codes, ['ok', CODE]);
});

test('a map of many entries 999 deep', () => {
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i]));
  const value = nestObjects(999, wide);
  const wire = pack(value);
  assert.ok(hex(wire).includes(hex(mapHeader(300))));
  assert.equal(depthOf(unpack(wire)), 1000);
});
