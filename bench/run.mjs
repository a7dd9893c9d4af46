// The benchmark: checks results, then measures times and memory, prints them and writes them down.
//
//   npm run bench                      everything; writes bench/results/<major>.json and .svg
//   npm run bench -- --quick           every result checked, times only glanced at
//   npm run bench -- --only NAME,...   these workloads or groups (table, growth, records, more-types,
//                                      instance, memory)
//   npm run bench -- --json FILE       write the results there, and the chart next to them
//   npm run bench -- --node PATH       measure on another Node.js
//   npm run bench -- --targets         and print what is promised next to what was measured

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { environmentOf, printQuick } from './command.mjs';
import { measureMemory } from './memory.mjs';
import { geometricMean } from './ratios.mjs';
import { printEnvironment, printMemory, printSummary, printWorkload } from './report.mjs';
import { runChild } from './spawn.mjs';
import { printTargets } from './targets.mjs';
import { workloads } from './workloads.mjs';

// Changes when a reader of the results would have to.
const SCHEMA = 1;
const FULL = { rounds: 16, turnMs: 8, warmMs: 100, budgetMs: 1000 };
const QUICK = { rounds: 3, turnMs: 1, warmMs: 5, budgetMs: 10 };
// The values of the largest workloads, several times over, as each contender made them.
const ROOMY = ['--max-old-space-size=4096'];

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    node: { type: 'string', default: process.execPath },
    targets: { type: 'boolean', default: false },
  },
});
const { node, quick } = options;

const wanted = options.only?.flatMap((names) => names.split(','));
const known = ['memory', ...workloads.flatMap(({ name, group }) => [name, group])];
const unknown = wanted?.find((name) => !known.includes(name));
if (unknown) {
  console.error(`No workload is called ${unknown}. There are: ${[...new Set(known)].join(', ')}`);
  process.exit(2);
}
const isWanted = (...names) => !wanted || names.some((name) => wanted.includes(name));

/** The contenders of several processes, each with the mean of its times. */
function together(answers) {
  const of = (name) => answers.map(({ contenders }) => contenders.find((one) => one.name === name));
  return answers[0].contenders.map((contender) => {
    const mean = (part) => geometricMean(of(contender.name).map((one) => one[part]));
    const rounds = contender.rounds * answers.length;
    return { ...contender, ns: mean('ns'), p10: mean('p10'), p90: mean('p90'), rounds };
  });
}

function time({ name, processes = 1 }, task) {
  const answers = [];
  for (let turn = 0; turn < (quick ? 1 : processes); turn += 1) {
    const all = { workload: name, quick, pace: quick ? QUICK : FULL, turn, ...task };
    const answer = runChild(node, 'time', all, ROOMY);
    if (answer.died || answer.failures.length > 0) return answer;
    answers.push(answer);
  }
  return { ...answers[0], contenders: together(answers) };
}

function measure(workload) {
  // Packing comes first and checks both directions; unpacking needs only to know who is out.
  const pack = time(workload, { direction: 'pack' });
  const checked = { failures: pack.failures ?? [], notSupported: pack.notSupported ?? {} };
  const unpack =
    pack.died || checked.failures.length > 0
      ? {}
      : time(workload, { direction: 'unpack', checked });
  const { name, title, quickTitle, group, inMean } = workload;
  return {
    name,
    title: (quick && quickTitle) || title,
    group,
    inMean,
    values: pack.values,
    failures: [...checked.failures, ...[pack.died, unpack.died].filter(Boolean)],
    notSupported: checked.notSupported,
    pack: pack.contenders ?? [],
    unpack: unpack.contenders ?? [],
  };
}

function measureAndPrint(workload) {
  const measured = measure(workload);
  printWorkload(measured);
  return measured;
}

async function write(results) {
  const major = Number.parseInt(results.environment.node, 10);
  const standard = fileURLToPath(new URL(`results/${major}.json`, import.meta.url));
  // Only a whole run may replace the results that the README's table is made from.
  const file = options.json ?? (quick || wanted ? undefined : standard);
  if (!file) return;
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
  // Imported here, since before the installation it may not be there.
  const { chart } = await import('./chart.mjs');
  const picture = `${file.replace(/\.json$/, '')}.svg`;
  writeFileSync(picture, chart(results));
  console.log(`\nWritten: ${file} and ${picture}`);
}

const environment = environmentOf(node);
printEnvironment(environment);
printQuick(quick);

const chosen = workloads.filter(
  ({ name, group, fullOnly }) => isWanted(name, group) && !(quick && fullOnly),
);
const results = {
  schema: SCHEMA,
  date: new Date().toISOString(),
  quick,
  environment,
  workloads: chosen.map(measureAndPrint),
  memory: isWanted('memory') ? measureMemory(node, quick) : undefined,
};
printSummary(results);
if (results.memory) printMemory(results.memory);
await write(results);
if (options.targets) printTargets(results);

const wrong = results.workloads.filter(({ failures }) => failures.length > 0);
if (wrong.length > 0) console.error(`\nWrong results: ${wrong.map(({ name }) => name).join(', ')}`);
const { peak = [], retention, flat = [] } = results.memory ?? {};
const died = [...peak, retention, ...flat].some((measured) => measured?.died);
if (died) console.error('\nA process that measures memory died.');
if (wrong.length > 0 || died) process.exitCode = 1;
