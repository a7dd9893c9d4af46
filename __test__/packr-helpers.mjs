// Shared by the tests of Packr: exact bytes both ways, graphs with their identities, every prefix.
import assert from 'node:assert/strict';
import { types } from 'node:util';
import { bytes, CODES, checkError, sameBytes, throwsCode } from './helpers.mjs';

/** What the methods of a Packr may throw. */
export const PACKR_CODES = [
  ...CODES,
  'ERR_MSGPACK_RECORD',
  'ERR_MSGPACK_REFERENCE',
  'ERR_MSGPACK_EXTENSION',
];

const wire = (input) => (typeof input === 'string' ? bytes(input) : input);

/** `packr.pack(value)` gives exactly these bytes, in a Buffer. */
export function writes(packr, value, expected, label) {
  const result = packr.pack(value);
  assert.ok(Buffer.isBuffer(result), 'pack returns a Buffer');
  sameBytes(result, wire(expected), label);
}

/** `packr.unpack(input)` gives exactly this value. */
export function reads(packr, input, expected, label) {
  assert.deepStrictEqual(packr.unpack(wire(input)), expected, label);
}

/** Exact bytes from one instance, and the equal value from another one. */
export function both(make, value, expected, label) {
  writes(make(), value, expected, label);
  reads(make(), expected, value, label);
}

/** The value, or the documented error. */
export function settle(fn) {
  try {
    return { value: fn() };
  } catch (error) {
    checkError(error, PACKR_CODES);
    return { error };
  }
}

/** What a call comes to, in a form that can be compared with another call. */
export function outcome(fn) {
  const { value, error } = settle(fn);
  if (error === undefined) return { value };
  const { code, offset, path } = error;
  return { code, offset, path };
}

/** Every prefix of a whole message is short of bytes, and nothing else is wrong with it. */
export function everyPrefix(make, message) {
  const packr = make();
  for (let size = 0; size < message.length; size++) {
    const error = throwsCode(
      () => packr.unpack(message.subarray(0, size)),
      'ERR_MSGPACK_TRUNCATED',
    );
    assert.ok(error.offset >= 0 && error.offset <= size, `offset ${error.offset} of ${size}`);
  }
  return make().unpack(message);
}

/** Equal, and one object where there was one, two where there were two. */
export function sameGraph(actual, expected) {
  const found = new Map();
  const taken = new Map();
  const todo = [[actual, expected, '$']];
  const both = (a, b, path) => todo.push([a, b, path]);
  while (todo.length > 0) {
    const [a, b, path] = todo.pop();
    if (b === null || typeof b !== 'object') {
      if (!Object.is(a, b)) assert.fail(`${path} is ${String(a)}, not ${String(b)}`);
      continue;
    }
    if (found.has(b)) {
      if (found.get(b) !== a) assert.fail(`${path} is another object`);
      continue;
    }
    if (a === null || typeof a !== 'object') assert.fail(`${path} is ${String(a)}`);
    if (taken.has(a)) assert.fail(`${path} is the object of ${taken.get(a)} too`);
    found.set(b, a);
    taken.set(a, path);
    assert.equal(Object.getPrototypeOf(a), Object.getPrototypeOf(b), `prototype of ${path}`);
    if (ArrayBuffer.isView(b) || types.isAnyArrayBuffer(b)) {
      assert.deepStrictEqual(a, b, path);
      continue;
    }
    if (types.isDate(b)) assert.equal(a.getTime(), b.getTime(), path);
    if (types.isRegExp(b)) assert.equal(String(a), String(b), path);
    if (types.isNativeError(b)) {
      assert.equal(a.name, b.name, path);
      assert.equal(a.message, b.message, path);
      both(a.cause, b.cause, `${path}.cause`);
      if (b instanceof AggregateError) both(a.errors, b.errors, `${path}.errors`);
      continue;
    }
    if (types.isMap(b) || types.isSet(b)) {
      assert.equal(a.size, b.size, `size of ${path}`);
      const [ours, theirs] = [[...a.entries()], [...b.entries()]];
      for (let i = 0; i < theirs.length; i++) {
        both(ours[i][0], theirs[i][0], `${path}.key ${i}`);
        if (types.isMap(b)) both(ours[i][1], theirs[i][1], `${path}.value ${i}`);
      }
    }
    const keys = Object.keys(b);
    const same = Object.keys(a);
    if (keys.length !== same.length) assert.fail(`${path} has ${same.length} keys`);
    for (let i = 0; i < keys.length; i++) {
      if (keys[i] !== same[i]) assert.fail(`${path} has the key ${same[i]}, not ${keys[i]}`);
      both(a[keys[i]], b[keys[i]], `${path}.${keys[i]}`);
    }
  }
}

/** Nested as deep as said, by a function that puts a value into something. */
export function nest(depth, value, wrap) {
  let result = value;
  for (let i = 0; i < depth; i++) result = wrap(result, i);
  return result;
}

/** Objects of so many different shapes, `{k0: 0}`, `{k1: 1}`, … */
export const shapes = (count, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ [`k${from + i}`]: from + i }));
