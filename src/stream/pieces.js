'use strict';

// The pieces of a message that is not complete. Each takes a hundred bytes besides its own, and who
// sends a message byte by byte must not cost that for every byte: small ones are gathered.

/** So many pieces are kept as they come; most messages are complete with the next. */
const AS_THEY_COME = 2;
/** Larger ones are, too. */
const SMALL_BYTES = 1 << 10;
/** Memory that small ones are gathered in. */
const GATHERED_BYTES = 1 << 13;

class Pieces {
  /** `keepsChunks`: whether what is added stays as it is. */
  constructor(keepsChunks) {
    this.keepsChunks = keepsChunks;
    this.clear();
  }

  clear() {
    this.list = [];
    this.size = 0;
    /** Where small pieces go, how much of that is taken, and where its last piece starts. */
    this.memory = null;
    this.taken = 0;
    this.start = 0;
    this.isGathering = false;
  }

  add(piece) {
    this.size += piece.length;
    if (this.list.length < AS_THEY_COME || piece.length >= SMALL_BYTES) {
      this.isGathering = false;
      this.list.push(this.keepsChunks ? piece : Buffer.from(piece));
    } else this.gather(piece);
  }

  gather(piece) {
    if (this.memory === null || this.memory.length - this.taken < piece.length) {
      this.memory = Buffer.allocUnsafeSlow(GATHERED_BYTES);
      this.taken = 0;
      this.isGathering = false;
    }
    if (!this.isGathering) {
      this.isGathering = true;
      this.start = this.taken;
      this.list.push(null);
    }
    this.memory.set(piece, this.taken);
    this.taken += piece.length;
    this.list[this.list.length - 1] = this.memory.subarray(this.start, this.taken);
  }

  /** The whole message, with its last piece. */
  concat(last) {
    this.list.push(last);
    return Buffer.concat(this.list);
  }
}

module.exports = { Pieces };
