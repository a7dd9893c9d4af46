'use strict';

// packIter: values → bytes, many messages at a time where they are there at once.

const { Readable } = require('node:stream');
const { clearImmediate, setImmediate } = require('node:timers');
const { invalidArgument } = require('../error');
const { BATCH, packBatch } = require('./batch');
const { sinkOf } = require('./options');

function* packSync(values, sink) {
  let batch = [];
  let failure = null;
  try {
    for (const value of values) {
      batch.push(value);
      if (batch.length < BATCH) continue;
      const full = batch;
      batch = [];
      yield* packBatch(full, sink);
    }
  } catch (error) {
    failure = { error };
  }
  // What the source has brought before it failed.
  yield* packBatch(batch, sink);
  if (failure !== null) throw failure.error;
}

/**
 * The same for values that may take their time. Those that come within one turn of the event loop are
 * packed together; none waits longer.
 */
class AsyncBatches {
  constructor(values, sink) {
    this.values = values;
    this.iterator = values[Symbol.asyncIterator]();
    this.sink = sink;
    /** Values that have come, and what is packed of those before them. */
    this.batch = [];
    this.packed = [];
    this.isDone = false;
    this.error = null;
    this.isAsking = false;
    this.timer = null;
    /** Calls of `next` that wait, in order. */
    this.waiting = [];
    this.take = this.take.bind(this);
    this.fail = this.fail.bind(this);
    this.settle = this.settle.bind(this);
  }

  next() {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (this.waiting.length > 1) return;
      if (this.packed.length > 0 || this.isDone) {
        this.settle();
        return;
      }
      if (this.batch.length > 0) this.timer ??= setImmediate(this.settle);
      this.ask();
    });
  }

  ask() {
    if (this.isAsking) return;
    this.isAsking = true;
    let next;
    try {
      next = this.iterator.next();
    } catch (error) {
      this.fail(error);
      return;
    }
    Promise.resolve(next).then(this.take, this.fail);
  }

  take({ done, value }) {
    this.isAsking = false;
    if (this.isDone) return;
    if (done) {
      this.isDone = true;
      this.settle();
      return;
    }
    this.batch.push(value);
    if (this.batch.length === BATCH) {
      this.settle();
      return;
    }
    // Nobody waits: what comes next is not asked for before it is wanted.
    if (this.waiting.length === 0) return;
    this.timer ??= setImmediate(this.settle);
    this.ask();
  }

  fail(error) {
    this.isAsking = false;
    this.isDone = true;
    this.error = error;
    this.settle();
  }

  /** Answers the calls that wait with what has come. */
  settle() {
    if (this.timer !== null) clearImmediate(this.timer);
    this.timer = null;
    this.packBatch();
    while (this.waiting.length > 0) {
      if (this.packed.length > 0) {
        this.waiting.shift().resolve({ value: this.packed.shift(), done: false });
      } else if (this.error !== null) {
        const { error } = this;
        this.error = null;
        this.waiting.shift().reject(error);
      } else if (this.isDone) {
        this.waiting.shift().resolve({ value: undefined, done: true });
      } else {
        this.ask();
        return;
      }
    }
  }

  packBatch() {
    const { batch } = this;
    if (batch.length === 0) return;
    this.batch = [];
    try {
      for (const bytes of packBatch(batch, this.sink)) this.packed.push(bytes);
    } catch (error) {
      this.error ??= error;
      if (!this.isDone) Promise.resolve(this.iterator.return?.()).catch(() => {});
      this.isDone = true;
    }
  }

  async return(value) {
    const wasDone = this.isDone;
    this.isDone = true;
    this.batch = [];
    this.packed = [];
    this.error = null;
    this.settle();
    if (!wasDone) {
      const closing = this.iterator.return?.();
      // One that is asked for a value may never answer.
      if (!this.isAsking) await closing;
      else Promise.resolve(closing).catch(() => {});
      if (this.values instanceof Readable) this.values.destroy();
    }
    return { value, done: true };
  }

  async throw(error) {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

function createPackIter(codecs) {
  return function packIter(values, options = {}) {
    const sink = sinkOf(codecs, options);
    if (typeof values?.[Symbol.asyncIterator] === 'function') return new AsyncBatches(values, sink);
    if (typeof values?.[Symbol.iterator] === 'function') return packSync(values, sink);
    throw invalidArgument('packIter takes an iterable or async iterable of values');
  };
}

module.exports = { createPackIter };
