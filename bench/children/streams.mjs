// One job of streams: its results, then its times.

import { isDeepStrictEqual } from 'node:util';
import { takeTurns } from '../interleave.mjs';
import { jobs, readBy, written } from '../stream-jobs.mjs';
import { inChunks, messagesOf } from '../stream-messages.mjs';
import { reply, task } from './reply.mjs';

const CHUNK_BYTES = 64 << 10;
const CHECKED = 3000;

const job = jobs.find(({ name }) => name === task.job);

/** What a side works on: `[inputs, all bytes]`. */
async function inputOf({ kind }, messages, chunkBytes) {
  if (job.direction === 'pack') return [messages];
  const whole = await written(messages, job, kind);
  return [inChunks(whole, chunkBytes), whole];
}

async function resultOf(side, messages) {
  const [inputs, whole] = await inputOf(side, messages, 777);
  const results = [];
  await side.run(inputs, (result) => results.push(result), whole);
  return results;
}

async function check(messages) {
  const failures = [];
  const judge = (what, values) => {
    if (!isDeepStrictEqual(values, messages)) failures.push(`${what}: other values came out`);
  };
  for (const side of job.sides) {
    const results = await resultOf(side, messages);
    if (job.direction === 'unpack') judge(side.name, results);
    else {
      const bytes = Buffer.concat(results);
      judge(`${side.name}, read by msgpack-rs`, await readBy('ours', bytes, job));
      judge(`${side.name}, read by msgpackr`, await readBy('peer', bytes, job));
    }
  }
  return failures;
}

async function time(messages) {
  const field = [];
  for (const side of job.sides) {
    const [inputs, whole] = await inputOf(side, messages, CHUNK_BYTES);
    let last;
    const each = (result) => {
      last = result;
    };
    const run = async () => {
      await side.run(inputs, each, whole);
      if (last === undefined) throw new Error('nothing came out');
    };
    field.push({ ...side, run, count: messages.length });
  }
  return takeTurns(field, { rounds: task.rounds });
}

const messages = messagesOf(task.kind, task.messages);
const failures = await check(messages.slice(0, CHECKED));
reply({ failures, contenders: failures.length > 0 ? [] : await time(messages) });
