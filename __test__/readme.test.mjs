// The README is code too: its examples run and print what they say they print, and what it lists
// is what there is.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = new URL('../', import.meta.url);
const read = (name) => readFileSync(new URL(name, root), 'utf8');
const readme = read('README.md');
const require = createRequire(import.meta.url);
const unique = (list) => [...new Set(list)].sort();
const codesIn = (text) => unique(text.match(/ERR_MSGPACK_[A-Z0-9_]+/g));

const examples = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code], i) => ({
  name: `example ${i + 1}: ${code.trim().split('\n')[0]}`,
  code,
}));

test('there are examples', () => {
  assert.ok(examples.length >= 4);
});

for (const { name, code } of examples) {
  test(name, () => {
    // From the root of the checkout, the package's own name resolves to it.
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--test'));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...flags, '--input-type=module', '--eval', code],
      { cwd: fileURLToPath(root), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    assert.equal(stderr, '');
    assert.equal(status, 0);
    // `console.log(…); // text` promises that text, up to an explanation after a comma and space.
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, t]) => t);
    const printed = stdout.trimEnd().split('\n');
    assert.equal(printed.length, promised.length);
    for (const [i, line] of printed.entries()) {
      const [exact, explained] = [promised[i], promised[i].split(', a')[0]];
      assert.ok(line === exact || line === explained, `printed ${line}, promised ${exact}`);
    }
  });
}

test('import and require are one module with the same names', async () => {
  const required = require('msgpack-rs');
  const imported = await import('msgpack-rs');
  assert.equal(imported.default, required);
  assert.deepEqual(
    Object.keys(imported)
      .filter((name) => name !== 'default' && name !== 'module.exports')
      .sort(),
    Object.keys(required).sort(),
  );
  for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name);
  assert.equal(imported.encode, imported.pack);
  assert.equal(imported.decode, imported.unpack);
});

test('the types name every export', () => {
  const declared = [...read('index.d.ts').matchAll(/^export (?:class|function|const) (\w+)/gm)];
  assert.deepEqual(
    unique(declared.map(([, name]) => name)),
    Object.keys(require('msgpack-rs')).sort(),
  );
});

test('the README and the types list the same error codes', () => {
  const union = read('index.d.ts').match(/type MsgpackErrorCode =(.*?);/s)[1];
  assert.deepEqual(codesIn(readme.match(/^## Errors$(.*?)^## /ms)[1]), codesIn(union));
  assert.deepEqual(codesIn(readme), codesIn(union));
});

test('the README and the types list the same options', () => {
  const declared = [
    ...read('index.d.ts').matchAll(/interface (?:Pack|Unpack)Options \{(.*?)^\}/gms),
  ]
    .flatMap(([, body]) => [...body.matchAll(/^ {2}(\w+)\?:/gm)])
    .map(([, name]) => name);
  const listed = [...readme.matchAll(/^### Options of (.*?)(?=^#)/gms)]
    .flatMap(([, body]) => [...body.matchAll(/^\| `(\w+)`/gm)])
    .map(([, name]) => name);
  assert.deepEqual(listed.sort(), declared.sort());
});

test('links inside the repository lead somewhere', () => {
  for (const [, target] of readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
    assert.ok(read(target).length > 0, target);
  }
});

test('the package can be loaded by its file, too', async () => {
  const byFile = await import(pathToFileURL(require.resolve('../index.js')).href);
  assert.equal(byFile.default, require('msgpack-rs'));
});

test('code generation is refused when this run says so', {
  skip: !process.env.MSGPACK_RS_TEST_NO_EVAL,
}, () => {
  // .ci/run runs the suite with --disallow-code-generation-from-strings; make sure that it arrives.
  assert.throws(() => new Function('return 1'), EvalError);
});
