'use strict';

const binding = require('./binding.js');
const { version } = require('./package.json');
const { MsgpackError } = require('./src/error');
const { Ext } = require('./src/ext');
const { Timestamp } = require('./src/timestamp');
const { createPackr } = require('./src/packr');
const { createPlain } = require('./src/plain');
const { createStreams } = require('./src/stream');

if (binding.version() !== version) {
  throw new Error(
    `msgpack-rs ${version} found a native addon of version ${binding.version()}. ` +
      'Reinstall the package; in a checkout, run `npm run build`.',
  );
}

const plain = createPlain(binding);
const { addExtension, pack, packInto, unpack, unpackFrom, unpackMultiple } = plain;
const { get, getMany, has, keysAt, lazy, lengthAt, lengthOf, slice, typeAt, validate } = plain.look;
const Packr = createPackr(plain.extensions);
const streams = createStreams(plain, plain.extensions);
const { NIL, PackrStream, UnpackrStream, packIter, packParts, unpackIter, writeTo } = streams;

module.exports.pack = pack;
module.exports.unpack = unpack;
module.exports.unpackMultiple = unpackMultiple;
module.exports.unpackFrom = unpackFrom;
module.exports.packInto = packInto;
module.exports.encode = pack;
module.exports.decode = unpack;
module.exports.get = get;
module.exports.getMany = getMany;
module.exports.has = has;
module.exports.slice = slice;
module.exports.typeAt = typeAt;
module.exports.lengthAt = lengthAt;
module.exports.keysAt = keysAt;
module.exports.lazy = lazy;
module.exports.validate = validate;
module.exports.lengthOf = lengthOf;
module.exports.addExtension = addExtension;
module.exports.Packr = Packr;
module.exports.Unpackr = Packr;
module.exports.Encoder = Packr;
module.exports.Decoder = Packr;
module.exports.writeTo = writeTo;
module.exports.packParts = packParts;
module.exports.packIter = packIter;
module.exports.unpackIter = unpackIter;
module.exports.PackrStream = PackrStream;
module.exports.UnpackrStream = UnpackrStream;
module.exports.NIL = NIL;
module.exports.Ext = Ext;
module.exports.Timestamp = Timestamp;
module.exports.MsgpackError = MsgpackError;
