'use strict';

const { convert } = require('../convert');
const { readPath } = require('../path');
const toJson = require('./to-json');

/** The values at a path; `isGood` tells whether there were any. */
function createGet(options, path, name) {
  const { createToJson } = require('../codec');
  const converter = createToJson(options, path.steps);
  let found = false;
  const noted = (text) => {
    found ||= text.length > 0;
    return text;
  };
  return {
    write: (chunk) => noted(converter.write(chunk)),
    end: () => noted(converter.end()),
    isGood() {
      if (!found) process.stderr.write(`${name}: there is nothing at ${path.text}\n`);
      return found;
    },
  };
}

module.exports = {
  name: 'get',
  summary: 'one value out of every message, as JSON',
  usage: '[options] <path> [file...]',
  details: `
Writes what is at a path in each message, as JSON on a line of its own; a message
that has nothing there is passed over. The rest of it is neither decoded nor held.
If no message of a file has anything there, the exit status is 1.

A path is made of names and indices, as in users[3].name. A name with a point, a
bracket or a quote in it stands in brackets as JSON: users[3]["first name"]. A
leading $, as errors print it, may be left out; $ alone is the whole message.`,
  options: toJson.options,
  operand: { name: 'The path', as: 'path', read: (text) => ({ text, steps: readPath(text) }) },
  examples: [
    ["msgpack-rs get 'users[3].name' data.msgpack", 'one value'],
    ["msgpack-rs get '$.time' log.msgpack | sort", 'the same of every message'],
  ],

  run(files, { output, path, ...options }) {
    return convert(files, output, ({ name }) => createGet(options, path, name));
  },
};
