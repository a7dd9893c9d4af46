'use strict';

// The interface of msgpack-node, the native addon that npm has as `msgpack` 1, over the codec of
// msgpack-rs. What differs is listed in docs/compat-msgpack-node.md.

const { EventEmitter } = require('node:events');
const { types } = require('node:util');
const { fromEntries } = require('../src/unpack/sparse');
const { createCodec } = require('../src/codec');
const { MsgpackError } = require('../src/error');
const { isExt } = require('../src/ext');
const { STATUS_MORE, STATUS_OK } = require('../src/tape');
const { isTimestamp } = require('../src/timestamp');

/** How many arrays and maps may be inside one another; with more it is taken for a cycle. */
const MAX_DEPTH = 512;
/** The last index of an array; a larger number is a name. */
const MAX_INDEX = 2 ** 32 - 2;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;
const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);

const { getPrototypeOf, hasOwn, is } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const plain = Object.prototype;
const datePrototype = Date.prototype;
const { getTime, toISOString } = datePrototype;

/** Without the extensions that are added to msgpack-rs: this interface has none. */
const codec = createCodec({
  extensions: [{ Class: Date, write: textOfDate }],
  undefinedAs: 'nil',
  int64: 'number',
  copyBuffers: true,
});
const codecOfMaps = createCodec({ maps: 'map', int64: 'number', copyBuffers: true });

// ── Packing
//
// Where msgpack-rs would pack something otherwise than msgpack-node did, a copy is packed: of that and
// of what it is in. Objects become Maps, whose keys can be integers. Most values need none, which a
// look through them tells.

/** Whether the last value needed a copy: then the look is left out for the next. */
let expectsCopy = false;

function pack(...values) {
  return values.length === 1 ? packOne(values[0]) : Buffer.concat(values.map(packOne));
}

function packOne(value) {
  // At the top, other than within, arrays and dates are asked for their toJSON, too.
  const isAsked = typeof value === 'object' && value !== null && !isView(value);
  if (isAsked && typeof value.toJSON === 'function') value = value.toJSON();
  if (!expectsCopy && isReady(value, 1)) return codec.pack(value);
  const prepared = prepare(value, 1);
  expectsCopy = !is(prepared, value);
  return codec.pack(prepared);
}

function circular() {
  return new TypeError('Cowardly refusing to pack object with circular reference');
}

/** Whether a value can be packed as it is, as far as a quick look tells. */
function isReady(x, depth) {
  if (typeof x === 'number') return !isSpecial(x);
  return typeof x === 'object' ? x === null || isReadyObject(x, depth) : typeof x !== 'function';
}

/** −0, and what is too large to be a safe integer. */
function isSpecial(x) {
  return x === 0 ? 1 / x < 0 : x > MAX_SAFE || x < -MAX_SAFE;
}

// The two loops have the cases of isReady in themselves, which is much faster.

function isReadyObject(x, depth) {
  if (isArray(x)) return isReadyArray(x, depth);
  const proto = getPrototypeOf(x);
  if (proto !== plain && proto !== null) {
    if ((proto === datePrototype && types.isDate(x)) || isView(x)) return true;
    if (!isOrdinary(proto)) return false;
    for (const key in x) if (!hasOwn(x, key)) return false;
  }
  if (x.toJSON !== undefined) return false;
  if (depth > MAX_DEPTH) throw circular();
  for (const key in x) {
    const first = key.charCodeAt(0);
    if (first <= NINE && first >= ZERO) return false;
    const v = x[key];
    if (typeof v === 'string') continue;
    if (typeof v === 'number') {
      if (isSpecial(v)) return false;
    } else if (typeof v === 'object') {
      if (v !== null && !isReadyObject(v, depth + 1)) return false;
    } else if (typeof v === 'function') {
      return false;
    }
  }
  return true;
}

function isReadyArray(array, depth) {
  if (depth > MAX_DEPTH) throw circular();
  for (let i = 0; i < array.length; i++) {
    const x = array[i];
    if (typeof x === 'string') continue;
    if (typeof x === 'number') {
      if (isSpecial(x)) return false;
    } else if (typeof x === 'object') {
      if (x !== null && !isReadyObject(x, depth + 1)) return false;
    } else if (typeof x === 'function') {
      return false;
    }
  }
  return true;
}

/** By prototype: whether it is of classes that are no subclasses of any in the language. */
const ordinary = new WeakMap();

function isOrdinary(proto) {
  let known = ordinary.get(proto);
  if (known === undefined) {
    known = inheritsNothingNative(proto);
    ordinary.set(proto, known);
  }
  return known;
}

function inheritsNothingNative(proto) {
  for (let each = proto; each !== plain && each !== null; each = getPrototypeOf(each)) {
    const { value: maker } = Object.getOwnPropertyDescriptor(each, 'constructor') ?? {};
    if (typeof maker !== 'function') continue;
    if (Function.prototype.toString.call(maker).endsWith('{ [native code] }')) return false;
  }
  return true;
}

/** What is packed for a value: itself, or a copy. */
function prepare(x, depth) {
  switch (typeof x) {
    case 'number':
      return isSpecial(x) ? integerOf(x) : x;
    case 'object':
      if (x === null) return x;
      return isArray(x) ? prepareArray(x, depth) : prepareObject(x, depth);
    case 'function':
      return typeof x.toJSON === 'function' ? prepareJSON(x, depth) : null;
    default:
      return x;
  }
}

/** A whole number as an integer, as far as MessagePack has them. */
function integerOf(x) {
  if (x === 0) return 0;
  return x >= -(2 ** 63) && x < 2 ** 64 ? BigInt(x) : x;
}

function prepareArray(array, depth) {
  if (depth > MAX_DEPTH) throw circular();
  let copy = null;
  for (let i = 0; i < array.length; i++) {
    const x = array[i];
    const y = prepare(x, depth + 1);
    if (copy === null) {
      if (is(x, y)) continue;
      copy = [];
      for (let j = 0; j < i; j++) copy.push(array[j]);
    }
    copy.push(y);
  }
  return copy ?? array;
}

function prepareObject(x, depth) {
  const proto = getPrototypeOf(x);
  if (proto === plain || proto === null) {
    return typeof x.toJSON === 'function' ? prepareJSON(x, depth) : prepareProperties(x, depth);
  }
  if (isView(x) || isExt(x) || isTimestamp(x)) return x;
  if (types.isDate(x)) return textOfDate(x);
  if (typeof x.toJSON === 'function') return prepareJSON(x, depth);
  if (!isOrdinary(proto)) {
    if (types.isMap(x)) return prepareMap(x, depth);
    if (types.isSet(x)) return prepareArray([...x], depth);
    if (types.isNativeError(x)) {
      return prepareProperties({ name: x.name, message: x.message, ...x }, depth);
    }
    if (types.isAnyArrayBuffer(x) || types.isRegExp(x) || types.isBoxedPrimitive(x)) return x;
  }
  return prepareProperties(x, depth, inheritedKeys(x));
}

/** What a toJSON returns is asked for its own; an object that returns itself means its properties. */
function prepareJSON(x, depth) {
  if (depth > MAX_DEPTH) throw circular();
  const json = x.toJSON();
  if (json !== x) return prepare(json, depth + 1);
  return typeof x === 'function' ? null : prepareProperties(x, depth);
}

function prepareProperties(x, depth, inherited = []) {
  if (depth > MAX_DEPTH) throw circular();
  const own = Object.keys(x);
  const keys = inherited.length > 0 ? own.concat(inherited) : own;
  let copy = null;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const v = x[key];
    const y = typeof v === 'string' ? v : prepare(v, depth + 1);
    const first = key.charCodeAt(0);
    const name = first <= NINE && first >= ZERO ? nameOf(key) : key;
    if (copy === null) {
      if (name === key && is(v, y) && i < own.length) continue;
      copy = new Map();
      for (let j = 0; j < i; j++) copy.set(keys[j], x[keys[j]]);
    }
    copy.set(name, y);
  }
  return copy ?? x;
}

/** The key as an integer, if it could be the index of an array. */
function nameOf(key) {
  const index = Number(key);
  return Number.isInteger(index) && index <= MAX_INDEX && String(index) === key ? index : key;
}

/** The keys of what an object has from its prototypes. Methods, and what all objects have, are none. */
function inheritedKeys(x) {
  const keys = [];
  for (const key in x) {
    if (!hasOwn(x, key) && !hasOwn(plain, key) && typeof x[key] !== 'function') keys.push(key);
  }
  return keys;
}

function prepareMap(map, depth) {
  if (depth > MAX_DEPTH) throw circular();
  const copy = new Map();
  for (const [key, v] of map) copy.set(prepare(key, depth + 1), prepare(v, depth + 1));
  return copy;
}

/** A date as its toJSON has it. */
function textOfDate(date) {
  return Number.isNaN(getTime.call(date)) ? null : toISOString.call(date);
}

// ── Unpacking

function unpack(bytes) {
  const found = valueAt(bytes, 0);
  unpack.bytes_remaining = bytes.byteLength - (found?.end ?? 0);
  return found?.value;
}

/** How many bytes there were behind the last value. */
unpack.bytes_remaining = 0;

/** The value that starts there, and where it ends; null if it is incomplete. */
function valueAt(bytes, start) {
  try {
    return codec.unpackFrom(bytes, start);
  } catch (error) {
    if (error.code === 'ERR_MSGPACK_KEY') return valueWithAnyKeysAt(bytes, start);
    return nothingOf(error);
  }
}

/** A value in which there are keys that are neither text nor number: they become text. */
function valueWithAnyKeysAt(bytes, start) {
  try {
    const { value, end } = codecOfMaps.unpackFrom(bytes, start);
    return { value: objectsOf(value), end };
  } catch (error) {
    return nothingOf(error);
  }
}

/** null if more bytes may complete the value; throws otherwise. */
function nothingOf(error) {
  if (error.code === 'ERR_MSGPACK_TRUNCATED') return null;
  if (error.code === 'ERR_MSGPACK_INVALID_INPUT') {
    throw noBuffer({ cause: error });
  }
  throw malformed(error);
}

function noBuffer(options) {
  return new TypeError('First argument must be a Buffer', options);
}

function malformed(cause) {
  const { code, offset } = cause;
  return Object.assign(new Error('Error de-serializing object', { cause }), { code, offset });
}

function objectsOf(x) {
  if (isArray(x)) return x.map(objectsOf);
  if (!types.isMap(x)) return x;
  return fromEntries(Array.from(x, ([key, v]) => [textOfKey(key), objectsOf(v)]));
}

function textOfKey(key) {
  if (isArray(key)) return key.map((x) => (x === null ? '' : textOfKey(x))).join();
  return types.isMap(key) ? '[object Object]' : String(key);
}

// ── Streams

const { flags, unpackers } = codec.source();

/** Finds where a value ends that goes on in the next chunk; every byte is looked at once. */
class Span {
  /** Whether it ends with the byte that starts no value. */
  isMalformed = false;
  #scanner = unpackers.native.openScan();
  #seen = 0;

  /** Where the value ends in the chunk, or -1 if it goes on behind it. `at` is where to go on. */
  end(chunk, at) {
    const { main } = unpackers;
    const status = main.scan(chunk, this.#scanner, flags, at, Number.MAX_SAFE_INTEGER);
    if (status === STATUS_OK) {
      this.close();
      return main.end();
    }
    if (status === STATUS_MORE) {
      this.#seen += chunk.length - at;
      return -1;
    }
    this.isMalformed = true;
    this.close();
    return at + main.faultOffset() - this.#seen + 1;
  }

  close() {
    if (this.#scanner !== -1) unpackers.native.closeScan(this.#scanner);
    this.#scanner = -1;
  }
}

function bufferOf(chunk) {
  if (!isView(chunk)) throw noBuffer();
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/** What next returns when the chunks have no more whole values. */
const NOTHING = Symbol('nothing');
/** Memory for values in several chunks that is kept when none is left. */
const KEPT_BYTES = 1 << 16;

/**
 * Values from chunks that are cut anywhere. A value within one chunk is read where it is. Of one in
 * several the chunks are gathered, and it is read when the last byte is there.
 */
class Reader {
  #chunks = [];
  #chunk = Buffer.alloc(0);
  #at = 0;
  /** Of a value that began in an earlier chunk: its bytes so far, and the way to its end. */
  #gathered = Buffer.alloc(0);
  #length = 0;
  #span = null;
  /** Where the next value starts, in bytes from the start of all. */
  #offset = 0;

  push(chunk) {
    this.#chunks.push(chunk);
  }

  get isInside() {
    return this.#span !== null;
  }

  close() {
    this.#span?.close();
  }

  /** The error for an end in the middle of a value. */
  truncated() {
    const offset = this.#offset;
    const message = `The stream ends in the middle of a value (which starts at byte ${offset})`;
    return malformed(new MsgpackError('ERR_MSGPACK_TRUNCATED', message, { offset }));
  }

  next() {
    for (;;) {
      if (this.#at === this.#chunk.length) {
        if (this.#chunks.length === 0) return NOTHING;
        this.#chunk = bufferOf(this.#chunks.shift());
        this.#at = 0;
        continue;
      }
      if (this.#span === null) {
        const found = this.#valueAt(this.#chunk, this.#at);
        if (found !== null) {
          this.#at = found.end;
          return found.value;
        }
        this.#span = new Span();
      }
      const end = this.#span.end(this.#chunk, this.#at);
      this.#gather(this.#chunk.subarray(this.#at, end < 0 ? undefined : end));
      this.#at = end < 0 ? this.#chunk.length : end;
      if (end >= 0) return this.#gatheredValue();
    }
  }

  #valueAt(bytes, start) {
    try {
      const found = valueAt(bytes, start);
      if (found !== null) this.#offset += found.end - start;
      return found;
    } catch (error) {
      if (error.offset !== undefined) error.offset += this.#offset - start;
      throw error;
    }
  }

  #gather(bytes) {
    const length = this.#length + bytes.length;
    if (length > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#gathered.length, 1 << 10));
      this.#gathered.copy(larger, 0, 0, this.#length);
      this.#gathered = larger;
    }
    bytes.copy(this.#gathered, this.#length);
    this.#length = length;
  }

  #gatheredValue() {
    if (this.#span.isMalformed) {
      const offset = this.#offset + this.#length - 1;
      const message = `The byte 0xc1 starts no value (at byte ${offset})`;
      throw malformed(new MsgpackError('ERR_MSGPACK_INVALID_BYTE', message, { offset }));
    }
    const bytes = this.#gathered.subarray(0, this.#length);
    this.#span = null;
    this.#length = 0;
    if (this.#gathered.length > KEPT_BYTES) this.#gathered = Buffer.alloc(0);
    return this.#valueAt(bytes, 0).value;
  }
}

/** Emits `msg` for every value that comes from a stream; `send` writes to it. */
function Stream(s) {
  if (!(this instanceof Stream)) return new Stream(s);
  EventEmitter.call(this);
  const reader = new Reader();
  let isOver = false;

  this.send = (m, ...rest) => s.write(pack(m), ...rest);

  /** A value, or NOTHING. Where the next value starts after an error, nobody knows. */
  const read = () => {
    if (isOver) return NOTHING;
    try {
      return reader.next();
    } catch (error) {
      isOver = true;
      process.nextTick(() => this.emit('error', error));
      return NOTHING;
    }
  };

  // A listener may throw, or write to what comes back here at once: the reader is not in the middle
  // of anything then.
  const readAll = () => {
    for (let value = read(); value !== NOTHING; value = read()) this.emit('msg', value);
  };

  const end = () => {
    readAll();
    // A connection that breaks off must not end a program that does not ask for errors.
    const isError = !isOver && reader.isInside && this.listenerCount('error') > 0;
    isOver = true;
    if (isError) this.emit('error', reader.truncated());
    reader.close();
  };

  s.on('data', (chunk) => {
    reader.push(chunk);
    readAll();
  });
  s.on('end', end);
  s.on('close', end);
}
Object.setPrototypeOf(Stream, EventEmitter);
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);

module.exports.pack = pack;
module.exports.unpack = unpack;
module.exports.Stream = Stream;
