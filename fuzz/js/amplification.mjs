// node fuzz/js/amplification.mjs [--seconds N] [--seed S] [--only 'name;…'] [--time]
//
// Searches, for every entry point that reads bytes, for the input that makes it allocate the most for
// its length, and with --time the one that takes the longest: random mixtures of what a message, or a
// JSON text, can hold, climbed from where they are best. Each entry has a process of its own, with a
// nursery so large that nothing is collected between the two looks at the heap, so that garbage counts
// as well. Where Rust takes the memory, it is what the process grows by at its peak. What is best is
// then measured at each size, in a process with V8's usual heap.

import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as node from '../../compat/msgpack-node.mjs';
import * as compat from '../../compat/msgpackr.mjs';
import { generator } from '../../__test__/helpers.mjs';
import {
  get,
  getMany,
  has,
  jsonToMsgpack,
  jsonToMsgpackAsync,
  keysAt,
  lazy,
  lengthAt,
  lengthOf,
  msgpackToJson,
  msgpackToJsonAsync,
  Packr,
  slice,
  typeAt,
  unpack,
  unpackAsync,
  unpackFrom,
  UnpackrStream,
  unpackIter,
  unpackMultiple,
  validate,
  validateAsync,
} from '../../index.js';

const { values: given } = parseArgs({
  options: {
    measure: { type: 'string' },
    only: { type: 'string' },
    search: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
    time: { type: 'boolean' },
  },
});
const seconds = Number(given.seconds ?? 12);
const seed = Number(given.seed ?? 1);

const method = (options) => {
  const packr = new Packr(options);
  return (bytes) => packr.unpack(bytes);
};
const ofMany = (options) => {
  const packr = new Packr(options);
  return (bytes) => packr.unpackMultiple(bytes);
};
const inTwo = (bytes) => [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)];
const streamed = (options) => (bytes) => [...unpackIter(inTwo(bytes), options)];

/** How a stream may be cut by whoever sends it. */
const PIECE = 64;
function* inPieces(bytes) {
  for (let i = 0; i < bytes.length; i += PIECE) yield bytes.subarray(i, i + PIECE);
}

/** All values that come out of a stream of objects. */
const through = (create) => (bytes) => {
  const stream = create();
  const values = [];
  stream.on('error', () => {});
  for (const chunk of inTwo(bytes)) stream.write(chunk);
  for (let value = stream.read(); value !== null; value = stream.read()) values.push(value);
  return values;
};

/** A view of which all is read, each entry as it is come to: V8 treats what is new in its own way. */
function readAll(bytes, options) {
  const view = lazy(bytes, options);
  readEntries(view);
  return view;
}

function readEntries(value) {
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) readEntries(value[i]);
  else if (typeof value === 'object' && value !== null && !(value instanceof Map))
    for (const key in value) readEntries(value[key]);
}

/** Makes each entry point once; it is then called many times. */
const ENTRIES = {
  unpack: () => unpack,
  "unpack, maps: 'map'": () => (bytes) => unpack(bytes, { maps: 'map' }),
  "unpack, timestamps: 'timestamp'": () => (bytes) => unpack(bytes, { timestamps: 'timestamp' }),
  "unpack, utf8: 'raw'": () => (bytes) => unpack(bytes, { utf8: 'raw' }),
  "unpack, int64: 'string'": () => (bytes) => unpack(bytes, { int64: 'string' }),
  'unpack, copyBuffers': () => (bytes) => unpack(bytes, { copyBuffers: true }),
  unpackFrom: () => (bytes) => unpackFrom(bytes),
  unpackMultiple: () => (bytes) => unpackMultiple(bytes),
  'Packr, useRecords': () => method({ useRecords: true }),
  'Packr, moreTypes': () => method({ moreTypes: true }),
  'Packr, structuredClone': () => method({ structuredClone: true }),
  'Packr, moreTypes, unpackMultiple': () => ofMany({ moreTypes: true }),
  'Packr, structuredClone, freeze': () => method({ structuredClone: true, freeze: true }),
  'Packr, freeze': () => method({ freeze: true }),
  unpackIter: () => streamed(),
  'unpackIter, structuredClone': () => streamed({ structuredClone: true }),
  'unpackIter, in pieces': () => (bytes) => [...unpackIter(inPieces(bytes))],
  UnpackrStream: () => through(() => new UnpackrStream()),
  'compat/msgpackr': () => {
    const packr = new compat.Packr();
    return (bytes) => packr.unpack(bytes);
  },
  'compat/msgpackr, decodeIter': () => (bytes) => [...compat.decodeIter(inTwo(bytes))],
  'compat/msgpackr, UnpackrStream': () => through(() => new compat.UnpackrStream()),
  'compat/msgpack-node': () => node.unpack,
  'compat/msgpack-node, Stream': () => (bytes) => {
    const values = [];
    const socket = new EventEmitter();
    const stream = new node.Stream(socket);
    stream.on('error', () => {});
    stream.on('msg', (value) => values.push(value));
    for (const chunk of inTwo(bytes)) socket.emit('data', chunk);
    return values;
  },
  unpackAsync: () => unpackAsync,
  "unpackAsync, maps: 'map'": () => (bytes) => unpackAsync(bytes, { maps: 'map' }),
  validate: () => validate,
  validateAsync: () => validateAsync,
  get: () => (bytes) => get(bytes, '/0'),
  "get, maps: 'map'": () => (bytes) => get(bytes, '/0', { maps: 'map' }),
  'slice, has, typeAt, lengthAt': () => (bytes) => [
    slice(bytes, '/0/0'),
    has(bytes, '/x/0'),
    typeAt(bytes, '/1'),
    lengthAt(bytes, '/0'),
  ],
  lengthOf: () => (bytes) => lengthOf(bytes),
  getMany: () => (bytes) => getMany(bytes, ['/0', '/1', '/999', '/a', '/b']),
  keysAt: () => (bytes) => keysAt(bytes),
  "keysAt, maps: 'map'": () => (bytes) => keysAt(bytes, '', { maps: 'map' }),
  'lazy, all read': () => (bytes) => readAll(bytes),
  "lazy, maps: 'map', all read": () => (bytes) => readAll(bytes, { maps: 'map' }),
  jsonToMsgpack: () => jsonToMsgpack,
  'jsonToMsgpack of a string': () => (bytes) => jsonToMsgpack(bytes.toString('latin1')),
  'jsonToMsgpack, exts': () => (bytes) => jsonToMsgpack(bytes, { exts: true }),
  'jsonToMsgpack, multiple': () => (bytes) => jsonToMsgpack(bytes, { multiple: true }),
  jsonToMsgpackAsync: () => jsonToMsgpackAsync,
  msgpackToJson: () => msgpackToJson,
  'msgpackToJson, multiple': () => (bytes) => msgpackToJson(bytes, { multiple: true }),
  "msgpackToJson, binary: 'hex'": () => (bytes) => msgpackToJson(bytes, { binary: 'hex' }),
  "msgpackToJson, binary: 'array'": () => (bytes) => msgpackToJson(bytes, { binary: 'array' }),
  'msgpackToJson, space: 2': () => (bytes) => msgpackToJson(bytes, { space: 2 }),
  'msgpackToJson, space: 10': () => (bytes) => msgpackToJson(bytes, { space: 10 }),
  msgpackToJsonAsync: () => msgpackToJsonAsync,
};

const takesText = (name) => name.startsWith('jsonToMsgpack');
/** Where Rust takes the memory, which V8 does not count. */
const isNative = (name) =>
  /^(json|msgpackToJson|validate|getMany|keysAt|lengthOf|slice)/.test(name);

// ── What a message can hold, each by the number of its use, so that it can be new every time

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const fixed = (text) => {
  const bytes = hex(text);
  return () => bytes;
};
const unique = (length, prefix = '') => {
  const head = hex(prefix);
  return (i) => {
    const text = i.toString(36).padStart(length, '_').slice(-length);
    return Buffer.concat([head, Buffer.from([0xa0 | length]), Buffer.from(text)]);
  };
};
const UNITS = {
  nil: fixed('c0'),
  int: fixed('07'),
  'int 32': fixed('d2 7fffffff'),
  'float 32': fixed('ca 3dcccccd'),
  'float 64': fixed('cb 3fb999999999999a'),
  'uint 64': fixed('cf ffffffffffffffff'),
  'empty map': fixed('80'),
  'empty array': fixed('90'),
  'empty str': fixed('a0'),
  'str 1': (i) => Buffer.from([0xa1, 97 + (i % 26)]),
  'new str 2': unique(2),
  'new str 4': unique(4),
  'new str 14': unique(14),
  'new str 27': unique(27),
  'wide str': fixed('a2 c3a9'),
  'new wide str': (i) =>
    Buffer.concat([hex('a4 c3a9'), Buffer.from(i.toString(36).padStart(2, '_').slice(-2))]),
  'bad str': fixed('a1 ff'),
  'empty bin': fixed('c400'),
  'bin 1': fixed('c401 61'),
  'empty ext': fixed('c700 05'),
  'ext 1': fixed('d4 05 01'),
  'timestamp 32': fixed('d6ff 00000001'),
  'timestamp 96': fixed('c70cff 00000001 ffffffffffffffff'),
  'array of 1': fixed('91 c0'),
  'array of 1 map': fixed('91 80'),
  'array of 15 arrays': fixed('9f 909090909090909090909090909090'),
  'array of floats': fixed('92 ca3dcccccd ca3dcccccd'),
  'ints, then a str': fixed('94 010203 a0'),
  'map, int key': fixed('81 01 c0'),
  'map, key 4294967294': fixed('81 ce fffffffe c0'),
  'map, key 1000': fixed('81 cd 03e8 c0'),
  'map, key 18': fixed('81 12 c0'),
  "map, key '1000'": fixed('81 a4 31303030 c0'),
  "map, new key like '1000'": (i) =>
    Buffer.concat([hex('81 a4'), Buffer.from(String(1000 + (i % 2000))), hex('c0')]),
  'map, str key': fixed('81 a161 c0'),
  'map, new key': unique(2, '81'),
  'map, new long key': unique(12, '81'),
  'map, nil key': fixed('81 c0 c0'),
  'map of 2': fixed('82 a161 c0 a162 c0'),
  'map, __proto__': fixed('81 a9 5f5f70726f746f5f5f c0'),
  'chain of arrays': () => Buffer.concat([Buffer.alloc(200, 0x91), hex('90')]),
  'chain of maps': () => Buffer.concat([Buffer.concat(Array(200).fill(hex('81 a0'))), hex('80')]),
  'chain of maps, int keys': () =>
    Buffer.concat([Buffer.concat(Array(200).fill(hex('81 01'))), hex('80')]),
  undefined: fixed('d40000'),
  'empty Set': fixed('d47300 90'),
  'Set of 1': fixed('d47300 91 c0'),
  RegExp: fixed('d47800 92 a0 a0'),
  Error: fixed('d46500 93 a0 a0 c0'),
  'typed array': fixed('c70174 01'),
  'bigint ext': fixed('d44201'),
  'empty record, defined': fixed('d47240 90'),
  'empty record': fixed('40'),
  'record, defined': fixed('d47240 91 a161 c0'),
  'record, new name': (i) => Buffer.concat([hex('d47241 91'), unique(3)(i), hex('c0')]),
  'record of 1': fixed('40 c0'),
  object: (i) =>
    Buffer.concat([hex('d669'), Buffer.from([i >>> 24, i >>> 16, i >>> 8, i]), hex('90')]),
  pointer: fixed('d670 00000000'),
  control: fixed('a1 01'),
  controls: fixed('bf 01010101010101 0101010101010101 0101010101010101 0101010101010101'),
  'bad strs': fixed('bf ffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff'),
  'ext −128': fixed('d4 80 ff'),
  'empty ext −128': fixed('c700 80'),
  'long float': fixed('ca 80800001'),
  'map, array key': fixed('81 91c0 c0'),
  'map, key of controls': fixed('81 93a101a101a101 c0'),
  false: fixed('c2'),
};

const key = (i) => i.toString(36).padStart(3, '_');
const sixteen = `[${Array(16).fill(0)}]`;
const TEXT_UNITS = {
  0: () => '0',
  '-0': () => '-0',
  '.1': () => '0.1',
  '1e9': () => '1e9',
  null: () => 'null',
  'empty string': () => '""',
  'string 1': () => '"a"',
  control: () => '"\\u0000"',
  half: () => '"\\ud800"',
  'ill-formed': () => '"\xff"',
  'long string': () => `"${'x'.repeat(500)}"`,
  '[]': () => '[]',
  '{}': () => '{}',
  '[0]': () => '[0]',
  '16 in an array': () => sixteen,
  '16 arrays of 16': () => `[${Array(16).fill(sixteen)}]`,
  '16 keys': () => `{${Array.from({ length: 16 }, (_, i) => `"${i.toString(36)}":0`)}}`,
  'a key': () => '{"a":0}',
  'a new key': (i) => `{"${key(i)}":0}`,
  'a key twice': () => '{"a":0,"a":0}',
  'an empty key, eight times': () => `{${Array(8).fill('"":0')}}`,
  'nine keys, one twice': () => `{${[...'abcdefghi', 'a'].map((name) => `"${name}":0`)}}`,
  'a key with an escape': () => '{"\\u0061":0}',
  ext: () => '{"$ext":5,"data":""}',
  'chain of arrays': () => '['.repeat(200) + ']'.repeat(200),
  'chain of objects': () => `${'{"":'.repeat(200)}0${'}'.repeat(200)}`,
  'chain of equal keys': () => `${'{"":0,"":'.repeat(200)}0${'}'.repeat(200)}`,
};

/** How the values are held together: a header that is owed `n` of them, and what is before it. */
const uint32 = (n) => Buffer.from([n >>> 24, n >>> 16, n >>> 8, n]);
const WRAPS = {
  'an array': (n) => Buffer.concat([hex('dd'), uint32(n)]),
  'an array in an array': (n) => Buffer.concat([hex('91 dd'), uint32(n)]),
  'a map, new keys': (n) => Buffer.concat([hex('df'), uint32(n)]),
  'a map of ints': (n) => Buffer.concat([hex('df'), uint32(n)]),
  'a series': () => Buffer.alloc(0),
  'an array 950 deep': (n) => Buffer.concat([Buffer.alloc(950, 0x91), hex('dd'), uint32(n)]),
};

/** Before, after, and in front of each. */
const TEXT_WRAPS = {
  'an array': ['[', ']', () => ''],
  'an array that does not end': ['[', '', () => ''],
  'an object, new keys': ['{', '}', (i) => `"${key(i)}":`],
  'an object, one key': ['{', '}', () => '"":'],
  'an array 700 deep': ['['.repeat(700), ']'.repeat(700), () => ''],
  'a series': ['', '', () => ''],
};

/** The message, or the text, of about `size` bytes that `gene` describes. */
const inputOf = (gene, size) => (gene.isText ? textOf(gene, size) : messageOf(gene, size));

function textOf({ units, wrap }, size) {
  const [before, after, name] = TEXT_WRAPS[wrap];
  const parts = [];
  let length = before.length + after.length;
  for (let i = 0; length < size; i++) {
    const { name: unit, run } = units[i % units.length];
    for (let k = 0; k < run && length < size; k++) {
      parts.push(name(parts.length) + TEXT_UNITS[unit](parts.length));
      length += parts.at(-1).length + 1;
    }
  }
  return Buffer.from(before + parts.join(wrap === 'a series' ? '\n' : ',') + after, 'latin1');
}

function messageOf({ units, wrap }, size) {
  const parts = [];
  let length = 0;
  let count = 0;
  // A stretch of `run` of each in turn.
  for (let i = 0; length < size; i++) {
    const { name, run } = units[i % units.length];
    for (let k = 0; k < run && length < size; k++) {
      if (wrap === 'a map, new keys') parts.push(unique(4)(count));
      if (wrap === 'a map of ints') parts.push(Buffer.concat([hex('ce'), uint32(count)]));
      parts.push(UNITS[name](count++));
      length += parts.at(-1).length + (wrap.startsWith('a map') ? 5 : 0);
    }
  }
  return Buffer.concat([WRAPS[wrap](count), ...parts]);
}

function createGenes(random, isText) {
  const names = Object.keys(isText ? TEXT_UNITS : UNITS);
  const wraps = Object.keys(isText ? TEXT_WRAPS : WRAPS);
  const unit = () => ({ name: random.pick(names), run: random.pick([1, 1, 1, 2, 15, 300, 1e9]) });
  const fresh = () => ({
    units: Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, unit),
    wrap: random.pick(wraps),
    isText,
  });
  const mutated = ({ units, wrap }) => {
    const next = units.map((each) => ({ ...each }));
    switch (random.below(4)) {
      case 0:
        next[random.below(next.length)] = unit();
        break;
      case 1:
        if (next.length < 5) next.push(unit());
        break;
      case 2:
        if (next.length > 1) next.splice(random.below(next.length), 1);
        break;
      default:
        return { units: next, wrap: random.pick(wraps), isText };
    }
    return { units: next, wrap, isText };
  };
  const plain = names.flatMap((name) =>
    wraps.map((wrap) => ({ units: [{ name, run: 1 }], wrap, isText })),
  );
  return { fresh, mutated, plain };
}

const described = ({ units, wrap }) =>
  `${wrap} of ${units.map(({ name, run }) => (run > 1 && units.length > 1 ? `${name} × ${run}` : name)).join(', ')}`;

// ── One entry, in its own process

const total = () => {
  // What lies in ArrayBuffers is external.
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Whatever comes of it; the message is given up to the first fault. */
async function attempt(call, bytes) {
  try {
    return await call(bytes);
  } catch {
    return undefined;
  }
}

/** Bytes for each byte of the input that a call allocates, garbage too. */
async function allocates(call, bytes) {
  globalThis.gc();
  const before = total();
  const value = await attempt(call, bytes);
  const taken = total() - before;
  return value === 0 ? 0 : taken / bytes.length;
}

/** Bytes for each byte of the input that the process is larger at its peak. */
async function grows(call, bytes) {
  globalThis.gc();
  peakReset();
  const before = process.memoryUsage.rss();
  await attempt(call, bytes);
  return (peakReset() - before) / bytes.length;
}

/** Nanoseconds a byte, the better of two. */
async function takes(call, bytes) {
  let best = Infinity;
  for (let i = 0; i < 2; i++) {
    const start = performance.now();
    await attempt(call, bytes);
    best = Math.min(best, performance.now() - start);
  }
  return (1e6 * best) / bytes.length;
}

const SIZES = [1000, 100_000, 10_000_000];
/** The last is 1 MB where millions of proxies would be. */
const sizesOf = (name) => (name.startsWith('lazy') ? [...SIZES.slice(0, 2), 1_000_000] : SIZES);

/** How long the inputs are that are searched: pages of memory are not to be seen in short ones. */
function searchedBytes(name) {
  if (name.includes('space')) return 20_000;
  if (given.time) return 60_000;
  return isNative(name) ? 300_000 : 16_000;
}

async function search(name) {
  const random = generator(seed);
  const { fresh, mutated, plain } = createGenes(random, takesText(name));
  const call = ENTRIES[name]();
  const judge = given.time ? takes : isNative(name) ? grows : allocates;
  const measured = async (gene) => {
    const bytes = inputOf(gene, searchedBytes(name));
    // Once before, so that tables and code are there.
    await attempt(call, bytes);
    return { gene, score: await judge(call, bytes) };
  };
  let tried = 0;
  let best = [];
  const add = async (gene) => {
    tried++;
    best.push(await measured(gene));
    best.sort((a, b) => b.score - a.score);
    best = best.slice(0, 12);
  };
  const end = performance.now() + 1000 * seconds;
  for (const gene of plain) if (performance.now() < end) await add(gene);
  while (performance.now() < end)
    await add(random.below(4) === 0 ? fresh() : mutated(random.pick(best).gene));
  console.log(JSON.stringify({ tried, best: best.slice(0, 3).map(({ gene }) => gene) }));
}

/** The largest that the process was, in bytes, since the last call of this. */
function peakReset() {
  const [, kB] = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
  writeFileSync('/proc/self/clear_refs', '5');
  return 1024 * Number(kB);
}

async function measure(name, gene) {
  const call = ENTRIES[name]();
  const results = [];
  for (const size of sizesOf(name)) {
    const bytes = inputOf(gene, size);
    await attempt(call, bytes.subarray(0, 1000));
    globalThis.gc();
    const before = total();
    peakReset();
    const resident = process.memoryUsage.rss();
    const start = performance.now();
    const value = await attempt(call, bytes);
    const ns = (1e6 * (performance.now() - start)) / bytes.length;
    const peak = (peakReset() - resident) / bytes.length;
    globalThis.gc();
    const kept = (total() - before) / bytes.length;
    results.push({ kept: value === undefined ? 0 : kept, peak, ns, ok: value !== undefined });
  }
  console.log(JSON.stringify(results));
}

// ── All of them

function child(flags, ...args) {
  const file = fileURLToPath(import.meta.url);
  const all = [...flags, '--expose-gc', file, ...args, '--seconds', seconds, '--seed', seed];
  if (given.time) all.push('--time');
  const { status, stdout, stderr } = spawnSync(process.execPath, all.map(String), {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    env: { ...process.env, ...GIVEN_BACK },
  });
  if (status !== 0) throw new Error(`${args[1]}: ${stderr}`);
  return JSON.parse(stdout);
}

/** What glibc is given back goes back to the system, so that the next peak can be seen. */
const GIVEN_BACK = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' };
const LARGE_NURSERY = ['--min-semi-space-size=64', '--max-semi-space-size=64'];

function all() {
  const names = Object.keys(ENTRIES).filter(
    (name) => given.only?.split(';').includes(name) ?? true,
  );
  console.log(`Node.js ${process.version}, seed ${seed}, ${seconds} s of search each`);
  console.log('bytes a byte: kept by the value / the process at its peak; ns a byte\n');
  console.log(
    `| entry point | 1 KB kept | 100 KB kept | 10 MB kept | 10 MB peak | ns a byte at 1 KB, 100 KB, 10 MB | worst input found |`,
  );
  console.log('|---|---|---|---|---|---|---|');
  for (const name of names) {
    const { tried, best } = child(LARGE_NURSERY, '--search', name);
    const measured = best.map((gene) => ({
      gene,
      at: child([], '--measure', JSON.stringify({ name, gene })),
    }));
    const worth = ({ at }) => {
      if (given.time) return Math.max(at[1].ns, at[2].ns);
      return isNative(name) ? at[2].peak : Math.max(at[1].kept, at[2].kept);
    };
    measured.sort((a, b) => worth(b) - worth(a));
    const { gene, at } = measured[0];
    const kept = at.map((each) => each.kept.toFixed(0));
    const ns = at.map((each) => each.ns.toFixed(0)).join(', ');
    console.log(
      `| ${name} | ${kept.join(' | ')} | ${at[2].peak.toFixed(0)} | ${ns} | ${described(gene)} (of ${tried}) |`,
    );
  }
}

if (given.search !== undefined) await search(given.search);
else if (given.measure !== undefined) {
  const { name, gene } = JSON.parse(given.measure);
  await measure(name, gene);
} else all();
