// npm run demo: packs a realistic document and unpacks it again, next to JSON.

import { deepStrictEqual } from 'node:assert/strict';
import os from 'node:os';
import msgpack from '../index.js';

// ── A catalogue with its orders, the same on every run ─────────────────────────────────────────

let seed = 20240229;
function random(below) {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}
const pick = (list) => list[random(list.length)];

const ADJECTIVES = ['Quiet', 'Sturdy', 'Pocket', 'Nordic', 'Everyday', 'Folding', 'Bright'];
const NOUNS = ['Lamp', 'Kettle', 'Backpack', 'Notebook', 'Chair', 'Umbrella', 'Radio'];
const MATERIALS = ['oak', 'steel', 'linen', 'recycled plastic', 'aluminium', 'wool'];
const PEOPLE = [
  'Ada Lindqvist',
  'Jürgen Weiß',
  'Мария Орлова',
  '佐藤 花子',
  'Zoë O’Neill',
  'Ali Rezaei',
];
const CITIES = ['Göteborg', 'München', 'Казань', '京都', 'Galway', 'Porto'];
const STATES = ['placed', 'paid', 'packed', 'shipped', 'delivered'];

function product(id) {
  const name = `${pick(ADJECTIVES)} ${pick(NOUNS)}`;
  return {
    id,
    sku: `${name.slice(0, 2).toUpperCase()}-${100000 + random(900000)}`,
    name,
    description: `${name} made of ${pick(MATERIALS)} and ${pick(MATERIALS)}, for every day. ★`,
    price: { amount: (500 + random(20000)) / 100, currency: 'EUR' },
    stock: random(400),
    active: random(10) > 0,
    tags: [pick(MATERIALS), pick(NOUNS).toLowerCase()],
    dimensions: [random(1000) / 10, random(1000) / 10, random(1000) / 10],
    replacedBy: random(8) === 0 ? random(id + 1) : null,
  };
}

function order(id, products) {
  const lines = Array.from({ length: 1 + random(5) }, () => {
    const { id: productId, price } = pick(products);
    const quantity = 1 + random(3);
    return { productId, quantity, total: Math.round(price.amount * quantity * 100) / 100 };
  });
  return {
    id: 70_000_000_000 + id,
    placed: new Date(
      Date.UTC(2024, random(12), 1 + random(28), random(24), random(60), random(60)),
    ),
    state: pick(STATES),
    customer: { name: pick(PEOPLE), city: pick(CITIES), newsletter: random(2) === 0 },
    lines,
    total: lines.reduce((sum, line) => sum + line.total, 0),
    signature: Buffer.from(Array.from({ length: 32 }, () => random(256))),
  };
}

const products = Array.from({ length: 420 }, (_, i) => product(i + 1));
const orders = Array.from({ length: 260 }, (_, i) => order(i + 1, products));
const document = { shop: 'Lindqvist & Söhne', revision: 2n ** 60n, products, orders };

// ── Round trip ─────────────────────────────────────────────────────────────────────────────────

const packed = msgpack.pack(document);
deepStrictEqual(msgpack.unpack(packed), document);

// JSON has no bigint, no Date and no bytes, so it gets them as the text that people usually send.
const forJson = {
  ...document,
  revision: String(document.revision),
  orders: orders.map((o) => ({
    ...o,
    placed: o.placed.toISOString(),
    signature: o.signature.toString('base64'),
  })),
};
const json = Buffer.from(JSON.stringify(forJson));
deepStrictEqual(JSON.parse(json.toString()), forJson);
// The same plain data for both, so that the times compare like with like.
const packedPlain = msgpack.pack(forJson);
deepStrictEqual(msgpack.unpack(packedPlain), forJson);

// ── Times ──────────────────────────────────────────────────────────────────────────────────────

const text = json.toString();
const contenders = {
  pack: () => msgpack.pack(forJson),
  stringify: () => JSON.stringify(forJson),
  stringifyBuffer: () => Buffer.from(JSON.stringify(forJson)),
  unpack: () => msgpack.unpack(packedPlain),
  parse: () => JSON.parse(text),
  parseBuffer: () => JSON.parse(json.toString()),
};
/** Medians in milliseconds, the contenders taking turns so that a busy moment hits all of them. */
function measure(rounds) {
  const times = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      const start = process.hrtime.bigint();
      const result = run();
      times[name].push(Number(process.hrtime.bigint() - start) / 1e6);
      if (!result) throw new Error(`${name} returned nothing`);
    }
  }
  for (const name of Object.keys(times)) {
    const sorted = times[name].sort((a, b) => a - b);
    times[name] = sorted[sorted.length >> 1];
  }
  return times;
}

measure(50);
const times = measure(150);

const size = (bytes) => `${(bytes / 1000).toFixed(1)} kB`.padStart(10);
const ms = (name) => `${times[name].toFixed(3)} ms`.padStart(12);
const against = (ours, theirs) => `${(times[theirs] / times[ours]).toFixed(1)}×`.padStart(7);
const row = (label, ...cells) => console.log(`  ${label.padEnd(34)}${cells.join('')}`);

console.log(`msgpack-rs on Node ${process.versions.node}, ${os.cpus()[0]?.model.trim() ?? process.arch}

Packed a shop's document: ${products.length} products and ${orders.length} orders, with dates, bytes and a bigint,
and unpacked it to a value that is deep equal, every Date, Buffer and bigint included.
`);
console.log('Bytes');
row('msgpack-rs', size(packed.length));
row('JSON (dates, bytes as text)', size(json.length));
console.log('\nTimes, medians, of the same plain data without dates, bytes and bigints');
row('pack(value)', ms('pack'));
row('JSON.stringify(value)', ms('stringify'), against('pack', 'stringify'));
row(
  'Buffer.from(JSON.stringify(value))',
  ms('stringifyBuffer'),
  against('pack', 'stringifyBuffer'),
);
row('unpack(bytes)', ms('unpack'));
row('JSON.parse(text)', ms('parse'), against('unpack', 'parse'));
row('JSON.parse(bytes.toString())', ms('parseBuffer'), against('unpack', 'parseBuffer'));
console.log(`\n  (×: how many times longer than msgpack-rs it took.)

The first record of each, as it came back:
`);
const back = msgpack.unpack(packed);
console.dir({ product: back.products[0], order: back.orders[0] }, { depth: 4, breakLength: 96 });
console.log('\nTry it: npm test, npm run bench -- --quick, README.md');
