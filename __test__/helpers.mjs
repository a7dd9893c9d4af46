// Shared by the test files: hex, exact-byte assertions, typed error assertions, printed seeds.
import assert from 'node:assert/strict';
import v8 from 'node:v8';
import vm from 'node:vm';
import { MsgpackError, pack, unpack } from '../index.js';

export const CODES = [
  'ERR_MSGPACK_TRUNCATED',
  'ERR_MSGPACK_EXTRA_BYTES',
  'ERR_MSGPACK_INVALID_BYTE',
  'ERR_MSGPACK_INVALID_UTF8',
  'ERR_MSGPACK_KEY',
  'ERR_MSGPACK_DEPTH',
  'ERR_MSGPACK_TIMESTAMP',
  'ERR_MSGPACK_OUT_OF_RANGE',
  'ERR_MSGPACK_UNSUPPORTED_TYPE',
  'ERR_MSGPACK_INVALID_INPUT',
  'ERR_MSGPACK_BUFFER_TOO_SMALL',
  'ERR_MSGPACK_TOO_LARGE',
];

/** Bytes of a hex text in words; a word `a161^70` is that group 70 times. */
export function bytes(text) {
  const words = text.split(/[\s-]+/).map((word) => {
    const [group, count] = word.split('^');
    assert.match(group, /^([0-9a-f]{2})*$/i, `not hex: ${word}`);
    return count === undefined ? group : group.repeat(Number(count));
  });
  return Buffer.from(words.join(''), 'hex');
}

export function hex(buffer) {
  return Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength).toString('hex');
}

/** A long difference shown short: where two byte strings part. */
export function sameBytes(actual, expected, label = '') {
  if (Buffer.compare(actual, expected) === 0) return;
  let at = 0;
  while (at < actual.length && at < expected.length && actual[at] === expected[at]) at++;
  const from = Math.max(0, at - 8);
  assert.fail(
    `${label} bytes differ at ${at} (lengths ${actual.length}, expected ${expected.length}): ` +
      `…${hex(actual.subarray(from, at + 24))} expected …${hex(expected.subarray(from, at + 24))}`,
  );
}

/** `pack(value)` gives exactly these bytes, in a Buffer. */
export function packs(value, expected, options, label) {
  const result = options === undefined ? pack(value) : pack(value, options);
  assert.ok(Buffer.isBuffer(result), 'pack returns a Buffer');
  sameBytes(result, typeof expected === 'string' ? bytes(expected) : expected, label);
}

/** `unpack(bytes)` gives exactly this value (deep, strict, prototypes and -0 included). */
export function unpacks(input, expected, options, label) {
  const buffer = typeof input === 'string' ? bytes(input) : input;
  const result = options === undefined ? unpack(buffer) : unpack(buffer, options);
  assert.deepStrictEqual(result, expected, label);
}

/** `fn` throws a MsgpackError of this code; the other properties given must be equal too. */
export function throwsCode(fn, code, props = {}) {
  let error;
  try {
    fn();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error !== undefined, `nothing was thrown, expected ${code}`);
  checkError(error, Array.isArray(code) ? code : [code]);
  for (const [name, value] of Object.entries(props)) {
    assert.deepStrictEqual(error[name], value, `${error.code}.${name} (${error.message})`);
  }
  return error;
}

/** A MsgpackError with one of these codes (any documented one by default). */
export function checkError(error, codes = CODES) {
  if (!(error instanceof MsgpackError)) {
    assert.fail(`not a MsgpackError but ${error?.stack ?? error}; expected ${codes.join(' or ')}`);
  }
  assert.ok(error instanceof Error);
  assert.equal(error.name, 'MsgpackError');
  assert.ok(codes.includes(error.code), `${error.code} (${error.message}), not ${codes.join('|')}`);
  assert.ok(error.message.length > 0);
}

/** The value, or the MsgpackError it threw; any other error is a failure. */
export function attempt(fn) {
  try {
    return { value: fn() };
  } catch (error) {
    checkError(error);
    return { error };
  }
}

const PROBE = { id: 7, name: 'probe', list: [1, 2.5, null, 'é'], 19: true };
const PROBE_HEX =
  '84 a23139 c3 a26964 07 a46e616d65 a570726f6265 a46c697374 94 01 cb4004000000000000 c0 a2c3a9';

/** A call after whatever happened before is right, both ways. */
export function stillWorks() {
  packs(PROBE, PROBE_HEX);
  unpacks(PROBE_HEX, PROBE);
}

/** Text of every well-formed width: 1, 2, 3 and 4 bytes a character, by the byte length. */
export const WIDTHS = [
  { name: '1-byte', text: 'a', bytes: 1 },
  { name: '2-byte', text: 'é', bytes: 2 },
  { name: '3-byte', text: '漢', bytes: 3 },
  { name: '4-byte', text: '😀', bytes: 4 },
];

/** A seeded generator of 32-bit numbers (mulberry32), so that a failure can be run again. */
export function generator(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  next.below = (n) => next() % n;
  next.pick = (list) => list[next() % list.length];
  return next;
}

/** The seed of this run (FC_SEED overrides), printed. */
export function seedOf(t) {
  const given = process.env.FC_SEED;
  const seed = given === undefined ? (Math.random() * 0x7fffffff) | 0 : Number(given) | 0;
  t.diagnostic(`seed ${seed} (run again with FC_SEED=${seed})`);
  return seed;
}

/** Number of random runs: `usual`, or FC_RUNS. */
export function runsOf(usual) {
  return process.env.FC_RUNS === undefined ? usual : Number(process.env.FC_RUNS);
}

/** Runs a full garbage collection. */
export function collect() {
  if (globalThis.Bun !== undefined) return globalThis.Bun.gc(true);
  v8.setFlagsFromString('--expose-gc');
  const gc = globalThis.gc ?? vm.runInNewContext('gc');
  gc();
  gc();
}

/** Nested arrays `depth` deep around `value`. */
export function nestArrays(depth, value = null) {
  let result = value;
  for (let i = 0; i < depth; i++) result = [result];
  return result;
}

/** Nested objects `depth` deep around `value`. */
export function nestObjects(depth, value = null, key = 'a') {
  let result = value;
  for (let i = 0; i < depth; i++) result = { [key]: result };
  return result;
}
