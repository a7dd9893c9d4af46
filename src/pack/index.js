'use strict';

// pack and packInto: options, the memory of results, and what happens when a value's own code packs
// something in the middle of a pack.

const { markAsUntransferable } = require('node:worker_threads');
const tape = require('../tape');
const { MsgpackError, invalidOption } = require('../error');
const { FastBuffer } = require('../fast-buffer');
const { DEFAULT_MAX_DEPTH, checkMaxDepth } = require('../limits');
const { UNDEFINED_MODES, createWalker } = require('./walk');

/** Small results are slices of a slab; this bounds what one of them keeps alive. */
const SLAB_BYTES = 16 << 10;
/** A slab with less than this left is given up (`bench/` workload `event`). */
const SLAB_LEFT = 1 << 10;
/** Results are aligned as an allocation of their own would be. */
const ALIGN = 8;

/** Walkers for packs within packs; more than this many are not kept. */
const MAX_SPARE = 4;

function createPacker(binding) {
  const walker = createWalker(binding);
  const { F, T, native } = walker;
  let slab = null;
  let slabAt = 0;
  let busy = false;

  function newSlab() {
    slab = new ArrayBuffer(SLAB_BYTES);
    // Several results share it: transferring one would detach the others.
    markAsUntransferable(slab);
    native.setSlab(slab);
    slabAt = 0;
  }
  newSlab();

  function pack(x, options, maxDepth, undefinedMode) {
    busy = true;
    try {
      T[tape.SLAB_AT] = slabAt;
      walker.walk(x, options, maxDepth, undefinedMode);
      return result(F[tape.LENGTH_F64]);
    } catch (error) {
      walker.reset();
      throw asMsgpackError(error);
    } finally {
      busy = false;
    }
  }

  function result(length) {
    let buffer;
    if (T[tape.STATUS] === tape.STATUS_IN_SLAB) {
      buffer = new FastBuffer(slab, slabAt, length);
    } else if (length <= SLAB_LEFT) {
      newSlab();
      buffer = take(new FastBuffer(slab, 0, length));
    } else {
      return take(allocate(length));
    }
    slabAt = (slabAt + length + ALIGN - 1) & -ALIGN;
    if (slabAt > SLAB_BYTES - SLAB_LEFT) newSlab();
    return buffer;
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
      T[tape.SLAB_AT] = SLAB_BYTES;
      walker.walk(x, options, maxDepth, undefinedMode);
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
      throw asMsgpackError(error);
    } finally {
      busy = false;
    }
  }

  return { isBusy: () => busy, pack, packInto };
}

/** A walk deeper than the stack is too deep, whatever maxDepth allows. */
function asMsgpackError(error) {
  if (error instanceof RangeError && error.message === 'Maximum call stack size exceeded') {
    return new MsgpackError('ERR_MSGPACK_DEPTH', 'Nested deeper than the call stack', {
      path: '$',
      cause: error,
    });
  }
  return error;
}

function createPack(binding) {
  const main = createPacker(binding);
  const spare = [];

  /** Calls `method` of a packer that is not in the middle of a message. */
  function nested(method, ...args) {
    const packer = spare.pop() ?? createPacker(binding);
    try {
      return packer[method](...args);
    } finally {
      if (spare.length < MAX_SPARE) spare.push(packer);
    }
  }

  function pack(value, options) {
    let flags = 0;
    let maxDepth = DEFAULT_MAX_DEPTH;
    let undefinedMode = UNDEFINED_MODES.omit;
    if (options !== undefined && options !== null) {
      ({ flags, maxDepth, undefinedMode } = readOptions(options));
    }
    if (typeof value === 'function' || typeof value === 'symbol') throw unsupported(value);
    if (main.isBusy()) return nested('pack', value, flags, maxDepth, undefinedMode);
    return main.pack(value, flags, maxDepth, undefinedMode);
  }

  function packInto(value, target, offset = 0, options = undefined) {
    const { flags, maxDepth, undefinedMode } = readOptions(options ?? {});
    if (typeof value === 'function' || typeof value === 'symbol') throw unsupported(value);
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
    return main.isBusy() ? nested('packInto', ...args) : main.packInto(...args);
  }

  return { pack, packInto };
}

function unsupported(value) {
  return new MsgpackError('ERR_MSGPACK_UNSUPPORTED_TYPE', `Cannot pack a ${typeof value} at $`, {
    path: '$',
  });
}

function readOptions({ float32 = false, maxDepth, undefinedAs = 'omit' }) {
  if (typeof float32 !== 'boolean') throw invalidOption('float32', float32, 'a boolean');
  if (!Object.hasOwn(UNDEFINED_MODES, undefinedAs)) {
    throw invalidOption('undefinedAs', undefinedAs, "'omit', 'nil' or 'throw'");
  }
  return {
    flags: float32 ? tape.OPT_FLOAT32 : 0,
    maxDepth: checkMaxDepth(maxDepth),
    undefinedMode: UNDEFINED_MODES[undefinedAs],
  };
}

module.exports = { createPack };
