// The same module for `import`: one instance, whichever way it is loaded.

import msgpack from './index.js';

export default msgpack;

export const {
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
} = msgpack;
