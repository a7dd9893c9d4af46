'use strict';

// What the commands work with. They load it when they run: help needs no addon. No extension is
// known to it.

const binding = require('../addon');
const { createInspector } = require('../inspect');
const { createLook } = require('../look');
const { createTranscode } = require('../transcode');

const features = { kinds: [] };

const transcode = createTranscode(binding, features);
const { createCount, createFromJson, createFromJsonArray, createToJson } = transcode;
const { createValidator } = createLook(binding, features, null, null);

module.exports = {
  createCount,
  createFromJson,
  createFromJsonArray,
  createInspector,
  createToJson,
  createValidator,
};
