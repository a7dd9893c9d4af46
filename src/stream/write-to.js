'use strict';

// writeTo: a message into a stream, with as few copies and system calls as there can be.

const { sinkOf } = require('./options');
const { checkBoolean, checkOptions } = require('../options');

/** Streams that have been corked in this tick. */
const corked = new Set();

function uncorkAll() {
  const streams = [...corked];
  corked.clear();
  for (const stream of streams) {
    try {
      stream.uncork();
    } catch (error) {
      // The others are let go, too.
      process.nextTick(() => {
        throw error;
      });
    }
  }
}

/** Holds back what is written until the end of the tick, so that it goes out together. */
function cork(stream) {
  if (corked.has(stream) || typeof stream.cork !== 'function') return;
  stream.cork();
  if (corked.size === 0) process.nextTick(uncorkAll);
  corked.add(stream);
}

function createWriteTo(codecs) {
  const plain = sinkOf(codecs, {});
  /** By options object: making a codec takes fifty times as long as a small message. */
  const sinks = new WeakMap();

  function sinkBy(options, rest) {
    let sink = sinks.get(options);
    if (sink === undefined) {
      sink = sinkOf(codecs, rest, false);
      sinks.set(options, sink);
    }
    return sink;
  }

  function packParts(value, options = undefined) {
    return options === undefined
      ? plain.packParts(value)
      : sinkBy(options, options).packParts(value);
  }

  function writeTo(stream, value, options = undefined) {
    let sink = plain;
    let copies = false;
    if (options !== undefined) {
      checkOptions(options);
      const { copy, ...rest } = options;
      copies = checkBoolean('copy', copy, false);
      if (Object.keys(rest).length > 0) sink = sinkBy(options, rest);
    }
    // What cannot be packed throws before anything is written.
    const parts = copies ? [sink.pack(value)] : sink.packParts(value);
    cork(stream);
    let isRoomLeft = true;
    for (const part of parts) isRoomLeft = stream.write(part);
    return isRoomLeft;
  }

  return { packParts, writeTo };
}

module.exports = { createWriteTo };
