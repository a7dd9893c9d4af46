// What the pages show of a shell is what a shell shows.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { command, root, scratch } from './cli-helpers.mjs';

const skip = process.platform === 'win32' && 'the examples are for a POSIX shell';
const files = scratch();

/** Commands and what they print, of the blocks of a shell in a document. */
function examples(document) {
  const text = readFileSync(path.join(root, document), 'utf8');
  const found = [];
  for (const [, block] of text.matchAll(/^```console\n(.*?)^```$/gms)) {
    for (const line of block.split('\n').slice(0, -1)) {
      if (line.startsWith('$ ')) found.push({ line: line.slice(2), output: '' });
      else found.at(-1).output += `${line}\n`;
    }
  }
  return found;
}

/** A directory for the PATH with our commands in it. */
function commands() {
  mkdirSync(files.at('bin'), { recursive: true });
  for (const name of ['msgpack-rs', 'json2msgpack', 'msgpack2json']) {
    const words = [process.execPath, ...command([], name)].map((word) => `'${word}'`);
    chmodSync(files.put(`bin/${name}`, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`), 0o755);
  }
  // In a project npx runs what is installed there.
  chmodSync(files.put('bin/npx', '#!/bin/sh\nexec "$@"\n'), 0o755);
  return files.at('bin');
}

for (const [document, atLeast] of [
  ['docs/cli.md', 15],
  ['README.md', 3],
]) {
  test(`the shell examples of ${document}`, { skip }, () => {
    const shown = examples(document);
    assert.ok(shown.length >= atLeast, `${shown.length} examples`);
    const cwd = files.at(path.basename(document, '.md'));
    mkdirSync(cwd);
    const { FORCE_COLOR, ...env } = process.env;
    // One shell for all, since an example may go on from the one before, or ask for its status.
    const script = shown.map(
      ({ line }, i) => `${line}\nstatus=$?; echo '=== ${i}'; (exit $status)\n`,
    );
    const { stdout } = spawnSync('sh', ['-c', `exec 2>&1\n${script.join('')}`], {
      cwd,
      encoding: 'utf8',
      env: { ...env, PATH: `${commands()}:${env.PATH}` },
    });
    const printed = stdout.split(/^=== \d+\n/m);
    for (const [i, { line, output }] of shown.entries()) {
      assert.equal(printed[i], output, `$ ${line}`);
    }
  });
}
