'use strict';

// Options that several commands have.

const { MAX_MAX_DEPTH } = require('../options');
const { integer, oneOf } = require('./arguments');

const OUTPUT = {
  type: 'string',
  short: 'o',
  value: 'FILE',
  help: 'write to FILE, not to standard output',
};

const MAX_DEPTH = {
  type: 'string',
  value: 'N',
  as: 'maxDepth',
  read: integer(1, MAX_MAX_DEPTH),
  help: 'levels of arrays and maps (default 1000)',
};

const BINARY = {
  type: 'string',
  value: 'FORM',
  read: oneOf(['base64', 'hex', 'array']),
  help: 'bytes: base64 (default), hex, or array of numbers',
};

const NON_FINITE = {
  type: 'string',
  value: 'WHAT',
  as: 'nonFinite',
  read: oneOf(['null', 'throw']),
  help: 'NaN and infinities: null (default), or throw: bad data',
};

const UTF8 = {
  type: 'string',
  value: 'WHAT',
  read: oneOf(['replace', 'fatal']),
  help: 'text that is not UTF-8: replace (default), or fatal: bad data',
};

const SPACE = {
  type: 'string',
  value: 'N',
  read: integer(0, 10),
  help: 'indent by N spaces, 0 to 10 (default 0: a value a line)',
};

module.exports = { BINARY, MAX_DEPTH, NON_FINITE, OUTPUT, SPACE, UTF8 };
