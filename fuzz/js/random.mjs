// Random values, messages, damage and options, by a seed.
import { generator } from '../../__test__/helpers.mjs';
import {
  arrayHeader,
  bin,
  ext,
  float32,
  float64,
  mapHeader,
  str,
} from '../../__test__/reference.mjs';
import { Ext, Timestamp } from '../../index.js';

const NUMBERS = [
  0, -0, 1, -1, 31, 32, -32, -33, 127, 128, -128, -129, 255, 256, 32767, 32768,
].concat(
  [-32768, -32769, 65535, 65536, 2 ** 27 - 1, 2 ** 27, -(2 ** 27), 2 ** 31, -(2 ** 31), 2 ** 32],
  [2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e21, 0.1, 0.5, NaN, Infinity, 5e-324, Math.fround(0.1)],
);
const BIGINTS = [
  0n,
  -1n,
  2n ** 31n,
  2n ** 53n,
  -(2n ** 53n),
  2n ** 63n - 1n,
  2n ** 63n,
  -(2n ** 63n),
];
const UNITS = ['a', 'xyz', 'é', '漢', '😀', '\ud83d', '\ude00', '\0', 'Ж'];
const KEYS = ['a', 'b', 'id', 'name', 'type', 'é', '', '0', '19', '01', '-1', '4294967295'].concat([
  'constructor',
  'toString',
  'a key of more than twenty-seven bytes',
]);
/** Lengths at which something changes. */
const SIZES = [0, 1, 12, 13, 15, 16, 27, 28, 31, 32, 63, 64, 127, 128, 255, 256, 1023, 1024, 1025];

export function createRandom(seed) {
  const next = generator(seed);
  const { below, pick } = next;
  const oneIn = (n) => below(n) === 0;
  const double = () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53;
  /** Characters and values that a case may still have: a few large ones, not many. */
  let characters = 200_000;
  let values = 10_000;
  const size = () => {
    const wanted = oneIn(300) ? below(70_000) : oneIn(6) ? pick(SIZES) : below(12);
    characters -= wanted;
    return characters > 0 ? wanted : 0;
  };
  const many = (n, make) => Array.from({ length: n }, (_, i) => make(i));

  function number() {
    if (oneIn(3)) return pick(NUMBERS);
    if (oneIn(3)) return (double() - 0.5) * 10 ** (below(60) - 30);
    return (oneIn(2) ? -1 : 1) * Math.floor(double() * 2 ** below(54));
  }

  function text() {
    const unit = oneIn(3) ? pick(UNITS) : pick(['a', 'word ', 'k1']);
    const whole = unit.repeat(Math.ceil(size() / unit.length));
    return oneIn(4) ? whole + pick(UNITS) : whole;
  }

  const key = () => (oneIn(4) ? text().slice(0, 300) : oneIn(6) ? `k${below(5000)}` : pick(KEYS));

  function bytes(length = size()) {
    const memory = oneIn(2) ? new ArrayBuffer(length + 3) : Buffer.alloc(length + 3).buffer;
    const view = new Uint8Array(memory, oneIn(2) ? 3 : 0, length);
    for (let i = 0; i < Math.min(length, 64); i++) view[i] = next();
    return oneIn(2) ? view : Buffer.from(view.buffer, view.byteOffset, length);
  }

  const date = () => new Date(oneIn(8) ? NaN : Math.floor((double() - 0.5) * 10 ** below(16)));
  const bigint = () => (oneIn(2) ? pick(BIGINTS) : BigInt.asIntN(64, BigInt(next()) << 31n));

  function object(pairs) {
    const result = {};
    for (const [name, value] of pairs) result[name] = value;
    return result;
  }

  const wellFormed = (string) => string.toWellFormed();
  const plainKey = () => wellFormed(key());

  /** Objects with the same keys, mostly. */
  function records(leaf, key) {
    const keys = many(1 + below(6), key);
    return many(below(oneIn(10) ? 400 : 12), () =>
      object(keys.filter(() => !oneIn(30)).map((name) => [name, leaf()])),
    );
  }

  function containers(kind, depth) {
    const { key, leaf, number } = kind;
    const inner = () => value(kind, depth - 1);
    switch (below(8)) {
      case 0:
        return many(below(20), inner);
      case 1:
        return many(size() % 300, oneIn(2) ? () => below(300) : number);
      case 2:
        return records(inner, key);
      case 3:
        return object(many(below(oneIn(20) ? 400 : 8), () => [key(), leaf()]));
      default:
        return object(many(below(8), () => [key(), inner()]));
    }
  }

  function value(kind, depth) {
    return depth > 0 && values-- > 0 && oneIn(2) ? containers(kind, depth) : kind.leaf();
  }

  /** An integer that is safe, not −0, or what is no integer. */
  function plainNumber() {
    const n = number();
    return Number.isInteger(n) && (!Number.isSafeInteger(n) || n === 0) ? below(100) : n;
  }

  /** On what every codec agrees. */
  function plainLeaf() {
    switch (below(6)) {
      case 0:
        return pick([null, true, false]);
      case 1:
      case 2:
        return plainNumber();
      default:
        return wellFormed(text());
    }
  }

  /** All that the reference knows. */
  function anyLeaf() {
    switch (below(18)) {
      case 0:
        return undefined;
      case 1:
        return bigint();
      case 2:
        return date();
      case 3:
        return bytes();
      case 4:
        return new (pick([Uint16Array, Float64Array, Int8Array, BigInt64Array]))(below(9));
      case 5:
        return new Map(many(below(6), () => [plainLeaf(), plainLeaf()]));
      case 6:
        return new Set(many(below(6), plainLeaf));
      case 7:
        return pick([() => 1, Symbol('s'), new Number(4), new String('s'), Object(5n), /x/g]);
      case 8: {
        const json = plainLeaf();
        return { toJSON: () => json };
      }
      case 9:
        return number();
      default:
        return plainLeaf();
    }
  }

  function extLeaf() {
    // Of a type that no codec here gives a meaning.
    if (oneIn(8)) return new Ext(20 + below(40), bytes());
    if (oneIn(8)) return new Timestamp(BigInt.asIntN(64, bigint()), below(1_000_000_000));
    return anyLeaf();
  }

  /** A message in forms that are not the shortest, too. */
  function message(depth = 4) {
    const uint = (width, n) => {
      const out = Buffer.alloc(8);
      out.writeBigUInt64BE(BigInt.asUintN(64, BigInt(n)));
      return out.subarray(8 - width);
    };
    const marked = (marker, ...rest) => Buffer.concat([Buffer.from([marker]), ...rest]);
    switch (below(depth > 0 ? 14 : 9)) {
      case 0:
        return Buffer.from([pick([0xc0, 0xc2, 0xc3, below(128), 0xe0 + below(32)])]);
      case 1: {
        const width = pick([1, 2, 4, 8]);
        return marked(pick([0xcc, 0xd0]) + Math.log2(width), uint(width, bigint()));
      }
      case 2:
        return float64(number());
      case 3:
        return float32(number());
      case 4:
        return bin(bytes());
      case 5:
        return ext(below(256), bytes());
      case 6:
        return ext(
          -1,
          Buffer.concat([uint(4, below(1e9)), uint(8, bigint())]).subarray(12 - pick([4, 8, 12])),
        );
      case 7: {
        const utf8 = oneIn(4) ? Buffer.from(bytes(below(40))) : Buffer.from(text());
        return marked(0xdb, uint(4, utf8.length), utf8);
      }
      case 8:
        return str(text());
      case 9:
      case 10: {
        const n = below(6);
        const items = many(n, () => message(depth - 1));
        return oneIn(5)
          ? marked(0xdd, uint(4, n), ...items)
          : Buffer.concat([arrayHeader(n), ...items]);
      }
      default: {
        const n = below(6);
        const entry = () => [oneIn(8) ? message(0) : str(key()), message(depth - 1)];
        const entries = many(n, entry).flat();
        return oneIn(5)
          ? marked(0xdf, uint(4, n), ...entries)
          : Buffer.concat([mapHeader(n), ...entries]);
      }
    }
  }

  /** Bytes with some of them changed, cut, repeated, or put in. */
  function damage(input) {
    let out = Buffer.from(input);
    for (let times = 1 + below(3); times > 0 && out.length > 0; times--) {
      const at = below(out.length);
      switch (below(6)) {
        case 0:
          out = out.subarray(0, at);
          break;
        case 1:
          out = Buffer.concat([out.subarray(0, at), out.subarray(at + 1 + below(4))]);
          break;
        case 2:
          out = Buffer.concat([
            out.subarray(0, at),
            Buffer.from(bytes(below(9))),
            out.subarray(at),
          ]);
          break;
        case 3:
          out = Buffer.concat([
            out.subarray(0, at),
            out.subarray(below(at + 1), at),
            out.subarray(at),
          ]);
          break;
        case 4:
          out[at] = 0x80 + below(0x80);
          break;
        default:
          out[at] ^= 1 << below(8);
      }
    }
    return out;
  }

  /** Some of these options, each with one of its values. */
  function choose(table) {
    const options = {};
    for (const [name, values] of Object.entries(table)) if (oneIn(3)) options[name] = pick(values);
    return options;
  }

  /** The bytes in pieces, not too many of them. */
  function pieces(input) {
    const out = [];
    const most = Math.max(pick([1, 3, 20, 3000, 100_000]), input.length >> 9);
    for (let at = 0; at < input.length; ) {
      const length = below(most + 1);
      out.push(input.subarray(at, at + length));
      at += length;
    }
    return out;
  }

  return Object.assign(next, {
    bytes,
    choose,
    damage,
    key,
    many,
    message,
    number,
    oneIn,
    pieces,
    text,
    /** All that can be packed. */
    value: () => value({ key, leaf: extLeaf, number }, below(4)),
    /** What the reference packs. */
    standard: () => value({ key, leaf: anyLeaf, number }, below(4)),
    /** On what all codecs agree. */
    plain: () => value({ key: plainKey, leaf: plainLeaf, number: plainNumber }, below(4)),
  });
}

const BOOLEANS = [true, false];

export const PACK_OPTIONS = {
  float32: [false, true, 'always', 'round', 'fit'],
  maxDepth: [1, 2, 5, 100, 1000],
  undefinedAs: ['omit', 'nil', 'throw', 'undefined'],
};

export const UNPACK_OPTIONS = {
  copyBuffers: BOOLEANS,
  int64: ['auto', 'bigint', 'number', 'string'],
  maps: ['object', 'map'],
  maxDepth: [1, 2, 5, 100, 1000],
  timestamps: ['date', 'timestamp'],
  utf8: ['replace', 'fatal', 'raw'],
};

export const PACKR_OPTIONS = {
  ...PACK_OPTIONS,
  ...UNPACK_OPTIONS,
  freeze: BOOLEANS,
  keyFilter: [(name) => name.length !== 2],
  mapsAsObjects: BOOLEANS,
  maxDepth: [100, 1000],
  maxOwnStructures: [0, 1, 5, 64, 500],
  moreTypes: BOOLEANS,
  sequential: BOOLEANS,
  skipValues: [[null, 'a'], []],
  sortKeys: BOOLEANS,
  structuredClone: BOOLEANS,
  useRecords: BOOLEANS,
  variableMapSize: BOOLEANS,
};
