// Messages in every form of the wire, damaged ones among them, for the tests of looking.
import { generator } from './helpers.mjs';

const INT64 = ['auto', 'bigint', 'number', 'string'];
const UTF8 = ['replace', 'fatal', 'raw'];
const MAPS = ['object', 'map'];
const TIMESTAMPS = ['date', 'timestamp'];
const DEPTHS = [undefined, 1, 2, 3, 6];

/** Every set of options that changes what unpacks. */
export const OPTION_SETS = INT64.flatMap((int64) =>
  UTF8.flatMap((utf8) =>
    MAPS.flatMap((maps) =>
      TIMESTAMPS.flatMap((timestamps) =>
        DEPTHS.map((maxDepth) => ({ int64, utf8, maps, timestamps, maxDepth })),
      ),
    ),
  ),
);

const TEXTS = [
  '',
  'a',
  'id',
  'name',
  '__proto__',
  '7',
  '-1',
  '1.5',
  'é',
  '漢字',
  '😀',
  'x'.repeat(40),
];
const DAMAGED = ['ff', '61ff', 'e6bc', 'c3', 'f09f98', '80', 'eda080'];

/** Makes messages, `tags` being ext types that stand in front of a value. */
export function wireOf(seed, { tags = [] } = {}) {
  const next = generator(seed);
  const noise = (n) => Buffer.from(Array.from({ length: n }, () => next.below(256)));
  const head = (first, ...rest) => Buffer.concat([Buffer.from([first]), ...rest]);
  const field = (width, n) => {
    const bytes = Buffer.alloc(width);
    bytes.writeUIntBE(n, 0, width);
    return bytes;
  };

  function text() {
    return next.below(8) > 0
      ? Buffer.from(next.pick(TEXTS))
      : Buffer.from(next.pick(DAMAGED), 'hex');
  }

  function str(bytes = text()) {
    const widths = [0, 1, 2, 4].filter((width) => width > 0 || bytes.length < 32);
    const width = next.below(3) > 0 ? widths[0] : next.pick(widths);
    if (width === 0) return head(0xa0 | bytes.length, bytes);
    return head(0xd9 + Math.log2(width), field(width, bytes.length), bytes);
  }

  function number() {
    const first = next.pick([
      0x07, 0x40, 0xff, 0xe0, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3,
    ]);
    if (first < 0xca || first >= 0xe0) return head(first);
    const width = first < 0xcc ? 4 << (first - 0xca) : 1 << ((first - 0xcc) & 3);
    const bytes = next.below(2) > 0 ? noise(width) : field(Math.min(width, 4), next.below(200));
    return head(first, Buffer.alloc(width - bytes.length), bytes);
  }

  function bin() {
    const bytes = noise(next.below(20));
    const width = next.pick([1, 2, 4]);
    return head(0xc4 + Math.log2(width), field(width, bytes.length), bytes);
  }

  function ext() {
    const type = next.pick([0xff, 0xff, 5, 0x80, ...tags]);
    const length = next.pick([0, 1, 2, 4, 4, 8, 8, 12, 12, 16, 3]);
    let data = noise(length);
    // Times, most of them.
    if (type === 0xff && next.below(4) > 0) data = Buffer.alloc(length, next.below(2));
    const fixed = [1, 2, 4, 8, 16].indexOf(length);
    if (fixed >= 0 && next.below(3) > 0) return head(0xd4 + fixed, Buffer.from([type]), data);
    const width = next.pick([1, 2, 4]);
    return head(0xc7 + Math.log2(width), field(width, length), Buffer.from([type]), data);
  }

  function container(isMap, count, entries) {
    const widths = [0, 2, 4].filter((width) => width > 0 || count < 16);
    const width = next.below(3) > 0 ? widths[0] : next.pick(widths);
    const header =
      width === 0
        ? head((isMap ? 0x80 : 0x90) | count)
        : head((isMap ? 0xde : 0xdc) + (width >> 2), field(width, count));
    return Buffer.concat([header, ...entries]);
  }

  const list = (length, make) => Array.from({ length }, make);

  function array(depth) {
    const count = next.pick([0, 1, 2, 3, 5, 20]);
    const kind = next.below(6);
    if (kind === 0) return container(false, count, list(count, number));
    if (kind === 1)
      return container(
        false,
        count,
        list(count, () => head(0xcb, noise(8))),
      );
    if (kind === 2) {
      const points = () =>
        container(
          false,
          2,
          list(2, () => head(0xcb, noise(8))),
        );
      return container(false, count, list(count, points));
    }
    return container(
      false,
      count,
      list(count, () => value(depth - 1)),
    );
  }

  function key(depth) {
    const kind = next.below(40);
    if (kind === 0) return value(depth);
    return kind < 8 ? number() : str();
  }

  function map(depth) {
    const count = next.pick([0, 1, 2, 3, 5, 20]);
    const pair = () => Buffer.concat([key(depth - 1), value(depth - 1)]);
    return container(true, count, list(count, pair));
  }

  function tag(depth) {
    const type = Buffer.from([next.pick(tags)]);
    const data = next.below(4) > 0 ? [head(0xd4), type, noise(1)] : [head(0xc7, field(1, 0)), type];
    return Buffer.concat([...data, value(depth)]);
  }

  function value(depth = next.below(5)) {
    const kind = next.below(depth > 0 ? 14 : 7);
    if (kind === 0) return head(next.pick([0xc0, 0xc2, 0xc3]));
    if (kind < 3) return number();
    if (kind < 5) return str();
    if (kind === 5) return bin();
    if (kind === 6) return tags.length > 0 && next.below(2) > 0 ? tag(depth) : ext();
    return kind < 10 ? array(depth) : map(depth);
  }

  /** The same with a byte or two changed, taken away or put in. */
  function damage(message) {
    const bytes = [...message];
    for (let left = 1 + next.below(2); left > 0; left--) {
      const at = next.below(bytes.length + 1);
      const byte = next.pick([next.below(256), 0xc1, 0xdd, 0xdf, 0xdb, 0xc9, 0x91, 0x8f, 0xc0]);
      const how = next.below(3);
      if (how === 0) bytes.splice(at, 1, byte);
      else if (how === 1) bytes.splice(at, 1);
      else bytes.splice(at, 0, byte);
    }
    return Buffer.from(bytes);
  }

  return { damage, next, noise, text, value };
}
