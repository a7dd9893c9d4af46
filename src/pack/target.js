'use strict';

// The memory of the caller that packInto writes to.

const { MsgpackError } = require('../error');

function checkTarget(target) {
  if (!ArrayBuffer.isView(target)) {
    throw new MsgpackError(
      'ERR_MSGPACK_INVALID_INPUT',
      'The target of packInto is a Buffer or Uint8Array',
    );
  }
}

/** Whether a message of `length` bytes fits behind `offset`. */
function checkRoom(target, offset, length) {
  const room = target.byteLength - offset;
  if (length > room) {
    throw new MsgpackError(
      'ERR_MSGPACK_BUFFER_TOO_SMALL',
      `The message takes ${length} bytes; the target has ${Math.max(0, room)} from offset ${offset}`,
    );
  }
}

module.exports = { checkRoom, checkTarget };
