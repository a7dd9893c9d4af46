// The memory that one call takes at its peak, beyond what the process held before it.

import { readFileSync } from 'node:fs';
import { pack, unpack } from '../../index.js';
import { forgetPeak, peakRss, rss, settle } from './memory.mjs';
import { reply, task } from './reply.mjs';

const calls = {
  'pack msgpack-rs': { call: pack, input: () => JSON.parse(text()) },
  'pack JSON': { call: JSON.stringify, input: () => JSON.parse(text()) },
  'unpack msgpack-rs': { call: unpack, input: () => readFileSync(`${task.file}.msgpack`) },
  'unpack JSON': { call: JSON.parse, input: () => text() },
};
const text = () => readFileSync(`${task.file}.json`, 'utf8');

const { call, input } = calls[`${task.direction} ${task.codec}`];
const given = input();
await settle();
forgetPeak();
const before = rss();
const result = call(given);
const peak = peakRss() - before;
reply({ peak, output: task.direction === 'pack' ? Buffer.byteLength(result) : undefined });
