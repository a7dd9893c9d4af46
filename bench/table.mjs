// Prints the README's tables from the results of two Node.js versions.
//
//   node bench/table.mjs [OLDER.json NEWER.json]
//   node bench/table.mjs --write ...   and puts the one about Packr between its marks in the README

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ratio } from './format.mjs';
import { means, ofKind, ratios } from './ratios.mjs';

const standard = ['20', '26'].map((major) =>
  fileURLToPath(new URL(`results/${major}.json`, import.meta.url)),
);
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
});
const files = positionals.length > 0 ? positionals : standard;
const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
const majors = runs.map(({ environment }) => Number.parseInt(environment.node, 10)).join(' / ');

const COLUMNS = [
  ['pack ÷ JSON.stringify', 'pack', 'json'],
  ['pack ÷ Buffer.from(JSON.stringify)', 'pack', 'buffer'],
  ['pack ÷ fastest peer', 'pack', 'peer'],
  ['unpack ÷ JSON.parse', 'unpack', 'json'],
  ['unpack ÷ fastest peer', 'unpack', 'peer'],
];

const rowOf = (cells) => `| ${cells.join(' | ')} |`;
const line = (cells) => console.log(rowOf(cells));
const cells = (ratiosOf) =>
  COLUMNS.map(([, direction, against]) =>
    runs.map((run) => ratio(ratiosOf(run, direction)[against])).join(' / '),
  );

function size(name) {
  const { pack } = runs[0].workloads.find((workload) => workload.name === name);
  return `${Math.round((ofKind(pack, 'ours').bytes / ofKind(pack, 'json').bytes) * 100)} %`;
}

const bold = (text) => text && `**${text}**`;

line([`workload (Node.js ${majors})`, ...COLUMNS.map(([title]) => title), 'bytes of JSON']);
line(['---', ...COLUMNS.map(() => '---:'), '---:']);
for (const { name, title, inMean } of runs[0].workloads.filter(({ group }) => group === 'table')) {
  const find = (run, direction) =>
    ratios(run.workloads.find((workload) => workload.name === name)?.[direction] ?? []);
  line([inMean ? title : `${title} ¹`, ...cells(find), size(name)]);
}
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

const PACKR_COLUMNS = [
  ['pack ÷ msgpackr', 'pack', 'peer'],
  ['unpack ÷ msgpackr', 'unpack', 'peer'],
  ['pack ÷ maps', 'pack', 'maps'],
  ['unpack ÷ maps', 'unpack', 'maps'],
];
const PACKR_GROUPS = [
  ['records', '`structures: []`'],
  ['more-types', '`moreTypes: true`'],
];
const INSTANCES = [
  ['`new Packr()`', 'instance'],
  ["`new Packr({ float32: true, int64: 'bigint' })`", 'options'],
];

/** Nothing where no run has it. */
function inAllRuns(ratioOf) {
  const found = runs.map((run) => ratio(ratioOf(run)));
  return found.every((one) => one === '–') ? '' : found.join(' / ');
}

function packrRows(group, title) {
  const workloads = runs[0].workloads.filter((workload) => workload.group === group);
  const find = (run, name) => run.workloads.find((workload) => workload.name === name);
  const mean = PACKR_COLUMNS.map(([, direction, against]) =>
    inAllRuns((run) => means(run, direction, group)[against]),
  );
  return [
    ...workloads.map((workload) => [
      `${title}: ${workload.title}${workload.inMean ? '' : ' ¹'}`,
      ...PACKR_COLUMNS.map(([, direction, against]) =>
        inAllRuns((run) => ratios(find(run, workload.name)?.[direction] ?? [])[against]),
      ),
    ]),
    [`${title}: geometric mean`, ...mean].map(bold),
  ];
}

function packrTable() {
  const dates = runs.map(
    ({ environment, date }) => `Node.js ${environment.node} ${date.slice(0, 10)}`,
  );
  return [
    '### Packr beside msgpackr',
    '',
    'The time of the other over that of a `Packr` with the same options: below 1, it loses. `maps` is plain `pack` and `unpack` of msgpack-rs itself.',
    '',
    rowOf([`Packr (Node.js ${majors})`, ...PACKR_COLUMNS.map(([title]) => title)]),
    rowOf(['---', ...PACKR_COLUMNS.map(() => '---:')]),
    ...PACKR_GROUPS.flatMap(([group, title]) => packrRows(group, title)).map(rowOf),
    '',
    '¹ Not in the mean.',
    '',
    'What a `Packr` takes of the time of plain `pack` and `unpack` on messages that its options do not change: above 1, it is slower.',
    '',
    rowOf([`geometric mean of four workloads (Node.js ${majors})`, 'pack', 'unpack']),
    rowOf(['---', '---:', '---:']),
    ...INSTANCES.map(([title, kind]) =>
      rowOf([
        title,
        ...['pack', 'unpack'].map((direction) =>
          inAllRuns((run) => means(run, direction, 'instance')[kind]),
        ),
      ]),
    ),
    '',
    `Measured with \`npm run bench\`, too: ${dates.join(', ')}.`,
  ].join('\n');
}

function writePackr(text) {
  const readme = fileURLToPath(new URL('../README.md', import.meta.url));
  const [begin, end] = ['<!-- bench-packr:begin -->', '<!-- bench-packr:end -->'];
  const before = readFileSync(readme, 'utf8');
  const [start, stop] = [before.indexOf(begin), before.indexOf(end)];
  if (start < 0 || stop < start) throw new Error(`README.md has no ${begin} before an ${end}`);
  const kept = [before.slice(0, start + begin.length), before.slice(stop)];
  writeFileSync(readme, kept.join(`\n${text}\n`));
}

const measured = ['records', 'more-types', 'instance'].every((group) =>
  runs.every(({ workloads }) => workloads.some((workload) => workload.group === group)),
);
if (measured) {
  const text = packrTable();
  console.log(`\n${text}`);
  if (options.write) writePackr(text);
} else if (options.write) {
  throw new Error('These results have nothing about Packr: npm run bench measures it');
}
