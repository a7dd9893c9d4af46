'use strict';

// Objects whose keys are numbers that lie far apart. V8 keeps such properties in a table with a place
// for every number up to the largest, and for half as many more: {1000: 1}, five bytes of a message,
// takes twelve kilobytes. Where the numbers are too large for how many keys there are the object gets
// a hash table instead, as JSON.parse would make it.

/** Numbers up to this may have a place each, and so many more for every key. */
const FEW = 16;
const FOR_A_KEY = 2;
/** For numbers of more digits V8 makes no table anyway. */
const MAX_DIGITS = 4;
const MAX_INDEX = 10 ** MAX_DIGITS - 1;
/** A number for which it certainly makes none. */
const FAR = 1 << 24;

const CHAR_1 = 49;
const CHAR_9 = 57;

/** The largest number that may have a place where there are `count` keys. */
const limitOf = (count) => FOR_A_KEY * count + FEW;

/** Whether `key` is a number past `limit` that V8 would make a table for. */
function isFar(key, limit) {
  if (typeof key === 'string') {
    const { length } = key;
    if (length < 2 || length > MAX_DIGITS) return false;
    const first = key.charCodeAt(0);
    return first >= CHAR_1 && first <= CHAR_9 && Number(key) > limit;
  }
  return key > limit && key <= MAX_INDEX;
}

/** From now on `o` has a hash table for keys that are numbers. */
function makeSparse(o) {
  o[FAR] = 0;
  delete o[FAR];
}

/** Before these keys become properties of `o`, which has none. */
function prepareFor(o, keys) {
  const limit = limitOf(keys.length);
  if (keys.some((key) => isFar(key, limit))) makeSparse(o);
}

/** A new object for these keys. */
function emptyFor(keys) {
  const o = {};
  prepareFor(o, keys);
  return o;
}

/** Object.fromEntries, of entries in an array. */
function fromEntries(entries) {
  const limit = limitOf(entries.length);
  if (!entries.some(([key]) => isFar(key, limit))) return Object.fromEntries(entries);
  const o = {};
  makeSparse(o);
  for (const [key, value] of entries) {
    Object.defineProperty(o, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return o;
}

module.exports = { emptyFor, fromEntries, isFar, limitOf, makeSparse, prepareFor };
