'use strict';

// What a codec does beyond the standard. The walker and the builder ask these fields.

const tape = require('./tape');
const { Extensions, isTag } = require('./extensions');

/** What every plain codec has: no more than the extensions that were added. */
function plainFeatures(extensions = new Extensions()) {
  return {
    extensions,
    /** Which properties go out, and in which order; null for all, as they come. */
    filter: null,
    /** Objects without records have a map 16 at least. */
    map16: false,
    moreTypes: false,
    structuredClone: false,
    /** What msgpackr's own habits need. */
    quirks: null,
    /** Whether many such codecs come and go. */
    sharesCode: false,
    /** How objects go out as records; null where they do not. */
    records: null,
    /** What extensions have made, which is not to be frozen, and of what; null where nothing is. */
    untouched: null,
    /** Whether definitions of records hold for the messages behind them. */
    sequential: false,
    /** By ext type: what it means to the parser. */
    get kinds() {
      return extensionKinds(extensions);
    },
  };
}

function* extensionKinds(extensions) {
  for (const [type, ext] of extensions.byType) {
    // A timestamp is one unless an extension says otherwise.
    const bytes = type === -1 ? tape.KIND_OWN : tape.KIND_EXT;
    yield [type, isTag(ext) ? tape.KIND_TAG : bytes];
  }
}

/** The types that msgpackr's extensions use, by what is read of them. */
function* builtInKinds({ bundles, moreTypes, records, references, undefineds }) {
  if (moreTypes || records || undefineds) yield [tape.EXT_UNDEFINED, tape.KIND_UNDEFINED];
  if (records) yield [tape.EXT_RECORD, tape.KIND_RECORD];
  if (moreTypes) {
    yield [tape.EXT_BIGINT, tape.KIND_BIGINT];
    yield [tape.EXT_TYPED, tape.KIND_TYPED];
    for (const type of [tape.EXT_ERROR, tape.EXT_SET, tape.EXT_REGEXP]) {
      yield [type, tape.KIND_ARRAY_TAG];
    }
  }
  if (bundles) yield [tape.EXT_BUNDLE, tape.KIND_BUNDLE];
  if (references !== undefined) {
    yield [tape.EXT_ID, references ? tape.KIND_ID : tape.KIND_REFUSED];
    yield [tape.EXT_POINTER, references ? tape.KIND_POINTER : tape.KIND_REFUSED];
  }
}

module.exports = { builtInKinds, extensionKinds, plainFeatures };
