'use strict';

const { convert } = require('../convert');
const { BINARY, MAX_DEPTH, NON_FINITE, OUTPUT, SPACE, UTF8 } = require('../options');

module.exports = {
  name: 'to-json',
  summary: 'MessagePack to JSON, a value a line',
  usage: '[options] [file...]',
  details: `
Writes JSON for MessagePack, every value on a line of its own (JSON Lines). Any
number of values may stand one behind the other, in any number of files. Input of
any size takes the memory of its largest string.`,
  options: {
    output: OUTPUT,
    space: SPACE,
    binary: BINARY,
    'non-finite': NON_FINITE,
    utf8: UTF8,
    'max-depth': MAX_DEPTH,
  },
  examples: [
    ['msgpack-rs to-json data.msgpack', 'print a file'],
    ['msgpack-rs to-json --space 2 data.msgpack', 'with a line for every element'],
    ['msgpack-rs to-json < data.msgpack | jq .name', 'go on with jq'],
  ],

  run(files, { output, ...options }) {
    const { createToJson } = require('../codec');
    return convert(files, output, () => createToJson(options));
  },
};
