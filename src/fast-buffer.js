'use strict';

// Node's own class of Buffers over a piece of an ArrayBuffer: `new FastBuffer(memory, offset,
// length)` is what Buffer.from(memory, offset, length) does after all its checks. Buffer names it
// as its species; where it does not, Buffer.from serves.

const candidate = Buffer[Symbol.species];

function isFastBuffer(Class) {
  if (typeof Class !== 'function') return false;
  try {
    const memory = new ArrayBuffer(8);
    const buffer = new Class(memory, 2, 4);
    return (
      Buffer.isBuffer(buffer) &&
      Object.getPrototypeOf(buffer) === Buffer.prototype &&
      buffer.buffer === memory &&
      buffer.byteOffset === 2 &&
      buffer.length === 4
    );
  } catch {
    return false;
  }
}

/** Wherever the species is not it: the same call, slower. */
function BufferFrom(memory, offset, length) {
  return Buffer.from(memory, offset, length);
}

module.exports = { FastBuffer: isFastBuffer(candidate) ? candidate : BufferFrom };
