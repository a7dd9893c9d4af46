'use strict';

// A codec with settings of its own: its packers and unpackers, and what is done with them.

const { types } = require('node:util');
const binding = require('./addon');
const { MODE_ALL, MODE_FROM, MODE_ONE, OPT_KEEP } = require('./tape');
const { codeFor } = require('./own-code');
const { Extensions } = require('./extensions');
const { checkOffset } = require('./options');
const { checkRoom, checkTarget } = require('./pack/target');
const { readSettings } = require('./settings');

/** With `sharesCode` it is one of many that come and go. */
function createCodec(settings, defaults = new Extensions(), sharesCode = false) {
  const read = readSettings(settings, defaults, packNested);
  const { addExtension, freezes, packFlags, packing, shared, unpackFlags, unpacking } = read;
  const { useRecords } = read;
  const features = read.features;
  features.sharesCode = sharesCode;

  let packers = null;
  let unpackers = null;

  /** For what is packed on the way to a message. */
  function packNested(value) {
    const { maxDepth, undefinedMode } = packing;
    return packersOf().packNested(value, packFlags, maxDepth, undefinedMode);
  }

  function packersOf() {
    if (packers === null) {
      // What is packed in the middle of a message cannot share structures: it may be lost with the
      // message, or come before it.
      const nested = features.records && {
        ...features.records,
        ...features.records.nested,
        sequential: false,
        shouldShare: () => false,
      };
      const { createPackers } = codeFor(features, require, './pack', () => require('./pack'));
      packers = createPackers(binding, features, { ...features, records: nested });
    }
    return packers;
  }

  function unpackersOf() {
    if (unpackers === null) {
      const { createUnpackers } = codeFor(features, require, './unpack', () => require('./unpack'));
      unpackers = createUnpackers(binding, features);
    }
    return unpackers;
  }

  /** The function that packs, as direct as it can be. */
  function packer() {
    const { bind, main } = packersOf();
    const packOnce = bind(packFlags, packing.maxDepth, packing.undefinedMode);
    if (!shared.isUsed || !useRecords) return packOnce;
    return (value) => shared.pack(value, main, packOnce, packNested);
  }

  /** The function that unpacks, as direct as it can be. */
  function unpacker() {
    const { copies, maxDepth } = unpacking;
    const unpackOnce = unpackersOf().bind(unpackFlags, maxDepth, copies, MODE_ONE);
    return freezes ? (bytes) => freeze(unpackOnce(bytes), features.untouched) : unpackOnce;
  }

  let packOnce = null;
  let unpackOnce = null;

  function pack(value) {
    packOnce ??= packer();
    return packOnce(value);
  }

  function unpack(bytes) {
    unpackOnce ??= unpacker();
    return unpackOnce(bytes);
  }

  function packInto(value, target, offset = 0) {
    checkTarget(target);
    checkOffset(offset);
    if (!shared.isUsed) {
      const { maxDepth, undefinedMode } = packing;
      return packersOf().packInto(value, target, offset, packFlags, maxDepth, undefinedMode);
    }
    const message = pack(value);
    checkRoom(target, offset, message.length);
    new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(message, offset);
    return offset + message.length;
  }

  function run(bytes, mode, start, more = 0) {
    const all = unpackersOf();
    const flags = unpackFlags | more;
    const value = all.unpack(bytes, flags, unpacking.maxDepth, unpacking.copies, mode, start);
    return freezes ? freeze(value, features.untouched) : value;
  }

  /** What a writer of streams packs with: messages together, and a message in parts. */
  function sink() {
    const { maxDepth, undefinedMode } = packing;
    const call = (method, value) =>
      packersOf().call(method, value, packFlags, maxDepth, undefinedMode);
    // What a message defines is known to the next only in a stream; ids are never.
    const { sequential, structuredClone: hasIds } = features;
    const areOne = (!useRecords || sequential) && !hasIds && !shared.isUsed;
    return {
      pack,
      packAll: areOne ? (values) => call('packAll', values) : null,
      packParts: shared.isUsed ? (value) => [pack(value)] : (value) => call('packParts', value),
    };
  }

  /** What a reader of streams unpacks with. */
  function source() {
    const { copies, maxDepth } = unpacking;
    return {
      unpackers: unpackersOf(),
      flags: unpackFlags,
      maxDepth,
      copies,
      finish: freezes ? (value) => freeze(value, features.untouched) : null,
    };
  }

  return {
    pack,
    packer,
    sink,
    source,
    packInto,
    unpack,
    unpacker,
    unpackMultiple: (bytes) => run(bytes, MODE_ALL, 0),
    /** With `keeps`, what the message before has defined still holds. */
    unpackFrom(bytes, offset = 0, keeps = false) {
      const value = run(bytes, MODE_FROM, checkOffset(offset), keeps ? OPT_KEEP : 0);
      return { value, end: unpackers.end() };
    },
    addExtension(ext) {
      addExtension(ext);
      packers?.extend();
      unpackers?.extend();
    },
    get structures() {
      return shared.list;
    },
    setStructures(list) {
      shared.replace(list);
    },
  };
}

/** Freezes what was built, all the way down; what extensions made is theirs. Memory cannot be frozen. */
function freeze(root, untouched) {
  const open = [root];
  const passed = new Set();
  while (open.length > 0) {
    const x = open.pop();
    const isObject = typeof x === 'object' && x !== null && !ArrayBuffer.isView(x);
    if (!isObject || Object.isFrozen(x)) continue;
    if (untouched.has(x)) {
      if (!passed.has(x)) open.push(untouched.get(x));
      passed.add(x);
      continue;
    }
    Object.freeze(x);
    if (types.isMap(x) || types.isSet(x)) {
      for (const entry of x.entries()) open.push(entry[0], entry[1]);
    } else if (types.isNativeError(x)) {
      open.push(x.cause, x.errors);
    } else {
      for (const key of Object.keys(x)) open.push(x[key]);
    }
  }
  return root;
}

module.exports = { createCodec };
