// Payloads through a broker: one client publishes, another one reads and unpacks.

import { isDeepStrictEqual } from 'node:util';
import { Packr, Unpackr } from 'msgpackr';
import mqtt from 'mqtt';
import { pack, unpack } from '../../index.js';
import { quantiles, shuffle } from '../interleave.mjs';
import { randomSource } from '../random.mjs';
import { reply, task } from './reply.mjs';

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });

const codecs = [
  { name: 'msgpack-rs', write: pack, read: unpack },
  {
    name: 'msgpackr',
    write: (value) => packr.pack(value),
    read: (bytes) => unpackr.unpack(bytes),
  },
  {
    name: 'JSON',
    write: (value) => JSON.stringify(value),
    read: (bytes) => JSON.parse(bytes.toString()),
  },
];

const random = randomSource(1883);

const reading = (id) => ({
  sensor: `boiler-${id % 40}`,
  seq: id,
  at: 1_718_000_000_000 + id * 250,
  celsius: random.fraction() * 90,
  ok: true,
});

const series = (id) => ({
  ...reading(id),
  samples: random.list(100, () => ({ ms: random.int(60_000), bar: random.fraction(), n: id })),
});

const payloads = [
  {
    title: 'a reading of a sensor',
    share: 1,
    values: Array.from({ length: 500 }, (_, i) => reading(i)),
  },
  {
    title: 'a series of a hundred',
    share: 5,
    values: Array.from({ length: 100 }, (_, i) => series(i)),
  },
];

const connect = () => mqtt.connectAsync(task.url, { reconnectPeriod: 0 });

/** A reader that hands every payload to whoever wants it at the time. */
async function readerOf(topic, qos) {
  const client = await connect();
  const reader = { client, onPayload: () => {} };
  client.on('message', (_topic, payload) => reader.onPayload(payload));
  await client.subscribeAsync(topic, { qos });
  return reader;
}

/** One turn: `count` messages, of which at most `task.window` are not read yet. */
function turn({ publisher, reader, topic, qos }, { write, read }, values, count, each) {
  return new Promise((resolve, reject) => {
    let sent = 0;
    let received = 0;
    const cpu = process.cpuUsage();
    const start = performance.now();
    const onError = (error) => error && reject(error);
    const send = () => {
      publisher.publish(topic, write(values[sent % values.length]), { qos }, onError);
      sent += 1;
    };
    reader.onPayload = (payload) => {
      each(read(payload), received);
      received += 1;
      if (sent < count) send();
      else if (received === count) {
        const { user, system } = process.cpuUsage(cpu);
        const time = ((performance.now() - start) * 1e6) / count;
        resolve({ time, cpu: ((user + system) * 1e3) / count });
      }
    };
    while (sent < Math.min(task.window, count)) send();
  });
}

/** The codec's part alone: the same values packed and unpacked, without a broker. */
function alone({ write, read }, values, count) {
  const asReceived = (payload) => (typeof payload === 'string' ? Buffer.from(payload) : payload);
  const start = performance.now();
  let last;
  for (let done = 0; done < count; done += 1) {
    last = read(asReceived(write(values[done % values.length])));
  }
  if (last === undefined) throw new Error('nothing came out');
  return ((performance.now() - start) * 1e6) / count;
}

const failures = [];
const cases = [];
for (const qos of [0, 1]) {
  const topic = `bench/${qos}`;
  const link = { publisher: await connect(), reader: await readerOf(topic, qos), topic, qos };
  for (const { title, share, values } of payloads) {
    const count = Math.ceil(task.messages / share);
    const field = codecs.map((codec) => ({ ...codec, time: [], cpu: [], codec: [] }));
    const ignore = () => {};
    for (const one of field) {
      let wrong = 0;
      await turn(link, one, values, values.length, (value, index) => {
        if (!isDeepStrictEqual(value, values[index])) wrong += 1;
      });
      if (wrong > 0) failures.push(`${one.name}, QoS ${qos}: ${wrong} values came back wrong`);
      await turn(link, one, values, count, ignore);
      alone(one, values, Math.ceil(task.codecMessages / share / 5));
    }
    for (let round = 0; round < task.rounds; round += 1) {
      for (const one of shuffle(field)) {
        globalThis.gc({ type: 'minor' });
        const spent = await turn(link, one, values, count, ignore);
        one.time.push(spent.time);
        one.cpu.push(spent.cpu);
        one.codec.push(alone(one, values, Math.ceil(task.codecMessages / share / 10)));
      }
    }
    cases.push({
      qos,
      title,
      codecs: field.map(({ name, write, time, cpu, codec }) => ({
        name,
        bytes: values.reduce((sum, v) => sum + Buffer.byteLength(write(v)), 0) / values.length,
        time: quantiles(time),
        cpu: quantiles(cpu),
        codec: quantiles(codec),
      })),
    });
  }
  link.publisher.end(true);
  link.reader.client.end(true);
}
reply({ failures, cases });
// What mqtt.js keeps alive is of no use any more.
process.stdout.write('', () => process.exit());
