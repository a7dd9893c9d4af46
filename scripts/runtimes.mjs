// npm run test:runtimes         the JavaScript tests on Bun and Deno, as npm has them. What is known
//                               to fail there is written down in runtimes.json, with its reason; it
//                               fails here if it no longer does, or if anything else does. Tests that look at random
//                               values (`random` there) may do either.
// npm run test:runtimes -- deno __test__/x.test.mjs
//                               on one of them, or these files alone

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildIfStale, root } from './build.mjs';

const MIN_PASSED = 1150;
const FILE_TIMEOUT = 240_000;
// The whole of the random tests is for Node.js; a fixed seed finds what it found the last time.
const RANDOM = { FC_RUNS: '40', FC_SEED: '1' };

const known = JSON.parse(readFileSync(new URL('runtimes.json', import.meta.url), 'utf8'));

const COMMANDS = {
  bun: (file, report) => [
    ...['test', '--timeout', '120000', '--reporter=junit', `--reporter-outfile=${report}`],
    `./${file}`,
  ],
  deno: (file, report) => [
    ...['test', '--allow-all', '--no-check', '--no-lock', `--junit-path=${report}`],
    file,
  ],
};

const args = process.argv.slice(2);
const runtimes = Object.keys(known).filter((name) => args.includes(name));
const named = args.filter((arg) => arg.endsWith('.test.mjs')).map((arg) => path.basename(arg));
const files = readdirSync(path.join(root, '__test__'))
  .filter((name) => name.endsWith('.test.mjs') && (named.length === 0 || named.includes(name)))
  .map((name) => name.slice(0, -'.test.mjs'.length));

const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-runtimes-'));

function install(name) {
  const { package: id, version, bin } = known[name];
  const command = `npm install --no-save --no-audit --no-fund --prefix "${scratch}" ${id}@${version}`;
  const { status } = spawnSync(command, { shell: true, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${id} cannot be installed`);
  return path.join(scratch, 'node_modules', id, bin);
}

const unescaped = (text) =>
  text.replaceAll(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
    code
      ? String.fromCodePoint(Number(code))
      : { amp: '&', apos: "'", gt: '>', lt: '<', quot: '"' }[name],
  );

/** The names of the tests in a report, by how they ended. */
function read(report, file) {
  const ended = { passed: [], failed: [], skipped: [] };
  for (const [, attributes, , body = ''] of report.matchAll(
    /<testcase ([^>]*?)(\/>|>(.*?)<\/testcase>)/gs,
  )) {
    const name = unescaped(attributes.match(/name="(.*?)"/s)[1]);
    const end = /<(failure|error)/.test(body)
      ? 'failed'
      : /<skipped/.test(body)
        ? 'skipped'
        : 'passed';
    ended[end].push(`${file}: ${name}`);
  }
  return ended;
}

/** Runs one file to its end. */
function run(name, program, file) {
  const report = path.join(scratch, `${name}-${file}.xml`);
  const test = path.posix.join('__test__', `${file}.test.mjs`);
  return new Promise((resolve) => {
    const child = spawn(program, COMMANDS[name](test, report), {
      cwd: root,
      env: { ...RANDOM, ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: FILE_TIMEOUT,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('close', (status, signal) => {
      const ended = existsSync(report)
        ? read(readFileSync(report, 'utf8'), file)
        : { passed: [], failed: [], skipped: [] };
      // Loaded wrongly, or dead: tests that are not in the report must not be missed.
      if ((status !== 0) !== ended.failed.length > 0 || ended.passed.length === 0) {
        ended.failed.push(`${file}: ended with ${signal ?? status}`);
      }
      resolve({ ...ended, file, output });
    });
  });
}

/** Runs all of these, as many at once as there are processors. */
async function inParallel(jobs) {
  const results = [];
  const workers = Array.from({ length: os.availableParallelism() }, async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) results.push(await job());
  });
  await Promise.all(workers);
  return results;
}

/** What fails without being written down. */
function unexpected(name, { failed }) {
  const { exceptions } = known[name];
  const written = new Set(
    exceptions.flatMap(({ tests = [], random = [] }) => [...tests, ...random]),
  );
  return failed.filter((test) => !written.has(test));
}

/**
 * Runs a file again whose tests have failed: threads and clocks of these runtimes decide some of
 * them, and what fails every time is what users would meet.
 */
async function runTwice(name, program, file) {
  const first = await run(name, program, file);
  const news = unexpected(name, first);
  if (news.length === 0) return first;
  console.log(`${name} runs ${file} again, where this failed: ${news.join(', ')}`);
  console.log(first.output.slice(-5_000));
  return run(name, program, file);
}

/** What is not as it is written down, as lines; empty when all is. */
function compare(name, results) {
  const lines = [];
  const expected = new Set(known[name].exceptions.flatMap(({ tests = [] }) => tests));
  for (const result of results) {
    const { file, output } = result;
    const news = unexpected(name, result);
    for (const test of news) lines.push(`${name} fails: ${test}`);
    if (news.length > 0) lines.push(`what ${name} said of ${file}:`, output.slice(-20_000));
  }
  const failed = new Set(results.flatMap((result) => result.failed));
  for (const test of expected) {
    const hasRun = results.some(({ file }) => test.startsWith(`${file}: `));
    if (hasRun && !failed.has(test)) lines.push(`${name} no longer fails, or has not run: ${test}`);
  }
  return lines;
}

const lines = [];
try {
  buildIfStale(console.log);
  for (const name of runtimes.length > 0 ? runtimes : Object.keys(known)) {
    const program = install(name);
    const left = new Set(known[name].exceptions.flatMap(({ files: own = [] }) => own));
    const jobs = files
      .filter((file) => !left.has(file))
      .map((file) => () => runTwice(name, program, file));
    const started = Date.now();
    const results = await inParallel(jobs);
    const count = (end) => results.reduce((sum, result) => sum + result[end].length, 0);
    console.log(
      `${name} ${known[name].version}: ${results.length} files, ${count('passed')} tests passed, ` +
        `${count('failed')} failed, ${count('skipped')} skipped, ` +
        `${Math.round((Date.now() - started) / 1000)} s; not run: ${[...left].join(', ')}`,
    );
    lines.push(...compare(name, results));
    if (named.length === 0 && count('passed') < MIN_PASSED) {
      lines.push(`${name}: expected ${MIN_PASSED} tests to pass`);
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (lines.length > 0) {
  console.error(`\n${lines.join('\n')}`);
  process.exitCode = 1;
}
