'use strict';

// The options of a codec, checked, as what its walker, its builder and Rust go by.

const { OPT_INT32, OPT_LENIENT, OPT_MAP16, OPT_RECORDS, OPT_ROUND } = require('./tape');
const { OPT_STRICT_IDS, OPT_WIDE_BIGINT } = require('./tape');
const { MsgpackError, invalidOption } = require('./error');
const { Extensions } = require('./extensions');
const { builtInKinds, extensionKinds, plainFeatures } = require('./features');
const { checkBoolean, checkCount, checkFunction } = require('./options');
const { readPackOptions } = require('./pack/options');
const { MAX_SHARED, SharedStructures } = require('./structures');
const { readUnpackOptions } = require('./unpack/options');

/** Ids there are for structures. */
const MAX_STRUCTURES = 8192;
/** As many structures as one-byte ids allow. */
const DEFAULT_SHARED = 32;
const ONE_BYTE_IDS = 64;
/** Of a stream's own structures, those for what is packed within a message. */
const NESTED_STRUCTURES = 16;
/** Sets within Sets that are sorted at most: each is packed by itself, within the one around it. */
const MAX_SORT_DEPTH = 64;

/**
 * `defaults` are the extensions that the codec has besides its own; `packNested` packs, for sorting,
 * by the settings that are being read.
 */
function readSettings(settings, defaults, packNested) {
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
    // undefined: those types have no meaning. msgpackr refuses them where they are not wanted.
    references: quirks === null ? structuredClone || undefined : settings.structuredClone !== false,
  };
  const builtIn = [...builtInKinds(readKinds)];
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
    structuredClone,
    untouched: freezes ? new WeakMap() : null,
    missingStructures: readsRecords ? (native) => shared.load(native) : null,
    prepareUnpacker: shared.isUsed ? (native) => shared.prepare(native) : undefined,
    prepareNested: shared.isUsed ? ({ native }) => shared.prepareNested(native) : undefined,
    get kinds() {
      return [...builtIn, ...extensionKinds(extensions)];
    },
  };
  const taken = new Set(builtIn.map(([type]) => type));
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
      maxShared: shared.isFrozen ? Math.min(maxShared, shared.list.length) : maxShared,
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
    const sorted = (value) => {
      if (filter.depth >= MAX_SORT_DEPTH) {
        throw new MsgpackError(
          'ERR_MSGPACK_DEPTH',
          `sortKeys sorts Sets and keys of Maps within others up to ${MAX_SORT_DEPTH} levels`,
          { path: '$' },
        );
      }
      filter.depth++;
      try {
        // In an array: by itself, a function cannot be packed.
        return packNested([value]);
      } finally {
        filter.depth--;
      }
    };
    const filter = {
      /** How many Sets or keys of Maps are being sorted, one within the other. */
      depth: 0,
      encode: sorted,
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
    return filter;
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

  return {
    addExtension: addOne,
    features,
    freezes,
    packFlags,
    packing,
    shared,
    unpackFlags,
    unpacking,
    useRecords,
  };
}

module.exports = { readSettings };
