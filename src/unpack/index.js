'use strict';

// Unpackers: input of every kind, the errors, and what happens when an extension unpacks something
// in the middle of a message.

const { types } = require('node:util');
const { FAULT_DEPTH, FAULT_EXTENSION, FAULT_EXTRA_BYTES, FAULT_INPUT } = require('../tape');
const { FAULT_INVALID_BYTE, FAULT_INVALID_UTF8, FAULT_KEY, FAULT_RECORD } = require('../tape');
const { OPT_LENIENT, OPT_MAPS_MAP } = require('../tape');
const { MODE_STREAM } = require('../tape');
const { FAULT_REFERENCE, FAULT_TIMESTAMP, FAULT_TOO_LARGE, FAULT_TRUNCATED } = require('../tape');
const { MODE_ALL, MODE_ONE, STATUS_MORE, STATUS_OK } = require('../tape');
const { MsgpackError } = require('../error');
const { codeFor } = require('../own-code');

/** Builders for messages within messages; more than this many are not kept. */
const MAX_SPARE = 16;

/**
 * Unpacks by a codec's features: `unpack(bytes, flags, maxDepth, copies, mode, start)`, and `end()`,
 * where the last value ended.
 */
function createUnpackers(binding, features) {
  const main = createOne(binding, features);
  const { isCalling } = main;
  const spare = [];
  let lastEnd = main.end;

  function unpack(bytes, flags, maxDepth, copies, mode, start) {
    if (isCalling()) return withSpare(bytes, flags, maxDepth, copies, mode, start);
    const value = main.unpack(bytes, flags, maxDepth, copies, mode, start);
    lastEnd = main.end;
    return value;
  }

  /** `unpack` with all but the bytes said once. */
  function bind(flags, maxDepth, copies, mode) {
    return function unpackBound(bytes) {
      if (isCalling()) return withSpare(bytes, flags, maxDepth, copies, mode, 0);
      return main.unpack(bytes, flags, maxDepth, copies, mode, 0);
    };
  }

  function withSpare(...args) {
    const unpacker = spare.pop() ?? createOne(binding, features);
    try {
      const value = unpacker.unpack(...args);
      lastEnd = unpacker.end;
      return value;
    } finally {
      if (spare.length < MAX_SPARE) spare.push(unpacker);
    }
  }

  /** The features' extensions have changed. */
  function extend() {
    for (const one of [main, ...spare]) teach(one);
  }

  function teach({ native }) {
    for (const [type, kind] of features.kinds) native.setExtKind(type, kind);
  }

  /** One that the caller keeps, and that is taught what `extend` would. */
  const create = () => createOne(binding, features);

  /** One that is not in the middle of a message, for a reader that keeps it. */
  const free = () => (isCalling() ? createOne(binding, features) : main);

  /** Whether structures that a message lacks could be loaded. */
  const loadStructures = () => features.missingStructures?.(main.native) ?? false;

  return {
    bind,
    create,
    end: () => lastEnd(),
    extend,
    free,
    loadStructures,
    main,
    native: main.native,
    teach,
    unpack,
  };
}

function createOne(binding, features) {
  const { createBuilder } = codeFor(features, require, './build', () => require('./build'));
  const builder = createBuilder(binding, features);
  const { missingStructures = null, prepareUnpacker = null } = features;

  function unpack(bytes, flags, maxDepth, copies, mode, start) {
    if (prepareUnpacker !== null) prepareUnpacker(builder.native);
    let status = builder.parse(bytes, flags, maxDepth, mode, start);
    if (status === FAULT_INPUT) {
      bytes = toUint8Array(bytes);
      if (bytes.length === 0) return empty(mode);
      status = builder.parse(bytes, flags, maxDepth, mode, start);
    }
    if (status === FAULT_RECORD && missingStructures !== null) {
      const offset = builder.faultOffset();
      if (!missingStructures(builder.native)) throw fault(status, offset);
      status = builder.parse(bytes, flags, maxDepth, mode, start);
    }
    const textKeys = status === FAULT_KEY && (flags & OPT_LENIENT) !== 0;
    const keyOffset = textKeys ? builder.faultOffset() : 0;
    if (textKeys) {
      // Keys that are no keys of objects, but have a text: parsed again as those of Maps.
      flags |= OPT_MAPS_MAP;
      status = builder.parse(bytes, flags, maxDepth, mode, start);
    }
    try {
      if (status === STATUS_OK || status === STATUS_MORE) {
        const value = builder.build(bytes, flags, copies, mode, textKeys);
        // Of a message in parts a later one may turn out to be damaged.
        status = builder.status();
        if (status === STATUS_OK) return value;
      }
    } catch (error) {
      builder.forget();
      if (textKeys && error instanceof MsgpackError) error.offset ??= keyOffset;
      throw error;
    }
    throw fault(status, builder.faultOffset());
  }

  /** One message that was parsed ahead; `turn()` is waited for again and again while it is built. */
  async function unpackInTurns(bytes, flags, maxDepth, copies, turn) {
    const status = builder.parse(bytes, flags, maxDepth, MODE_ONE, 0);
    if (status === STATUS_OK || status === STATUS_MORE) {
      try {
        const value = await builder.buildInTurns(bytes, flags, copies, turn);
        if (builder.status() === STATUS_OK) return value;
      } catch (error) {
        builder.forget();
        throw error;
      }
      throw fault(builder.status(), builder.faultOffset());
    }
    // For one reason or another it is not built as it is.
    return unpack(bytes, flags, maxDepth, copies, MODE_ONE, 0);
  }

  /**
   * All messages of a piece of a stream, from `start` on. Where they end, and why there are no more,
   * `end`, `stopped` and `faultOffset` say.
   */
  function unpackPiece(bytes, flags, maxDepth, copies, start) {
    if (prepareUnpacker !== null) prepareUnpacker(builder.native);
    const status = builder.parse(bytes, flags, maxDepth, MODE_STREAM, start);
    try {
      if (status === STATUS_OK || status === STATUS_MORE) {
        const values = builder.build(bytes, flags, copies, MODE_STREAM, false);
        if (builder.status() === STATUS_OK) return values;
      }
    } catch (error) {
      builder.forget();
      throw error;
    }
    throw fault(builder.status(), builder.faultOffset());
  }

  const { end, faultOffset, isCalling, missing, native, parseAhead, scan, stopped } = builder;
  return {
    end,
    faultOffset,
    isCalling,
    missing,
    native,
    parseAhead,
    scan,
    stopped,
    unpack,
    unpackInTurns,
    unpackPiece,
  };
}

/** What no bytes at all unpack to. */
function empty(mode) {
  if (mode === MODE_ALL) return [];
  throw fault(FAULT_TRUNCATED, 0);
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
  [FAULT_TRUNCATED]: ['TRUNCATED', 'The input ends in the middle of a value'],
  [FAULT_EXTRA_BYTES]: ['EXTRA_BYTES', 'There are bytes behind the value'],
  [FAULT_INVALID_BYTE]: ['INVALID_BYTE', 'The byte 0xc1 starts no value'],
  [FAULT_INVALID_UTF8]: ['INVALID_UTF8', 'A string is not well-formed UTF-8'],
  [FAULT_KEY]: ['KEY', 'A map has a key that is neither a string nor a number'],
  [FAULT_DEPTH]: ['DEPTH', 'Nested deeper than maxDepth'],
  [FAULT_TIMESTAMP]: ['TIMESTAMP', 'A timestamp that is none, or is no Date'],
  [FAULT_TOO_LARGE]: ['TOO_LARGE', 'More than maxMessageSize, a string or the parser can hold'],
  [FAULT_INPUT]: [
    'INVALID_INPUT',
    'The memory of the input was cut, detached or written over meanwhile',
  ],
  [FAULT_RECORD]: [
    'RECORD',
    'A record of a structure that nothing defines, or its definition is damaged',
  ],
  [FAULT_REFERENCE]: [
    'REFERENCE',
    'A pointer to an object that is not there, or an id that is none',
  ],
  [FAULT_EXTENSION]: ['EXTENSION', 'The value behind a tag is not what the tag says'],
};

function fault(status, offset) {
  const [name, message] = FAULTS[status] ?? ['INTERNAL', `Fault ${status} in the parser`];
  if (status === FAULT_INPUT) return new MsgpackError(`ERR_MSGPACK_${name}`, message);
  return new MsgpackError(`ERR_MSGPACK_${name}`, `${message} (at byte ${offset})`, { offset });
}

module.exports = { createUnpackers, fault, toUint8Array };
