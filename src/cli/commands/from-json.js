'use strict';

const { UsageError } = require('../arguments');
const { convert } = require('../convert');
const { ReadError, openInput } = require('../input');
const { isSystemError } = require('../system-error');
const { BINARY, MAX_DEPTH, OUTPUT, UTF8 } = require('../options');

/** A file of fewer bytes is held as a whole. */
const LARGE = 16 << 20;
/** More elements than this no array of MessagePack has. */
const MAX_COUNT = 0xffff_ffff;

module.exports = {
  name: 'from-json',
  summary: 'JSON or JSON Lines to MessagePack',
  usage: '[options] [file...]',
  details: `
Writes MessagePack for JSON: one message for each value, one behind the other. The
values may stand on lines of their own (JSON Lines), or have any white space between
them. A value is written when it is complete, so that of JSON Lines of any size
there is one line in memory. A large file that is one array is read twice, first to
count its elements, and then has one element in memory; any other value, and what
comes from standard input, is in memory as a whole.`,
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
    return convert(files, output, (input) => converterFor(input, options));
  },
};

/** A message starts with how many elements it has: a large array is counted first. */
async function converterFor({ name, size }, options) {
  const { createFromJson, createFromJsonArray } = require('../codec');
  const count = size === undefined || size < LARGE ? -1 : await countElements(name);
  return count < 0 || count > MAX_COUNT
    ? createFromJson(options)
    : createFromJsonArray(options, count);
}

async function countElements(name) {
  const { createCount } = require('../codec');
  const { chunks, close } = await openInput(name);
  try {
    const count = createCount();
    for await (const chunk of chunks) {
      // Something else than an array says so as soon as it is seen.
      const known = count.write(chunk);
      if (known !== undefined) return known;
    }
    return count.end();
  } catch (error) {
    throw isSystemError(error) ? new ReadError(error) : error;
  } finally {
    await close();
  }
}
