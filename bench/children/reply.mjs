// A child process gets its task as one JSON argument and answers with one line of JSON. A codec may
// print what it likes before.

export const task = JSON.parse(process.argv[2] ?? '{}');
export const reply = (answer) => process.stdout.write(`\n${JSON.stringify(answer)}\n`);
