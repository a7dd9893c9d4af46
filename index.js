'use strict';

const binding = require('./src/addon');
const { MsgpackError } = require('./src/error');
const { Ext } = require('./src/ext');
const { Timestamp } = require('./src/timestamp');
const { createPackr } = require('./src/packr');
const { createPlain } = require('./src/plain');
const { createStreams } = require('./src/stream');

const plain = createPlain(binding);
const { addExtension, pack, packInto, unpack, unpackFrom, unpackMultiple } = plain;
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
