'use strict';

// The pieces of a message that is not complete. Each takes a hundred bytes besides its own, and who
// sends a message byte by byte must not cost that for every byte: small ones are gathered.

/** So many pieces are kept as they come; most messages are complete with the next. */
const AS_THEY_COME = 2;
/** Larger ones are, too: those that stay as they are, and copies (`bench/streams.mjs`, chunks). */
const SMALL_BYTES = 1 << 10;
const SMALL_COPY_BYTES = 1 << 12;
/** Memory that small ones are gathered in: as much as there is of the message, within these. */
const MIN_GATHERED = 1 << 13;
const MAX_GATHERED = 1 << 17;

class Pieces {
  /** `keepsChunks`: whether what is added stays as it is. */
  constructor(keepsChunks) {
    this.keepsChunks = keepsChunks;
    this.small = keepsChunks ? SMALL_BYTES : SMALL_COPY_BYTES;
    this.clear();
  }

  clear() {
    this.list = [];
    this.size = 0;
    /** Where small pieces go, how much of that is taken, and since where they are not in the list. */
    this.memory = null;
    this.taken = 0;
    this.start = 0;
  }

  add(piece) {
    const { length } = piece;
    this.size += length;
    if (this.list.length < AS_THEY_COME || length >= this.small) {
      this.settle();
      this.list.push(this.keepsChunks ? piece : Buffer.from(piece));
      return;
    }
    if (this.memory === null || this.memory.length - this.taken < length) this.more();
    this.memory.set(piece, this.taken);
    this.taken += length;
  }

  more() {
    this.settle();
    const bytes = Math.min(Math.max(this.size, MIN_GATHERED), MAX_GATHERED);
    this.memory = Buffer.allocUnsafeSlow(bytes);
    this.taken = 0;
    this.start = 0;
  }

  /** What was gathered becomes one piece. */
  settle() {
    if (this.start === this.taken) return;
    this.list.push(this.memory.subarray(this.start, this.taken));
    this.start = this.taken;
  }

  /** All pieces in their order. */
  all() {
    this.settle();
    return this.list;
  }

  /** The whole message, with its last piece. */
  concat(last) {
    this.settle();
    this.list.push(last);
    return Buffer.concat(this.list);
  }
}

module.exports = { Pieces };
