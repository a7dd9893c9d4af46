// Packed values as the payloads of MQTT, through a real broker.
import assert from 'node:assert/strict';
import { after, before, test as nodeTest } from 'node:test';
import mqtt from 'mqtt';
import { HOW_TO_INSTALL, mosquittoVersion, startMosquitto } from '../bench/mosquitto.mjs';
import { Ext, MsgpackError, Packr, pack, packParts, Timestamp, unpack } from '../index.js';
import { bytes, generator, seedOf } from './helpers.mjs';
import { soon } from './stream-helpers.mjs';

// Where it is said that there is a broker, a missing one fails in `before`.
const isRequired = process.env.MSGPACK_RS_REQUIRE_MOSQUITTO === '1';
const skip = !isRequired && !mosquittoVersion() && HOW_TO_INSTALL;
// Each test is skipped by itself: of a suite skipped as a whole, no test would be reported.
const test = (name, fn) => nodeTest(name, { skip }, fn);

const VALUES = {
  'a reading': { sensor: 'boiler', celsius: 61.25, ok: true, at: new Date(1_718_000_000_123) },
  'an empty object': {},
  nil: null,
  zero: 0,
  false: false,
  'an empty string': '',
  'a string': 'text é 漢 😀',
  'an array': [1, -1, 0.5, [null, [true]], { a: {} }],
  'an integer of 64 bits': 2n ** 63n,
  'a binary of every byte': Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  'an empty binary': Buffer.alloc(0),
  'an ext': new Ext(5, Buffer.from([0, 255])),
  'a time in nanoseconds': { at: new Timestamp(1n, 5) },
  'a large binary': { name: 'photo.jpg', body: Buffer.alloc(1_000_000, 0xa5) },
  'a large string': 'text é '.repeat(50_000),
};

let broker;
const clients = [];

const connect = async (options = {}) => {
  const client = await soon(mqtt.connectAsync(broker.url, { reconnectPeriod: 0, ...options }));
  clients.push(client);
  return client;
};

/** Subscribes and returns what arrives from then on, as it arrives. */
async function subscribe(topic, qos) {
  const client = await connect();
  const arrived = [];
  const waiting = [];
  client.on('message', (_topic, payload, { retain, qos: got }) => {
    const message = { payload, retain, qos: got };
    if (waiting.length > 0) waiting.shift()(message);
    else arrived.push(message);
  });
  await client.subscribeAsync(topic, { qos });
  const next = () =>
    arrived.length > 0
      ? Promise.resolve(arrived.shift())
      : soon(new Promise((resolve) => waiting.push(resolve)), topic);
  return { client, next };
}

before(async () => {
  if (!skip) broker = await startMosquitto();
});
after(async () => {
  for (const client of clients) client.end(true);
  await broker?.stop();
});

for (const qos of [0, 1]) {
  test(`every kind of value comes back as it was, QoS ${qos}`, async () => {
    const publisher = await connect();
    const { next } = await subscribe(`values/${qos}`, qos);
    for (const [name, value] of Object.entries(VALUES)) {
      const payload = pack(value);
      await publisher.publishAsync(`values/${qos}`, payload, { qos });
      const arrived = await next();
      assert.equal(arrived.qos, qos);
      assert.deepEqual(arrived.payload, payload, name);
      const options = name.includes('nanoseconds') ? { timestamps: 'timestamp' } : {};
      assert.deepStrictEqual(unpack(arrived.payload, options), value, name);
    }
  });

  test(`many messages come in the order in which they were packed, QoS ${qos}`, async () => {
    const count = 3000;
    const { client, next } = await subscribe(`many/${qos}`, qos);
    const sent = [];
    for (let id = 0; id < count; id++) {
      sent.push(
        client.publishAsync(`many/${qos}`, pack({ id, half: id / 2, name: `n${id}` }), { qos }),
      );
      // So many of QoS 1 may be under way that every id of a packet is in use.
      if (sent.length % 200 === 0) await soon(Promise.all(sent));
    }
    for (let id = 0; id < count; id++) {
      const { payload } = await next();
      assert.deepStrictEqual(unpack(payload), { id, half: id / 2, name: `n${id}` });
    }
    await soon(Promise.all(sent));
  });
}

test('what the caller packs next does not change what the client still holds', async () => {
  const { next, client } = await subscribe('slab', 0);
  // Not sent yet: the client writes them when it can, behind what is packed meanwhile.
  const sent = [];
  for (let id = 0; id < 500; id++) {
    sent.push(client.publishAsync('slab', pack([id, 'x'.repeat(id)])));
    for (let other = 0; other < 5; other++) pack({ other: 'y'.repeat(id) });
  }
  for (let id = 0; id < 500; id++) {
    assert.deepStrictEqual(unpack((await next()).payload), [id, 'x'.repeat(id)]);
  }
  await soon(Promise.all(sent));
});

test('random bytes as binaries, and what packParts makes of them', async (t) => {
  const random = generator(seedOf(t));
  const { next, client } = await subscribe('binary', 1);
  for (const size of [1, 31, 32, 255, 256, 65_535, 65_536, 300_000]) {
    const body = Buffer.from(Uint8Array.from({ length: size }, () => random.below(256)));
    const parts = packParts({ size, body });
    await client.publishAsync('binary', Buffer.concat(parts), { qos: 1 });
    const { payload } = await next();
    assert.deepEqual(payload, pack({ size, body }));
    const value = unpack(payload);
    assert.deepStrictEqual(value, { size, body });
    // Over the payload's memory, or of its own.
    assert.equal(value.body.buffer, payload.buffer);
    const copy = unpack(payload, { copyBuffers: true });
    payload.fill(0);
    assert.deepStrictEqual(copy, { size, body });
  }
});

test('a retained message is there for who comes later, until it is cleared', async () => {
  const publisher = await connect();
  const state = { on: true, level: 0.75, names: ['a', 'b'] };
  await publisher.publishAsync('state', pack(state), { qos: 1, retain: true });
  const first = await (await subscribe('state', 1)).next();
  assert.equal(first.retain, true);
  assert.deepStrictEqual(unpack(first.payload), state);

  // No bytes clear it. nil is a value, and one byte.
  await publisher.publishAsync('state', pack(null), { qos: 1, retain: true });
  const second = await (await subscribe('state', 1)).next();
  assert.equal(second.retain, true);
  assert.equal(unpack(second.payload), null);

  await publisher.publishAsync('state', Buffer.alloc(0), { qos: 1, retain: true });
  const { next } = await subscribe('state', 1);
  await publisher.publishAsync('state', pack('not retained'), { qos: 1 });
  const third = await next();
  assert.equal(third.retain, false);
  assert.equal(unpack(third.payload), 'not retained');
});

test('a payload that cannot be unpacked is an error, and the next one is a value', async () => {
  const payloads = [
    [pack({ id: 1 }), { id: 1 }],
    ['{"json":true}', 'ERR_MSGPACK_EXTRA_BYTES'],
    [bytes('82 a1 61'), 'ERR_MSGPACK_TRUNCATED'],
    [Buffer.alloc(0), 'ERR_MSGPACK_TRUNCATED'],
    [bytes('c1'), 'ERR_MSGPACK_INVALID_BYTE'],
    [bytes('df ff ff ff ff'), 'ERR_MSGPACK_TRUNCATED'],
    [Buffer.concat([pack(1), pack(2)]), 'ERR_MSGPACK_EXTRA_BYTES'],
    [pack({ id: 2 }), { id: 2 }],
  ];
  const { client } = await subscribe('damaged', 1);
  const outcomes = [];
  const all = new Promise((resolve) => {
    client.on('message', (_topic, payload) => {
      try {
        outcomes.push(unpack(payload));
      } catch (error) {
        assert.ok(error instanceof MsgpackError);
        outcomes.push(error.code);
      }
      if (outcomes.length === payloads.length) resolve();
    });
  });
  const publisher = await connect();
  for (const [payload] of payloads) await publisher.publishAsync('damaged', payload, { qos: 1 });
  await soon(all);
  assert.deepStrictEqual(
    outcomes,
    payloads.map(([, outcome]) => outcome),
  );
  assert.equal(client.connected, true);
});

test('what cannot be packed throws, and nothing is published', async () => {
  const { next, client } = await subscribe('unpackable', 0);
  assert.throws(() => client.publish('unpackable', pack({ f: 10n ** 30n })), {
    code: 'ERR_MSGPACK_OUT_OF_RANGE',
  });
  await client.publishAsync('unpackable', pack('after it'));
  assert.equal(unpack((await next()).payload), 'after it');
});

test('types that MessagePack has no form for, with a Packr at both ends', async () => {
  const { next, client } = await subscribe('types', 1);
  const [writer, reader] = [new Packr({ moreTypes: true }), new Packr({ moreTypes: true })];
  const value = {
    tags: new Set(['a']),
    names: new Map([[1, 'one']]),
    big: 2n ** 70n,
    no: undefined,
  };
  // Each message can be read by itself: there is no other order between topics.
  for (let turn = 0; turn < 3; turn++) {
    await client.publishAsync('types', writer.pack(value), { qos: 1 });
    assert.deepStrictEqual(reader.unpack((await next()).payload), value);
  }
});
