// A cache on a real Redis: the time of a whole operation, and how much of it the serializer takes.

import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { buildWorkloads, stores } from '../cache-objects.mjs';
import { quantiles, shuffle } from '../interleave.mjs';
import { reply, task } from './reply.mjs';

const { values } = buildWorkloads().find(({ name }) => name === 'all');
const able = stores.filter(({ kind }) => kind !== 'json-plain');

/** The operations of one store on a connection of its own, with the serializer's time summed up. */
function connect(store) {
  const { name, kind, buffers, write, read } = store;
  const client = new Redis(task.socket);
  const get = buffers ? (key) => client.getBuffer(key) : (key) => client.get(key);
  const spent = { ms: 0 };
  const keyOf = (index) => `${name}:${index % values.length}`;
  return {
    name,
    kind,
    client,
    spent,
    samples: [],
    async write(index) {
      const start = performance.now();
      const stored = write(values[index % values.length]);
      spent.ms += performance.now() - start;
      await client.set(keyOf(index), stored);
    },
    async read(index) {
      const stored = await get(keyOf(index));
      const start = performance.now();
      const value = read(stored);
      spent.ms += performance.now() - start;
      return value;
    },
  };
}

async function check(connection) {
  const failures = [];
  for (const [index, value] of values.entries()) {
    await connection.write(index);
    if (!isDeepStrictEqual(await connection.read(index), value)) failures.push(index);
  }
  return failures.length > 0
    ? [`${connection.name}: ${failures.length} values came back wrong`]
    : [];
}

/** One turn: so many operations, `depth` of them under way at a time. */
async function turn(connection, depth, operations) {
  connection.spent.ms = 0;
  const start = performance.now();
  for (let done = 0; done < operations; done += depth) {
    const group = [];
    for (let index = done; index < done + depth; index += 1) {
      const writes = index % (task.reads + 1) === task.reads;
      group.push(writes ? connection.write(index) : connection.read(index));
    }
    await Promise.all(group);
  }
  const total = performance.now() - start;
  return { total, serializer: connection.spent.ms, rest: total - connection.spent.ms };
}

async function time(connections, depth) {
  for (const connection of connections) {
    connection.samples = [];
    await turn(connection, depth, task.operations);
  }
  for (let round = 0; round < task.rounds; round += 1) {
    for (const connection of shuffle(connections)) {
      globalThis.gc({ type: 'minor' });
      connection.samples.push(await turn(connection, depth, task.operations));
    }
  }
  const each = (samples, part) =>
    quantiles(samples.map((sample) => (sample[part] / task.operations) * 1e6));
  return connections.map(({ name, kind, samples }) => ({
    name,
    kind,
    total: each(samples, 'total'),
    serializer: each(samples, 'serializer'),
    rest: each(samples, 'rest'),
  }));
}

const connections = able.map(connect);
const failures = [];
for (const connection of connections) failures.push(...(await check(connection)));
const depths = [];
for (const depth of failures.length > 0 ? [] : task.depths) {
  depths.push({ depth, stores: await time(connections, depth) });
}
for (const { client } of connections) client.disconnect();
reply({ failures, depths });
