'use strict';

// PackrStream and UnpackrStream: both directions as Node's streams.

const { Transform } = require('node:stream');
const { OF_NODE, checkMaxMessageSize, sinkOf, sourceOf, split } = require('./options');
const { BATCH, packBatch } = require('./batch');
const { Reader } = require('./reader');

/** What stands for nil in a stream of objects, where null is the end. */
const NIL = Symbol.for('msgpack-rs.nil');

const fromNil = (value) => (value === NIL ? null : value);

/** Values that were written while another was being packed. */
class Batch {
  constructor(chunks) {
    this.values = chunks.map(({ chunk }) => fromNil(chunk));
  }
}

/** A stream of the values that `reader` makes of chunks; `nil()` stands for null. */
class ValueStream extends Transform {
  #reader;
  #nil;

  constructor(options, reader, nil) {
    super({ ...options, writableObjectMode: false, readableObjectMode: true });
    this.#reader = reader;
    this.#nil = nil;
  }

  _transform(chunk, _encoding, callback) {
    for (const values of this.#reader.push(chunk)) {
      for (const value of values) this.push(value === null ? this.#nil() : value);
      if (this.destroyed) {
        // An extension may have done it, before the rest of the chunk was kept.
        this.#reader.close();
        return;
      }
    }
    if (this.#reader.error === null) callback();
    else this.#fail(this.#reader.error, callback);
  }

  _flush(callback) {
    const error = this.#reader.finish();
    if (error === null) callback();
    else this.#fail(error, callback);
  }

  /** An error would drop the values that nobody has read yet, so it waits for them. */
  #fail(error, callback) {
    if (this.readableLength === 0) {
      callback(error);
      return;
    }
    // Only from now on: it is called for every value.
    const { read } = this;
    this.read = (size) => {
      const value = read.call(this, size);
      if (this.readableLength === 0) {
        delete this.read;
        callback(error);
      }
      return value;
    };
  }

  _destroy(error, callback) {
    this.#reader.close();
    callback(error);
  }
}

function createTransforms(codecs) {
  class PackrStream extends Transform {
    #sink;
    #isGathering = false;
    #letGo = () => {
      this.#isGathering = false;
      this.uncork();
    };

    constructor(options = {}) {
      const { own, rest } = split(options, OF_NODE);
      super({
        // As many as are packed at once, where the user does not say how many may wait.
        writableHighWaterMark: BATCH,
        ...own,
        writableObjectMode: true,
        readableObjectMode: false,
      });
      this.#sink = sinkOf(codecs, rest);
    }

    _transform(value, _encoding, callback) {
      try {
        if (value instanceof Batch) {
          for (const bytes of packBatch(value.values, this.#sink)) this.push(bytes);
        } else {
          this.push(this.#sink.pack(fromNil(value)));
        }
      } catch (error) {
        callback(error);
        return;
      }
      callback();
    }

    /** What is written in one tick waits for its end, so that it is packed at once. */
    write(value, encoding, callback) {
      if (!this.#isGathering && !this.writableEnded && !this.destroyed) {
        this.#isGathering = true;
        this.cork();
        process.nextTick(this.#letGo);
      }
      return super.write(value, encoding, callback);
    }

    /** All that waits is packed at once. */
    _writev(chunks, callback) {
      this._write(new Batch(chunks), 'utf8', callback);
    }
  }

  class UnpackrStream extends ValueStream {
    constructor(options = {}) {
      const { own, rest } = split(options, OF_NODE);
      const { maxMessageSize, ...unpacking } = rest;
      const reader = new Reader(sourceOf(codecs, unpacking), {
        maxMessageSize: checkMaxMessageSize(maxMessageSize),
        // Who writes may use the memory again when it has been told that it was written.
        keepsChunks: false,
      });
      super(own, reader, () => NIL);
    }
  }

  return { PackrStream, UnpackrStream };
}

module.exports = { NIL, ValueStream, createTransforms };
