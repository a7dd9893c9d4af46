'use strict';

// Chunks → values. What is complete in a chunk comes out of it in one call. Of a message that goes
// on in the next chunk every byte is looked at once, for its end; when that has come it is unpacked
// like any other. How many bytes are missing at least is known, and none is looked at before these
// have come: much at a time goes faster.

const { types } = require('node:util');
const { FAULT_KEY, FAULT_RECORD, FAULT_TRUNCATED, MODE_FROM } = require('../tape');
const { STATUS_MORE, STATUS_OK } = require('../tape');
const { MsgpackError } = require('../error');
const { fault, toUint8Array } = require('../unpack');
const { Pieces, giveBack } = require('./pieces');

/** A larger chunk is taken in such pieces, so that not all of its values exist at once. */
const PIECE_BYTES = 1 << 20;

/** So much of a message is looked at as it comes, and no more waits to be than this: what is damaged is
 * told soon. */
const LOOKED_AT_ONCE = 1 << 12;
const MAX_WAITING = 1 << 16;
/** A smaller chunk is looked at together with those before it, if these have not been yet. */
const JOINED_BYTES = 1 << 14;

/** Whether it can be cut and read as it is. */
function isPlainBytes(chunk) {
  return types.isUint8Array(chunk) && !types.isSharedArrayBuffer(chunk.buffer);
}

const NO_LISTS = [].values();

/** Of readers that were dropped in the middle of a message, as those of a socket that broke off. */
const dropped = new FinalizationRegistry(({ native, scanner }) => {
  if (scanner !== -1) native.closeScan(scanner);
});

class Reader {
  /** `source` is what unpacks: `{ unpackers, flags, maxDepth, copies, finish }`. */
  constructor(source, { maxMessageSize, keepsChunks }) {
    this.source = source;
    /** What unpacks, one that is not in the middle of a message. */
    this.one = source.unpackers.free();
    this.maxMessageSize = maxMessageSize;
    /** The message that is not complete. */
    this.pieces = new Pieces(keepsChunks);
    /** Once there has been one: what is to be closed if the reader is dropped. */
    this.held = null;
    /** How much of it has been looked at, and how many bytes follow that at least. */
    this.scanned = 0;
    this.missing = 0;
    /** How many bytes it takes, once that is known. */
    this.size = -1;
    /** Bytes of the stream before the message or the chunk at hand. */
    this.base = 0;
    /** What is wrong with the stream, once the values before it have been taken. */
    this.error = null;
  }

  /** That of the open message, or -1. */
  get scanner() {
    return this.held === null ? -1 : this.held.scanner;
  }

  /** An iterator of the lists of values that `chunk` completes; `error` tells if that was all. */
  push(chunk) {
    if (this.scanner === -1 || this.one.isCalling()) return this.lists(chunk);
    // The addon knows no memory that is empty.
    if (!isPlainBytes(chunk) || chunk.length === 0) return this.lists(chunk);
    if (chunk.length > PIECE_BYTES) return this.lists(chunk);
    // Most chunks of a large message do not end it, and are worth no generator.
    let end;
    try {
      end = this.goOn(chunk);
    } catch (error) {
      this.fail(error);
      return NO_LISTS;
    }
    return end === -1 ? NO_LISTS : this.lists(chunk, end);
  }

  /** `end` is where the open message ends in `chunk`, if that is known. */
  *lists(chunk, end) {
    let bytes;
    try {
      bytes = isPlainBytes(chunk) ? chunk : toUint8Array(chunk);
    } catch (error) {
      this.error = error;
      return;
    }
    for (let at = 0; at < bytes.length && this.error === null; at += PIECE_BYTES) {
      const isWhole = at === 0 && bytes.length <= PIECE_BYTES;
      const piece = isWhole ? bytes : bytes.subarray(at, at + PIECE_BYTES);
      const values = this.take(piece, end);
      const { finish } = this.source;
      if (finish !== null) values.forEach(finish);
      if (values.length > 0) yield values;
    }
  }

  /** The values that a piece of at most PIECE_BYTES completes. */
  take(piece, end) {
    let values = [];
    let at = 0;
    try {
      if (this.one.isCalling()) this.moveOn();
      if (this.scanner !== -1) {
        at = end ?? this.goOn(piece);
        if (at === -1) return values;
        this.unpackOpen(values);
      }
      if (at < piece.length) values = this.complete(piece, at, values);
    } catch (error) {
      this.fail(error);
    }
    return values;
  }

  /** Looks for the end of the open message in `piece`: where it is, or -1. */
  goOn(piece) {
    const { pieces } = this;
    const { length } = piece;
    const before = pieces.size;
    const canJoin = pieces.joins(length);
    if (canJoin && this.canWait(before + length)) {
      pieces.add(piece, 0);
      return -1;
    }
    if (canJoin && length < JOINED_BYTES) {
      pieces.add(piece, 0);
      this.size = this.lookOn();
    } else {
      this.lookOn();
      this.size = this.look([piece], piece);
      if (this.size === -1) pieces.add(piece, this.missing);
      else pieces.add(piece.subarray(0, this.size - before), 0);
    }
    return this.size === -1 ? -1 : this.size - before;
  }

  /** Whether the open message cannot end within `size` bytes, and all that is new of it can wait. */
  canWait(size) {
    const { scanned } = this;
    return (
      size < scanned + this.missing && scanned >= LOOKED_AT_ONCE && size - scanned <= MAX_WAITING
    );
  }

  /** The open message has come. */
  unpackOpen(values) {
    const { size } = this;
    const { unpackers, flags, maxDepth } = this.source;
    const { bytes, memory } = this.pieces.takeWhole();
    this.close();
    try {
      // What is in memory of its own need not be copied.
      const copies = memory !== null;
      const message = bytes.length === size ? bytes : bytes.subarray(0, size);
      values.push(unpackers.unpack(message, flags, maxDepth, copies, MODE_FROM, 0));
    } catch (error) {
      throw shifted(error, this.base);
    } finally {
      giveBack(memory);
    }
    this.base += size;
  }

  /** All messages that are complete in `piece` from `at` on, and the start of one that is not. */
  complete(piece, at, values) {
    if (piece.length - at > this.maxMessageSize) return this.oneByOne(piece, at, values);
    const { unpackers, flags, maxDepth, copies } = this.source;
    const main = this.one;
    const start = this.base - at;
    let from = at;
    for (;;) {
      try {
        const list = main.unpackPiece(piece, flags, maxDepth, copies, from);
        values = values.length === 0 ? list : values.concat(list);
      } catch {
        // An extension has failed: those before it by themselves.
        this.base = start + from;
        return this.oneByOne(piece, from, values);
      }
      from = main.end();
      this.base = start + from;
      const stopped = main.stopped();
      if (stopped === 0) return values;
      if (stopped === FAULT_TRUNCATED) {
        this.keepOrFail(piece, from);
        return values;
      }
      if (stopped !== FAULT_KEY && stopped !== FAULT_RECORD) {
        this.fail(fault(stopped, start + main.faultOffset()));
        return values;
      }
      // By itself: there may be more structures by now, or keys that have a text.
      try {
        values.push(unpackers.unpack(piece, flags, maxDepth, copies, MODE_FROM, from));
      } catch (error) {
        // What is not complete is not damaged: the rest may be another key.
        if (error.code === 'ERR_MSGPACK_TRUNCATED') this.keepOrFail(piece, from);
        else this.fail(shifted(error, start));
        return values;
      }
      from = unpackers.end();
      this.base = start + from;
      if (from >= piece.length) return values;
    }
  }

  keepOrFail(piece, from) {
    this.open();
    try {
      if (this.find(piece, from) !== -1) throw fault(FAULT_TRUNCATED, this.base);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The same where a single message might be too large: each is measured first. */
  oneByOne(piece, at, values) {
    const { unpackers, flags, maxDepth, copies } = this.source;
    const start = this.base - at;
    for (let from = at; from < piece.length; ) {
      this.base = start + from;
      this.open();
      let end;
      try {
        end = this.find(piece, from);
        if (end === -1) return values;
        this.close();
      } catch (error) {
        this.fail(error);
        return values;
      }
      try {
        values.push(unpackers.unpack(piece, flags, maxDepth, copies, MODE_FROM, from));
        from = end;
      } catch (error) {
        this.fail(shifted(error, start));
        return values;
      }
    }
    this.base = start + piece.length;
    return values;
  }

  open() {
    if (this.held === null) {
      this.held = { native: null, scanner: -1 };
      dropped.register(this, this.held);
    }
    this.held.native = this.one.native;
    this.held.scanner = this.one.native.openScan();
    this.scanned = 0;
    this.missing = 0;
  }

  /** Where the message ends that starts at `from`, or -1: then the rest of the piece is kept. */
  find(piece, from) {
    const rest = from === 0 ? piece : piece.subarray(from);
    const size = this.look([rest], rest);
    if (size !== -1) return from + size;
    this.pieces.add(rest, this.missing);
    return -1;
  }

  /** Looks at what has waited. */
  lookOn() {
    return this.look(this.pieces.from(this.scanned), null);
  }

  /**
   * Looks at what follows: how many bytes the open message takes, or -1 while it does not end.
   * `outside` is what is not in the pieces yet.
   */
  look(views, outside, isAnew = false) {
    for (const view of views) {
      const status = this.scan(view);
      if (status === STATUS_OK) return this.scanned + this.one.end();
      if (status === FAULT_RECORD && !isAnew && this.source.unpackers.loadStructures()) {
        // There are more structures now.
        this.reopen(this.one);
        const all = this.pieces.from(0);
        return this.look(outside === null ? all : [...all, outside], outside, true);
      }
      if (status !== STATUS_MORE) throw fault(status, this.base + this.one.faultOffset());
      this.scanned += view.length;
      this.missing = this.one.missing();
    }
    return -1;
  }

  scan(view) {
    return this.one.scan(view, this.scanner, this.source.flags, 0, this.maxMessageSize);
  }

  /** An extension of this very reader's message has brought this: another must unpack it. */
  moveOn() {
    const one = this.source.unpackers.free();
    if (this.scanner === -1) {
      this.one = one;
      return;
    }
    this.reopen(one);
    this.lookOn();
  }

  /** Has `one` look at the open message from its start. */
  reopen(one) {
    this.one.native.closeScan(this.scanner);
    this.one = one;
    this.open();
  }

  /** Lets go of the open message. */
  close() {
    if (this.scanner !== -1) {
      this.one.native.closeScan(this.scanner);
      this.held.scanner = -1;
    }
    this.pieces.clear();
  }

  /** No more comes: the error, if that is in the middle of a message. */
  finish() {
    if (this.error === null && this.scanner !== -1) this.lookAtLast();
    if (this.error === null && this.scanner !== -1) {
      const offset = this.base + this.pieces.size;
      this.error = new MsgpackError(
        'ERR_MSGPACK_TRUNCATED',
        `The stream ends in the middle of a message (at byte ${offset})`,
        { offset },
      );
    }
    this.close();
    return this.error;
  }

  /** What still waits may be damaged. */
  lookAtLast() {
    try {
      if (this.one.isCalling()) this.moveOn();
      else this.lookOn();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    this.error = error;
    this.close();
  }
}

/** An error whose offset is counted from `start` of the stream, counted from the stream's start. */
function shifted(error, start) {
  const { offset } = error;
  if (start === 0 || offset === undefined || !(error instanceof MsgpackError)) return error;
  error.message = error.message.replace(`(at byte ${offset})`, `(at byte ${offset + start})`);
  error.offset = offset + start;
  return error;
}

module.exports = { Reader };
