import msgpack = require('./index.js');

export type {
  MessageBytes,
  MsgpackErrorCode,
  PackedBuffer,
  PackOptions,
  Unpacked,
  UnpackOptions,
} from './index.js';
export {
  decode,
  Ext,
  encode,
  MsgpackError,
  pack,
  packInto,
  Timestamp,
  unpack,
  unpackFrom,
  unpackMultiple,
} from './index.js';
export default msgpack;
