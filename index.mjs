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
  Packr,
  pack,
  packInto,
  Timestamp,
  Unpackr,
  unpack,
  unpackFrom,
  unpackMultiple,
} = msgpack;
