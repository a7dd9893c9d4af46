'use strict';

// Tape → value. Every word says what it is; a container's word points at its block, which holds
// the words of its entries, so that a compiled constructor reads them at fixed places.
//
// Texts come in the order in which their strings are met: a string at offset 0 of a block opens the
// next text. Nothing here runs code of the user's.

const { CONST_EMPTY_ARRAY, CONST_EMPTY_OBJECT, CONST_EMPTY_STR } = require('../tape');
const { CONST_FALSE, CONST_INVALID_DATE, CONST_NIL, CONST_TRUE } = require('../tape');
const { CONST_UNDEFINED, DEPTH, GENERATION, HEADER_WORDS, K_INHERITED } = require('../tape');
const { K_KNOWN, K_NEW, LENGTH_F64, MAX_DEPTH, MODE, MODE_ALL, MODE_ONE } = require('../tape');
const { MODE_REST_OF_FROM, MODE_REST_OF_ONE, OFFSET_F64, OPTIONS } = require('../tape');
const { OPT_MAPS_MAP, RARE_BIGINT, RARE_ID, RARE_INT64, RARE_INT64_TEXT } = require('../tape');
const { RARE_NEW_STR, RARE_RECORD, RARE_REF, RARE_TAG, RARE_TIMESTAMP } = require('../tape');
const { RARE_TYPED, RARE_UINT64, RARE_UINT64_TEXT, ROOT, STATUS } = require('../tape');
const { FAULT_INPUT, MODE_STREAM, STOPPED } = require('../tape');
const { STATUS_GROW, STATUS_MORE, STATUS_OK, STR_LENGTH_BITS, TAG_BITS } = require('../tape');
const { USED, U_ARRAY, U_BIN, U_CONST, U_DATE, U_EXT, U_INT, U_INTS } = require('../tape');
const { U_KNOWN_STR, U_LONG_STR, U_MAP, U_NUMBER, U_NUMBERS, U_OBJECT } = require('../tape');
const { U_RARE, U_STR, U_WIDE_STR } = require('../tape');
const { canCompile } = require('../codegen');
const { FastBuffer } = require('../fast-buffer');
const { Heat } = require('../heat');
const { Ext } = require('../ext');
const { Timestamp } = require('../timestamp');
const { compileConstructor } = require('./compile');
const { MsgpackError, noMemory } = require('../error');
const { checkGrown } = require('./collisions');
const more = require('./more');
const { emptyFor, isFar, limitOf, makeSparse } = require('./sparse');

const TAG_MASK = (1 << TAG_BITS) - 1;
const LENGTH_MASK = (1 << STR_LENGTH_BITS) - 1;
const OFFSET_SHIFT = TAG_BITS + STR_LENGTH_BITS;

/** Keys in all that constructors are compiled for, until the shapes start anew. */
const MAX_COMPILED_KEYS = 1 << 15;
/** Objects with more keys are made as hash tables from the start. */
const DICTIONARY = 128;
/** `new Array(n)` above this makes a dictionary; such an array grows instead. */
const MAX_PREALLOCATED = 1 << 24;
/** Messages that nest deeper are built without recursion. */
const RECURSION = 256;
/** The tape at first; it never gets shorter. */
const MIN_WORDS = 1 << 13;
/** Messages in a row that leave three quarters of the tape unused before it is halved. */
const SHRINK_AFTER = 64;

const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const plain = Object.prototype;

// An input of a subclass may have getters of its own under these names: user code, in the middle.
const TypedArray = getPrototypeOf(Uint8Array.prototype);
const bufferOf = getOwnPropertyDescriptor(TypedArray, 'buffer').get;
const lengthOf = getOwnPropertyDescriptor(TypedArray, 'length').get;
const byteOffsetOf = getOwnPropertyDescriptor(TypedArray, 'byteOffset').get;

/** Where a Map of a deep message has no key waiting for its value. */
const NO_KEY = Symbol('no key');

/** What objects inherit from the language; Rust marks keys of these names. */
const INHERITED = new Set([
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  'toString',
  'valueOf',
]);

/**
 * An object that starts as a hash table. One that grows key by key may follow the hidden classes
 * that another object with these keys has left, at three times the cost (`bench/` workload
 * `dictionary-2k`).
 */
function emptyDictionary() {
  return Object.setPrototypeOf(Object.create(null), plain);
}

/** Memory in proportion to the message, which may not be there. */
function allocated(allocate) {
  try {
    return allocate();
  } catch (cause) {
    throw noMemory(cause);
  }
}

const isSeries = (mode) => mode === MODE_ALL || mode === MODE_STREAM;

/** The mode in which the next part is asked for. */
function restOf(mode) {
  if (isSeries(mode)) return mode;
  return mode === MODE_ONE ? MODE_REST_OF_ONE : MODE_REST_OF_FROM;
}

/** Whether objects inherit no more than that: then any other key can be assigned. */
function isPlainUntouched() {
  return Object.getOwnPropertyNames(plain).every((name) => INHERITED.has(name));
}

/**
 * A builder with its tape, for the native parser that works on it. `features` is what the codec
 * does beyond the standard.
 */
function createBuilder(binding, features) {
  const native = binding.createParser();
  const { extensions, untouched } = features;
  for (const [type, kind] of features.kinds) native.setExtKind(type, kind);
  if (features.sequential) native.setSequential(1);
  let T;
  let F;
  let B;
  let words = 0;
  let idle = 0;

  /** The current Latin-1 block, the current UTF-16 block, and where the next text comes from. */
  let text = '';
  let wide = '';
  let texts = '';
  let nextText = 0;

  /** Whether keys can be assigned; asked by the first map that needs to know, once a message or slice. */
  let trusting;
  /** Parsed, but not built: what the message taught has not arrived. */
  let isPending = false;

  /** Whether an extension's code is running, in the middle of a message. */
  let isCalling = false;
  /** Objects of this message that are pointed at, by their ids. */
  let references = null;
  /** By serial: names of structures that are no shapes. */
  const structures = new Map();

  let source = null;
  let copyBuffers = false;
  let asMaps = false;
  /** Maps were parsed with keys of any kind, but are to be objects. */
  let keysAreText = false;

  /** By id: short strings that came before, and keys of dictionaries. */
  const known = [];
  const knownKeys = [];

  let generation = 0;
  /** By shape id: a compiled constructor, undefined where there is none. */
  let constructors = [];
  let shapes = new Map();
  let compiledKeys = 0;
  const heat = new Heat('unpack');

  function resize(size) {
    const memory = allocated(() => new ArrayBuffer(8 * Math.ceil(size / 2)));
    const header = T?.subarray(0, HEADER_WORDS);
    T = new Int32Array(memory);
    F = new Float64Array(memory);
    B = new BigInt64Array(memory);
    if (header !== undefined) T.set(header);
    words = T.length;
    idle = 0;
    native.setTape(memory);
  }
  resize(MIN_WORDS);

  /**
   * Parses `bytes` from `start` onto the tape, or a first part of them. Returns the status; the
   * texts are kept for `build`.
   */
  function parse(bytes, options, maxDepth, mode, start) {
    // No `catch` runs when a script is ended from outside.
    if (isPending) forget();
    isPending = true;
    trusting = undefined;
    T[OPTIONS] = options;
    T[MAX_DEPTH] = maxDepth;
    const status = parsePart(bytes, mode, start, 0);
    // Nothing was parsed, or all of it has been taken back.
    if (status !== STATUS_OK && status !== STATUS_MORE) isPending = false;
    return status;
  }

  /** A job on another thread; then `parse` and `build` with the same arguments find the message parsed. */
  function parseAhead(bytes, options, maxDepth) {
    T[OPTIONS] = options;
    T[MAX_DEPTH] = maxDepth;
    T[MODE] = MODE_ONE;
    return native.parseAhead(bytes);
  }

  function parsePart(bytes, mode, start, left) {
    T[MODE] = mode;
    if (mode !== MODE_ONE) {
      F[OFFSET_F64] = start;
      F[LENGTH_F64] = left;
    }
    texts = native.parse(bytes);
    nextText = 0;
    const status = T[STATUS];
    if (status !== STATUS_GROW) return status;
    resize(F[LENGTH_F64]);
    return parsePart(bytes, mode, start, left);
  }

  /** Builds the value that the tape describes, and parses on where that is only a first part. */
  function build(bytes, options, copies, mode, textKeys) {
    open(bytes, options, copies, textKeys);
    const result = T[STATUS] === STATUS_MORE ? parts(bytes, mode) : whole(T[ROOT]);
    release();
    return result;
  }

  /** The same of one message, a promise: between parts `turn` is waited for, which gives others theirs. */
  async function buildInTurns(bytes, options, copies, turn) {
    open(bytes, options, copies, false);
    let result;
    if (T[STATUS] === STATUS_MORE) {
      const length = lengthOf.call(bytes);
      result = roomForParts(MODE_ONE);
      let at = 0;
      do {
        at = take(result, at);
        await turn();
        // Others may have changed what objects inherit.
        trusting = undefined;
      } while (nextPart(bytes, MODE_ONE, length));
    } else {
      result = whole(T[ROOT]);
    }
    release();
    return result;
  }

  function open(bytes, options, copies, textKeys) {
    source = bytes;
    copyBuffers = copies;
    asMaps = (options & OPT_MAPS_MAP) !== 0;
    keysAreText = textKeys;
  }

  function whole(w) {
    if (T[GENERATION] !== generation) {
      generation = T[GENERATION];
      constructors = [];
      shapes = new Map();
      compiledKeys = 0;
    }
    if (T[DEPTH] <= RECURSION) return value(w);
    references = null;
    return deep(w);
  }

  /** A long array or a series of messages; what it is when a later part has a fault, no one asks. */
  function parts(bytes, mode) {
    const length = lengthOf.call(bytes);
    const all = roomForParts(mode);
    let at = 0;
    do at = take(all, at);
    while (nextPart(bytes, mode, length));
    return all;
  }

  function roomForParts(mode) {
    if (isSeries(mode)) return [];
    const total = T[T[ROOT] >>> TAG_BITS] + F[LENGTH_F64];
    return total > MAX_PREALLOCATED ? [] : new Array(total);
  }

  /** Builds this part's values, the first of which is number `at` of all; the number of the next one. */
  function take(all, at) {
    const q = T[ROOT] >>> TAG_BITS;
    const n = T[q];
    for (let i = 1; i <= n; i++) all[at++] = whole(T[q + i]);
    return at;
  }

  /** Parses on; false when that was all, or there is a fault. */
  function nextPart(bytes, mode, length) {
    if (T[STATUS] === STATUS_OK) return false;
    // Only an extension can have cut the input's memory meanwhile.
    if (lengthOf.call(bytes) !== length) {
      T[STATUS] = FAULT_INPUT;
      return false;
    }
    const status = parsePart(bytes, restOf(mode), F[OFFSET_F64], F[LENGTH_F64]);
    return status === STATUS_OK || status === STATUS_MORE;
  }

  /** Lets go of the message, and of a tape that only an outlier needed. */
  function release() {
    text = '';
    wide = '';
    texts = '';
    source = null;
    references = null;
    isPending = false;
    if (structures.size > 0) structures.clear();
    if (words > MIN_WORDS) {
      if (4 * T[USED] > words) idle = 0;
      else if (++idle >= SHRINK_AFTER) shrink();
    }
  }

  function shrink() {
    try {
      resize(Math.max(MIN_WORDS, words >> 1));
    } catch {
      // Then the tape stays as it is; the message is complete.
      idle = 0;
    }
  }

  const end = () => F[OFFSET_F64];
  const faultOffset = () => F[LENGTH_F64];
  /** After a scan that has not found the end: how many bytes follow at least. */
  const missing = () => F[LENGTH_F64];

  function openText() {
    return typeof texts === 'string' ? texts : texts[nextText++];
  }

  function string(w) {
    const offset = w >>> OFFSET_SHIFT;
    if (offset === 0) text = openText();
    return text.substring(offset, offset + ((w >>> TAG_BITS) & LENGTH_MASK));
  }

  function wideString(w) {
    const offset = w >>> OFFSET_SHIFT;
    if (offset === 0) wide = openText();
    return wide.substring(offset, offset + ((w >>> TAG_BITS) & LENGTH_MASK));
  }

  function value(w) {
    switch (w & TAG_MASK) {
      case U_INT:
        return w >> TAG_BITS;
      case U_STR:
        return string(w);
      case U_KNOWN_STR:
        return known[w >>> TAG_BITS];
      case U_OBJECT:
        return object(w >>> TAG_BITS);
      case U_ARRAY:
        return array(w >>> TAG_BITS);
      case U_NUMBER:
        return F[w >>> TAG_BITS];
      case U_CONST:
        return constant(w >>> TAG_BITS);
      case U_WIDE_STR:
        return wideString(w);
      case U_INTS:
        return ints(w >>> TAG_BITS);
      case U_NUMBERS:
        return numbers(w >>> TAG_BITS);
      default:
        return rare(w & TAG_MASK, w >>> TAG_BITS);
    }
  }

  function rare(tag, q) {
    switch (tag) {
      case U_LONG_STR:
        return openText();
      case U_MAP:
        return asMaps ? map(q) : pairs(q);
      case U_BIN:
        return bytesAt(T[q] >>> 0, T[q + 1], T[q + 2] >>> 0);
      case U_EXT:
        return ext(T[q], q + 1);
      case U_DATE:
        return new Date(F[q]);
      case U_RARE:
        return rarest(T[q + 2], q);
    }
  }

  function rarest(kind, q) {
    switch (kind) {
      case RARE_INT64:
        return B[q >> 1];
      case RARE_UINT64:
        return BigInt.asUintN(64, B[q >> 1]);
      case RARE_INT64_TEXT:
        return String(B[q >> 1]);
      case RARE_UINT64_TEXT:
        return String(BigInt.asUintN(64, B[q >> 1]));
      case RARE_TIMESTAMP:
        return new Timestamp(B[q >> 1], T[q + 3]);
      case RARE_NEW_STR:
        return remember(known, T[q], openText());
      case RARE_RECORD:
        return unshaped(q);
      case RARE_TAG:
        return tagged(T[q + 1], value(T[q]), undefined, offsetAt(q + 3));
      case RARE_ID:
        return refer(T[q + 1], value(T[q]));
      case RARE_REF:
        return referred(T[q], offsetAt(q + 3));
      case RARE_BIGINT:
        return more.bigint(bytesAt(T[q] >>> 0, T[q + 1], T[q + 3] >>> 0));
      case RARE_TYPED:
        return typed(bytesAt(T[q] >>> 0, T[q + 1], T[q + 3] >>> 0), T[q + 4], offsetAt(q + 5));
    }
  }

  const offsetAt = (q) => T[q + 1] * 2 ** 32 + (T[q] >>> 0);

  /** An ext of bytes, whose place is told from word `q` on. */
  function ext(type, q) {
    const data = bytesAt(T[q] >>> 0, T[q + 1], T[q + 2] >>> 0);
    const extension = extensions.byType.get(type);
    if (extension?.unpack === undefined) return new Ext(type, data);
    return called(extension, 'unpack', data, offsetAt(q + 3));
  }

  /** A value behind the tag `type`; `target` is the object that it becomes, if there is one yet. */
  function tagged(type, x, target, offset) {
    const extension = extensions.byType.get(type);
    if (extension !== undefined) {
      return extension.read === undefined ? x : called(extension, 'read', x, offset);
    }
    try {
      return more.tagged(type, x, target);
    } catch (cause) {
      if (cause instanceof MsgpackError) throw Object.assign(cause, { offset });
      throw extensionError(`A value that is not what its tag ${type} says`, offset, cause);
    }
  }

  function typed(bytes, code, offset) {
    try {
      return more.typed(bytes, code);
    } catch (cause) {
      throw extensionError(
        `No typed array of kind ${code} has ${bytes.length} bytes`,
        offset,
        cause,
      );
    }
  }

  /** Runs a function of an extension. It may use this codec, which has another builder for that. */
  function called(extension, name, x, offset) {
    isCalling = true;
    try {
      const made = extension[name](x);
      if (untouched !== null && typeof made === 'object' && made !== null && made !== x) {
        untouched.set(made, x);
      }
      return made;
    } catch (cause) {
      throw extensionError(`The extension of type ${extension.type} failed`, offset, cause);
    } finally {
      isCalling = false;
    }
  }

  function extensionError(message, offset, cause) {
    return new MsgpackError('ERR_MSGPACK_EXTENSION', `${message} (at byte ${offset})`, {
      offset,
      cause,
    });
  }

  function refer(id, x) {
    references ??= new Map();
    const { size } = references;
    references.set(id, x);
    if (references.size !== size) checkGrown(references);
    return x;
  }

  function referred(id, offset) {
    if (references?.has(id)) return references.get(id);
    // The parser has seen the id: what it stands for is not complete.
    const message = `A pointer to a value that is not complete (at byte ${offset})`;
    throw new MsgpackError('ERR_MSGPACK_REFERENCE', message, { offset });
  }

  /** A record whose names are no shape. */
  function unshaped(q) {
    const names = namesOf(T[q]);
    const o = names.length > DICTIONARY ? emptyDictionary() : emptyFor(names);
    for (let i = 0; i < names.length; i++) define(o, names[i], value(T[q + 3 + i]));
    return o;
  }

  function namesOf(serial) {
    let names = structures.get(serial);
    if (names === undefined) {
      names = native.structureNames(serial);
      structures.set(serial, names);
    }
    return names;
  }

  /** Keeps a short string that may come again, under its id. */
  function remember(list, id, s) {
    while (list.length <= id) list.push('');
    list[id] = s;
    return s;
  }

  function constant(which) {
    switch (which) {
      case CONST_NIL:
        return null;
      case CONST_FALSE:
        return false;
      case CONST_TRUE:
        return true;
      case CONST_EMPTY_STR:
        return '';
      case CONST_EMPTY_ARRAY:
        return [];
      case CONST_UNDEFINED:
        return undefined;
      case CONST_EMPTY_OBJECT:
        return {};
      case CONST_INVALID_DATE:
        return new Date(Number.NaN);
      default:
        return asMaps ? emptyMap() : {};
    }
  }

  function bytesAt(low, high, length) {
    const start = byteOffsetOf.call(source) + high * 2 ** 32 + low;
    const bytes = viewOf(bufferOf.call(source), start, length);
    if (!copyBuffers) return bytes;
    const copy = allocated(() => Buffer.allocUnsafeSlow(length));
    copy.set(bytes);
    return copy;
  }

  /** Only an extension can have taken the memory of the input away meanwhile. */
  function viewOf(memory, start, length) {
    if (extensions.byType.size === 0) return new FastBuffer(memory, start, length);
    try {
      return new FastBuffer(memory, start, length);
    } catch (cause) {
      const message = 'The memory of the input was detached while it was unpacked';
      throw new MsgpackError('ERR_MSGPACK_INVALID_INPUT', message, { cause });
    }
  }

  // V8 keeps an array of small integers, of doubles and of anything else in different ways, and
  // learns by the place in the code which one to expect: hence a loop for each. Literals make the
  // short ones without holes.

  function ints(q) {
    const n = T[q];
    switch (n) {
      case 1:
        return [T[q + 1]];
      case 2:
        return [T[q + 1], T[q + 2]];
      case 3:
        return [T[q + 1], T[q + 2], T[q + 3]];
      case 4:
        return [T[q + 1], T[q + 2], T[q + 3], T[q + 4]];
    }
    const a = n > MAX_PREALLOCATED ? [] : new Array(n);
    const start = q + 1;
    for (let i = 0; i < n; i++) a[i] = T[start + i];
    return a;
  }

  function numbers(q) {
    const n = T[q];
    const start = (q + 1) >> 1;
    switch (n) {
      case 1:
        return [F[start]];
      case 2:
        return [F[start], F[start + 1]];
      case 3:
        return [F[start], F[start + 1], F[start + 2]];
      case 4:
        return [F[start], F[start + 1], F[start + 2], F[start + 3]];
    }
    const a = n > MAX_PREALLOCATED ? [] : new Array(n);
    for (let i = 0; i < n; i++) a[i] = F[start + i];
    return a;
  }

  function array(q) {
    const n = T[q];
    switch (n) {
      case 1:
        return [value(T[q + 1])];
      case 2:
        return [value(T[q + 1]), value(T[q + 2])];
      case 3:
        return [value(T[q + 1]), value(T[q + 2]), value(T[q + 3])];
      case 4:
        return [value(T[q + 1]), value(T[q + 2]), value(T[q + 3]), value(T[q + 4])];
      default:
        return mixed(q + 1, n);
    }
  }

  function mixed(start, n) {
    const a = n > MAX_PREALLOCATED ? [] : new Array(n);
    for (let i = 0; i < n; i++) a[i] = value(T[start + i]);
    return a;
  }

  function object(q) {
    const id = T[q];
    const compiled = constructors[id];
    return compiled !== undefined ? compiled(T, F, q + 1) : construct(id, q + 1);
  }

  /** An object of a shape that has no constructor yet. */
  function construct(id, q) {
    const shape = shapeOf(id);
    if (canCompile && compiledKeys < MAX_COMPILED_KEYS && heat.isHot(shape)) {
      compiledKeys += shape.keys.length;
      const examples = T.subarray(q, q + shape.keys.length);
      const compiled = compileConstructor(shape.keys, examples, { known, object, value });
      while (constructors.length <= id) constructors.push(undefined);
      constructors[id] = compiled;
      return compiled(T, F, q);
    }
    const names = shape.keys;
    const o = {};
    if (shape.isSparse) makeSparse(o);
    for (let i = 0; i < names.length; i++) define(o, names[i], value(T[q + i]));
    return o;
  }

  function shapeOf(id) {
    let shape = shapes.get(id);
    if (shape === undefined) {
      const keys = native.shapeKeys(id);
      const limit = limitOf(keys.length);
      const isSparse = keys.some((key) => isFar(key, limit));
      shape = { keys, isSparse, seen: 0, since: heat.objects };
      shapes.set(id, shape);
    }
    return shape;
  }

  /** A map whose keys did not all fit the trie. */
  function pairs(q) {
    const prefix = T[q + 1];
    const total = T[q + 2];
    const o = total > DICTIONARY ? emptyDictionary() : {};
    let at = q + 3;
    const limit = limitOf(total);
    let isSparse = false;
    if (prefix > 0) {
      const { keys: names } = shapeOf(T[q]);
      isSparse = names.some((key) => isFar(key, limit));
      if (isSparse) makeSparse(o);
      for (let i = 0; i < prefix; i++) define(o, names[i], value(T[at++]));
    }
    trusting ??= isPlainUntouched();
    for (let i = prefix; i < total; i++) {
      const w = T[at++];
      const key = keyOf(w);
      if (!isSparse && isFar(key, limit)) {
        makeSparse(o);
        isSparse = true;
      }
      if (trusting && (w & TAG_MASK) !== K_INHERITED) o[key] = value(T[at++]);
      else define(o, key, value(T[at++]));
    }
    return o;
  }

  function keyOf(w) {
    const q = w >>> TAG_BITS;
    switch (w & TAG_MASK) {
      case K_KNOWN:
        return knownKeys[q];
      case K_NEW:
        return remember(knownKeys, T[q + 1], value(T[q]));
      case K_INHERITED:
        return value(T[q]);
      default:
        return value(w);
    }
  }

  function map(q) {
    const total = T[q + 2];
    const m = emptyMap();
    let at = q + 3;
    for (let i = 0; i < total; i++) {
      const key = value(T[at++]);
      put(m, key, value(T[at++]));
    }
    return m;
  }

  const emptyMap = () => (keysAreText ? {} : new Map());

  /** Adds an entry to what `emptyMap` has made. */
  function put(m, key, x) {
    if (!keysAreText) {
      const { size } = m;
      m.set(key, x);
      if (m.size !== size) checkGrown(m);
      return;
    }
    const text = more.keyText(key, features.quirks);
    if (isFar(text, limitOf(0))) makeSparse(m);
    define(m, text, x);
  }

  /** `value` for a message that nests too deep for recursion: the same with a stack of its own. */
  function deep(root) {
    const open = [];
    let top;
    let result;
    let w = root;
    for (;;) {
      const frame = frameOf(w);
      if (frame === null || frame.tag === null) {
        const x = frame === null ? value(w) : frame.into;
        if (top === undefined) result = x;
        else attach(top, x);
      }
      if (frame !== null) open.push(frame);
      top = open.at(-1);
      while (top !== undefined && top.at === top.end) {
        open.pop();
        const { tag } = top;
        const inner = top.into;
        top = open.at(-1);
        if (tag !== null) {
          const x = tagged(tag.type, inner[0], tag.target, tag.offset);
          if (tag.id !== undefined) refer(tag.id, x);
          if (top === undefined) result = x;
          else attach(top, x);
        }
      }
      if (top === undefined) return result;
      w = nextWord(top);
    }
  }

  /**
   * An open container: what it is built into, and where its words are. What a tag makes of its value
   * is known when that is complete, so it is collected in an array first.
   */
  function frameOf(w) {
    const q = w >>> TAG_BITS;
    switch (w & TAG_MASK) {
      case U_ARRAY:
        return newFrame([], null, q + 1, q + 1 + T[q]);
      case U_OBJECT: {
        const { keys: names } = shapeOf(T[q]);
        return newFrame({}, names, q + 1, q + 1 + names.length);
      }
      case U_MAP: {
        const prefix = T[q + 1];
        const end = q + 3 + prefix + 2 * (T[q + 2] - prefix);
        if (asMaps) return newFrame(emptyMap(), null, q + 3, end);
        return newFrame({}, shapeOf(T[q]).keys, q + 3, end);
      }
      case U_RARE:
        return rareFrame(q);
      default:
        return null;
    }
  }

  function newFrame(into, names, at, end) {
    const limit = limitOf(end - at);
    return { into, names, named: 0, key: NO_KEY, at, end, limit, tag: null };
  }

  function rareFrame(q) {
    switch (T[q + 2]) {
      case RARE_RECORD: {
        const names = namesOf(T[q]);
        return newFrame({}, names, q + 3, q + 3 + names.length);
      }
      case RARE_TAG: {
        const frame = newFrame([], null, q, q + 1);
        frame.tag = { type: T[q + 1], offset: offsetAt(q + 3), target: undefined, id: undefined };
        return frame;
      }
      case RARE_ID: {
        const frame = frameOf(T[q]);
        if (frame === null) return null;
        const { tag } = frame;
        if (tag === null) {
          refer(T[q + 1], frame.into);
          return frame;
        }
        tag.id = T[q + 1];
        if (!extensions.byType.has(tag.type)) tag.target = more.emptyTagged(tag.type);
        if (tag.target !== undefined) refer(tag.id, tag.target);
        return frame;
      }
      default:
        return null;
    }
  }

  /** The word of the frame's next entry, its key read if it has one. */
  function nextWord(frame) {
    const { names } = frame;
    if (names !== null) {
      frame.key = frame.named < names.length ? names[frame.named++] : keyOf(T[frame.at++]);
    }
    return T[frame.at++];
  }

  function attach(frame, x) {
    const { into, key, names } = frame;
    if (names !== null) {
      if (isFar(key, frame.limit)) makeSparse(into);
      define(into, key, x);
    } else if (Array.isArray(into)) {
      into.push(x);
    } else if (key === NO_KEY) {
      frame.key = x;
    } else {
      put(into, key, x);
      frame.key = NO_KEY;
    }
  }

  /** Adds an own property, whatever Object.prototype has under that name. */
  function define(o, key, x) {
    if (key in plain) {
      defineProperty(o, key, { value: x, writable: true, enumerable: true, configurable: true });
    } else {
      o[key] = x;
    }
  }

  /** After a message that could not be built: its keys never arrived. */
  function forget() {
    native.forget();
    release();
  }

  const status = () => T[STATUS];
  /** Why the message behind the last one of a stream is not there: a fault, or 0. */
  const stopped = () => T[STOPPED];

  /** Looks for the end of a message with scanner `number`, as `scan` in `addon.rs` says. */
  function scan(piece, number, options, start, max) {
    T[OPTIONS] = options;
    F[OFFSET_F64] = start;
    F[LENGTH_F64] = max;
    native.scan(piece, number);
    return T[STATUS];
  }

  return {
    build,
    buildInTurns,
    end,
    faultOffset,
    forget,
    isCalling: () => isCalling,
    missing,
    native,
    parse,
    parseAhead,
    scan,
    status,
    stopped,
  };
}

module.exports = { createBuilder };
