'use strict';

// Value → tape. One pass over the value: each value becomes a word (or a few), all strings go into
// one rope, buffers and long strings are handed over by reference. The tape has a fixed size: when
// it is full, Rust encodes what is there and the walk goes on at its start.
//
// Every walker takes `p`, the next free word, and returns the next; `room` is how many containers
// may still be opened, `hole` the word of a value that is left out, `site` the place where the
// value was found.

const { types } = require('node:util');
const tape = require('../tape');
const { canCompile } = require('../codegen');
const { MsgpackError } = require('../error');
const { isExt } = require('../ext');
const { isTimestamp } = require('../timestamp');
const { MAX_KEYS, Shapes, Site } = require('./shapes');
const { compileWalker } = require('./compile');
const { FALSE, NIL, SKIP, TRUE } = require('./words');

const { HEADER_WORDS, TAG_BITS } = tape;
const { P_ARRAY, P_BIGINT, P_BIN, P_DATE, P_EXT, P_INT, P_INTS } = tape;
const { P_LONG_STR, P_MAP, P_NUMBER, P_NUMBERS, P_SHAPE, P_STR, P_TIMESTAMP } = tape;

/**
 * Words of the tape. Of 4096, 8192, 16 384 and 32 768 this is the one at which `bench/` workloads
 * `users` and `twitter` are fastest: it stays in the second-level cache.
 */
const TAPE_WORDS = 8192;
/** What one container may write between two checks: 128 keys of four words, and its head. */
const SLACK_WORDS = 1024;
const LIMIT = TAPE_WORDS - 2 * SLACK_WORDS;
/** Strings from this many UTF-16 units on do not go through the rope. */
const LONG = 512;
/** Text of one piece of tape, so that ropes stay small, and a wide string widens no more than that. */
const MAX_ROPE_UNITS = 1 << 16;
/** Arrays of up to so many numbers are written in one go. */
const SHORT = 4;
/** Levels that are walked by recursion; what lies deeper has a stack of its own. */
const RECURSION = 256;
/** SLAB_AT of a message that goes to the addon's own memory. */
const NO_SLAB = 2 ** 31 - 1;
/** A word has 28 bits for a count. */
const MAX_COUNT = 2 ** 27 - 1;

const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { isArray } = Array;
const plain = Object.prototype;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const getTime = Date.prototype.getTime;

/** The hole of a root value; no word. */
const AT_ROOT = -1;

const OMIT = 0;
const AS_NIL = 1;
const THROW = 2;
/** A native function's text says so; so does a bound one's, which costs no more than time. */
function isNative(f) {
  return Function.prototype.toString.call(f).endsWith('{ [native code] }');
}

const UNDEFINED_MODES = { omit: OMIT, nil: AS_NIL, throw: THROW };

/**
 * A walker with its tape, and the native packer that works on it. A careful one trusts no shape and
 * no for…in: it serves while Object.prototype has enumerable properties.
 */
function createWalker(binding, careful) {
  const memory = new ArrayBuffer(4 * TAPE_WORDS);
  const T = new Int32Array(memory);
  const F = new Float64Array(memory);
  const B = new BigInt64Array(memory);
  const native = binding.createPacker(memory);
  const shapes = new Shapes(native, () => new Site(other));
  const compiles = canCompile && !careful;

  let rope = '';
  let isFlushed = false;
  let refs = null;
  let undefinedMode = OMIT;
  let slab = null;
  /** What objects with a given prototype are: one of the walkers below. */
  const kinds = new WeakMap();

  function reset() {
    rope = '';
    refs = null;
    native.reset();
  }

  /** Has Rust encode the tape up to `p`, and starts it anew. */
  function encode(p, isWhole) {
    T[tape.END] = p;
    // Only a message that is complete with this call may go to the slab.
    T[tape.SLAB_AT] = isWhole && slab !== null ? slab.offset() : NO_SLAB;
    T[tape.ROPE_UNITS] = rope.length;
    const text = rope;
    rope = '';
    native.encode(text, refs);
  }

  function flush(p) {
    encode(p, false);
    isFlushed = true;
    if (T[tape.STATUS] !== tape.STATUS_OK) throw fault();
    return HEADER_WORDS;
  }

  /** The error for the status that Rust left. */
  function fault() {
    const path = native.path();
    switch (T[tape.STATUS]) {
      case tape.FAULT_DEPTH:
        return tooDeepError(path);
      case tape.FAULT_CHANGED:
        return new MsgpackError(
          'ERR_MSGPACK_INVALID_INPUT',
          `A buffer changed its length while it was packed, at ${path}`,
          { path },
        );
      case tape.FAULT_TOO_LARGE:
        return tooLargeError(path);
      default:
        return new MsgpackError(
          'ERR_MSGPACK_INTERNAL',
          `Fault ${T[tape.STATUS]} in the encoder at ${path}; please report it`,
          { path },
        );
    }
  }

  function tooDeepError(path) {
    return new MsgpackError(
      'ERR_MSGPACK_DEPTH',
      `More than ${T[tape.MAX_DEPTH]} levels (or a cycle) at ${shortened(path)}`,
      { path },
    );
  }

  /** A path for people: that of a cycle is as long as maxDepth allows. */
  function shortened(path) {
    return path.length > 200 ? `${path.slice(0, 100)} … ${path.slice(-100)}` : path;
  }

  function tooLargeError(path) {
    return new MsgpackError('ERR_MSGPACK_TOO_LARGE', `Too large for MessagePack at ${path}`, {
      path,
    });
  }

  /** Where the walk stands: Rust encodes what there is and says where it would go on. */
  function pathAt(p) {
    encode(p, false);
    // What is on the tape may have a fault of its own, which comes first.
    if (T[tape.STATUS] >= tape.FAULT_TRUNCATED) throw fault();
    return native.path();
  }

  function fail(code, message, p) {
    const path = pathAt(p);
    throw new MsgpackError(code, `${message} at ${path}`, { path });
  }

  function add(s) {
    rope += s;
  }

  function string(s, p) {
    const n = s.length;
    if (n >= LONG) return longString(s, p);
    rope += s;
    T[p] = (n << TAG_BITS) | P_STR;
    return p + 1;
  }

  function longString(s, p) {
    T[p] = (reference(s) << TAG_BITS) | P_LONG_STR;
    T[p + 1] = s.length;
    T[p + 2] = looksAscii(s) ? 1 : 0;
    return p + 3;
  }

  /** A few samples: only a guess at which of two ways to fetch it is the faster. */
  function looksAscii(s) {
    const step = s.length >> 3;
    for (let i = 0; i < s.length; i += step) if (s.charCodeAt(i) > 0x7f) return false;
    return true;
  }

  function reference(x) {
    if (refs === null) refs = [];
    if (refs.length >= MAX_COUNT) throw tooLargeError('$');
    return refs.push(x) - 1;
  }

  function number(x, p) {
    if ((x << TAG_BITS) >> TAG_BITS === x && (x !== 0 || 1 / x > 0)) {
      T[p] = (x << TAG_BITS) | P_INT;
      return p + 1;
    }
    T[p] = P_NUMBER;
    p = (p + 2) & -2;
    F[p >> 1] = x;
    return p + 2;
  }

  function bigint(x, p) {
    const signed = BigInt.asIntN(64, x) === x;
    if (!signed && BigInt.asUintN(64, x) !== x) {
      fail('ERR_MSGPACK_OUT_OF_RANGE', 'A BigInt of more than 64 bits', p);
    }
    T[p] = ((signed ? 0 : 1) << TAG_BITS) | P_BIGINT;
    p = (p + 2) & -2;
    B[p >> 1] = x;
    return p + 2;
  }

  /** undefined, a function or a symbol. */
  function missing(x, p, hole) {
    if (undefinedMode === THROW) {
      fail('ERR_MSGPACK_UNSUPPORTED_TYPE', `Cannot pack ${describe(x)}`, p);
    }
    if (hole === AT_ROOT) {
      if (x !== undefined && undefinedMode === OMIT) {
        fail('ERR_MSGPACK_UNSUPPORTED_TYPE', `Cannot pack ${describe(x)}`, p);
      }
      hole = NIL;
    }
    T[p] = undefinedMode === OMIT ? hole : NIL;
    return p + 1;
  }

  function describe(x) {
    return x === undefined ? 'undefined' : `a ${typeof x}`;
  }

  function value(x, p, room, hole, site) {
    switch (typeof x) {
      case 'string':
        return string(x, p);
      case 'number':
        return number(x, p);
      case 'object':
        if (x === null) {
          T[p] = NIL;
          return p + 1;
        }
        return isArray(x) ? array(x, p, room, site) : site.walk(x, p, room, hole, site);
      case 'boolean':
        T[p] = x ? TRUE : FALSE;
        return p + 1;
      case 'bigint':
        return bigint(x, p);
      default:
        return missing(x, p, hole);
    }
  }

  function array(a, p, room, site) {
    if (room <= T[tape.DEEP_ROOM]) return deep(a, p, room);
    if (p > LIMIT) p = flush(p);
    const n = lengthOf(a, p);
    T[p++] = (n << TAG_BITS) | P_ARRAY;
    if (n === 0) return p;
    if (site.inner === null) site.inner = new Site(other);
    const first = a[0];
    if (typeof first !== 'number') {
      p = elements(a, 0, n, p, room, site.inner);
    } else if (n <= SHORT) {
      const end = shortNumbers(a, n, p, first);
      p = end !== 0 ? end : elements(a, 0, n, p, room, site.inner);
    } else {
      p = numbers(a, n, p, room, site.inner, (first | 0) === first);
    }
    return p > LIMIT ? flush(p) : p;
  }

  function lengthOf(a, p) {
    let n = a.length;
    // Only a proxy's length can be anything but a count.
    if (n >>> 0 !== n) n = Math.max(0, Math.trunc(Number(n)) || 0);
    if (n > MAX_COUNT) throw tooLargeError(pathAt(p));
    return n;
  }

  function elements(a, i, n, p, room, site) {
    for (; i < n; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      const x = a[i];
      if (typeof x === 'string') {
        const start = p;
        p = strings(a, i, n, p, x);
        i += p - start - 1;
        if (p === start) {
          p = longString(x, p);
          i++;
        }
      } else if (typeof x === 'number') {
        p = number(x, p);
      } else if (typeof x === 'object' && x !== null) {
        p = isArray(x) ? array(x, p, room - 1, site) : site.walk(x, p, room - 1, NIL, site);
      } else {
        p = value(x, p, room - 1, NIL, site);
      }
    }
    return p;
  }

  /** A run of strings, a word for each; `x` is the first. */
  function strings(a, i, n, p, x) {
    let text = '';
    while (typeof x === 'string' && x.length < LONG && p <= LIMIT) {
      if (text.length > MAX_ROPE_UNITS) break;
      text += x;
      T[p++] = (x.length << TAG_BITS) | P_STR;
      if (++i === n) break;
      x = a[i];
    }
    rope += text;
    return p;
  }

  /** A few numbers, points mostly, of one kind: 0 when they are not. */
  function shortNumbers(a, n, p, first) {
    if ((first | 0) === first) {
      for (let i = 0; i < n; i++) {
        const x = a[i];
        if (typeof x !== 'number' || (x | 0) !== x || (x === 0 && 1 / x < 0)) return 0;
        T[p + 1 + i] = x;
      }
      T[p] = (n << TAG_BITS) | P_INTS;
      return p + 1 + n;
    }
    const start = (p + 2) & -2;
    const at = start >> 1;
    for (let i = 0; i < n; i++) {
      const x = a[i];
      if (typeof x !== 'number') return 0;
      F[at + i] = x;
    }
    T[p] = (n << TAG_BITS) | P_NUMBERS;
    return start + 2 * n;
  }

  /** An array that starts with numbers: runs of them, then whatever follows. */
  function numbers(a, n, p, room, site, startsWithInts) {
    let i = 0;
    while (i < n) {
      if (p > LIMIT) p = flush(p);
      let head = p;
      if (startsWithInts) {
        p = ints(a, i, n, p);
        i += T[head] >> TAG_BITS;
        if (i === n) return p;
        if (p > LIMIT) continue;
        head = p;
        startsWithInts = false;
      }
      p = doubles(a, i, n, p);
      const count = T[head] >> TAG_BITS;
      i += count;
      if (count === 0) return elements(a, i, n, p, room, site);
    }
    return p;
  }

  // The element that ends a run is read again by the next loop; only an accessor could tell.

  function ints(a, i, n, p) {
    const head = p++;
    const end = Math.min(n, i + (LIMIT + SLACK_WORDS - p));
    const start = p - i;
    for (; i < end; i++) {
      const x = a[i];
      if (typeof x !== 'number' || (x | 0) !== x || (x === 0 && 1 / x < 0)) break;
      T[start + i] = x;
    }
    const count = start + i - p;
    T[head] = (count << TAG_BITS) | P_INTS;
    return count === 0 ? head : p + count;
  }

  function doubles(a, i, n, p) {
    const head = p;
    p = (p + 2) & -2;
    const end = Math.min(n, i + ((LIMIT + SLACK_WORDS - p) >> 1));
    const start = (p >> 1) - i;
    for (; i < end; i++) {
      const x = a[i];
      if (typeof x !== 'number') break;
      F[start + i] = x;
    }
    const count = start + i - (p >> 1);
    T[head] = (count << TAG_BITS) | P_NUMBERS;
    return count === 0 ? head : p + 2 * count;
  }

  /** An object that no compiled walker recognised. */
  function other(x, p, room, hole, site) {
    if (isArray(x)) return array(x, p, room, site);
    const proto = getPrototypeOf(x);
    if (proto !== plain && proto !== null) return special(x, proto, p, room, hole, site);
    return toJSONOr(x, p, room, hole, site, proto);
  }

  /** An object that is packed as what its toJSON returns, or by its own keys without one. */
  function toJSONOr(x, p, room, hole, site, proto) {
    const { toJSON } = x;
    if (typeof toJSON !== 'function') return record(x, p, room, site, proto);
    const json = toJSON.call(x);
    // As with JSON, what a toJSON returned is not asked for its own.
    return json === x || asksForJSON(json)
      ? record(json, p, room, site, getPrototypeOf(json))
      : value(json, p, room, hole, site);
  }

  /** Whether `x` is of a kind that a toJSON would speak for, and has one. */
  function asksForJSON(x) {
    if (typeof x !== 'object' || x === null || isArray(x) || ArrayBuffer.isView(x)) return false;
    const proto = getPrototypeOf(x);
    if (proto !== plain && proto !== null && FIXED_KINDS.has(kindOf(x, proto))) return false;
    return typeof x.toJSON === 'function';
  }

  /** An object by its own enumerable string keys. */
  function record(x, p, room, site, proto) {
    if (room <= T[tape.DEEP_ROOM]) return deep(x, p, room);
    if (p > LIMIT) p = flush(p);
    const found = Object.keys(x);
    const shape = shapes.find(found);
    if (shape === null) {
      if (found.length > MAX_KEYS && proto === plain) site.walk = large;
      return dictionary(x, found, p, room, site);
    }
    if (shape.body !== null) {
      // Only where the prototype says what the object is.
      if (proto === plain || (proto !== null && kinds.has(proto))) site.walk = shape.walk(proto);
      return shape.body(x, p, room);
    }
    if (compiles && shapes.isHot(shape)) return learn(x, shape, p, room);
    const { keys, sites } = shape;
    T[p++] = (shape.id << TAG_BITS) | P_SHAPE;
    let i = 0;
    if (!shape.hasIndex) {
      // In this loop V8 reads x[key] from where it found the key. Keys that come and go while the
      // values are packed end it; the rest are read by name.
      for (const key in x) {
        if (key !== keys[i]) break;
        const v = x[key];
        if (typeof v === 'string' && v.length < LONG) {
          rope += v;
          T[p++] = (v.length << TAG_BITS) | P_STR;
        } else if (typeof v === 'number') {
          p = number(v, p);
        } else if (v === null) {
          T[p++] = NIL;
        } else {
          p = value(v, p, room - 1, SKIP, sites[i]);
        }
        i++;
      }
    }
    for (; i < keys.length; i++) p = value(x[keys[i]], p, room - 1, SKIP, sites[i]);
    return p > LIMIT ? flush(p) : p;
  }

  /** The walker of a place where an object with many keys was found. */
  function large(x, p, room, hole, site) {
    if (getPrototypeOf(x) !== plain || x.toJSON !== undefined || room <= T[tape.DEEP_ROOM]) {
      site.walk = other;
      return other(x, p, room, hole, site);
    }
    const keys = Object.keys(x);
    if (keys.length <= MAX_KEYS) site.walk = other;
    if (p > LIMIT) p = flush(p);
    return dictionary(x, keys, p, room, site);
  }

  /** Packs an object like `record`, and compiles the walkers of its shape by its values. */
  function learn(x, shape, p, room) {
    const { keys, sites } = shape;
    const examples = new Array(keys.length);
    T[p++] = (shape.id << TAG_BITS) | P_SHAPE;
    for (let i = 0; i < keys.length; i++) {
      examples[i] = x[keys[i]];
      p = value(examples[i], p, room - 1, SKIP, sites[i]);
    }
    if (shape.body === null) Object.assign(shape, compileWalker(shape, examples, environment));
    return p > LIMIT ? flush(p) : p;
  }

  /** An object with many keys, or with keys that never come again. */
  function dictionary(x, keys, p, room, site) {
    T[p++] = (keys.length << TAG_BITS) | P_MAP;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    for (let i = 0; i < keys.length; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      const key = keys[i];
      p = string(key, p);
      p = value(x[key], p, room - 1, SKIP, inner);
    }
    return p > LIMIT ? flush(p) : p;
  }

  /**
   * Packs a container whose entries lie too deep for recursion: the same as the walkers above, with
   * a stack of its own.
   */
  function deep(container, p, room) {
    const open = [];
    let x = container;
    let hole = NIL;
    for (;;) {
      if (x !== container && asksForJSON(x)) x = x.toJSON();
      const frame = frameOf(x);
      if (p > LIMIT) p = flush(p);
      if (frame === null) {
        p = value(x, p, room, hole, new Site(other));
      } else {
        if (room === 0) throw tooDeepError(pathAt(p));
        room--;
        open.push(frame);
        T[p++] = frame.word;
      }
      let top = open.at(-1);
      while (top !== undefined && top.at === top.n) {
        open.pop();
        room++;
        top = open.at(-1);
      }
      if (top === undefined) return p > LIMIT ? flush(p) : p;
      if (top.keys === null) {
        x = top.source[top.at++];
        hole = top.isRecord && top.at % 2 === 0 ? SKIP : NIL;
      } else {
        x = top.source[top.keys[top.at++]];
        hole = SKIP;
      }
    }
  }

  /** How to go through a container: its head word, and its entries in order. */
  function frameOf(x) {
    if (typeof x !== 'object' || x === null) return null;
    if (isArray(x)) return listFrame(x, lengthOf(x, HEADER_WORDS), P_ARRAY, false);
    if (ArrayBuffer.isView(x)) return null;
    const proto = getPrototypeOf(x);
    const kind = proto === plain || proto === null ? toJSONOr : kindOf(x, proto);
    switch (kind) {
      case toJSONOr:
        return recordFrame(x);
      case error:
        return recordFrame(errorFields(x));
      case map: {
        const entries = Array.from(mapEntries.call(x)).flat();
        return listFrame(entries, entries.length, P_MAP, false);
      }
      case set: {
        const values = Array.from(setValues.call(x));
        return listFrame(values, values.length, P_ARRAY, false);
      }
      default:
        return null;
    }
  }

  function listFrame(source, n, tag, isRecord) {
    const count = tag === P_MAP ? n >> 1 : n;
    return { source, keys: null, isRecord, at: 0, n, word: (count << TAG_BITS) | tag };
  }

  function recordFrame(source) {
    const found = Object.keys(source);
    const shape = shapes.find(found);
    if (shape !== null) {
      const { id, keys } = shape;
      const word = (id << TAG_BITS) | P_SHAPE;
      return { source, keys, isRecord: true, at: 0, n: keys.length, word };
    }
    const pairs = found.flatMap((key) => [key, source[key]]);
    return listFrame(pairs, pairs.length, P_MAP, true);
  }

  /** Anything whose prototype is not Object's: what it is decides, not how it was made. */
  function special(x, proto, p, room, hole, site) {
    if (ArrayBuffer.isView(x)) return binary(x, p, p);
    return kindOf(x, proto)(x, p, room, hole, site, proto);
  }

  function kindOf(x, proto) {
    const known = kinds.get(proto);
    if (known !== undefined) return known;
    const kind = brandOf(x);
    // Of a class of the user's own that is no subclass of a built-in, all are ordinary objects.
    if (kind === toJSONOr && inheritsNothingNative(proto)) kinds.set(proto, kind);
    return kind;
  }

  function inheritsNothingNative(proto) {
    for (let each = proto; each !== null; each = getPrototypeOf(each)) {
      const parent = getPrototypeOf(each);
      const { value: maker } = getOwnPropertyDescriptor(each, 'constructor') ?? {};
      if (parent !== null && typeof maker === 'function' && isNative(maker)) {
        return false;
      }
    }
    return true;
  }

  function brandOf(x) {
    if (types.isDate(x)) return date;
    if (types.isMap(x)) return map;
    if (types.isSet(x)) return set;
    if (types.isAnyArrayBuffer(x)) return arrayBuffer;
    if (types.isRegExp(x)) return regExp;
    if (types.isNativeError(x)) return error;
    if (types.isBoxedPrimitive(x)) return boxed;
    if (isExt(x)) return ext;
    if (isTimestamp(x)) return timestamp;
    return toJSONOr;
  }

  /** `at` is where the value's first word goes. */
  function binary(x, p, at) {
    let bytes = x;
    let length;
    try {
      length = x.byteLength;
      if (length === 0 || !types.isUint8Array(x)) {
        // A view that was detached says so only when another is made of it.
        bytes = new Uint8Array(x.buffer, x.byteOffset, length);
      }
    } catch (cause) {
      const path = pathAt(at);
      throw new MsgpackError(
        'ERR_MSGPACK_INVALID_INPUT',
        `The memory of a view was detached or cut, at ${path}`,
        { path, cause },
      );
    }
    T[p] = (reference(bytes) << TAG_BITS) | P_BIN;
    return byteLength(length, p + 1);
  }

  function byteLength(length, p) {
    T[p] = length;
    T[p + 1] = length / 2 ** 32;
    return p + 2;
  }

  function arrayBuffer(x, p) {
    let bytes;
    try {
      bytes = new Uint8Array(x);
    } catch (cause) {
      const path = pathAt(p);
      throw new MsgpackError('ERR_MSGPACK_INVALID_INPUT', `A detached ArrayBuffer at ${path}`, {
        path,
        cause,
      });
    }
    return binary(bytes, p, p);
  }

  function date(x, p) {
    const milliseconds = getTime.call(x);
    if (Number.isNaN(milliseconds)) {
      T[p] = NIL;
      return p + 1;
    }
    T[p] = P_DATE;
    p = (p + 2) & -2;
    F[p >> 1] = milliseconds;
    return p + 2;
  }

  function map(x, p, room, _hole, site) {
    if (room <= T[tape.DEEP_ROOM]) return deep(x, p, room);
    if (p > LIMIT) p = flush(p);
    // A copy first: packing a value may run code that changes the map.
    const entries = Array.from(mapEntries.call(x));
    T[p++] = (entries.length << TAG_BITS) | P_MAP;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    for (const [key, item] of entries) {
      if (p > LIMIT) p = flush(p);
      p = value(key, p, room - 1, NIL, inner);
      if (p > LIMIT) p = flush(p);
      p = value(item, p, room - 1, NIL, inner);
    }
    return p > LIMIT ? flush(p) : p;
  }

  function set(x, p, room, _hole, site) {
    return array(Array.from(setValues.call(x)), p, room, site);
  }

  function regExp(x, p, room, hole, site, proto) {
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site, proto);
    return string(RegExp.prototype.toString.call(x), p);
  }

  function error(x, p, room, hole, site, proto) {
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site, proto);
    return record(errorFields(x), p, room, site, plain);
  }

  function errorFields(x) {
    return { name: x.name, message: x.message, ...x };
  }

  function boxed(x, p, room, hole, site, proto) {
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site, proto);
    let primitive;
    if (types.isNumberObject(x)) primitive = Number.prototype.valueOf.call(x);
    else if (types.isStringObject(x)) primitive = String.prototype.valueOf.call(x);
    else if (types.isBooleanObject(x)) primitive = Boolean.prototype.valueOf.call(x);
    else if (types.isBigIntObject(x)) primitive = BigInt.prototype.valueOf.call(x);
    else primitive = Symbol.prototype.valueOf.call(x);
    return value(primitive, p, room, hole, site);
  }

  function ext(x, p) {
    const { type, data } = x;
    if (!Number.isInteger(type) || type < -128 || type > 127) {
      fail('ERR_MSGPACK_OUT_OF_RANGE', 'An ext type outside -128 to 127', p);
    }
    if (!ArrayBuffer.isView(data)) {
      fail('ERR_MSGPACK_UNSUPPORTED_TYPE', 'An Ext whose data are no bytes', p);
    }
    // Written as a bin, then moved behind the ext's own word.
    const end = binary(data, p + 1, p);
    T[p] = (type << TAG_BITS) | P_EXT;
    T[p + 1] = T[p + 1] >> TAG_BITS;
    return end;
  }

  function timestamp(x, p) {
    const { seconds, nanoseconds } = x;
    if (typeof seconds !== 'bigint' || BigInt.asIntN(64, seconds) !== seconds) {
      fail('ERR_MSGPACK_OUT_OF_RANGE', 'The seconds of a Timestamp outside 64 bits', p);
    }
    if (!Number.isInteger(nanoseconds) || nanoseconds < 0 || nanoseconds > 999_999_999) {
      fail('ERR_MSGPACK_OUT_OF_RANGE', 'The nanoseconds of a Timestamp outside a second', p);
    }
    T[p] = P_TIMESTAMP;
    T[p + 1] = nanoseconds;
    p = (p + 3) & -2;
    B[p >> 1] = seconds;
    return p + 2;
  }

  /** The kinds that are what they are, whatever toJSON they have. */
  const FIXED_KINDS = new Set([date, map, set, arrayBuffer, ext, timestamp]);

  const environment = {
    T,
    F,
    LIMIT,
    LONG,
    add,
    array,
    deep,
    flush,
    isArray,
    keysOf: Object.keys,
    other,
    plain,
    prototypeOf: getPrototypeOf,
    value,
  };

  let rootSite = new Site(other);

  /**
   * Walks a whole value and has it encoded, into `target` (a slab or null) if it fits there; the
   * tape's header block then says where it is.
   */
  function walk(x, options, maxDepth, mode, target) {
    slab = target;
    isFlushed = false;
    T[tape.OPTIONS] = options;
    T[tape.MAX_DEPTH] = maxDepth;
    T[tape.DEEP_ROOM] = Math.max(0, maxDepth - RECURSION);
    undefinedMode = mode;
    if (shapes.full) {
      shapes.clear();
      rootSite = new Site(other);
    }
    const p = value(x, HEADER_WORDS, maxDepth, AT_ROOT, rootSite);
    encode(p, !isFlushed);
    const status = T[tape.STATUS];
    if (status === tape.STATUS_IN_SLAB) refs = null;
    else if (status !== tape.STATUS_OK) throw fault();
  }

  function references() {
    const held = refs;
    refs = null;
    return held;
  }

  return { F, T, fault, native, references, reset, walk };
}

module.exports = { UNDEFINED_MODES, createWalker };
