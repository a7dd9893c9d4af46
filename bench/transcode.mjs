// JSON text to MessagePack and back, without values in between against by way of them; and how long
// the forms that return promises keep the event loop from turning.
//
//   node bench/transcode.mjs               everything
//   node bench/transcode.mjs --quick       every result checked, times only glanced at
//   node bench/transcode.mjs --json FILE   write the results there, too
//   node bench/transcode.mjs --node PATH   measure on another Node.js

import { parseArgs } from 'node:util';
import { environmentOf, finish, printMachine, printQuick } from './command.mjs';
import { duration, megabytes, ratio } from './format.mjs';
import { geometricMean, ofKind } from './ratios.mjs';
import { runChild } from './spawn.mjs';

const DOCUMENTS = ['twitter', 'users', 'canada', 'floats', 'integers', 'citm', 'api', 'event'];
/** What `jsonToMsgpack` and `msgpackToJson` promise for these, each. */
const PROMISED = ['twitter', 'users', 'canada', 'floats', 'integers'];
const LEAST = { 'from a string': 3, 'from a Buffer': 3, 'to JSON': 2.5 };
/** Of the time that `unpack` takes; and for the transcoders, ms. */
const MOST_OF_UNPACK = 0.7;
const MOST_MS = 5;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    node: { type: 'string', default: process.execPath },
  },
});
const { node, quick } = options;
const pace = quick
  ? { rounds: 3, turnMs: 1, warmMs: 5, budgetMs: 10 }
  : { rounds: 24, turnMs: 8, warmMs: 200, budgetMs: 1500 };
// 10 MB of MessagePack.
const pool = quick ? { count: 500, rounds: 2 } : { count: 25_000, rounds: 15 };
const problems = [];

const gain = (times) => ofKind(times, 'values').ns / ofKind(times, 'ours').ns;
const spread = ({ ns, p10, p90 }) => `${duration(ns)} (${duration(p10)} – ${duration(p90)})`;

function measure(workload) {
  const {
    died,
    failures = [died],
    bytes,
    times,
  } = runChild(node, 'transcode', { workload, quick, pace });
  problems.push(...failures.map((failure) => `${workload}: ${failure}`));
  if (failures.length > 0) return { workload, times: {} };
  console.log(`\n${workload}, ${bytes} bytes of JSON`);
  for (const [job, timed] of Object.entries(times)) {
    const [ours, values] = ['ours', 'values'].map((kind) => spread(ofKind(timed, kind)));
    console.log(
      `  ${job.padEnd(14)} ${ours.padEnd(34)} by way of values ${values.padEnd(34)} ${ratio(gain(timed))} ×`,
    );
  }
  return { workload, bytes, times };
}

function measurePool() {
  const { died, bytes, json, times = {} } = runChild(node, 'pool', pool);
  if (died) problems.push(`pool: ${died}`);
  else
    console.log(
      `\nUsers, ${megabytes(bytes)} of MessagePack, ${megabytes(json)} of JSON: the longest turn of the loop`,
    );
  for (const [job, { blocked, whole }] of Object.entries(times)) {
    console.log(`  ${job.padEnd(30)} ${spread(blocked).padEnd(36)} in one piece ${spread(whole)}`);
  }
  return { bytes, json, times };
}

function printTargets({ documents, pool: { times } }) {
  console.log('\nPromised and measured');
  const say = (what, want, got, ok) =>
    console.log(
      `  ${what.padEnd(52)} ${want.padEnd(10)} ${got.padStart(8)}  ${ok ? 'ok' : 'SHORT'}`,
    );
  for (const [job, least] of Object.entries(LEAST)) {
    const measured = documents.filter(
      ({ workload, times }) => PROMISED.includes(workload) && times[job],
    );
    for (const { workload, times: timed } of measured) {
      const got = gain(timed[job]);
      say(`${job}: ${workload}`, `≥ ${least}`, ratio(got), got >= least);
    }
    const mean = geometricMean(measured.map(({ times: timed }) => gain(timed[job])));
    say(`${job}: geometric mean`, `≥ ${least}`, ratio(mean), mean >= least);
  }
  for (const [job, { blocked, whole }] of Object.entries(times)) {
    if (job === 'unpackAsync') {
      const got = blocked.ns / whole.ns;
      say(`${job} ÷ unpack`, `≤ ${MOST_OF_UNPACK}`, ratio(got), got <= MOST_OF_UNPACK);
    } else {
      say(job, `≤ ${MOST_MS} ms`, duration(blocked.ns), blocked.ns <= MOST_MS * 1e6);
    }
  }
}

const environment = environmentOf(node);
printMachine(environment);
console.log(
  'A time is the median, with p10–p90 after it. A ratio is the time by way of values over',
);
console.log('that of msgpack-rs: above 1, it is faster without values.');
printQuick(quick);
const documents = DOCUMENTS.map(measure);
const results = {
  date: new Date().toISOString(),
  quick,
  environment,
  documents,
  pool: measurePool(),
};
printTargets(results);
finish(results, options.json, problems);
