// What is timed of streams: each job as both sides do it, msgpackr in all the ways that it has.

import { finished } from 'node:stream/promises';
import * as peer from 'msgpackr';
import * as ours from '../index.js';
import { later } from './stream-messages.mjs';

// As in the table of the benchmark: standard MessagePack, integers as the numbers they were.
const standard = () => ({ useRecords: false, int64AsType: 'number' });

const sum = (iterable, each) => {
  for (const item of iterable) each(item);
};
const sumLater = async (iterable, each) => {
  for await (const item of iterable) each(item);
};

async function through(stream, inputs, each) {
  stream.on('data', each);
  for (const input of inputs) {
    if (!stream.write(input)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
  await finished(stream);
}

function loop(messages, each) {
  const packr = new peer.Packr(standard());
  for (const message of messages) each(packr.pack(message));
}

async function loopLater(messages, each) {
  const packr = new peer.Packr(standard());
  for await (const message of messages) each(packr.pack(message));
}

/** The same stream of both sides. Options are made anew: msgpackr adds to what it is given. */
const bothStreams = (name, Ours, our, Theirs, their) => [
  { name, kind: 'ours', run: (inputs, each) => through(new Ours(our()), inputs, each) },
  {
    name: `msgpackr ${name}`,
    kind: 'peer',
    run: (inputs, each) => through(new Theirs(their()), inputs, each),
  },
];
const packrStreams = (our, their) =>
  bothStreams('PackrStream', ours.PackrStream, our, peer.PackrStream, their);
const unpackrStreams = (our, their) =>
  bothStreams('UnpackrStream', ours.UnpackrStream, our, peer.UnpackrStream, their);

/**
 * Each side gets `inputs`, messages to pack or chunks to unpack, and hands what comes out to `each`.
 * `records` says that each side reads what it has written; otherwise all read what we have.
 */
export const jobs = [
  {
    name: 'packIter',
    direction: 'pack',
    want: 2,
    sides: [
      { name: 'packIter', kind: 'ours', run: (all, each) => sum(ours.packIter(all), each) },
      {
        name: 'msgpackr encodeIter',
        kind: 'peer',
        run: (all, each) => sum(peer.encodeIter(all, standard()), each),
      },
      { name: 'msgpackr pack, a loop', kind: 'peer', run: loop },
    ],
  },
  {
    name: 'packIter, async',
    direction: 'pack',
    want: 2,
    sides: [
      {
        name: 'packIter',
        kind: 'ours',
        run: (all, each) => sumLater(ours.packIter(later(all)), each),
      },
      {
        name: 'msgpackr encodeIter',
        kind: 'peer',
        run: (all, each) => sumLater(peer.encodeIter(later(all), standard()), each),
      },
      {
        name: 'msgpackr pack, a loop',
        kind: 'peer',
        run: (all, each) => loopLater(later(all), each),
      },
    ],
  },
  {
    name: 'unpackIter',
    direction: 'unpack',
    want: 2,
    sides: [
      { name: 'unpackIter', kind: 'ours', run: (all, each) => sum(ours.unpackIter(all), each) },
      {
        name: 'msgpackr decodeIter',
        kind: 'peer',
        run: (all, each) => sum(peer.decodeIter(all, standard()), each),
      },
      {
        name: 'msgpackr unpackMultiple',
        kind: 'peer',
        run: (_, each, whole) => sum(new peer.Unpackr(standard()).unpackMultiple(whole), each),
      },
      {
        name: 'the same, a callback',
        kind: 'peer',
        run: (_, each, whole) => {
          // The answer `false` would end it.
          new peer.Unpackr(standard()).unpackMultiple(whole, (value) => {
            each(value);
          });
        },
      },
    ],
  },
  {
    name: 'unpackIter, async',
    direction: 'unpack',
    want: 2,
    sides: [
      {
        name: 'unpackIter',
        kind: 'ours',
        run: (all, each) => sumLater(ours.unpackIter(later(all)), each),
      },
      {
        name: 'msgpackr decodeIter',
        kind: 'peer',
        run: (all, each) => sumLater(peer.decodeIter(later(all), standard()), each),
      },
    ],
  },
  {
    name: 'PackrStream',
    direction: 'pack',
    want: 1.3,
    sides: packrStreams(() => ({}), standard),
  },
  {
    name: 'PackrStream, records',
    direction: 'pack',
    records: true,
    want: 1.3,
    sides: packrStreams(
      () => ({ useRecords: true }),
      () => ({}),
    ),
  },
  {
    name: 'UnpackrStream',
    direction: 'unpack',
    want: 1.3,
    sides: unpackrStreams(() => ({}), standard),
  },
  {
    name: 'UnpackrStream, records',
    direction: 'unpack',
    records: true,
    want: 1.3,
    sides: unpackrStreams(
      () => ({ useRecords: true }),
      () => ({ int64AsType: 'number' }),
    ),
  },
];

/** The bytes that a side reads. */
export async function written(messages, { records }, kind) {
  const parts = [];
  const side = kind === 'peer' && records ? peer : ours;
  const stream = new side.PackrStream(side === ours && records ? { useRecords: true } : {});
  await through(stream, messages, (bytes) => parts.push(bytes));
  return Buffer.concat(parts);
}

export async function readBy(kind, bytes, { records }) {
  const values = [];
  const our = records ? { useRecords: true } : {};
  const their = records ? { int64AsType: 'number' } : standard();
  const stream = kind === 'ours' ? new ours.UnpackrStream(our) : new peer.UnpackrStream(their);
  await through(stream, [bytes], (value) => values.push(value));
  return values;
}
