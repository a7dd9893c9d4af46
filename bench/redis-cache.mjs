// A cache in Redis, five reads to a write: what its serializer takes, alone and within the whole
// operation on a real server.
//
//   node bench/redis-cache.mjs               everything
//   node bench/redis-cache.mjs --quick       every result checked, times only glanced at
//   node bench/redis-cache.mjs --json FILE   write the results there, too
//   node bench/redis-cache.mjs --node PATH   measure on another Node.js

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { environmentOf, finish, printMachine, printQuick } from './command.mjs';
import { duration, grouped, ratio } from './format.mjs';
import { ofKind } from './ratios.mjs';
import { HOW_TO_INSTALL, redisVersion, startRedis } from './redis-server.mjs';
import { runChild } from './spawn.mjs';

const READS = 5;
const FULL = {
  pace: { rounds: 24, turnMs: 8, warmMs: 200, budgetMs: 2000 },
  redis: { rounds: 25, operations: 2400, depths: [1, 24] },
};
const QUICK = {
  pace: { rounds: 3, turnMs: 1, warmMs: 5, budgetMs: 10 },
  redis: { rounds: 3, operations: 144, depths: [1, 24] },
};
const TARGETS = [
  { against: 'JSON, reviving', kind: 'json', most: 0.5 },
  { against: 'msgpackr', kind: 'peer', most: 0.6 },
];

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    node: { type: 'string', default: process.execPath },
  },
});
const { node, quick } = options;
const settings = quick ? QUICK : FULL;
const problems = [];

const share = (stores, kind, timeOf = ({ ns }) => ns) => {
  const [ours, other] = ['ours', kind].map((one) => stores.find((store) => store.kind === one));
  return ours && other && timeOf(ours) / timeOf(other);
};

const spread = ({ ns, p10, p90 }) =>
  `${duration(ns).padStart(8)} ${`(${duration(p10)} – ${duration(p90)})`.padEnd(23)}`;

function printEnvironment(environment) {
  const ioredis = createRequire(import.meta.url)('ioredis/package.json').version;
  printMachine(environment);
  console.log(`Redis     redis-server ${redisVersion() ?? 'is missing'}, ioredis ${ioredis}`);
  console.log('A time is the median for one operation, with p10–p90 after it. A ratio is the time');
  console.log('of msgpack-rs over that of the other: below 1, msgpack-rs is faster. JSON revives');
  console.log('Map and Set as cachette does it; "plain" it cannot hold them.');
}

function printSerializers({ title, times, bytes }) {
  const turns = Object.keys(times);
  const name = { write: 'a write', read: 'a read', mix: `${READS} reads : 1 write` };
  console.log(`\n${title}`);
  const titles = turns.map((turn) => `  ${name[turn]}`.padEnd(32)).join('');
  console.log(`  ${''.padEnd(24)}${titles}   bytes`);
  for (const one of bytes) {
    const cells = turns.map((turn) => spread(times[turn].find((store) => store.name === one.name)));
    console.log(`  ${one.name.padEnd(24)}${cells.join('')}${grouped(one.bytes).padStart(8)}`);
  }
  for (const turn of turns) {
    const found = [
      ['JSON, reviving', 'json'],
      ['JSON, plain', 'json-plain'],
      ['msgpackr', 'peer'],
    ].filter(([, kind]) => ofKind(times[turn], kind));
    const ratios = found.map(([other, kind]) => `${ratio(share(times[turn], kind))} × ${other}`);
    console.log(`  ${name[turn]}: ${ratios.join('; ')}`);
  }
}

function measureSerializers({ name, title }) {
  const turns = name === 'all' ? ['write', 'read', 'mix'] : ['mix'];
  const task = { workload: name, turns, reads: READS, pace: settings.pace };
  const { died, failures = [died], bytes = [], times = {} } = runChild(node, 'cache', task);
  problems.push(...failures.map((failure) => `${title}: ${failure}`));
  const measured = { name, title, bytes, times };
  if (failures.length === 0) printSerializers(measured);
  return measured;
}

function printRedis({ depth, stores }) {
  const several = depth === 1 ? 'one operation after the other' : `${depth} operations at once`;
  console.log(`\nOn Redis, ${several}, ${READS} reads : 1 write, all values in turn`);
  const titles = ['  an operation', '  its serializer', '  the rest'];
  console.log(`  ${''.padEnd(24)}${titles.map((title) => title.padEnd(32)).join('')}`);
  for (const { name, total, serializer, rest } of stores) {
    console.log(`  ${name.padEnd(24)}${[total, serializer, rest].map(spread).join('')}`);
  }
  for (const [part, what] of [
    ['total', 'an operation'],
    ['serializer', 'its serializer'],
  ]) {
    const found = TARGETS.map(({ against, kind }) => {
      return `${ratio(share(stores, kind, (store) => store[part].ns))} × ${against}`;
    });
    console.log(`  ${what}: ${found.join('; ')}`);
  }
}

async function measureRedis() {
  if (!redisVersion()) {
    console.log(`\nNothing measured on Redis: ${HOW_TO_INSTALL}`);
    if (process.env.MSGPACK_RS_REQUIRE_REDIS === '1') problems.push(HOW_TO_INSTALL);
    return [];
  }
  const { socket, stop } = await startRedis();
  try {
    const task = { socket, reads: READS, ...settings.redis };
    const { died, failures = [died], depths = [] } = runChild(node, 'cache-redis', task);
    problems.push(...failures);
    for (const measured of depths) printRedis(measured);
    return depths;
  } finally {
    await stop();
  }
}

function printTargets({ serializers, redis }) {
  const mixes = [
    ['the serializer alone', serializers.find(({ name }) => name === 'all').times.mix ?? []],
    ...redis.map(({ depth, stores }) => [
      `the serializer on Redis, ${depth} at once`,
      stores.map(({ kind, serializer }) => ({ kind, ...serializer })),
    ]),
  ];
  console.log('\nPromised and measured, 5 reads : 1 write, all values in turn');
  for (const [what, stores] of mixes) {
    for (const { against, kind, most } of TARGETS) {
      const got = share(stores, kind);
      const verdict = got === undefined ? 'not measured' : got <= most ? 'ok' : 'SHORT';
      const text = `${what} ÷ ${against}`.padEnd(56);
      console.log(`  ${text} at most ${ratio(most)} ${ratio(got).padStart(8)}  ${verdict}`);
    }
  }
}

const environment = environmentOf(node);
printEnvironment(environment);
printQuick(quick);
// Imported here, since before the installation its codecs may not be there.
const { buildWorkloads } = await import('./cache-objects.mjs');

const serializers = buildWorkloads().map(measureSerializers);
const redis = await measureRedis();
const results = { date: new Date().toISOString(), quick, environment, serializers, redis };
printTargets(results);
finish(results, options.json, problems);
