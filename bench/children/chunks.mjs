// One large message that comes in chunks, against the whole at once.

import { isDeepStrictEqual } from 'node:util';
import { decodeIter } from 'msgpackr';
import { pack, unpack, unpackIter } from '../../index.js';
import { takeTurns } from '../interleave.mjs';
import { randomSource } from '../random.mjs';
import { inChunks, messagesOf } from '../stream-messages.mjs';
import { reply, task } from './reply.mjs';

const BINARY = 100_000;

function binaries(bytes) {
  const random = randomSource(bytes);
  const body = Buffer.from(Uint8Array.from({ length: BINARY }, random.bits));
  return Array.from({ length: Math.ceil(bytes / BINARY) }, () => body);
}

const MESSAGES = {
  // 115 000 integers of five bytes each: 575 KB.
  integers: (bytes) => Array.from({ length: bytes / 5 }, (_, i) => 70_000 + ((i * 7919) % 1e9)),
  clicks: (bytes) => messagesOf('clicks', Math.ceil(bytes / 48)),
  binaries,
};

let value = MESSAGES[task.message](task.bytes);
const bytes = pack(value);
const options = { maxMessageSize: 2 ** 30 };

const first = (iterator) => {
  for (const one of iterator) return one;
  throw new Error('nothing came out');
};

const field = [
  { name: 'unpack, all at once', kind: 'whole', call: () => unpack(bytes) },
  {
    name: 'unpack, copyBuffers',
    kind: 'whole-copy',
    call: () => unpack(bytes, { copyBuffers: true }),
  },
  ...task.chunks.map((size) => {
    const chunks = inChunks(bytes, size);
    return {
      name: 'unpackIter',
      kind: 'ours',
      size,
      call: () => first(unpackIter(chunks, options)),
    };
  }),
  ...(task.withPeer ? task.chunks : []).map((size) => {
    const chunks = inChunks(bytes, size);
    const call = () => first(decodeIter(chunks, { useRecords: false, int64AsType: 'number' }));
    return { name: 'msgpackr decodeIter', kind: 'peer', size, call };
  }),
];

const failures = field
  .filter(({ call }) => !isDeepStrictEqual(call(), value))
  .map(({ name, size }) => `${task.message} by ${name}, ${size ?? 'all'}: another value came out`);

// Millions of objects that nobody needs any more would make every collection of garbage slow.
value = undefined;
let kept;
const timed =
  failures.length > 0
    ? []
    : await takeTurns(
        field.map(({ call, ...one }) => ({
          ...one,
          run(repeats) {
            for (let done = 0; done < repeats; done += 1) kept = call();
          },
        })),
        { rounds: task.rounds, turnMs: task.turnMs, warmRuns: task.warmRuns },
      );
if (kept === null) throw new Error('nothing came out');
reply({
  failures,
  bytes: bytes.length,
  contenders: timed.map((one, index) => ({ ...one, size: field[index].size })),
});
