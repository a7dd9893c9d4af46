// Shared by the tests of streams: chunks, and what comes out of a reader to its end or its error.
import assert from 'node:assert/strict';
import { NIL, UnpackrStream, unpackIter } from '../index.js';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The promise's outcome, or a failure instead of a test that never ends. */
export function soon(promise, label = 'it', ms = 5000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${label}: nothing after ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** In pieces of `size` bytes. */
export function inPieces(bytes, size) {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

/** In two pieces, once for every byte. */
export function* everyCut(bytes) {
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
}

/** In pieces of random sizes, empty ones among them. */
export function atRandom(random, bytes, most = 40) {
  const pieces = [];
  let at = 0;
  while (at < bytes.length) {
    const size = random.below(most + 1);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

/** All chunks, each in the same memory, which is something else once the next one is asked for. */
export function* reusing(chunks) {
  const memory = Buffer.alloc(Math.max(1, ...chunks.map((chunk) => chunk.length)));
  for (const chunk of chunks) {
    memory.set(chunk);
    yield memory.subarray(0, chunk.length);
    memory.fill(0xc1);
  }
  memory.fill(0xc1);
}

export async function* later(chunks) {
  for (const chunk of chunks) {
    await null;
    yield chunk;
  }
}

/** What an iterable yields, and its error. */
export function settled(iterable) {
  const values = [];
  try {
    for (const value of iterable) values.push(value);
    return { values };
  } catch (error) {
    return { values, error };
  }
}

export async function settledLater(iterable, label) {
  const values = [];
  const all = async () => {
    try {
      for await (const value of iterable) values.push(value);
      return { values };
    } catch (error) {
      return { values, error };
    }
  };
  return await soon(all(), label);
}

/** What an UnpackrStream makes of chunks, nil as null. */
export async function throughStream(chunks, options) {
  const stream = new UnpackrStream(options);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  const { values, error } = await settledLater(stream, 'UnpackrStream');
  const all = values.map((value) => (value === NIL ? null : value));
  return error === undefined ? { values: all } : { values: all, error };
}

/** The three ways to read chunks, each to its end. */
export const READERS = {
  'unpackIter, sync': async (chunks, options) => settled(unpackIter(chunks, options)),
  'unpackIter, async': (chunks, options) => settledLater(unpackIter(later(chunks), options)),
  UnpackrStream: throughStream,
};

/** Exactly these values, and no error. */
export function gives({ values, error }, expected, label) {
  if (error !== undefined) throw new Error(`${label}: ${error.code}`, { cause: error });
  assert.deepStrictEqual(values, expected, label);
}

/** These values, and then an error of this code at this byte of the stream. */
export function failsAt({ values, error }, expected, code, offset, label) {
  assert.ok(error !== undefined, `${label}: no error, expected ${code}`);
  assert.equal(error.code, code, `${label}: ${error.stack}`);
  assert.deepStrictEqual(values, expected, `${label}: the values before the error`);
  if (offset === undefined) return;
  assert.equal(error.offset, offset, `${label}: offset (${error.message})`);
  const said = /\(at byte (\d+)\)$/.exec(error.message);
  if (said !== null) assert.equal(Number(said[1]), offset, `${label}: ${error.message}`);
}
