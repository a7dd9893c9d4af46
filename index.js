'use strict';

const binding = require('./binding.js');
const { version } = require('./package.json');
const { MsgpackError } = require('./src/error');
const { Ext } = require('./src/ext');
const { Timestamp } = require('./src/timestamp');
const { createPack } = require('./src/pack');
const { createUnpack } = require('./src/unpack');

if (binding.version() !== version) {
  throw new Error(
    `msgpack-rs ${version} found a native addon of version ${binding.version()}. ` +
      'Reinstall the package; in a checkout, run `npm run build`.',
  );
}

const { pack, packInto } = createPack(binding);
const { unpack, unpackFrom, unpackMultiple } = createUnpack(binding);

module.exports.pack = pack;
module.exports.unpack = unpack;
module.exports.unpackMultiple = unpackMultiple;
module.exports.unpackFrom = unpackFrom;
module.exports.packInto = packInto;
module.exports.encode = pack;
module.exports.decode = unpack;
module.exports.Ext = Ext;
module.exports.Timestamp = Timestamp;
module.exports.MsgpackError = MsgpackError;
