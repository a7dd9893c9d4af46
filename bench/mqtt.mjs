// MQTT: messages a second through a real broker, and what one takes of this process, with payloads
// of MessagePack and of JSON.
//
//   node bench/mqtt.mjs               everything
//   node bench/mqtt.mjs --quick       every result checked, times only glanced at
//   node bench/mqtt.mjs --json FILE   write the results there, too
//   node bench/mqtt.mjs --node PATH   measure on another Node.js

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { duration, grouped, ratio } from './format.mjs';
import { installIfMissing } from './install.mjs';
import { HOW_TO_INSTALL, mosquittoVersion, startMosquitto } from './mosquitto.mjs';
import { runChild } from './spawn.mjs';

const FULL = { messages: 20_000, rounds: 15, codecMessages: 200_000 };
const QUICK = { messages: 500, rounds: 3, codecMessages: 2000 };
/** So many are under way at a time. */
const WINDOW = 100;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    node: { type: 'string', default: process.execPath },
  },
});
const { node, quick } = options;
const problems = [];

const spread = ({ ns, p10, p90 }) =>
  `${duration(ns).padStart(8)} ${`(${duration(p10)} – ${duration(p90)})`.padEnd(22)}`;

function printEnvironment({ cpu, cores, os, arch, node: version, v8, versions, msgpackrNative }) {
  const client = createRequire(import.meta.url)('mqtt/package.json').version;
  console.log(`Machine   ${cpu}, ${cores} cores, ${os} ${arch}`);
  console.log(`Node.js   ${version}, V8 ${v8}`);
  console.log(`Codecs    msgpack-rs ${versions['msgpack-rs']}, msgpackr ${versions.msgpackr}`);
  console.log(`          msgpackr's native helper is ${msgpackrNative ? 'active' : 'NOT active'}`);
  console.log(`Broker    mosquitto ${mosquittoVersion() ?? 'is missing'}, mqtt.js ${client}`);
  console.log(
    'A time is a median for one message, with p10–p90 after it. CPU is what this process,',
  );
  console.log('which publishes and reads, spends on it; the codec is its part of that, alone.');
}

function printCase({ qos, title, codecs }) {
  console.log(`\n${title}, QoS ${qos}`);
  const titles = ['a message', 'its CPU', 'its codec'].map((what) => `  ${what}`.padEnd(32));
  console.log(`  ${''.padEnd(14)}    bytes  messages/s${titles.join('')}`.trimEnd());
  for (const { name, bytes, time, cpu, codec } of codecs) {
    const cells = [time, cpu, codec].map(spread).join(' ');
    const count = grouped(1e9 / time.ns).padStart(12);
    console.log(`  ${name.padEnd(14)}${bytes.toFixed(0).padStart(9)}${count} ${cells}`.trimEnd());
  }
  const [ours, ...others] = codecs;
  for (const part of ['time', 'cpu', 'codec']) {
    const what = { time: 'messages a second', cpu: 'CPU a message', codec: 'the codec alone' }[
      part
    ];
    const found = others.map((one) => `${ratio(one[part].ns / ours[part].ns)} × ${one.name}`);
    console.log(`  ${what}, by how much msgpack-rs is better: ${found.join('; ')}`);
  }
}

async function measure() {
  if (!mosquittoVersion()) {
    console.log(`\nNothing measured: ${HOW_TO_INSTALL}`);
    if (process.env.MSGPACK_RS_REQUIRE_MOSQUITTO === '1') problems.push(HOW_TO_INSTALL);
    return [];
  }
  const { url, stop } = await startMosquitto();
  try {
    const task = { url, window: WINDOW, ...(quick ? QUICK : FULL) };
    const { died, failures = [died], cases = [] } = runChild(node, 'mqtt', task);
    problems.push(...failures);
    for (const measured of cases) printCase(measured);
    return cases;
  } finally {
    await stop();
  }
}

installIfMissing();
const environment = runChild(node, 'environment');
if (environment.died) {
  console.error(`The codecs do not load on ${node}: ${environment.died}`);
  process.exit(1);
}
printEnvironment(environment);
if (quick) console.log('A quick run: its times are too short to be worth quoting.');

const cases = await measure();
if (options.json) {
  const results = { date: new Date().toISOString(), quick, environment, cases };
  writeFileSync(options.json, `${JSON.stringify(results, null, 1)}\n`);
  console.log(`\nWritten: ${options.json}`);
}
for (const problem of problems) console.error(`\nWrong: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
