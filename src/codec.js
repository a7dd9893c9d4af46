'use strict';

// A codec with settings of its own: its features, its packers and unpackers, and the structures of
// records that it shares with its readers.

const { types } = require('node:util');
const binding = require('../binding.js');
const { MODE_ALL, MODE_FROM, MODE_ONE, OPT_INT32, OPT_KEEP, OPT_LENIENT } = require('./tape');
const { OPT_MAP16, OPT_RECORDS, OPT_ROUND, OPT_STRICT_IDS, OPT_WIDE_BIGINT } = require('./tape');
const { MsgpackError, invalidOption } = require('./error');
const { Extensions } = require('./extensions');
const { builtInKinds, extensionKinds, plainFeatures } = require('./features');
const { codeFor } = require('./own-code');
const { checkBoolean, checkCount, checkFunction } = require('./options');
const { readPackOptions } = require('./pack/options');
const { checkOffset, checkTarget } = require('./plain');
const { MAX_SHARED, SharedStructures } = require('./structures');
const { readUnpackOptions } = require('./unpack/options');

/** Ids there are for structures, and how many of them can be shared. */
const MAX_STRUCTURES = 8192;
/** As many structures as one-byte ids allow. */
const DEFAULT_SHARED = 32;
const ONE_BYTE_IDS = 64;
/** Of a stream's own structures, those for what is packed within a message. */
const NESTED_STRUCTURES = 16;
/** Sets within Sets that are sorted at most: each is packed by itself, within the one around it. */
const MAX_SORT_DEPTH = 64;

/** With `sharesCode` it is one of many that come and go. */
function createCodec(settings, defaults = new Extensions(), sharesCode = false) {
  const moreTypes = checkBoolean(
    'moreTypes',
    settings.moreTypes,
    settings.structuredClone === true,
  );
  const structuredClone = checkBoolean('structuredClone', settings.structuredClone, false);
  const sequential = checkBoolean('sequential', settings.sequential, false);
  const shared = new SharedStructures(settings);
  const quirks = settings.compat === true ? settings : null;
  const useRecords =
    quirks !== null && typeof settings.useRecords === 'function'
      ? true
      : checkBoolean(
          'useRecords',
          settings.useRecords,
          moreTypes || structuredClone || sequential || shared.isUsed,
        );
  const mapsAsObjects = checkBoolean('mapsAsObjects', settings.mapsAsObjects, !useRecords);
  const packing = readPackOptions(settings, useRecords || moreTypes ? 'undefined' : 'omit');
  // A BigInt keeps its type: it is written as a 64-bit integer, and no number is.
  const unpacking = readUnpackOptions(settings, {
    int64: moreTypes ? 'bigint' : 'auto',
    maps: mapsAsObjects ? 'object' : 'map',
  });
  const freezes = checkBoolean('freeze', settings.freeze, false);
  const readsRecords = useRecords || quirks !== null;

  const extensions = new Extensions(defaults);
  const minType = quirks === null ? 0 : -128;
  const readKinds = {
    bundles: quirks !== null,
    undefineds: settings.undefinedAs === 'undefined',
    moreTypes: moreTypes || quirks !== null,
    records: readsRecords,
    references:
      structuredClone || (quirks !== null && settings.structuredClone !== false)
        ? true
        : settings.structuredClone,
  };
  // Checked even where nothing is a record.
  const records = readRecords();
  const filter = readFilter();
  const variableMapSize = checkBoolean('variableMapSize', settings.variableMapSize, true);
  const features = {
    ...plainFeatures(extensions),
    filter,
    map16: !variableMapSize && !filter?.isShort,
    moreTypes,
    quirks,
    records: useRecords ? records : null,
    sequential,
    sharesCode,
    structuredClone,
    untouched: freezes ? new WeakMap() : null,
    missingStructures: readsRecords ? (native) => shared.load(native) : null,
    prepareUnpacker: shared.isUsed ? (native) => shared.prepare(native) : undefined,
    prepareNested: shared.isUsed ? ({ native }) => shared.prepareNested(native) : undefined,
  };
  Object.defineProperty(features, 'kinds', {
    get: () => [...builtInKinds(readKinds), ...extensionKinds(extensions)],
  });
  const taken = new Set([...builtInKinds(readKinds)].map(([type]) => type));
  if (quirks === null) extensions.drop(taken);
  addAll(settings.extensions);

  const packFlags =
    packing.flags |
    (useRecords ? OPT_RECORDS : 0) |
    (features.map16 ? OPT_MAP16 : 0) |
    (moreTypes || quirks !== null ? OPT_INT32 | OPT_WIDE_BIGINT : 0);
  const isStrict = quirks === null || (useRecords && (shared.isUsed || sequential));
  const unpackFlags =
    unpacking.flags |
    (readsRecords ? OPT_RECORDS : 0) |
    (readsRecords && isStrict ? OPT_STRICT_IDS : 0) |
    (settings.float32 === 'round' || settings.float32 === 'fit' ? OPT_ROUND : 0) |
    (quirks === null ? 0 : OPT_LENIENT);

  let packers = null;
  let unpackers = null;

  function readRecords() {
    const maxShared = checkCount(
      'maxSharedStructures',
      settings.maxSharedStructures,
      MAX_SHARED,
      // What nobody saves must not be shared.
      shared.canGrow ? DEFAULT_SHARED : 0,
    );
    const maxOwn = checkCount(
      'maxOwnStructures',
      settings.maxOwnStructures,
      MAX_STRUCTURES - maxShared,
      Math.min(maxShared > 0 ? ONE_BYTE_IDS / 2 : ONE_BYTE_IDS, MAX_STRUCTURES - maxShared),
    );
    const shouldShare = checkFunction('shouldShareStructure', settings.shouldShareStructure);
    // What is packed within a message may reach the reader of the stream before it, so that its
    // definitions must not take the place of others.
    const apart = sequential && quirks === null ? Math.min(NESTED_STRUCTURES, maxOwn >> 2) : 0;
    return {
      maxOwn: maxOwn - apart,
      maxShared,
      nested: sequential ? { maxOwn: apart, skipped: maxOwn - apart } : {},
      sequential,
      shouldShare,
      skipped: 0,
    };
  }

  function readFilter() {
    const sorts = checkBoolean('sortKeys', settings.sortKeys, false);
    const keepKey = checkFunction('keyFilter', settings.keyFilter);
    // Theirs are left out of maps only.
    const skipValues = (quirks !== null && useRecords ? null : settings.skipValues) ?? null;
    const isList = quirks === null ? Array.isArray : (list) => typeof list.includes === 'function';
    if (skipValues !== null && !isList(skipValues)) {
      throw invalidOption('skipValues', skipValues, 'an array');
    }
    // A record says how many values there are before the first of them is read.
    const omits = useRecords && settings.undefinedAs === 'omit';
    const numbers = quirks?.coercibleKeyAsNumber === true && !useRecords;
    if (!sorts && keepKey === null && skipValues === null && !omits && !numbers) return null;
    let depth = 0;
    const encode = (value) => {
      if (depth >= MAX_SORT_DEPTH) {
        throw new MsgpackError(
          'ERR_MSGPACK_DEPTH',
          `sortKeys sorts Sets and keys of Maps within others up to ${MAX_SORT_DEPTH} levels`,
          { path: '$' },
        );
      }
      depth++;
      try {
        const { maxDepth, undefinedMode } = packing;
        return packersOf().packNested(value, packFlags, maxDepth, undefinedMode);
      } finally {
        depth--;
      }
    };
    return {
      encode,
      keepKey,
      numbers,
      omits,
      /** By object: the order of its entries, found once. */
      orders: sorts ? new WeakMap() : null,
      /** Whether every header is the shortest, as msgpackr has it with these options. */
      isShort: numbers || (quirks !== null && skipValues !== null),
      skipValues,
      sorts,
    };
  }

  /** The types that this codec writes itself are not free. */
  function addOne(ext) {
    if (quirks === null && taken.has(ext?.type)) {
      const free = `a type that this codec does not use itself (it uses ${[...taken].join(', ')})`;
      throw invalidOption('extension.type', ext.type, free);
    }
    extensions.add(ext, minType);
  }

  function addAll(list = []) {
    if (!Array.isArray(list)) throw invalidOption('extensions', list, 'an array of extensions');
    for (const ext of list) addOne(ext);
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
      const { createPackers } = codeFor(features, require, './pack');
      packers = createPackers(binding, features, {
        ...features,
        isNested: true,
        records: nested,
      });
    }
    return packers;
  }

  function unpackersOf() {
    if (unpackers === null) {
      const { createUnpackers } = codeFor(features, require, './unpack');
      unpackers = createUnpackers(binding, features);
    }
    return unpackers;
  }

  /** The function that packs, as direct as it can be. */
  function packer() {
    const { bind, main } = packersOf();
    const packOnce = bind(packFlags, packing.maxDepth, packing.undefinedMode);
    if (!shared.isUsed || !useRecords) return packOnce;
    const { maxDepth, undefinedMode } = packing;
    const packNested = (value) => packers.packNested(value, packFlags, maxDepth, undefinedMode);
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
    const room = target.byteLength - offset;
    if (message.length > room) {
      throw new MsgpackError(
        'ERR_MSGPACK_BUFFER_TOO_SMALL',
        `The message takes ${message.length} bytes; the target has ${Math.max(0, room)} from offset ${offset}`,
      );
    }
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
    const areOne = (!useRecords || sequential) && !structuredClone && !shared.isUsed;
    return {
      pack,
      packAll: areOne
        ? (values) => call('packAll', values)
        : (values) => Buffer.concat(values.map(pack)),
      packParts: shared.isUsed ? (value) => [pack(value)] : (value) => call('packParts', value),
    };
  }

  /** What a reader of streams unpacks with. */
  function source(copies) {
    const { maxDepth } = unpacking;
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
      addOne(ext);
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
  while (open.length > 0) {
    const x = open.pop();
    const isObject = typeof x === 'object' && x !== null && !ArrayBuffer.isView(x);
    if (!isObject || Object.isFrozen(x)) continue;
    if (untouched.has(x)) {
      open.push(untouched.get(x));
      untouched.delete(x);
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
