// Types for `msgpack-rs`. They name Node's `Buffer`, so TypeScript needs `@types/node` (any version
// for Node 20 or newer); nothing here needs the DOM library.

/// <reference types="node" />

/**
 * What can be decoded: a `Buffer`, a `Uint8Array` or any other view, an `ArrayBuffer` or a
 * `SharedArrayBuffer`, from any realm. A view means exactly the bytes it shows.
 */
export type MessageBytes = ArrayBufferView | ArrayBufferLike;

/** The `Buffer` that {@link pack} returns. It is never over shared memory. */
export type PackedBuffer = ReturnType<typeof Buffer.allocUnsafe>;

/** Options of {@link pack} and {@link packInto}. */
export interface PackOptions {
  /**
   * What becomes of `undefined`, a function or a symbol.
   *
   * - `'omit'` (default): as `JSON.stringify` does. The property of an object is left out; in an
   *   array or a `Map` it is nil. At the top `undefined` is nil, and a function or a symbol throws
   *   `ERR_MSGPACK_UNSUPPORTED_TYPE`.
   * - `'nil'`: nil everywhere.
   * - `'throw'`: throws `ERR_MSGPACK_UNSUPPORTED_TYPE`, with the path of the value.
   */
  undefinedAs?: 'omit' | 'nil' | 'throw' | undefined;

  /**
   * Write a number that is not an integer as float 32 (5 bytes) when that loses nothing, instead of
   * float 64 (9 bytes). Default `false`.
   */
  float32?: boolean | undefined;

  /**
   * How many arrays and maps may be inside one another, a positive integer. Past it, and so for
   * every cycle, `ERR_MSGPACK_DEPTH`. Default 1000, as for {@link unpack}: what packs, unpacks.
   */
  maxDepth?: number | undefined;
}

/** Options of {@link unpack}, {@link unpackMultiple} and {@link unpackFrom}. */
export interface UnpackOptions {
  /**
   * What the 64-bit integer forms (int 64 and uint 64) become. Shorter forms are always numbers.
   *
   * - `'auto'` (default): a number where that is exact (±(2^53 − 1)), else a `bigint`.
   * - `'bigint'`: always a `bigint`.
   * - `'number'`: always a number, rounded where it is not exact.
   * - `'string'`: always a decimal string.
   */
  int64?: 'auto' | 'bigint' | 'number' | 'string' | undefined;

  /**
   * What becomes of a str that is not well-formed UTF-8.
   *
   * - `'replace'` (default): a string with U+FFFD for what is damaged, as `TextDecoder` does.
   * - `'fatal'`: throws `ERR_MSGPACK_INVALID_UTF8`.
   * - `'raw'`: a `Buffer` with the bytes instead of the string.
   */
  utf8?: 'replace' | 'fatal' | 'raw' | undefined;

  /**
   * Give every bin (and the data of every {@link Ext}) memory of its own. By default a bin is a
   * `Buffer` over the memory of the input: nothing is copied, it changes when the input does, and
   * keeping it keeps the whole input. Default `false`.
   */
  copyBuffers?: boolean | undefined;

  /**
   * What a map becomes: a plain `'object'` (default) or a `Map`, whose keys keep their type.
   *
   * In an object the last of equal keys wins, `__proto__` is a property like any other, integer and
   * float keys are their decimal string, and a key of any other type is `ERR_MSGPACK_KEY`.
   */
  maps?: 'object' | 'map' | undefined;

  /**
   * What a timestamp (ext type −1) becomes: a `Date`, floored to its millisecond (`'date'`,
   * default), or a {@link Timestamp}, which keeps every nanosecond.
   */
  timestamps?: 'date' | 'timestamp' | undefined;

  /**
   * How many arrays and maps may be inside one another, a positive integer; past it
   * `ERR_MSGPACK_DEPTH`. Default 1000.
   */
  maxDepth?: number | undefined;
}

/** What {@link unpackFrom} returns. */
export interface Unpacked<T = unknown> {
  /** The decoded value. */
  value: T;
  /** The offset, in bytes from the start of the input, of the first byte after the value. */
  end: number;
}

/** The codes a {@link MsgpackError} can have. */
export type MsgpackErrorCode =
  /** The input ends inside a value: more bytes could complete it. */
  | 'ERR_MSGPACK_TRUNCATED'
  /** The value is complete and there are bytes after it. */
  | 'ERR_MSGPACK_EXTRA_BYTES'
  /** The byte 0xc1, which MessagePack never uses. */
  | 'ERR_MSGPACK_INVALID_BYTE'
  /** A str is not well-formed UTF-8, with `utf8: 'fatal'`. */
  | 'ERR_MSGPACK_INVALID_UTF8'
  /** A map's key cannot be the key of an object. */
  | 'ERR_MSGPACK_KEY'
  /** More than `maxDepth` arrays and maps inside one another, or a cycle. */
  | 'ERR_MSGPACK_DEPTH'
  /** A timestamp of a wrong length, with too many nanoseconds, or outside the range of `Date`. */
  | 'ERR_MSGPACK_TIMESTAMP'
  /** A `bigint` outside −2^63 … 2^64 − 1. */
  | 'ERR_MSGPACK_OUT_OF_RANGE'
  /** A value that has no MessagePack form. */
  | 'ERR_MSGPACK_UNSUPPORTED_TYPE'
  /** What was to be decoded is not bytes, or its memory is gone. */
  | 'ERR_MSGPACK_INVALID_INPUT'
  /** The target of {@link packInto} has too little room. */
  | 'ERR_MSGPACK_BUFFER_TOO_SMALL'
  /** More than a MessagePack length, a JavaScript string or a `Buffer` can hold. */
  | 'ERR_MSGPACK_TOO_LARGE'
  /** A fault of msgpack-rs itself, which is worth a report. */
  | 'ERR_MSGPACK_INTERNAL';

/** Thrown for a value that cannot be packed and for bytes that cannot be unpacked. */
export class MsgpackError extends Error {
  private constructor();
  readonly name: 'MsgpackError';
  /** Says what is wrong. The codes are stable, the message is for people. */
  readonly code: MsgpackErrorCode;
  /** When unpacking: where in the input, in bytes from its start. */
  readonly offset?: number;
  /** When packing: which value, as in `$.users[3].name`. */
  readonly path?: string;
}

/**
 * An extension value: a type and its bytes. Types 0 to 127 are the application's, −128 to −1 are
 * MessagePack's own. Every ext but the timestamp is decoded to an `Ext`, and packing that gives the
 * same bytes again.
 *
 * @see MessagePack spec, "Extension types" and "ext format family"
 */
export class Ext {
  /**
   * @param type an integer from −128 to 127
   * @param data the bytes; they are not copied
   */
  constructor(type: number, data: Uint8Array);
  /** An integer from −128 to 127. */
  readonly type: number;
  /** The bytes. After {@link unpack}, a `Buffer` over the memory of the input. */
  readonly data: Uint8Array;
}

/**
 * A point in time to the nanosecond, over the whole range of MessagePack's timestamp. Packed as ext
 * −1 in the shortest of its three forms.
 *
 * @see MessagePack spec, "Timestamp extension type"
 */
export class Timestamp {
  /**
   * @param seconds whole seconds since 1970-01-01T00:00:00Z, −2^63 … 2^63 − 1; negative before 1970
   * @param nanoseconds nanoseconds after that, 0 … 999 999 999; default 0
   */
  constructor(seconds: bigint | number, nanoseconds?: number);
  /** Whole seconds since 1970-01-01T00:00:00Z, negative before it. */
  readonly seconds: bigint;
  /** Nanoseconds after `seconds`, 0 … 999 999 999. */
  readonly nanoseconds: number;
  /** The same point in time as a valid `Date`. */
  static fromDate(date: Date): Timestamp;
  /** The `Date` of this point in time, floored to its millisecond. Invalid outside its range. */
  toDate(): Date;
}

/**
 * Encodes a value as one MessagePack message.
 *
 * Accepts null, booleans, numbers, bigints, strings, arrays, plain objects and instances of classes
 * (their own enumerable string keys), `Map`, `Set`, `Date`, `Buffer`, typed arrays, `DataView`,
 * `ArrayBuffer`, {@link Ext}, {@link Timestamp}, and objects with `toJSON`.
 *
 * @param value what to encode
 * @returns a new `Buffer`, which later calls never change
 * @throws {MsgpackError} with `path`: `ERR_MSGPACK_UNSUPPORTED_TYPE`, `ERR_MSGPACK_OUT_OF_RANGE`,
 * `ERR_MSGPACK_DEPTH`, `ERR_MSGPACK_INVALID_INPUT` (detached memory) or `ERR_MSGPACK_TOO_LARGE`
 * @throws {TypeError} with code `ERR_INVALID_ARG_VALUE` for an option that has no such value
 */
export function pack(value: unknown, options?: PackOptions): PackedBuffer;

/**
 * Encodes a value into memory that is there already.
 *
 * @param value what to encode, as for {@link pack}
 * @param target where to write
 * @param offset the first byte to write, in bytes from the start of `target`; default 0
 * @returns the offset of the first byte after the message
 * @throws {MsgpackError} as {@link pack} does, and `ERR_MSGPACK_BUFFER_TOO_SMALL`. The bytes from
 * `offset` on may then have changed; those before it never do.
 */
export function packInto(
  value: unknown,
  target: Uint8Array,
  offset?: number,
  options?: PackOptions,
): number;

/**
 * Decodes one MessagePack message, which is all of `bytes`.
 *
 * `T` is your claim about the value; nothing checks it.
 *
 * @throws {MsgpackError} with `offset`: `ERR_MSGPACK_TRUNCATED`, `ERR_MSGPACK_EXTRA_BYTES`,
 * `ERR_MSGPACK_INVALID_BYTE`, `ERR_MSGPACK_INVALID_UTF8`, `ERR_MSGPACK_KEY`, `ERR_MSGPACK_DEPTH`,
 * `ERR_MSGPACK_TIMESTAMP` or `ERR_MSGPACK_TOO_LARGE`; without: `ERR_MSGPACK_INVALID_INPUT`
 * @throws {TypeError} with code `ERR_INVALID_ARG_VALUE` for an option that has no such value
 */
export function unpack<T = unknown>(bytes: MessageBytes, options?: UnpackOptions): T;

/**
 * Decodes every message in `bytes`, one after the other to the end, into an array. No bytes make an
 * empty array; an incomplete last message throws `ERR_MSGPACK_TRUNCATED`.
 *
 * @throws {MsgpackError} as {@link unpack} does
 */
export function unpackMultiple<T = unknown>(bytes: MessageBytes, options?: UnpackOptions): T[];

/**
 * Decodes the one message that starts at `offset` and tells where it ends. What comes after it is
 * not looked at.
 *
 * @param offset where the message starts, in bytes from the start of `bytes`; default 0
 * @throws {MsgpackError} as {@link unpack} does
 */
export function unpackFrom<T = unknown>(
  bytes: MessageBytes,
  offset?: number,
  options?: UnpackOptions,
): Unpacked<T>;

/** The same function as {@link pack}. */
export const encode: typeof pack;

/** The same function as {@link unpack}. */
export const decode: typeof unpack;
