import msgpackr = require('./msgpackr.js');

export type { Extension, Options, Structures, UnpackOptions } from './msgpackr.js';
export {
  ALWAYS,
  addExtension,
  C1,
  clearSource,
  DECIMAL_FIT,
  DECIMAL_ROUND,
  Decoder,
  decode,
  Encoder,
  encode,
  FLOAT32_OPTIONS,
  isNativeAccelerationEnabled,
  mapsAsObjects,
  NEVER,
  Packr,
  pack,
  RESERVE_START_SPACE,
  RESET_BUFFER_MODE,
  REUSE_BUFFER_MODE,
  roundFloat32,
  Unpackr,
  unpack,
  unpackMultiple,
  useRecords,
} from './msgpackr.js';
export default msgpackr;
