'use strict';

const { UsageError } = require('../arguments');
const { convert } = require('../convert');
const { BINARY, MAX_DEPTH, OUTPUT, UTF8 } = require('../options');

module.exports = {
  name: 'from-json',
  summary: 'JSON or JSON Lines to MessagePack',
  usage: '[options] [file...]',
  details: `
Writes MessagePack for JSON: one message for each value, one behind the other. The
values may stand on lines of their own (JSON Lines), or have any white space between
them. A value is written when it is complete, so that of JSON Lines of any size
there is one line in memory; a file that is one large value is in memory as a whole.`,
  options: {
    output: OUTPUT,
    exts: {
      type: 'boolean',
      help: 'make exts of {"$ext":type,"data":...}, as to-json writes them',
    },
    binary: { ...BINARY, help: 'the data of those: base64 (default), hex, or array' },
    utf8: UTF8,
    'max-depth': MAX_DEPTH,
  },
  examples: [
    ['msgpack-rs from-json data.json -o data.msgpack', 'convert a file'],
    ['msgpack-rs from-json < log.jsonl > log.msgpack', 'one message a line'],
  ],

  run(files, { output, ...options }) {
    if (output === undefined && process.stdout.isTTY) {
      throw new UsageError(
        'MessagePack is no text for a terminal',
        'Write it to a file or a pipe, or say -o - if you want it here.',
      );
    }
    const { createFromJson } = require('../codec');
    return convert(files, output, () => createFromJson(options));
  },
};
