'use strict';

// unpackIter: the values of a source of chunks, one after the other.

const { Readable } = require('node:stream');
const { invalidArgument } = require('../error');
const { checkOptions } = require('../options');
const { checkMaxMessageSize, sourceOf } = require('./options');
const { Reader } = require('./reader');

/** Takes values out of the lists that a reader makes of chunks. */
class Values {
  constructor(reader, chunks) {
    this.reader = reader;
    this.chunks = chunks;
    this.lists = null;
    this.list = [];
    this.at = 0;
    this.isDone = false;
  }

  /** Goes on to the next list of what there is; whether there is one. */
  advance() {
    if (this.lists === null) return false;
    const { done, value } = this.lists.next();
    if (done) {
      this.lists = null;
      return false;
    }
    this.list = value;
    this.at = 0;
    return true;
  }

  /** No chunk follows, or none that could be read. */
  finish() {
    this.isDone = true;
    this.list = [];
    this.at = 0;
    return this.reader.finish();
  }
}

class SyncValues extends Values {
  next() {
    while (this.at === this.list.length) {
      if (this.isDone) return { value: undefined, done: true };
      if (this.advance()) break;
      if (this.reader.error !== null) {
        this.isDone = true;
        this.chunks.return?.();
        throw this.finish();
      }
      const { done, value } = this.nextChunk();
      if (done) {
        const error = this.finish();
        if (error !== null) throw error;
        return { value: undefined, done: true };
      }
      this.lists = this.reader.push(value);
    }
    return { value: this.list[this.at++], done: false };
  }

  nextChunk() {
    try {
      return this.chunks.next();
    } catch (error) {
      this.finish();
      throw error;
    }
  }

  return(value) {
    if (!this.isDone) this.chunks.return?.();
    this.finish();
    return { value, done: true };
  }

  throw(error) {
    this.return();
    throw error;
  }

  [Symbol.iterator]() {
    return this;
  }
}

class AsyncValues extends Values {
  /** The call that waits for a chunk, if there is one: those behind it wait for it. */
  waiting = null;

  next() {
    if (this.waiting === null && this.at < this.list.length) {
      return Promise.resolve({ value: this.list[this.at++], done: false });
    }
    return this.enqueue(() => this.pull());
  }

  async pull() {
    while (this.at === this.list.length) {
      if (this.isDone) return { value: undefined, done: true };
      if (this.advance()) break;
      if (this.reader.error !== null) {
        this.isDone = true;
        await this.chunks.return?.();
        throw this.finish();
      }
      const { done, value } = await this.nextChunk();
      if (done) {
        const error = this.finish();
        if (error !== null) throw error;
        return { value: undefined, done: true };
      }
      this.lists = this.reader.push(value);
    }
    return { value: this.list[this.at++], done: false };
  }

  async nextChunk() {
    try {
      return await this.chunks.next();
    } catch (error) {
      this.finish();
      throw error;
    }
  }

  /** Runs `step` when all steps before it are done. */
  enqueue(step) {
    const before = this.waiting;
    const result = before === null ? step() : before.then(step, step);
    const settled = result.then(
      () => this.settle(settled),
      () => this.settle(settled),
    );
    this.waiting = settled;
    return result;
  }

  settle(step) {
    if (this.waiting === step) this.waiting = null;
  }

  return(value) {
    return this.enqueue(async () => {
      if (!this.isDone) await this.chunks.return?.();
      this.finish();
      return { value, done: true };
    });
  }

  async throw(error) {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

/** Whether the chunks of a source stay as they are once the next one is asked for. */
function keepsChunks(source) {
  return (
    source instanceof Readable || typeof source?.getReader === 'function' || Array.isArray(source)
  );
}

function createUnpackIter(codecs) {
  return function unpackIter(source, options = {}) {
    checkOptions(options);
    const { maxMessageSize, ...rest } = options;
    const reader = new Reader(sourceOf(codecs, rest), {
      maxMessageSize: checkMaxMessageSize(maxMessageSize),
      keepsChunks: ArrayBuffer.isView(source) || keepsChunks(source),
    });
    const values = valuesOf(source, reader);
    if (values !== undefined) return values;
    throw invalidArgument('The source of unpackIter is an iterable or async iterable of chunks');
  };
}

/** An iterator of what `reader` makes of the chunks of a source, async or not as that is. */
function valuesOf(source, reader) {
  if (ArrayBuffer.isView(source)) return new SyncValues(reader, [source].values());
  if (typeof source?.[Symbol.asyncIterator] === 'function') {
    return new AsyncValues(reader, source[Symbol.asyncIterator]());
  }
  if (typeof source?.[Symbol.iterator] === 'function' && typeof source !== 'string') {
    return new SyncValues(reader, source[Symbol.iterator]());
  }
  return undefined;
}

module.exports = { createUnpackIter, keepsChunks, valuesOf };
