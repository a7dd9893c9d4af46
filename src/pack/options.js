'use strict';

// The options of packing, checked, as the walker and Rust take them.

const tape = require('../tape');
const { invalidOption } = require('../error');
const { checkMaxDepth, checkOptions, choice } = require('../options');

/** By option `undefinedAs`: a number of the walker's, and what is meant where none is given. */
const UNDEFINED_MODES = { omit: 0, nil: 1, throw: 2, undefined: 3 };

const FLOAT32_MODES = {
  always: tape.FLOAT32_ALWAYS,
  round: tape.FLOAT32_ALWAYS,
  fit: tape.FLOAT32_FIT,
};

function readFloat32(float32) {
  if (float32 === undefined || float32 === false) return 0;
  if (float32 === true) return tape.FLOAT32_LOSSLESS;
  if (typeof float32 === 'string' && Object.hasOwn(FLOAT32_MODES, float32)) {
    return FLOAT32_MODES[float32];
  }
  throw invalidOption('float32', float32, "a boolean, 'always', 'round' or 'fit'");
}

function readPackOptions(options, undefinedDefault = 'omit') {
  checkOptions(options);
  const { float32, maxDepth, undefinedAs = undefinedDefault } = options;
  return {
    flags: readFloat32(float32),
    maxDepth: checkMaxDepth(maxDepth),
    undefinedMode: choice('undefinedAs', undefinedAs, UNDEFINED_MODES),
  };
}

module.exports = { UNDEFINED_MODES, readPackOptions };
