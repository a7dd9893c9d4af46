// The module: the same functions by require and import, nothing global, a process that ends.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as namespace from '../index.js';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const node = async (args) =>
  (await run(process.execPath, args, { cwd: root, timeout: 60_000 })).stdout.trim();

const imported = { ...namespace };
const NAMES = [
  'Decoder',
  'Encoder',
  'Ext',
  'MsgpackError',
  'NIL',
  'jsonToMsgpack',
  'jsonToMsgpackAsync',
  'msgpackToJson',
  'msgpackToJsonAsync',
  'unpackAsync',
  'validateAsync',
  'Packr',
  'PackrStream',
  'Timestamp',
  'Unpackr',
  'UnpackrStream',
  'addExtension',
  'decode',
  'encode',
  'get',
  'getMany',
  'has',
  'keysAt',
  'lazy',
  'lengthAt',
  'lengthOf',
  'pack',
  'packInto',
  'packIter',
  'packParts',
  'slice',
  'typeAt',
  'unpack',
  'unpackFrom',
  'unpackIter',
  'unpackMultiple',
  'validate',
  'writeTo',
];

test('require and import give the same functions, under the documented names', () => {
  const required = require('../index.js');
  assert.deepEqual(Object.keys(required).sort(), [...NAMES].sort());
  for (const name of NAMES) {
    assert.equal(typeof required[name], name === 'NIL' ? 'symbol' : 'function', name);
    assert.equal(imported[name], required[name], name);
    assert.equal(imported.default[name], required[name], name);
  }
});

test('encode and decode are pack and unpack', () => {
  assert.equal(imported.encode, imported.pack);
  assert.equal(imported.decode, imported.unpack);
});

test('by its own name, with require and with import', async () => {
  const byName = require('msgpack-rs');
  assert.equal(byName.pack, imported.pack);
  const esm = await import('msgpack-rs');
  for (const name of NAMES) assert.equal(esm[name], imported[name], name);
  assert.equal(esm.default.pack, imported.pack);
  assert.equal(require('msgpack-rs/package.json').name, 'msgpack-rs');
});

test('only what is exported can be reached by name', () => {
  for (const path of ['msgpack-rs/binding.js', 'msgpack-rs/src/tape.js', 'msgpack-rs/index.js']) {
    assert.throws(() => require(path), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' });
  }
});

test('functions do not need their module as this', () => {
  const { pack, unpack } = imported;
  assert.deepStrictEqual(unpack.call(null, pack.call(undefined, { a: 1 })), { a: 1 });
  assert.deepStrictEqual(
    [[1], [2]].map((v) => unpack(pack(v))),
    [[1], [2]],
  );
});

test('loading and using it leaves no global, no listener, no changed prototype', async () => {
  const out = await node([
    '-e',
    `
    const names = () => [globalThis, Object.prototype, Array.prototype, String.prototype, Buffer.prototype, Map.prototype, JSON, process]
      .map((o) => Reflect.ownKeys(o).map(String).sort().join());
    const listeners = () => process.eventNames().map((n) => String(n) + process.listenerCount(n)).join();
    void [Buffer, globalThis.fetch, globalThis.crypto, globalThis.navigator];
    const before = names();
    const heard = listeners();
    const { pack, unpack } = require('./index.js');
    for (let i = 0; i < 200; i++) unpack(pack({ i, a: [1, 'x'], __proto__: null }));
    const after = names();
    for (let i = 0; i < after.length; i++) if (after[i] !== before[i]) throw new Error('changed: ' + i);
    if (listeners() !== heard) throw new Error('listeners: ' + listeners());
    console.log('clean');`,
  ]);
  assert.equal(out, 'clean');
});

test('a process that used it ends by itself, from CommonJS and from ESM', async () => {
  assert.equal(
    await node(['-e', "console.log(require('./index.js').pack([1]).toString('hex'))"]),
    '9101',
  );
  assert.equal(
    await node([
      '--input-type=module',
      '-e',
      "import { pack } from 'msgpack-rs'; console.log(pack([1]).toString('hex'))",
    ]),
    '9101',
  );
});

test('it works where code generation from strings is refused', async () => {
  const out = await node([
    '--disallow-code-generation-from-strings',
    '-e',
    `
    const { pack, unpack } = require('./index.js');
    for (let i = 0; i < 300; i++) {
      const value = { id: i, name: 'n' + i, list: [i, 0.5, { x: 'é' }], 19: null };
      if (JSON.stringify(unpack(pack(value))) !== JSON.stringify(value)) throw new Error('wrong');
    }
    console.log(unpack(pack({ a: [1] })).a[0]);`,
  ]);
  assert.equal(out, '1');
});

test('frozen intrinsics, and no prototype that others changed, matter', async () => {
  const out = await node([
    '-e',
    `
    const { pack, unpack } = require('./index.js');
    for (const proto of [Object.prototype, Array.prototype, String.prototype, Map.prototype]) Object.freeze(proto);
    const value = { toString: 1, constructor: 2, a: [1, { b: 'x' }] };
    for (let i = 0; i < 100; i++) {
      const back = unpack(pack(value));
      if (JSON.stringify(back) !== JSON.stringify(value)) throw new Error(JSON.stringify(back));
    }
    console.log('right');`,
  ]);
  assert.equal(out, 'right');
});

test('two copies of the module in one process do not disturb each other', () => {
  const path = require.resolve('../index.js');
  const cached = Object.keys(require.cache).filter(
    (name) => name.startsWith(root) && !name.includes('node_modules'),
  );
  const saved = cached.map((name) => [name, require.cache[name]]);
  for (const name of cached) if (!name.endsWith('.node')) delete require.cache[name];
  try {
    const second = require(path);
    for (let i = 0; i < 100; i++) {
      const value = { i, s: `text ${i}`, list: [{ a: i }, { a: 'x' }] };
      assert.deepStrictEqual(second.unpack(imported.pack(value)), value);
      assert.deepStrictEqual(imported.unpack(second.pack(value)), value);
    }
  } finally {
    for (const [name, entry] of saved) require.cache[name] = entry;
  }
});
