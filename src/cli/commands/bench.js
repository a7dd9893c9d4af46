'use strict';

const { MsgpackError } = require('../../error');
const { oneOf } = require('../arguments');
const { describe } = require('../convert');
const { Output } = require('../output');

module.exports = {
  name: 'bench',
  summary: 'time a file of yours against JSON and other packages',
  usage: '[options] <file>',
  details: `
Times packing and unpacking what is in a file, which is JSON, JSON Lines or
MessagePack, and going from one to the other; against JSON and those of msgpackr,
@msgpack/msgpack, notepack.io and msgpack-lite that can be loaded from the directory
where you are. Before that it checks that each brings the values back. The file is
read into memory as a whole.`,
  files: 'one',
  options: {
    format: {
      type: 'string',
      value: 'FORMAT',
      read: oneOf(['json', 'msgpack']),
      help: 'what the file is: json or msgpack (default: found out)',
    },
    quick: { type: 'boolean', help: 'rough figures, in a tenth of the time' },
  },
  examples: [['msgpack-rs bench data.json', 'on your data, on your machine']],

  async run([file], options) {
    const { bench } = require('../bench');
    try {
      return await bench(file, options, new Output());
    } catch (error) {
      if (!(error instanceof MsgpackError) || error.offset === undefined) throw error;
      process.stderr.write(`${describe(file, error)}\n`);
      return 1;
    }
  },
};
