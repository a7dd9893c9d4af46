'use strict';

// Which options of a stream are its own, and which those of the codec that it works with.

const { createCodec } = require('../codec');
const { checkNames } = require('../packr');
const { checkBoolean, checkCount, checkOptions } = require('../options');

/** A message of a stream is no larger, unless the user says so. */
const MAX_MESSAGE_BYTES = 64 << 20;

const PLAIN = {
  sink: new Set(['float32', 'maxDepth', 'undefinedAs']),
  source: new Set(['copyBuffers', 'int64', 'maps', 'maxDepth', 'timestamps', 'utf8']),
};

/** What is said of a stream by Node itself. */
const NODES = ['autoDestroy', 'emitClose', 'highWaterMark', 'signal'];
const OF_NODE = [...NODES, 'readableHighWaterMark', 'writableHighWaterMark'];

function split(options, names) {
  checkOptions(options);
  const own = {};
  const rest = {};
  for (const [name, value] of Object.entries(options)) {
    (names.includes(name) ? own : rest)[name] = value;
  }
  return { own, rest };
}

/**
 * What packs by these options: plain functions or a codec. Of a stream, definitions of records hold;
 * otherwise each message is read by itself.
 */
function sinkOf({ plain, defaults }, options, isStream = true) {
  checkNames(options);
  if (Object.keys(options).every((name) => PLAIN.sink.has(name))) return plain.sink(options);
  return createCodec(isStream ? sequential(options) : options, defaults, true).sink();
}

/** What unpacks by these options. */
function sourceOf({ plain, defaults }, options) {
  checkNames(options);
  // The source of the stream may use the memory of a chunk again.
  const copyBuffers = checkBoolean('copyBuffers', options.copyBuffers, true);
  const all = { ...options, copyBuffers };
  if (Object.keys(all).every((name) => PLAIN.source.has(name))) return plain.source(all);
  return createCodec(sequential(all), defaults, true).source();
}

/** In a stream a definition of a record serves all messages behind it. */
function sequential(options) {
  const { moreTypes, sequential, structuredClone, useRecords } = options;
  const hasRecords = useRecords ?? (moreTypes || structuredClone);
  return hasRecords && sequential === undefined ? { ...options, sequential: true } : options;
}

function checkMaxMessageSize(maxMessageSize, name = 'maxMessageSize') {
  return checkCount(name, maxMessageSize, Number.MAX_SAFE_INTEGER, MAX_MESSAGE_BYTES);
}

module.exports = {
  OF_NODE,
  checkMaxMessageSize,
  sinkOf,
  sourceOf,
  split,
};
