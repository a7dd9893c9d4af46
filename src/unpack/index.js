'use strict';

// unpack, unpackMultiple and unpackFrom: options, input of every kind, and the errors.

const { types } = require('node:util');
const tape = require('../tape');
const { MsgpackError, invalidOption } = require('../error');
const { DEFAULT_MAX_DEPTH, checkMaxDepth, checkOptions } = require('../limits');
const { createBuilder } = require('./build');

const INT64_MODES = { auto: 0, bigint: 1, number: 2, string: 3 };
const UTF8_MODES = { replace: 0, fatal: tape.OPT_UTF8_FATAL, raw: tape.OPT_UTF8_RAW };
const MAP_MODES = { object: 0, map: tape.OPT_MAPS_MAP };
const TIMESTAMP_MODES = { date: 0, timestamp: tape.OPT_TIMESTAMPS };

function createUnpack(binding) {
  const builder = createBuilder(binding);

  function run(bytes, options, mode, start) {
    let flags = 0;
    let maxDepth = DEFAULT_MAX_DEPTH;
    let copies = false;
    if (options !== undefined && options !== null) {
      ({ flags, maxDepth, copies } = readOptions(options));
    }
    let status = builder.parse(bytes, flags, maxDepth, mode, start);
    if (status === tape.FAULT_INPUT) {
      bytes = toUint8Array(bytes);
      if (bytes.length === 0) return empty(mode);
      status = builder.parse(bytes, flags, maxDepth, mode, start);
    }
    try {
      if (status === tape.STATUS_OK || status === tape.STATUS_MORE) {
        const value = builder.build(bytes, flags, copies, mode);
        // Of a message in parts a later one may turn out to be damaged.
        status = builder.status();
        if (status === tape.STATUS_OK) return value;
      }
    } catch (error) {
      builder.forget();
      throw error;
    }
    throw fault(status, builder.faultOffset());
  }

  function unpack(bytes, options) {
    return run(bytes, options, tape.MODE_ONE, 0);
  }

  function unpackMultiple(bytes, options) {
    return run(bytes, options, tape.MODE_ALL, 0);
  }

  function unpackFrom(bytes, offset = 0, options = undefined) {
    if (!Number.isInteger(offset) || offset < 0) {
      throw invalidOption('offset', offset, 'an integer of at least 0');
    }
    const value = run(bytes, options, tape.MODE_FROM, offset);
    return { value, end: builder.end() };
  }

  return { unpack, unpackFrom, unpackMultiple };
}

/** What no bytes at all unpack to. */
function empty(mode) {
  if (mode === tape.MODE_ALL) return [];
  throw fault(tape.FAULT_TRUNCATED, 0);
}

/** The bytes of any kind of view or buffer; shared memory is copied, since others may write it. */
function toUint8Array(input) {
  try {
    if (ArrayBuffer.isView(input)) {
      const view = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
      return types.isSharedArrayBuffer(input.buffer) ? new Uint8Array(view) : view;
    }
    if (types.isSharedArrayBuffer(input)) return new Uint8Array(new Uint8Array(input));
    if (types.isArrayBuffer(input)) return new Uint8Array(input);
  } catch (cause) {
    throw new MsgpackError('ERR_MSGPACK_INVALID_INPUT', 'The memory of the input was detached', {
      cause,
    });
  }
  const shown = input === null ? 'null' : typeof input;
  throw new MsgpackError(
    'ERR_MSGPACK_INVALID_INPUT',
    `The input is a Buffer, another view, an ArrayBuffer or a SharedArrayBuffer, not ${shown}`,
  );
}

const FAULTS = {
  [tape.FAULT_TRUNCATED]: ['TRUNCATED', 'The input ends in the middle of a value'],
  [tape.FAULT_EXTRA_BYTES]: ['EXTRA_BYTES', 'There are bytes behind the value'],
  [tape.FAULT_INVALID_BYTE]: ['INVALID_BYTE', 'The byte 0xc1 starts no value'],
  [tape.FAULT_INVALID_UTF8]: ['INVALID_UTF8', 'A string is not well-formed UTF-8'],
  [tape.FAULT_KEY]: ['KEY', 'A map has a key that is neither a string nor a number'],
  [tape.FAULT_DEPTH]: ['DEPTH', 'Nested deeper than maxDepth'],
  [tape.FAULT_TIMESTAMP]: ['TIMESTAMP', 'A timestamp that is none, or is no Date'],
  [tape.FAULT_TOO_LARGE]: ['TOO_LARGE', 'More than a string or the parser can hold'],
};

function fault(status, offset) {
  const [name, message] = FAULTS[status] ?? ['INTERNAL', `Fault ${status} in the parser`];
  return new MsgpackError(`ERR_MSGPACK_${name}`, `${message} (at byte ${offset})`, { offset });
}

function choice(name, value, choices) {
  if (typeof value !== 'string' || !Object.hasOwn(choices, value)) {
    const names = Object.keys(choices).map((each) => `'${each}'`);
    throw invalidOption(name, value, `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`);
  }
  return choices[value];
}

function readOptions(options) {
  checkOptions(options);
  const {
    copyBuffers = false,
    int64 = 'auto',
    maps = 'object',
    maxDepth,
    timestamps = 'date',
    utf8 = 'replace',
  } = options;
  if (typeof copyBuffers !== 'boolean')
    throw invalidOption('copyBuffers', copyBuffers, 'a boolean');
  return {
    flags:
      (choice('int64', int64, INT64_MODES) << tape.OPT_INT64_SHIFT) |
      choice('maps', maps, MAP_MODES) |
      choice('timestamps', timestamps, TIMESTAMP_MODES) |
      choice('utf8', utf8, UTF8_MODES),
    maxDepth: checkMaxDepth(maxDepth),
    copies: copyBuffers,
  };
}

module.exports = { createUnpack };
