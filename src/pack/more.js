'use strict';

// What goes out of the kinds that only some codecs know: the parts of errors, the codes of typed
// arrays, and which properties of an object go out when not all do.

const { types } = require('node:util');
const { DATA_VIEW, TYPED_ARRAYS } = require('../typed-arrays');

const { getOwnPropertyDescriptor, getPrototypeOf } = Object;

/** By name of a class. */
const CODES = Object.fromEntries(TYPED_ARRAYS.map(({ name }, code) => [name, code]));

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
  const name = String(error.name);
  const parts = [name, String(error.message), error.cause];
  const isAggregate = name === 'AggregateError' || error instanceof AggregateError;
  if (isAggregate && Array.isArray(error.errors)) parts.push(error.errors);
  return parts;
}

/** What can be said in 32 bits of seconds loses its fraction. */
function wholeSeconds(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds >= 0 && seconds < 2 ** 32 ? seconds * 1000 : milliseconds;
}

/** The bytes of a view or a buffer, in memory of their own. */
function copyOf(data) {
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  return Buffer.from(bytes);
}

const SURROGATE = /[\ud800-\udfff]/;

/** By UTF-8 bytes. The order of UTF-16 units is the same where there are no surrogates. */
function compareKeys(a, b) {
  const units = a < b ? -1 : 1;
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return units;
  // Lone ones are written alike.
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) || units;
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

/** The entries of a Map in the order of what is written for their keys. */
function sortEntries(map, keys, items, filter) {
  // Keys that are two objects may be written alike.
  const order = orderOf(map, keys, filter, (i) => filter.encode(items[i]));
  return { keys: order.map((i) => keys[i]), items: order.map((i) => items[i]) };
}

/** The elements of a Set in the order of what is written for them. */
function sortValues(set, values, filter) {
  return orderOf(set, values, filter).map((i) => values[i]);
}

/**
 * The order of `items`, which `container` has: found once, because what lies deep in sets of sets is
 * sorted on every way that leads there.
 */
function orderOf(container, items, { encode, orders }, ties = null) {
  const known = orders.get(container);
  const isSame =
    known?.items.length === items.length &&
    items.every((item, i) => Object.is(item, known.items[i]));
  if (isSame) return known.order;
  const order = items.map((_, i) => i);
  // What holds itself meets this while its own order is not known.
  orders.set(container, { items, order });
  const bytes = items.map((item) => encode(item));
  const sorted = order.slice().sort((i, j) => {
    const difference = Buffer.compare(bytes[i], bytes[j]);
    return difference !== 0 || ties === null ? difference : Buffer.compare(ties(i), ties(j));
  });
  orders.set(container, { items, order: sorted });
  return sorted;
}

module.exports = {
  codeOf,
  copyOf,
  errorParts,
  flagsOf: (x) => flagsOf.call(x),
  select,
  sortEntries,
  sortValues,
  sourceOf: (x) => sourceOf.call(x),
  wholeSeconds,
};
