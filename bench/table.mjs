// Prints the README's table from the results of two Node.js versions.
//
//   node bench/table.mjs [OLDER.json NEWER.json]

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ratio } from './format.mjs';
import { means, ofKind, ratios } from './ratios.mjs';

const standard = ['20', '26'].map((major) =>
  fileURLToPath(new URL(`results/${major}.json`, import.meta.url)),
);
const files = process.argv.length > 2 ? process.argv.slice(2) : standard;
const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
const majors = runs.map(({ environment }) => Number.parseInt(environment.node, 10)).join(' / ');

const COLUMNS = [
  ['pack ÷ JSON.stringify', 'pack', 'json'],
  ['pack ÷ Buffer.from(JSON.stringify)', 'pack', 'buffer'],
  ['pack ÷ fastest peer', 'pack', 'peer'],
  ['unpack ÷ JSON.parse', 'unpack', 'json'],
  ['unpack ÷ fastest peer', 'unpack', 'peer'],
];

const line = (cells) => console.log(`| ${cells.join(' | ')} |`);
const cells = (ratiosOf) =>
  COLUMNS.map(([, direction, against]) =>
    runs.map((run) => ratio(ratiosOf(run, direction)[against])).join(' / '),
  );

function size(name) {
  const { pack } = runs[0].workloads.find((workload) => workload.name === name);
  return `${Math.round((ofKind(pack, 'ours').bytes / ofKind(pack, 'json').bytes) * 100)} %`;
}

line([`workload (Node.js ${majors})`, ...COLUMNS.map(([title]) => title), 'bytes of JSON']);
line(['---', ...COLUMNS.map(() => '---:'), '---:']);
for (const { name, title, inMean } of runs[0].workloads.filter(({ group }) => group === 'table')) {
  const find = (run, direction) =>
    ratios(run.workloads.find((workload) => workload.name === name)?.[direction] ?? []);
  line([inMean ? title : `${title} ¹`, ...cells(find), size(name)]);
}
const bold = (text) => `**${text}**`;
line([bold('geometric mean'), ...cells((run, direction) => means(run, direction)).map(bold), '']);

console.log('\n¹ Not in the means. JSON has no bytes: it carries base64, coded within the time.\n');
console.log('A ratio is the time of the other over that of msgpack-rs: above 1, msgpack-rs is');
console.log('faster. The fastest peer is the fastest of all on that workload alone.\n');
for (const { environment, date } of runs) {
  const { cpu, cores, os, arch, node, versions } = environment;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  console.log(`- Node.js ${node}, ${cpu}, ${cores} cores, ${os} ${arch}, ${date.slice(0, 10)}:`);
  console.log(`  ${named.join(', ')}`);
}
console.log('\nMeasured with `npm run bench`; raw results in `bench/results`.');
