// Every value that is measured, built the same way in every run.
//
// A workload builds a list of values that take turns, one a call: a loop over one small object
// keeps every inline cache warm and flatters everyone.

import { canadaLike, citmLike, twitterLike } from './documents.mjs';
import { randomSource } from './random.mjs';

// What the old native addon was measured with: once for 1 M calls, once 1 M of it in an array.
const historicObject = () => ({ abcdef: 1, qqq: 13, 19: [1, 2, 3, 4] });

const event = (random) => ({
  type: random.pick(['page_view', 'click', 'purchase', 'sign_in']),
  id: random.int(2 ** 31),
  at: 1_700_000_000_000 + random.int(2 ** 36),
  session: random.characters(16, '0123456789abcdef'),
  path: `/${random.word()}/${random.word()}`,
  ok: random.chance(0.9),
  ms: random.fraction() * 100,
});

const apiObject = (random) => ({
  id: random.int(2 ** 31),
  uuid: random.characters(32, '0123456789abcdef'),
  title: random.words(5),
  body: random.words(16),
  published: random.chance(0.5),
  rating: random.fraction() * 5,
  views: random.int(100_000),
  parent: random.chance(0.5) ? null : random.int(2 ** 31),
  author: { id: random.int(2 ** 20), name: random.words(2), email: `${random.word()}@a.example` },
  tags: random.list(random.between(2, 5), () => random.word()),
  links: { self: `/articles/${random.word()}`, comments: `/articles/${random.word()}/comments` },
  created: '2024-05-17T08:31:02.112Z',
  updated: '2024-06-01T21:07:45.908Z',
});

const record = (random, index) => ({
  id: index,
  sku: random.characters(10, 'ABCDEFGHJKLMNPQRSTUVWXYZ0123456789'),
  name: random.words(3),
  price: random.int(100_000) / 100,
  stock: random.int(1000),
  active: random.chance(0.8),
  category: random.pick(['books', 'music', 'garden', 'kitchen', 'toys']),
  weight: random.fraction() * 30,
  size: [random.int(200), random.int(200), random.int(200)],
  updated: 1_700_000_000_000 + random.int(2 ** 36),
});
const records = (random, count) => random.list(count, (index) => record(random, index));

// What one record comes to on the wire, to size the growth series.
const RECORD_BYTES = 136;

export const user = (random, index) => ({
  id: index,
  guid: random.characters(32, '0123456789abcdef'),
  isActive: random.chance(0.5),
  balance: random.int(1_000_000) / 100,
  age: random.between(18, 80),
  eyeColor: random.pick(['blue', 'brown', 'green']),
  name: { first: random.word(), last: random.word() },
  company: random.word(),
  email: `${random.word()}.${random.word()}@mail.example`,
  phone: `+1 (${random.between(200, 999)}) ${random.between(200, 999)}-${random.between(1000, 9999)}`,
  address: { street: random.words(2), city: random.word(), zip: random.between(10_000, 99_999) },
  about: random.words(4),
  latitude: random.fraction() * 180 - 90,
  longitude: random.fraction() * 360 - 180,
  tags: random.list(5, () => random.word()),
  friends: random.list(3, (friend) => ({ id: friend, name: random.word() })),
});
export const manyUsers = (random, count) => random.list(count, (index) => user(random, index));

function dictionary(random, keys) {
  const entries = random.list(keys, (index) => [`${random.characters(8)}${index}`, index]);
  return Object.fromEntries(entries);
}

function manyShapes(random) {
  const vocabulary = random.list(120, (index) => `${random.word()}${index}`);
  const values = [
    () => random.int(100_000),
    () => random.word(),
    () => random.chance(0.5),
    () => random.fraction(),
    () => null,
  ];
  const shape = () => random.list(random.between(4, 9), () => random.pick(vocabulary));
  const shapes = random.list(200, shape);
  // Two values of each shape: the next of the same shape is 199 messages away.
  return [...shapes, ...shapes].map((keys) =>
    Object.fromEntries(keys.map((key) => [key, random.pick(values)()])),
  );
}

// As many of 53 bits as of one: every wire form of an integer, in no order.
function anyInteger(random) {
  const magnitude = Math.floor(random.fraction() * 2 ** random.between(1, 53));
  // Subtracted and not negated: -0 is a float, and JSON loses it.
  return random.chance(0.5) ? magnitude : 0 - magnitude;
}

// One constructor a kind, in random order: null, boolean, integer, float, string, array, object.
function mixedValue(random) {
  const kinds = [
    () => null,
    () => random.chance(0.5),
    () => anyInteger(random),
    () => random.fraction() * 1000,
    () => random.words(2),
    () => [random.int(100), random.word()],
    () => ({ key: random.word(), value: random.int(1000) }),
  ];
  return random.pick(kinds)();
}

const CYRILLIC = [...'абвгдежзийклмнопрстуфхцчшщыьэюя'];
const HAN = [
  ...'的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年',
];
const EMOJI = [...'😀😂🥰😎🤔👍🎉🚀🔥🌍🍕🐈'];

function unicodeRecord(random, index) {
  const alphabet = random.pick([CYRILLIC, HAN, EMOJI]);
  return {
    id: index,
    name: random.words(2, alphabet),
    city: random.word(alphabet),
    text: random.words(random.between(3, 8), alphabet),
    likes: random.int(1000),
  };
}

function nested(random, levels) {
  let value = random.word();
  for (let level = levels; level > 0; level -= 1) {
    value = level % 2 === 0 ? [level, value] : { level, next: value };
  }
  return value;
}

const binaryRecord = (random) => ({
  name: `${random.word()}.jpg`,
  type: 'image/jpeg',
  width: 4000,
  height: 3000,
  body: Buffer.from(Uint32Array.from({ length: 425_000 }, random.bits).buffer),
});

const several = (count, make) => (random) => random.list(count, () => make(random));

const table = [
  {
    name: 'calls-1m',
    title: '1 M calls, one small object',
    calls: 1_000_000,
    make: () => [historicObject()],
  },
  {
    name: 'array-1m',
    title: 'one array of 1 M of those',
    quickTitle: 'one array of 20 000 of those',
    // The others take seconds a call, and would make the whole run half as long again.
    contenders: [
      'msgpack-rs',
      'msgpackr',
      '@msgpack/msgpack',
      'notepack.io',
      'JSON, a string',
      'JSON, a Buffer',
    ],
    make: (random, quick) => [random.list(quick ? 20_000 : 1_000_000, historicObject)],
  },
  { name: 'event', title: 'event, 100 B', make: several(64, event) },
  { name: 'api', title: 'API object, 0.5 KB', make: several(64, apiObject) },
  {
    name: 'records',
    title: '60 records, 8 KB',
    make: several(16, (random) => records(random, 60)),
  },
  {
    name: 'users',
    title: '1000 users, 400 KB',
    make: several(3, (random) => random.list(1000, (index) => user(random, index))),
  },
  { name: 'twitter', title: 'twitter-like text, 0.6 MB', make: several(2, twitterLike) },
  { name: 'citm', title: 'citm-like catalogue', make: several(2, citmLike) },
  { name: 'canada', title: 'canada-like outline', make: several(1, canadaLike) },
  {
    name: 'dictionary-2k',
    title: 'dictionary, 2000 keys',
    make: several(8, (random) => dictionary(random, 2000)),
  },
  {
    name: 'dictionary-100k',
    title: 'dictionary, 100 000 keys',
    make: several(1, (random) => dictionary(random, 100_000)),
  },
  {
    name: 'shapes',
    title: '200 shapes in rotation, warm',
    make: manyShapes,
    // Two hundred functions to compile, in every codec that compiles any.
    warmMs: 1500,
  },
  {
    name: 'floats',
    title: '10 000 floats',
    make: several(4, (random) => random.list(10_000, () => random.fraction() * 1000)),
  },
  {
    name: 'integers',
    title: '10 000 integers of all widths',
    make: several(4, (random) => random.list(10_000, () => anyInteger(random))),
  },
  {
    name: 'mixed',
    title: '5000 values of seven kinds',
    make: several(4, (random) => random.list(5000, () => mixedValue(random))),
  },
  {
    name: 'strings',
    title: '2000 short strings',
    make: several(8, (random) => random.list(2000, () => random.characters(random.between(3, 20)))),
  },
  {
    name: 'ascii',
    title: 'one ASCII string, 20 KB',
    make: several(8, (random) => random.characters(20_000, 'abcdefghij klmnopqrst uvwxyz. ')),
  },
  {
    name: 'unicode',
    title: '400 Cyrillic, CJK and emoji records',
    make: several(4, (random) => random.list(400, (index) => unicodeRecord(random, index))),
  },
  { name: 'deep', title: '200 levels deep', make: several(16, (random) => nested(random, 200)) },
  {
    name: 'binary',
    title: '1.7 MB binary in a record',
    make: several(2, binaryRecord),
    // A zero-copy read is hundreds of times a base64 read; in a mean it would hide everything else.
    inMean: false,
    // JSON has no bytes. Base64 is what its users send, and coding it is part of the price.
    toJson: (value) => ({ ...value, body: value.body.toString('base64') }),
    fromJson: (value) => ({ ...value, body: Buffer.from(value.body, 'base64') }),
  },
];

const growth = [
  ['1 KB', 1e3],
  ['10 KB', 1e4],
  ['100 KB', 1e5],
  ['1 MB', 1e6],
  ['10 MB', 1e7],
  ['100 MB', 1e8],
].map(([size, bytes]) => ({
  name: `growth-${size.replace(' ', '').toLowerCase()}`,
  title: `records, ${size}`,
  // The large ones would add minutes, and tell CI nothing that 1 MB does not.
  fullOnly: bytes > 1e6,
  // The series is about how time grows, and needs few to compare with.
  contenders: ['msgpack-rs', 'msgpackr', 'JSON, a string'],
  make: (random) => [records(random, Math.round(bytes / RECORD_BYTES))],
}));

// Of the table, what consists of objects that are like one another.
const RECORD_LIKE = ['event', 'api', 'records', 'users', 'citm', 'twitter', 'unicode'];
const fromTable = (name) => table.find((workload) => workload.name === name);

const asRecords = RECORD_LIKE.map((name) => ({ ...fromTable(name), name: `records-${name}` }));

const FIELDS = ['name', 'email', 'city', 'language', 'plan', 'theme', 'zone', 'last', 'visits'];
const ERRORS = [Error, TypeError, RangeError];

function failure(random) {
  const cause = random.chance(0.3) ? new Error(random.words(3)) : undefined;
  const options = cause && { cause };
  return new (random.pick(ERRORS))(random.words(6), options);
}

const related = (random) => ({
  title: random.words(4),
  done: random.chance(0.5),
  votes: random.int(1000),
  changed: new Date(1_700_000_000_000 + random.int(2 ** 36)),
});

const cacheEntry = (random) => ({
  key: `user:${random.characters(12, '0123456789abcdef')}`,
  stored: new Date(1_700_000_000_000 + random.int(2 ** 36)),
  ttl: random.int(86_400),
  fields: new Map(
    random
      .list(random.between(4, 8), () => random.pick(FIELDS))
      .map((field) => [
        field,
        random.pick([() => random.word(), () => random.int(10_000), () => random.chance(0.5)])(),
      ]),
  ),
  scores: new Map(random.list(6, () => [random.characters(10), random.fraction() * 100])),
  roles: new Set(random.list(random.between(1, 4), () => random.word())),
  seen: new Set(random.list(12, () => random.int(2 ** 31))),
  related: new Map(
    random.list(4, () => [`item:${random.characters(10, '0123456789abcdef')}`, related(random)]),
  ),
  failure: random.chance(0.1) ? failure(random) : null,
});

const series = (random) => ({
  sensor: random.word(),
  from: new Date(1_700_000_000_000 + random.int(2 ** 36)),
  values: Float64Array.from({ length: 200 }, random.fraction),
  rough: Float32Array.from({ length: 200 }, random.fraction),
  counts: Uint16Array.from({ length: 100 }, () => random.int(2 ** 16)),
  marks: Uint8Array.from({ length: 50 }, () => random.int(2)),
});

const moreTypes = [
  {
    name: 'more-types-entry',
    title: 'cache entry of Maps and Sets, 0.6 KB',
    make: several(64, cacheEntry),
  },
  {
    name: 'more-types-page',
    title: 'Map of 30 of those',
    make: several(
      8,
      (random) => new Map(random.list(30, (id) => [`page:${id}`, cacheEntry(random)])),
    ),
  },
  {
    name: 'more-types-arrays',
    title: 'four typed arrays, 3 KB',
    // For information: it is about copying memory, and no message of Maps and Sets is like it.
    inMean: false,
    make: several(16, series),
  },
];

// Nothing in it that an option for floats or 64-bit integers would change.
function withoutOptions(value) {
  if (typeof value === 'number') {
    if (Number.isInteger(value))
      return Math.abs(value) < 2 ** 31 ? value : Math.floor(value / 1000);
    return Math.fround(value) === value ? value + 0.1 : value;
  }
  if (Array.isArray(value)) return value.map(withoutOptions);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutOptions(item)]),
  );
}

const instance = [
  { ...fromTable('calls-1m'), title: 'one small object', calls: undefined },
  ...['event', 'api', 'records'].map(fromTable),
].map(({ make, ...workload }) => ({
  ...workload,
  name: `instance-${workload.name}`,
  // A few per cent are the question, and by more than that two processes differ.
  processes: 5,
  rounds: 32,
  make: (random) => make(random).map(withoutOptions),
}));

const inGroup = (group) => (workload) => ({ inMean: group !== 'growth', ...workload, group });

export const workloads = [
  ...table.map(inGroup('table')),
  ...growth.map(inGroup('growth')),
  // Two processes differ in what they compile, mostly in codecs whose code is made as they go.
  ...asRecords.map(inGroup('records')).map((workload) => ({ processes: 3, ...workload })),
  ...moreTypes.map(inGroup('more-types')).map((workload) => ({ processes: 3, ...workload })),
  ...instance.map(inGroup('instance')),
];

export function findWorkload(name) {
  const found = workloads.find((workload) => workload.name === name);
  if (!found) throw new Error(`no workload is called ${name}`);
  return found;
}

/** The values of a workload. The seed is the same for all: each is its own stream of it. */
export const buildValues = (workload, quick = false) =>
  workload.make(randomSource(20_240_517), quick);
