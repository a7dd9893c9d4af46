// Every workload comes from this seeded source, so that two runs, and two machines, measure the
// same values.

const LATIN = 'abcdefghijklmnopqrstuvwxyz';

export function randomSource(seed) {
  let state = seed >>> 0;

  // mulberry32: 32 good bits from 32 bits of state, which is all a workload needs.
  function bits() {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  // All 53 bits of a double's fraction, so that a float packed is as long as floats get in JSON.
  const fraction = () => (bits() * 2 ** 21 + (bits() >>> 11)) / 2 ** 53;
  const int = (below) => Math.floor(fraction() * below);
  const between = (low, high) => low + int(high - low + 1);
  const chance = (probability) => fraction() < probability;
  const pick = (list) => list[int(list.length)];
  const list = (length, make) => Array.from({ length }, (_, index) => make(index));

  // Joined from parts and flattened by the Buffer, because a value that was received or read is a
  // flat string, and a rope would charge its flattening to whoever touches it first.
  const flat = (parts) => Buffer.from(parts.join('')).toString();
  const characters = (length, alphabet = LATIN) => flat(list(length, () => pick(alphabet)));
  const word = (alphabet) => characters(between(2, 9), alphabet);
  const words = (count, alphabet) => flat([list(count, () => word(alphabet)).join(' ')]);

  return { bits, fraction, int, between, chance, pick, list, flat, characters, word, words };
}
