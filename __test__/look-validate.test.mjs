// validate: what there is, and the very error that unpacking has; the same for bytes in pieces.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ext, pack, unpack, validate } from '../index.js';
import {
  bytes,
  generator,
  nestArrays,
  runsOf,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import {
  createValidator,
  differences,
  lengthAsUnpackFrom,
  outcome,
  sameAsUnpack,
} from './look-differences.mjs';
import { OPTION_SETS, wireOf } from './look-helpers.mjs';

const suite = JSON.parse(readFileSync(new URL('./data/msgpack-test-suite.json', import.meta.url)));

test('what there is: messages, bytes, depth, nodes', () => {
  const cases = [
    ['c0', 1, 1, 0, 1],
    ['a161', 1, 2, 0, 1],
    ['90', 1, 1, 1, 1],
    ['80', 1, 1, 1, 1],
    ['93010203', 1, 4, 1, 4],
    ['9190', 1, 2, 2, 2],
    ['82a16101a16280', 1, 7, 2, 5],
    ['9292cb0000000000000000cb000000000000000090', 1, 21, 2, 5],
    ['d6ff00000001', 1, 6, 0, 1],
  ];
  for (const [text, values, size, depth, nodes] of cases) {
    const expected = { values, bytes: size, depth, nodes };
    assert.deepStrictEqual(validate(bytes(text)), expected, text);
    const twice = { values: 2, bytes: 2 * size, depth, nodes: 2 * nodes };
    assert.deepStrictEqual(validate(bytes(`${text} ${text}`), { multiple: true }), twice, text);
    throwsCode(() => validate(bytes(`${text} ${text}`)), 'ERR_MSGPACK_EXTRA_BYTES', {
      offset: size,
    });
  }
  const none = { values: 0, bytes: 0, depth: 0, nodes: 0 };
  assert.deepStrictEqual(validate(bytes(''), { multiple: true }), none);
  throwsCode(() => validate(bytes('')), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
});

function countOf(value) {
  if (Array.isArray(value)) {
    const inside = value.map(countOf);
    return {
      depth: 1 + Math.max(0, ...inside.map(({ depth }) => depth)),
      nodes: inside.reduce((sum, { nodes }) => sum + nodes, 1),
    };
  }
  if (value?.constructor !== Object) return { depth: 0, nodes: 1 };
  const { depth, nodes } = countOf(Object.values(value));
  return { depth, nodes: nodes + Object.keys(value).length };
}

test('depth and nodes of rows of numbers and of points', () => {
  const next = generator(5);
  const makes = [
    () => next.below(100),
    () => next.below(2 ** 16),
    () => next() / 3,
    () => [next() / 3, next() / 7],
    () => [next() / 3, next() / 7, next() / 11],
    () => [[next() / 3, next() / 7], next.below(3)],
    () => ({ a: next() / 3, b: [] }),
  ];
  for (const make of makes) {
    for (const n of [0, 1, 3, 4, 15, 16, 17, 100, 301]) {
      const value = { list: Array.from({ length: n }, make), x: 1 };
      const wire = pack(value);
      const expected = { values: 1, bytes: wire.length, ...countOf(value) };
      assert.deepStrictEqual(validate(wire), expected, `${n} of ${make}`);
      for (const maxDepth of [1, 2, 3]) sameAsUnpack(wire, { maxDepth });
    }
  }
});

test('every conformance vector, every prefix of it, with every set of options', () => {
  for (const cases of Object.values(suite)) {
    for (const { msgpack } of cases) {
      for (const form of msgpack) {
        const wire = bytes(form);
        const options = { int64: 'auto' };
        for (let size = 0; size <= wire.length; size++) {
          sameAsUnpack(wire.subarray(0, size), options);
          lengthAsUnpackFrom(wire.subarray(0, size), 0);
        }
        for (const set of wire.length < 100 ? OPTION_SETS : []) sameAsUnpack(wire, set);
      }
    }
  }
});

test('faults one by one: the code and the offset of unpack', () => {
  const faults = [
    'c1',
    '92 01 c1',
    '81 c1 01',
    '81 a161 c1',
    '81 c0 01',
    '81 90 01',
    '81 dc0005 01',
    '81 c40501 02',
    '81 c7050501 02',
    '81 d40500 01',
    '81 c2',
    '91 d4ff00',
    '91 d6ff',
    '91 d7ffffffffff00000001',
    '91 c70cff000000007fffffffffffffff',
    '91 c70dff00000000000000000000000000',
    '91 a1ff',
    '81 a1ff 01',
    '81 d901ff 01',
    '91 da0003e6bc61',
    '93 9301 02 03',
    '93 c0 90',
    '92 80',
    'dd00000100',
    '92 ddffffffff',
    'dfffffffff',
    '919190',
    '91918101a0',
  ];
  for (const text of faults) {
    for (const options of OPTION_SETS) {
      sameAsUnpack(bytes(text), options);
      sameAsUnpack(Buffer.concat([bytes('c0'), bytes(text), bytes('c0')]), options);
    }
  }
});

test('differences: random messages, damaged ones, noise, every prefix', (t) => {
  differences(seedOf(t), runsOf(8000));
});

test('long arrays, which unpack in parts: faults do not depend on how the parts are cut', (t) => {
  const seed = seedOf(t);
  const { damage, next } = wireOf(seed);
  for (let run = 0; run < runsOf(150); run++) {
    const make = next.pick([
      (i) => ({ id: i, name: `n${i}`, tags: [i, 'x'] }),
      (i) => (i % 50 === 0 ? 'x'.repeat(2000) : [i, String(i)]),
      (i) => `text ${i}`,
      (i) => [[i / 3, i / 7]],
    ]);
    const list = Array.from({ length: 256 + next.below(4000) }, (_, i) => make(i));
    const wire = pack(next.below(2) > 0 ? list : [list]);
    const cut = wire.subarray(0, next.below(wire.length));
    for (const input of [wire, cut, damage(cut), damage(wire)]) {
      sameAsUnpack(input, { maxDepth: next.pick([undefined, 1, 2, 3]) });
      lengthAsUnpackFrom(input, 0);
    }
  }
});

test('a part of a long array that starts behind a long value: the claim is not made again', () => {
  // The first takes the bytes that the others would need; the rest are no containers.
  const texts = Array.from({ length: 20_000 }, (_, i) => pack(`text ${i}`));
  const short = Buffer.concat([bytes('dd000493e0'), pack('x'.repeat(200_000)), ...texts]);
  throwsCode(() => unpack(short), 'ERR_MSGPACK_TRUNCATED', { offset: short.length });
  sameAsUnpack(short, {});
});

test('depth: the limit, and 100 000 levels', () => {
  const wire = pack(nestArrays(5));
  assert.equal(validate(wire, { maxDepth: 5 }).depth, 5);
  throwsCode(() => validate(wire, { maxDepth: 4 }), 'ERR_MSGPACK_DEPTH', { offset: 4 });
  const deep = Buffer.alloc(100_001, 0x91);
  deep[100_000] = 0xc0;
  assert.deepStrictEqual(validate(deep, { maxDepth: Infinity }), {
    values: 1,
    bytes: 100_001,
    depth: 100_000,
    nodes: 100_001,
  });
  throwsCode(() => validate(deep), 'ERR_MSGPACK_DEPTH', { offset: 1000 });
});

test('options are checked as those of unpack', () => {
  const wire = bytes('01');
  for (const options of [{ int64: 'long' }, { maxDepth: 0 }, { multiple: 1 }, { utf8: null }, 7]) {
    assert.throws(() => validate(wire, options), { code: 'ERR_INVALID_ARG_VALUE' });
  }
  for (const input of [null, undefined, 'a1', 7, [1]]) {
    throwsCode(() => validate(input), 'ERR_MSGPACK_INVALID_INPUT');
  }
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  for (const multiple of [false, true]) {
    throwsCode(() => validate(detached, { multiple }), 'ERR_MSGPACK_INVALID_INPUT');
  }
  const shared = new SharedArrayBuffer(3);
  new Uint8Array(shared).set([0x92, 1, 2]);
  assert.equal(validate(shared).nodes, 3);
  assert.equal(validate(new Uint8Array([1]).buffer, null).nodes, 1);
  stillWorks();
});

test('with extensions: bytes and tags, in a process of its own', (t) => {
  const seed = seedOf(t);
  const source = `
    import { addExtension } from './index.js';
    import { differences, sameAsUnpack } from './__test__/look-differences.mjs';
    addExtension({ type: 9, read: (x) => [x] });
    addExtension({ type: 5, unpack: (x) => x.length });
    differences(${seed}, ${runsOf(4000)}, { tags: [9] });
    // Tags have a limit of their own: three for each level.
    for (const maxDepth of [1, 2, 7]) {
      for (let n = 0; n < 3 * maxDepth + 3; n++) {
        const tags = Buffer.from('d40900'.repeat(n) + '07', 'hex');
        sameAsUnpack(tags, { maxDepth });
        sameAsUnpack(Buffer.concat([Buffer.from([0x91]), tags]), { maxDepth });
        const long = Buffer.concat([Buffer.from('dc0200', 'hex'), ...Array(512).fill(tags)]);
        sameAsUnpack(long, { maxDepth });
      }
    }
    console.log('right');`;
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const args = ['--input-type=module', '-e', source];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd });
  assert.equal(`${stdout}${stderr}`, 'right\n');
});

/** Feeds bytes in pieces of the sizes that `size` gives. */
function inPieces(input, options, size) {
  const validator = createValidator(options);
  for (let at = 0; at < input.length; ) {
    const end = Math.min(input.length, at + size());
    validator.write(input.subarray(at, end));
    at = end;
  }
  return validator.end();
}

test('in pieces: one byte at a time, the summary of the whole', () => {
  const value = {
    text: 'é漢😀'.repeat(50),
    list: [1, -1, 1.5, 2n ** 60n, null, true, new Date(1500), new Date(2 ** 34 * 1000)],
    bin: Buffer.alloc(300),
    ext: new Ext(5, Buffer.alloc(300)),
    points: Array.from({ length: 40 }, (_, i) => [i / 3, i / 7]),
    deep: nestArrays(20),
  };
  const wire = Buffer.concat([pack(value), pack(null), pack(value)]);
  for (const options of [{}, { utf8: 'fatal' }, { maps: 'map' }]) {
    const all = { ...options, multiple: true };
    for (const size of [1, 2, 3, 7, 31, 1000, wire.length]) {
      assert.deepStrictEqual(
        inPieces(wire, all, () => size),
        validate(wire, all),
        `${size}`,
      );
    }
    throwsCode(() => inPieces(wire, options, () => 5), 'ERR_MSGPACK_EXTRA_BYTES', {
      offset: pack(value).length,
    });
  }
});

test('in pieces: random messages, faults where the whole has them', (t) => {
  const seed = seedOf(t);
  const { damage, next, value } = wireOf(seed);
  for (let run = 0; run < runsOf(6000); run++) {
    const options = { ...next.pick(OPTION_SETS), multiple: next.below(2) > 0 };
    let wire = options.multiple ? Buffer.concat([value(), value()]) : value();
    if (next.below(2) > 0) wire = damage(wire);
    const whole = outcome(() => validate(wire, options));
    const most = next.pick([1, 2, 20, 100]);
    const pieces = outcome(() => inPieces(wire, options, () => 1 + next.below(most)));
    const label = `${JSON.stringify(options)} ${wire.toString('hex')}`;
    if (whole.code === 'ERR_MSGPACK_TRUNCATED') {
      // Nobody knew how much was to come: another fault may have been met before that.
      assert.ok(pieces.code !== undefined && pieces.offset <= wire.length, label);
    } else {
      assert.deepStrictEqual(pieces, whole, label);
    }
  }
});

test('in pieces: a text cut within a character, and one that is damaged', () => {
  const options = { utf8: 'fatal' };
  const wire = pack(['aé漢😀', 'x'.repeat(40)]);
  for (let cut = 0; cut <= wire.length; cut++) {
    const validator = createValidator(options);
    validator.write(wire.subarray(0, cut));
    validator.write(wire.subarray(cut));
    assert.equal(validator.end().nodes, 3);
  }
  const damaged = bytes('92 01 d904 6162e6bc');
  for (let cut = 0; cut <= damaged.length; cut++) {
    const feed = () => {
      const validator = createValidator(options);
      validator.write(damaged.subarray(0, cut));
      validator.write(damaged.subarray(cut));
      validator.end();
    };
    throwsCode(feed, 'ERR_MSGPACK_INVALID_UTF8', { offset: 2 });
  }
});

test('in pieces: the end in the middle, and what comes after an end', () => {
  const cut = createValidator({});
  cut.write(bytes('01'));
  throwsCode(() => cut.write(bytes('02')), 'ERR_MSGPACK_EXTRA_BYTES', { offset: 1 });
  assert.throws(() => cut.end(), /has ended/);
  const within = createValidator({ multiple: true });
  within.write(bytes('01 92 01 da00'));
  throwsCode(() => within.end(), 'ERR_MSGPACK_TRUNCATED', { offset: 3 });
  const data = createValidator({ multiple: true });
  data.write(bytes('01 c4ff 00'));
  data.write(bytes('00 00'));
  throwsCode(() => data.end(), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
  throwsCode(() => createValidator({}).end(), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  const none = { values: 0, bytes: 0, depth: 0, nodes: 0 };
  assert.deepStrictEqual(createValidator({ multiple: true }).end(), none);
  const many = createValidator({ multiple: true });
  const piece = Buffer.concat([pack({ a: [1, 'x'] }), bytes('c0')]);
  for (let i = 0; i < 1000; i++) many.write(piece);
  assert.deepStrictEqual(many.end(), {
    values: 2000,
    bytes: 1000 * piece.length,
    depth: 2,
    nodes: 6000,
  });
});
