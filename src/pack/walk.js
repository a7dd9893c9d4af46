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
const { Ext } = require('../ext');
const { Timestamp } = require('../timestamp');
const { COMPILE_AFTER, Shapes, Site } = require('./shapes');
const { compileWalker } = require('./compile');

const { HEADER_WORDS, TAG_BITS } = tape;
const { P_ARRAY, P_BIGINT, P_BIN, P_CONST, P_DATE, P_EXT, P_INT, P_INTS } = tape;
const { P_LONG_STR, P_MAP, P_NUMBER, P_NUMBERS, P_SHAPE, P_STR, P_TIMESTAMP } = tape;

const NIL = (tape.CONST_NIL << TAG_BITS) | P_CONST;
const TRUE = (tape.CONST_TRUE << TAG_BITS) | P_CONST;
const FALSE = (tape.CONST_FALSE << TAG_BITS) | P_CONST;
const SKIP = (tape.CONST_SKIP << TAG_BITS) | P_CONST;

/** Words of the tape; it stays in the second-level cache (`bench/tape-size.mjs`). */
const TAPE_WORDS = 16384;
/** What one container may write between two checks: 128 keys of four words, and its head. */
const SLACK_WORDS = 1024;
const LIMIT = TAPE_WORDS - 2 * SLACK_WORDS;
/** Strings from this many UTF-16 units on do not go through the rope. */
const LONG = 1024;
/** Text of one piece of tape, so that one wide string does not widen a whole large message. */
const MAX_ROPE_UNITS = 1 << 17;
/** A word has 28 bits for a count. */
const MAX_COUNT = 2 ** 27 - 1;

const { getPrototypeOf } = Object;
const { isArray } = Array;
const plain = Object.prototype;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const getTime = Date.prototype.getTime;

const OMIT = 0;
const AS_NIL = 1;
const THROW = 2;
const UNDEFINED_MODES = { omit: OMIT, nil: AS_NIL, throw: THROW };

/** A walker with its tape, and the native packer that works on it. */
function createWalker(binding) {
  const memory = new ArrayBuffer(4 * TAPE_WORDS);
  const T = new Int32Array(memory);
  const F = new Float64Array(memory);
  const B = new BigInt64Array(memory);
  const native = binding.createPacker(memory);
  const shapes = new Shapes(native);

  let rope = '';
  let refs = null;
  let undefinedMode = OMIT;
  /** What an object with a given prototype is: one of the walkers below. */
  let kinds = new WeakMap();

  function reset() {
    rope = '';
    refs = null;
    native.reset();
  }

  /** Has Rust encode the tape up to `p`, and starts it anew. */
  function encode(p) {
    T[tape.END] = p;
    T[tape.ROPE_UNITS] = rope.length;
    const text = rope;
    rope = '';
    native.encode(text, refs);
  }

  function flush(p) {
    encode(p);
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
      `More than ${T[tape.MAX_DEPTH]} levels (or a cycle) at ${path}`,
      { path },
    );
  }

  function tooLargeError(path) {
    return new MsgpackError('ERR_MSGPACK_TOO_LARGE', `Too large for MessagePack at ${path}`, {
      path,
    });
  }

  /** Where the walk stands: Rust encodes what there is and says where it would go on. */
  function pathAt(p) {
    encode(p);
    return native.path();
  }

  function fail(code, message, p) {
    const path = pathAt(p);
    throw new MsgpackError(code, `${message} at ${path}`, { path });
  }

  function tooDeep(p) {
    throw tooDeepError(pathAt(p));
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
    return p + 2;
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
    if (room === 0) tooDeep(p);
    if (p > LIMIT) p = flush(p);
    const n = a.length;
    if (n > MAX_COUNT) throw tooLargeError(pathAt(p));
    T[p++] = (n << TAG_BITS) | P_ARRAY;
    if (n === 0) return p;
    if (site.inner === null) site.inner = new Site(other);
    if (typeof a[0] === 'number') p = numbers(a, n, p, room, site.inner);
    else p = elements(a, 0, n, p, room, site.inner);
    return p > LIMIT ? flush(p) : p;
  }

  function elements(a, i, n, p, room, site) {
    for (; i < n; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      const x = a[i];
      if (typeof x === 'string') {
        if (x.length < LONG) {
          rope += x;
          T[p++] = (x.length << TAG_BITS) | P_STR;
        } else {
          p = longString(x, p);
        }
      } else if (typeof x === 'object' && x !== null) {
        p = isArray(x)
          ? array(x, p, room - 1, site)
          : site.walk(x, p, room - 1, NIL, site);
      } else {
        p = value(x, p, room - 1, NIL, site);
      }
    }
    return p;
  }

  /** An array that starts with numbers: runs of them, then whatever follows. */
  function numbers(a, n, p, room, site) {
    let i = 0;
    while (i < n) {
      if (p > LIMIT) p = flush(p);
      let head = p;
      p = ints(a, i, n, p);
      i += T[head] >> TAG_BITS;
      if (i === n) return p;
      if (p > LIMIT) continue;
      head = p;
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
    return toJSONOr(x, p, room, hole, site);
  }

  /** An object that is packed as what its toJSON returns, or by its own keys without one. */
  function toJSONOr(x, p, room, hole, site) {
    const { toJSON } = x;
    if (typeof toJSON !== 'function') return ownKeys(x, p, room, site);
    const json = toJSON.call(x);
    if (json === x || isPlainWithToJSON(json)) return ownKeys(json, p, room, site);
    return value(json, p, room, hole, site);
  }

  /** As with JSON, what a toJSON returned is not asked for its own. */
  function isPlainWithToJSON(json) {
    if (typeof json !== 'object' || json === null) return false;
    if (isArray(json) || ArrayBuffer.isView(json)) return false;
    const proto = getPrototypeOf(json);
    if (proto !== plain && proto !== null && kindOf(json, proto) !== toJSONOr) return false;
    return typeof json.toJSON === 'function';
  }

  function ownKeys(x, p, room, site) {
    const keys = Object.keys(x);
    const shape = shapes.find(keys);
    if (shape === null) return dictionary(x, keys, p, room, site);
    if (shape.body !== null) {
      site.walk = shape.walk;
      return shape.body(x, p, room);
    }
    return byKeys(x, shape, p, room);
  }

  /** An object of a shape that is not compiled. */
  function byKeys(x, shape, p, room) {
    if (room === 0) tooDeep(p);
    if (p > LIMIT) p = flush(p);
    const { keys } = shape;
    const n = keys.length;
    if (shape.sites === null) shape.sites = keys.map(() => new Site(other));
    const compiles = canCompile && ++shape.seen >= COMPILE_AFTER;
    const values = compiles ? new Array(n) : null;
    T[p++] = (shape.id << TAG_BITS) | P_SHAPE;
    for (let i = 0; i < n; i++) {
      const v = x[keys[i]];
      if (values !== null) values[i] = v;
      p = value(v, p, room - 1, SKIP, shape.sites[i]);
    }
    if (values !== null && shape.body === null) compileWalker(shape, values, environment);
    return p > LIMIT ? flush(p) : p;
  }

  /** An object with many keys, or with keys that never come again. */
  function dictionary(x, keys, p, room, site) {
    if (room === 0) tooDeep(p);
    if (p > LIMIT) p = flush(p);
    const n = keys.length;
    const values = new Array(n);
    let count = 0;
    for (let i = 0; i < n; i++) {
      const v = x[keys[i]];
      if (undefinedMode === OMIT && isMissing(v)) continue;
      keys[count] = keys[i];
      values[count++] = v;
    }
    T[p++] = (count << TAG_BITS) | P_MAP;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    for (let i = 0; i < count; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      p = string(keys[i], p);
      p = value(values[i], p, room - 1, NIL, inner);
    }
    return p > LIMIT ? flush(p) : p;
  }

  function isMissing(x) {
    return x === undefined || typeof x === 'function' || typeof x === 'symbol';
  }

  /** Anything whose prototype is not Object's: what it is decides, not how it was made. */
  function special(x, proto, p, room, hole, site) {
    if (ArrayBuffer.isView(x)) return binary(x, p);
    return kindOf(x, proto)(x, p, room, hole, site);
  }

  function kindOf(x, proto) {
    let kind = kinds.get(proto);
    if (kind === undefined) {
      kind = brandOf(x);
      kinds.set(proto, kind);
    } else if (kind !== toJSONOr && kind !== brandOf(x)) {
      // An object that merely inherits from such a prototype.
      return toJSONOr;
    }
    return kind;
  }

  function brandOf(x) {
    if (types.isDate(x)) return date;
    if (types.isMap(x)) return map;
    if (types.isSet(x)) return set;
    if (types.isAnyArrayBuffer(x)) return arrayBuffer;
    if (types.isRegExp(x)) return regExp;
    if (types.isNativeError(x)) return error;
    if (types.isBoxedPrimitive(x)) return boxed;
    if (Ext.isExt(x)) return ext;
    if (Timestamp.isTimestamp(x)) return timestamp;
    return toJSONOr;
  }

  function binary(x, p) {
    let bytes = x;
    let length;
    try {
      length = x.byteLength;
      if (length === 0 || !types.isUint8Array(x)) {
        // A view that was detached says so only when another is made of it.
        bytes = new Uint8Array(x.buffer, x.byteOffset, length);
      }
    } catch (cause) {
      const path = pathAt(p);
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
      throw new MsgpackError(
        'ERR_MSGPACK_INVALID_INPUT',
        `A detached ArrayBuffer at ${path}`,
        { path, cause },
      );
    }
    return binary(bytes, p);
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
    if (room === 0) tooDeep(p);
    if (p > LIMIT) p = flush(p);
    // A copy first: packing a value may run code that changes the map.
    const entries = Array.from(mapEntries.call(x));
    T[p++] = (entries.length << TAG_BITS) | P_MAP;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    for (const [key, item] of entries) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      p = value(key, p, room - 1, NIL, inner);
      if (p > LIMIT) p = flush(p);
      p = value(item, p, room - 1, NIL, inner);
    }
    return p > LIMIT ? flush(p) : p;
  }

  function set(x, p, room, _hole, site) {
    return array(Array.from(setValues.call(x)), p, room, site);
  }

  function regExp(x, p, room, hole, site) {
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site);
    return string(RegExp.prototype.toString.call(x), p);
  }

  function error(x, p, room, hole, site) {
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site);
    const { name, message } = x;
    return ownKeys({ name, message, ...x }, p, room, site);
  }

  function boxed(x, p, room, hole, site) {
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site);
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
    const end = binary(data, p + 1);
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

  const environment = {
    T,
    F,
    LIMIT,
    LONG,
    add,
    array,
    flush,
    isArray,
    other,
    prototypeOf: getPrototypeOf,
    plain,
    tooDeep,
    value,
  };

  let rootSite = new Site(other);

  /** Walks a whole value and has it encoded; the tape's header block then says where it is. */
  function walk(x, options, maxDepth, mode) {
    T[tape.OPTIONS] = options;
    T[tape.MAX_DEPTH] = maxDepth;
    undefinedMode = mode;
    if (shapes.full) {
      shapes.clear();
      rootSite = new Site(other);
      kinds = new WeakMap();
    }
    const p = value(x, HEADER_WORDS, maxDepth, NIL, rootSite);
    encode(p);
    if (T[tape.STATUS] >= tape.FAULT_TRUNCATED) throw fault();
  }

  function references() {
    const held = refs;
    refs = null;
    return held;
  }

  return { F, T, fail, fault, native, references, reset, walk };
}

module.exports = { UNDEFINED_MODES, createWalker };
