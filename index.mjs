// The same module for `import`: one instance, whichever way it is loaded.

import msgpack from './index.js';

export default msgpack;

export const {
  addExtension,
  Decoder,
  decode,
  Encoder,
  Ext,
  encode,
  MsgpackError,
  NIL,
  Packr,
  PackrStream,
  pack,
  packInto,
  packIter,
  packParts,
  Timestamp,
  Unpackr,
  UnpackrStream,
  unpack,
  unpackFrom,
  unpackIter,
  unpackMultiple,
  writeTo,
  get,
  getMany,
  has,
  keysAt,
  lazy,
  lengthAt,
  lengthOf,
  slice,
  typeAt,
  validate,
} = msgpack;
