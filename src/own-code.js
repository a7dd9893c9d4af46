'use strict';

// Modules whose code belongs to one codec alone. V8 ties the code of a function to the variables
// around it, tapes above all, only while there is one closure of it: with a second codec on the same
// code, small messages take a third longer in both (`bench/` workload `event`).

/** Copies of a module's code; more codecs than that share the last one. */
const MAX_COPIES = 32;

/** By name of a module: how often it was asked for, and the copy given out last. */
const given = new Map();

/**
 * Module `id` as a copy, by the `require` of the module that asks. Who comes first has the original,
 * which is what `original` returns: a `require` that is written out, so that bundlers see it, too.
 */
function ownCopy(load, id, original) {
  let copies = given.get(id);
  if (copies === undefined) {
    copies = { count: 0, latest: original() };
    given.set(id, copies);
  }
  if (++copies.count > 1 && copies.count <= MAX_COPIES) {
    copies.latest = copyOf(load, id, original()) ?? copies.latest;
  }
  return copies.latest;
}

/** By name of a module: the one copy for all codecs that come and go, such as those of streams. */
const common = new Map();

/** The code for a codec that is one of many, none of which lives long enough for code of its own. */
function commonCopy(load, id, original) {
  let copy = common.get(id);
  if (copy === undefined) {
    copy = copyOf(load, id, original()) ?? original();
    common.set(id, copy);
  }
  return copy;
}

/** Code of its own for a codec, or the common one. */
function codeFor(features, load, id, original) {
  return features.sharesCode ? commonCopy(load, id, original) : ownCopy(load, id, original);
}

/** Bundlers have no modules to load again: then all codecs share one. */
function copyOf(load, id, original) {
  try {
    const name = load.resolve(id);
    const module = load.cache[name];
    // In a bundle, a file of that name is somebody else's.
    if (module?.exports !== original) return null;
    delete load.cache[name];
    try {
      return load(id);
    } finally {
      load.cache[name] = module;
    }
  } catch {
    return null;
  }
}

module.exports = { codeFor, ownCopy };
