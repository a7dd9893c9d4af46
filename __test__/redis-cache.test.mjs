// The example of a cache, on a real Redis: what it stores, what it reads of what others stored, and
// what it does with what cannot be read.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test as nodeTest } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Packr as MsgpackrPackr } from 'msgpackr';
import { HOW_TO_INSTALL, redisVersion, startRedis } from '../bench/redis-server.mjs';
import { RedisCache } from '../examples/redis-cache.mjs';
import { bytes, hex } from './helpers.mjs';

const MARK = 'f405eed4-507c-4aa5-a6d2-c1813d584b8f';
const msgpackr = new MsgpackrPackr({ moreTypes: true });

// Where it is said that there is a server, a missing one fails in `before`.
const isRequired = process.env.MSGPACK_RS_REQUIRE_REDIS === '1';
const skip = !isRequired && !redisVersion() && HOW_TO_INSTALL;
// Each test is skipped by itself: of a suite skipped as a whole, no test would be reported.
const test = (name, fn) => nodeTest(name, { skip }, fn);

const comments = new Map([
  ['comment:1', { checksum: 'a3f5' }],
  ['comment:2', { checksum: '77e0', originCommentId: 'comment:1' }],
]);
const members = new Set(['ada', 'grace']);

const VALUES = {
  'a plain object': { id: 7, name: 'Ada', tags: ['x', 'y'], seen: null, ok: true },
  'an empty object': {},
  'objects within objects': { level1: { level2: { level3: true } } },
  'an emoji as the key': { '🍌': '🥔' },
  'keys that look like indexes': { 1: 'one', 0: 'zero', a: 1 },
  'an array of like objects': Array.from({ length: 50 }, (_, id) => ({ id, name: `n${id}` })),
  'an empty array': [],
  'a Map': comments,
  'an empty Map': new Map(),
  'a Map with keys that are no strings': new Map([
    [1, 'one'],
    [null, 'nothing'],
    [true, new Map([[0.5, 'half']])],
  ]),
  'one Map at three levels': { comments, a: { comments, b: { comments } } },
  'a Set': members,
  'an empty Set': new Set(),
  'one Set at three levels': { members, a: { members, b: { members } } },
  'a Map of Sets': new Map([['team', members]]),
  'a string': 'text é 漢 😀',
  'an empty string': '',
  'a string that looks like a number': '42',
  'a string that looks like JSON': '{"a":1}',
  'a string that begins like a mark': `${MARK}-NULL`,
  'a Date': new Date(1_718_000_000_123),
  'a Buffer': Buffer.from([0, 1, 0x80, 0xff]),
  'a large string': 'text é '.repeat(100_000),
  'a large Buffer': Buffer.alloc(1_000_000, 0xa5),
  'a bigint': 5n,
  'a bigint of 64 bits': -(2n ** 62n),
  'a bigint beyond 64 bits': 2n ** 70n,
  true: true,
  false: false,
  null: null,
};
const NUMBERS = [
  ...[0, -0, 1, 31, 32, 64, 127, 128, 255, 65_536, -1, -32, -33, -99, 2 ** 31, 2 ** 32],
  ...[Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 123.456, 0.1 + 0.2, 5e-324],
  ...[Number.MAX_VALUE, Infinity, -Infinity, NaN],
];
for (const number of NUMBERS) {
  VALUES[`the number ${Object.is(number, -0) ? '-0' : number}`] = number;
}

/** What cachette stores for a value, or stored before its pull request 93. */
const CACHETTE = [
  ['null', `${MARK}-NULL`, null],
  ['true', `${MARK}-TRUE`, true],
  ['false', `${MARK}-FALSE`, false],
  ['0', `${MARK}-NUMBER0`, 0],
  ['123.456', `${MARK}-NUMBER123.456`, 123.456],
  ['-99', `${MARK}-NUMBER-99`, -99],
  ['MAX_SAFE_INTEGER', `${MARK}-NUMBER9007199254740991`, Number.MAX_SAFE_INTEGER],
  ['0.1 + 0.2', `${MARK}-NUMBER0.30000000000000004`, 0.1 + 0.2],
  ['Infinity', `${MARK}-NUMBERInfinity`, Infinity],
  ['NaN', `${MARK}-NUMBERNaN`, NaN],
  ['an object', `${MARK}-JSON{"a":{"b":[1,"é",null]}}`, { a: { b: [1, 'é', null] } }],
  ['an array', `${MARK}-JSON[1,{"__dataType":"Date"}]`, [1, { __dataType: 'Date' }]],
  [
    'a Map',
    `${MARK}-JSON{"__dataType":"Map","value":[["comment:1",{"checksum":"a3f5"}]]}`,
    new Map([['comment:1', { checksum: 'a3f5' }]]),
  ],
  [
    'Sets within a Map',
    `${MARK}-JSON{"m":{"__dataType":"Map","value":[["s",{"__dataType":"Set","value":["x"]}]]}}`,
    { m: new Map([['s', new Set(['x'])]]) },
  ],
];

/** What no version of anything stored. */
const UNREADABLE = {
  'no bytes': '',
  'MessagePack that is cut off': bytes('d4 72 40 91 a1 61'),
  'bytes after the value': bytes('01 02'),
  'the byte that is never used': bytes('c1'),
  'a record without a definition': bytes('41 01'),
  'a string that is damaged': bytes('a3 61 c3 28'),
  'a long string that is damaged': Buffer.from([0xd9, 200, ...Array(199).fill(0x61), 0xff]),
  'a key that is damaged': bytes('d4 72 40 91 a2 c3 28 01'),
  'text that nothing marks': 'just some text',
  'a mark without a kind': MARK,
  'a mark of an unknown kind': `${MARK}-YAML a: 1`,
  'more after null': `${MARK}-NULL.`,
  'JSON that is cut off': `${MARK}-JSON{"a":`,
  'a Map that is none': `${MARK}-JSON{"__dataType":"Map","value":7}`,
  'a number that is none': `${MARK}-NUMBERtwelve`,
  'a number of nothing': `${MARK}-NUMBER`,
  'an error without JSON': `${MARK}-ERROR`,
  'an error of null': `${MARK}-ERRORnull`,
  'a binary string that is cut off': `${MARK}-MSGP\u0092\u0001`,
  'a binary string of nothing': `${MARK}-MSGP`,
  'a binary string of a damaged one': `${MARK}-MSGP\u00a2\u00c3(`,
  'a binary string with a wide character': `${MARK}-MSGP漢`,
};

let server;
let redis;
let cache;
let shared;
const warnings = [];
const clients = [];
const onWarning = (warning) => warnings.push(warning);
const connect = () => {
  const client = new Redis(server.socket);
  clients.push(client);
  return client;
};
/** Every test's warnings are accounted for, so that none passes unseen. */
const takeWarnings = () => warnings.splice(0);

before(async () => {
  if (skip) return;
  server = await startRedis();
  redis = connect();
  cache = new RedisCache(connect(), { onWarning });
  shared = new RedisCache(connect(), { encoding: 'binary-string', onWarning });
});
after(async () => {
  for (const client of clients) client.disconnect();
  await server?.stop();
});

test('every kind of value comes back as it was, from a client of its own too', async () => {
  const reader = new RedisCache(connect(), { onWarning });
  for (const [name, value] of Object.entries(VALUES)) {
    await cache.set(`value:${name}`, value);
    assert.deepStrictEqual(await reader.get(`value:${name}`), value, name);
  }
  assert.deepEqual(takeWarnings(), []);
});

test('and as a binary string', async () => {
  for (const [name, value] of Object.entries(VALUES)) {
    await shared.set(`text:${name}`, value);
    assert.deepStrictEqual(await shared.get(`text:${name}`), value, name);
    // What is marked is read whichever way the cache itself stores.
    assert.deepStrictEqual(await cache.get(`text:${name}`), value, name);
  }
  assert.deepEqual(takeWarnings(), []);
});

for (const encoding of ['buffer', 'binary-string']) {
  test(`errors keep class, message and cause as ${encoding}`, async () => {
    const one = new RedisCache(connect(), { encoding, onWarning });
    const error = new TypeError('wrong é', { cause: new RangeError('too far') });
    await one.set('error', error);
    const back = await one.get('error');
    assert.equal(back.constructor, TypeError);
    assert.equal(back.name, 'TypeError');
    assert.equal(back.message, 'wrong é');
    assert.equal(back.cause.constructor, RangeError);
    assert.equal(back.cause.message, 'too far');
    await one.set('error', { failed: new Error('inside') });
    const { failed } = await one.get('error');
    assert.ok(failed instanceof Error);
    assert.equal(failed.message, 'inside');
    assert.deepEqual(takeWarnings(), []);
  });
}

test('many at once do not mix', async () => {
  const ids = Array.from({ length: 500 }, (_, id) => id);
  await Promise.all(ids.map((id) => cache.set(`many:${id}`, { id, set: new Set([id]) })));
  const values = await Promise.all(ids.map((id) => cache.get(`many:${id}`)));
  assert.deepStrictEqual(
    values,
    ids.map((id) => ({ id, set: new Set([id]) })),
  );
});

test('a miss is undefined, a cached null is null, undefined is refused', async () => {
  assert.equal(await cache.get('nobody stored this'), undefined);
  await cache.set('nothing', null);
  assert.equal(await cache.get('nothing'), null);
  await assert.rejects(cache.set('nothing', undefined), TypeError);
  assert.equal(await cache.get('nothing'), null);
  assert.deepEqual(takeWarnings(), []);
});

test('delete says whether there was anything', async () => {
  await cache.set('gone', 1);
  assert.equal(await cache.delete('gone'), true);
  assert.equal(await cache.get('gone'), undefined);
  assert.equal(await cache.delete('gone'), false);
});

test('a value lives as long as its ttl, in seconds and parts of them', async () => {
  await cache.set('long', { a: 1 }, { ttl: 100 });
  const left = await redis.pttl('long');
  assert.ok(left > 90_000 && left <= 100_000, `${left} ms left`);
  await shared.set('short', { a: 1 }, { ttl: 0.05 });
  await cache.set('brief', { a: 1 }, { ttl: 0.05 });
  await wait(100);
  assert.equal(await cache.get('brief'), undefined);
  assert.equal(await shared.get('short'), undefined);
  assert.deepEqual(await cache.get('long'), { a: 1 });
  // Stored again without a ttl, it stays.
  await cache.set('long', { a: 2 });
  assert.equal(await redis.pttl('long'), -1);
  assert.deepEqual(takeWarnings(), []);
});

test('a ttl that Redis does not take is its error', async () => {
  await assert.rejects(cache.set('never', 1, { ttl: -1 }), { name: 'ReplyError' });
  await assert.rejects(cache.set('never', 1, { ttl: NaN }), { name: 'ReplyError' });
  assert.equal(await cache.get('never'), undefined);
});

test('what is stored are the bytes alone, which msgpackr reads', async () => {
  await cache.set('bytes', { '🍌': '🥔', m: comments, s: members });
  const stored = await redis.getBuffer('bytes');
  assert.equal(stored[0], 0xd4);
  assert.deepStrictEqual(msgpackr.unpack(stored), { '🍌': '🥔', m: comments, s: members });
  await cache.set('bytes', { level1: { level2: { level3: true } } });
  assert.equal(
    hex(await redis.getBuffer('bytes')),
    'd4724091a66c6576656c31d4724191a66c6576656c32d4724291a66c6576656c33c3',
  );
});

test('a value that cannot be packed rejects and stores nothing', async () => {
  await cache.set('kept', 'before');
  const cyclic = {};
  cyclic.self = cyclic;
  await assert.rejects(cache.set('kept', cyclic));
  assert.equal(await cache.get('kept'), 'before');
  await cache.set('kept', 'after');
  assert.equal(await cache.get('kept'), 'after');
});

test("msgpackr's bytes are read", async () => {
  for (const [name, value] of Object.entries(VALUES)) {
    // It writes -0 as 0.
    if (Object.is(value, -0)) continue;
    await redis.set('theirs', msgpackr.pack(value));
    assert.deepStrictEqual(await cache.get('theirs'), value, name);
  }
  await redis.set('theirs', msgpackr.pack(new RangeError('theirs')));
  const error = await cache.get('theirs');
  assert.equal(error.constructor, RangeError);
  assert.equal(error.message, 'theirs');
  assert.deepEqual(takeWarnings(), []);
});

test("the binary strings of cachette's pull request are read", async () => {
  for (const [name, value] of Object.entries(VALUES)) {
    if (Object.is(value, -0)) continue;
    await redis.set('theirs', `${MARK}-MSGP${msgpackr.pack(value).toString('binary')}`);
    assert.deepStrictEqual(await cache.get('theirs'), value, name);
    assert.deepStrictEqual(await shared.get('theirs'), value, name);
  }
  assert.deepEqual(takeWarnings(), []);
});

test("and cachette's pull request reads ours", async () => {
  for (const [name, value] of Object.entries(VALUES)) {
    await shared.set('ours', value);
    const text = await redis.get('ours');
    assert.ok(text.startsWith(`${MARK}-MSGP`));
    const packed = Buffer.from(text.slice(MARK.length + '-MSGP'.length), 'binary');
    assert.deepStrictEqual(msgpackr.unpack(packed), value, name);
  }
});

for (const [name, stored, value] of CACHETTE) {
  test(`what cachette stored is read: ${name}`, async () => {
    await redis.set('old', stored);
    assert.deepStrictEqual(await cache.get('old'), value);
    assert.deepStrictEqual(await shared.get('old'), value);
    assert.deepEqual(takeWarnings(), []);
  });
}

test('what cachette stored is read: an error with properties of its own', async () => {
  const own = '{"code":"E1","info":{"a":1},"message":"failed é","__proto__":{"code":"E2"}}';
  await redis.set('old', `${MARK}-ERROR${own}`);
  const error = await cache.get('old');
  assert.equal(Object.getPrototypeOf(error), Error.prototype);
  assert.equal(error.message, 'failed é');
  assert.equal(error.code, 'E1');
  assert.deepEqual(error.info, { a: 1 });
});

test('what cachette stored is read: a string as it is, with the encoding it is shared by', async () => {
  for (const text of ['plain text', '5', '', 'né 漢']) {
    await redis.set('old', text);
    assert.equal(await shared.get('old'), text);
  }
  assert.deepEqual(takeWarnings(), []);
});

for (const [name, stored] of Object.entries(UNREADABLE)) {
  test(`a miss with a warning: ${name}`, async () => {
    await redis.set('broken', stored);
    await cache.set('whole', { a: comments });
    assert.equal(await cache.get('broken'), undefined);
    const [warning, ...more] = takeWarnings();
    assert.deepEqual(more, []);
    assert.equal(warning.name, 'RedisCacheWarning');
    assert.equal(warning.key, 'broken');
    assert.ok(warning.cause instanceof Error);
    assert.ok(warning.message.includes('broken'), warning.message);
    assert.ok(warning.message.includes(warning.cause.message), warning.message);
    assert.deepStrictEqual(await cache.get('whole'), { a: comments });
    await cache.set('broken', 'made anew');
    assert.equal(await cache.get('broken'), 'made anew');
    assert.deepEqual(takeWarnings(), []);
  });
}

test('by default the process warns', async () => {
  const plain = new RedisCache(connect());
  await redis.set('broken', bytes('c1'));
  const warned = once(process, 'warning');
  assert.equal(await plain.get('broken'), undefined);
  const [warning] = await warned;
  assert.equal(warning.name, 'RedisCacheWarning');
  assert.equal(warning.key, 'broken');
});

test('what is no string in Redis is the error of Redis', async () => {
  await redis.rpush('list', 'a');
  await assert.rejects(cache.get('list'), { name: 'ReplyError' });
  assert.deepEqual(takeWarnings(), []);
});

test('an encoding that is none is refused', () => {
  assert.throws(() => new RedisCache(redis, { encoding: 'base64' }), TypeError);
});

test('close waits for what is under way', async () => {
  const client = connect();
  const brief = new RedisCache(client);
  const set = brief.set('last', 'written');
  await brief.close();
  await set;
  assert.equal(await cache.get('last'), 'written');
  await assert.rejects(brief.get('last'));
});
