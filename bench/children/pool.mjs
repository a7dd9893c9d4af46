// How long a large message keeps the event loop from turning: in one piece, and with the work of
// Rust on another thread.

import * as msgpack from '../../index.mjs';
import { quantiles } from '../interleave.mjs';
import { randomSource } from '../random.mjs';
import { manyUsers } from '../workloads.mjs';
import { reply, task } from './reply.mjs';

const value = manyUsers(randomSource(20_240_517), task.count);
const json = Buffer.from(JSON.stringify(value));
const text = json.toString();
const bytes = Buffer.from(msgpack.pack(value));

/** The longest time between two turns of the loop while `work` goes on. */
async function longestTurn(work) {
  let longest = 0;
  let isOver = false;
  let last = performance.now();
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work();
  isOver = true;
  turn();
  return { longest, result };
}

const JOBS = {
  unpackAsync: { work: () => msgpack.unpackAsync(bytes), sync: () => msgpack.unpack(bytes) },
  msgpackToJsonAsync: {
    work: () => msgpack.msgpackToJsonAsync(bytes),
    sync: () => msgpack.msgpackToJson(bytes),
  },
  'jsonToMsgpackAsync, a Buffer': {
    work: () => msgpack.jsonToMsgpackAsync(json),
    sync: () => msgpack.jsonToMsgpack(json),
  },
  'jsonToMsgpackAsync, a string': {
    work: () => msgpack.jsonToMsgpackAsync(text),
    sync: () => msgpack.jsonToMsgpack(text),
  },
};

const times = {};
for (const [name, { work, sync }] of Object.entries(JOBS)) {
  const [blocked, whole] = [[], []];
  for (let round = 0; round < task.rounds; round += 1) {
    globalThis.gc();
    const start = performance.now();
    sync();
    whole.push((performance.now() - start) * 1e6);
    globalThis.gc();
    blocked.push((await longestTurn(work)).longest * 1e6);
  }
  times[name] = { blocked: quantiles(blocked), whole: quantiles(whole) };
}
reply({ bytes: bytes.length, json: json.length, times });
