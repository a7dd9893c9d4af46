// Short strings and dictionary keys that come again are handed out again: never the wrong one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pack, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { bytes, checkError, generator, seedOf, stillWorks, throwsCode } from './helpers.mjs';

/** Names that a careless codec trips over, as keys and as values. */
const ODD = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__defineGetter__',
  '__lookupSetter__',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  'toJSON',
  'length',
  '',
  '0',
  '19',
  '-1',
  '01',
  '1.5',
  '4294967294',
  '4294967295',
  '4294967296',
  '9007199254740993',
  'é',
  'Дана',
  '漢字',
  '😀',
  '\u0000',
  'a\u0000',
  'a\u0000b',
  'null',
  'undefined',
  'x'.repeat(26),
  'x'.repeat(27),
  'x'.repeat(28),
  'x'.repeat(29),
  'é'.repeat(13),
  'é'.repeat(14),
  `${'é'.repeat(13)}x`,
];

const list = (n, element) => Array.from({ length: n }, (_, i) => element(i));

/** A plain object with these own properties, `__proto__` included. */
const object = (entries) => Object.fromEntries(entries);

/** Packed by way of a Map, which keeps every entry in its order. */
const packEntries = (entries) => pack(new Map(entries));

/** The properties are just these, own, in order, and nothing was inherited. */
function hasEntries(value, entries) {
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepStrictEqual(Object.entries(value), Object.entries(object(entries)));
}

test('a few strings, thousands of times: alone, in arrays, in records, in series', () => {
  const names = list(40, (i) => `name ${i}`);
  const records = list(6000, (i) => ({ name: names[i % 40], of: names[(i * 7) % 40], i }));
  const strings = list(20_000, (i) => names[(i * 13) % 40]);
  for (let round = 0; round < 3; round++) {
    for (const name of names) for (let i = 0; i < 50; i++) assert.equal(unpack(pack(name)), name);
    assert.deepStrictEqual(unpack(pack(strings)), strings);
    assert.deepStrictEqual(unpack(pack(records)), records);
    assert.deepStrictEqual(unpack(pack({ records })), { records });
    assert.deepStrictEqual(unpackMultiple(Buffer.concat(strings.map((s) => pack(s)))), strings);
    for (const record of records.slice(0, 300))
      assert.deepStrictEqual(unpack(pack(record)), record);
  }
});

test('100 000 distinct strings in rotation', () => {
  const text = (i) => `value ${(i * 7919) % 100_000}`;
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 100_000; at += 2500) {
      // Half of each message repeats itself, so that it stays worthwhile to look them up.
      const strings = list(5000, (i) => text(at + (i % 2500)));
      assert.deepStrictEqual(unpack(pack(strings)), strings);
      assert.deepStrictEqual(unpack(pack({ strings })), { strings });
    }
  }
});

test('strings that differ in one byte, of every length up to 40', () => {
  for (let size = 1; size <= 40; size++) {
    const base = 'm'.repeat(size);
    const strings = [base, base.slice(1), `${base}m`];
    for (let at = 0; at < size; at++) {
      for (const other of ['n', 'M', '\u0000', '\u007f']) {
        strings.push(base.slice(0, at) + other + base.slice(at + 1));
      }
    }
    const message = pack(strings);
    const dictionaries = [new Set(strings)].map((set) =>
      [...set, ...list(130, (i) => `filler ${i}`)].map((key, i) => [key, i]),
    );
    for (let round = 0; round < 4; round++) {
      assert.deepStrictEqual(unpack(message), strings);
      // The last string ends where the input does.
      for (const s of strings) assert.equal(unpack(pack(s)), s);
      for (const entries of dictionaries) hasEntries(unpack(packEntries(entries)), entries);
    }
  }
});

test('26 to 29 bytes, at the end of the input and before other bytes', () => {
  for (const unit of ['a', 'é', '漢', '😀']) {
    for (let size = 20; size <= 40; size++) {
      const filler = unit.repeat(Math.floor(size / Buffer.byteLength(unit)));
      const strings = list(20, (i) => `${filler}${String.fromCharCode(97 + i)}`);
      const values = [...strings, ...strings, ...strings];
      assert.deepStrictEqual(unpack(pack(values)), values);
      for (const s of values) {
        assert.equal(unpack(pack(s)), s);
        assert.equal(unpackFrom(Buffer.concat([pack(s), bytes('ff ff')])).value, s);
        assert.equal(unpackFrom(Buffer.concat([pack(s), Buffer.alloc(40, 'a')])).value, s);
      }
      const entries = [...strings, ...list(130, (i) => `${i}k`)].map((key) => [key, key]);
      for (let round = 0; round < 3; round++) hasEntries(unpack(packEntries(entries)), entries);
    }
  }
});

test('odd names as values, again and again', () => {
  const values = list(ODD.length * 40, (i) => ODD[(i * 17) % ODD.length]);
  for (let round = 0; round < 20; round++) {
    assert.deepStrictEqual(unpack(pack(values)), values);
    assert.deepStrictEqual(unpack(pack({ values })), { values });
    for (const s of ODD) assert.equal(unpack(pack(s)), s);
  }
  stillWorks();
});

test('odd names as keys: of records, of maps that fit no shape, of dictionaries', () => {
  for (const size of [0, 5, 90, 128, 129, 200, 3000]) {
    for (let round = 0; round < 8; round++) {
      const filler = list(size, (i) => [`key ${i * (round % 3)} ${i}`, `value ${i % 9}`]);
      const odd = ODD.map((name, i) => [name, ODD[(i + round) % ODD.length]]);
      for (const entries of [
        [...odd, ...filler],
        [...filler, ...odd],
        [...filler.slice(size / 2), ...odd, ...filler.slice(0, size / 2)],
      ]) {
        hasEntries(unpack(packEntries(entries)), entries);
        const [behind, value, again] = unpack(
          Buffer.concat([bytes('93 a162'), packEntries(entries), packEntries(entries)]),
        );
        assert.equal(behind, 'b');
        hasEntries(value, entries);
        hasEntries(again, entries);
      }
    }
  }
  assert.equal(Object.getPrototypeOf({}), Object.prototype);
  stillWorks();
});

test('every odd name alone behind a number as the key before it', () => {
  for (const name of ODD) {
    for (const before of [1, -7, 0.5, 2 ** 40]) {
      const entries = [
        [before, 'a'],
        [name, 'b'],
        ['last', name],
      ];
      for (let round = 0; round < 4; round++) {
        const message = packEntries(entries);
        hasEntries(unpack(message), [[String(before), 'a'], ...entries.slice(1)]);
        assert.deepStrictEqual([...unpack(message, { maps: 'map' })], entries);
      }
    }
  }
});

test('the last of equal keys wins, in a dictionary too', () => {
  for (const name of ODD) {
    const pairs = list(200, (i) => [pack(`k${i % 150}`), pack(i)]).flat();
    const twice = [pack(name), pack('first'), ...pairs, pack(name), pack('last')];
    const message = Buffer.concat([bytes('de00ca'), ...twice]);
    const entries = [[name, 'last'], ...list(150, (i) => [`k${i}`, i < 50 ? i + 150 : i])];
    for (let round = 0; round < 3; round++) hasEntries(unpack(message), entries);
  }
});

test('more than 32 768 distinct keys in rotation, and large dictionaries among them', () => {
  const key = (i) => `key ${(i * 7919) % 90_000}`;
  for (let at = 0; at < 180_000; at += 1500) {
    const entries = list(1500, (i) => [key(at + i), i]);
    const message = packEntries(entries);
    hasEntries(unpack(message), entries);
    if (at % 9000 === 0) hasEntries(unpack(message), entries);
  }
  for (const n of [16_383, 16_384, 16_385, 40_000]) {
    const entries = list(n, (i) => [key(i), `${i % 50}`]);
    const message = packEntries(entries);
    for (let round = 0; round < 2; round++) hasEntries(unpack(message), entries);
  }
});

test('many dictionaries in one message, more keys than are remembered', () => {
  const dictionaries = list(300, (d) =>
    list(200, (i) => [`${(d * 131 + i * 7) % 50_000}`, `${i}`]),
  );
  const shared = list(600, (d) => list(130, (i) => [`shared ${(d + i) % 190}`, `is ${d % 40}`]));
  const messages = [...dictionaries, ...shared].map((entries) => packEntries(entries));
  const header = Buffer.from([0xdc, messages.length >> 8, messages.length & 255]);
  for (let round = 0; round < 2; round++) {
    const values = unpack(Buffer.concat([header, ...messages]));
    const series = unpackMultiple(Buffer.concat(messages));
    for (const [i, entries] of [...dictionaries, ...shared].entries()) {
      hasEntries(values[i], entries);
      hasEntries(series[i], entries);
    }
  }
});

/** Ways in which a message of `good` bytes fails after it has taught new strings and keys. */
function* failures(good, random) {
  for (let i = 0; i < 3; i++) yield [good.subarray(0, random.below(good.length)), undefined];
  yield [good.subarray(0, good.length - 1), undefined];
  yield [Buffer.concat([good, bytes('00')]), undefined];
  yield [Buffer.concat([bytes('92'), good, bytes('c1')]), undefined];
  yield [Buffer.concat([bytes('92'), good, bytes('81c001')]), undefined];
  yield [Buffer.concat([bytes('92'), good, bytes('a1ff')]), { utf8: 'fatal' }];
  yield [good, { maxDepth: 1 }];
}

test('messages that fail in between teach nothing', (t) => {
  const random = generator(seedOf(t));
  let next = 0;
  for (let round = 0; round < 250; round++) {
    const fresh = list(60, () => `fresh ${next++}`);
    const names = [...fresh, ...ODD];
    const strings = list(150, () => random.pick(names));
    const entries = [...new Set([...list(140, () => random.pick(names)), ...fresh])]
      .concat(list(70, (i) => `k${i}`))
      .map((key) => [key, random.pick(names)]);
    const good = Buffer.concat([bytes('93'), pack(strings), packEntries(entries), pack([[1]])]);
    for (const [bad, options] of failures(good, random)) {
      assert.throws(
        () => unpack(bad, options),
        (error) => {
          checkError(error);
          return true;
        },
      );
      if (random.below(3) === 0) {
        // Other strings and keys take the places of those that failed.
        const others = list(20, (i) => `other ${random.below(500)} ${i}`);
        assert.deepStrictEqual(unpack(pack([...others, ...others])), [...others, ...others]);
      }
    }
    const [value, dictionary, nested] = unpack(good);
    assert.deepStrictEqual(value, strings);
    hasEntries(dictionary, entries);
    assert.deepStrictEqual(nested, [[1]]);
  }
  stillWorks();
});

test('a long array that fails in a late part: what the parts before it taught stays right', (t) => {
  const random = generator(seedOf(t));
  for (let round = 0; round < 12; round++) {
    const text = () => `r${round} ${random.below(400)}`;
    const records = list(4000, (i) =>
      i % 100 === 0
        ? object(list(135, (k) => [`d${round} ${k}`, text()]))
        : { name: text(), of: text() },
    );
    const good = pack(records);
    for (let i = 0; i < 4; i++) {
      const cut = good.subarray(0, good.length - random.below(good.length >> (2 * i)) - 1);
      throwsCode(() => unpack(cut), 'ERR_MSGPACK_TRUNCATED');
    }
    throwsCode(() => unpack(Buffer.concat([good, good])), 'ERR_MSGPACK_EXTRA_BYTES');
    assert.deepStrictEqual(unpack(good), records);
    assert.deepStrictEqual(unpackMultiple(Buffer.concat([good, good])), [records, records]);
  }
});

test('messages that cannot be built for want of stack teach nothing', () => {
  let next = 0;
  let failed = 0;
  const tried = [];
  const nested = (inner) => list(120, () => 0).reduce((value) => [value], inner);
  for (const isLong of [false, true]) {
    // What takes the stack comes first: what is new behind it is parsed, but never built.
    const message = () => {
      const fresh = list(30, () => `unbuilt ${next++}`);
      const entries = list(140, (i) => [`${fresh[i % 30]} ${i % 7}`, fresh[i % 30]]);
      const value = [nested('x'), ...fresh, ...fresh, object(entries), ...fresh];
      return isLong ? [...list(300, () => null), ...value] : value;
    };
    const attempt = () => {
      const value = message();
      const packed = pack(value);
      tried.push([value, packed]);
      unpack(packed);
    };
    attempt();
    const dive = (after) => {
      try {
        dive(after);
      } catch {
        // On the way back from where the stack ended there is a little more at every level.
      }
      if (after.left-- > 0) {
        try {
          attempt();
        } catch (error) {
          if (error.name !== 'RangeError') checkError(error, ['ERR_MSGPACK_DEPTH']);
          failed++;
        }
      }
    };
    dive({ left: 400 });
    for (let round = 0; round < 2; round++) {
      for (const [value, packed] of tried) assert.deepStrictEqual(unpack(packed), value);
    }
  }
  assert.ok(failed > 10, `${failed} failed`);
  stillWorks();
});

test('any order of everything, against what went in', (t) => {
  const random = generator(seedOf(t));
  const word = () => {
    switch (random.below(6)) {
      case 0:
        return random.pick(ODD);
      case 1:
        return `${random.below(50_000)}`;
      case 2:
        return 'ab'.repeat(random.below(16)) + random.below(4);
      case 3:
        return `é${random.below(30)}`;
      default:
        return `common ${random.below(60)}`;
    }
  };
  for (let round = 0; round < 1500; round++) {
    const strings = list(random.below(60), word);
    const size = random.pick([3, 20, 127, 128, 129, 140, 300]);
    const entries = [...new Set(list(size, word))].map((key) => [key, word()]);
    const message = Buffer.concat([bytes('93'), pack(strings), packEntries(entries), pack(word())]);
    const options = random.below(5) === 0 ? { utf8: random.pick(['raw', 'fatal']) } : undefined;
    if (random.below(4) === 0) {
      const cut = message.subarray(0, random.below(message.length));
      throwsCode(() => unpack(cut, options), 'ERR_MSGPACK_TRUNCATED');
    }
    const [value, dictionary] = unpack(message, options);
    assert.deepStrictEqual(value, strings);
    hasEntries(dictionary, entries);
    const [, map] = unpack(message, { maps: 'map' });
    assert.deepStrictEqual([...map], entries);
  }
  stillWorks();
});

test('strings that were decoded stay what they are, whatever comes and whatever the input becomes', () => {
  const kept = [];
  const expected = [];
  for (let round = 0; round < 400; round++) {
    const strings = list(40, (i) => `kept ${round} ${i % 20}`);
    const entries = list(140, (i) => [`key ${round} ${i}`, strings[i % 40]]);
    const input = Buffer.from(Buffer.concat([bytes('92'), pack(strings), packEntries(entries)]));
    const [value, dictionary] = unpack(input);
    input.fill(0x7a);
    kept.push(...value, ...Object.keys(dictionary), ...Object.values(dictionary));
    expected.push(...strings, ...entries.map(([key]) => key), ...entries.map(([, s]) => s));
  }
  const others = list(50_000, (i) => `other ${i >> 1}`);
  assert.deepStrictEqual(unpack(pack(others)), others);
  assert.deepStrictEqual(kept, expected);
});

/** Runs `check` while Object.prototype has these properties too. */
function extended(properties, check) {
  try {
    Object.defineProperties(Object.prototype, properties);
    check();
  } finally {
    for (const name of Object.keys(properties)) Reflect.deleteProperty(Object.prototype, name);
  }
}

test('Object.prototype extended between calls: own properties all the same, no setter called', () => {
  const refuses = (name) => ({
    configurable: true,
    get: () => 'inherited',
    set: () => assert.fail(`the setter of ${name} was called`),
  });
  const properties = {
    'known before': refuses('known before'),
    'new then': refuses('new then'),
    fixed: { configurable: true, value: 'inherited', writable: false },
    listed: { configurable: true, enumerable: true, value: 'inherited', writable: true },
  };
  for (const size of [0, 60, 128, 129, 1000]) {
    const filler = list(size, (i) => [`filler ${i}`, i]);
    const before = [['known before', 1], ...filler, ...ODD.map((name) => [name, 2])];
    const names = ['known before', 'new then', 'fixed', 'listed', ...ODD];
    const during = [...filler, ...names.map((name) => [name, name])];
    for (let round = 0; round < 4; round++) {
      hasEntries(unpack(packEntries(before)), before);
      const messages = [packEntries(before), packEntries(during)];
      extended(properties, () => {
        for (let again = 0; again < 6; again++) {
          hasEntries(unpack(messages[0]), before);
          hasEntries(unpack(messages[1]), during);
          const [first, second] = unpackMultiple(Buffer.concat(messages));
          hasEntries(first, before);
          hasEntries(second, during);
          // A number as the first key: no shape at all.
          const odd = unpack(Buffer.concat([bytes('82 05 01'), pack('fixed'), bytes('02')]));
          hasEntries(odd, [
            ['5', 1],
            ['fixed', 2],
          ]);
        }
      });
      hasEntries(unpack(messages[0]), before);
      hasEntries(unpack(messages[1]), during);
    }
  }
  stillWorks();
});

test('Object.prototype extended before the library is loaded, or with as many names as ever', () => {
  const index = JSON.stringify(fileURLToPath(new URL('../index.js', import.meta.url)));
  const extend = `Object.defineProperty(Object.prototype, 'extra', {
    get: () => 'inherited', set: () => { throw new Error('a setter was called'); } });`;
  for (const before of [extend, '']) {
    const after = before === '' ? `delete Object.prototype.__defineGetter__; ${extend}` : '';
    const source = `${before}
      const { pack, unpack } = require(${index});
      ${after}
      const entries = Array.from({ length: 200 }, (_, i) => ['key ' + i, i]);
      entries.push(['extra', 'own'], ['__defineGetter__', 'own']);
      for (let i = 0; i < 5; i++) {
        const value = unpack(pack(new Map(entries)));
        if (!Object.hasOwn(value, 'extra') || value.extra !== 'own') throw new Error('not own');
        if (Object.keys(value).length !== 202) throw new Error('keys are missing');
      }
      console.log('fine');`;
    assert.equal(execFileSync(process.execPath, ['-e', source], { encoding: 'utf8' }), 'fine\n');
  }
});
