'use strict';

// The streams and iterators of msgpackr, over its instances as compat/msgpackr.js makes them.

const { Transform } = require('node:stream');
const { invalidArgument } = require('../error');
const { checkMaxMessageSize } = require('./options');
const { Reader } = require('./reader');
const { ValueStream } = require('./transforms');
const { keepsChunks, valuesOf } = require('./unpack-iter');

/** `codecOf` gives an instance's codec, `told` an error as users of msgpackr know it. */
function createMsgpackrStreams({ Packr, Unpackr, codecOf, told }) {
  class PackrStream extends Transform {
    constructor(options) {
      super({ ...options, writableObjectMode: true, readableObjectMode: false });
      this.packr = options?.packr ?? new Packr({ ...options, sequential: true });
    }

    _transform(value, _encoding, callback) {
      let bytes;
      try {
        bytes = this.packr.pack(value);
      } catch (error) {
        callback(error);
        return;
      }
      callback(null, bytes);
    }
  }

  class UnpackrStream extends ValueStream {
    constructor(options) {
      const unpackr = unpackrOf(options);
      super(options, readerOf(unpackr, options, false), () => this.getNullValue());
      this.unpackr = unpackr;
      this.maxIncompleteBufferSize = mostBytes(options);
    }

    _transform(chunk, encoding, callback) {
      // Extensions may have been added meanwhile.
      codecOf(this.unpackr);
      super._transform(chunk, encoding, callback);
    }

    /** What stands for nil, since null would be the end. */
    getNullValue() {
      return Symbol.for(null);
    }
  }

  class ToldReader extends Reader {
    fail(error) {
      super.fail(told(error));
    }

    finish() {
      this.error = told(super.finish());
      return this.error;
    }
  }

  /** An instance for which definitions of records last: those of one chunk serve the next ones. */
  function unpackrOf(options) {
    const unpackr = options?.unpackr ?? new Unpackr({ ...options, sequential: true });
    if (!unpackr.sequential) unpackr.sequential = true;
    return unpackr;
  }

  function readerOf(unpackr, options, keeps) {
    return new ToldReader(codecOf(unpackr).source(), {
      maxMessageSize: mostBytes(options),
      keepsChunks: keeps,
    });
  }

  function encodeIter(values, options) {
    const packr = new Packr(options);
    if (typeof values?.then === 'function') return packLater(packr, values);
    if (typeof values?.[Symbol.iterator] === 'function' && typeof values !== 'string') {
      return packEach(packr, values);
    }
    if (typeof values?.[Symbol.asyncIterator] === 'function') return packLater(packr, values);
    throw invalidArgument('encodeIter takes an iterable, an async iterable or a promise of one');
  }

  function decodeIter(source, options) {
    const reader = readerOf(unpackrOf(options), options, keepsChunks(source));
    // Chunks, not the bytes of one.
    const values = ArrayBuffer.isView(source) ? undefined : valuesOf(source, reader);
    if (values !== undefined) return values;
    throw invalidArgument('decodeIter takes an iterable or async iterable of chunks');
  }

  return { PackrStream, UnpackrStream, decodeIter, encodeIter };
}

function mostBytes(options) {
  const most = options?.maxIncompleteBufferSize;
  if (most === Infinity) return Number.MAX_SAFE_INTEGER;
  return checkMaxMessageSize(most, 'maxIncompleteBufferSize');
}

function* packEach(packr, values) {
  for (const value of values) yield packr.pack(value);
}

async function* packLater(packr, values) {
  for await (const value of await values) yield packr.pack(value);
}

module.exports = { createMsgpackrStreams };
