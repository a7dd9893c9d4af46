'use strict';

// packIter: values → bytes, many messages at a time where they are there at once.

const { sinkOf } = require('./options');

/** Messages that are packed together (`bench/` group `streams`). */
const BATCH = 128;

function* packSync(values, sink) {
  let batch = [];
  for (const value of values) {
    batch.push(value);
    if (batch.length === BATCH) {
      const full = batch;
      batch = [];
      yield* pack(full, sink);
    }
  }
  yield* pack(batch, sink);
}

/** A batch in one piece; where one of its values cannot be packed, those before it by themselves. */
function* pack(batch, sink) {
  if (batch.length === 0) return;
  let all;
  try {
    all = sink.packAll(batch);
  } catch {
    for (const value of batch) yield sink.pack(value);
    return;
  }
  yield all;
}

/** The same for values that may take their time: none waits for the next one longer than a turn. */
async function* packAsync(values, sink) {
  const iterator = values[Symbol.asyncIterator]();
  let isDone = false;
  try {
    let next = iterator.next();
    for (;;) {
      const batch = [];
      let turn = null;
      for (;;) {
        const result = await (batch.length === 0 ? next : Promise.race([next, turn]));
        if (result === undefined) break;
        if (result.done) {
          isDone = true;
          break;
        }
        batch.push(result.value);
        next = iterator.next();
        if (batch.length === BATCH) break;
        turn ??= new Promise((resolve) => setImmediate(resolve));
      }
      yield* pack(batch, sink);
      if (isDone) return;
    }
  } finally {
    if (!isDone) await iterator.return?.();
  }
}

function createPackIter(codecs) {
  return function packIter(values, options = {}) {
    const sink = sinkOf(codecs, options);
    if (typeof values?.[Symbol.asyncIterator] === 'function') return packAsync(values, sink);
    if (typeof values?.[Symbol.iterator] === 'function') return packSync(values, sink);
    const error = new TypeError('packIter takes an iterable or async iterable of values');
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  };
}

module.exports = { createPackIter };
