// The same module for `import`: one instance, whichever way it is loaded.

import msgpackr from './msgpackr.js';

export default msgpackr;

export const {
  ALWAYS,
  addExtension,
  C1,
  clearSource,
  DECIMAL_FIT,
  DECIMAL_ROUND,
  Decoder,
  DecoderStream,
  decode,
  decodeIter,
  Encoder,
  EncoderStream,
  encode,
  encodeIter,
  FLOAT32_OPTIONS,
  isNativeAccelerationEnabled,
  mapsAsObjects,
  NEVER,
  Packr,
  PackrStream,
  pack,
  RESERVE_START_SPACE,
  RESET_BUFFER_MODE,
  REUSE_BUFFER_MODE,
  roundFloat32,
  Unpackr,
  UnpackrStream,
  unpack,
  unpackMultiple,
  useRecords,
} = msgpackr;
