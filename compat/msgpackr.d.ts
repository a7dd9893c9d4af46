// Types for `msgpack-rs/compat/msgpackr`: the interface of msgpackr 2 over the codec of msgpack-rs.
// Values are `any`, as they are there, so that code written for it compiles unchanged.

// biome-ignore-all lint/suspicious/noExplicitAny: values are any
// biome-ignore-all lint/suspicious/noConfusingVoidType: a function that returns nothing is fine
// biome-ignore-all lint/complexity/noBannedTypes: msgpackr says {} and Function

/// <reference types="node" />

import { Transform, type TransformOptions } from 'node:stream';

/** How numbers that are not integers are written, for the option `useFloat32`. */
export enum FLOAT32_OPTIONS {
  /** As float 64 (the default). */
  NEVER = 0,
  /** As float 32. */
  ALWAYS = 1,
  /** As float 32, and read back with the decimal digits that float 32 has. */
  DECIMAL_ROUND = 3,
  /** As float 32 where its decimal digits are all there are, and read back with them. */
  DECIMAL_FIT = 4,
}

/** The record structures: for each, the names of its fields. */
export type Structures = {}[];

/**
 * Options of {@link Packr} and {@link Unpackr}. Other properties are copied to the instance, which
 * is `this` in the functions among the options.
 */
export interface Options {
  /** Objects as records: shape once, then values. Default `true`; `false` for the functions of the module. */
  useRecords?: boolean | ((value: any) => boolean) | undefined;
  /** Shared structures. New ones are added to this very array. */
  structures?: Structures | undefined;
  /** Where shared structures are loaded from, before they are needed. */
  getStructures?(): Structures | null | undefined | void;
  /** Where new shared structures are saved. `false`: somebody else saved meanwhile; load again. */
  saveStructures?(
    structures: Structures,
    isCompatible: (existing: any) => boolean,
  ): boolean | undefined | void;
  /** Default 32 with `structures` or `saveStructures`, else 0; 8160 at most. */
  maxSharedStructures?: number | undefined;
  /** Default 32 with shared structures, else 64; 8192 at most together with the shared ones. */
  maxOwnStructures?: number | undefined;
  /** Whether objects with these keys become a shared structure. */
  shouldShareStructure?: ((keys: string[]) => boolean) | undefined;
  /** Definitions of records last from one message to the next. */
  sequential?: boolean | undefined;
  /** A map is an object, not a `Map`. Default `true` with `useRecords: false`, else `false`. */
  mapsAsObjects?: boolean | undefined;
  /** The shortest header for an object written as a map. Default `false`: always three bytes. */
  variableMapSize?: boolean | undefined;
  /** Keep Set, RegExp, Error and typed arrays what they are. Default: as `structuredClone`. */
  moreTypes?: boolean | undefined;
  /** Keep which objects are the same, cycles included. `false` refuses to read that, too. */
  structuredClone?: boolean | undefined;
  /** One of {@link FLOAT32_OPTIONS}. */
  useFloat32?: FLOAT32_OPTIONS | undefined;
  /** Write dates without their milliseconds, in 32 bits where that can be. */
  useTimestamp32?: boolean | undefined;
  /** Call `toJSON`. Default `true`. */
  useToJSON?: boolean | undefined;
  /** What 64-bit integers become. Default `'bigint'`. */
  int64AsType?: 'bigint' | 'number' | 'string' | 'auto' | undefined;
  /** @deprecated use int64AsType: 'number' */
  int64AsNumber?: boolean | undefined;
  /** Write a bigint that has more than 64 bits as float 64. */
  largeBigIntToFloat?: boolean | undefined;
  /** Write a bigint that has more than 64 bits as a string. */
  largeBigIntToString?: boolean | undefined;
  /** Write a bigint that has more than 64 bits as an extension; `moreTypes` does so, too. */
  useBigIntExtension?: boolean | undefined;
  /** Write `undefined` and functions as nil. */
  encodeUndefinedAsNil?: boolean | undefined;
  /** Leave out properties with these values, in objects written as maps. */
  skipValues?: { includes(value: any): boolean } | undefined;
  /** Write keys such as `'1'` as numbers, in objects written as maps. */
  coercibleKeyAsNumber?: boolean | undefined;
  /** Read an array that is the key of an object as its elements, joined. */
  allowArraysInMapKeys?: boolean | undefined;
  /** Give decoded buffers memory of their own. */
  copyBuffers?: boolean | undefined;
  /** Freeze decoded objects and arrays. */
  freezeData?: boolean | undefined;
  /** Bundled strings are always read; they are written in their place. */
  bundleStrings?: boolean | undefined;
  /** What to write for an invalid date. */
  onInvalidDate?: (() => any) | undefined;
  /** What to write for a function. */
  writeFunction?: ((fn: any) => any) | undefined;
  /** Write a `Map` as an empty object. */
  mapAsEmptyObject?: boolean | undefined;
  /** Write a `Set` as an empty object. */
  setAsEmptyObject?: boolean | undefined;
  /** For streams, which are not there yet. */
  maxIncompleteBufferSize?: number | undefined;
}

export interface Extension {
  /** The class whose instances, and those of its subclasses, are written by this extension. */
  Class?: Function | undefined;
  /** 1 to 100 are yours. */
  type?: number | undefined;
  /** The bytes of an instance. */
  pack?(value: any): Buffer | Uint8Array;
  /** The instance of the bytes. */
  unpack?(messagePack: Buffer | Uint8Array): any;
  /** The instance of what `write` gave. */
  read?(datum: any): any;
  /** What to write for an instance. */
  write?(instance: any): any;
}

/** The part of the bytes to read: where it ends, or where it starts and ends. */
export type UnpackOptions =
  | { start?: number | undefined; end?: number | undefined; lazy?: boolean | undefined }
  | number;

export class Unpackr {
  constructor(options?: Options);
  /**
   * Decodes the one message that is all of the bytes, or of the part of them.
   *
   * An incomplete message throws an error with `incomplete: true`.
   */
  unpack(messagePack: Buffer | Uint8Array | ArrayBufferLike, options?: UnpackOptions): any;
  /** The same as {@link unpack}. */
  decode(messagePack: Buffer | Uint8Array | ArrayBufferLike, options?: UnpackOptions): any;
  /**
   * Decodes the messages in the bytes, one after the other. An error tells where it stopped
   * (`lastPosition`) and what came before (`values`).
   */
  unpackMultiple(messagePack: Buffer | Uint8Array | ArrayBufferLike): any[];
  /** The same, but calls `forEach` for each value, until it returns `false`. */
  unpackMultiple(
    messagePack: Buffer | Uint8Array | ArrayBufferLike,
    forEach: (value: any, start: number, end: number) => any,
  ): void;
  /** The shared structures, which can be set. */
  structures: any;
}

export class Packr extends Unpackr {
  /** Encodes a value. The modes are {@link RESERVE_START_SPACE} and its like, joined by `|`. */
  pack(value: any, encodeOptions?: number): Buffer;
  /** The same as {@link pack}. */
  encode(value: any, encodeOptions?: number): Buffer;
  /** Results are put into this buffer, one behind the other, as long as they fit. */
  useBuffer(buffer: Buffer | Uint8Array): void;
  /** Where the next result goes in the buffer of {@link useBuffer}. */
  position: number;
  /** Where the last result ends in that buffer. */
  offset: number;
  /** Does nothing. */
  clearSharedData(): void;
}

export { Packr as Encoder, Unpackr as Decoder };

/** Options of the streams: those of Node's `Transform` besides those of the codec. */
export interface StreamOptions extends Options, Omit<TransformOptions, 'transform' | 'flush'> {
  /** The longest message in bytes; a longer one is an error. Default 64 MiB. */
  maxIncompleteBufferSize?: number | undefined;
}

/**
 * Values in, bytes out. Definitions of records last for the whole stream. A value that cannot be
 * packed is an `'error'` of the stream.
 */
export class PackrStream extends Transform {
  /** With `packr` that instance packs. */
  constructor(options?: StreamOptions & { packr?: Packr | undefined });
  packr: Packr;
}

/** Bytes in, cut anywhere; values out. */
export class UnpackrStream extends Transform {
  /** With `unpackr` that instance unpacks, and is `sequential` from then on. */
  constructor(options?: StreamOptions & { unpackr?: Unpackr | undefined });
  unpackr: Unpackr;
  maxIncompleteBufferSize: number;
  /** What stands for nil: `Symbol.for(null)`, unless a subclass has another. */
  getNullValue(): any;
}

export { PackrStream as EncoderStream, UnpackrStream as DecoderStream };

/** Encodes each value of an iterable; of an async one, or a promise of one, when it comes. */
export function encodeIter(
  objectIterator: PromiseLike<Iterable<any> | AsyncIterable<any>>,
  options?: Options,
): AsyncGenerator<Buffer, void, undefined>;
export function encodeIter(
  objectIterator: Iterable<any>,
  options?: Options,
): Generator<Buffer, void, undefined>;
export function encodeIter(
  objectIterator: AsyncIterable<any>,
  options?: Options,
): AsyncGenerator<Buffer, void, undefined>;

/** Decodes the values in chunks that are cut anywhere. */
export function decodeIter(
  bufferIterator: Iterable<Uint8Array>,
  options?: Options & { maxIncompleteBufferSize?: number | undefined },
): IterableIterator<any>;
export function decodeIter(
  bufferIterator: AsyncIterable<Uint8Array>,
  options?: Options & { maxIncompleteBufferSize?: number | undefined },
): AsyncIterableIterator<any>;

/** Encodes a value, objects as maps. */
export function pack(value: any, encodeOptions?: number): Buffer;
/** The same as {@link pack}. */
export function encode(value: any, encodeOptions?: number): Buffer;
/** Decodes a message, maps as objects. */
export function unpack(
  messagePack: Buffer | Uint8Array | ArrayBufferLike,
  options?: UnpackOptions,
): any;
/** The same as {@link unpack}. */
export function decode(
  messagePack: Buffer | Uint8Array | ArrayBufferLike,
  options?: UnpackOptions,
): any;
/** As the method of {@link Unpackr}. */
export function unpackMultiple(messagePack: Buffer | Uint8Array | ArrayBufferLike): any[];
export function unpackMultiple(
  messagePack: Buffer | Uint8Array | ArrayBufferLike,
  forEach: (value: any, start: number, end: number) => any,
): void;

/** Adds an extension to every {@link Packr} and {@link Unpackr}, those that are there included. */
export function addExtension(extension: Extension): void;
/** Does nothing: no input is kept. */
export function clearSource(): void;
/** The number that a float 32 of this one reads as, with `DECIMAL_ROUND`. */
export function roundFloat32(float32Number: number): number;
/** Never decoded: the byte 0xc1 is an error. */
export const C1: {};

export const NEVER: 0;
export const ALWAYS: 1;
export const DECIMAL_ROUND: 3;
export const DECIMAL_FIT: 4;

/** A mode of pack: the result has `start` and `end`, between which the message is. */
export const REUSE_BUFFER_MODE: number;
/** A mode of pack: the next result goes where this one is, in the buffer of `useBuffer`. */
export const RESET_BUFFER_MODE: number;
/** A mode of pack: `RESERVE_START_SPACE | n` leaves n zero bytes (255 at most) in front. */
export const RESERVE_START_SPACE: number;

/** Always `true`. */
export const isNativeAccelerationEnabled: boolean;
/** What the functions of the module do. */
export const useRecords: false;
export const mapsAsObjects: true;
