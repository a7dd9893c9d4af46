'use strict';

// Modules whose code belongs to one codec alone. V8 ties the code of a function to the variables
// around it, tapes above all, only while there is one closure of it: with a second codec on the same
// code, small messages take a third longer in both (`bench/` workload `event`).

/** Copies of a module's code; more codecs than that share the last one. */
const MAX_COPIES = 32;

/** Makes a function that loads module `id`, with `require` of the module that asks, as a copy. */
function ownCopies(load, id) {
  let latest = load(id);
  let copies = 0;
  return function ownCopy() {
    if (++copies > 1 && copies <= MAX_COPIES) latest = copyOf(load, id) ?? latest;
    return latest;
  };
}

/** Bundlers have no modules to load again: then all codecs share one. */
function copyOf(load, id) {
  try {
    const name = load.resolve(id);
    const original = load.cache[name];
    delete load.cache[name];
    try {
      return load(id);
    } finally {
      load.cache[name] = original;
    }
  } catch {
    return null;
  }
}

module.exports = { ownCopies };
