'use strict';

// pack and packInto: options, the memory of results, and what happens when a value's own code packs
// something in the middle of a pack.

const { markAsUntransferable } = require('node:worker_threads');
const tape = require('../tape');
const { MsgpackError, invalidOption } = require('../error');
const { FastBuffer } = require('../fast-buffer');
const { DEFAULT_MAX_DEPTH, checkMaxDepth, checkOptions } = require('../limits');
const { UNDEFINED_MODES, createWalker } = require('./walk');

/** Small results are slices of a slab; its size bounds what one of them keeps alive. */
const SMALL_SLAB = 16 << 10;
const SMALL_RESULT = 2 << 10;
/** Larger ones share a larger slab, up to the size that is worth an allocation of its own. */
const LARGE_SLAB = 128 << 10;
const LARGE_RESULT = 32 << 10;
/** Results are aligned as an allocation of their own would be. */
const ALIGN = 8;

/** Walkers for packs within packs; more than this many are not kept. */
const MAX_SPARE = 16;

/** A piece of memory that several results share, one behind the other. */
class Slab {
  constructor(native, which, bytes, reserve) {
    this.native = native;
    this.which = which;
    this.bytes = bytes;
    /** A slab with less than this left is given up. */
    this.reserve = reserve;
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
    this.native.setSlab(this.which, this.memory);
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

function createPacker(binding, careful) {
  const walker = createWalker(binding, careful);
  const { F, T, native } = walker;
  const small = new Slab(native, 0, SMALL_SLAB, SMALL_RESULT);
  const large = new Slab(native, 1, LARGE_SLAB, LARGE_RESULT);
  // The next result is expected to be of the last one's size.
  let slab = small;
  let busy = false;

  function pack(x, options, maxDepth, undefinedMode) {
    busy = true;
    try {
      slab.prepare();
      T[tape.SLAB] = slab.which;
      walker.walk(x, options, maxDepth, undefinedMode, slab);
      return result(F[tape.LENGTH_F64]);
    } catch (error) {
      walker.reset();
      throw error;
    } finally {
      busy = false;
    }
  }

  function result(length) {
    if (T[tape.STATUS] === tape.STATUS_IN_SLAB) {
      if (slab === small) {
        if (length > SMALL_RESULT) slab = large;
        return small.slice(length);
      }
      if (length > SMALL_RESULT) return large.slice(length);
      // A small result must not keep a large slab alive.
      slab = small;
      small.prepare();
      const copy = small.slice(length);
      copy.set(new Uint8Array(large.memory, large.at, length));
      return copy;
    }
    if (length > LARGE_RESULT) return take(allocate(length));
    slab = large;
    large.prepare();
    return take(large.slice(length));
  }

  function allocate(length) {
    try {
      return Buffer.allocUnsafeSlow(length);
    } catch (cause) {
      throw new MsgpackError('ERR_MSGPACK_TOO_LARGE', `A message of ${length} bytes`, {
        path: '$',
        cause,
      });
    }
  }

  /** Moves the finished message into `target`, which has its length. */
  function take(target) {
    native.take(target, walker.references());
    if (T[tape.STATUS] !== tape.STATUS_OK) throw walker.fault();
    return target;
  }

  function packInto(x, target, offset, options, maxDepth, undefinedMode) {
    busy = true;
    try {
      // No slab: the message waits in the addon's memory until its length is known.
      walker.walk(x, options, maxDepth, undefinedMode, null);
      const length = F[tape.LENGTH_F64];
      if (length > target.byteLength - offset) {
        throw new MsgpackError(
          'ERR_MSGPACK_BUFFER_TOO_SMALL',
          `The message takes ${length} bytes; the target has ${Math.max(0, target.byteLength - offset)} from offset ${offset}`,
        );
      }
      take(new Uint8Array(target.buffer, target.byteOffset + offset, length));
      return offset + length;
    } catch (error) {
      walker.reset();
      throw error;
    } finally {
      busy = false;
    }
  }

  return { isBusy: () => busy, pack, packInto };
}

/** Whether for…in finds more than own keys: somebody has extended Object.prototype. */
function isPolluted() {
  for (const _ in Object.prototype) return true;
  return false;
}

function createPack(binding) {
  const main = createPacker(binding, false);
  const spare = [];
  let careful = null;

  /** A packer that is not in the middle of a message. */
  function withSpare(method, ...args) {
    const packer = spare.pop() ?? createPacker(binding, false);
    try {
      return packer[method](...args);
    } finally {
      if (spare.length < MAX_SPARE) spare.push(packer);
    }
  }

  function withCareful(method, ...args) {
    // One of its own each time that it is needed within itself: such programs are rare.
    const packer = careful === null || careful.isBusy() ? createPacker(binding, true) : careful;
    careful ??= packer;
    return packer[method](...args);
  }

  function pack(value, options) {
    let flags = 0;
    let maxDepth = DEFAULT_MAX_DEPTH;
    let undefinedMode = UNDEFINED_MODES.omit;
    if (options !== undefined && options !== null) {
      ({ flags, maxDepth, undefinedMode } = readOptions(options));
    }
    if (isPolluted()) return withCareful('pack', value, flags, maxDepth, undefinedMode);
    if (main.isBusy()) return withSpare('pack', value, flags, maxDepth, undefinedMode);
    return main.pack(value, flags, maxDepth, undefinedMode);
  }

  function packInto(value, target, offset = 0, options = undefined) {
    const { flags, maxDepth, undefinedMode } = readOptions(options ?? {});
    if (!ArrayBuffer.isView(target)) {
      throw new MsgpackError(
        'ERR_MSGPACK_INVALID_INPUT',
        'The target of packInto is a Buffer or Uint8Array',
      );
    }
    if (!Number.isInteger(offset) || offset < 0) {
      throw invalidOption('offset', offset, 'an integer of at least 0');
    }
    const args = [value, target, offset, flags, maxDepth, undefinedMode];
    if (isPolluted()) return withCareful('packInto', ...args);
    return main.isBusy() ? withSpare('packInto', ...args) : main.packInto(...args);
  }

  return { pack, packInto };
}

function readOptions(options) {
  checkOptions(options);
  const { float32 = false, maxDepth, undefinedAs = 'omit' } = options;
  if (typeof float32 !== 'boolean') throw invalidOption('float32', float32, 'a boolean');
  if (typeof undefinedAs !== 'string' || !Object.hasOwn(UNDEFINED_MODES, undefinedAs)) {
    throw invalidOption('undefinedAs', undefinedAs, "'omit', 'nil' or 'throw'");
  }
  return {
    flags: float32 ? tape.OPT_FLOAT32 : 0,
    maxDepth: checkMaxDepth(maxDepth),
    undefinedMode: UNDEFINED_MODES[undefinedAs],
  };
}

module.exports = { createPack };
