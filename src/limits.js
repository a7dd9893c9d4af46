'use strict';

const { invalidOption } = require('./error');

/** Containers within containers, both ways: whatever packs, unpacks. */
const DEFAULT_MAX_DEPTH = 1000;
const MAX_MAX_DEPTH = 2 ** 31 - 1;

function checkMaxDepth(maxDepth = DEFAULT_MAX_DEPTH) {
  if (maxDepth === Infinity) return MAX_MAX_DEPTH;
  if (!Number.isInteger(maxDepth) || maxDepth < 1 || maxDepth > MAX_MAX_DEPTH) {
    throw invalidOption('maxDepth', maxDepth, 'an integer of at least 1');
  }
  return maxDepth;
}

module.exports = { DEFAULT_MAX_DEPTH, checkMaxDepth };
