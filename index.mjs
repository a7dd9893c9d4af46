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
  jsonToMsgpack,
  jsonToMsgpackAsync,
  MsgpackError,
  msgpackToJson,
  msgpackToJsonAsync,
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
  unpackAsync,
  unpackFrom,
  unpackIter,
  unpackMultiple,
  writeTo,
} = msgpack;
