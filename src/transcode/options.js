'use strict';

// The options of going from JSON text to MessagePack and back, checked, as Rust takes them.

const tape = require('../tape');
const {
  DEFAULT_MAX_DEPTH,
  checkBoolean,
  checkMaxDepth,
  checkOptions,
  choice,
} = require('../options');
const { invalidOption } = require('../error');

const BINARY_MODES = { base64: 0, hex: tape.BINARY_HEX, array: tape.BINARY_ARRAY };
const UTF8_MODES = { replace: 0, fatal: tape.OPT_JSON_UTF8_FATAL };
const NON_FINITE_MODES = { null: 0, throw: tape.OPT_THROW_NON_FINITE };
/** As far as JSON.stringify indents. */
const MAX_SPACE = 10;

const NO_SPACE = [];
const DEFAULTS = { flags: 0, maxDepth: DEFAULT_MAX_DEPTH, space: NO_SPACE };

function readToJsonOptions(options) {
  if (options === undefined || options === null) return DEFAULTS;
  checkOptions(options);
  const { binary = 'base64', maxDepth, multiple, nonFinite = 'null', space } = options;
  const { utf8 = 'replace' } = options;
  return {
    flags:
      choice('binary', binary, BINARY_MODES) |
      choice('nonFinite', nonFinite, NON_FINITE_MODES) |
      choice('utf8', utf8, UTF8_MODES) |
      (checkBoolean('multiple', multiple, false) ? tape.OPT_MULTIPLE : 0),
    maxDepth: checkMaxDepth(maxDepth),
    space: checkSpace(space),
  };
}

function readFromJsonOptions(options) {
  if (options === undefined || options === null) return DEFAULTS;
  checkOptions(options);
  const { binary = 'base64', exts, maxDepth, multiple, utf8 = 'replace' } = options;
  return {
    flags:
      choice('binary', binary, BINARY_MODES) |
      choice('utf8', utf8, UTF8_MODES) |
      (checkBoolean('exts', exts, false) ? tape.OPT_READ_EXTS : 0) |
      (checkBoolean('multiple', multiple, false) ? tape.OPT_MULTIPLE : 0),
    maxDepth: checkMaxDepth(maxDepth),
    space: NO_SPACE,
  };
}

/** What a level is indented by, in an array; nothing where there is to be no white space. */
function checkSpace(space = 0) {
  if (Number.isInteger(space) && space >= 0) {
    return space === 0 ? NO_SPACE : [' '.repeat(Math.min(space, MAX_SPACE))];
  }
  if (typeof space === 'string') return space === '' ? NO_SPACE : [space.slice(0, MAX_SPACE)];
  throw invalidOption('space', space, 'an integer of at least 0, or a string');
}

module.exports = { readFromJsonOptions, readToJsonOptions };
