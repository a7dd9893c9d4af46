'use strict';

const binding = require('../addon');
const { fault } = require('../unpack');
const { MAX_MAX_DEPTH, checkMaxDepth } = require('../options');

/**
 * Writes MessagePack that comes in pieces as lines for people, one a value. `write` and `end` return
 * the text that is certain by then. Bytes that are no MessagePack throw a MsgpackError, whose
 * `output` is the text up to the fault, which it points at.
 */
function createInspector({ colours = false, hex = false, maxDepth = MAX_MAX_DEPTH } = {}) {
  const native = new binding.Inspector(colours, hex, checkMaxDepth(maxDepth));

  function checked(output) {
    const code = native.faultCode();
    if (code === 0) return output;
    const error = fault(code, native.faultOffset());
    error.output = output;
    throw error;
  }

  return {
    write: (piece) => checked(native.write(piece)),
    end: () => checked(native.end()),
  };
}

module.exports = { createInspector };
