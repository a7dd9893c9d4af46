// npm test                      everything: fresh build, Rust tests, types, JavaScript tests
// npm test -- --only=js         one part: rust, types or js
// npm test -- __test__/x.test.mjs --test-name-pattern=foo
//                               the rest goes to `node --test`; files named replace the full list

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { buildIfStale, root } from './build.mjs';

// A glob that matches nothing, or a file whose tests are no longer reached, must not look like
// success. Raise these as the suite grows.
const MIN_FILES = 70;
const MIN_TESTS = 1720;

const PARTS = ['rust', 'types', 'js'];

function fail(message) {
  console.error(`\nnpm test: ${message}`);
  process.exit(1);
}

function run(title, command, args) {
  console.log(`\n── ${title}`);
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) fail(`${title}: ${error.message}`);
  if (status !== 0) fail(`${title} failed (${signal ?? `exit code ${status}`})`);
}

function testRust() {
  run('cargo test', 'cargo', ['test', '--locked']);
}

function testTypes() {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  const tsc = path.join(path.dirname(manifest), bin.tsc);
  const dir = path.join('__test__', 'types');
  const projects = readdirSync(path.join(root, dir)).filter((f) => /^tsconfig\..+\.json$/.test(f));
  if (projects.length < 3) fail(`only ${projects.length} projects of type tests in ${dir}`);
  for (const project of projects.sort()) {
    run(`types: ${project}`, process.execPath, [tsc, '--project', path.join(dir, project)]);
  }
}

function testJs(extra) {
  const all = readdirSync(path.join(root, '__test__'))
    .filter((f) => f.endsWith('.test.mjs'))
    .sort()
    .map((f) => path.join('__test__', f));
  const named = extra.filter((arg) => !arg.startsWith('-') && existsSync(path.join(root, arg)));
  const options = extra.filter((arg) => !named.includes(arg));
  const files = named.length > 0 ? named : all;

  const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-test-'));
  const record = path.join(scratch, 'ran.jsonl');
  const reporter = path.join(root, 'scripts', 'test-reporter.mjs');
  try {
    run(`node --test, Node ${process.version} ${process.execArgv.join(' ')}`, process.execPath, [
      ...process.execArgv,
      '--test',
      // One fewer than there are processors otherwise, which is a half of small machines.
      `--test-concurrency=${os.availableParallelism()}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${reporter}`,
      `--test-reporter-destination=${record}`,
      ...options,
      ...files,
    ]);

    const ran = new Map(files.map((file) => [path.join(root, file), 0]));
    for (const line of readFileSync(record, 'utf8').split('\n').filter(Boolean)) {
      const test = JSON.parse(line);
      // A file without tests is itself reported as one test, named after the file.
      const isFile = path.resolve(root, test.name) === test.file;
      if (!test.suite && !isFile) ran.set(test.file, (ran.get(test.file) ?? 0) + 1);
    }
    const total = [...ran.values()].reduce((a, b) => a + b, 0);
    const filesRun = [...ran.values()].filter((n) => n > 0).length;
    console.log(`\n${total} tests in ${filesRun} files`);
    if (extra.length > 0) return;
    const empty = [...ran].filter(([, n]) => n === 0).map(([file]) => path.relative(root, file));
    if (empty.length > 0) fail(`no test ran in ${empty.join(', ')}`);
    if (filesRun < MIN_FILES) fail(`${filesRun} test files ran, expected ${MIN_FILES} or more`);
    if (total < MIN_TESTS) fail(`${total} tests ran, expected ${MIN_TESTS} or more`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const args = process.argv.slice(2);
const only = args.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
if (only !== undefined && !PARTS.includes(only)) fail(`--only is one of ${PARTS.join(', ')}`);
const extra = args.filter((arg) => !arg.startsWith('--only='));
// Naming a file or an option of the runner means the JavaScript tests.
const parts = only ? [only] : extra.length > 0 ? ['js'] : PARTS;

if (parts.includes('js')) {
  try {
    buildIfStale(console.log);
  } catch (error) {
    fail(error.message);
  }
}
if (parts.includes('rust')) testRust();
if (parts.includes('types')) testTypes();
if (parts.includes('js')) testJs(extra);
