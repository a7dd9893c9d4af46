'use strict';

// A piece of memory that several results share, one behind the other: an allocation of its own costs
// as much as all the rest of a small result.

const { markAsUntransferable } = require('node:worker_threads');
const { FastBuffer } = require('./fast-buffer');

/** Results are aligned as an allocation of their own would be. */
const ALIGN = 8;

class Slab {
  /** One with less than `reserve` left is given up; `renewed` is told of each new memory. */
  constructor(bytes, reserve, renewed = null) {
    this.bytes = bytes;
    this.reserve = reserve;
    this.renewed = renewed;
    this.memory = null;
    this.view = new Uint8Array(0);
    this.at = bytes;
  }

  renew() {
    // Not zeroed: all that a result shows of it has been written.
    this.view = Buffer.allocUnsafeSlow(this.bytes);
    this.memory = this.view.buffer;
    // Transferring one result would detach the others.
    markAsUntransferable(this.memory);
    this.renewed?.(this.memory);
    this.at = 0;
  }

  /** Makes sure that a result fits. A slab may have been detached through a result's `buffer`. */
  prepare() {
    if (this.at > this.bytes - this.reserve || this.view.length === 0) this.renew();
  }

  /** Where the next result goes; nowhere if the slab is gone meanwhile. */
  offset() {
    return this.view.length === 0 ? this.bytes : this.at;
  }

  /** The next `length` bytes. */
  slice(length) {
    const buffer = new FastBuffer(this.memory, this.at, length);
    this.at = (this.at + length + ALIGN - 1) & -ALIGN;
    return buffer;
  }
}

module.exports = { Slab };
