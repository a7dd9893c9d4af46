'use strict';

const fs = require('node:fs');
const { MsgpackError, jsonToMsgpack, unpackMultiple } = require('../../..');

/** The messages of a file, which is JSON, JSON Lines or MessagePack. */
function readDocument(file, format) {
  const bytes = fs.readFileSync(file === '-' ? 0 : file);
  if (format !== 'msgpack') {
    try {
      const packed = jsonToMsgpack(bytes, { multiple: true });
      return { format: 'JSON', bytes: bytes.length, values: unpackMultiple(packed) };
    } catch (error) {
      // Text that is no JSON, or MessagePack: what is not said to be JSON is tried as that.
      const isJson = format === 'json' || /\.(json|jsonl|ndjson)$/i.test(file);
      if (isJson || !(error instanceof MsgpackError)) throw error;
    }
  }
  return { format: 'MessagePack', bytes: bytes.length, values: unpackMultiple(bytes) };
}

module.exports = { readDocument };
