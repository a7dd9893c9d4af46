'use strict';

// From files through something resumable to the output. Each file stands alone: one that is bad
// does not keep the next from its turn.

const { MsgpackError } = require('../error');
const { ReadError, openInput } = require('./input');
const { Output } = require('./output');
const { progressOf } = require('./progress');
const { isSystemError, reasonOf } = require('./system-error');

/** `file:offset: message`, or `file:line:column: message` for text. */
function describe(name, { offset, message }) {
  // Not by the error's own line: some runtimes give every error one, that of the program.
  const lineAndColumn = /, line (\d+), column (\d+)\)$/.exec(message);
  const place = lineAndColumn === null ? offset : lineAndColumn.slice(1).join(':');
  // The place is said in front.
  const words = message.replace(/ \(at .*\)$/, '');
  return `${name}:${place}: ${words}`;
}

/** Where something about a file is said, one line each. */
const complain = (text) => process.stderr.write(`${text}\n`);

async function* readFrom(input, progress) {
  const chunks = input.chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      let next;
      try {
        next = await chunks.next();
      } catch (error) {
        throw isSystemError(error) ? new ReadError(error) : error;
      }
      if (next.done) return;
      yield next.value;
      progress.add(next.value.length);
    }
  } finally {
    progress.erase();
    await input.close();
  }
}

async function convertFile(name, output, create) {
  let input;
  try {
    input = await openInput(name);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    complain(reasonOf(error));
    return false;
  }
  try {
    const converter = await create(input);
    for await (const chunk of readFrom(input, progressOf(input, output))) {
      await output.write(converter.write(chunk));
    }
    await output.write(converter.end());
    return converter.isGood?.() ?? true;
  } catch (error) {
    if (error instanceof ReadError) {
      complain(`${input.name}: ${error.message}`);
      return false;
    }
    if (!(error instanceof MsgpackError)) throw error;
    if (error.output !== undefined) await output.write(error.output);
    complain(describe(input.name, error));
    return false;
  }
}

/**
 * Converts each of the files by a converter of its own: `create(input)` → `{ write, end }` or a promise
 * of it, whose MsgpackError has what was still good as `output`. Returns the exit status.
 */
async function convert(files, file, create) {
  const output = new Output(file);
  output.checkInputs(files);
  let isGood = true;
  for (const name of files) {
    isGood = (await convertFile(name, output, create)) && isGood;
  }
  await output.end();
  return isGood ? 0 : 1;
}

module.exports = { convert, describe };
