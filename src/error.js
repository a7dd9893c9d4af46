'use strict';

const { inspect } = require('node:util');

/**
 * What `pack` and `unpack` throw. `code` is stable; `offset` (unpack) is the byte of the input at
 * fault, `path` (pack) the place in the value.
 */
class MsgpackError extends Error {
  constructor(code, message, { offset, path, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (offset !== undefined) this.offset = offset;
    if (path !== undefined) this.path = path;
  }
}
Object.defineProperty(MsgpackError.prototype, 'name', {
  value: 'MsgpackError',
  writable: true,
  configurable: true,
});

/** An option with a value that it does not take, as Node reports it. */
function invalidOption(name, value, expected) {
  const shown = inspect(value, { depth: 0 });
  const error = new TypeError(`The option '${name}' must be ${expected}. Received ${shown}`);
  error.code = 'ERR_INVALID_ARG_VALUE';
  return error;
}

/** An argument of a kind that a function does not take, as Node reports it. */
function invalidArgument(message) {
  const error = new TypeError(message);
  error.code = 'ERR_INVALID_ARG_TYPE';
  return error;
}

/** Memory in proportion to a message was refused. */
function noMemory(cause) {
  const message = 'There is not enough memory for the message';
  return new MsgpackError('ERR_MSGPACK_TOO_LARGE', message, { cause });
}

module.exports = { MsgpackError, invalidArgument, invalidOption, noMemory };
