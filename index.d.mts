import msgpack = require('./index.js');

export type {
  BytesExtension,
  Extension,
  MessageBytes,
  MsgpackErrorCode,
  PackedBuffer,
  PackOptions,
  PackrOptions,
  Unpacked,
  UnpackOptions,
  ValueExtension,
} from './index.js';
export {
  addExtension,
  Decoder,
  decode,
  Encoder,
  Ext,
  encode,
  MsgpackError,
  Packr,
  pack,
  packInto,
  Timestamp,
  Unpackr,
  unpack,
  unpackFrom,
  unpackMultiple,
} from './index.js';
export default msgpack;
