// A plain, slow MessagePack codec written from the specification, for the tests to compare with.
// It shares nothing with the library: the same rules said a second time.
import assert from 'node:assert/strict';
import util from 'node:util';

const encoder = new TextEncoder();
const { types } = util;

function uint(width, value) {
  const out = Buffer.alloc(width);
  let rest = BigInt(value);
  for (let i = width - 1; i >= 0; i--) {
    out[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return out;
}

const header = (marker, width, value) => Buffer.concat([Buffer.from([marker]), uint(width, value)]);

function sized(length, fix, one, two, four) {
  if (fix !== null && length <= fix.max) return Buffer.from([fix.base | length]);
  if (one !== null && length <= 0xff) return header(one, 1, length);
  if (length <= 0xffff) return header(two, 2, length);
  return header(four, 4, length);
}

export const arrayHeader = (n) => sized(n, { max: 15, base: 0x90 }, null, 0xdc, 0xdd);
export const mapHeader = (n) => sized(n, { max: 15, base: 0x80 }, null, 0xde, 0xdf);

export function str(text) {
  const utf8 = Buffer.from(encoder.encode(text));
  return Buffer.concat([sized(utf8.length, { max: 31, base: 0xa0 }, 0xd9, 0xda, 0xdb), utf8]);
}

export function bin(data) {
  return Buffer.concat([sized(data.length, null, 0xc4, 0xc5, 0xc6), data]);
}

export function ext(type, data) {
  const fixed = [1, 2, 4, 8, 16].indexOf(data.length);
  const head =
    fixed >= 0 ? Buffer.from([0xd4 + fixed]) : sized(data.length, null, 0xc7, 0xc8, 0xc9);
  return Buffer.concat([head, uint(1, type & 0xff), data]);
}

export function int(value) {
  const n = BigInt(value);
  if (n >= 0n) {
    if (n <= 0x7fn) return uint(1, n);
    if (n <= 0xffn) return header(0xcc, 1, n);
    if (n <= 0xffffn) return header(0xcd, 2, n);
    if (n <= 0xffffffffn) return header(0xce, 4, n);
    assert.ok(n < 1n << 64n);
    // Of two forms as short the one that the public vectors list first: uint 64 for what a Number
    // can hold, int 64 past it, uint 64 again where nothing else is left.
    return header(n > 2n ** 53n - 1n && n < 1n << 63n ? 0xd3 : 0xcf, 8, n);
  }
  if (n >= -32n) return uint(1, n & 0xffn);
  if (n >= -0x80n) return header(0xd0, 1, n & 0xffn);
  if (n >= -0x8000n) return header(0xd1, 2, n & 0xffffn);
  if (n >= -0x80000000n) return header(0xd2, 4, n & 0xffffffffn);
  assert.ok(n >= -(1n << 63n));
  return header(0xd3, 8, n & 0xffffffffffffffffn);
}

export function float64(value) {
  const out = Buffer.alloc(9, 0xcb);
  out.writeDoubleBE(value, 1);
  return out;
}

export function float32(value) {
  const out = Buffer.alloc(5, 0xca);
  out.writeFloatBE(value, 1);
  return out;
}

export function number(value, options = {}) {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return int(value);
  if (options.float32 && (Number.isNaN(value) || Math.fround(value) === value)) {
    return float32(value);
  }
  return float64(value);
}

export function timestamp(seconds, nanoseconds) {
  const sec = BigInt(seconds);
  if (sec >= 0n && sec < 1n << 34n) {
    if (nanoseconds === 0 && sec < 1n << 32n) return ext(-1, uint(4, sec));
    return ext(-1, uint(8, (BigInt(nanoseconds) << 34n) | sec));
  }
  return ext(-1, Buffer.concat([uint(4, nanoseconds), uint(8, BigInt.asUintN(64, sec))]));
}

export function date(value) {
  const ms = value.getTime();
  if (Number.isNaN(ms)) return Buffer.from([0xc0]);
  const seconds = Math.floor(ms / 1000);
  return timestamp(seconds, (ms - seconds * 1000) * 1_000_000);
}

const left = (value) =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol';

/** Bytes of a value made of plain data, as the packing table says. */
export function refPack(value, options = {}) {
  const out = [];
  walk(value, out, options);
  return Buffer.concat(out);
}

/** What a value stands for: the result of its toJSON, the primitive in its box. */
function settled(value) {
  if (value === null || typeof value !== 'object') return value;
  const data = ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value) || Array.isArray(value);
  if (data || types.isMap(value) || types.isSet(value) || types.isDate(value)) return value;
  if (typeof value.toJSON === 'function') return value.toJSON();
  return types.isBoxedPrimitive(value) ? value.valueOf() : value;
}

function entries(pairs, out, options) {
  const nil = options.undefinedAs === 'nil';
  const kept = pairs.filter(([, item]) => nil || !left(settled(item)));
  out.push(mapHeader(kept.length));
  for (const [key, item] of kept) {
    out.push(str(key));
    walk(item, out, options);
  }
}

function walk(value, out, options) {
  if (value === null || left(value)) out.push(Buffer.from([0xc0]));
  else if (typeof value === 'boolean') out.push(Buffer.from([value ? 0xc3 : 0xc2]));
  else if (typeof value === 'string') out.push(str(value));
  else if (typeof value === 'number') out.push(number(value, options));
  else if (typeof value === 'bigint') out.push(int(value));
  else if (ArrayBuffer.isView(value)) {
    out.push(bin(Buffer.from(value.buffer, value.byteOffset, value.byteLength)));
  } else if (types.isAnyArrayBuffer(value)) out.push(bin(Buffer.from(value)));
  else if (Array.isArray(value)) {
    out.push(arrayHeader(value.length));
    for (let i = 0; i < value.length; i++) walk(value[i], out, options);
  } else if (types.isMap(value)) {
    out.push(mapHeader(value.size));
    for (const [key, item] of value) {
      walk(key, out, options);
      walk(item, out, options);
    }
  } else if (types.isSet(value)) walk([...value], out, options);
  else if (types.isDate(value)) out.push(date(value));
  else if (typeof value.toJSON === 'function') {
    const json = value.toJSON();
    if (json === value) entries(Object.entries(value), out, options);
    else walk(json, out, options);
  } else if (types.isBoxedPrimitive(value)) walk(value.valueOf(), out, options);
  else if (types.isRegExp(value)) out.push(str(String(value)));
  else if (types.isNativeError(value)) {
    const own = Object.entries(value).filter(([key]) => key !== 'name' && key !== 'message');
    entries([['name', value.name], ['message', value.message], ...own], out, options);
  } else entries(Object.entries(value), out, options);
}

/** What the reference decoder throws: the code without its prefix, and where. */
export class RefError extends Error {
  constructor(code, offset) {
    super(`${code} at ${offset}`);
    this.code = `ERR_MSGPACK_${code}`;
    this.offset = offset;
  }
}

/** The value of one whole message, as the unpacking table says; `make` builds Ext. */
export function refUnpack(input, make, maxDepth = 1000) {
  const reader = new Reader(input, make, maxDepth);
  const value = reader.value(0);
  if (reader.at < input.length) throw new RefError('EXTRA_BYTES', reader.at);
  return value;
}

class Reader {
  constructor(input, make, maxDepth) {
    this.input = input;
    this.make = make;
    this.maxDepth = maxDepth;
    this.at = 0;
    this.decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  }

  take(n) {
    if (this.at + n > this.input.length) throw new RefError('TRUNCATED', this.at);
    this.at += n;
    return this.input.subarray(this.at - n, this.at);
  }

  uint(width) {
    let value = 0n;
    for (const byte of this.take(width)) value = (value << 8n) | BigInt(byte);
    return value;
  }

  length(width) {
    return Number(this.uint(width));
  }

  value(depth) {
    const start = this.at;
    const marker = this.take(1)[0];
    if (marker <= 0x7f) return marker;
    if (marker >= 0xe0) return marker - 256;
    if (marker <= 0x8f) return this.map(marker & 15, depth, start);
    if (marker <= 0x9f) return this.array(marker & 15, depth, start);
    if (marker <= 0xbf) return this.text(marker & 31);
    switch (marker) {
      case 0xc0:
        return null;
      case 0xc1:
        throw new RefError('INVALID_BYTE', start);
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return Buffer.from(this.take(this.length(1 << (marker - 0xc4))));
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.ext(this.length(1 << (marker - 0xc7)), start);
      case 0xca:
        return Buffer.from(this.take(4)).readFloatBE(0);
      case 0xcb:
        return Buffer.from(this.take(8)).readDoubleBE(0);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return safe(this.uint(1 << (marker - 0xcc)));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3: {
        const width = 1 << (marker - 0xd0);
        return safe(BigInt.asIntN(width * 8, this.uint(width)));
      }
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.text(this.length(1 << (marker - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.array(this.length(2 << (marker - 0xdc)), depth, start);
      case 0xde:
      case 0xdf:
        return this.map(this.length(2 << (marker - 0xde)), depth, start);
      default:
        return this.ext(1 << (marker - 0xd4), start);
    }
  }

  text(length) {
    return this.decoder.decode(Uint8Array.from(this.take(length)));
  }

  ext(length, start) {
    const type = (this.take(1)[0] << 24) >> 24;
    const data = Buffer.from(this.take(length));
    if (type !== -1) return this.make(type, data);
    let seconds;
    let nanoseconds = 0;
    if (length === 4) seconds = BigInt(data.readUInt32BE(0));
    else if (length === 8) {
      const both = data.readBigUInt64BE(0);
      nanoseconds = Number(both >> 34n);
      seconds = both & 0x3ffffffffn;
    } else if (length === 12) {
      nanoseconds = data.readUInt32BE(0);
      seconds = data.readBigInt64BE(4);
    } else throw new RefError('TIMESTAMP', start);
    if (nanoseconds > 999_999_999) throw new RefError('TIMESTAMP', start);
    const ms = seconds * 1000n + BigInt(Math.floor(nanoseconds / 1_000_000));
    if (ms > 8_640_000_000_000_000n || ms < -8_640_000_000_000_000n) {
      throw new RefError('TIMESTAMP', start);
    }
    return new Date(Number(ms));
  }

  array(length, depth, start) {
    if (depth >= this.maxDepth) throw new RefError('DEPTH', start);
    const result = [];
    for (let i = 0; i < length; i++) result.push(this.value(depth + 1));
    return result;
  }

  map(length, depth, start) {
    if (depth >= this.maxDepth) throw new RefError('DEPTH', start);
    const result = {};
    for (let i = 0; i < length; i++) {
      const at = this.at;
      if (at < this.input.length) {
        const marker = this.input[at];
        const keyish =
          marker <= 0x7f ||
          (marker >= 0xa0 && marker <= 0xbf) ||
          (marker >= 0xca && marker <= 0xd3) ||
          (marker >= 0xd9 && marker <= 0xdb) ||
          marker >= 0xe0;
        if (marker === 0xc1) throw new RefError('INVALID_BYTE', at);
        if (!keyish) throw new RefError('KEY', at);
      }
      const key = String(this.value(depth + 1));
      const item = this.value(depth + 1);
      Object.defineProperty(result, key, {
        value: item,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
    return result;
  }
}

function safe(value) {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}
