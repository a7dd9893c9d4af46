// Keeps one short string of each of many decoded messages, as a cache or an index would. A string
// that is a slice of its message's text keeps that text alive with it.

import { pack, unpack } from '../../index.js';
import { randomSource } from '../random.mjs';
import { rss, settle } from './memory.mjs';
import { reply, task } from './reply.mjs';

const LIMIT = 4 * 2 ** 30;

const random = randomSource(7);
const items = random.list(6000, (id) => ({
  id,
  label: random.characters(20),
  text: random.words(20),
}));
const bytes = pack(items);
const kept = [];
const alive = () => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

await settle();
const before = alive();
for (let message = 0; message < task.messages; message += 1) {
  const decoded = unpack(bytes);
  kept.push(decoded[(message * 7) % decoded.length].label);
  if (message % 100 === 99) {
    // Finalizers run between turns of the event loop, and a server has those.
    await new Promise((resolve) => setImmediate(resolve));
    // Far beyond the target is an answer too, and the machine is spared the rest.
    if (rss() > LIMIT) {
      await settle();
      if (rss() > LIMIT) break;
    }
  }
}
await settle();
reply({
  messages: kept.length,
  messageBytes: bytes.length,
  alive: alive() - before,
  rss: rss(),
  characters: kept.reduce((sum, label) => sum + label.length, 0),
});
