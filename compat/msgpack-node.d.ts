// Types for `msgpack-rs/compat/msgpack-node`: the interface of msgpack-node (`msgpack` 1) over the
// codec of msgpack-rs. Values are `any`, since code written for it has no types.

// biome-ignore-all lint/suspicious/noExplicitAny: values are any

/// <reference types="node" />

import { EventEmitter } from 'node:events';

/**
 * Encodes values, one behind the other, into one `Buffer`; without any into an empty one.
 *
 * @throws {TypeError} for what holds itself, or is more than 512 levels deep
 */
export function pack(...values: any[]): Buffer;

/** The function {@link unpack}, and what it tells besides the value. */
export interface Unpack {
  /**
   * Decodes the value that the bytes start with. `undefined` if there are too few of them.
   *
   * @throws {Error} `Error de-serializing object` for bytes that are no MessagePack
   * @throws {TypeError} for what is not bytes
   */
  (bytes: ArrayBufferView | ArrayBufferLike): any;
  /** How many bytes there were behind the last value; all of them, where it was incomplete. */
  bytes_remaining: number;
}

export const unpack: Unpack;

/** What a {@link Stream} needs of a stream: a socket, a pipe, any duplex. */
export interface DuplexLike {
  write(bytes: Buffer, ...rest: any[]): any;
  on(event: string, listener: (...args: any[]) => void): any;
}

/** Errors of a {@link Stream}: where, in bytes from its start, and a code of msgpack-rs. */
export interface StreamError extends Error {
  code?: string;
  offset?: number;
}

/**
 * Values over a stream. Emits `msg` for every value that comes, and `error` for bytes that are no
 * MessagePack and for an end in the middle of a value, after which nothing comes.
 */
export interface Stream extends EventEmitter {
  /** Writes a value to the stream; what follows goes to its `write`, whose result it returns. */
  send(value: any, ...rest: any[]): any;

  on(event: 'msg', listener: (value: any) => void): this;
  on(event: 'error', listener: (error: StreamError) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
  once(event: 'msg', listener: (value: any) => void): this;
  once(event: 'error', listener: (error: StreamError) => void): this;
  once(event: string | symbol, listener: (...args: any[]) => void): this;
  addListener(event: 'msg', listener: (value: any) => void): this;
  addListener(event: 'error', listener: (error: StreamError) => void): this;
  addListener(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** Makes a {@link Stream}, with `new` or without. */
export const Stream: {
  new (stream: DuplexLike): Stream;
  (stream: DuplexLike): Stream;
  readonly prototype: Stream;
};
