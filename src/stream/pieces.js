'use strict';

// The bytes of a message that is not complete. Most are put together as they come, in memory that
// messages before them have used: new memory costs more than the copy. Large ones stay in pieces
// until they are complete, so that each byte is copied once; small pieces of them are gathered, for
// each takes a hundred bytes besides its own.

/** Memory that messages are put together in, each four times as large, so that one takes no more than
 * that (`bench/streams.mjs`, chunks). */
const SIZES = [1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];
const MAX_JOINED = SIZES[SIZES.length - 1];
/** Of larger messages, pieces from this size on are kept as they come, if they stay as they are. */
const SMALL_BYTES = 1 << 10;
const SMALL_COPY_BYTES = 1 << 12;
/** Memory that the smaller ones are gathered in. */
const GATHERED_BYTES = 1 << 17;

/** One of each size that is not in use. */
const spare = SIZES.map(() => null);

function takeMemory(bytes) {
  const index = SIZES.findIndex((size) => size >= bytes);
  const memory = spare[index] ?? Buffer.allocUnsafeSlow(SIZES[index]);
  spare[index] = null;
  return memory;
}

/** Nobody reads `memory` any more. */
function giveBack(memory) {
  if (memory !== null) spare[SIZES.indexOf(memory.length)] = memory;
}

class Pieces {
  /** `keepsChunks`: whether what is added stays as it is. */
  constructor(keepsChunks) {
    this.keepsChunks = keepsChunks;
    this.small = keepsChunks ? SMALL_BYTES : SMALL_COPY_BYTES;
    this.reset();
  }

  reset() {
    /** Where the message is put together. */
    this.memory = null;
    this.size = 0;
    /** The pieces of a large message. */
    this.list = null;
    /** Where small ones go, how much of that is taken, and since where they are not in the list. */
    this.gathered = null;
    this.taken = 0;
    this.start = 0;
  }

  clear() {
    giveBack(this.memory);
    this.reset();
  }

  /** Whether `more` bytes are still put together with those before them. */
  joins(more) {
    return this.list === null && this.size + more <= MAX_JOINED;
  }

  /** At least `missing` bytes follow `piece`. */
  add(piece, missing) {
    const { length } = piece;
    if (this.joins(length + missing)) this.join(piece);
    else this.keep(piece);
    this.size += length;
  }

  join(piece) {
    const size = this.size + piece.length;
    if (this.memory === null || this.memory.length < size) {
      const memory = takeMemory(size);
      if (this.memory !== null) memory.set(this.memory.subarray(0, this.size));
      giveBack(this.memory);
      this.memory = memory;
    }
    this.memory.set(piece, this.size);
  }

  keep(piece) {
    this.list ??= this.size > 0 ? [this.memory.subarray(0, this.size)] : [];
    const { length } = piece;
    if (length >= this.small) {
      this.settle();
      this.list.push(this.keepsChunks ? piece : Buffer.from(piece));
      return;
    }
    if (this.gathered === null || this.gathered.length - this.taken < length) {
      this.settle();
      this.gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);
      this.taken = 0;
      this.start = 0;
    }
    this.gathered.set(piece, this.taken);
    this.taken += length;
  }

  /** What was gathered becomes one piece. */
  settle() {
    if (this.start === this.taken) return;
    this.list.push(this.gathered.subarray(this.start, this.taken));
    this.start = this.taken;
  }

  /** What there is from `at` on, in its order; of a large message `at` is its start or its end. */
  from(at) {
    if (at === this.size) return [];
    if (this.list === null) return [this.memory.subarray(at, this.size)];
    this.settle();
    return this.list;
  }

  /**
   * The whole message: `bytes` that are its own, or that lie in `memory`, which is given back when
   * they have been read.
   */
  takeWhole() {
    const { list, memory, size } = this;
    if (list === null) {
      this.reset();
      return { bytes: memory.subarray(0, size), memory };
    }
    this.settle();
    const bytes = Buffer.concat(list);
    this.clear();
    return { bytes, memory: null };
  }
}

module.exports = { Pieces, giveBack };
