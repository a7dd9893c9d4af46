'use strict';

// The command line. Each command is a file in `commands`: what it is called with, what its help
// says, and `run`, which returns the exit status. Only the command that is run is loaded.

const { readArguments, UsageError } = require('./arguments');
const { helpOf, overview } = require('./help');
const { isClosed, isSystemError, reasonOf } = require('./system-error');

const PROGRAM = 'msgpack-rs';

const COMMANDS = ['to-json', 'from-json', 'inspect', 'get', 'validate', 'bench'];

const USAGE = 2;
/** What a shell shows for a program that was ended by SIGPIPE: 128 and the number of the signal. */
const OUTPUT_CLOSED = 141;

const commandOf = (name) => require(`./commands/${name}`);

function print(text) {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

async function runCommand(command, program, argv) {
  try {
    const { files, options, wantsHelp } = readArguments(command, argv);
    if (!wantsHelp) return await command.run(files, options);
    await print(helpOf(command, program));
    return 0;
  } catch (error) {
    if (error instanceof UsageError) error.program = program;
    throw error;
  }
}

/** `msgpack-rs …`, whose first argument is a command. */
async function run([name, ...rest]) {
  if (name === undefined) {
    throw new UsageError('Which command?');
  }
  if (name === '--version' || name === '-V') {
    await print(`${require('../../package.json').version}\n`);
    return 0;
  }
  if (name === '--help' || name === '-h' || (name === 'help' && rest.length === 0)) {
    await print(overview(PROGRAM, COMMANDS.map(commandOf)));
    return 0;
  }
  const wanted = name === 'help' ? rest[0] : name;
  if (!COMMANDS.includes(wanted)) {
    const what = wanted.startsWith('-') ? 'option' : 'command';
    const commands = COMMANDS.join(', ');
    throw new UsageError(`There is no ${what} '${wanted}'. The commands are ${commands}.`);
  }
  const command = commandOf(wanted);
  const argv = name === 'help' ? ['--help'] : rest;
  return runCommand(command, `${PROGRAM} ${wanted}`, argv);
}

/** Sets the exit status to what `work` comes to. */
async function finish(program, work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (error instanceof UsageError) {
      const { hint, message, program: called = program } = error;
      process.stderr.write(`${called}: ${message}\n${hint ?? `Try '${called} --help'.`}\n`);
      process.exitCode = USAGE;
    } else if (isClosed(error)) {
      // The reader has seen enough, as `head` does.
      process.exitCode = OUTPUT_CLOSED;
    } else if (isSystemError(error)) {
      process.stderr.write(`${program}: ${reasonOf(error)}\n`);
      process.exitCode = 1;
    } else if (error?.code === 'ERR_MSGPACK_ADDON') {
      // It tells what to do about it.
      process.stderr.write(`${program}: ${error.message}\n`);
      process.exitCode = 1;
    } else {
      throw error;
    }
  }
}

const main = (argv) => finish(PROGRAM, () => run(argv));

/** One command under a name of its own. */
const mainOf = (name, program, argv) =>
  finish(program, () => runCommand(commandOf(name), program, argv));

module.exports = { main, mainOf };
