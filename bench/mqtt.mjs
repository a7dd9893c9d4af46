// MQTT: messages a second through a real broker, and what one takes of this process, with payloads
// of MessagePack and of JSON.
//
//   node bench/mqtt.mjs               everything
//   node bench/mqtt.mjs --quick       every result checked, times only glanced at
//   node bench/mqtt.mjs --json FILE   write the results there, too
//   node bench/mqtt.mjs --node PATH   measure on another Node.js

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { environmentOf, finish, printMachine, printQuick } from './command.mjs';
import { duration, grouped, ratio } from './format.mjs';
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

function printEnvironment(environment) {
  const client = createRequire(import.meta.url)('mqtt/package.json').version;
  printMachine(environment);
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

const environment = environmentOf(node);
printEnvironment(environment);
printQuick(quick);

const cases = await measure();
const results = { date: new Date().toISOString(), quick, environment, cases };
finish(results, options.json, problems);
