'use strict';

const { convert } = require('../convert');
const { MAX_DEPTH, UTF8 } = require('../options');

const NOTHING = Buffer.alloc(0);

const counted = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Says nothing until the end, and then what a file has. */
function createReport(options, name, isQuiet) {
  const { createValidator } = require('../codec');
  // Any key and any timestamp of the specification is good, whatever JavaScript makes of it.
  const asWritten = { multiple: true, maps: 'map', timestamps: 'timestamp' };
  const validator = createValidator({ ...options, ...asWritten });
  return {
    write(chunk) {
      validator.write(chunk);
      return NOTHING;
    },
    end() {
      const { values, bytes, depth, nodes } = validator.end();
      if (isQuiet) return NOTHING;
      const counts = [
        counted(values, 'message'),
        counted(bytes, 'byte'),
        counted(nodes, 'value'),
        counted(depth, 'level'),
      ];
      return Buffer.from(`${name}: ${counts.join(', ')}\n`);
    },
  };
}

module.exports = {
  name: 'validate',
  summary: 'check that files are MessagePack',
  usage: '[options] [file...]',
  details: `
Checks that every file is MessagePack from its first byte to its last, and prints
what it has: messages, bytes, values of every kind (keys too), and how many levels
of arrays and maps at most. Bad data is reported as file:offset: message, and the
exit status is 1.`,
  options: {
    quiet: { type: 'boolean', short: 'q', help: 'print nothing of good files' },
    utf8: UTF8,
    'max-depth': MAX_DEPTH,
  },
  examples: [
    ['msgpack-rs validate *.msgpack', 'check files'],
    ['msgpack-rs validate -q upload.bin || echo broken', 'in a script'],
  ],

  run(files, { quiet = false, ...options }) {
    return convert(files, undefined, ({ name }) => createReport(options, name, quiet));
  },
};
