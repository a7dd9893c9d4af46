'use strict';

// Value → tape. One pass over the value: each value becomes a word (or a few), all strings go into
// one rope, buffers and long strings are handed over by reference. The tape has a fixed size: when
// it is full, Rust encodes what is there and the walk goes on at its start.
//
// Every walker takes `p`, the next free word, and returns the next; `room` is how many containers
// may still be opened, `hole` the word of a value that is left out, `site` the place where the
// value was found.

const { types } = require('node:util');
const { COUNT } = require('../tape');
const { DEEP_ROOM, END, EXT_ERROR, EXT_REGEXP, EXT_SET, FAULT_CHANGED } = require('../tape');
const { FAULT_DEPTH, FAULT_TOO_LARGE, FAULT_TRUNCATED, HEADER_WORDS } = require('../tape');
const { MAX_DEPTH, OPTIONS, P_ARRAY, P_BIGINT, P_BIN, P_DATE, P_EXT, P_INT } = require('../tape');
const { P_INTS, P_LONG_STR, P_MAP, P_NUMBER, P_NUMBERS, P_SHAPE, P_STR } = require('../tape');
const { P_TIMESTAMP, ROPE_UNITS, SLAB_AT, STATUS, STATUS_IN_SLAB } = require('../tape');
const { STATUS_OK, TAG_BITS } = require('../tape');
const { canCompile } = require('../codegen');
const { MsgpackError } = require('../error');
const { isExt } = require('../ext');
const { isTimestamp } = require('../timestamp');
const { ARRAY_BUFFER } = require('../typed-arrays');
const { MAX_KEYS, Shapes, Site } = require('./shapes');
const { compileWalker } = require('./compile');
const more = require('./more');
const { UNDEFINED_MODES } = require('./options');
const words = require('./words');

const { FALSE, INVALID_DATE, MARK, NIL, OBJECT, RECORD, REF, SKIP, TAG, TRUE, TYPED, UNDEFINED } =
  words;

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
/** Objects of other shapes than the last one at a place, after which shapes take turns there. */
const MIXED_AFTER = 8;
/** Objects of one shape there in a row, after which they do not any more. */
const SAME = 64;
/** SLAB_AT of a message that goes to the addon's own memory. */
const NO_SLAB = 2 ** 31 - 1;
/** A word has 28 bits for a count. */
const MAX_COUNT = 2 ** 27 - 1;

const { getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object;
const { isArray } = Array;
const plain = Object.prototype;
const list = Array.prototype;
const mapPrototype = Map.prototype;
const setPrototype = Set.prototype;
const mapEntries = Map.prototype.entries;
const mapKeys = Map.prototype.keys;
const mapValues = Map.prototype.values;
const setValues = Set.prototype.values;
const mapSize = getOwnPropertyDescriptor(Map.prototype, 'size').get;
const setSize = getOwnPropertyDescriptor(Set.prototype, 'size').get;
const getTime = Date.prototype.getTime;

/** The hole of a root value; no word. */
const AT_ROOT = -1;

const { omit: OMIT, throw: THROW, undefined: KEEP } = UNDEFINED_MODES;
/** A native function's text says so; so does a bound one's, which costs no more than time. */
function isNative(f) {
  return Function.prototype.toString.call(f).endsWith('{ [native code] }');
}

/**
 * A walker with its tape, and the native packer that works on it. A careful one trusts no shape and
 * no for…in: it serves while Object.prototype has enumerable properties. `features` is what the
 * codec does beyond the standard.
 */
function createWalker(binding, careful, features) {
  const memory = new ArrayBuffer(4 * TAPE_WORDS);
  const T = new Int32Array(memory);
  const F = new Float64Array(memory);
  const B = new BigInt64Array(memory);
  const native = binding.createPacker(memory);
  T[COUNT] = 1;
  const { extensions, filter, moreTypes, quirks, records } = features;
  const shapes = new Shapes(native, () => new Site(other), records);
  /** Says of each object whether it is a record. */
  const recordsOnly = typeof quirks?.useRecords === 'function' ? quirks.useRecords : null;
  /** Whether the keys of an object, and its prototype, say how it is packed. */
  const trustsShapes = !careful && filter === null && recordsOnly === null;
  const compiles = canCompile && trustsShapes;
  const usesToJSON = quirks?.useToJSON ?? true;
  if (records !== null) {
    const { maxOwn, maxShared, sequential, skipped } = records;
    native.configureRecords(maxShared, maxOwn, sequential ? 1 : 0, skipped);
  }

  let rope = '';
  let isFlushed = false;
  let refs = null;
  let undefinedMode = OMIT;
  let slab = null;
  /** Objects of this message that may come again, by the order of their marks. */
  let identity = null;
  let marks = 0;
  /** Where the last mark ends: nothing stands between it and its object yet. */
  let markEnd = -1;
  /** Objects whose extension is writing them. */
  const writing = new Set();
  /** Whether objects that come again are to be one object to the reader, too. */
  const clones = features.structuredClone;
  /** Whether something begins anew with every message. */
  const isRenewed = clones || filter?.sorts === true;
  /** Whether an array may be more than its elements: an extension's, or one that comes again. */
  let arraysAreSpecial = clones || extensions.hasArrays;
  /** What objects with a given prototype are: one of the walkers below. */
  let kinds = new WeakMap();

  function reset() {
    rope = '';
    refs = null;
    identity = null;
    native.reset();
  }

  /** An extension was added: what is known of classes may be wrong now. */
  function extend() {
    kinds = new WeakMap();
    arraysAreSpecial = clones || extensions.hasArrays;
    shapes.full = true;
  }

  /** Has Rust encode the tape up to `p`, and starts it anew. */
  function encode(p, isWhole) {
    T[END] = p;
    // Only a message that is complete with this call may go to the slab.
    T[SLAB_AT] = isWhole && slab !== null ? slab.offset() : NO_SLAB;
    T[ROPE_UNITS] = rope.length;
    const text = rope;
    rope = '';
    native.encode(text, refs);
  }

  function flush(p) {
    encode(p, false);
    isFlushed = true;
    markEnd = -1;
    if (T[STATUS] !== STATUS_OK) throw fault();
    return HEADER_WORDS;
  }

  /** The error for the status that Rust left. */
  function fault() {
    const path = native.path();
    switch (T[STATUS]) {
      case FAULT_DEPTH:
        return tooDeepError(path);
      case FAULT_CHANGED:
        return new MsgpackError(
          'ERR_MSGPACK_INVALID_INPUT',
          `A buffer changed its length while it was packed, at ${path}`,
          { path },
        );
      case FAULT_TOO_LARGE:
        return tooLargeError(path);
      default:
        return new MsgpackError(
          'ERR_MSGPACK_INTERNAL',
          `Fault ${T[STATUS]} in the encoder at ${path}; please report it`,
          { path },
        );
    }
  }

  function tooDeepError(path) {
    return new MsgpackError(
      'ERR_MSGPACK_DEPTH',
      `More than ${T[MAX_DEPTH]} levels (or a cycle) at ${shortened(path)}`,
      { path },
    );
  }

  /** A path for people: that of a cycle is as long as maxDepth allows. */
  function shortened(path) {
    return path.length > 200 ? `${path.slice(0, 100)} … ${path.slice(-100)}` : path;
  }

  function tooLargeError(path) {
    const message = `Too large for MessagePack, or for the memory there is, at ${path}`;
    return new MsgpackError('ERR_MSGPACK_TOO_LARGE', message, { path });
  }

  /** Where the walk stands: Rust encodes what there is and says where it would go on. */
  function pathAt(p) {
    encode(p, false);
    // What is on the tape may have a fault of its own, which comes first.
    if (T[STATUS] >= FAULT_TRUNCATED) throw fault();
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
    if (!signed && BigInt.asUintN(64, x) !== x) return largeBigint(x, p);
    T[p] = ((signed ? 0 : 1) << TAG_BITS) | P_BIGINT;
    p = (p + 2) & -2;
    B[p >> 1] = x;
    return p + 2;
  }

  function largeBigint(x, p) {
    if (quirks?.largeBigIntToFloat) return number(Number(x), p);
    if (quirks?.largeBigIntToString) return string(x.toString(), p);
    if (!moreTypes && !quirks?.useBigIntExtension) {
      fail('ERR_MSGPACK_OUT_OF_RANGE', 'A BigInt of more than 64 bits', p);
    }
    T[p] = words.BIGINT;
    T[p + 1] = reference(x);
    return p + 2;
  }

  /** undefined, a function or a symbol. */
  function missing(x, p, hole, room, site) {
    if (quirks !== null && typeof x === 'function' && quirks.writeFunction) {
      return written(x, p, room, hole, site);
    }
    if (quirks !== null && typeof x === 'symbol') {
      fail('ERR_MSGPACK_UNSUPPORTED_TYPE', `Cannot pack ${describe(x)}`, p);
    }
    if (undefinedMode === KEEP) {
      T[p] = UNDEFINED;
      return p + 1;
    }
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
        return missing(x, p, hole, room, site);
    }
  }

  /** What the user's function makes of a function. */
  function written(f, p, room, hole, site) {
    const x = quirks.writeFunction(f);
    if (typeof x === 'function') {
      fail('ERR_MSGPACK_UNSUPPORTED_TYPE', 'writeFunction returned a function', p);
    }
    return value(x, p, room - 1, hole, site);
  }

  function array(a, p, room, site) {
    if (arraysAreSpecial) {
      if (identity !== null) {
        const end = identify(a, p);
        if (end < 0) return -end;
        p = end;
      }
      const proto = getPrototypeOf(a);
      const ext = proto === list ? null : extensions.of(proto);
      if (ext !== null) return extended(ext, a, p, room, site);
    }
    return elementsOf(a, p, room, site);
  }

  /**
   * In front of an object: its mark, or, negative, the end of the pointer that stands for one that
   * came before.
   */
  function identify(x, p) {
    if (p > LIMIT) p = flush(p);
    const known = identity.get(x);
    if (known === undefined) {
      // What an object is replaced by is the same object to the reader.
      if (p === markEnd) {
        identity.set(x, marks - 1);
        return p;
      }
      identity.set(x, marks++);
      T[p] = MARK;
      markEnd = p + 1;
      return p + 1;
    }
    if (writing.has(x)) {
      fail('ERR_MSGPACK_REFERENCE', 'An object that holds itself through an extension', p);
    }
    T[p] = REF;
    T[p + 1] = known;
    return -(p + 2);
  }

  function elementsOf(a, p, room, site) {
    if (room <= T[DEEP_ROOM]) return deep(a, p, room);
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
    if (identity !== null) {
      const end = identify(x, p);
      if (end < 0) return -end;
      p = end;
      // What has a mark is there.
      if (hole === SKIP) hole = UNDEFINED;
    }
    if (proto !== plain && proto !== null) return special(x, proto, p, room, hole, site);
    return toJSONOr(x, p, room, hole, site, proto);
  }

  /** An object that is packed as what its toJSON returns, or by its own keys without one. */
  function toJSONOr(x, p, room, hole, site, proto) {
    const { toJSON } = x;
    if (typeof toJSON !== 'function' || !usesToJSON) return record(x, p, room, site, proto);
    const json = toJSON.call(x);
    // As with JSON, what a toJSON returned is not asked for its own.
    const isRecord = asksForJSON(json) && extensions.of(getPrototypeOf(json)) === null;
    return json === x || isRecord
      ? record(json, p, room, site, getPrototypeOf(json))
      : value(json, p, room, hole, site);
  }

  /** Whether `x` is of a kind that a toJSON would speak for, and has one. */
  function asksForJSON(x) {
    if (typeof x !== 'object' || x === null || isArray(x) || ArrayBuffer.isView(x)) return false;
    if (!usesToJSON) return false;
    const proto = getPrototypeOf(x);
    if (proto !== plain && proto !== null && FIXED_KINDS.has(kindOf(x, proto))) return false;
    return typeof x.toJSON === 'function';
  }

  /** An object by its own enumerable string keys. */
  function record(x, p, room, site, proto) {
    if (room <= T[DEEP_ROOM]) return deep(x, p, room);
    if (p > LIMIT) p = flush(p);
    if (filter !== null) return filtered(x, p, room, site);
    if (recordsOnly !== null && !recordsOnly(x)) {
      return dictionary(x, Object.keys(x), p, room, site, { isRecord: false });
    }
    const found = Object.keys(x);
    const shape = shapes.find(found);
    if (shape === null) {
      const id = records === null ? null : shapes.findLarge(found, site);
      if (id !== null) return largeRecord(x, found, id, p, room, site);
      if (found.length > MAX_KEYS && proto === plain && records === null) site.walk = large;
      return dictionary(x, found, p, room, site);
    }
    // Only where the prototype says what the object is, and nothing asks which one it is.
    if (identity === null && trustsShapes) {
      if (proto === plain && ++site.turns > MIXED_AFTER) site.walk = mixed;
      else if (shape.body !== null && (proto === plain || (proto !== null && kinds.has(proto)))) {
        site.walk = shape.walk(proto);
      }
    }
    if (shape.body !== null) return shape.body(x, p, room);
    return shaped(x, shape, p, room);
  }

  /**
   * The walker of a place where objects of several shapes take turns: goes down the tree of keys with
   * those of the object, which need not be listed for that.
   */
  function mixed(x, p, room, hole, site) {
    if (x.toJSON !== undefined || getPrototypeOf(x) !== plain || room <= T[DEEP_ROOM]) {
      return other(x, p, room, hole, site);
    }
    let node = shapes.root;
    let last = null;
    for (const key in x) {
      node = node.lastKey === key ? node.lastChild : shapes.known(node, key);
      if (node === null) return other(x, p, room, hole, site);
      last = key;
    }
    // A getter, say, may have given all objects a key meanwhile. What is inherited is listed last.
    if (last !== null && !hasOwn(x, last)) return other(x, p, room, hole, site);
    const { shape } = node;
    if (shape === null || shape.hasIndex) {
      site.walk = other;
      site.turns = 0;
      return other(x, p, room, hole, site);
    }
    if (shape === site.shape) {
      if (++site.same >= SAME) {
        if (shape.body !== null) site.walk = shape.walkPlain;
        site.turns = 0;
        site.same = 0;
      }
    } else {
      site.shape = shape;
      site.same = 0;
    }
    if (shape.body !== null) return shape.body(x, p, room);
    if (p > LIMIT) p = flush(p);
    return shaped(x, shape, p, room);
  }

  /** An object of a shape without a walker of its own, or without one yet. */
  function shaped(x, shape, p, room) {
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

  /** An object of which not all goes out, or in another order. */
  function filtered(x, p, room, site) {
    const { hasNumbers, keys, values } = more.select(x, filter);
    const shape = hasNumbers ? null : shapes.find(keys);
    if (shape === null) return dictionary(values, keys, p, room, site, { isList: true });
    T[p++] = (shape.id << TAG_BITS) | P_SHAPE;
    for (let i = 0; i < keys.length; i++) {
      p = value(values[i], p, room - 1, records === null ? SKIP : UNDEFINED, shape.sites[i]);
    }
    return p > LIMIT ? flush(p) : p;
  }

  /** A record with more names than the walkers above take. */
  function largeRecord(x, keys, id, p, room, site) {
    T[p++] = (id << TAG_BITS) | P_SHAPE;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    for (let i = 0; i < keys.length; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      p = value(x[keys[i]], p, room - 1, UNDEFINED, inner);
    }
    return p > LIMIT ? flush(p) : p;
  }

  /** The walker of a place where an object with many keys was found. */
  function large(x, p, room, hole, site) {
    if (getPrototypeOf(x) !== plain || x.toJSON !== undefined || room <= T[DEEP_ROOM]) {
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

  /** An object with many keys, or with keys that never come again; or its `values` in order. */
  function dictionary(x, keys, p, room, site, how = {}) {
    const n = keys.length;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    const { isList = false, isRecord = records !== null && records.maxOwn > 0 } = how;
    p = dictionaryHead(n, isRecord, p);
    if (isRecord) {
      for (let i = 0; i < n; i++) {
        if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
        p = string(keys[i], p);
      }
    }
    for (let i = 0; i < n; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      const key = keys[i];
      if (!isRecord) p = typeof key === 'string' ? string(key, p) : number(key, p);
      p = value(x[isList ? i : key], p, room - 1, isRecord ? UNDEFINED : SKIP, inner);
    }
    return p > LIMIT ? flush(p) : p;
  }

  function dictionaryHead(n, isRecord, p) {
    if (!isRecord && !features.map16) {
      T[p] = (n << TAG_BITS) | P_MAP;
      return p + 1;
    }
    T[p] = isRecord ? RECORD : OBJECT;
    T[p + 1] = n;
    return p + 2;
  }

  /**
   * Packs a container whose entries lie too deep for recursion: the same as the walkers above, with
   * a stack of its own.
   */
  function deep(container, p, room) {
    return deepFrom(frameOf(container), p, room);
  }

  function deepFrom(first, p, room) {
    const open = [];
    let frame = first;
    for (;;) {
      if (p > LIMIT) p = flush(p);
      if (room === 0) throw tooDeepError(pathAt(p));
      room--;
      open.push(frame);
      p = frame.head(p);
      // To the next container, past all scalars and all containers that are complete.
      frame = null;
      while (frame === null) {
        let top = open.at(-1);
        while (top !== undefined && top.at === top.n) {
          open.pop();
          if (top.begun !== undefined) for (const each of top.begun) writing.delete(each);
          room++;
          top = open.at(-1);
        }
        if (top === undefined) return p > LIMIT ? flush(p) : p;
        if (p > LIMIT) p = flush(p);
        const i = top.at++;
        const x = top.source[top.keys === null ? i : top.keys[i]];
        const isProperty = top.keys !== null || i % top.stride === top.stride - 1;
        ({ frame, p } = entry(x, p, room, isProperty ? top.hole : NIL));
      }
    }
  }

  /** An entry of a container that lies deep: packed if it is a scalar, otherwise the frame for it. */
  function entry(x, p, room, hole, isMarked = false) {
    const begun = [];
    const result = entryOf(x, p, room, hole, isMarked, begun);
    // Until what they have written is complete, they must not come again.
    if (result.frame !== null) result.frame.begun = begun;
    else for (const each of begun) writing.delete(each);
    return result;
  }

  function entryOf(x, p, room, hole, isMarked, begun) {
    let isJSON = false;
    for (;;) {
      if (typeof x !== 'object' || x === null) {
        return { frame: null, p: value(x, p, room, hole, new Site(other)) };
      }
      if (identity !== null && !isMarked) {
        p = identify(x, p);
        if (p < 0) return { frame: null, p: -p };
        if (hole === SKIP) hole = UNDEFINED;
      }
      isMarked = false;
      const proto = getPrototypeOf(x);
      const ext = proto === plain || proto === list ? null : extensions.of(proto);
      if (ext === null) {
        if (isJSON || !asksForJSON(x)) break;
        const json = x.toJSON();
        isMarked = json === x;
        isJSON = true;
        x = json;
        continue;
      }
      if (ext.write === undefined) return { frame: null, p: extended(ext, x, p, room, null) };
      if (room-- <= 0) throw tooDeepError(pathAt(p));
      if (p > LIMIT) p = flush(p);
      p = tag(ext.type, p);
      const written = called(ext, ext.write, x, p);
      if (identity !== null) {
        writing.add(x);
        begun.push(x);
      }
      if (written === x)
        return { frame: isArray(x) ? arrayFrame(x, lengthOf(x, p)) : recordFrame(x), p };
      x = written;
      hole = NIL;
    }
    const frame = frameOf(x);
    if (frame !== null) return { frame, p };
    if (typeof x !== 'object' || x === null)
      return { frame, p: value(x, p, room, hole, new Site(other)) };
    return { frame, p: special(x, getPrototypeOf(x), p, room, hole, new Site(other)) };
  }

  /** How to go through a container: its head, and its entries in order. */
  function frameOf(x) {
    if (typeof x !== 'object' || x === null) return null;
    if (isArray(x)) return arrayFrame(x, lengthOf(x, HEADER_WORDS));
    if (ArrayBuffer.isView(x)) return null;
    const proto = getPrototypeOf(x);
    const kind = proto === plain || proto === null ? toJSONOr : kindOf(x, proto);
    switch (kind) {
      case toJSONOr:
        return recordFrame(x);
      case error: {
        if (!moreTypes && quirks === null) return recordFrame(errorFields(x));
        const parts = more.errorParts(x);
        return arrayFrame(parts, parts.length, moreTypes ? EXT_ERROR : undefined, UNDEFINED);
      }
      case map: {
        const { keys, items } = mapEntriesOf(x);
        return pairsFrame(
          keys.flatMap((key, i) => [key, items[i]]),
          keys.length,
          false,
        );
      }
      case set: {
        const values = setValuesOf(x);
        return arrayFrame(values, values.length, moreTypes ? EXT_SET : undefined);
      }
      default:
        return null;
    }
  }

  function arrayFrame(source, n, ext, hole = NIL) {
    const head = (p) => {
      if (ext !== undefined) p = tag(ext, p);
      T[p] = (n << TAG_BITS) | P_ARRAY;
      return p + 1;
    };
    return { source, keys: null, stride: 1, hole, at: 0, n, head };
  }

  /** Key, value, key, value; of an object or of a Map. */
  function pairsFrame(source, count, isObject) {
    const head = (p) => {
      if (isObject) return dictionaryHead(count, false, p);
      T[p] = (count << TAG_BITS) | P_MAP;
      return p + 1;
    };
    const hole = isObject ? SKIP : NIL;
    return { source, keys: null, stride: 2, hole, at: 0, n: 2 * count, head };
  }

  function recordFrame(x) {
    const isMap = recordsOnly !== null && !recordsOnly(x);
    const selected = filter === null ? null : more.select(x, filter);
    const keys = selected === null ? Object.keys(x) : selected.keys;
    const n = keys.length;
    const shape = isMap || selected?.hasNumbers ? null : shapes.find(keys);
    if (shape !== null) {
      const head = (p) => {
        T[p] = (shape.id << TAG_BITS) | P_SHAPE;
        return p + 1;
      };
      const isList = selected !== null;
      const source = isList ? selected.values : x;
      const hole = records === null ? SKIP : UNDEFINED;
      return { source, keys: isList ? null : shape.keys, stride: 1, hole, at: 0, n, head };
    }
    const values = selected === null ? keys.map((key) => x[key]) : selected.values;
    if (isMap || records === null || records.maxOwn === 0) {
      return pairsFrame(
        keys.flatMap((key, i) => [key, values[i]]),
        n,
        true,
      );
    }
    const head = (p) => dictionaryHead(n, true, p);
    const source = keys.concat(values);
    return { source, keys: null, stride: 1, hole: UNDEFINED, at: 0, n: 2 * n, head };
  }

  /** Anything whose prototype is not Object's: what it is decides, not how it was made. */
  function special(x, proto, p, room, hole, site) {
    const ext = extensions.of(proto);
    if (ext !== null) return extended(ext, x, p, room, site);
    if (ArrayBuffer.isView(x)) {
      return moreTypes && !Buffer.isBuffer(x) ? typed(x, more.codeOf(x), p) : binary(x, p, p);
    }
    return kindOf(x, proto)(x, p, room, hole, site, proto);
  }

  function tag(type, p) {
    if (type === undefined) return p;
    T[p] = TAG;
    T[p + 1] = type;
    return p + 2;
  }

  /** An object of a class that has an extension. */
  function extended(ext, x, p, room, site) {
    if (ext.write !== undefined) {
      if (room <= T[DEEP_ROOM]) {
        const below = entry(x, p, room, NIL, true);
        return below.frame === null ? below.p : deepFrom(below.frame, below.p, room);
      }
      if (p > LIMIT) p = flush(p);
      p = tag(ext.type, p);
      const written = called(ext, ext.write, x, p);
      // Returning itself means a plain object, as with toJSON.
      if (written === x) return writtenAsItself(x, p, room, site);
      if (identity === null) return value(written, p, room - 1, NIL, site);
      writing.add(x);
      p = value(written, p, room - 1, NIL, site);
      writing.delete(x);
      return p;
    }
    const data = called(ext, ext.pack, x, p);
    if (!ArrayBuffer.isView(data) && !types.isAnyArrayBuffer(data)) {
      const path = pathAt(p);
      throw new MsgpackError(
        'ERR_MSGPACK_EXTENSION',
        `The extension of type ${ext.type} packed no bytes at ${path}`,
        { path },
      );
    }
    // A copy: the extension may use the same memory for the next one.
    return extBytes(ext.type, called(ext, more.copyOf, data, p), p);
  }

  /** An object whose extension leaves it as it is. */
  function writtenAsItself(x, p, room, site) {
    if (identity !== null) writing.add(x);
    p = isArray(x) ? elementsOf(x, p, room, site) : record(x, p, room, site, null);
    writing.delete(x);
    return p;
  }

  /** Runs a function for an extension. */
  function called(ext, run, x, p) {
    try {
      return run.call(ext, x);
    } catch (cause) {
      const path = pathAt(p);
      throw new MsgpackError(
        'ERR_MSGPACK_EXTENSION',
        `The extension ${ext.type === undefined ? `for ${ext.Class.name}` : `of type ${ext.type}`} failed at ${path}`,
        { path, cause },
      );
    }
  }

  function extBytes(type, data, p) {
    // Written as a bin, then moved behind the ext's own word.
    const end = binary(data, p + 1, p);
    T[p] = (type << TAG_BITS) | P_EXT;
    T[p + 1] = T[p + 1] >> TAG_BITS;
    return end;
  }

  /** Bytes with the kind of array that they were. */
  function typed(view, code, p) {
    const end = binary(view, p + 2, p);
    T[p] = TYPED;
    T[p + 1] = code;
    T[p + 2] = T[p + 2] >> TAG_BITS;
    return end;
  }

  function kindOf(x, proto) {
    if (proto === mapPrototype && types.isMap(x)) return map;
    if (proto === setPrototype && types.isSet(x)) return set;
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
    return moreTypes ? typed(bytes, ARRAY_BUFFER, p) : binary(bytes, p, p);
  }

  function date(x, p, room, hole, site) {
    let milliseconds = getTime.call(x);
    if (Number.isNaN(milliseconds)) {
      if (quirks?.onInvalidDate) return value(quirks.onInvalidDate(), p, room - 1, hole, site);
      T[p] = quirks === null ? NIL : INVALID_DATE;
      return p + 1;
    }
    if (quirks?.useTimestamp32) milliseconds = more.wholeSeconds(milliseconds);
    T[p] = P_DATE;
    p = (p + 2) & -2;
    F[p >> 1] = milliseconds;
    return p + 2;
  }

  function map(x, p, room, _hole, site) {
    if (room <= T[DEEP_ROOM]) return deep(x, p, room);
    if (p > LIMIT) p = flush(p);
    if (quirks?.mapAsEmptyObject) return emptyMap(p);
    if (site.mapShape !== null && site.mapIsFlat) {
      const end = flatMap(x, site.mapShape, p);
      if (end !== 0) return end;
      site.mapIsFlat = false;
    }
    // Where the next one is found it need not be asked for what it is.
    if (identity === null && extensions.byPrototype.size === 0) site.walk = mapAt;
    // Copies: packing a value may run code that changes the map.
    const { keys, items } = mapEntriesOf(x);
    const n = keys.length;
    if (n > 0 && filter === null) {
      const shape = site.shapeOfMap(keys, shapes);
      if (shape !== null) return shapedMap(shape, items, p, room);
    }
    T[p++] = (n << TAG_BITS) | P_MAP;
    if (site.inner === null) site.inner = new Site(other);
    const { inner } = site;
    for (let i = 0; i < n; i++) {
      if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
      const key = keys[i];
      const item = items[i];
      p = typeof key === 'string' ? string(key, p) : value(key, p, room - 1, NIL, inner);
      if (typeof item === 'string') {
        p = string(item, p);
      } else if (typeof item === 'number') {
        p = number(item, p);
      } else {
        if (p > LIMIT) p = flush(p);
        p = value(item, p, room - 1, NIL, inner);
      }
    }
    return p > LIMIT ? flush(p) : p;
  }

  /** The walker of a place where a Map was found. */
  function mapAt(x, p, room, hole, site) {
    if (isWhatItSays(x, mapPrototype, mapSize)) return map(x, p, room, hole, site);
    site.walk = other;
    return other(x, p, room, hole, site);
  }

  /** The walker of a place where a Set was found. */
  function setAt(x, p, room, hole, site) {
    if (isWhatItSays(x, setPrototype, setSize)) return set(x, p, room, hole, site);
    site.walk = other;
    return other(x, p, room, hole, site);
  }

  /** Whether `x` has that prototype and is of its kind: few have it and are not. */
  function isWhatItSays(x, prototype, sizeOf) {
    if (getPrototypeOf(x) !== prototype) return false;
    try {
      sizeOf.call(x);
    } catch {
      return false;
    }
    return true;
  }

  /** A Map with the keys of `shape` and scalars for values: no code can change it meanwhile. */
  function flatMap(x, shape, p) {
    const { keys } = shape;
    const n = keys.length;
    if (mapSize.call(x) !== n) return 0;
    const before = rope;
    T[p] = words.SHAPED_MAP;
    T[p + 1] = shape.id;
    p += 2;
    let i = 0;
    for (const [key, item] of mapEntries.call(x)) {
      if (key !== keys[i]) break;
      if (typeof item === 'string' && item.length < LONG) {
        rope += item;
        T[p++] = (item.length << TAG_BITS) | P_STR;
      } else if (typeof item === 'number') {
        p = number(item, p);
      } else if (typeof item === 'boolean') {
        T[p++] = item ? TRUE : FALSE;
      } else if (item === null) {
        T[p++] = NIL;
      } else {
        break;
      }
      i++;
    }
    if (i === n) return p > LIMIT ? flush(p) : p;
    rope = before;
    return 0;
  }

  /** A Map whose keys are those of the last one here: they are written as those of objects are. */
  function shapedMap(shape, items, p, room) {
    T[p] = words.SHAPED_MAP;
    T[p + 1] = shape.id;
    p += 2;
    const { sites } = shape;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (typeof item === 'string') p = string(item, p);
      else if (typeof item === 'number') p = number(item, p);
      else p = value(item, p, room - 1, NIL, sites[i]);
    }
    return p > LIMIT ? flush(p) : p;
  }

  // V8 makes a list of an iterator of keys or of values at once, six times as fast as of entries.
  function mapEntriesOf(x) {
    const keys = [...mapKeys.call(x)];
    const items = [...mapValues.call(x)];
    return filter?.sorts ? more.sortEntries(x, keys, items, filter) : { keys, items };
  }

  function setValuesOf(x) {
    const values = [...setValues.call(x)];
    return filter?.sorts ? more.sortValues(x, values, filter) : values;
  }

  function emptyMap(p) {
    T[p] = P_MAP;
    return p + 1;
  }

  function set(x, p, room, _hole, site) {
    if (quirks?.setAsEmptyObject) return record({}, p, room, site, plain);
    if (identity === null && extensions.byPrototype.size === 0) site.walk = setAt;
    if (moreTypes) p = tag(EXT_SET, p);
    return elementsOf(setValuesOf(x), p, room, site);
  }

  function regExp(x, p, room, hole, site, proto) {
    if (moreTypes || quirks !== null) {
      if (moreTypes) p = tag(EXT_REGEXP, p);
      T[p] = (2 << TAG_BITS) | P_ARRAY;
      p = string(more.sourceOf(x), p + 1);
      return string(more.flagsOf(x), p);
    }
    if (typeof x.toJSON === 'function') return toJSONOr(x, p, room, hole, site, proto);
    return string(RegExp.prototype.toString.call(x), p);
  }

  function error(x, p, room, hole, site, proto) {
    if (moreTypes || quirks !== null) {
      if (room <= T[DEEP_ROOM]) return deep(x, p, room);
      if (p > LIMIT) p = flush(p);
      const parts = more.errorParts(x);
      if (moreTypes) p = tag(EXT_ERROR, p);
      T[p++] = (parts.length << TAG_BITS) | P_ARRAY;
      for (const part of parts) {
        if (p > LIMIT) p = flush(p);
        p = value(part, p, room - 1, UNDEFINED, new Site(other));
      }
      return p > LIMIT ? flush(p) : p;
    }
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
    return extBytes(type, data, p);
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
  if (moreTypes) FIXED_KINDS.add(regExp).add(error);

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
    begin(options, maxDepth, mode, target);
    finish(value(x, HEADER_WORDS, maxDepth, AT_ROOT, rootSite));
  }

  /** The same for several values, as messages one behind the other. */
  function walkAll(values, options, maxDepth, mode, target) {
    begin(options, maxDepth, mode, target);
    T[COUNT] = values.length;
    try {
      let p = HEADER_WORDS;
      for (const x of values) {
        if (p > LIMIT || rope.length > MAX_ROPE_UNITS) p = flush(p);
        p = value(x, p, maxDepth, AT_ROOT, rootSite);
      }
      finish(p);
    } finally {
      T[COUNT] = 1;
    }
  }

  function begin(options, maxDepth, mode, target) {
    slab = target;
    isFlushed = false;
    T[OPTIONS] = options;
    T[MAX_DEPTH] = maxDepth;
    T[DEEP_ROOM] = Math.max(0, maxDepth - RECURSION);
    undefinedMode = mode;
    if (isRenewed || shapes.full) renew();
  }

  function finish(p) {
    encode(p, !isFlushed);
    const status = T[STATUS];
    if (clones) identity = null;
    if (status === STATUS_IN_SLAB) refs = null;
    else if (status !== STATUS_OK) throw fault();
  }

  function renew() {
    if (filter?.sorts && filter.depth === 0) filter.orders = new WeakMap();
    if (clones) {
      identity = new Map();
      marks = 0;
      markEnd = -1;
      writing.clear();
    }
    if (shapes.full) {
      shapes.clear();
      rootSite = new Site(other);
    }
  }

  function references() {
    const held = refs;
    refs = null;
    return held;
  }

  return { F, T, extend, fault, native, references, reset, walk, walkAll };
}

module.exports = { createWalker };
