// The addon and its process: two copies of it, contexts of `vm`, an end in the middle of a call, and
// memory that is all Node's own.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import vm from 'node:vm';
import * as main from '../index.js';
import { collect, stillWorks } from './helpers.mjs';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const index = path.join(root, 'index.js');
const run = promisify(execFile);

const VALUE = {
  id: 1,
  name: 'copy é',
  list: [1, 2.5, 'x', null, { id: 2 }],
  when: new Date(0),
  data: Buffer.from([1, 2]),
};

// ── Two copies of the binary

/** The package once more, its binary too. */
function withCopy(use) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-copy-'));
  try {
    for (const name of readdirSync(root)) {
      const isPart = name.endsWith('.node') || /^(src|compat|package\.json|.*\.js)$/.test(name);
      if (isPart) cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    }
    return use(path.join(folder, 'index.js'));
  } finally {
    // Windows keeps a loaded library.
    if (process.platform !== 'win32') rmSync(folder, { recursive: true });
  }
}

test('two copies of the addon in one process share nothing', () => {
  withCopy((file) => {
    const copy = require(file);
    assert.notEqual(copy.pack, main.pack);
    for (let i = 0; i < 200; i++) {
      const value = { ...VALUE, [`k${i % 7}`]: i };
      const [ours, theirs] = [main.pack(value), copy.pack(value)];
      assert.ok(ours.equals(theirs));
      assert.deepStrictEqual(main.unpack(theirs), value);
      assert.deepStrictEqual(copy.unpack(ours), value);
    }
    // Classes of one are plain objects to the other; errors are its own.
    assert.throws(() => copy.unpack(Buffer.from('c1', 'hex')), copy.MsgpackError);
    assert.ok(!(new copy.Ext(1, Buffer.of(1)) instanceof main.Ext));
    // One within the other.
    const nested = {
      outer: { toJSON: () => copy.unpack(copy.pack(main.unpack(main.pack(VALUE)))) },
    };
    assert.deepStrictEqual(main.unpack(main.pack(nested)), { outer: VALUE });
    const read = (value) => copy.unpack(value);
    const ext = { Class: Set, type: 1, pack: (set) => copy.pack([...set]), unpack: read };
    const packr = new main.Packr({ extensions: [ext] });
    assert.deepStrictEqual(packr.unpack(packr.pack([new Set([1, 'a'])])), [[1, 'a']]);
  });
  stillWorks();
});

test('two copies in a process whose workers load one or both, and end', async () => {
  const script = `
    const { Worker, isMainThread, workerData } = require('node:worker_threads');
    const work = (files) => {
      for (const { pack, unpack } of files.map((file) => require(file))) {
        for (let i = 0; i < 100; i++) {
          if (unpack(pack({ i, s: 'x'.repeat(i) })).s.length !== i) throw new Error('wrong');
        }
      }
    };
    if (!isMainThread) work(workerData);
    else (async () => {
      const files = JSON.parse(process.argv[1]);
      const start = (workerData) => new Promise((resolve, reject) =>
        new Worker(process.argv[2], { eval: true, workerData }).on('exit', resolve).on('error', reject));
      await start([files[1]]);
      work([files[0]]);
      const codes = await Promise.all([files, [files[0]], [files[1]]].map(start));
      work(files);
      console.log(codes.join());
    })();`;
  await withCopy(async (file) => {
    const args = ['-e', script, JSON.stringify([index, file]), script];
    const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(child.stdout.trim(), '0,0,0', child.stderr);
  });
});

// ── Contexts

/** CommonJS in a context of `vm`, as test runners have it; addons are those of the process. */
function loadIn(context) {
  const loaded = new Map();
  const load = (file) => {
    if (loaded.has(file)) return loaded.get(file).exports;
    const here = createRequire(file);
    const module = { exports: {} };
    loaded.set(file, module);
    const within = (name) => {
      const resolved = here.resolve(name);
      const isOwn = resolved.endsWith('.js') && path.isAbsolute(resolved);
      return isOwn ? load(resolved) : here(name);
    };
    within.resolve = here.resolve;
    const names = ['module', 'exports', 'require', '__filename', '__dirname'];
    const code = readFileSync(file, 'utf8');
    const body = vm.compileFunction(code, names, { filename: file, parsingContext: context });
    body(module, module.exports, within, file, path.dirname(file));
    return module.exports;
  };
  return load(index);
}

test('the module within contexts of vm, one after the other and side by side', () => {
  const globals = { Buffer, URL, TextDecoder, TextEncoder, console, process, queueMicrotask };
  const contexts = Array.from({ length: 5 }, () => vm.createContext({ ...globals }));
  const modules = contexts.map(loadIn);
  for (let i = 0; i < 60; i++) {
    for (const [at, { pack, unpack }] of modules.entries()) {
      const there = vm.runInContext(
        '({ a: [1, { b: new Date(0) }], m: new Map([["x", 1]]), s: "é" })',
        contexts[at],
      );
      const wire = pack(there);
      assert.equal(wire.toString('hex'), main.pack(there).toString('hex'));
      // What is read is of that context; here it is compared by its text.
      const read = unpack(wire);
      assert.equal(
        JSON.stringify(read),
        '{"a":[1,{"b":"1970-01-01T00:00:00.000Z"}],"m":{"x":1},"s":"é"}',
      );
      assert.equal(read.constructor, vm.runInContext('Object', contexts[at]));
      assert.deepStrictEqual(main.unpack(pack(VALUE)), VALUE);
    }
  }
  stillWorks();
});

test('contexts that used it and are gone', () => {
  for (let i = 0; i < 8; i++) {
    const { pack, unpack } = loadIn(vm.createContext({ Buffer, TextDecoder, process, console }));
    assert.equal(unpack(pack([`context ${i}`]))[0], `context ${i}`);
    if (i % 4 === 3) collect();
  }
  stillWorks();
});

test('unpackAsync in a context that has neither a clock nor timers of its own', async () => {
  const { pack, unpackAsync } = loadIn(vm.createContext({ Buffer, TextDecoder, process, console }));
  const long = Array.from({ length: 50_000 }, (_, i) => `text ${i}`);
  assert.deepEqual([...(await unpackAsync(pack(long)))], long);
});

// ── The end of the process in the middle of a call

const EXITS = {
  'a getter': 'pack({ a: "x", get b() { process.exit(7); } })',
  'a getter of packInto': 'packInto([1, { get b() { process.exit(7); } }], Buffer.alloc(99))',
  toJSON: 'pack([{ toJSON() { process.exit(7); } }])',
  'a trap of a proxy': 'pack(new Proxy({}, { ownKeys() { process.exit(7); } }))',
  'a getter deep inside': `
    let value = { get end() { process.exit(7); } };
    for (let i = 0; i < 900; i++) value = [value, 'x'];
    pack(value)`,
  'an extension that packs': 'codec.pack(new Box(1))',
  'an extension that unpacks': 'codec.unpack(Buffer.from("92d4020101", "hex"))',
  'a call within a call': 'pack({ get a() { return pack({ get b() { process.exit(7); } }); } })',
  'a key filter': 'new Packr({ keyFilter() { process.exit(7); } }).pack({ a: 1 })',
  'saving structures':
    'new Packr({ getStructures() {}, saveStructures() { process.exit(7); } }).pack({ a: 1 })',
  'a source of chunks':
    'for (const v of unpackIter((function* () { yield pack([1]).subarray(0, 1); process.exit(7); })()));',
  'a stream of values': `
    const stream = new UnpackrStream();
    stream.on('data', () => process.exit(7));
    stream.write(pack([1]));`,
};

for (const [name, call] of Object.entries(EXITS)) {
  test(`process.exit in ${name}, in the main thread and in a worker`, async () => {
    const source = `
      const { pack, packInto, Packr, unpackIter, UnpackrStream } = require(${JSON.stringify(index)});
      class Box { constructor(v) { this.v = v; } }
      const leave = () => process.exit(7);
      const codec = new Packr({ extensions: [
        { Class: Box, type: 1, pack: leave, unpack: leave }, { type: 2, unpack: leave }] });
      pack({ warm: ['up', 1] });
      ${call}`;
    const outer = `
      const { Worker } = require('node:worker_threads');
      const worker = new Worker(${JSON.stringify(source)}, { eval: true });
      worker.on('exit', (code) => {
        require(${JSON.stringify(index)}).pack({ after: 1 });
        process.exit(code + 1);
      });`;
    const codes = await Promise.all(
      [source, outer].map((script) =>
        run(process.execPath, ['-e', script], { timeout: 30_000 }).then(
          () => 0,
          (error) => error.code ?? error.signal,
        ),
      ),
    );
    assert.deepStrictEqual(codes, [7, 8]);
  });
}

// ── Electron's rule: memory that is not Node's own cannot be a Buffer

test('no external memory: all that results lie in comes from Node.js itself', () => {
  // Node.js counts what its own allocator has given, and nothing else, as `arrayBuffers`.
  const counted = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const large = { data: Buffer.alloc(3_000_000, 1), text: 'x'.repeat(2_000_000) };
  const small = { text: 'y'.repeat(100) };
  const packr = new main.Packr({ structuredClone: true });
  const wire = main.pack(large);
  const target = Buffer.alloc(wire.length);
  const MAKERS = {
    'large results': () => main.pack(large),
    'results of a Packr': () => packr.pack(large),
    'many small results': () => Array.from({ length: 30_000 }, () => main.pack(small)),
    parts: () => main.packParts({ ...large, more: 'z'.repeat(3_000_000) }),
    'a text': () => main.msgpackToJson(wire),
    'a message of a text': () => main.jsonToMsgpack(`[${'0.5,'.repeat(400_000)}1]`),
    'results of packIter': () => [...main.packIter([large, small, large])],
    'copied binaries': () => main.unpack(wire, { copyBuffers: true }).data,
    'binaries of a stream': () =>
      [...main.unpackIter([wire.subarray(0, 9), wire.subarray(9)])][0].data,
  };
  const knownAlready = new Set([large.data.buffer, wire.buffer, target.buffer]);
  for (const [name, make] of Object.entries(MAKERS)) {
    make();
    const before = counted();
    const made = [make()].flat();
    const grown = counted() - before;
    const memory = new Set(
      made.map(({ buffer }) => buffer).filter((each) => !knownAlready.has(each)),
    );
    let bytes = 0;
    for (const { byteLength } of memory) bytes += byteLength;
    assert.ok(bytes > 2_000_000, `${name}: ${bytes} bytes`);
    // A slab or two of what came before may have gone meanwhile.
    assert.ok(grown > bytes - 200_000, `${name}: ${bytes} bytes, and Node.js counts ${grown}`);
  }
  // Binaries and packInto use the memory that there is.
  assert.equal(main.unpack(wire).data.buffer, wire.buffer);
  assert.equal(main.packInto(large, target), wire.length);
});

test('no external memory: the addon calls nothing of Node-API that makes it', () => {
  const files = readdirSync(path.join(root, 'src'), { recursive: true }).map(String);
  const rust = files.filter((file) => file.endsWith('.rs'));
  assert.ok(rust.length > 15);
  const calls = new Set();
  for (const file of rust) {
    const code = readFileSync(path.join(root, 'src', file), 'utf8');
    for (const [call] of code.matchAll(/\bnapi_(?:create|adjust)_\w+/g)) calls.add(call);
    // Nor do the wrappers of napi-rs, which would.
    assert.doesNotMatch(
      code,
      /\b(?:External|BufferSlice|ArrayBuffer::|Uint8Array::|from_external)/,
      file,
    );
  }
  assert.deepStrictEqual(
    [...calls].filter(
      (call) =>
        !/^napi_create_((object|function|array|string|double|uint32)|buffer(_copy)?$)/.test(call),
    ),
    [],
  );
});
