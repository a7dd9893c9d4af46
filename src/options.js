'use strict';

// How options are checked: a value that an option does not take is the caller's mistake, and said
// so before anything else happens.

const { invalidOption } = require('./error');

/** Containers within containers, both ways: whatever packs, unpacks. */
const DEFAULT_MAX_DEPTH = 1000;
/** More than this is no limit but a way to run out of memory. */
const MAX_MAX_DEPTH = 1_000_000;

function checkMaxDepth(maxDepth = DEFAULT_MAX_DEPTH) {
  if (maxDepth !== Infinity && (!Number.isInteger(maxDepth) || maxDepth < 1)) {
    throw invalidOption('maxDepth', maxDepth, 'an integer of at least 1, or Infinity');
  }
  return Math.min(maxDepth, MAX_MAX_DEPTH);
}

function checkOptions(options) {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption('options', options, 'an object');
  }
}

/** What the name `value` stands for in `choices`. */
function choice(name, value, choices) {
  if (typeof value !== 'string' || !Object.hasOwn(choices, value)) {
    const names = Object.keys(choices).map((each) => `'${each}'`);
    throw invalidOption(name, value, `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`);
  }
  return choices[value];
}

function checkBoolean(name, value, fallback) {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw invalidOption(name, value, 'a boolean');
  return value;
}

function checkFunction(name, value) {
  if (value === undefined) return null;
  if (typeof value !== 'function') throw invalidOption(name, value, 'a function');
  return value;
}

/** A count from 0 to `most`. */
function checkCount(name, value, most, fallback) {
  if (value === undefined) return fallback;
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw invalidOption(name, value, `an integer from 0 to ${most}`);
  }
  return value;
}

/** Where a message is to be packed or unpacked. */
function checkOffset(offset) {
  if (!Number.isInteger(offset) || offset < 0) {
    throw invalidOption('offset', offset, 'an integer of at least 0');
  }
  return offset;
}

module.exports = {
  DEFAULT_MAX_DEPTH,
  MAX_MAX_DEPTH,
  checkBoolean,
  checkCount,
  checkFunction,
  checkMaxDepth,
  checkOffset,
  checkOptions,
  choice,
};
