'use strict';

// JSON text to MessagePack and back, without a value in between.

const { MsgpackError } = require('../error');
const {
  FAULT_DEPTH,
  FAULT_INVALID_UTF8,
  FAULT_JSON,
  FAULT_KEY,
  FAULT_TOO_LARGE,
} = require('../tape');
const { Slab } = require('../slab');
const { fault, toUint8Array } = require('../unpack');
const { readFromJsonOptions, readToJsonOptions } = require('./options');

/** Small results are slices of a slab; its size bounds what one of them keeps alive. */
const SLAB = 16 << 10;
const SMALL_RESULT = 2 << 10;

const NONE = new Uint8Array(0);

/** `kinds` says what the ext types mean to the parser, as features do. */
function createTranscode(binding, features) {
  let native = null;
  const slab = new Slab(SLAB, SMALL_RESULT);

  function transcoder() {
    if (native === null) {
      native = binding.createTranscoder();
      extend();
    }
    return native;
  }

  /** The features' extensions have changed. */
  function extend() {
    if (native === null) return;
    for (const [type, kind] of features.kinds) native.setExtKind(type & 0xff, kind);
  }

  function jsonToMsgpack(json, options) {
    const { flags, maxDepth, space } = readFromJsonOptions(options);
    const length = transcoder().fromJson(jsonText(json), flags, maxDepth, space);
    if (typeof length !== 'number') throw jsonFault(length);
    const message = memory(length);
    native.takeMessage(message);
    return message;
  }

  function msgpackToJson(bytes, options) {
    const { flags, maxDepth, space } = readToJsonOptions(options);
    const length = transcoder().toJson(toUint8Array(bytes), flags, maxDepth, space);
    if (typeof length !== 'number') throw messageFault(length);
    const text = memory(length);
    native.takeText(text);
    return text;
  }

  /** Memory for a result. */
  function memory(length) {
    if (length <= SMALL_RESULT) {
      slab.prepare();
      return slab.slice(length);
    }
    try {
      return Buffer.allocUnsafeSlow(length);
    } catch (cause) {
      const error = named('TOO_LARGE', `A result of ${length} bytes`, { cause });
      // What waits there is let go of.
      native.takeMessage(NONE);
      native.takeText(NONE);
      throw error;
    }
  }

  /** Transcodes messages that come in pieces; `path` names a value within each of them. */
  function createToJson(options, path = []) {
    const { flags, maxDepth, space } = readToJsonOptions({ ...options, multiple: true });
    const stream = transcoder().openToJson(flags, maxDepth, space, path.map(String));
    return pieces(stream, messageFault);
  }

  /** Transcodes JSON texts, one behind the other, that come in pieces. */
  function createFromJson(options) {
    const { flags, maxDepth, space } = readFromJsonOptions({ ...options, multiple: true });
    return pieces(transcoder().openFromJson(flags, maxDepth, space), jsonFault);
  }

  /** Counts the elements of a JSON text that is one array and comes in pieces; −1 for any other. */
  function createCount() {
    const stream = transcoder().openCount();
    return {
      write: (chunk) => stream.write(toUint8Array(chunk), 0),
      end: () => stream.write(NONE, 1),
    };
  }

  /** The same as `createFromJson` for one text that is an array of so many elements. */
  function createFromJsonArray(options, total) {
    const { flags, maxDepth, space } = readFromJsonOptions(options);
    return pieces(transcoder().openArray(flags, maxDepth, space, total), jsonFault);
  }

  return {
    createCount,
    createFromJsonArray,
    createFromJson,
    createToJson,
    extend,
    jsonToMsgpack,
    msgpackToJson,
    transcoder,
  };
}

/** What a stream of pieces is transcoded with; an error has the `output` of what came before it. */
function pieces(stream, error) {
  const call = (chunk, isLast) => {
    const result = stream.write(chunk, isLast);
    return bytesOr((found) => Object.assign(error(found), { output: found.output }), result);
  };
  return { write: (chunk) => call(toUint8Array(chunk), 0), end: () => call(NONE, 1) };
}

/** A JSON text as native code takes it. */
function jsonText(json) {
  return typeof json === 'string' ? json : toUint8Array(json);
}

/** What native code returns: bytes, or an object that says what went wrong. */
function bytesOr(error, result) {
  if (Buffer.isBuffer(result)) return result;
  throw error(result);
}

function messageFault({ code, offset }) {
  if (code === FAULT_JSON) {
    return named('JSON', `JSON has no NaN and no infinity (at byte ${offset})`, { offset });
  }
  if (code === FAULT_KEY) {
    return named('KEY', `A key within a key is an array or a map (at byte ${offset})`, { offset });
  }
  return fault(code, offset);
}

const NAMES = {
  [FAULT_DEPTH]: 'DEPTH',
  [FAULT_INVALID_UTF8]: 'INVALID_UTF8',
  [FAULT_JSON]: 'JSON',
  [FAULT_TOO_LARGE]: 'TOO_LARGE',
};

function jsonFault({ code, column, line, message, offset }) {
  // The text was right; no Buffer can be so long.
  if (message === undefined) return fault(code, offset);
  const where = `at byte ${offset}, line ${line}, column ${column}`;
  const error = named(NAMES[code] ?? 'INTERNAL', `Bad JSON: ${message} (${where})`, { offset });
  return Object.assign(error, { line, column });
}

function named(name, message, where) {
  return new MsgpackError(`ERR_MSGPACK_${name}`, message, where);
}

module.exports = { bytesOr, createTranscode, jsonText, jsonFault, messageFault };
