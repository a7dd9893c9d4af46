// Long root arrays and series of messages are handed over in parts: no one can tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, Timestamp, unpack, unpackFrom, unpackMultiple } from '../index.js';
import {
  bytes,
  generator,
  nestArrays,
  sameBytes,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import { arrayHeader } from './reference.mjs';

const SIZES = [255, 256, 257, 5000, 70_000];
const NAMES = ['Ann', 'Bob', 'Zoë', 'Дана', '漢字', '😀', '', 'a name of thirty bytes and one'];

/** Elements by their index. */
const ELEMENTS = {
  records: (i) => ({ id: i, name: NAMES[i % NAMES.length], score: i / 4, on: i % 3 === 0 }),
  strings: (i) => (i % 5 === 0 ? `string ${i}` : NAMES[i % NAMES.length]),
  'nested arrays': (i) => [[i, [NAMES[i % 3], []]], [0.5 + i], Array(i % 20).fill(i)],
  nulls: () => null,
  maps: (i) => ({ [`key ${i % 9000}`]: i, [i % 300]: 'index', é: null }),
  'ever-changing shapes': (i) => ({ [`first ${i % 2500}`]: i, [`then ${i}`]: `${i % 90}` }),
  mixed: (i) => {
    switch (i % 12) {
      case 0:
        return null;
      case 1:
        return i * 1e6;
      case 2:
        return `${i}`;
      case 3:
        return [i, 'x'];
      case 4:
        return { a: i };
      case 5:
        return BigInt(i) + 2n ** 60n;
      case 6:
        return Buffer.from([i & 255]);
      case 7:
        return new Date(i * 1e7);
      case 8:
        return i % 24 === 8;
      case 9:
        return new Ext(i % 100, Buffer.from([7, i & 255]));
      case 10:
        return i % 600 === 10 ? 'é'.repeat(2000) : -i;
      default:
        return {};
    }
  },
};

/** Elements that take many bytes and words each, for shorter arrays. */
const LARGE = {
  dictionaries: (i) =>
    Object.fromEntries(Array.from({ length: 150 }, (_, k) => [`${i % 9} ${k}`, k])),
  'long strings': (i) => `${i} `.repeat(700) + NAMES[i % NAMES.length],
  'arrays of numbers': (i) => Array.from({ length: 200 }, (_, k) => (i % 2 ? k : k / 8)),
  'deep ones': (i) => (i % 50 === 0 ? nestArrays(400, `bottom ${i}`) : nestArrays(i % 9, i)),
};

const list = (n, element) => Array.from({ length: n }, (_, i) => element(i));

/** The same message whatever way it comes; `header` is how many bytes the array's own is. */
function everyWay(values, message = pack(values), header = arrayHeader(values.length).length) {
  // A value of many thousands of objects is compared once, then by its bytes.
  const same = (value) =>
    values.length > 5000 ? sameBytes(pack(value), message) : assert.deepStrictEqual(value, values);
  assert.deepStrictEqual(unpack(message), values);
  const { value, end } = unpackFrom(message);
  same(value);
  assert.equal(end, message.length);
  same(unpackMultiple(message.subarray(header)));
  const within = unpackFrom(Buffer.concat([bytes('c1c1c1'), message, bytes('c1')]), 3);
  same(within.value);
  assert.equal(within.end, 3 + message.length);
}

for (const [name, element] of Object.entries(ELEMENTS)) {
  for (const n of SIZES) {
    test(`${n} ${name}`, () => {
      everyWay(list(n, element));
      stillWorks();
    });
  }
}

for (const [name, element] of Object.entries(LARGE)) {
  for (const n of [255, 256, 700]) {
    test(`${n} ${name}`, () => {
      everyWay(list(n, element));
      stillWorks();
    });
  }
}

test('an array that starts with numbers, or turns to them, or is all numbers', () => {
  for (const n of [256, 5000]) {
    const rest = list(n, ELEMENTS.records);
    everyWay([1, ...rest]);
    everyWay([0.5, ...rest]);
    everyWay([2n ** 60n, ...rest]);
    everyWay([null, ...list(n, (i) => i)]);
    everyWay(list(n, (i) => (i < n - 1 ? i : 'the last')));
    everyWay(list(n, (i) => (i < n - 1 ? i / 8 : null)));
    everyWay(list(n, (i) => i));
    everyWay(list(n, (i) => i / 8));
  }
});

test('headers wider than needed', () => {
  const values = list(700, ELEMENTS.records);
  const elements = pack(values).subarray(3);
  everyWay(values, Buffer.concat([bytes('dd000002bc'), elements]), 5);
  for (const n of [0, 1, 3, 255]) {
    const few = values.slice(0, n);
    const header = Buffer.from([0xdd, 0, 0, 0, n]);
    assert.deepStrictEqual(unpack(Buffer.concat([header, ...few.map((v) => pack(v))])), few);
  }
});

test('inputs of every kind', () => {
  const values = list(5000, ELEMENTS.records);
  const message = pack(values);
  const memory = new ArrayBuffer(message.length + 7);
  const view = new Uint8Array(memory, 5, message.length);
  view.set(message);
  assert.deepStrictEqual(unpack(view), values);
  assert.deepStrictEqual(unpack(new DataView(memory, 5, message.length)), values);
  assert.deepStrictEqual(unpack(memory.slice(5, 5 + message.length)), values);
  const shared = new SharedArrayBuffer(message.length);
  new Uint8Array(shared).set(message);
  assert.deepStrictEqual(unpack(shared), values);
  assert.deepStrictEqual(unpack(new Uint8Array(shared)), values);
  assert.deepStrictEqual(unpackMultiple(new Uint8Array(shared)), [values]);
});

test('a result is an array like others: no holes, its own', () => {
  const message = pack(list(5000, ELEMENTS.nulls));
  const first = unpack(message);
  const second = unpack(message);
  assert.notEqual(first, second);
  assert.equal(first.length, 5000);
  assert.equal(Object.keys(first).length, 5000);
  assert.equal(Object.getPrototypeOf(first), Array.prototype);
  first.push(1);
  first[0] = 'changed';
  assert.equal(second.length, 5000);
  assert.equal(second[0], null);
});

test('unpackMultiple: thousands of small messages, and large arrays', () => {
  for (const element of Object.values(ELEMENTS)) {
    const values = list(9000, element);
    assert.deepStrictEqual(unpackMultiple(Buffer.concat(values.map((v) => pack(v)))), values);
  }
  const arrays = list(12, (i) => list(i % 3 === 0 ? 3 : 5000, ELEMENTS.records));
  const series = Buffer.concat(arrays.map((v) => pack(v)));
  assert.deepStrictEqual(unpackMultiple(series), arrays);
  let at = 0;
  for (const array of arrays) {
    const { value, end } = unpackFrom(series, at);
    assert.deepStrictEqual(value, array);
    at = end;
  }
  assert.equal(at, series.length);
  stillWorks();
});

/** A long array's elements as bytes, one of them replaced, and where that one is. */
function damaged(elements, at, replacement) {
  const parts = elements.slice();
  parts[at] = bytes(replacement);
  const offset = parts.slice(0, at).reduce((sum, part) => sum + part.length, 0);
  return { body: Buffer.concat(parts), offset };
}

/** Bytes of one element, the code of its fault, where in it that is, and the options. */
const FAULTS = [
  ['c1', 'ERR_MSGPACK_INVALID_BYTE', 0],
  ['93 01 a161 c1', 'ERR_MSGPACK_INVALID_BYTE', 4],
  ['81 c1 01', 'ERR_MSGPACK_INVALID_BYTE', 1],
  ['81 c0 01', 'ERR_MSGPACK_KEY', 1],
  ['82 a26964 01 c40161 02', 'ERR_MSGPACK_KEY', 5],
  ['82 a26964 01 90 02', 'ERR_MSGPACK_KEY', 5],
  ['d5ff0000', 'ERR_MSGPACK_TIMESTAMP', 0],
  ['92 a2616a d7ffffffffff00000000', 'ERR_MSGPACK_TIMESTAMP', 4],
  ['a2c328', 'ERR_MSGPACK_INVALID_UTF8', 0, { utf8: 'fatal' }],
  ['81 a26964 a1ff', 'ERR_MSGPACK_INVALID_UTF8', 4, { utf8: 'fatal' }],
  ['81 a1ff 01', 'ERR_MSGPACK_INVALID_UTF8', 1, { utf8: 'fatal' }],
  ['91 91 91 90', 'ERR_MSGPACK_DEPTH', 3, { maxDepth: 4 }],
  ['91 91 81 a161 80', 'ERR_MSGPACK_DEPTH', 5, { maxDepth: 4 }],
];

for (const [wire, code, behind, options] of FAULTS) {
  test(`${code} (${wire}) in every part: exact offset, and the next call is right`, () => {
    const n = 5000;
    const values = list(n, ELEMENTS.records);
    const elements = values.map((value) => pack(value));
    const header = arrayHeader(n);
    const good = Buffer.concat([header, ...elements]);
    // The array is a level of its own, which a series has not.
    const inSeries = options?.maxDepth === undefined ? options : { maxDepth: 3 };
    for (const at of [0, 1, 255, 256, 1000, 2500, n - 2, n - 1]) {
      const { body, offset } = damaged(elements, at, wire);
      const message = Buffer.concat([header, body]);
      const place = header.length + offset + behind;
      throwsCode(() => unpack(message, options), code, { offset: place });
      throwsCode(() => unpackFrom(message, 0, options), code, { offset: place });
      const within = Buffer.concat([bytes('c1c1'), message, bytes('c1')]);
      throwsCode(() => unpackFrom(within, 2, options), code, { offset: 2 + place });
      throwsCode(() => unpackMultiple(body, inSeries), code, { offset: offset + behind });
    }
    assert.deepStrictEqual(unpack(good), values);
    stillWorks();
  });
}

test('bytes behind: exact offset from unpack, none of its business for unpackFrom', () => {
  for (const [name, element] of Object.entries(ELEMENTS)) {
    for (const n of [255, 256, 257, 5000]) {
      const values = list(n, element);
      const message = pack(values);
      for (const extra of ['00', 'c1', '93', 'dc0fff', 'a161a162']) {
        const more = Buffer.concat([message, bytes(extra)]);
        const place = { offset: message.length };
        throwsCode(() => unpack(more), 'ERR_MSGPACK_EXTRA_BYTES', place);
      }
      const more = Buffer.concat([message, bytes('c1')]);
      assert.equal(unpackFrom(more).end, message.length, name);
      assert.deepStrictEqual(unpack(message), values);
    }
  }
});

test('truncated at many points: nothing but truncation, and the next call is right', (t) => {
  const random = generator(seedOf(t));
  const both = { ...ELEMENTS, ...LARGE };
  for (const [name, element] of Object.entries(both)) {
    const values = list(name in LARGE ? 260 : 2000, element);
    const message = pack(values);
    const sizes = list(25, () => random.below(message.length));
    sizes.push(...list(20, (i) => message.length - 1 - i), ...list(6, (i) => i));
    for (const size of sizes) {
      const cut = message.subarray(0, size);
      for (const run of [
        () => unpack(cut),
        () => unpackFrom(cut),
        () => unpackFrom(message.subarray(0, size), 0, { maps: 'map' }),
      ]) {
        const { offset } = throwsCode(run, 'ERR_MSGPACK_TRUNCATED');
        assert.ok(offset >= 0 && offset <= size, `${name}: offset ${offset} of ${size}`);
      }
    }
    assert.deepStrictEqual(unpack(message), values, name);
  }
  stillWorks();
});

test('a series that is truncated anywhere but between two messages', (t) => {
  const random = generator(seedOf(t));
  const values = list(4000, ELEMENTS.records);
  const messages = values.map((value) => pack(value));
  const series = Buffer.concat(messages);
  let end = 0;
  for (let i = 0; i < messages.length; i++) {
    const start = end;
    end += messages[i].length;
    if (i % 97 !== 0 && i < messages.length - 3) continue;
    const size = start + 1 + random.below(end - start - 1);
    throwsCode(() => unpackMultiple(series.subarray(0, size)), 'ERR_MSGPACK_TRUNCATED');
    assert.deepStrictEqual(unpackMultiple(series.subarray(0, end)), values.slice(0, i + 1));
  }
  stillWorks();
});

test('a claim of more elements than there are bytes, before and after the first part', () => {
  const elements = list(5000, () => bytes('c0'));
  for (const n of [5001, 65_535]) {
    const message = Buffer.concat([arrayHeader(n), ...elements]);
    throwsCode(() => unpack(message), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  }
  for (const claim of ['dc1388', 'dd00001388', 'de1388', 'dd7fffffff', 'dfffffffff']) {
    for (const at of [10, 4000, 4999]) {
      const { body, offset } = damaged(elements, at, claim);
      const message = Buffer.concat([arrayHeader(5000), body]);
      throwsCode(() => unpack(message), 'ERR_MSGPACK_TRUNCATED', { offset: 3 + offset });
    }
  }
  // What the elements behind it need is not there for it.
  const { body, offset } = damaged(elements, 10, 'dc1000');
  const message = Buffer.concat([arrayHeader(5000), body]);
  throwsCode(() => unpack(message), 'ERR_MSGPACK_TRUNCATED', { offset: 3 + offset });
  stillWorks();
});

test('maxDepth counts a long array once, as pack does', () => {
  for (const n of [1, 255, 256, 257, 5000, 20_000]) {
    for (let depth = 1; depth < 6; depth++) {
      for (const bottom of [null, [], {}, [1, 2], { a: 1 }]) {
        const values = list(n, ELEMENTS.nulls);
        values[n - 1] = nestArrays(depth - 1, bottom);
        const message = pack(values);
        const levels = depth + (bottom === null ? 0 : 1);
        for (const maxDepth of [levels - 1, levels, levels + 1]) {
          if (maxDepth === 0) continue;
          const options = { maxDepth };
          if (maxDepth < levels) {
            throwsCode(() => pack(values, options), 'ERR_MSGPACK_DEPTH');
            const place = { offset: message.length - pack(bottom).length };
            if (bottom === null) place.offset--;
            throwsCode(() => unpack(message, options), 'ERR_MSGPACK_DEPTH', place);
            throwsCode(() => unpackFrom(message, 0, options), 'ERR_MSGPACK_DEPTH', place);
            throwsCode(() => unpackMultiple(message, options), 'ERR_MSGPACK_DEPTH', place);
          } else {
            assert.deepStrictEqual(pack(values, options), message);
            assert.deepStrictEqual(unpack(message, options), values);
            assert.equal(unpackFrom(message, 0, options).end, message.length);
            assert.equal(unpackMultiple(message, options).length, 1);
          }
        }
      }
    }
  }
  stillWorks();
});

test('1000 levels in a late part, and one more', () => {
  const values = list(5000, ELEMENTS.records);
  values[4990] = nestArrays(999, 'bottom');
  const message = pack(values);
  assert.deepStrictEqual(unpack(message), values);
  values[4990] = nestArrays(1000, 'bottom');
  throwsCode(() => pack(values), 'ERR_MSGPACK_DEPTH');
  throwsCode(() => unpack(pack(values, { maxDepth: 1001 })), 'ERR_MSGPACK_DEPTH');
  assert.deepStrictEqual(unpack(pack(values, { maxDepth: 1001 }), { maxDepth: 1001 }), values);
});

test('maps: map', () => {
  for (const n of SIZES.slice(0, 4)) {
    const maps = list(
      n,
      (i) =>
        new Map([
          ['id', i],
          [i, new Map([[null, NAMES[i % 8]]])],
          [0.5, [new Map()]],
        ]),
    );
    assert.deepStrictEqual(unpack(pack(maps), { maps: 'map' }), maps);
    assert.deepStrictEqual(unpackMultiple(pack(maps).subarray(3), { maps: 'map' }), maps);
    // Without the option nil is no key: of the first map's second value.
    throwsCode(() => unpack(pack(maps)), 'ERR_MSGPACK_KEY', { offset: 3 + 7 });
  }
});

test('int64, in every mode', () => {
  const wide = (i) => (i % 2 === 0 ? 2n ** 40n + BigInt(i) : -(2n ** 63n) + BigInt(i));
  const values = list(5000, (i) => [null, wide(i), { id: wide(i) }, [wide(i), 1]]);
  const message = pack(values);
  const with64 = (convert) =>
    list(5000, (i) => {
      const x = convert(wide(i));
      return [null, x, { id: x }, [x, 1]];
    });
  const auto = with64((x) => (Number.isSafeInteger(Number(x)) ? Number(x) : x));
  assert.deepStrictEqual(unpack(message), auto);
  assert.deepStrictEqual(unpack(message, { int64: 'bigint' }), values);
  assert.deepStrictEqual(unpack(message, { int64: 'number' }), with64(Number));
  assert.deepStrictEqual(unpack(message, { int64: 'string' }), with64(String));
});

test('timestamps', () => {
  const stamps = list(5000, (i) => ({ at: new Timestamp(BigInt(i) * 7_000_000n, i * 1001) }));
  const dates = stamps.map(({ at }) => ({ at: at.toDate() }));
  const message = pack(stamps);
  assert.deepStrictEqual(unpack(message, { timestamps: 'timestamp' }), stamps);
  assert.deepStrictEqual(unpack(message), dates);
  // Far out is a Timestamp, but no Date.
  stamps[4800] = { at: new Timestamp(2n ** 60n, 5) };
  const far = pack(stamps);
  const offset = pack(stamps.slice(0, 4800)).length + 4;
  assert.deepStrictEqual(unpack(far, { timestamps: 'timestamp' }), stamps);
  throwsCode(() => unpack(far), 'ERR_MSGPACK_TIMESTAMP', { offset });
});

test('bin and ext lie in the input itself; with copyBuffers they do not', () => {
  const values = list(5000, (i) => ({
    b: Buffer.from([i & 255, 1]),
    e: new Ext(3, Buffer.from([i & 127])),
  }));
  const message = Buffer.from(pack(values));
  const before = Buffer.concat([bytes('c1c1'), message]);
  for (const [value, input] of [
    [unpack(message), message],
    [unpackFrom(before, 2).value, before],
    [unpackMultiple(message)[0], message],
  ]) {
    assert.deepStrictEqual(value, values);
    for (const i of [0, 2500, 4999]) {
      const { b, e } = value[i];
      assert.equal(b.buffer, input.buffer);
      assert.equal(e.data.buffer, input.buffer);
      const at = b.byteOffset - input.byteOffset;
      assert.deepStrictEqual([input[at - 2], input[at - 1], input[at]], [0xc4, 2, i & 255]);
    }
  }
  const copies = unpack(message, { copyBuffers: true });
  message.fill(0xee);
  assert.deepStrictEqual(copies, values);
  assert.equal(new Set(copies.map(({ b }) => b.buffer)).size, 5000);
});

test('utf8: raw, fatal and replace', () => {
  const raw = list(5000, (i) => (i % 5 === 0 ? bytes('a3 61ff62') : pack(`fine ${i} é`)));
  const message = Buffer.concat([arrayHeader(5000), ...raw]);
  const expected = (damaged) => list(5000, (i) => (i % 5 === 0 ? damaged : `fine ${i} é`));
  assert.deepStrictEqual(unpack(message), expected('a\ufffdb'));
  assert.deepStrictEqual(unpack(message, { utf8: 'raw' }), expected(bytes('61ff62')));
  throwsCode(() => unpack(message, { utf8: 'fatal' }), 'ERR_MSGPACK_INVALID_UTF8', { offset: 3 });
});

test('one after the other, long and short, good and bad, in any order', (t) => {
  const random = generator(seedOf(t));
  const kinds = Object.values(ELEMENTS);
  const messages = list(14, (i) => {
    const values = list([1, 255, 256, 600, 2000][i % 5], kinds[i % kinds.length]);
    return { values, message: pack(values) };
  });
  for (let round = 0; round < 150; round++) {
    const { values, message } = random.pick(messages);
    switch (random.below(4)) {
      case 0:
        throwsCode(
          () => unpack(message.subarray(0, random.below(message.length))),
          'ERR_MSGPACK_TRUNCATED',
        );
        break;
      case 1: {
        const other = random.pick(messages);
        const both = Buffer.concat([message, other.message]);
        assert.deepStrictEqual(unpackMultiple(both), [values, other.values]);
        break;
      }
      case 2:
        assert.equal(unpackFrom(message).end, message.length);
        break;
      default:
        assert.deepStrictEqual(unpack(message), values);
    }
  }
  stillWorks();
});
