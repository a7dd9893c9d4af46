'use strict';

// Packers: the memory of results, and what happens when a value's own code packs something in the
// middle of a pack.

const { types } = require('node:util');
const { LENGTH_F64, SHARED, SLAB, STATUS, STATUS_IN_SLAB, STATUS_OK } = require('../tape');
const { MsgpackError } = require('../error');
const { FastBuffer } = require('../fast-buffer');
const { codeFor } = require('../own-code');
const { Slab } = require('../slab');
const { checkRoom } = require('./target');

/** Small results are slices of a slab; its size bounds what one of them keeps alive. */
const SMALL_SLAB = 16 << 10;
const SMALL_RESULT = 2 << 10;
/** Larger ones share a larger slab, up to the size that is worth an allocation of its own. */
const LARGE_SLAB = 128 << 10;
const LARGE_RESULT = 32 << 10;
/** Walkers for packs within packs; more than this many are not kept. */
const MAX_SPARE = 16;

function createPacker(binding, careful, features) {
  const { createWalker } = codeFor(features, require, './walk', () => require('./walk'));
  const walker = createWalker(binding, careful, features);
  const { F, T, native } = walker;
  const small = new Slab(SMALL_SLAB, SMALL_RESULT, (memory) => native.setSlab(0, memory));
  const large = new Slab(LARGE_SLAB, LARGE_RESULT, (memory) => native.setSlab(1, memory));
  // The next result is expected to be of the last one's size.
  let slab = small;
  let busy = false;

  /** Written out, unlike the others: it is what small messages wait for. */
  function pack(x, options, maxDepth, undefinedMode) {
    busy = true;
    try {
      slab.prepare();
      T[SLAB] = slab === small ? 0 : 1;
      walker.walk(x, options, maxDepth, undefinedMode, slab);
      return result(F[LENGTH_F64]);
    } catch (error) {
      walker.reset();
      throw error;
    } finally {
      busy = false;
    }
  }

  function result(length) {
    if (slab === small && length <= SMALL_RESULT && T[STATUS] === STATUS_IN_SLAB) {
      return small.slice(length);
    }
    return largerResult(length);
  }

  /** Apart, so that V8 has room to make the packing of a small message one piece of code. */
  function largerResult(length) {
    if (T[STATUS] === STATUS_IN_SLAB) {
      if (slab === small) {
        slab = large;
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

  /** Runs what packs a message; if that fails, nothing of it stays. */
  function packing(run) {
    busy = true;
    try {
      return run();
    } catch (error) {
      walker.reset();
      throw error;
    } finally {
      busy = false;
    }
  }

  /** Several values as messages one behind the other, in one Buffer. */
  function packAll(values, options, maxDepth, undefinedMode) {
    return packing(() => {
      slab.prepare();
      T[SLAB] = slab === small ? 0 : 1;
      walker.walkAll(values, options, maxDepth, undefinedMode, slab);
      return result(F[LENGTH_F64]);
    });
  }

  /** A message in parts: large binaries are the caller's own, not copies. */
  function packParts(x, options, maxDepth, undefinedMode) {
    return packing(() => {
      slab.prepare();
      T[SLAB] = slab === small ? 0 : 1;
      walker.walk(x, options, maxDepth, undefinedMode, slab);
      const places = T[STATUS] === STATUS_IN_SLAB ? [] : native.splices();
      return places.length === 0 ? [result(F[LENGTH_F64])] : partsAt(places);
    });
  }

  function partsAt(places) {
    const held = walker.references();
    let length = F[LENGTH_F64];
    for (let i = 1; i < places.length; i += 2) length -= held[places[i]].byteLength;
    const written = allocate(length);
    native.takeWritten(written);
    const parts = [];
    let from = 0;
    for (let i = 0; i < places.length; i += 2) {
      parts.push(written.subarray(from, places[i]), asBuffer(held[places[i + 1]]));
      from = places[i];
    }
    parts.push(written.subarray(from));
    return parts.filter((part) => part.length > 0);
  }

  /** How many structures of records the reader shares after the last message. */
  const shared = () => T[SHARED];

  /** Before a message: what an earlier one that failed has left there does not count. */
  function forgetShared() {
    T[SHARED] = 0;
  }

  /** Moves the finished message into `target`, which has its length. */
  function take(target) {
    native.take(target, walker.references());
    if (T[STATUS] !== STATUS_OK) throw walker.fault();
    return target;
  }

  function packInto(x, target, offset, options, maxDepth, undefinedMode) {
    return packing(() => {
      // No slab: the message waits in the addon's memory until its length is known.
      walker.walk(x, options, maxDepth, undefinedMode, null);
      const length = F[LENGTH_F64];
      checkRoom(target, offset, length);
      take(new Uint8Array(target.buffer, target.byteOffset + offset, length));
      return offset + length;
    });
  }

  return {
    extend: walker.extend,
    isBusy: () => busy,
    forgetShared,
    native,
    pack,
    packAll,
    packInto,
    packParts,
    shared,
  };
}

/** The same memory as a Buffer; a copy of memory that others may write. */
function asBuffer(bytes) {
  if (types.isSharedArrayBuffer(bytes.buffer)) return Buffer.from(bytes);
  if (Buffer.isBuffer(bytes)) return bytes;
  return new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whether for…in finds more than own keys: somebody has extended Object.prototype. */
function isPolluted() {
  for (const _ in Object.prototype) return true;
  return false;
}

/**
 * Packs by a codec's features: `pack(value, flags, maxDepth, undefinedMode)` and `packInto`. What is
 * packed in the middle of a message has a packer of its own, made by `nestedFeatures`.
 */
function createPackers(binding, features, nestedFeatures = features) {
  const main = createPacker(binding, false, features);
  const spare = [];
  let careful = null;

  /** A packer that is not in the middle of a message. */
  function withSpare(method, ...args) {
    const packer = spare.pop() ?? createPacker(binding, false, nestedFeatures);
    try {
      features.prepareNested?.(packer);
      return packer[method](...args);
    } finally {
      if (spare.length < MAX_SPARE) spare.push(packer);
    }
  }

  function withCareful(method, ...args) {
    // One of its own each time that it is needed within itself: such programs are rare.
    const packer =
      careful === null || careful.isBusy() ? createPacker(binding, true, nestedFeatures) : careful;
    careful ??= packer;
    features.prepareNested?.(packer);
    return packer[method](...args);
  }

  function pack(value, flags, maxDepth, undefinedMode) {
    if (isPolluted()) return withCareful('pack', value, flags, maxDepth, undefinedMode);
    if (main.isBusy()) return withSpare('pack', value, flags, maxDepth, undefinedMode);
    return main.pack(value, flags, maxDepth, undefinedMode);
  }

  /** `pack` with all but the value said once. */
  function bind(flags, maxDepth, undefinedMode) {
    return function packBound(value) {
      if (isPolluted()) return withCareful('pack', value, flags, maxDepth, undefinedMode);
      if (main.isBusy()) return withSpare('pack', value, flags, maxDepth, undefinedMode);
      return main.pack(value, flags, maxDepth, undefinedMode);
    };
  }

  /** For what is packed on the way to a message of this codec. */
  function packNested(...args) {
    return withSpare('pack', ...args);
  }

  /** Any of a packer's other methods. */
  function call(method, ...args) {
    if (isPolluted()) return withCareful(method, ...args);
    return main.isBusy() ? withSpare(method, ...args) : main[method](...args);
  }

  const packInto = (...args) => call('packInto', ...args);

  /** The features' extensions have changed. */
  function extend() {
    main.extend();
    // Those that are in use are dropped after it; nobody starts a message with them again.
    spare.length = 0;
    careful = null;
  }

  return { bind, call, extend, main, pack, packInto, packNested };
}

module.exports = { createPackers };
