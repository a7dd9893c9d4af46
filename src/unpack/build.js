'use strict';

// Tape → value. Every word says what it is; a container's word points at its block, which holds
// the words of its entries, so that a compiled constructor reads them at fixed places.
//
// Texts come in the order in which their strings are met: a string at offset 0 of a block opens the
// next text. Nothing here runs code of the user's.

const tape = require('../tape');
const { canCompile } = require('../codegen');
const { FastBuffer } = require('../fast-buffer');
const { Heat } = require('../heat');
const { Ext } = require('../ext');
const { Timestamp } = require('../timestamp');
const { compileConstructor } = require('./compile');

const { HEADER_WORDS, STR_LENGTH_BITS, TAG_BITS } = tape;
const { U_ARRAY, U_BIN, U_CONST, U_DATE, U_EXT, U_INT, U_INTS, U_KNOWN_STR, U_LONG_STR, U_MAP } =
  tape;
const { K_INHERITED, K_KNOWN, K_NEW, U_NUMBER, U_NUMBERS, U_OBJECT, U_STR, U_RARE, U_WIDE_STR } =
  tape;

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

/** Whether objects inherit no more than that: then any other key can be assigned. */
function isPlainUntouched() {
  return Object.getOwnPropertyNames(plain).every((name) => INHERITED.has(name));
}

/** A builder with its tape, for the native parser that works on it. */
function createBuilder(binding) {
  const native = binding.createParser();
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

  /** Whether keys can be assigned; asked once a message, by the first map that needs to know. */
  let trusting;
  /** Parsed, but not built: what the message taught has not arrived. */
  let isPending = false;

  let source = null;
  let copyBuffers = false;
  let asMaps = false;

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
    const memory = new ArrayBuffer(8 * Math.ceil(size / 2));
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
    T[tape.OPTIONS] = options;
    T[tape.MAX_DEPTH] = maxDepth;
    return parsePart(bytes, mode, start, 0);
  }

  function parsePart(bytes, mode, start, left) {
    T[tape.MODE] = mode;
    if (mode !== tape.MODE_ONE) {
      F[tape.OFFSET_F64] = start;
      F[tape.LENGTH_F64] = left;
    }
    texts = native.parse(bytes);
    nextText = 0;
    const status = T[tape.STATUS];
    if (status !== tape.STATUS_GROW) return status;
    resize(F[tape.LENGTH_F64]);
    return parsePart(bytes, mode, start, left);
  }

  /** Builds the value that the tape describes, and parses on where that is only a first part. */
  function build(bytes, options, copies, mode) {
    source = bytes;
    copyBuffers = copies;
    asMaps = (options & tape.OPT_MAPS_MAP) !== 0;
    const isPart = T[tape.STATUS] === tape.STATUS_MORE;
    const result = isPart ? parts(bytes, mode) : whole(T[tape.ROOT]);
    release();
    return result;
  }

  function whole(w) {
    if (T[tape.GENERATION] !== generation) {
      generation = T[tape.GENERATION];
      constructors = [];
      shapes = new Map();
      compiledKeys = 0;
    }
    return T[tape.DEPTH] > RECURSION ? deep(w) : value(w);
  }

  /** A long array or a series of messages: undefined when a later part has a fault. */
  function parts(bytes, mode) {
    const isSeries = mode === tape.MODE_ALL;
    const rest = mode === tape.MODE_ONE ? tape.MODE_REST_OF_ONE : tape.MODE_REST_OF_FROM;
    let q = T[tape.ROOT] >>> TAG_BITS;
    const total = isSeries ? MAX_PREALLOCATED + 1 : T[q] + F[tape.LENGTH_F64];
    const all = total > MAX_PREALLOCATED ? [] : new Array(total);
    let at = 0;
    for (;;) {
      const end = F[tape.OFFSET_F64];
      const left = F[tape.LENGTH_F64];
      const n = T[q];
      for (let i = 1; i <= n; i++) all[at++] = whole(T[q + i]);
      if (T[tape.STATUS] === tape.STATUS_OK) return all;
      const status = parsePart(bytes, isSeries ? mode : rest, end, left);
      if (status !== tape.STATUS_OK && status !== tape.STATUS_MORE) return undefined;
      q = T[tape.ROOT] >>> TAG_BITS;
    }
  }

  /** Lets go of the message, and of a tape that only an outlier needed. */
  function release() {
    text = '';
    wide = '';
    texts = '';
    source = null;
    isPending = false;
    if (words > MIN_WORDS) {
      if (4 * T[tape.USED] > words) idle = 0;
      else if (++idle >= SHRINK_AFTER) resize(Math.max(MIN_WORDS, words >> 1));
    }
  }

  const end = () => F[tape.OFFSET_F64];
  const faultOffset = () => F[tape.LENGTH_F64];

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
        return new Ext(T[q], bytesAt(T[q + 1] >>> 0, T[q + 2], T[q + 3] >>> 0));
      case U_DATE:
        return new Date(F[q]);
      case U_RARE:
        return pair(B[q >> 1], T[q + 2], q);
    }
  }

  function pair(bits, kind, q) {
    switch (kind) {
      case tape.RARE_INT64:
        return bits;
      case tape.RARE_UINT64:
        return BigInt.asUintN(64, bits);
      case tape.RARE_INT64_TEXT:
        return String(bits);
      case tape.RARE_UINT64_TEXT:
        return String(BigInt.asUintN(64, bits));
      case tape.RARE_TIMESTAMP:
        return new Timestamp(bits, T[q + 3]);
      case tape.RARE_NEW_STR:
        return remember(known, T[q], openText());
    }
  }

  /** Keeps a short string that may come again, under its id. */
  function remember(list, id, s) {
    while (list.length <= id) list.push('');
    list[id] = s;
    return s;
  }

  function constant(which) {
    switch (which) {
      case tape.CONST_NIL:
        return null;
      case tape.CONST_FALSE:
        return false;
      case tape.CONST_TRUE:
        return true;
      case tape.CONST_EMPTY_STR:
        return '';
      case tape.CONST_EMPTY_ARRAY:
        return [];
      default:
        return asMaps ? new Map() : {};
    }
  }

  function bytesAt(low, high, length) {
    const start = byteOffsetOf.call(source) + high * 2 ** 32 + low;
    const bytes = new FastBuffer(bufferOf.call(source), start, length);
    if (!copyBuffers) return bytes;
    const copy = Buffer.allocUnsafeSlow(length);
    copy.set(bytes);
    return copy;
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
    for (let i = 0; i < names.length; i++) define(o, names[i], value(T[q + i]));
    return o;
  }

  function shapeOf(id) {
    let shape = shapes.get(id);
    if (shape === undefined) {
      shape = { keys: native.shapeKeys(id), seen: 0, since: heat.objects };
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
    if (prefix > 0) {
      const names = shapeOf(T[q]).keys;
      for (let i = 0; i < prefix; i++) define(o, names[i], value(T[at++]));
    }
    trusting ??= isPlainUntouched();
    for (let i = prefix; i < total; i++) {
      const w = T[at++];
      const key = keyOf(w);
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
    const m = new Map();
    let at = q + 3;
    for (let i = 0; i < total; i++) {
      const key = value(T[at++]);
      m.set(key, value(T[at++]));
    }
    return m;
  }

  /** `value` for a message that nests too deep for recursion: the same with a stack of its own. */
  function deep(root) {
    const open = [];
    let top;
    let result;
    let w = root;
    for (;;) {
      const frame = frameOf(w);
      const x = frame === null ? value(w) : frame.into;
      if (top === undefined) result = x;
      else attach(top, x);
      if (frame !== null) open.push(frame);
      top = open.at(-1);
      while (top !== undefined && top.at === top.end) {
        open.pop();
        top = open.at(-1);
      }
      if (top === undefined) return result;
      w = nextWord(top);
    }
  }

  /** An open container: what it is built into, and where its words are. */
  function frameOf(w) {
    const q = w >>> TAG_BITS;
    switch (w & TAG_MASK) {
      case U_ARRAY:
        return { into: [], names: null, named: 0, key: NO_KEY, at: q + 1, end: q + 1 + T[q] };
      case U_OBJECT: {
        const { keys: names } = shapeOf(T[q]);
        return { into: {}, names, named: 0, key: NO_KEY, at: q + 1, end: q + 1 + names.length };
      }
      case U_MAP: {
        const prefix = T[q + 1];
        const end = q + 3 + prefix + 2 * (T[q + 2] - prefix);
        if (asMaps) return { into: new Map(), names: null, named: 0, key: NO_KEY, at: q + 3, end };
        const { keys: names } = shapeOf(T[q]);
        return { into: {}, names, named: 0, key: NO_KEY, at: q + 3, end };
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
      define(into, key, x);
    } else if (Array.isArray(into)) {
      into.push(x);
    } else if (key === NO_KEY) {
      frame.key = x;
    } else {
      into.set(key, x);
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

  const status = () => T[tape.STATUS];

  return { build, end, faultOffset, forget, parse, status };
}

module.exports = { createBuilder };
