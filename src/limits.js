'use strict';

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
  if (typeof options !== 'object') throw invalidOption('options', options, 'an object');
}

module.exports = { DEFAULT_MAX_DEPTH, checkMaxDepth, checkOptions };
