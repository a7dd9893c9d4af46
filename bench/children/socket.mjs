// Messages on a socket: what writes them, in what time, with how many writes to the system and with
// how much memory. Another process reads them.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { PerformanceObserver } from 'node:perf_hooks';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { Packr } from 'msgpackr';
import { pack, unpackMultiple, writeTo } from '../../index.js';
import { quantiles, takeTurns } from '../interleave.mjs';
import { randomSource } from '../random.mjs';
import { messagesOf } from '../stream-messages.mjs';
import { forgetPeak, peakRss, rss, settle } from './memory.mjs';
import { reply, task } from './reply.mjs';

const CHECKED_BYTES = 2e6;
const packr = new Packr({ useRecords: false });

const writers = [
  { name: 'writeTo', kind: 'ours', write: (socket, value) => writeTo(socket, value) },
  { name: 'write(pack(v))', kind: 'write', write: (socket, value) => socket.write(pack(value)) },
  {
    name: 'write(pack(v)), corked by hand',
    kind: 'corked',
    // What a user does who knows cork, once a tick.
    write(socket, value) {
      if (socket.writableCorked === 0) {
        socket.cork();
        process.nextTick(() => socket.uncork());
      }
      return socket.write(pack(value));
    },
  },
  {
    name: 'write(msgpackr.pack(v))',
    kind: 'peer',
    write: (socket, value) => socket.write(packr.pack(value)),
  },
];

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** As fast as the stream takes them, or so many in each turn of the event loop. */
async function send(socket, write, messages, perTurn) {
  let count = 0;
  for (const message of messages) {
    const isRoomLeft = write(socket, message);
    count += 1;
    if (!isRoomLeft && socket.writableNeedDrain) await once(socket, 'drain');
    else if (perTurn && count % perTurn === 0) await nextTurn();
  }
  socket.end();
  // The reader ends the connection when it has all.
  socket.resume();
  await finished(socket);
}

async function connect(port) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

async function check(messages) {
  const expected = Buffer.concat(messages.map((message) => pack(message)));
  const failures = [];
  for (const { name, write } of writers) {
    const parts = [];
    const server = net.createServer((socket) => {
      socket.on('data', (data) => parts.push(data));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await send(await connect(server.address().port), write, messages, 10);
    server.close();
    const got = Buffer.concat(parts);
    const isRight = name.includes('msgpackr')
      ? unpackMultiple(got).length === messages.length
      : got.equals(expected);
    if (!isRight) failures.push(`${name}: other bytes arrived`);
  }
  return failures;
}

/** How many writes reach the socket's own methods, and how many of these were of several chunks. */
async function countWrites(port, write) {
  const socket = await connect(port);
  const counts = { write: 0, writev: 0 };
  for (const name of Object.keys(counts)) {
    const method = `_${name}`;
    const original = socket[method];
    socket[method] = function counted(...args) {
      counts[name] += 1;
      return original.apply(this, args);
    };
  }
  await send(socket, write, messages, task.perTurn);
  return counts;
}

async function memoryOf(port, write) {
  const collections = { count: 0, ms: 0 };
  const add = (entries) => {
    for (const { duration } of entries) {
      collections.count += 1;
      collections.ms += duration;
    }
  };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  const socket = await connect(port);
  await settle();
  observer.observe({ entryTypes: ['gc'] });
  forgetPeak();
  const before = rss();
  await send(socket, write, messages, task.perTurn);
  const peak = peakRss() - before;
  // They are told of some turns later.
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  add(observer.takeRecords());
  observer.disconnect();
  return { peak, collections };
}

/** One turn, with the time that all threads of this process have spent in it, for each message. */
async function sendAndCount(port, write, spent) {
  const socket = await connect(port);
  const before = process.cpuUsage();
  await send(socket, write, messages, task.perTurn);
  const { user, system } = process.cpuUsage(before);
  spent.push(((user + system) * 1e3) / messages.length);
}

function largeMessages({ size, count }) {
  const random = randomSource(size);
  const bodies = Array.from({ length: 8 }, () =>
    Buffer.from(Uint8Array.from({ length: size }, random.bits)),
  );
  return Array.from({ length: count }, (_, id) => ({ id, body: bodies[id % bodies.length] }));
}

const messages = task.kind ? messagesOf(task.kind, task.count) : largeMessages(task);
const bytesEach = pack(messages[0]).length;
const failures = await check(messages.slice(0, Math.ceil(CHECKED_BYTES / bytesEach)));

const contenders = [];
if (failures.length === 0) {
  const reader = fork(fileURLToPath(new URL('drain.mjs', import.meta.url)), { execArgv: [] });
  const [port] = await once(reader, 'message');
  const spent = writers.map(() => []);
  const timed = await takeTurns(
    writers.map((writer, index) => ({
      ...writer,
      count: messages.length,
      run: () => sendAndCount(port, writer.write, spent[index]),
    })),
    { rounds: task.rounds },
  );
  for (const [index, { write }] of writers.entries()) {
    contenders.push({
      ...timed[index],
      cpu: quantiles(spent[index].slice(-task.rounds)).ns,
      writes: await countWrites(port, write),
      ...(await memoryOf(port, write)),
    });
  }
  reader.disconnect();
}
reply({ failures, contenders, bytesEach, messages: messages.length });
