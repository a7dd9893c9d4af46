// What a cache in Redis holds, and the ways to store it that are compared. Nothing here is beyond
// JSON with a replacer: a value that JSON loses could not be timed against it.

import { Packr as MsgpackrPackr } from 'msgpackr';
import { Packr } from '../index.js';
import { randomSource } from './random.mjs';

const VALUES_OF_A_KIND = 48;
const HEX = '0123456789abcdef';

const moment = (random) => 1_700_000_000_000 + random.int(2 ** 34);

const session = (random) => ({
  sid: random.characters(32, HEX),
  userId: random.int(2 ** 31),
  created: moment(random),
  expires: moment(random),
  ip: random.list(4, () => random.int(256)).join('.'),
  agent: `Mozilla/5.0 (X11; Linux x86_64) ${random.words(4)}`,
  csrf: random.characters(24),
  roles: random.list(random.between(1, 3), () => random.pick(['admin', 'editor', 'reader'])),
  flags: { twoFactor: random.chance(0.5), beta: random.chance(0.2), locale: 'en-CA' },
});

const profile = (random) => ({
  id: random.int(2 ** 31),
  name: random.words(2),
  email: `${random.word()}@mail.example`,
  about: random.words(20),
  born: null,
  score: random.fraction() * 100,
  active: random.chance(0.9),
  address: { street: random.words(2), city: random.word(), zip: random.between(10_000, 99_999) },
  settings: { theme: random.pick(['dark', 'light']), pageSize: 50, mail: random.chance(0.5) },
  teams: random.list(4, (id) => ({ id, name: random.word(), owner: random.chance(0.2) })),
  tags: random.list(5, () => random.word()),
});

const item = (random, id) => ({
  id,
  title: random.words(5),
  state: random.pick(['open', 'done', 'waiting']),
  assignee: random.chance(0.5) ? random.word() : null,
  votes: random.int(1000),
  weight: random.fraction() * 10,
  updated: moment(random),
  labels: random.list(random.int(4), () => random.word()),
});

const page = (random) => ({
  total: random.int(5000),
  page: random.int(100),
  next: `/items?cursor=${random.characters(20)}`,
  items: random.list(25, (id) => item(random, id)),
});

// The two kinds of collections that cachette's users keep in it.
const checksums = (random, count) =>
  new Map(
    random.list(count, (index) => [
      `comment-${random.characters(12, HEX)}`,
      index % 3 === 0
        ? { checksum: random.characters(32, HEX), originCommentId: random.characters(12, HEX) }
        : { checksum: random.characters(32, HEX) },
    ]),
  );
const identifiers = (random, count) =>
  new Set(random.list(count, () => `item-${random.characters(12, HEX)}`));

const synchronised = (random) => ({
  itemId: random.characters(24, HEX),
  updated: moment(random),
  fields: { title: random.words(6), description: random.words(40), done: random.chance(0.5) },
  comments: checksums(random, 8),
  watchers: identifiers(random, 12),
});

const KINDS = [
  { name: 'session', make: session },
  { name: 'profile', make: profile },
  { name: 'page', title: 'page of 25 items', make: page },
  { name: 'map', title: 'Map of 40 checksums', make: (random) => checksums(random, 40) },
  { name: 'set', title: 'Set of 100 identifiers', make: (random) => identifiers(random, 100) },
  { name: 'synchronised', title: 'item with Map and Set', make: synchronised },
];

const valuesOf = ({ make }, index) => {
  const random = randomSource(index + 1);
  return random.list(VALUES_OF_A_KIND, () => make(random));
};

/** The kinds one by one, and all of them in turn. */
export function buildWorkloads() {
  const kinds = KINDS.map((kind, index) => ({
    name: kind.name,
    title: kind.title ?? kind.name,
    values: valuesOf(kind, index),
  }));
  const inTurn = Array.from({ length: VALUES_OF_A_KIND }, (_, turn) =>
    kinds.map(({ values }) => values[turn]),
  ).flat();
  return [...kinds, { name: 'all', title: 'all of them in turn', values: inTurn }];
}

function replacer(_key, value) {
  if (value instanceof Map) return { __dataType: 'Map', value: [...value] };
  if (value instanceof Set) return { __dataType: 'Set', value: [...value] };
  return value;
}

function reviver(_key, value) {
  if (value?.__dataType === 'Map') return new Map(value.value);
  if (value?.__dataType === 'Set') return new Set(value.value);
  return value;
}

// As examples/redis-cache.mjs has it.
const ours = new Packr({ moreTypes: true, utf8: 'fatal' });
const theirs = new MsgpackrPackr({ moreTypes: true });

/**
 * `write` makes what the client is given, `read` takes what the client gives: a Buffer where
 * `buffers` says so, else a string.
 */
export const stores = [
  {
    name: 'msgpack-rs',
    kind: 'ours',
    buffers: true,
    write: (value) => ours.pack(value),
    read: (bytes) => ours.unpack(bytes),
  },
  {
    name: 'msgpackr',
    kind: 'peer',
    buffers: true,
    write: (value) => theirs.pack(value),
    read: (bytes) => theirs.unpack(bytes),
  },
  {
    // As cachette's pull request 93 has it.
    name: 'msgpackr, as a string',
    kind: 'peer-string',
    buffers: false,
    write: (value) => theirs.pack(value).toString('latin1'),
    read: (text) => theirs.unpack(Buffer.from(text, 'latin1')),
  },
  {
    // As cachette has it.
    name: 'JSON, reviving',
    kind: 'json',
    buffers: false,
    write: (value) => JSON.stringify(value, replacer),
    read: (text) => JSON.parse(text, reviver),
  },
  {
    // What JSON takes when nobody needs a Map or a Set; out where a value has one.
    name: 'JSON, plain',
    kind: 'json-plain',
    buffers: false,
    write: (value) => JSON.stringify(value),
    read: (text) => JSON.parse(text),
  },
];

/** What a read gets: flat, in memory of its own, as it was received. */
export const received = ({ buffers }, stored) =>
  buffers ? Buffer.from(stored) : Buffer.from(stored).toString();
