'use strict';

// What a command is called with. A command declares its options; each may have `read`, which makes
// a value of the text and throws a UsageError for text that is none.

const { parseArgs } = require('node:util');

class UsageError extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

const HELP = { type: 'boolean', short: 'h', help: 'print this help' };

function readArguments({ files = 'any', options, operand }, argv) {
  const declared = { ...options, help: HELP };
  const { values, positionals } = parse(declared, argv);
  if (values.help) return { wantsHelp: true };
  const result = {};
  for (const [name, { as = name, read = (text) => text }] of Object.entries(options)) {
    if (values[name] !== undefined) result[as] = read(values[name], `--${name}`);
  }
  if (operand !== undefined) {
    const text = positionals.shift();
    if (text === undefined) throw new UsageError(`${operand.name} is missing`);
    result[operand.as] = operand.read(text);
  }
  if (files === 'one' && positionals.length !== 1) {
    throw new UsageError(`One file is needed, not ${positionals.length || 'none'}`);
  }
  if (positionals.filter((name) => name === '-').length > 1) {
    throw new UsageError('Standard input can be read once');
  }
  return {
    wantsHelp: false,
    files: positionals.length === 0 ? ['-'] : positionals,
    options: result,
  };
}

function parse(declared, argv) {
  const options = {};
  for (const [name, { type, short }] of Object.entries(declared)) {
    options[name] = short === undefined ? { type } : { type, short };
  }
  try {
    return parseArgs({ args: argv, options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!error.code?.startsWith('ERR_PARSE_ARGS_')) throw error;
    // The first sentence; the others are about parseArgs.
    throw new UsageError(error.message.split(/\.(?: |$)|\n/)[0]);
  }
}

/** Reads an integer from `least` to `most`. */
const integer = (least, most) => (text, option) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new UsageError(`${option} takes an integer from ${least} to ${most}, not '${text}'`);
  }
  return value;
};

/** Reads one of these words. */
const oneOf = (words) => (text, option) => {
  if (!words.includes(text)) {
    const choice = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
    throw new UsageError(`${option} takes ${choice}, not '${text}'`);
  }
  return text;
};

module.exports = { UsageError, integer, oneOf, readArguments };
