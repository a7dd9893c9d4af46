'use strict';

// What goes out of the kinds that only some codecs know: the parts of errors, the codes of typed
// arrays, and which properties of an object go out when not all do.

const { types } = require('node:util');

const { getOwnPropertyDescriptor, getPrototypeOf } = Object;

/** The codes of the kinds of typed arrays, as msgpackr numbers them. */
const CODES = {
  Int8Array: 0,
  Uint8Array: 1,
  Uint8ClampedArray: 2,
  Int16Array: 3,
  Uint16Array: 4,
  Int32Array: 5,
  Uint32Array: 6,
  Float32Array: 7,
  Float64Array: 8,
  BigInt64Array: 9,
  BigUint64Array: 10,
};
const ARRAY_BUFFER = 16;
const DATA_VIEW = 17;

// What a view is, whatever its class says.
const kindOf = getOwnPropertyDescriptor(
  getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
).get;
const sourceOf = getOwnPropertyDescriptor(RegExp.prototype, 'source').get;
const flagsOf = getOwnPropertyDescriptor(RegExp.prototype, 'flags').get;

/** The code of a view. A kind that has none goes out as bytes. */
function codeOf(view) {
  return types.isDataView(view) ? DATA_VIEW : (CODES[kindOf.call(view)] ?? CODES.Uint8Array);
}

/** Name, message and cause of an error, and the errors of one that has several. */
function errorParts(error) {
  const parts = [String(error.name), String(error.message), error.cause];
  if (Array.isArray(error.errors)) parts.push(error.errors);
  return parts;
}

/** What can be said in 32 bits of seconds loses its fraction. */
function wholeSeconds(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds >= 0 && seconds < 2 ** 32 ? seconds * 1000 : milliseconds;
}

/** By code points, which is the order of UTF-8 bytes; UTF-16 units are in another. */
function compareKeys(a, b) {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points behind all others. */
function rank(unit) {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Keys and values of what goes out of an object, each read once. */
function select(x, filter) {
  const { keepKey, skipValues, omits, sorts, numbers } = filter;
  let all = Object.keys(x);
  if (keepKey !== null) all = all.filter((key) => keepKey(key));
  const keys = [];
  const values = [];
  for (const key of all) {
    const v = x[key];
    if (skipValues?.includes(v)) continue;
    if (omits && (v === undefined || typeof v === 'function' || typeof v === 'symbol')) continue;
    keys.push(key);
    values.push(v);
  }
  if (sorts) return { ...sorted(keys, values), hasNumbers: false };
  if (!numbers) return { keys, values, hasNumbers: false };
  const named = keys.map((key) => (Number.isNaN(Number(key)) ? key : Number(key)));
  return { keys: named, values, hasNumbers: named.some((key) => typeof key === 'number') };
}

function sorted(keys, values) {
  const order = keys.map((_, i) => i).sort((i, j) => compareKeys(keys[i], keys[j]));
  return { keys: order.map((i) => keys[i]), values: order.map((i) => values[i]) };
}

/** The entries of a Map in the order of what `encode` makes of their keys. */
function sortEntries(keys, items, encode) {
  const order = sortByBytes([...keys.keys()], (i) => encode(keys[i]));
  return { keys: order.map((i) => keys[i]), items: order.map((i) => items[i]) };
}

/** Items in the order of what `encode` makes of them. */
function sortByBytes(items, encode) {
  const bytes = items.map((item) => encode(item));
  const order = items.map((_, i) => i).sort((i, j) => Buffer.compare(bytes[i], bytes[j]));
  return order.map((i) => items[i]);
}

module.exports = {
  ARRAY_BUFFER,
  codeOf,
  errorParts,
  flagsOf: (x) => flagsOf.call(x),
  select,
  sortByBytes,
  sortEntries,
  sourceOf: (x) => sourceOf.call(x),
  wholeSeconds,
};
