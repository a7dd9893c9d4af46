'use strict';

// The options of unpacking, checked, as Rust and the builder take them.

const tape = require('../tape');
const { checkBoolean, checkMaxDepth, checkOptions, choice } = require('../options');

const INT64_MODES = { auto: 0, bigint: 1, number: 2, string: 3 };
const UTF8_MODES = { replace: 0, fatal: tape.OPT_UTF8_FATAL, raw: tape.OPT_UTF8_RAW };
const MAP_MODES = { object: 0, map: tape.OPT_MAPS_MAP };
const TIMESTAMP_MODES = { date: 0, timestamp: tape.OPT_TIMESTAMPS };

/** `defaults` hold where the options do not say. */
function readUnpackOptions(options, defaults = { int64: 'auto', maps: 'object' }) {
  checkOptions(options);
  const {
    copyBuffers,
    int64 = defaults.int64,
    maps = defaults.maps,
    maxDepth,
    timestamps = 'date',
    utf8 = 'replace',
  } = options;
  return {
    copies: checkBoolean('copyBuffers', copyBuffers, false),
    flags:
      (choice('int64', int64, INT64_MODES) << tape.OPT_INT64_SHIFT) |
      choice('maps', maps, MAP_MODES) |
      choice('timestamps', timestamps, TIMESTAMP_MODES) |
      choice('utf8', utf8, UTF8_MODES),
    maxDepth: checkMaxDepth(maxDepth),
  };
}

module.exports = { readUnpackOptions };
