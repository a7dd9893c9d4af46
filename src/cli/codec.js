'use strict';

// What the commands work with. They load it when they run: help needs no addon. No extension is
// known to it.

const binding = require('../addon');
const { createInspector } = require('../inspect');
const { createLook } = require('../look');
const { createTranscode } = require('../transcode');

const features = { kinds: [] };

const { createFromJson, createToJson } = createTranscode(binding, features);
const { createValidator } = createLook(binding, features, null, null);

module.exports = { createFromJson, createInspector, createToJson, createValidator };
