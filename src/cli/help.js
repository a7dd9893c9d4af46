'use strict';

// The text of --help, from what a command says of itself.

const GAP = 2;

/** Lines of two columns. */
function columns(rows) {
  const width = Math.max(...rows.map(([left]) => left.length)) + GAP;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}\n`).join('');
}

function flag([name, { short, value }]) {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  return short === undefined ? `    ${long}` : `-${short}, ${long}`;
}

function helpOf({ usage, details, options, examples, name }, program) {
  const rows = Object.entries(options).map((option) => [flag(option), option[1].help]);
  rows.push(['-h, --help', 'print this help']);
  const shown = examples.map(([command, what]) => [
    command.replace(`msgpack-rs ${name}`, program),
    what,
  ]);
  return `Usage: ${program} ${usage}

${details.trim()}

Options:
${columns(rows)}
Examples:
${columns(shown)}`;
}

function overview(program, commands) {
  return `Usage: ${program} <command> [options] [file...]

MessagePack on the command line. Without a file, or with -, a command reads
standard input; it writes standard output.

Commands:
${columns(commands.map(({ name, summary }) => [name, summary]))}
Options:
${columns([
  ['-h, --help', 'print this help; of a command: msgpack-rs help <command>'],
  ['-V, --version', 'print the version'],
])}
Examples:
${columns(commands.map(({ examples: [first] }) => first))}
Exit status: 0 if all went well, 1 if there was bad data or a file that cannot be
read, 2 if the command was called in a wrong way.
`;
}

module.exports = { helpOf, overview };
