'use strict';

// V8 finds the place of a number or a bigint in a Map by a hash without a seed. Whoever chooses the
// keys can put all of them in one place, where each new one is compared with those before it; such a
// container is refused before it takes long. (Strings have a seed, objects have random hashes.)

const { MsgpackError } = require('../error');

/** Containers with fewer entries take no time, whatever their keys are. */
const MIN_SIZE = 512;
/**
 * So many keys in one place, of which there are half as many as keys, come about on purpose only:
 * two are usual, twenty a rarity (`__test__/collisions.test.mjs`).
 */
const MAX_IN_ONE_PLACE = 128;

const MAX_UINT32 = 2 ** 32 - 1;
const number = new Float64Array(1);
const bigint = new BigInt64Array(number.buffer);
const halves = new Uint32Array(number.buffer);

/** Looks at the keys of a Map, or at the values of a Set, that has just grown to this size. */
function checkGrown(container) {
  const { size } = container;
  // V8 doubles its table behind a power of two.
  if (size < MIN_SIZE || (size & (size - 1)) !== 0) return;
  const places = new Uint8Array(size >> 1);
  const mask = places.length - 1;
  for (const key of container.keys()) {
    const hash = hashOf(key);
    if (hash !== undefined && ++places[hash & mask] > MAX_IN_ONE_PLACE) {
      throw new MsgpackError(
        'ERR_MSGPACK_KEY',
        'Numbers made to collide as keys of a Map or as values of a Set',
      );
    }
  }
}

/** V8's hash, the same from Node.js 20 to 26; `undefined` where it has a seed. */
function hashOf(key) {
  if (typeof key === 'number') {
    if (key === (key | 0)) return hash32(key);
    number[0] = key;
    return hash64();
  }
  if (typeof key === 'bigint') {
    // The lowest digit of the absolute value.
    bigint[0] = key < 0n ? -key : key;
    return hash64();
  }
  return undefined;
}

function hash32(key) {
  let hash = (~key + (key << 15)) | 0;
  hash ^= hash >>> 12;
  hash = (hash + (hash << 2)) | 0;
  hash ^= hash >>> 4;
  hash = Math.imul(hash, 2057);
  return hash ^ (hash >>> 16);
}

/** The hash of the 64 bits in `halves`: what of it chooses a place. */
function hash64() {
  const [low, high] = halves;
  // ~x + (x << 18)
  let l = (~low >>> 0) + ((low << 18) >>> 0);
  let h = (~high + ((high << 18) | (low >>> 14)) + (l > MAX_UINT32 ? 1 : 0)) >>> 0;
  l >>>= 0;
  // x ^ (x >> 31)
  [l, h] = [(l ^ ((h << 1) | (l >>> 31))) >>> 0, (h ^ (h >>> 31)) >>> 0];
  // 21 x
  l *= 21;
  h = (h * 21 + Math.floor(l / 2 ** 32)) >>> 0;
  l >>>= 0;
  // x ^ (x >> 11)
  [l, h] = [(l ^ ((l >>> 11) | (h << 21))) >>> 0, (h ^ (h >>> 11)) >>> 0];
  // x + (x << 6)
  const shifted = (l << 6) >>> 0;
  h = (h + ((h << 6) | (l >>> 26)) + (l + shifted > MAX_UINT32 ? 1 : 0)) >>> 0;
  l = (l + shifted) >>> 0;
  // x ^ (x >> 22)
  return l ^ ((l >>> 22) | (h << 10));
}

module.exports = { checkGrown, hashOf };
