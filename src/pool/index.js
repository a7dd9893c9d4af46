'use strict';

// The functions that return promises: the work of Rust is done on libuv's threads.

const { MODE_ONE } = require('../tape');
const { invalidOption } = require('../error');
const { checkBoolean, checkOptions } = require('../options');
const { bytesOr, jsonFault, jsonText, messageFault } = require('../transcode');
const { readFromJsonOptions, readToJsonOptions } = require('../transcode/options');
const { readUnpackOptions } = require('../unpack/options');
const { fault, toUint8Array } = require('../unpack');

/** Unpackers that are kept for the next call; each that is in use has one for itself. */
const MAX_IDLE = 4;

function createPool({ look, transcode, unpackers }) {
  const idle = [];

  async function jsonToMsgpackAsync(json, options) {
    const signal = signalOf(options);
    const { flags, maxDepth, space } = readFromJsonOptions(options);
    const text = jsonText(json);
    const start = () => transcode.transcoder().fromJsonAsync(text, flags, maxDepth, space);
    return bytesOr(jsonFault, await orAborted(signal, start));
  }

  async function msgpackToJsonAsync(bytes, options) {
    const signal = signalOf(options);
    const { flags, maxDepth, space } = readToJsonOptions(options);
    const input = toUint8Array(bytes);
    const start = () => transcode.transcoder().toJsonAsync(input, flags, maxDepth, space);
    return bytesOr(messageFault, await orAborted(signal, start));
  }

  async function unpackAsync(bytes, options) {
    const signal = signalOf(options);
    const { copies, flags, maxDepth } = readUnpackOptions(options ?? {});
    const input = copyOf(toUint8Array(bytes));
    const start = async () => {
      const unpacker = idle.pop() ?? unpackers.create();
      unpackers.teach(unpacker);
      await unpacker.parseAhead(input, flags, maxDepth);
      return unpacker;
    };
    const unpacker = await orAborted(signal, start);
    // After an error it does not know all that its parser has taught it, and is not used again.
    const value = unpacker.unpack(input, flags, maxDepth, copies, MODE_ONE, 0);
    if (idle.length < MAX_IDLE) idle.push(unpacker);
    return value;
  }

  async function validateAsync(bytes, options) {
    const signal = signalOf(options);
    const { flags, maxDepth } = readUnpackOptions(options ?? {});
    const multiple = checkBoolean('multiple', options?.multiple, false) ? 1 : 0;
    const input = toUint8Array(bytes);
    const start = () => look.looker().validateAsync(input, flags, maxDepth, multiple);
    const summary = await orAborted(signal, start);
    if (summary.code !== undefined) throw fault(summary.code, summary.offset);
    return summary;
  }

  return { jsonToMsgpackAsync, msgpackToJsonAsync, unpackAsync, validateAsync };
}

/** Bytes of their own, which nobody else can change meanwhile. */
function copyOf(bytes) {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
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

/** What `start` comes to, or the signal's reason as soon as it is aborted. */
function orAborted(signal, start) {
  if (signal === undefined) return start();
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const done = start().finally(() => signal.removeEventListener('abort', abort));
    done.then(resolve, reject);
  });
}

module.exports = { createPool };
