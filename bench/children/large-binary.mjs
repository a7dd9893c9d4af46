// A record with a large binary in it: packed, written without a copy, and unpacked.

import { Writable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { Packr } from 'msgpackr';
import { pack, packInto, packParts, unpack, writeTo } from '../../index.js';
import { interleave, takeTurns } from '../interleave.mjs';
import { randomSource } from '../random.mjs';
import { reply, task } from './reply.mjs';

const IMAGE = 1_700_000;
const WRITES = 32;

function recordOf(size) {
  const words = new Uint32Array(Math.ceil(size / 4));
  const { bits } = randomSource(size);
  for (let index = 0; index < words.length; index += 1) words[index] = bits();
  const body = Buffer.from(words.buffer, 0, size);
  return { name: 'photo.jpg', type: 'image/jpeg', width: 4000, height: 3000, body };
}

function packing() {
  const record = recordOf(IMAGE);
  const { body } = record;
  const packr = new Packr({ useRecords: false });
  const target = Buffer.alloc(IMAGE + 1000);
  const field = [
    { name: 'pack', kind: 'ours', call: () => pack(record) },
    { name: 'packInto', kind: 'into', call: () => packInto(record, target) },
    { name: 'copy to memory that is there', kind: 'copy', call: () => body.copy(target) },
    {
      name: 'copy to new memory',
      kind: 'copy-new',
      call() {
        const copy = Buffer.allocUnsafeSlow(IMAGE);
        body.copy(copy);
        return copy;
      },
    },
    { name: 'msgpackr pack', kind: 'peer', call: () => packr.pack(record) },
  ];
  return interleave(
    field.map((one) => ({ ...one, inputs: [undefined] })),
    task.pace,
  );
}

class Sink extends Writable {
  _write(_chunk, _encoding, callback) {
    callback();
  }
  _writev(_chunks, callback) {
    callback();
  }
}

const sizes = task.sizes.map((size) => ({ size, record: recordOf(size) }));
// No size is what another one is not: all have the same turns, against whatever disturbs them.
const perSize = (callOf) => {
  const field = sizes.map(({ size, record }) => ({ name: `${size}`, call: callOf(record) }));
  return interleave(
    field.map((one) => ({ ...one, inputs: [undefined] })),
    task.pace,
  );
};

function writing() {
  const field = sizes.map(({ size, record }) => {
    const sink = new Sink();
    return {
      name: `${size}`,
      count: WRITES,
      // So many in a tick, which go out at its end.
      async run(repeats) {
        for (let done = 0; done < repeats; done += 1) {
          for (let write = 0; write < WRITES; write += 1) writeTo(sink, record);
          await null;
          if (sink.writableLength > 0) await new Promise((resolve) => setImmediate(resolve));
        }
      },
    };
  });
  const { rounds, turnMs } = task.pace;
  return takeTurns(field, { rounds, turnMs, warmRuns: task.warmRuns });
}

const failures = [];
for (const { size, record } of sizes) {
  const bytes = pack(record);
  if (!isDeepStrictEqual(unpack(bytes), record)) failures.push(`pack of ${size} bytes is wrong`);
  if (!Buffer.concat(packParts(record)).equals(bytes))
    failures.push(`packParts of ${size} differs`);
}

const unpacking = () => {
  const packed = new Map(sizes.map(({ record }) => [record, pack(record)]));
  return perSize((record) => () => unpack(packed.get(record)));
};
reply({
  failures,
  pack: packing(),
  writeTo: await writing(),
  packParts: perSize((record) => () => packParts(record)),
  unpack: unpacking(),
});
