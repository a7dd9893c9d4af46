// Streams: many small messages, messages on a socket, large messages in chunks and large binaries.
// The results are checked first.
//
//   node bench/streams.mjs               everything
//   node bench/streams.mjs --quick       every result checked, times only glanced at
//   node bench/streams.mjs --only NAME,...   messages, socket, chunks or binary
//   node bench/streams.mjs --json FILE   write the results there, too
//   node bench/streams.mjs --node PATH   measure on another Node.js

import { parseArgs } from 'node:util';
import { environmentOf, finish, printMachine, printQuick } from './command.mjs';
import { duration, grouped, megabytes, ratio } from './format.mjs';
import { ofKind } from './ratios.mjs';
import { runChild } from './spawn.mjs';

const PARTS = ['messages', 'socket', 'chunks', 'binary'];
const KB = 1024;
const IMAGE = 1_700_000;
const SIZES = [16 * KB, 32 * KB, 64 * KB, 256 * KB, 1024 * KB, IMAGE, 16 * KB * KB];
const PAYLOADS = [100, 1000, 10_000, 100_000, 1_000_000];
const FULL = {
  messages: 1_000_000,
  rounds: 7,
  socket: { count: 1_000_000, bytes: 100e6, most: 200_000 },
  chunks: { rounds: 15, turnMs: 20, warmRuns: 40 },
  growth: { sizes: [10_000_000, 100_000_000], rounds: 5, warmRuns: 3 },
  pace: { rounds: 20, turnMs: 8, warmMs: 100, budgetMs: 1000 },
  warmRuns: 20,
};
const QUICK = {
  messages: 20_000,
  rounds: 3,
  socket: { count: 20_000, bytes: 4e6, most: 2000 },
  chunks: { rounds: 3, turnMs: 1, warmRuns: 2 },
  growth: { sizes: [4_000_000], rounds: 3, warmRuns: 2 },
  pace: { rounds: 3, turnMs: 1, warmMs: 5, budgetMs: 10 },
  warmRuns: 2,
};
// A million messages, and what is made of them, several times over.
const ROOMY = ['--max-old-space-size=4096'];

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    node: { type: 'string', default: process.execPath },
  },
});
const { node, quick } = options;
const settings = quick ? QUICK : FULL;
const wanted = options.only?.flatMap((names) => names.split(',')) ?? PARTS;
const unknown = wanted.find((name) => !PARTS.includes(name));
if (unknown) {
  console.error(`There is no part called ${unknown}. There are: ${PARTS.join(', ')}`);
  process.exit(2);
}
const problems = [];
const promises = [];

const promise = (what, got, want, isMost = false) => promises.push({ what, got, want, isMost });
const over = (contenders, kind, by = 'ours') => {
  const [one, other] = [kind, by].map((name) => ofKind(contenders, name));
  return one && other && one.ns / other.ns;
};
const spread = ({ ns, p10, p90 }) =>
  `${duration(ns).padStart(8)} ${`(${duration(p10)} – ${duration(p90)})`.padEnd(21)}`;
/** A size of memory, or of what is counted in thousands. */
function sizeOf(bytes) {
  if (bytes % KB !== 0) return megabytes(bytes);
  return bytes < KB * KB ? `${bytes / KB} KB` : `${bytes / KB / KB} MB`;
}

/** The answer of a child, with what is wrong noted down; undefined if there are no times. */
function measure(child, task, what) {
  const answer = runChild(node, child, task, ROOMY);
  const failures = answer.died ? [answer.died] : answer.failures;
  problems.push(...failures.map((failure) => `${what}: ${failure}`));
  return failures.length > 0 ? undefined : answer;
}

function measureMessages(jobs, kinds) {
  const measured = [];
  for (const [kind, { title }] of Object.entries(kinds)) {
    console.log(`\n${grouped(settings.messages)} small messages: ${title}; a time is for one`);
    for (const { name, want } of jobs) {
      const { messages, rounds } = settings;
      const answer = measure('streams', { job: name, kind, messages, rounds }, `${name}, ${kind}`);
      if (!answer) continue;
      const { contenders } = answer;
      console.log(`  ${name}`);
      for (const one of contenders) {
        const times = one.kind === 'ours' ? '' : `× ${ratio(over([one, contenders[0]], one.kind))}`;
        console.log(`    ${one.name.padEnd(28)}${spread(one)} ${times}`.trimEnd());
      }
      promise(`${name}, ${kind}: the best of msgpackr over ours`, over(contenders, 'peer'), want);
      measured.push({ job: name, kind, contenders });
    }
  }
  return measured;
}

function printSocket({ contenders, bytesEach }) {
  console.log(
    `    ${''.padEnd(32)}${'a message'.padEnd(31)}  MB/s  CPU each  writes (of several)  peak RSS  collections`,
  );
  for (const { name, ns, p10, p90, cpu, writes, peak, collections } of contenders) {
    const calls = `${grouped(writes.write + writes.writev)} (${grouped(writes.writev)})`;
    const garbage = `${collections.count}, ${collections.ms.toFixed(1)} ms`;
    console.log(
      `    ${name.padEnd(32)}${spread({ ns, p10, p90 })}${((bytesEach * 1e3) / ns).toFixed(0).padStart(6)}` +
        `${duration(cpu).padStart(10)}${calls.padStart(21)}${megabytes(peak).padStart(10)}  ${garbage}`,
    );
  }
}

function measureSocket() {
  const { count, bytes, most } = settings.socket;
  const small = { kind: 'clicks', count };
  const cases = [
    { title: 'small messages, as fast as the stream takes them', isSmall: true, task: small },
    { title: 'small messages, ten a turn', isSmall: true, task: { ...small, perTurn: 10 } },
    ...PAYLOADS.map((size) => ({
      title: `a binary of ${grouped(size)} bytes in each`,
      task: { size, count: Math.min(Math.ceil(bytes / size), most) },
    })),
  ];
  console.log('\nOn a socket, read by another process');
  const measured = [];
  for (const { title, isSmall, task } of cases) {
    const answer = measure('socket', { ...task, rounds: settings.rounds }, `socket, ${title}`);
    if (!answer) continue;
    console.log(`  ${title}; ${grouped(answer.messages)} messages`);
    printSocket(answer);
    const got = over(answer.contenders, 'write');
    if (isSmall) promise(`writeTo, ${title}: write(pack(v)) over it`, got, 1.3);
    measured.push({ title, ...answer });
  }
  return measured;
}

function printChunks({ bytes, contenders }) {
  for (const { name, size, ...times } of contenders) {
    const what = size ? `${name}, ${size / KB} KB` : name;
    const whole = ratio(times.ns / contenders[0].ns);
    const each = (times.ns / bytes).toFixed(2);
    console.log(`    ${what.padEnd(32)}${spread(times)} ${each.padStart(6)} ns/B  × ${whole}`);
  }
}

function measureChunks() {
  const measured = [];
  console.log('\nA message in chunks, against all of it at once (×)');
  for (const message of ['integers', 'clicks']) {
    const task = { message, bytes: 575_000, chunks: [64 * KB, 4 * KB, KB], withPeer: true };
    const answer = measure('chunks', { ...task, ...settings.chunks }, `chunks, ${message}`);
    if (!answer) continue;
    console.log(`  an array of ${message}, ${grouped(answer.bytes)} bytes`);
    printChunks(answer);
    const [whole, inKilobytes] = [
      ofKind(answer.contenders, 'whole'),
      answer.contenders.find(({ kind, size }) => kind === 'ours' && size === KB),
    ];
    promise(`${message} in chunks of 1 KB over the whole`, inKilobytes.ns / whole.ns, 1.5, true);
    measured.push({ message, ...answer });
  }
  for (const message of ['clicks', 'binaries']) {
    const perByte = [];
    for (const [bytes, pace] of [
      [1_000_000, settings.chunks],
      ...settings.growth.sizes.map((size) => [size, settings.growth]),
    ]) {
      const { rounds, turnMs, warmRuns } = pace;
      const task = { message, bytes, chunks: [64 * KB], rounds, turnMs, warmRuns };
      const answer = measure('chunks', task, `chunks, ${message} of ${bytes} bytes`);
      if (!answer) continue;
      console.log(`  an array of ${message}, ${grouped(answer.bytes)} bytes`);
      printChunks(answer);
      perByte.push(ofKind(answer.contenders, 'ours').ns / answer.bytes);
      measured.push({ message, ...answer });
    }
    const size = grouped(settings.growth.sizes.at(-1) / 1e6);
    promise(
      `${message}: a byte of ${size} MB over one of 1 MB`,
      perByte.at(-1) / perByte[0],
      1.5,
      true,
    );
  }
  return { measured, peaks: measurePeaks() };
}

function measurePeaks() {
  const bytes = settings.growth.sizes.at(-1);
  console.log(`  memory at its peak for one binary of ${megabytes(bytes)} in chunks of 64 KB`);
  const sources = ['unpackIter of a Readable', 'unpackIter of a generator', 'UnpackrStream'];
  return sources.map((source) => {
    const answer = measure('stream-peak', { source, bytes, chunk: 64 * KB }, `peak, ${source}`);
    const peak = answer?.peak;
    const times = answer && `${megabytes(peak)}, × ${ratio(peak / bytes)}`;
    console.log(`    ${source.padEnd(32)}${times ?? 'not measured'}`);
    // The chunks, and the message that is made of them.
    promise(`${source}: peak memory over the message`, answer && peak / bytes, 2.2, true);
    return { source, bytes, peak };
  });
}

function measureBinary() {
  const { pace, warmRuns } = settings;
  const answer = measure('large-binary', { sizes: SIZES, pace, warmRuns }, 'large binary');
  if (!answer) return undefined;
  console.log(`\nA record with an image of ${megabytes(IMAGE)}`);
  for (const one of answer.pack) {
    console.log(`    ${one.name.padEnd(32)}${spread(one)}`.trimEnd());
  }
  promise('pack of the image, of Buffer.copy to new memory', over(answer.pack, 'copy-new'), 0.8);
  promise(
    'packInto of the image, of Buffer.copy to memory that is there',
    over(answer.pack, 'copy', 'into'),
    0.8,
  );
  console.log('  by the size of the binary');
  const names = ['writeTo', 'packParts', 'unpack'];
  console.log(`    ${''.padEnd(12)}${names.map((name) => name.padEnd(31)).join('')}`.trimEnd());
  for (const [index, size] of SIZES.entries()) {
    const cells = names.map((name) => spread(answer[name][index])).join(' ');
    console.log(`    ${sizeOf(size).padEnd(12)}${cells}`.trimEnd());
  }
  for (const name of names) {
    const [first, ...rest] = answer[name].map(({ ns }) => ns);
    promise(`${name} of the slowest size over that of 16 KB`, Math.max(...rest) / first, 2, true);
  }
  return answer;
}

function printPromises() {
  console.log('\nPromised and measured');
  for (const { what, got, want, isMost } of promises) {
    const isKnown = got !== undefined && !Number.isNaN(got);
    const verdict = !isKnown
      ? 'not measured'
      : (isMost ? got <= want : got >= want)
        ? 'ok'
        : 'SHORT';
    const bound = `${isMost ? '≤' : '≥'} ${want}`;
    console.log(`  ${what.padEnd(84)} ${bound.padStart(6)} ${ratio(got).padStart(8)}  ${verdict}`);
  }
}

function printEnvironment(environment) {
  printMachine(environment);
  console.log('A time is a median, with p10–p90 after it. × is the time of the other over that of');
  console.log('msgpack-rs: above 1, msgpack-rs is faster.');
}

const environment = environmentOf(node);
printEnvironment(environment);
printQuick(quick);
// Imported here, since before the installation its codecs may not be there.
const { jobs } = await import('./stream-jobs.mjs');
const { kinds } = await import('./stream-messages.mjs');

const isWanted = (part) => wanted.includes(part);
const results = {
  date: new Date().toISOString(),
  quick,
  environment,
  messages: isWanted('messages') ? measureMessages(jobs, kinds) : undefined,
  socket: isWanted('socket') ? measureSocket() : undefined,
  chunks: isWanted('chunks') ? measureChunks() : undefined,
  binary: isWanted('binary') ? measureBinary() : undefined,
  promises,
};
printPromises();
finish(results, options.json, problems);
