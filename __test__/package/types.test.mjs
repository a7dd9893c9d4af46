// The types, as the compilers of users find them, and what is said of a package by its own linters.

import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { root } from '../../scripts/build.mjs';
import { addNodeTypes, folder, node, project, run, tarballs } from './project.mjs';

const require = createRequire(import.meta.url);
const { default: tsd } = require('tsd');

/** A command of a development dependency. */
function command(name, bin) {
  const file = require.resolve(`${name}/package.json`);
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  return path.join(path.dirname(file), manifest.bin[bin]);
}

const tsc = command('typescript', 'tsc');
const sources = path.join(root, '__test__', 'types');
const { compilerOptions } = JSON.parse(readFileSync(path.join(sources, 'base.json'), 'utf8'));
const files = readdirSync(sources).filter((name) => /\.[cm]ts$/.test(name));

const cwd = project(tarballs.root, tarballs.platform);
addNodeTypes(cwd);
for (const name of files) cpSync(path.join(sources, name), path.join(cwd, name));

/** What the compiler says of the files of that kind in a project; nothing when all is well. */
function compile(dir, module, moduleResolution, kind) {
  const own = files.filter((name) => name.endsWith(kind));
  assert.ok(own.length > 0);
  writeFileSync(
    path.join(dir, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...compilerOptions, module, moduleResolution },
      files: own,
    }),
  );
  return node(dir, [tsc, '--project', '.']).stdout;
}

for (const [module, resolution, kind] of [
  ['node16', 'node16', '.mts'],
  ['node16', 'node16', '.cts'],
  ['nodenext', 'nodenext', '.mts'],
  ['nodenext', 'nodenext', '.cts'],
  ['esnext', 'bundler', '.mts'],
  ['preserve', 'bundler', '.mts'],
]) {
  test(`TypeScript: ${kind} with module ${module}, resolution ${resolution}`, () => {
    assert.equal(compile(cwd, module, resolution, kind), '');
  });
}

test('a package without its types for import is noticed', () => {
  const dir = folder();
  cpSync(cwd, dir, { recursive: true });
  rmSync(path.join(dir, 'node_modules', 'msgpack-rs', 'index.d.mts'));
  assert.match(compile(dir, 'nodenext', 'nodenext', '.mts'), /TS7016|implicitly has an 'any' type/);
});

test('tsd', async () => {
  const problems = await tsd({
    cwd: root,
    typingsFile: 'index.d.ts',
    testFiles: ['__test__/types/*.test-d.ts'],
  });
  assert.deepEqual(
    problems.map(({ fileName, line, message }) => `${fileName}:${line} ${message}`),
    [],
  );
});

/** What publint says of a tarball, suggestions included. */
async function lint(tarball) {
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) },
    strict: true,
  });
  return messages.map((message) => formatMessage(message, pkg));
}

function attw(tarball) {
  const args = [command('@arethetypeswrong/cli', 'attw'), '--format', 'json', tarball];
  const { status, stdout, stderr } = node(root, args);
  assert.equal(stderr, '');
  const { analysis } = JSON.parse(stdout);
  assert.ok(Object.keys(analysis.entrypoints).length >= 3);
  assert.equal(status === 0, analysis.problems.length === 0);
  return analysis.problems;
}

test('publint --strict: nothing to say of either package', async () => {
  assert.deepEqual(await lint(tarballs.root), []);
  assert.deepEqual(await lint(tarballs.platform), []);
});

test('attw: the types are right for every entry and every resolution', () => {
  assert.deepEqual(attw(tarballs.root), []);
});

test('publint and attw notice a package without its types for import', async () => {
  const dir = folder();
  cpSync(path.join(cwd, 'node_modules', 'msgpack-rs'), dir, { recursive: true });
  rmSync(path.join(dir, 'index.d.mts'));
  const { status } = run('npm', ['pack', '--ignore-scripts', '--loglevel=error'], { cwd: dir });
  assert.equal(status, 0);
  const tarball = path.join(dir, path.basename(tarballs.root));
  assert.match((await lint(tarball)).join('\n'), /index\.d\.mts/);
  assert.ok(attw(tarball).length > 0);
});
