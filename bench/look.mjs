// Looking without unpacking: get, getMany, validate and lazy against unpack of the whole, on
// documents of 1 MB. The results are checked first.
//
//   node bench/look.mjs               everything
//   node bench/look.mjs --quick       every result checked, times only glanced at
//   node bench/look.mjs --json FILE   write the results there, too
//   node bench/look.mjs --node PATH   measure on another Node.js

import { parseArgs } from 'node:util';
import { environmentOf, finish, printMachine, printQuick } from './command.mjs';
import { duration, megabytes, ratio } from './format.mjs';
import { ofKind } from './ratios.mjs';
import { runChild } from './spawn.mjs';

const FULL = { rounds: 150, turnMs: 2, warmMs: 100, budgetMs: 2000 };
const QUICK = { rounds: 3, turnMs: 1, warmMs: 5, budgetMs: 30 };

const TITLES = {
  twitter: 'search results with much text',
  users: 'users, records of short strings',
  numbers: 'an array of doubles',
  points: 'coordinates of a map',
};
/** How many times as fast as unpack. */
const WANTED = { first: 100, last: 8, many: 5, validate: 3 };

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    node: { type: 'string', default: process.execPath },
  },
});
const { node, quick } = options;
const problems = [];
const promises = [];

function measure([document, title]) {
  const pace = quick ? QUICK : FULL;
  const { died, failures = [died], bytes, contenders } = runChild(node, 'look', { document, pace });
  problems.push(...failures.map((failure) => `${document}: ${failure}`));
  if (failures.length > 0) return undefined;
  console.log(`\n${title}, ${megabytes(bytes)}`);
  const whole = ofKind(contenders, 'unpack');
  for (const { name, kind, ns, p10, p90 } of contenders) {
    const times = `${duration(ns).padStart(8)} ${`(${duration(p10)} – ${duration(p90)})`.padEnd(22)}`;
    const got = whole.ns / ns;
    console.log(`  ${name.padEnd(26)}${times} × ${ratio(got).padStart(6)}`);
    if (kind in WANTED) promises.push({ what: `${document}: ${name}`, got, want: WANTED[kind] });
  }
  return { document, bytes, contenders };
}

function printPromises() {
  console.log('\nPromised and measured');
  for (const { what, got, want } of promises) {
    const verdict = got >= want ? 'ok' : 'SHORT';
    console.log(
      `  ${what.padEnd(36)} ≥ ${String(want).padStart(3)} ${ratio(got).padStart(8)}  ${verdict}`,
    );
  }
}

const environment = environmentOf(node);
printMachine(environment);
console.log('A time is a median, with p10–p90 after it. × is the time of unpack over it.');
printQuick(quick);

const documents = Object.entries(TITLES).map(measure);
printPromises();
const results = { date: new Date().toISOString(), quick, environment, documents, promises };
finish(results, options.json, problems);
