// The memory that one large message takes which comes in chunks, beyond what was there before.

import { Readable } from 'node:stream';
import { UnpackrStream, unpackIter } from '../../index.js';
import { forgetPeak, peakRss, rss, settle } from './memory.mjs';
import { reply, task } from './reply.mjs';

const options = { maxMessageSize: 2 ** 30 };
const header = Buffer.alloc(5);
header[0] = 0xc6;
header.writeUInt32BE(task.bytes, 1);

/** One binary of `task.bytes`, in chunks that are made as they are asked for. */
function* chunks() {
  yield header;
  for (let left = task.bytes; left > 0; left -= task.chunk) {
    yield Buffer.alloc(Math.min(left, task.chunk), 7);
  }
}

const sources = {
  'unpackIter of a Readable': async () => {
    for await (const value of unpackIter(Readable.from(chunks()), options)) return value;
  },
  'unpackIter of a generator': async () => {
    for (const value of unpackIter(chunks(), options)) return value;
  },
  UnpackrStream: async () => {
    const stream = Readable.from(chunks()).pipe(new UnpackrStream(options));
    for await (const value of stream) return value;
  },
};

await settle();
forgetPeak();
const before = rss();
const value = await sources[task.source]();
const peak = peakRss() - before;
const failures = value.length === task.bytes ? [] : [`${task.source}: another value came out`];
reply({ failures, peak });
