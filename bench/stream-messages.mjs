// Small messages as streams carry them, one after the other.

import { randomSource } from './random.mjs';

function click(random, id) {
  return {
    type: 'click',
    id,
    at: 1_700_000_000_000 + id * 37,
    ok: id % 5 > 0,
    ms: random.fraction(),
  };
}

function line(random, id) {
  return {
    type: 'line',
    id,
    room: random.pick(ROOMS),
    from: random.int(5000),
    text: random.words(4),
  };
}

function reading(random, id) {
  return {
    sensor: 7000 + random.int(200),
    seq: id,
    unit: '°C',
    values: [random.fraction(), id % 60],
  };
}

const ROOMS = ['general', 'random', 'releases', 'support'];
const SHAPES = [click, line, reading];

export const kinds = {
  clicks: { title: 'clicks, one shape', make: click },
  mixed: {
    title: 'clicks, lines of text and readings in turn',
    make: (random, id) => SHAPES[id % SHAPES.length](random, id),
  },
};

export function messagesOf(kind, count) {
  const random = randomSource(4711);
  return Array.from({ length: count }, (_, id) => kinds[kind].make(random, id));
}

/** In pieces of `size` bytes, which end wherever they do. */
export function inChunks(bytes, size) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

/** The same, one after the other as they would come from elsewhere. */
export async function* later(items) {
  yield* items;
}
