'use strict';

// The functions of the package itself: standard MessagePack, options with each call.

const { MODE_ALL, MODE_FROM, MODE_ONE } = require('./tape');
const { UNDEFINED_MODES, readPackOptions } = require('./pack/options');
const { readUnpackOptions } = require('./unpack/options');
const { Extensions } = require('./extensions');
const { plainFeatures } = require('./features');
const { createLook } = require('./look');
const { DEFAULT_MAX_DEPTH, checkOffset } = require('./options');
const { ownCopy } = require('./own-code');
const { checkTarget } = require('./pack/target');
const { createTranscode } = require('./transcode');

function createPlain(binding) {
  const { createPackers } = ownCopy(require, './pack', () => require('./pack'));
  const { createUnpackers } = ownCopy(require, './unpack', () => require('./unpack'));
  const extensions = new Extensions();
  const features = plainFeatures(extensions);
  const packers = createPackers(binding, features);
  const unpackers = createUnpackers(binding, features);
  const transcode = createTranscode(binding, features);
  const packValue = packers.pack;
  const unpackBytes = unpackers.unpack;

  function pack(value, options) {
    let flags = 0;
    let maxDepth = DEFAULT_MAX_DEPTH;
    let undefinedMode = UNDEFINED_MODES.omit;
    if (options !== undefined && options !== null) {
      ({ flags, maxDepth, undefinedMode } = readPackOptions(options));
    }
    return packValue(value, flags, maxDepth, undefinedMode);
  }

  function packInto(value, target, offset = 0, options = undefined) {
    const { flags, maxDepth, undefinedMode } = readPackOptions(options ?? {});
    checkTarget(target);
    checkOffset(offset);
    return packers.packInto(value, target, offset, flags, maxDepth, undefinedMode);
  }

  function run(bytes, options, mode, start) {
    let flags = 0;
    let maxDepth = DEFAULT_MAX_DEPTH;
    let copies = false;
    if (options !== undefined && options !== null) {
      ({ copies, flags, maxDepth } = readUnpackOptions(options));
    }
    return unpackBytes(bytes, flags, maxDepth, copies, mode, start);
  }

  function unpack(bytes, options) {
    return run(bytes, options, MODE_ONE, 0);
  }

  function unpackMultiple(bytes, options) {
    return run(bytes, options, MODE_ALL, 0);
  }

  function unpackFrom(bytes, offset = 0, options = undefined) {
    const value = run(bytes, options, MODE_FROM, checkOffset(offset));
    return { value, end: unpackers.end() };
  }

  /** What a writer of streams packs with: messages together, and a message in parts. */
  function sink(options) {
    const { flags, maxDepth, undefinedMode } = readPackOptions(options);
    const call = (method, value) => packers.call(method, value, flags, maxDepth, undefinedMode);
    return {
      pack: packers.bind(flags, maxDepth, undefinedMode),
      packAll: (values) => call('packAll', values),
      packParts: (value) => call('packParts', value),
    };
  }

  /** What a reader of streams unpacks with. */
  function source(options) {
    const { copies, flags, maxDepth } = readUnpackOptions(options);
    return { unpackers, flags, maxDepth, copies, finish: null };
  }

  const look = createLook(binding, features, unpackers, (value) => pack(value));

  /** Adds an extension for these functions, and for every Packr that is made from now on. */
  function addExtension(ext) {
    extensions.add(ext);
    packers.extend();
    unpackers.extend();
    transcode.extend();
    look.extend();
  }

  return {
    addExtension,
    extensions,
    look,
    pack,
    packInto,
    sink,
    source,
    transcode,
    unpack,
    unpackFrom,
    unpackMultiple,
    unpackers,
  };
}

module.exports = { createPlain };
