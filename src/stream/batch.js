'use strict';

/** Messages that are packed together (`bench/streams.mjs`). */
const BATCH = 128;

/**
 * The bytes of `values`, together where that can be; if one of them cannot be packed, those before it
 * come before the error.
 */
function* packBatch(values, sink) {
  if (values.length === 0) return;
  let all;
  try {
    all = sink.packAll?.(values);
  } catch {
    // Which one it was shows below.
  }
  if (all !== undefined) yield all;
  else yield* oneByOne(values, sink);
}

function* oneByOne(values, sink) {
  const messages = [];
  let failure = null;
  for (const value of values) {
    try {
      messages.push(sink.pack(value));
    } catch (error) {
      failure = { error };
      break;
    }
  }
  if (messages.length > 0) yield messages.length === 1 ? messages[0] : Buffer.concat(messages);
  if (failure !== null) throw failure.error;
}

module.exports = { BATCH, packBatch };
