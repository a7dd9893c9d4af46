'use strict';

// Packr: the options said once, and what plain MessagePack does not have.

const { createCodec } = require('./codec');
const { invalidOption } = require('./error');
const { checkOptions } = require('./options');

const OPTIONS = new Set([
  'copyBuffers',
  'extensions',
  'float32',
  'freeze',
  'getStructures',
  'int64',
  'keyFilter',
  'maps',
  'mapsAsObjects',
  'maxDepth',
  'maxOwnStructures',
  'maxSharedStructures',
  'moreTypes',
  'saveStructures',
  'sequential',
  'shouldShareStructure',
  'skipValues',
  'sortKeys',
  'structuredClone',
  'structures',
  'timestamps',
  'undefinedAs',
  'useRecords',
  'utf8',
  'variableMapSize',
]);

function checkNames(options) {
  checkOptions(options);
  if (Array.isArray(options)) throw invalidOption('options', options, 'an object');
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown !== undefined) {
    throw invalidOption(unknown, options[unknown], `absent; there are ${[...OPTIONS].join(', ')}`);
  }
}

/** `defaults` are the extensions that every new instance has. */
function createPackr(defaults) {
  class Packr {
    #codec;
    #pack = null;
    #unpack = null;

    constructor(options = {}) {
      checkNames(options);
      this.#codec = createCodec(options, defaults);
    }

    pack(value) {
      this.#pack ??= this.#codec.packer();
      return this.#pack(value);
    }

    packInto(value, target, offset) {
      return this.#codec.packInto(value, target, offset);
    }

    unpack(bytes) {
      this.#unpack ??= this.#codec.unpacker();
      return this.#unpack(bytes);
    }

    unpackMultiple(bytes) {
      return this.#codec.unpackMultiple(bytes);
    }

    unpackFrom(bytes, offset) {
      return this.#codec.unpackFrom(bytes, offset);
    }

    encode(value) {
      return this.pack(value);
    }

    decode(bytes) {
      return this.unpack(bytes);
    }

    addExtension(ext) {
      this.#codec.addExtension(ext);
      return this;
    }

    get structures() {
      return this.#codec.structures;
    }
  }
  return Packr;
}

module.exports = { checkNames, createPackr };
