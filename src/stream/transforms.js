'use strict';

// PackrStream and UnpackrStream: both directions as Node's streams.

const { Transform } = require('node:stream');
const { OF_NODE, checkMaxMessageSize, sinkOf, sourceOf, split } = require('./options');
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

function createTransforms(codecs) {
  class PackrStream extends Transform {
    #sink;

    constructor(options = {}) {
      const { own, rest } = split(options, OF_NODE);
      super({ ...own, writableObjectMode: true, readableObjectMode: false });
      this.#sink = sinkOf(codecs, rest);
    }

    _transform(value, _encoding, callback) {
      try {
        if (value instanceof Batch) this.#packAll(value.values);
        else this.push(this.#sink.pack(fromNil(value)));
      } catch (error) {
        callback(error);
        return;
      }
      callback();
    }

    /** All that waits is packed at once. */
    _writev(chunks, callback) {
      this._write(new Batch(chunks), 'utf8', callback);
    }

    #packAll(values) {
      let all;
      try {
        all = this.#sink.packAll(values);
      } catch {
        // Those before the one that cannot be packed go out.
        for (const value of values) this.push(this.#sink.pack(value));
        return;
      }
      this.push(all);
    }
  }

  class UnpackrStream extends Transform {
    #reader;
    /** What is wrong with the input, while values before it wait to be read. */
    #failure = null;

    constructor(options = {}) {
      const { own, rest } = split(options, OF_NODE);
      const { maxMessageSize, ...unpacking } = rest;
      super({ ...own, writableObjectMode: false, readableObjectMode: true });
      this.#reader = new Reader(sourceOf(codecs, unpacking), {
        maxMessageSize: checkMaxMessageSize(maxMessageSize),
        keepsChunks: true,
      });
    }

    _transform(chunk, _encoding, callback) {
      for (const values of this.#reader.push(chunk)) {
        for (const value of values) this.push(value === null ? NIL : value);
      }
      if (this.#reader.error === null) callback();
      else this.#fail(this.#reader.error);
    }

    _flush(callback) {
      const error = this.#reader.finish();
      if (error === null) callback();
      else this.#fail(error);
    }

    /** An error would drop the values that nobody has read yet, so it waits for them. */
    #fail(error) {
      if (this.readableLength === 0) this.destroy(error);
      else this.#failure = error;
    }

    read(size) {
      const value = super.read(size);
      if (this.#failure !== null && this.readableLength === 0) this.destroy(this.#failure);
      return value;
    }

    _destroy(error, callback) {
      this.#reader.close();
      callback(error);
    }
  }

  return { PackrStream, UnpackrStream };
}

module.exports = { NIL, createTransforms };
