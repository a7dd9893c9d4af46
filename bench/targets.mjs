// Prints what the project promises about its speed next to what was measured. It judges and never
// fails: times on a shared machine are no reason to stop anything.
//
//   node bench/targets.mjs [RESULTS.json ...]

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { grouped, megabytes, ratio } from './format.mjs';
import { means, nsPerByte, ratios } from './ratios.mjs';

const GIGABYTE = 2 ** 30;
// What the allocators' pages make RSS move by; a leak of 16 bytes a call is beyond it.
const FLAT = 16e6;
// The first Node.js whose JSON.stringify is two to four times as fast as before.
const FAST_STRINGIFY = 25;

const atLeast = (what, want, got) => ({
  what,
  want: `≥ ${want}`,
  got: ratio(got),
  ok: got === undefined || Number.isNaN(got) ? undefined : got >= want,
});
const atMost = (what, want, got, show = ratio) => ({
  what,
  want: `≤ ${show(want)}`,
  got: got === undefined ? '–' : show(got),
  ok: got === undefined || Number.isNaN(got) ? undefined : got <= want,
});

/** One row for the lowest, and one for each other workload that falls short as well. */
function everyWorkload(what, workloads, want, ratioOf) {
  const measured = workloads
    .map((workload) => ({ name: workload.name, got: ratioOf(workload) }))
    .filter(({ got }) => got !== undefined)
    .sort((one, other) => one.got - other.got);
  const shown = measured.filter(({ got }, index) => index === 0 || got < want);
  return shown.map(({ name, got }) => atLeast(`${what}: ${name}`, want, got));
}

function peakRows(peak) {
  // A process that died has no figure, and no promise is kept by that.
  const find = (title, direction, codec) => ({
    peak: Infinity,
    output: 0,
    ...peak.find((o) => o.title === title && o.direction === direction && o.codec === codec),
  });
  return [...new Set(peak.map(({ title }) => title))].flatMap((title) => {
    const packed = find(title, 'pack', 'msgpack-rs');
    const [ours, json] = ['msgpack-rs', 'JSON'].map((codec) => find(title, 'unpack', codec).peak);
    return [
      atMost(`peak memory of unpack against JSON.parse, ${title}`, json, ours, megabytes),
      atMost(
        `peak memory of pack, 3 × the output, ${title}`,
        packed.output * 3,
        packed.peak,
        megabytes,
      ),
    ];
  });
}

function memoryRows({ peak, retention, flat }) {
  const alive = retention.died ? Infinity : Math.max(retention.alive, retention.rss);
  return [
    ...peakRows(peak),
    atMost(
      `one string kept of each of ${grouped(retention.messages ?? 0)} messages of 1 MB`,
      GIGABYTE,
      alive,
      megabytes,
    ),
    ...flat.map(({ title, direction, calls, grown = Infinity }) =>
      atMost(`growth of RSS, ${grouped(calls)} × ${direction}, ${title}`, FLAT, grown, megabytes),
    ),
  ];
}

const BESIDE_MSGPACKR = [
  { group: 'records', what: 'records', pack: 2, unpack: 1.2 },
  { group: 'more-types', what: 'more types', pack: 1.5, unpack: 1.2 },
];
const INSTANCES = { instance: 'new Packr()', options: 'a Packr with options' };
const MOST_OF_AN_INSTANCE = 1.05;

function packrRows(results) {
  const directions = ['pack', 'unpack'];
  const besideMsgpackr = ({ group, what, ...want }) =>
    directions.map((direction) => {
      const { peer } = means(results, direction, group);
      return atLeast(`${what}: ${direction} against msgpackr, mean`, want[direction], peer);
    });
  const instance = ([kind, what]) =>
    directions.map((direction) => {
      const got = means(results, direction, 'instance')[kind];
      return atMost(`${what}: time of ${direction} over the plain`, MOST_OF_AN_INSTANCE, got);
    });
  return [
    ...BESIDE_MSGPACKR.flatMap(besideMsgpackr),
    ...Object.entries(INSTANCES).flatMap(instance),
  ];
}

export function targets(results) {
  const { workloads, memory } = results;
  const table = workloads.filter(({ group }) => group === 'table');
  const named = (name) => workloads.find((workload) => workload.name === name);
  const of = (name, direction) => ratios(named(name)?.[direction] ?? []);
  const counted = table.filter(({ inMean }) => inMean);
  const [pack, unpack] = ['pack', 'unpack'].map((direction) => means(results, direction));
  const major = Number.parseInt(results.environment.node, 10);

  const growth = (direction) => {
    const [small, large] = ['growth-1mb', 'growth-100mb'].map((name) => named(name)?.[direction]);
    return small && large && nsPerByte(large) / nsPerByte(small);
  };
  return [
    atLeast('pack against the fastest peer, mean', 2, pack.peer),
    atLeast('unpack against the fastest peer, mean', 3, unpack.peer),
    ...everyWorkload('pack against the fastest peer', counted, 1.1, (w) => ratios(w.pack).peer),
    ...everyWorkload('unpack against the fastest peer', counted, 1.1, (w) => ratios(w.unpack).peer),
    atLeast('pack against the fastest peer: binary', 1, of('binary', 'pack').peer),
    atLeast('unpack against the fastest peer: binary', 1, of('binary', 'unpack').peer),
    atLeast('unpack against JSON.parse, mean', 2.5, unpack.json),
    atLeast('pack against JSON.stringify, mean', major < FAST_STRINGIFY ? 2.5 : 1.3, pack.json),
    ...everyWorkload('pack against JSON with a Buffer', table, 1, (w) => ratios(w.pack).buffer),
    atLeast('1 M calls of pack against JSON', 1.2, of('calls-1m', 'pack').json),
    atLeast('1 M calls of unpack against JSON', 1.2, of('calls-1m', 'unpack').json),
    atLeast('pack of the 1 M array against JSON', 1.5, of('array-1m', 'pack').json),
    atLeast('unpack of the 1 M array against JSON', 1.2, of('array-1m', 'unpack').json),
    atMost('time a byte to pack, 100 MB over 1 MB', 1.5, growth('pack')),
    atMost('time a byte to unpack, 100 MB over 1 MB', 1.5, growth('unpack')),
    ...packrRows(results),
    ...(memory ? memoryRows(memory) : []),
  ];
}

export function printTargets(results) {
  console.log(`\nPromised and measured, Node.js ${results.environment.node}`);
  for (const { what, want, got, ok } of targets(results)) {
    const verdict = ok === undefined ? 'not measured' : ok ? 'ok' : 'SHORT';
    console.log(`  ${what.padEnd(66)} ${want.padStart(12)} ${got.padStart(11)}  ${verdict}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const standard = [20, 26].map((major) =>
    fileURLToPath(new URL(`results/${major}.json`, import.meta.url)),
  );
  const files = process.argv.length > 2 ? process.argv.slice(2) : standard.filter(existsSync);
  if (files.length === 0) console.log('No results yet: npm run bench writes them.');
  for (const file of files) printTargets(JSON.parse(readFileSync(file, 'utf8')));
}
