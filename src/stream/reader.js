'use strict';

// Chunks → values. What is complete in a chunk comes out of it in one call. Of a message that goes
// on in the next chunk every byte is looked at once, for its end; then it is put together, once, and
// unpacked like any other.

const { types } = require('node:util');
const { FAULT_KEY, FAULT_RECORD, FAULT_TRUNCATED, MODE_FROM } = require('../tape');
const { STATUS_MORE, STATUS_OK } = require('../tape');
const { MsgpackError } = require('../error');
const { fault, toUint8Array } = require('../unpack');
const { Pieces } = require('./pieces');

/** A larger chunk is taken in such pieces, so that not all of its values exist at once. */
const PIECE_BYTES = 1 << 20;

/** Whether it can be cut and read as it is. */
function isPlainBytes(chunk) {
  return types.isUint8Array(chunk) && !types.isSharedArrayBuffer(chunk.buffer);
}

const NO_LISTS = [].values();

class Reader {
  /** `source` is what unpacks: `{ unpackers, flags, maxDepth, copies, finish }`. */
  constructor(source, { maxMessageSize, keepsChunks }) {
    this.source = source;
    /** What unpacks, one that is not in the middle of a message. */
    this.one = source.unpackers.free();
    this.maxMessageSize = maxMessageSize;
    /** The message that is not complete, and its scanner. */
    this.pieces = new Pieces(keepsChunks);
    this.scanner = -1;
    /** Bytes of the stream before the message or the chunk at hand. */
    this.base = 0;
    /** What is wrong with the stream, once the values before it have been taken. */
    this.error = null;
  }

  /** An iterator of the lists of values that `chunk` completes; `error` tells if that was all. */
  push(chunk) {
    if (this.scanner === -1 || this.one.isCalling()) return this.lists(chunk);
    if (!isPlainBytes(chunk) || chunk.length > PIECE_BYTES) return this.lists(chunk);
    // Most chunks of a large message neither end it nor are worth a generator.
    const status = this.scan(chunk, 0);
    if (status !== STATUS_MORE) return this.lists(chunk, status);
    this.pieces.add(chunk);
    return NO_LISTS;
  }

  *lists(chunk, scanned) {
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
      const values = this.take(piece, scanned);
      const { finish } = this.source;
      if (finish !== null) values.forEach(finish);
      if (values.length > 0) yield values;
    }
  }

  /** The values that a piece of at most PIECE_BYTES completes. */
  take(piece, scanned) {
    let values = [];
    let at = 0;
    if (this.one.isCalling()) this.moveOn();
    try {
      if (this.scanner !== -1) {
        at = this.goOn(piece, values, scanned);
        if (at === -1) return values;
      }
      if (at < piece.length) values = this.complete(piece, at, values);
    } catch (error) {
      this.fail(error);
    }
    return values;
  }

  /** Looks for the end of the open message in `piece`; where it is, or -1. */
  goOn(piece, values, scanned) {
    if (!this.find(piece, 0, scanned)) return -1;
    const end = this.end();
    // Memory of our own, so that nothing of it need be copied.
    const message = this.pieces.concat(piece.subarray(0, end));
    const { unpackers, flags, maxDepth } = this.source;
    this.close();
    try {
      values.push(unpackers.unpack(message, flags, maxDepth, false, MODE_FROM, 0));
    } catch (error) {
      throw shifted(error, this.base);
    }
    this.base += message.length;
    return end;
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
        if (values.length === 0) values = list;
        else for (const value of list) values.push(value);
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
      if (this.find(piece, from)) throw fault(FAULT_TRUNCATED, this.base);
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
        if (!this.find(piece, from)) return values;
        end = this.end();
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
    this.scanner = this.one.native.openScan();
  }

  /**
   * Whether the open message ends in `piece`; if not, the rest of the piece is kept. `scanned` is what
   * looking for that has brought already.
   */
  find(piece, from, scanned) {
    let status = scanned ?? this.scan(piece, from);
    if (status === FAULT_RECORD && this.source.unpackers.loadStructures()) {
      status = this.scanAgain(piece, from);
    }
    if (status === STATUS_OK) return true;
    if (status !== STATUS_MORE) throw fault(status, this.base + this.one.faultOffset());
    this.pieces.add(piece.subarray(from));
    return false;
  }

  scan(piece, from) {
    return this.one.scan(piece, this.scanner, this.source.flags, from, this.maxMessageSize);
  }

  /** An extension of this very reader's message has brought this: another must unpack it. */
  moveOn() {
    const one = this.source.unpackers.free();
    if (this.scanner === -1) this.one = one;
    else this.reopen(one);
  }

  /** There are more structures now: goes through the open message anew. */
  scanAgain(piece, from) {
    const status = this.reopen(this.one);
    if (status !== STATUS_MORE) return status;
    return this.scan(piece, from);
  }

  /** Has `one` look at what there is of the open message. */
  reopen(one) {
    this.one.native.closeScan(this.scanner);
    this.one = one;
    this.open();
    let status = STATUS_MORE;
    for (const piece of this.pieces.all()) {
      status = one.scan(piece, this.scanner, this.source.flags, 0, this.maxMessageSize);
      if (status !== STATUS_MORE) break;
    }
    return status;
  }

  end() {
    return this.one.end();
  }

  /** Lets go of the open message. */
  close() {
    if (this.scanner !== -1) this.one.native.closeScan(this.scanner);
    this.scanner = -1;
    this.pieces.clear();
  }

  /** No more comes: the error, if that is in the middle of a message. */
  finish() {
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
