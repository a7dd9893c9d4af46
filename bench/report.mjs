// What a run prints, as it goes and at its end.

import { duration, grouped, megabytes, ratio } from './format.mjs';
import { means, nsPerByte, ofKind, ratios } from './ratios.mjs';

const DIRECTIONS = ['pack', 'unpack'];

export function printEnvironment(environment) {
  const { cpu, cores, memoryGB, os, arch, node, v8, versions, msgpackrNative } = environment;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  console.log(`Machine   ${cpu}, ${cores} cores, ${memoryGB} GB, ${os} ${arch}`);
  console.log(`Node.js   ${node}, V8 ${v8}`);
  console.log(`Codecs    ${named.join(', ')}`);
  console.log(`          msgpackr's native helper is ${msgpackrNative ? 'active' : 'NOT active'}`);
  console.log(
    'A time is the median for one call, with p10–p90 after it. A ratio is the time of the',
  );
  console.log(
    'other over that of msgpack-rs: above 1, msgpack-rs is faster. All codecs unpack the',
  );
  console.log('same bytes. JSON makes and reads a string; "a Buffer" adds what a socket needs.');
  console.log('Of records and more types, each codec unpacks what it packed itself.');
}

function timeCell(contender) {
  if (!contender) return 'not supported'.padEnd(32);
  const spread = `(${duration(contender.p10)} – ${duration(contender.p90)})`;
  return `${duration(contender.ns).padStart(8)} ${spread.padEnd(23)}`;
}

const toPeers = (found) =>
  `${ratio(found.json)} × JSON, ${ratio(found.buffer)} × JSON with a Buffer, ` +
  `${ratio(found.peer)} × ${found.peerName ?? 'no peer'}`;

const SENTENCES = {
  table: toPeers,
  growth: toPeers,
  records: ({ peer, maps }) => `${ratio(peer)} × msgpackr, ${ratio(maps)} × maps`,
  'more-types': ({ peer, v8 }) => `${ratio(peer)} × msgpackr, ${ratio(v8)} × v8.serialize`,
  instance: (found) =>
    `an instance takes ${ratio(found.instance)}, one with options ${ratio(found.options)} of the time`,
};

export function printWorkload(workload) {
  console.log(`\n${workload.name}: ${workload.title}`);
  for (const failure of workload.failures) console.log(`  WRONG RESULT ${failure}`);
  if (workload.failures.length > 0) return;
  console.log(`  ${''.padEnd(18)}${'    pack'.padEnd(32)}${'  unpack'.padEnd(32)}   bytes`);
  const names = [...workload.pack.map(({ name }) => name), ...Object.keys(workload.notSupported)];
  for (const name of names) {
    const [packed, unpacked] = DIRECTIONS.map((direction) =>
      workload[direction].find((one) => one.name === name),
    );
    const bytes = packed ? grouped(packed.bytes).padStart(8) : '';
    console.log(`  ${name.padEnd(18)}${timeCell(packed)}${timeCell(unpacked)}${bytes}`);
  }
  for (const direction of DIRECTIONS) {
    console.log(`  ${direction}: ${SENTENCES[workload.group](ratios(workload[direction]))}`);
  }
}

/** The lines that the old native addon's benchmark ended with, in its own direction. */
function printHistoric(workloads) {
  const historic = workloads.filter(({ name }) => name === 'calls-1m' || name === 'array-1m');
  if (historic.length === 0) return;
  console.log(
    "\nThe old addon's benchmark, with {abcdef:1, qqq:13, '19':[1,2,3,4]}. Its ratio is the time",
  );
  console.log('of msgpack over that of JSON: below 1, msgpack is faster.');
  for (const { title, pack, unpack } of historic) {
    console.log(`${title}:`);
    console.log(`ratio of msgpack.pack/JSON.stringify: ${1 / ratios(pack).json}`);
    console.log(`ratio of msgpack.unpack/JSON.parse: ${1 / ratios(unpack).json}`);
  }
}

const row = (name, cells) =>
  console.log(name.padEnd(34) + cells.map((c) => c.padStart(9)).join(''));

function printRatios(results, table) {
  console.log('\nRatios, above 1 msgpack-rs is faster');
  row('', ['pack', 'pack', 'pack', 'unpack', 'unpack', 'unpack', 'bytes']);
  row('', ['JSON', 'Buffer', 'peer', 'JSON', 'Buffer', 'peer', 'of JSON']);
  const three = ({ json, buffer, peer }) => [ratio(json), ratio(buffer), ratio(peer)];
  for (const { title, inMean, pack, unpack } of table) {
    const [ours, json] = ['ours', 'json'].map((kind) => ofKind(pack, kind));
    const size = ours && json ? `${Math.round((ours.bytes / json.bytes) * 100)} %` : '–';
    const name = inMean ? title : `${title} *`;
    row(name.slice(0, 33), [...three(ratios(pack)), ...three(ratios(unpack)), size]);
  }
  row(
    'geometric mean',
    DIRECTIONS.flatMap((direction) => three(means(results, direction))),
  );
  if (table.some(({ inMean }) => !inMean)) console.log('* not in the mean; JSON carries base64');
}

function printGrowth(growth) {
  console.log('\nGrowth: nanoseconds a byte, and the ratio to JSON (strings) and to msgpackr');
  row('', ['pack', 'JSON', 'peer', 'unpack', 'JSON', 'peer']);
  for (const workload of growth) {
    const cells = DIRECTIONS.flatMap((direction) => {
      const { json, peer } = ratios(workload[direction]);
      return [nsPerByte(workload[direction]), json, peer].map(ratio);
    });
    row(workload.title, cells);
  }
}

/** The groups about Packr: what the columns are, each a name and a ratio. */
const PACKR_GROUPS = [
  {
    group: 'records',
    title: 'Packr with records, above 1 msgpack-rs is faster',
    columns: [
      ['msgpackr', 'peer'],
      ['maps', 'maps'],
    ],
  },
  {
    group: 'more-types',
    title: 'Packr with more types, above 1 msgpack-rs is faster',
    columns: [
      ['msgpackr', 'peer'],
      ['v8', 'v8'],
    ],
  },
  {
    group: 'instance',
    title: 'What an instance takes of the time of pack and unpack, above 1 it is slower',
    columns: [
      ['Packr()', 'instance'],
      ['options', 'options'],
    ],
  },
];

function printPackr(results, workloads) {
  for (const { group, title, columns } of PACKR_GROUPS) {
    const rows = workloads.filter((workload) => workload.group === group);
    if (rows.length === 0) continue;
    const cells = (ratiosOf) =>
      DIRECTIONS.flatMap((direction) => columns.map(([, of]) => ratio(ratiosOf(direction)[of])));
    console.log(`\n${title}`);
    row(
      '',
      DIRECTIONS.flatMap((direction) => columns.map(() => direction)),
    );
    row(
      '',
      DIRECTIONS.flatMap(() => columns.map(([name]) => name)),
    );
    for (const workload of rows) {
      const name = workload.inMean ? workload.title : `${workload.title} *`;
      row(
        name.slice(0, 33),
        cells((direction) => ratios(workload[direction])),
      );
    }
    row(
      'geometric mean',
      cells((direction) => means(results, direction, group)),
    );
    if (rows.some(({ inMean }) => !inMean)) console.log('* not in the mean');
  }
}

export function printMemory({ peak, retention, flat }) {
  console.log('\nPeak memory of one call, beyond what was there before it');
  for (const { title, direction, codec, output, died, ...one } of peak) {
    const size = output ? `, of which the output is ${megabytes(output)}` : '';
    console.log(`  ${title}, ${direction}, ${codec}: ${died ?? megabytes(one.peak) + size}`);
  }
  const { messages, messageBytes, alive, rss, died } = retention;
  const kept = died ?? `${megabytes(alive)} alive, RSS ${megabytes(rss)}`;
  console.log(`Keeping one 20-character string of each of ${grouped(messages ?? 0)} messages`);
  console.log(`  of ${megabytes(messageBytes ?? 0)}, all decoded: ${kept}`);
  console.log('RSS over many calls in one turn of the event loop, after warm-up');
  for (const { title, direction, calls, ...one } of flat) {
    const growth = one.died ?? `${megabytes(one.grown)} more, ${megabytes(one.peak)} at the peak`;
    console.log(`  ${grouped(calls)} × ${direction}, ${title}: ${growth}`);
  }
}

export function printSummary(results) {
  const right = results.workloads.filter(({ failures }) => failures.length === 0);
  const table = right.filter(({ group }) => group === 'table');
  const growth = right.filter(({ group }) => group === 'growth');
  if (table.length > 0) printRatios(results, table);
  if (growth.length > 0) printGrowth(growth);
  printPackr(results, right);
  printHistoric(right);
}
