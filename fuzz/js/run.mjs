// npm run fuzz -- --minutes N --seed S     random values, bytes, options and hostile objects
//
//   --seconds N       instead of minutes (one minute if nothing is said)
//   --cases N         so many cases, however long they take
//   --only a,b        only these targets
//
// A failure says how to run it again. Between cases a known-good message is packed and unpacked.
// The cases run in a process of their own, so that a crash is told apart from an error.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stillWorks } from '../../__test__/helpers.mjs';
import { createRandom } from './random.mjs';
import compat from './targets/compat.mjs';
import hostile from './targets/hostile.mjs';
import look from './targets/look.mjs';
import packr from './targets/packr.mjs';
import plain from './targets/plain.mjs';
import streams from './targets/streams.mjs';
import transcode from './targets/transcode.mjs';

/** `{ name, run(random) }`: throws, or rejects, where something does not hold. */
const TARGETS = [plain, packr, streams, compat, hostile, transcode, look];
/** Cases in a round, of those whose cases are short: so each target has its share of the time. */
const TURNS = { plain: 8, packr: 8, compat: 8, transcode: 4, look: 4, hostile: 2 };

const { values: given } = parseArgs({
  options: {
    cases: { type: 'string' },
    child: { type: 'boolean' },
    log: { type: 'string' },
    minutes: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
  },
});
const seed = Number(given.seed ?? (Math.random() * 2 ** 31) | 0);
const seconds = Number(given.seconds ?? 60 * Number(given.minutes ?? 1));
const mostCases = given.cases === undefined ? Infinity : Number(given.cases);
const targets = TARGETS.filter(({ name }) => given.only?.split(',').includes(name) ?? true);
if (!(seconds > 0) || !(mostCases > 0) || targets.length === 0) {
  console.error(`npm run fuzz: targets are ${TARGETS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

function again(cases) {
  const only = given.only === undefined ? '' : ` --only ${given.only}`;
  return `run again with: npm run fuzz -- --seed ${seed} --cases ${cases}${only}`;
}

async function child() {
  const done = new Map(targets.map(({ name }) => [name, { count: 0, ms: 0 }]));
  const end = performance.now() + (mostCases === Infinity ? 1000 * seconds : Infinity);
  const round = targets.flatMap((target) => Array(TURNS[target.name] ?? 1).fill(target));
  let cases = 0;
  while (cases < mostCases && performance.now() < end) {
    const { name, run } = round[cases % round.length];
    const random = createRandom(seed + Math.imul(cases, 0x9e3779b1));
    cases++;
    if (given.log !== undefined) writeFileSync(given.log, String(cases));
    const start = performance.now();
    try {
      await run(random);
      stillWorks();
    } catch (error) {
      console.error(`\ncase ${cases} (${name}):`, error);
      console.error(again(cases));
      process.exit(1);
    }
    const of = done.get(name);
    of.count++;
    of.ms += performance.now() - start;
  }
  const list = [...done].map(
    ([name, { count, ms }]) => `${name} ${count} in ${(ms / 1000).toFixed(1)} s`,
  );
  console.log(`${cases} cases without a finding (${list.join(', ')})`);
}

async function parent() {
  console.log(`seed ${seed}`);
  // Which case a crash was in.
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-fuzz-'));
  const log = path.join(scratch, 'case');
  const file = fileURLToPath(import.meta.url);
  const args = [
    ...process.execArgv,
    '--expose-gc',
    file,
    '--child',
    '--log',
    log,
    ...process.argv.slice(2),
  ];
  if (given.seed === undefined) args.push('--seed', String(seed));
  const { status, signal, error } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (error) throw error;
  if (signal !== null || status > 1) {
    const cases = readFileSync(log, 'utf8');
    console.error(`\nended by ${signal ?? status} in case ${cases}; ${again(cases)}`);
  }
  rmSync(scratch, { recursive: true });
  process.exitCode = status ?? 1;
}

await (given.child ? child() : parent());
