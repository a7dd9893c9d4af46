'use strict';

// The functions that return promises: the work of Rust is done on libuv's threads.

const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');
const { MsgpackError, invalidOption, noMemory } = require('../error');
const { checkBoolean, checkOptions } = require('../options');
const { bytesOr, jsonFault, jsonText, messageFault } = require('../transcode');
const { readFromJsonOptions, readToJsonOptions } = require('../transcode/options');
const { readUnpackOptions } = require('../unpack/options');
const { fault, toUint8Array } = require('../unpack');
const { Turns } = require('./turns');

/** What the addon says where it was refused memory (`memory.rs`). */
const REFUSED = 'memory is refused';
/** Messages that are parsed at a time, each by an unpacker of its own; libuv has four threads. */
const MAX_UNPACKERS = 16;
/** Unpackers that are kept for the next call. */
const MAX_IDLE = 4;

function createPool({ look, transcode, unpackers }) {
  const turns = new Turns(MAX_UNPACKERS);
  const idle = [];
  // Inputs that a thread may be reading where they are; of an aborted call nothing else holds them.
  const beingRead = new Set();

  async function jsonToMsgpackAsync(json, options) {
    const signal = signalOf(options);
    const { flags, maxDepth, space } = readFromJsonOptions(options);
    const text = jsonText(json);
    signal?.throwIfAborted();
    const job = begin(() => transcode.transcoder().fromJsonAsync(text, flags, maxDepth, space));
    return bytesOr(jsonFault, await done(job, signal));
  }

  async function msgpackToJsonAsync(bytes, options) {
    const signal = signalOf(options);
    const { flags, maxDepth, space } = readToJsonOptions(options);
    const input = toUint8Array(bytes);
    signal?.throwIfAborted();
    const job = begin(() => transcode.transcoder().toJsonAsync(input, flags, maxDepth, space));
    return bytesOr(messageFault, await done(job, signal));
  }

  async function unpackAsync(bytes, options) {
    const signal = signalOf(options);
    const { copies, flags, maxDepth } = readUnpackOptions(options ?? {});
    const view = toUint8Array(bytes);
    signal?.throwIfAborted();
    const input = copyOf(view);
    let job = turns.take();
    try {
      await done(job, signal);
      beingRead.add(input);
      const unpacker = idle.pop() ?? unpackers.create();
      unpackers.teach(unpacker);
      job = unpacker.parseAhead(input, flags, maxDepth);
      await done(job, signal);
      // After an error it does not know all that its parser has taught it, and is not used again.
      const value = await unpacker.unpackInTurns(input, flags, maxDepth, copies, slices(signal));
      if (idle.length < MAX_IDLE) idle.push(unpacker);
      return value;
    } finally {
      // Work that was aborted may still go on; a turn that was not waited for never comes.
      const over = () => {
        beingRead.delete(input);
        turns.give();
      };
      job.promise.then(over, over);
    }
  }

  async function validateAsync(bytes, options) {
    const signal = signalOf(options);
    const { flags, maxDepth } = readUnpackOptions(options ?? {});
    const multiple = checkBoolean('multiple', options?.multiple, false) ? 1 : 0;
    const input = toUint8Array(bytes);
    signal?.throwIfAborted();
    const job = begin(() => look.looker().validateAsync(input, flags, maxDepth, multiple));
    const summary = await done(job, signal);
    if (summary.code !== undefined) throw fault(summary.code, summary.offset);
    return summary;
  }

  return { jsonToMsgpackAsync, msgpackToJsonAsync, unpackAsync, validateAsync };
}

/** Bytes of their own, which nobody else can change meanwhile. */
function copyOf(bytes) {
  try {
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    copy.set(bytes);
    return copy;
  } catch (cause) {
    throw noMemory(cause);
  }
}

/** So long one message is built before others have their turn, ms (`bench/transcode.mjs`). */
const SLICE_MS = 2;
// As they are when this is loaded: a test that fakes timers later would wait for ever.
const turnOfTheLoop = () => new Promise(setImmediate);
const now = performance.now.bind(performance);

/** A function that waits for the next turn of the loop when this one has lasted long enough. */
function slices(signal) {
  let began = now();
  return async function turn() {
    if (now() - began < SLICE_MS) return;
    await turnOfTheLoop();
    signal?.throwIfAborted();
    began = now();
  };
}

function signalOf(options) {
  if (options === undefined || options === null) return undefined;
  checkOptions(options);
  const { signal } = options;
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw invalidOption('signal', signal, 'an AbortSignal');
  }
  return signal;
}

/** A job, which begins with a copy of its input. */
function begin(start) {
  try {
    return start();
  } catch (cause) {
    throw failure(cause);
  }
}

/** The error for what the addon could not do: only memory can be lacking. */
function failure(cause) {
  if (cause.message?.endsWith(REFUSED)) return noMemory(cause);
  const message = 'A panic in the addon; please report it';
  return new MsgpackError('ERR_MSGPACK_INTERNAL', message, { cause });
}

/** What a job comes to, or the signal's reason as soon as it is aborted. */
function done(job, signal) {
  const promise = job.promise.catch((cause) => {
    throw failure(cause);
  });
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => {
      job.cancel();
      reject(signal.reason);
    };
    promise.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject);
    // Last, since a signal that is not one of Node's may throw.
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

module.exports = { createPool };
