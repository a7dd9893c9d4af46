'use strict';

// What the readers of streams take besides the options of unpacking.

const { checkBoolean, checkCount } = require('../options');

/** A message of a stream is no larger, unless the user says so. */
const MAX_MESSAGE_BYTES = 64 << 20;

function readStreamOptions({ copyBuffers, maxMessageSize, ...rest }) {
  return {
    maxMessageSize: checkCount(
      'maxMessageSize',
      maxMessageSize,
      Number.MAX_SAFE_INTEGER,
      MAX_MESSAGE_BYTES,
    ),
    // The source of the stream may use the memory of a chunk again.
    rest: { ...rest, copyBuffers: checkBoolean('copyBuffers', copyBuffers, true) },
  };
}

module.exports = { readStreamOptions };
