'use strict';

// What there is for streams, over the plain functions and over codecs of their own.

const { createPackIter } = require('./pack-iter');
const { NIL, createTransforms } = require('./transforms');
const { createUnpackIter } = require('./unpack-iter');
const { createWriteTo } = require('./write-to');

/** `plain` are the package's own functions, `defaults` the extensions of every codec. */
function createStreams(plain, defaults) {
  const codecs = { plain, defaults };
  return {
    NIL,
    ...createTransforms(codecs),
    ...createWriteTo(codecs),
    packIter: createPackIter(codecs),
    unpackIter: createUnpackIter(codecs),
  };
}

module.exports = { createStreams };
