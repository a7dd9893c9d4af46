// A cache in Redis whose values keep their types: Map, Set, Error, -0 and NaN come back as what
// they were. Copy it and change it; it needs `npm install ioredis msgpack-rs`.
//
//   const cache = new RedisCache(new Redis('redis://localhost'));
//   await cache.set('user:7', { name: 'Ada', roles: new Set(['admin']) }, { ttl: 60 });
//   await cache.get('user:7');
//
// It also reads what was stored before it came, so that a cache need not be emptied to move to it:
// the raw bytes of msgpackr's `new Packr({ moreTypes: true })`, the marked texts of cachette
// (github.com/unitoio/cachette), and the marked MessagePack of that project's pull request 93.

import { Packr } from 'msgpack-rs';

// cachette begins with this what Redis cannot hold as a string; `-` and what it is come next.
const MARK = Buffer.from('f405eed4-507c-4aa5-a6d2-c1813d584b8f');

// Without shared structures every value explains itself, whichever process reads it. A damaged
// string is a miss, like other damage: with U+FFFD in it, it would pass for what was stored.
const packr = new Packr({ moreTypes: true, utf8: 'fatal' });

export class RedisCache {
  #client;
  #encoding;
  #onWarning;

  /**
   * `client` is one of ioredis.
   *
   * - `encoding`: 'buffer' (default) stores the bytes of MessagePack as they are. 'binary-string'
   *   is for a cache shared with cachette's pull request: it stores them in that one's way, behind
   *   a mark and as text, in which every byte from 0x80 up takes two. What has no mark is
   *   MessagePack to the first, and to the second a string, as cachette stores those.
   * - `onWarning(warning)`: told of each value that cannot be read, with its `key`, and why in
   *   `cause`; by default the process emits the warning.
   *
   * What goes wrong between client and Redis rejects, as ioredis does it.
   */
  constructor(client, { encoding = 'buffer', onWarning = emitWarning } = {}) {
    if (encoding !== 'buffer' && encoding !== 'binary-string') {
      throw new TypeError("encoding is 'buffer' or 'binary-string'");
    }
    this.#client = client;
    this.#encoding = encoding;
    this.#onWarning = onWarning;
  }

  /** Stores a value, for `ttl` seconds or, without it, until it is deleted. */
  async set(key, value, { ttl } = {}) {
    if (value === undefined) throw new TypeError('undefined stands for a miss; null can be cached');
    const stored = this.#write(value);
    if (ttl === undefined) await this.#client.set(key, stored);
    else await this.#client.set(key, stored, 'PX', Math.ceil(ttl * 1000));
  }

  /** The value, or undefined when there is none or it cannot be read. */
  async get(key) {
    const stored = await this.#client.getBuffer(key);
    if (stored === null) return undefined;
    try {
      return this.#read(stored);
    } catch (cause) {
      // Who asked can make the value anew and store it; an error would keep them from that.
      const message = `What is cached as ${key} cannot be read: ${cause.message}`;
      const warning = new Error(message, { cause });
      this.#onWarning(Object.assign(warning, { name: 'RedisCacheWarning', key }));
      return undefined;
    }
  }

  /** Whether there was anything to delete. */
  async delete(key) {
    return (await this.#client.del(key)) > 0;
  }

  /** Ends the client's connection, after the replies that are still to come. */
  async close() {
    await this.#client.quit();
  }

  #write(value) {
    const bytes = packr.pack(value);
    return this.#encoding === 'buffer' ? bytes : `${MARK}-MSGP${bytes.toString('latin1')}`;
  }

  #read(stored) {
    // No message of MessagePack begins like the mark: its first byte alone would be all of one.
    if (stored[0] === MARK[0] && stored.subarray(0, MARK.length).equals(MARK)) {
      return readMarked(stored.toString('utf8', MARK.length));
    }
    return this.#encoding === 'buffer' ? packr.unpack(stored) : stored.toString();
  }
}

const emitWarning = (warning) => process.emitWarning(warning);

const CONSTANTS = new Map([
  ['-NULL', null],
  ['-TRUE', true],
  ['-FALSE', false],
]);

const READERS = Object.entries({
  '-MSGP': readBinaryString,
  '-JSON': (text) => JSON.parse(text, reviveCollection),
  '-NUMBER': readNumber,
  '-ERROR': readError,
});

function readMarked(text) {
  if (CONSTANTS.has(text)) return CONSTANTS.get(text);
  const [kind, read] = READERS.find(([start]) => text.startsWith(start)) ?? [];
  if (!read) throw new TypeError('its mark is unknown');
  return read(text.slice(kind.length));
}

function readBinaryString(text) {
  const bytes = Buffer.from(text, 'latin1');
  // A character beyond one byte would otherwise be cut down to a wrong one.
  if (bytes.toString('latin1') !== text) throw new TypeError('it is no binary string');
  return packr.unpack(bytes);
}

function reviveCollection(_key, value) {
  if (value?.__dataType === 'Map') return new Map(value.value);
  if (value?.__dataType === 'Set') return new Set(value.value);
  return value;
}

function readNumber(text) {
  const number = Number(text);
  if (text.trim() === '' || (Number.isNaN(number) && text !== 'NaN')) {
    throw new TypeError('it is no number');
  }
  return number;
}

function readError(text) {
  const { message, ...own } = JSON.parse(text);
  // Defined and not assigned: a property called __proto__ is no more than a property.
  return Object.defineProperties(new Error(message), Object.getOwnPropertyDescriptors(own));
}
