'use strict';

const { hasColours } = require('../colours');
const { convert } = require('../convert');
const { MAX_DEPTH, OUTPUT } = require('../options');

module.exports = {
  name: 'inspect',
  summary: 'show what is in MessagePack, byte by byte',
  usage: '[options] [file...]',
  details: `
Prints a line for every value: its offset, its bytes, the name of its format in
the specification, and what it is. Of long strings and binaries there is only the
start. Where the bytes are damaged or end too soon, all up to there is printed, and
then what is wrong and where.

Colours are for terminals. NO_COLOR=1 turns them off, FORCE_COLOR=1 on.`,
  options: {
    output: OUTPUT,
    hex: { type: 'boolean', help: 'print offsets in hexadecimal, not decimal' },
    'max-depth': { ...MAX_DEPTH, help: 'levels of arrays and maps (default 1000000)' },
  },
  examples: [
    ['msgpack-rs inspect data.msgpack', 'look at a file'],
    ['msgpack-rs inspect --hex damaged.msgpack | tail', 'find out where it is damaged'],
  ],

  run(files, { output, hex, maxDepth }) {
    const { createInspector } = require('../codec');
    const colours = output === undefined && hasColours(process.stdout);
    return convert(files, output, () => createInspector({ colours, hex, maxDepth }));
  },
};
