'use strict';

// Looking into a message without unpacking it. Rust finds a value, and only that is unpacked.

const { types } = require('node:util');
const tape = require('../tape');
const { DEPTH, LENGTH_F64, MAX_DEPTH, MODE, NODES_F64, OFFSET_F64, OPTIONS, TYPE } = tape;
const { FAULT_INPUT, FAULT_TRUNCATED, LOOK_END, LOOK_LENGTH, LOOK_START, LOOK_TYPE } = tape;
const { MODE_ALL, MODE_FROM, MODE_ONE, OPT_MAPS_MAP, STATUS, STATUS_ABSENT, STATUS_OK } = tape;
const { LEVEL_FLAT, LEVEL_MAP, OPT_UTF8_FATAL, OPT_UTF8_RAW, PLACE_ARRAY, PLACE_MAP } = tape;
const { PLACE_VALUE, TYPE_ARRAY, TYPE_MAP, VALUES_F64 } = tape;
const { invalidArgument } = require('../error');
const { plainFeatures } = require('../features');
const { DEFAULT_MAX_DEPTH, checkBoolean, checkOffset } = require('../options');
const { fault, toUint8Array } = require('../unpack');
const { readUnpackOptions } = require('../unpack/options');
const { valueAt } = require('./lazy');
const { entriesOf } = require('./path');

/** By the number that Rust gives. */
const TYPES = [
  'nil',
  'boolean',
  'integer',
  'float',
  'string',
  'binary',
  'array',
  'map',
  'timestamp',
  'ext',
];

const PLACES = { [TYPE_ARRAY]: PLACE_ARRAY, [TYPE_MAP]: PLACE_MAP };

const DEFAULTS = { copies: false, flags: 0, maxDepth: DEFAULT_MAX_DEPTH };
const NO_BYTES = new Uint8Array(0);

const readOptions = (options) =>
  options === undefined || options === null ? DEFAULTS : readUnpackOptions(options);

/** Input that Rust can read where it is. */
function viewOf(input) {
  const isPlain = types.isUint8Array(input) && !types.isSharedArrayBuffer(input.buffer);
  return isPlain ? input : toUint8Array(input);
}

/** The name of a property. */
function nameOf(key) {
  // Only what was written over since it was validated can be anything else.
  if (typeof key === 'object') throw fault(FAULT_INPUT);
  return String(key);
}

/** The functions for a codec that has these unpackers. `pack` is for paths. */
function createLook(binding, features, unpackers, pack) {
  let native = null;
  let T;
  let F;

  /** The native side, made when it is first needed. */
  function start() {
    const header = new ArrayBuffer(4 * tape.HEADER_WORDS);
    T = new Int32Array(header);
    F = new Float64Array(header);
    native = binding.createLooker();
    native.setHeader(header);
    extend();
  }

  /** The features' extensions have changed. */
  function extend() {
    if (native === null) return;
    for (const [type, kind] of features.kinds) native.setExtKind(type, kind);
  }

  /** Calls the native side. What it found is in the header: `false` if that is nothing. */
  function run(method, bytes, argument) {
    const answer = native[method](bytes, argument);
    const status = T[STATUS];
    if (status === STATUS_OK) return answer ?? true;
    if (status === STATUS_ABSENT) return false;
    if (status === FAULT_INPUT) {
      // Without bytes, or detached: then this throws.
      toUint8Array(bytes);
      throw fault(FAULT_TRUNCATED, 0);
    }
    throw fault(status, F[LENGTH_F64]);
  }

  /** Runs `method` with a path, that is read before the bytes are. */
  function runPath(method, bytes, path, { flags, maxDepth }, mode) {
    if (native === null) start();
    const entries = entriesOf(path, (flags & OPT_MAPS_MAP) !== 0);
    const packed = entries.length === 0 ? undefined : pack(entries);
    T[OPTIONS] = flags;
    T[MAX_DEPTH] = maxDepth;
    T[MODE] = mode;
    return run(method, bytes, packed);
  }

  const unpackAt = (bytes, at, { copies, flags, maxDepth }) =>
    unpackers.unpack(bytes, flags, maxDepth, copies, MODE_FROM, at);

  function get(bytes, path, options) {
    const read = readOptions(options);
    const view = viewOf(bytes);
    if (!runPath('find', view, path, read, LOOK_START)) return undefined;
    return unpackAt(view, F[OFFSET_F64], read);
  }

  function getMany(bytes, paths, options) {
    if (!Array.isArray(paths)) throw invalidArgument('The paths are an array of paths');
    const read = readOptions(options);
    const view = viewOf(bytes);
    const packed = pack(Array.from(paths, (path) => entriesOf(path, asMaps(read))));
    if (native === null) start();
    T[OPTIONS] = read.flags;
    if (paths.length === 0) return [];
    const places = new Float64Array(run('findMany', view, packed));
    return Array.from(places, (at) => (Number.isNaN(at) ? undefined : unpackAt(view, at, read)));
  }

  const asMaps = ({ flags }) => (flags & OPT_MAPS_MAP) !== 0;

  function slice(bytes, path = '', options = undefined) {
    const view = viewOf(bytes);
    if (!runPath('find', view, path, readOptions(options), LOOK_END)) return undefined;
    const at = F[OFFSET_F64];
    return Buffer.from(view.buffer, view.byteOffset + at, F[LENGTH_F64] - at);
  }

  const look = (bytes, path, options, mode) =>
    runPath('find', viewOf(bytes), path, readOptions(options), mode);

  function has(bytes, path = '', options = undefined) {
    return look(bytes, path, options, LOOK_START);
  }

  function typeAt(bytes, path = '', options = undefined) {
    return look(bytes, path, options, LOOK_TYPE) ? TYPES[T[TYPE]] : undefined;
  }

  function lengthAt(bytes, path = '', options = undefined) {
    const isThere = look(bytes, path, options, LOOK_LENGTH);
    return isThere && F[LENGTH_F64] >= 0 ? F[LENGTH_F64] : undefined;
  }

  function keysAt(bytes, path = '', options = undefined) {
    const read = readOptions(options);
    const memory = runPath('keys', viewOf(bytes), path, read, LOOK_START);
    if (!memory) return undefined;
    const keys = unpackKeys(new Uint8Array(memory), read);
    return [...new Set(keys)];
  }

  /** Keys that Rust has put into a message of their own, as names of properties unless for Maps. */
  function unpackKeys(packed, { copies, flags, maxDepth }) {
    if ((flags & OPT_MAPS_MAP) !== 0) {
      return unpackers.unpack(packed, flags, maxDepth, copies, MODE_ONE, 0);
    }
    const lenient = flags & ~(OPT_UTF8_FATAL | OPT_UTF8_RAW);
    return unpackers.unpack(packed, lenient, maxDepth, copies, MODE_ONE, 0).map(nameOf);
  }

  function lengthOf(bytes, offset = 0) {
    if (native === null) start();
    const view = viewOf(bytes);
    F[OFFSET_F64] = checkOffset(offset);
    run('lengthOf', view);
    return F[LENGTH_F64] - offset;
  }

  function prepareToValidate({ flags, maxDepth }, multiple) {
    if (native === null) start();
    T[OPTIONS] = flags;
    T[MAX_DEPTH] = maxDepth;
    T[MODE] = multiple ? MODE_ALL : MODE_ONE;
  }

  const summary = () => ({
    values: F[VALUES_F64],
    bytes: F[LENGTH_F64],
    depth: T[DEPTH],
    nodes: F[NODES_F64],
  });

  function validate(bytes, options) {
    const read = readOptions(options);
    const multiple = checkBoolean('multiple', options?.multiple, false);
    const view = viewOf(bytes);
    prepareToValidate(read, multiple);
    if (multiple && view.length === 0) {
      // Detached: then this throws.
      toUint8Array(view);
      return { values: 0, bytes: 0, depth: 0, nodes: 0 };
    }
    run('validate', view);
    return summary();
  }

  /**
   * A validator of bytes that come in pieces, in memory that does not grow with them. How many are
   * to come is not known: a container that claims too many entries is found where they are missing.
   */
  function createValidator(options) {
    const read = readOptions(options);
    const multiple = checkBoolean('multiple', options?.multiple, false);
    if (native === null) start();
    let number = native.openStream();

    function feed(piece, isLast) {
      if (number === -1) throw new Error('The validator has ended');
      prepareToValidate(read, multiple);
      let isOver = true;
      try {
        native.feed(piece, number, isLast ? 1 : 0);
        if (T[STATUS] !== STATUS_OK) throw fault(T[STATUS], F[LENGTH_F64]);
        isOver = isLast;
      } finally {
        if (isOver) {
          native.closeStream(number);
          number = -1;
        }
      }
    }

    return {
      write(chunk) {
        const view = viewOf(chunk);
        if (view.length > 0) feed(view, false);
      },
      end() {
        feed(NO_BYTES, true);
        return summary();
      },
    };
  }

  /** One container of a message that has been validated: where its values are, and its keys. */
  function level(bytes, at, isMap, read) {
    F[OFFSET_F64] = at;
    const memory = run('level', bytes);
    const bits = T[TYPE];
    // Written over since then.
    if (!memory || ((bits & LEVEL_MAP) !== 0) !== isMap) throw fault(FAULT_INPUT);
    const isFlat = (bits & LEVEL_FLAT) !== 0;
    const values = new Float64Array(memory, 0, F[VALUES_F64]);
    const hasKeys = isMap && !isFlat;
    const keys = hasKeys ? unpackKeys(new Uint8Array(memory, values.byteLength), read) : null;
    return { isFlat, keys, values };
  }

  const codec = { level, unpackAt };

  function lazy(bytes, options) {
    const read = readOptions(options);
    const view = viewOf(bytes);
    prepareToValidate(read, false);
    run('validate', view);
    runPath('find', view, '', read, LOOK_TYPE);
    return valueAt(codec, view, 0, PLACES[T[TYPE]] ?? PLACE_VALUE, read);
  }

  /** What looks, for those that call it by themselves. */
  function looker() {
    if (native === null) start();
    return native;
  }

  return {
    createValidator,
    extend,
    get,
    getMany,
    has,
    keysAt,
    lazy,
    lengthAt,
    lengthOf,
    looker,
    slice,
    typeAt,
    validate,
  };
}

/**
 * A validator by itself, for bytes that come in pieces and have no extensions: `write(chunk)`, and
 * `end()`, which returns what `validate` does. Both throw what is wrong, offsets counted over all.
 */
function createValidator(options) {
  return createLook(require('../../binding.js'), plainFeatures(), null, null).createValidator(
    options,
  );
}

module.exports = { createLook, createValidator };
