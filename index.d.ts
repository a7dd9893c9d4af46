// Types for `msgpack-rs`. They name Node's `Buffer`, so TypeScript needs `@types/node` (any version
// for Node 20 or newer); nothing here needs the DOM library.

/// <reference types="node" />

import type { Transform } from 'node:stream';

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
   * - `'undefined'`: ext type 0 everywhere, which a {@link Packr} with `moreTypes` or records reads
   *   back as `undefined`; it is the default there.
   */
  undefinedAs?: 'omit' | 'nil' | 'throw' | 'undefined' | undefined;

  /**
   * Which numbers that are no integers take a float 32 (5 bytes) instead of a float 64 (9 bytes).
   *
   * - `false` (default): none.
   * - `true`: those that lose nothing.
   * - `'always'`: all from −2^31 to 2^32, rounded to about seven decimal digits.
   * - `'round'`: the same; a {@link Packr} with this option reads them back as the decimal number
   *   that they stand for: 0.1 as 0.1.
   * - `'fit'`: those that `'round'` reads back as they were.
   */
  float32?: boolean | 'always' | 'round' | 'fit' | undefined;

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
  /** A record without a definition, or a damaged one; structures that could not be saved. */
  | 'ERR_MSGPACK_RECORD'
  /** A pointer to an object that the message does not have, or an id that is none. */
  | 'ERR_MSGPACK_REFERENCE'
  /** An extension that threw (see `cause`) or packed no bytes; a tag in front of something else. */
  | 'ERR_MSGPACK_EXTENSION'
  /** More than a MessagePack length, a JavaScript string or a `Buffer` can hold. */
  | 'ERR_MSGPACK_TOO_LARGE'
  /** A text that is no JSON; with `nonFinite: 'throw'`, a number that JSON does not have. */
  | 'ERR_MSGPACK_JSON'
  /** A fault of msgpack-rs itself, which is worth a report. */
  | 'ERR_MSGPACK_INTERNAL';

/** Thrown for a value that cannot be packed and for bytes that cannot be unpacked. */
export class MsgpackError extends Error {
  private constructor();
  readonly name: 'MsgpackError';
  /** Says what is wrong. The codes are stable, the message is for people. */
  readonly code: MsgpackErrorCode;
  /** When unpacking, or reading JSON: where in the input, in bytes from its start. */
  readonly offset?: number;
  /** When reading JSON: the line at fault, from 1. */
  readonly line?: number;
  /** When reading JSON: where in the line, in UTF-16 units from 1. */
  readonly column?: number;
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

/** An option of the functions that return promises. */
export interface AsyncOptions {
  /**
   * Rejects the promise with the signal's reason when it is aborted, at once. Work that no thread
   * has begun is not done then; other work goes on to its end, and its result is dropped.
   */
  signal?: AbortSignal | undefined;
}

/**
 * {@link unpack}, with the bytes read on a thread of libuv's pool; only the objects are made on the
 * thread of JavaScript, when the bytes have been read. Those in an array are made some at a time,
 * and the event loop turns in between. For messages of a megabyte and more.
 *
 * The bytes are copied first, so that they may change meanwhile, and what is a `Buffer` over the
 * input with {@link unpack} is one over the copy.
 *
 * @returns a promise of the value. It is rejected with what {@link unpack} throws.
 */
export function unpackAsync<T = unknown>(
  bytes: MessageBytes,
  options?: UnpackOptions & AsyncOptions,
): Promise<T>;

/** Options of {@link jsonToMsgpack}. */
export interface JsonToMsgpackOptions {
  /**
   * Any number of JSON texts, one behind the other with or without white space (JSON Lines), to as
   * many messages. Default `false`: one text.
   */
  multiple?: boolean | undefined;

  /**
   * Make an ext of what {@link msgpackToJson} writes for one: an object with just the properties
   * `$ext`, a number from −128 to 127, and `data`, in this order. Default `false`.
   */
  exts?: boolean | undefined;

  /** How the `data` of an ext are written, as in {@link MsgpackToJsonOptions}. Default `'base64'`. */
  binary?: 'base64' | 'hex' | 'array' | undefined;

  /**
   * What becomes of ill-formed UTF-8: U+FFFD (`'replace'`, default), or `'fatal'`,
   * `ERR_MSGPACK_INVALID_UTF8`. A `\u` escape of half a surrogate pair is U+FFFD with both.
   */
  utf8?: 'replace' | 'fatal' | undefined;

  /**
   * How many arrays and objects may be inside one another, a positive integer; past it
   * `ERR_MSGPACK_DEPTH`. Default 1000.
   */
  maxDepth?: number | undefined;
}

/**
 * Encodes what a JSON text says as MessagePack, without making the values of it.
 *
 * The bytes are those of `pack(JSON.parse(json))`, but integers keep all digits of 64 bits, keys that
 * are integers their place, and a number too large for a double is an error. Of equal keys the last
 * is the one; −0 is a float.
 *
 * @param json a string, or bytes that are UTF-8
 * @returns a new `Buffer`
 * @throws {MsgpackError} with `offset` (bytes), `line` and `column`: `ERR_MSGPACK_JSON`,
 * `ERR_MSGPACK_DEPTH`, `ERR_MSGPACK_INVALID_UTF8` or `ERR_MSGPACK_TOO_LARGE`; without:
 * `ERR_MSGPACK_INVALID_INPUT`
 * @throws {TypeError} with code `ERR_INVALID_ARG_VALUE` for an option that has no such value
 */
export function jsonToMsgpack(
  json: string | MessageBytes,
  options?: JsonToMsgpackOptions,
): PackedBuffer;

/**
 * {@link jsonToMsgpack} on a thread of libuv's pool. The text is copied first, so that it may change
 * meanwhile.
 *
 * @returns a promise of the `Buffer`. It is rejected with what {@link jsonToMsgpack} throws.
 */
export function jsonToMsgpackAsync(
  json: string | MessageBytes,
  options?: JsonToMsgpackOptions & AsyncOptions,
): Promise<PackedBuffer>;

/** Options of {@link msgpackToJson}. */
export interface MsgpackToJsonOptions {
  /**
   * What a level is indented by, as for `JSON.stringify`: a number up to 10, or a string. The text has
   * 2^29 − 24 bytes at most then, `ERR_MSGPACK_TOO_LARGE`.
   */
  space?: number | string | undefined;

  /**
   * How bin, and the data of an ext, are written: `'base64'` (default, with padding), `'hex'`
   * (lower case), or `'array'`, an array of numbers.
   */
  binary?: 'base64' | 'hex' | 'array' | undefined;

  /** What NaN and the infinities are: null, as for `JSON.stringify`, or `ERR_MSGPACK_JSON`. */
  nonFinite?: 'null' | 'throw' | undefined;

  /** What becomes of ill-formed UTF-8: U+FFFD (default), or `ERR_MSGPACK_INVALID_UTF8`. */
  utf8?: 'replace' | 'fatal' | undefined;

  /** Any number of messages, each on a line that ends with `\n`. Default `false`: one. */
  multiple?: boolean | undefined;

  /** As for {@link unpack}. Default 1000. */
  maxDepth?: number | undefined;
}

/**
 * Writes a message as JSON text, without making the values of it: what
 * `JSON.stringify(unpack(bytes))` is, with these differences.
 *
 * - Integers keep all digits of 64 bits.
 * - bin is text, by the option `binary`.
 * - A timestamp is its ISO 8601 form, with nine digits of a second where it has more than
 *   milliseconds, and in all its range.
 * - Any other ext is `{"$ext":type,"data":…}`, which {@link jsonToMsgpack} reads with `exts`.
 * - What a map has twice is there twice, in the order of the message.
 * - A key that is no string is the text of its JSON: `{"1":…}`, `{"null":…}`, `{"[1,2]":…}`. In an
 *   array or a map that is a key no key can be one: `ERR_MSGPACK_KEY`.
 *
 * @returns a new `Buffer` with the text in UTF-8
 * @throws {MsgpackError} as {@link unpack} does, with `offset`, and `ERR_MSGPACK_JSON`
 */
export function msgpackToJson(bytes: MessageBytes, options?: MsgpackToJsonOptions): PackedBuffer;

/**
 * {@link msgpackToJson} on a thread of libuv's pool. The bytes are copied first, so that they may
 * change meanwhile.
 *
 * @returns a promise of the `Buffer`. It is rejected with what {@link msgpackToJson} throws.
 */
export function msgpackToJsonAsync(
  bytes: MessageBytes,
  options?: MsgpackToJsonOptions & AsyncOptions,
): Promise<PackedBuffer>;

/**
 * Where a value is inside a message: an array of keys and indexes (`['users', 3, 'name']`) or a JSON
 * Pointer (`'/users/3/name'`, with `~0` for `~` and `~1` for `/`; `''` is the whole value).
 *
 * In an array an element is its index, as a number or as its decimal string. In a map it is the name
 * that the property has in the object that {@link unpack} makes: `7` and `'7'` are the same. With
 * `maps: 'map'` it is the key of the `Map`: strings and numbers differ. Paths lead into arrays and
 * maps, and into nothing else.
 *
 * @see RFC 6901
 */
export type Path = readonly (string | number)[] | string;

/**
 * Decodes the value at a path and nothing else, `undefined` where there is none.
 *
 * What comes before the value is passed over: its lengths are checked, no more. What comes after it
 * is not looked at, so damage and missing bytes there are no error, and neither are other messages.
 * Of equal keys the first counts, while {@link unpack} takes the last. `maxDepth` is for the value.
 *
 * @throws {MsgpackError} as {@link unpack} does, but for what is not looked at
 * @throws {TypeError} with code `ERR_INVALID_ARG_TYPE` for what is no path, `ERR_INVALID_ARG_VALUE`
 * for a string that is no JSON Pointer and for an option that has no such value
 */
export function get<T = unknown>(
  bytes: MessageBytes,
  path: Path,
  options?: UnpackOptions,
): T | undefined;

/**
 * {@link get} for many paths, going through the message once and no further than the last value.
 *
 * @returns the values in the order of the paths, `undefined` where there is none
 * @throws as {@link get} does; one damaged value is an error for all
 */
export function getMany<T = unknown>(
  bytes: MessageBytes,
  paths: readonly Path[],
  options?: UnpackOptions,
): (T | undefined)[];

/**
 * The encoded value at a path, as it stands in the message: a `Buffer` over the memory of `bytes`
 * (over a copy, if that is shared). It is not validated, only its lengths are checked.
 *
 * @param path default: the first value as a whole
 * @throws as {@link get} does
 */
export function slice(
  bytes: MessageBytes,
  path?: Path,
  options?: UnpackOptions,
): PackedBuffer | undefined;

/**
 * Whether there is a value at a path.
 *
 * @throws as {@link get} does
 */
export function has(bytes: MessageBytes, path?: Path, options?: UnpackOptions): boolean;

/** What {@link typeAt} returns. A tag of a {@link ValueExtension} is an `'ext'`. */
export type ValueType =
  | 'nil'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'string'
  | 'binary'
  | 'array'
  | 'map'
  | 'timestamp'
  | 'ext';

/**
 * The type of the value at a path on the wire, `undefined` where there is none.
 *
 * @throws as {@link get} does
 */
export function typeAt(
  bytes: MessageBytes,
  path?: Path,
  options?: UnpackOptions,
): ValueType | undefined;

/**
 * How long the value at a path is: elements of an array, pairs of a map (equal keys counted each),
 * UTF-16 units of a string, bytes of a bin or of the data of an ext. `undefined` for anything else,
 * a timestamp and a tag among them, and where there is nothing.
 *
 * @throws as {@link get} does; `ERR_MSGPACK_TRUNCATED` where fewer bytes are left than entries
 */
export function lengthAt(
  bytes: MessageBytes,
  path?: Path,
  options?: UnpackOptions,
): number | undefined;

/**
 * The keys of the map at a path, in the order of the message, equal ones once: as names of
 * properties, or with `maps: 'map'` as they are. `undefined` for anything that is no map.
 *
 * @throws as {@link get} does, and as {@link unpack} does for keys that it does not take
 */
export function keysAt(
  bytes: MessageBytes,
  path?: Path,
  options?: UnpackOptions & { maps?: 'object' | undefined },
): string[] | undefined;
export function keysAt(
  bytes: MessageBytes,
  path?: Path,
  options?: UnpackOptions,
): unknown[] | undefined;

/**
 * A read-only view of a message: arrays and objects whose entries are decoded when they are first
 * read, and kept. It is read, iterated, spread, printed, compared and turned into JSON like the value
 * that {@link unpack} makes; reading an entry twice gives the same value. Writing to it throws a
 * `TypeError`. A scalar is just that scalar, and with `maps: 'map'` a `Map` is decoded whole.
 *
 * The message is validated first ({@link validate}), so that only an extension can throw later. The
 * view keeps the memory of `bytes` alive, all of it, until every entry has been read; do not change
 * it meanwhile. `structuredClone` and `postMessage` take no proxies, and so no views.
 *
 * @throws {MsgpackError} as {@link unpack} does
 */
export function lazy<T = unknown>(bytes: MessageBytes, options?: UnpackOptions): T;

/** Options of {@link validate}. */
export interface ValidateOptions extends UnpackOptions {
  /** Any number of messages, one behind the other, as for {@link unpackMultiple}. Default `false`. */
  multiple?: boolean | undefined;
}

/** What {@link validate} returns. */
export interface Validated {
  /** How many messages there are: 1, unless `multiple` was given. */
  values: number;
  /** Bytes in all. */
  bytes: number;
  /** How many arrays and maps are inside one another at most, 0 for a scalar. */
  depth: number;
  /** How many values there are at all levels, keys included. */
  nodes: number;
}

/**
 * Whether bytes unpack, without unpacking them: it throws the error that {@link unpack} (or with
 * `multiple` {@link unpackMultiple}) throws with these options, same `code` and same `offset`.
 * Extensions are not called. What is too large for JavaScript alone, such as a string past the
 * engine's limit, is not noticed.
 *
 * @throws {MsgpackError} as {@link unpack} does
 * @throws {TypeError} with code `ERR_INVALID_ARG_VALUE` for an option that has no such value
 */
export function validate(bytes: MessageBytes, options?: ValidateOptions): Validated;

/**
 * {@link validate} on a thread of libuv's pool. The bytes are copied first, so that they may change
 * meanwhile.
 *
 * @returns a promise of the figures. It is rejected with what {@link validate} throws.
 */
export function validateAsync(
  bytes: MessageBytes,
  options?: ValidateOptions & AsyncOptions,
): Promise<Validated>;

/**
 * How many bytes the value at `offset` takes. Only lengths are checked.
 *
 * @param offset where the value starts, in bytes from the start of `bytes`; default 0
 * @throws {MsgpackError} with `offset`: `ERR_MSGPACK_TRUNCATED` or `ERR_MSGPACK_INVALID_BYTE`;
 * without: `ERR_MSGPACK_INVALID_INPUT`
 */
export function lengthOf(bytes: MessageBytes, offset?: number): number;

/** An extension whose values are bytes on the wire: an ext of its type. */
export interface BytesExtension<T = any> {
  /** What is packed by `pack`: instances of this class and of its subclasses. */
  Class?: (abstract new (...args: any[]) => T) | undefined;
  /** The ext type, an integer from 0 to 127. */
  type: number;
  /** Makes the bytes. It may call the same codec. */
  pack?(value: T): ArrayBufferView | ArrayBufferLike;
  /** Makes the value of `bytes`, a `Buffer` over the memory of the input. */
  unpack?(bytes: Buffer): T;
}

/**
 * An extension whose values are other values on the wire: three bytes with its type, and then the
 * value. Without `type` the value takes the place of the instance.
 */
export interface ValueExtension<T = any> {
  /** What is packed by `write`: instances of this class and of its subclasses. */
  Class?: (abstract new (...args: any[]) => T) | undefined;
  /** The ext type, an integer from 0 to 127. */
  type?: number | undefined;
  /** The value to pack in place of an instance. */
  write?(value: T): unknown;
  /** Makes the instance of that value. */
  read?(value: any): T;
}

/** What {@link addExtension} and the option `extensions` of a {@link Packr} take. */
export type Extension<T = any> = BytesExtension<T> | ValueExtension<T>;

/**
 * Adds an extension for {@link pack}, {@link unpack} and their like, and for every {@link Packr}
 * that is made from now on. It takes the place of one with the same class or type.
 *
 * @throws {TypeError} with code `ERR_INVALID_ARG_VALUE` for what is no extension
 */
export function addExtension<T>(extension: Extension<T>): void;

/** Options of {@link Packr}: those of `pack` and `unpack`, and more. */
export interface PackrOptions extends PackOptions, UnpackOptions {
  /** Extensions, besides those of {@link addExtension}. */
  extensions?: readonly Extension[] | undefined;

  /**
   * Keep the type of `Set`, `Error` (with `cause`, and the `errors` of an `AggregateError`),
   * `RegExp`, typed arrays, `ArrayBuffer`, `DataView`, `undefined` and of a `bigint` of any size, in
   * the forms that msgpackr gave them. A `bigint` is written as a 64-bit integer at least, a number
   * outside 32 bits as a float 64, and `int64` is `'bigint'` by default. Default: as
   * `structuredClone`.
   */
  moreTypes?: boolean | undefined;

  /**
   * Keep which objects are the same: one that comes twice is one object again, and may hold itself.
   * Default `false`.
   */
  structuredClone?: boolean | undefined;

  /**
   * Write objects as records, in the form of msgpackr: the names of the properties once, and after
   * that one or two bytes for all of them. What is a map on the wire is a `Map` then. Default:
   * `true` if `moreTypes`, `structuredClone`, `sequential` or one of the three options for
   * structures is given, otherwise `false`.
   */
  useRecords?: boolean | undefined;

  /**
   * Whether a map becomes an object (`maps: 'object'`) where `maps` does not say. Default: the
   * opposite of `useRecords`.
   */
  mapsAsObjects?: boolean | undefined;

  /**
   * The structures of records that writer and reader share, each an array of names; those are not
   * written. New ones are added to this array. Keep it, or give it to the reader.
   */
  structures?: string[][] | undefined;

  /** Returns the structures as they were saved last; `undefined` when there are none. */
  getStructures?: (() => string[][] | undefined | null) | undefined;

  /**
   * Saves the structures, after a message that has added some and before `pack` returns. `false`
   * means that somebody else has saved others meanwhile (`isCompatible`, given those, tells): they
   * are loaded and the message is packed again.
   */
  saveStructures?:
    | ((
        structures: string[][],
        isCompatible: (existing: string[][] | undefined | null) => boolean,
      ) => unknown)
    | undefined;

  /** Shared structures at most, up to 8160. Default: 32 where new ones can be shared, else 0. */
  maxSharedStructures?: number | undefined;

  /** Structures that are defined within messages, at a time. Default: 64, or 32 if any are shared. */
  maxOwnStructures?: number | undefined;

  /** Says of the names of a new structure whether to share it; `false` keeps it out. */
  shouldShareStructure?: ((names: string[]) => unknown) | undefined;

  /**
   * Definitions hold for all messages that follow, in the order in which they were packed. Default
   * `false`: every message can be read by itself.
   */
  sequential?: boolean | undefined;

  /**
   * Write equal values as equal bytes: the keys of objects in the order of their UTF-8 bytes, the
   * entries of a `Map` and the elements of a `Set` in the order of what is written for them. Sets in
   * Sets, and Maps and Sets in the keys of Maps, are sorted 64 levels deep; more is
   * `ERR_MSGPACK_DEPTH`. Leave records off for a canonical form: their ids depend on what was packed
   * before. Default `false`.
   */
  sortKeys?: boolean | undefined;

  /** Says of each key of an object whether the property is written. */
  keyFilter?: ((key: string) => unknown) | undefined;

  /** Properties with one of these values are left out of objects. */
  skipValues?: readonly unknown[] | undefined;

  /**
   * Freeze the objects and arrays that are unpacked, all the way down, but not what extensions make.
   * Memory cannot be frozen, and a `Map`, a `Set` or a `Date` still changes by its methods. Default
   * `false`.
   */
  freeze?: boolean | undefined;

  /**
   * Write an object that is no record with the shortest header. `false`: with three bytes at least,
   * as msgpackr does. Default `true`.
   */
  variableMapSize?: boolean | undefined;
}

/**
 * Packs and unpacks with options said once. Instances share nothing; each has its own extensions,
 * and one may be used within itself, by an extension, say.
 *
 * An instance takes a few hundred kilobytes, and a millisecond or three when it is first used. Make
 * one, and keep it.
 */
export class Packr {
  /** @throws {TypeError} with code `ERR_INVALID_ARG_VALUE` for an option it does not know or take */
  constructor(options?: PackrOptions);

  /**
   * Encodes a value as one message, like {@link pack}.
   *
   * @throws {MsgpackError} as `pack` does, and `ERR_MSGPACK_EXTENSION`, `ERR_MSGPACK_RECORD`
   */
  pack(value: unknown): PackedBuffer;

  /** Encodes a value into memory that is there already, like {@link packInto}. */
  packInto(value: unknown, target: Uint8Array, offset?: number): number;

  /**
   * Decodes one message, which is all of `bytes`, like {@link unpack}.
   *
   * @throws {MsgpackError} as `unpack` does, and `ERR_MSGPACK_EXTENSION`, `ERR_MSGPACK_RECORD`,
   * `ERR_MSGPACK_REFERENCE`
   */
  unpack<T = unknown>(bytes: MessageBytes): T;

  /** Decodes all messages of `bytes`, like {@link unpackMultiple}. */
  unpackMultiple<T = unknown>(bytes: MessageBytes): T[];

  /** Decodes one message from `offset` on, like {@link unpackFrom}. */
  unpackFrom<T = unknown>(bytes: MessageBytes, offset?: number): Unpacked<T>;

  /** The same as `pack`. */
  encode(value: unknown): PackedBuffer;

  /** The same as `unpack`. */
  decode<T = unknown>(bytes: MessageBytes): T;

  /** Adds an extension to this instance. */
  addExtension<T>(extension: Extension<T>): this;

  /** The structures that are shared by now; the array that was given, where one was. */
  readonly structures: string[][];
}

/** The same class as {@link Packr}. */
export const Unpackr: typeof Packr;
export type Unpackr = Packr;

/** The same class as {@link Packr}. */
export const Encoder: typeof Packr;
export type Encoder = Packr;

/** The same class as {@link Packr}. */
export const Decoder: typeof Packr;
export type Decoder = Packr;

/** Options of {@link unpackIter}: those of a {@link Packr}, and how large a message may be. */
export interface UnpackIterOptions extends PackrOptions {
  /**
   * Bytes of one message at most; `ERR_MSGPACK_TOO_LARGE` as soon as one says that it is larger.
   * Default 64 MiB.
   */
  maxMessageSize?: number | undefined;

  /**
   * Default `true` here: the source may use the memory of a chunk again. (A message that arrives in
   * several chunks is put together anyway: its binaries are copies, or, where it takes more than 1 MiB,
   * lie in memory that is its own.)
   */
  copyBuffers?: boolean | undefined;
}

/** Options of {@link PackrStream}: those of a {@link Packr} and of a Transform. */
export interface PackrStreamOptions extends PackrOptions {
  /** As for every stream of Node's. */
  autoDestroy?: boolean | undefined;
  emitClose?: boolean | undefined;
  highWaterMark?: number | undefined;
  readableHighWaterMark?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Of a {@link PackrStream}: how many values may wait. Default 128, as many as are packed at once. */
  writableHighWaterMark?: number | undefined;
}

/** Options of {@link UnpackrStream}. */
export interface UnpackrStreamOptions extends PackrStreamOptions, UnpackIterOptions {}

/**
 * Packs a value and writes it to a stream. The stream is corked until the end of the tick, so that
 * all that is written to it in one tick goes out together; corks of your own nest with that.
 *
 * Binaries of 32 KiB or more are not copied: the stream gets your own memory as a chunk of its own,
 * and you must not change it before it is written. With `copy: true` everything is copied.
 *
 * @returns what the stream's last `write` returned: `false` means to wait for `'drain'`
 * @throws {MsgpackError} as {@link pack} does, before anything is written
 */
export function writeTo(
  stream: NodeJS.WritableStream,
  value: unknown,
  options?: PackrOptions & { copy?: boolean | undefined },
): boolean;

/**
 * Packs a value into several Buffers that are the message one behind the other, for `writev` or a
 * `Blob`. Binaries of 32 KiB or more are not copied: they are parts of their own, over your memory.
 *
 * @throws {MsgpackError} as {@link pack} does
 */
export function packParts(value: unknown, options?: PackrOptions): Buffer[];

/**
 * Packs many values. What it yields are bytes, not messages: those that are there together come
 * together. With records their definitions hold for all messages that follow.
 *
 * @throws {MsgpackError} as {@link pack} does, when the values before have been yielded
 */
export function packIter(values: Iterable<unknown>, options?: PackrOptions): Generator<Buffer>;
export function packIter(
  values: AsyncIterable<unknown>,
  options?: PackrOptions,
): AsyncGenerator<Buffer>;

/**
 * Unpacks the messages of a source of chunks: a Node.js or web `ReadableStream`, any other async
 * iterable, an iterable, or all bytes at once. Chunks may be cut anywhere. nil is `null`.
 *
 * @throws {MsgpackError} as {@link unpack} does, with the offset in the stream, when the values
 * before have been yielded; `ERR_MSGPACK_TRUNCATED` if the source ends in the middle of a message;
 * `ERR_MSGPACK_TOO_LARGE` for a message of more than `maxMessageSize`
 */
export function unpackIter<T = unknown>(
  source: Uint8Array | Iterable<MessageBytes>,
  options?: UnpackIterOptions,
): IterableIterator<T>;
export function unpackIter<T = unknown>(
  source: AsyncIterable<MessageBytes | string>,
  options?: UnpackIterOptions,
): AsyncIterableIterator<T>;

/**
 * What stands for nil in {@link UnpackrStream} and {@link PackrStream}: `null` is the end of a stream
 * of objects. `Symbol.for('msgpack-rs.nil')`.
 */
export const NIL: unique symbol;

/**
 * A Transform: values in, bytes out. What is written while it is busy is packed together. Write
 * {@link NIL} for nil. With records (`useRecords`, `moreTypes`) `sequential` is on.
 */
export class PackrStream extends Transform {
  constructor(options?: PackrStreamOptions);
}

/**
 * A Transform: bytes in, values out, {@link NIL} for nil. Values before an error are delivered before
 * it. With records (`useRecords`, `moreTypes`) `sequential` is on.
 */
export class UnpackrStream extends Transform {
  constructor(options?: UnpackrStreamOptions);
}

/** The same function as {@link pack}. */
export const encode: typeof pack;

/** The same function as {@link unpack}. */
export const decode: typeof unpack;
