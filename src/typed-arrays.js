'use strict';

// The codes of the kinds of views and buffers, as msgpackr numbers them.

/** By code. */
const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
];
const ARRAY_BUFFER = 16;
const DATA_VIEW = 17;

module.exports = { ARRAY_BUFFER, DATA_VIEW, TYPED_ARRAYS };
