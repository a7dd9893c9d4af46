// get, getMany, slice, has, typeAt, lengthAt, keysAt, lengthOf: exact values, and unpack as oracle.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  Ext,
  get,
  getMany,
  has,
  keysAt,
  lengthAt,
  lengthOf,
  pack,
  slice,
  Timestamp,
  typeAt,
  unpack,
  unpackFrom,
} from '../index.js';
import { bytes, generator, hex, runsOf, seedOf, stillWorks, throwsCode } from './helpers.mjs';
import { outcome } from './look-differences.mjs';
import { OPTION_SETS, wireOf } from './look-helpers.mjs';

const MESSAGE = {
  id: 7,
  users: [{ name: 'Ann' }, { name: 'Zoë 漢字 😀', tags: ['a', 'b'] }, null],
  'a/b': { '~': 1, '': 2, '~1': 3 },
  19: [1.5, -1],
  on: true,
  at: new Date(7000),
  raw: Buffer.from([1, 2, 3]),
  ext: new Ext(5, Buffer.from([9, 9])),
  big: 2n ** 60n,
};
const WIRE = pack(MESSAGE);

test('get: the value at a path, as an array and as a JSON Pointer', () => {
  const cases = [
    [['id'], 7],
    [['users', 0, 'name'], 'Ann'],
    [['users', '1', 'name'], 'Zoë 漢字 😀'],
    [
      ['users', 1, 'tags'],
      ['a', 'b'],
    ],
    [['users', 1], { name: 'Zoë 漢字 😀', tags: ['a', 'b'] }],
    [['users', 2], null],
    [['a/b', '~'], 1],
    [['a/b', ''], 2],
    [[19, 1], -1],
    [['19', 0], 1.5],
    [['at'], new Date(7000)],
    [['raw'], Buffer.from([1, 2, 3])],
    [['ext'], new Ext(5, Buffer.from([9, 9]))],
    [['big'], 2n ** 60n],
    [[], MESSAGE],
    ['', MESSAGE],
    ['/id', 7],
    ['/users/1/name', 'Zoë 漢字 😀'],
    ['/a~1b/~0', 1],
    ['/a~1b/', 2],
    ['/a~1b/~01', 3],
    ['/19/0', 1.5],
  ];
  for (const [path, expected] of cases) {
    assert.deepStrictEqual(get(WIRE, path), expected, JSON.stringify(path));
    assert.equal(has(WIRE, path), true);
    assert.deepStrictEqual(getMany(WIRE, [path]), [expected]);
    assert.deepStrictEqual(unpack(slice(WIRE, path)), expected);
  }
});

test('get: undefined where there is nothing', () => {
  const absent = [
    ['no'],
    ['users', 3],
    ['users', -1],
    ['users', 1.5],
    ['users', '01'],
    ['users', '1.0'],
    ['users', ' 1'],
    ['users', ''],
    ['users', 'length'],
    ['users', NaN],
    ['users', 2 ** 32],
    ['users', '4294967296'],
    ['users', 2, 'name'],
    ['id', 'toFixed'],
    ['users', 0, 'name', 0],
    ['users', 0, 'name', 'length'],
    ['raw', 0],
    ['ext', 0],
    ['at', 'getTime'],
    ['constructor'],
    ['__proto__'],
    ['users', 0, 'toString'],
    '/users/9',
    '/',
    '/Id',
    ['019'],
    ['19.0'],
    ['\ud83d'],
  ];
  for (const path of absent) {
    const label = JSON.stringify(path);
    assert.equal(get(WIRE, path), undefined, label);
    assert.deepStrictEqual(getMany(WIRE, [path]), [undefined], label);
    assert.equal(has(WIRE, path), false, label);
    for (const at of [slice, typeAt, lengthAt, keysAt])
      assert.equal(at(WIRE, path), undefined, label);
  }
});

test('keys are names of properties: integers and floats by their decimal string', () => {
  // { 1: 'a', -1: 'b', 1.5: 'c', 2^53 - 1: 'd', 2^63: 'e', float32 0.1: 'f', -0.0: 'g', NaN: 'h' }
  const wire = bytes(
    '88 01a161 ffa162 cb3ff8000000000000a163 cf001fffffffffffffa164 cf8000000000000000a165' +
      ' ca3dcccccda166 cb8000000000000000a167 cb7ff8000000000000a168',
  );
  const paths = [1, '1', -1, '-1', 1.5, '1.5', 2 ** 53 - 1, '9223372036854775808'];
  const values = ['a', 'a', 'b', 'b', 'c', 'c', 'd', 'e'];
  for (let i = 0; i < paths.length; i++)
    assert.equal(get(wire, [paths[i]]), values[i], `${paths[i]}`);
  assert.equal(get(wire, [Math.fround(0.1)]), 'f');
  assert.equal(get(wire, ['0.1']), undefined);
  for (const zero of [0, -0, '0']) assert.equal(get(wire, [zero]), 'g');
  assert.equal(get(wire, ['-0']), undefined);
  assert.equal(get(wire, [NaN]), 'h');
  assert.equal(get(wire, ['NaN']), 'h');
  assert.deepStrictEqual(keysAt(wire), [
    '1',
    '-1',
    '1.5',
    '9007199254740991',
    '9223372036854775808',
    '0.10000000149011612',
    '0',
    'NaN',
  ]);
  for (const key of Object.keys(unpack(wire))) assert.equal(get(wire, [key]), unpack(wire)[key]);
});

test('keys in the 64-bit forms are what int64 makes of them', () => {
  const wire = bytes('82 cf000000000000000707 cf002000000000000108');
  const huge = '9007199254740993';
  for (const int64 of ['auto', 'bigint', 'string']) {
    assert.equal(get(wire, [7], { int64 }), 7, int64);
    assert.equal(get(wire, [huge], { int64 }), 8, int64);
    assert.deepStrictEqual(keysAt(wire, '', { int64 }), ['7', huge]);
  }
  assert.equal(get(wire, [huge], { int64: 'number' }), undefined);
  assert.equal(get(wire, ['9007199254740992'], { int64: 'number' }), 8);
  const asMap = { maps: 'map' };
  assert.equal(get(wire, [7], asMap), 7);
  assert.equal(get(wire, ['7'], asMap), undefined);
  assert.equal(get(wire, [7], { ...asMap, int64: 'bigint' }), undefined);
  assert.equal(get(wire, [7], { ...asMap, int64: 'string' }), undefined);
  assert.equal(get(wire, ['7'], { ...asMap, int64: 'string' }), 7);
  assert.equal(get(wire, [huge], asMap), undefined);
  assert.equal(get(wire, [huge], { ...asMap, int64: 'string' }), 8);
  assert.deepStrictEqual(keysAt(wire, '', asMap), [7, 9007199254740993n]);
});

test("maps: 'map': keys of a Map, strings and numbers apart", () => {
  const map = new Map([
    ['7', 'text'],
    [7, 'number'],
    [null, 'nil'],
    [[1], 'array'],
    [1.5, 'float'],
    [NaN, 'nan'],
    [0, new Map([['in', 1]])],
  ]);
  const wire = pack(map);
  const options = { maps: 'map' };
  assert.equal(get(wire, ['7'], options), 'text');
  assert.equal(get(wire, [7], options), 'number');
  assert.equal(get(wire, [1.5], options), 'float');
  assert.equal(get(wire, ['1.5'], options), undefined);
  assert.equal(get(wire, [NaN], options), 'nan');
  assert.deepStrictEqual(get(wire, [-0], options), new Map([['in', 1]]));
  assert.equal(get(wire, [0, 'in'], options), 1);
  assert.equal(get(wire, ['null'], options), undefined);
  assert.equal(get(wire, '/7', options), 'text');
  assert.deepStrictEqual(getMany(wire, [[7], ['7'], [0, 'in'], ['0', 'in']], options), [
    'number',
    'text',
    1,
    undefined,
  ]);
  assert.deepStrictEqual(keysAt(wire, '', options), [...map.keys()]);
  // As keys of an object some of these are none; they are passed over all the same.
  assert.equal(get(wire, ['1.5']), 'float');
  throwsCode(() => keysAt(wire), 'ERR_MSGPACK_KEY', { offset: 16 });
});

test('an element of an array by number and by string, in one pass', () => {
  const wire = pack([10, [20, 30], 40]);
  const paths = [['1', '1'], [1, 1], ['1'], [1, 0], [2], ['2'], [0], ['1', 0]];
  for (const maps of ['object', 'map']) {
    const expected = [30, 30, [20, 30], 20, 40, 40, 10, 20];
    assert.deepStrictEqual(getMany(wire, paths, { maps }), expected, maps);
  }
});

test('of equal keys get takes the first, and reads no further', () => {
  const wire = bytes('83 a16101 a16102 a162 c1');
  assert.equal(get(wire, ['a']), 1);
  assert.deepStrictEqual(getMany(wire, [['a']]), [1]);
  const equal = bytes('83 a16101 a16102 a16203');
  assert.deepStrictEqual(unpack(equal), { a: 2, b: 3 });
  assert.deepStrictEqual(getMany(equal, ['/b', '/a']), [3, 1]);
  assert.deepStrictEqual(keysAt(equal), ['a', 'b']);
  assert.equal(lengthAt(equal), 3);
  // The same key in two forms.
  assert.deepStrictEqual(keysAt(bytes('82 0101 a13102')), ['1']);
  assert.equal(get(bytes('82 a13102 0101'), [1]), 2);
});

test('__proto__ is a key like any other', () => {
  const wire = bytes('82 a95f5f70726f746f5f5f 81 a16101 a16202');
  assert.deepStrictEqual(get(wire, ['__proto__', 'a']), 1);
  assert.deepStrictEqual(getMany(wire, ['/__proto__/a', '/b', '/__proto__/b']), [1, 2, undefined]);
  assert.deepStrictEqual(keysAt(wire), ['__proto__', 'b']);
});

test('what lies behind the value is not read, what lies before it is not validated', () => {
  const early = Buffer.concat([bytes('82 a161 01 a162'), Buffer.alloc(9, 0xc1)]);
  assert.equal(get(early, ['a']), 1);
  assert.equal(has(early, ['a']), true);
  assert.deepStrictEqual(getMany(early, [['a'], 'a'.slice(1)].slice(0, 1)), [1]);
  throwsCode(() => get(early, ['b']), 'ERR_MSGPACK_INVALID_BYTE', { offset: 6 });
  throwsCode(() => get(early, ['c']), 'ERR_MSGPACK_INVALID_BYTE', { offset: 6 });
  // A timestamp that is none, a key that is none, a string that is no UTF-8, other messages behind.
  const before = bytes('84 a161 d4ff00 c0 02 a162 a1ff a163 03 c1c1');
  assert.equal(get(before, ['c'], { utf8: 'fatal' }), 3);
  throwsCode(() => get(before, ['a']), 'ERR_MSGPACK_TIMESTAMP', { offset: 3 });
  throwsCode(() => get(before, ['b'], { utf8: 'fatal' }), 'ERR_MSGPACK_INVALID_UTF8', {
    offset: 10,
  });
  assert.equal(get(before, ['b']), '\ufffd');
});

test('keys that are no UTF-8 have the name that unpack gives them', () => {
  const wire = bytes('83 a261ff 01 a3e6bc62 02 a161 03');
  assert.deepStrictEqual(Object.keys(unpack(wire)), ['a\ufffd', '\ufffdb', 'a']);
  for (const options of [undefined, { utf8: 'raw' }]) {
    assert.equal(get(wire, ['a\ufffd'], options), 1);
    assert.deepStrictEqual(getMany(wire, [['\ufffdb'], ['a'], ['a\ufffd']], options), [2, 3, 1]);
    assert.deepStrictEqual(keysAt(wire, '', options), ['a\ufffd', '\ufffdb', 'a']);
  }
  assert.equal(get(wire, ['a\ufffd'], { utf8: 'fatal' }), undefined);
  assert.equal(get(wire, ['a\ufffd'], { utf8: 'raw', maps: 'map' }), undefined);
  assert.equal(get(wire, ['a\ud83d']), undefined);
  throwsCode(() => keysAt(wire, '', { utf8: 'fatal' }), 'ERR_MSGPACK_INVALID_UTF8', { offset: 1 });
  const many = [['a\ufffd'], ...Array.from({ length: 20 }, (_, i) => [`k${i}`])];
  assert.equal(getMany(wire, many)[0], 1);
  assert.equal(getMany(wire, many, { utf8: 'fatal' })[0], undefined);
});

test('options act on the value', () => {
  const wire = pack({ a: [{ at: new Date(1500), n: 2n ** 60n, b: Buffer.from([1]) }] });
  assert.deepStrictEqual(get(wire, '/a/0/at', { timestamps: 'timestamp' }), new Timestamp(1n, 5e8));
  assert.equal(get(wire, '/a/0/n', { int64: 'string' }), String(2n ** 60n));
  assert.deepStrictEqual([...get(wire, '/a/0', { maps: 'map' }).keys()], ['at', 'n', 'b']);
  assert.equal(get(wire, '/a/0/b').buffer, wire.buffer);
  assert.notEqual(get(wire, '/a/0/b', { copyBuffers: true }).buffer, wire.buffer);
  // The depth is that of the value.
  assert.deepStrictEqual(get(wire, '/a/0', { maxDepth: 1 }), unpack(wire).a[0]);
  throwsCode(() => get(wire, '/a', { maxDepth: 1 }), 'ERR_MSGPACK_DEPTH', { offset: 4 });
  assert.throws(() => get(wire, '/a', { int64: 'long' }), { code: 'ERR_INVALID_ARG_VALUE' });
  assert.equal(get(wire, '/a/0/n', null), 2n ** 60n);
});

test('what is no path is refused, before anything else', () => {
  for (const path of [undefined, null, 7, {}, new Map(), Symbol('p'), () => {}]) {
    assert.throws(() => get(WIRE, path), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
  }
  for (const step of [undefined, null, true, 1n, ['a'], {}, Symbol('s')]) {
    for (const call of [get, has, slice, typeAt, lengthAt, keysAt]) {
      assert.throws(() => call(WIRE, ['id', step]), { code: 'ERR_INVALID_ARG_TYPE' });
    }
    assert.throws(() => getMany(WIRE, [['id', step]]), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  assert.throws(() => get(WIRE, new Array(3)), { code: 'ERR_INVALID_ARG_TYPE' });
  for (const pointer of ['id', '#/id', 'a/b', '/~', '/a~2', '/~/x']) {
    assert.throws(() => get(WIRE, pointer), { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' });
  }
  for (const paths of [undefined, 'id', { 0: ['id'] }, [null], [1], new Array(1)]) {
    assert.throws(() => getMany(WIRE, paths), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  stillWorks();
});

test('getMany: values in the order of the paths, equal and nested ones too', () => {
  assert.deepStrictEqual(getMany(WIRE, []), []);
  const paths = [
    '/users/1/tags/1',
    '/id',
    '/users',
    ['no'],
    '/id',
    '/users/0',
    '',
    '/users/1/tags',
  ];
  const values = getMany(WIRE, paths);
  assert.deepStrictEqual(values, [
    'b',
    7,
    MESSAGE.users,
    undefined,
    7,
    MESSAGE.users[0],
    unpack(WIRE),
    ['a', 'b'],
  ]);
  assert.notEqual(values[2][0], values[5]);
});

test('getMany: many paths into one map and one array', () => {
  const map = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, i]));
  const list = Array.from({ length: 3000 }, (_, i) => (i % 3 ? i : `s${i}`));
  const wire = pack({ map, list, 5: 'x' });
  const next = generator(1);
  const picks = Array.from({ length: 2000 }, () => next.below(3300));
  const paths = picks.flatMap((i) => [
    ['map', `k${i}`],
    ['list', i],
  ]);
  const expected = picks.flatMap((i) => [map[`k${i}`], list[i]]);
  assert.deepStrictEqual(getMany(wire, paths), expected);
  // It ends with the last value: what is behind is not read.
  const cut = wire.subarray(0, lengthOf(wire) - 5);
  assert.deepStrictEqual(getMany(cut, ['/map/k2', '/list/0']), [2, 's0']);
});

test('slice: the bytes as they stand, over the same memory', () => {
  const wire = bytes('92 81a161cd0007 da0001 62');
  assert.equal(hex(slice(wire, [0, 'a'])), 'cd0007');
  assert.equal(hex(slice(wire, [1])), 'da000162');
  assert.equal(hex(slice(wire)), hex(wire));
  assert.equal(hex(slice(Buffer.concat([wire, wire]), '')), hex(wire));
  const part = slice(wire, [0]);
  assert.ok(Buffer.isBuffer(part));
  assert.equal(part.buffer, wire.buffer);
  assert.equal(part.byteOffset, wire.byteOffset + 1);
  const shifted = new Uint8Array(60).fill(0xc1);
  shifted.set(wire, 7);
  const inner = slice(new DataView(shifted.buffer, 7, wire.length), [1]);
  assert.equal(inner.byteOffset, 7 + 7);
  assert.equal(hex(inner), 'da000162');
});

const HEADS = [
  ['c0', 'nil', undefined],
  ['c2', 'boolean', undefined],
  ['c3', 'boolean', undefined],
  ['07', 'integer', undefined],
  ['ff', 'integer', undefined],
  ['cc07', 'integer', undefined],
  ['cfffffffffffffffff', 'integer', undefined],
  ['d3ffffffffffffffff', 'integer', undefined],
  ['ca00000000', 'float', undefined],
  ['cb0000000000000000', 'float', undefined],
  ['a0', 'string', 0],
  ['a3e6bca2', 'string', 1],
  ['d904f09f9880', 'string', 2],
  ['da000261c3', 'string', 2],
  ['c400', 'binary', 0],
  ['c50002ffff', 'binary', 2],
  ['90', 'array', 0],
  ['9201c0', 'array', 2],
  ['dc000101', 'array', 1],
  ['80', 'map', 0],
  ['8201020304', 'map', 2],
  ['df000000010102', 'map', 1],
  ['d6ff00000001', 'timestamp', undefined],
  ['c70cff000000000000000000000001', 'timestamp', undefined],
  ['d40500', 'ext', 1],
  ['c70005', 'ext', 0],
  ['c80003050000ff', 'ext', 3],
];

test('typeAt and lengthAt: every type in every place', () => {
  for (const [text, type, length] of HEADS) {
    const wire = bytes(text);
    const inside = Buffer.concat([bytes('92 c0 81 a161'), wire]);
    for (const [where, path] of [
      [wire, undefined],
      [wire, []],
      [inside, '/1/a'],
      [inside, [1, 'a']],
    ]) {
      assert.equal(typeAt(where, path), type, text);
      assert.equal(lengthAt(where, path), length, text);
      assert.equal(has(where, path), true);
    }
    for (let size = 0; size < wire.length; size++) {
      // A type does not say how much is inside.
      if (type !== 'array' && type !== 'map') {
        throwsCode(() => typeAt(wire.subarray(0, size)), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
      }
      throwsCode(() => lengthAt(wire.subarray(0, size)), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
    }
  }
  throwsCode(() => typeAt(bytes('91c1'), [0]), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
  // What is claimed is not there: nobody should count on it.
  throwsCode(() => lengthAt(bytes('ddffffffff01')), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  throwsCode(() => lengthAt(bytes('df8000000001')), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  throwsCode(() => keysAt(bytes('dfffffffff01')), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
});

test('lengthAt: a damaged string as the option has it', () => {
  const wire = bytes('a4 61ff80e9');
  assert.equal(lengthAt(wire), unpack(wire).length);
  assert.equal(lengthAt(wire, '', { utf8: 'raw' }), 4);
  throwsCode(() => lengthAt(wire, '', { utf8: 'fatal' }), 'ERR_MSGPACK_INVALID_UTF8', {
    offset: 0,
  });
});

test('keysAt: names in the order of the message', () => {
  assert.deepStrictEqual(keysAt(WIRE), [
    '19',
    'id',
    'users',
    'a/b',
    'on',
    'at',
    'raw',
    'ext',
    'big',
  ]);
  assert.deepStrictEqual(keysAt(bytes('83 a162 01 02 03 a131 04')), ['b', '2', '1']);
  assert.deepStrictEqual(keysAt(WIRE, ['users', 1]), ['name', 'tags']);
  assert.deepStrictEqual(keysAt(bytes('80')), []);
  for (const path of ['/users', '/id', '/at', '/raw']) assert.equal(keysAt(WIRE, path), undefined);
  throwsCode(() => keysAt(bytes('91 82 a16101 9002'), [0]), 'ERR_MSGPACK_KEY', { offset: 5 });
  throwsCode(() => keysAt(bytes('82 a16101 c1 02')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 4 });
  const deepKey = bytes('81 919101 02');
  throwsCode(() => keysAt(deepKey, '', { maps: 'map', maxDepth: 2 }), 'ERR_MSGPACK_DEPTH', {
    offset: 2,
  });
  assert.deepStrictEqual(keysAt(deepKey, '', { maps: 'map', maxDepth: 3 }), [[[1]]]);
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key ${i}`, i]));
  assert.deepStrictEqual(keysAt(pack(many)), Object.keys(many));
});

test('lengthOf: every value of a series, and errors of the structure', () => {
  const wire = bytes(
    '01 a161 9201c0 81a161c4020102 d6ff00000001 c70c05^1 0102030405060708090a0b0c',
  );
  for (let at = 0; at < wire.length; ) {
    const { end } = unpackFrom(wire, at);
    assert.equal(lengthOf(wire, at), end - at);
    at = end;
  }
  assert.equal(lengthOf(wire), 1);
  throwsCode(() => lengthOf(bytes('01 c1'), 1), 'ERR_MSGPACK_INVALID_BYTE', { offset: 1 });
  throwsCode(() => lengthOf(bytes('01'), 1), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
  throwsCode(() => lengthOf(bytes('01'), 100), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
  throwsCode(() => lengthOf(bytes('')), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  throwsCode(() => lengthOf(bytes('92 01 a361')), 'ERR_MSGPACK_TRUNCATED', { offset: 2 });
  throwsCode(() => lengthOf(bytes('93 9301 02 03')), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
  // What does not unpack has a length all the same.
  assert.equal(lengthOf(bytes('81 c0 a1ff')), 4);
  for (const offset of [-1, 1.5, NaN, '0', null, 1n]) {
    assert.throws(() => lengthOf(wire, offset), { code: 'ERR_INVALID_ARG_VALUE' });
  }
});

test('a hundred thousand levels need no stack', () => {
  const depth = 100_000;
  for (const level of [bytes('91'), bytes('81a161'), bytes('92c0')]) {
    const deep = Buffer.concat([...Array(depth).fill(level), bytes('07')]);
    assert.equal(lengthOf(deep), deep.length);
    const wire = Buffer.concat([bytes('82 a161'), deep, bytes('a162 08')]);
    assert.equal(get(wire, ['b']), 8);
    assert.deepStrictEqual(getMany(wire, [['b'], ['c']]), [8, undefined]);
    assert.equal(slice(wire, ['a']).length, deep.length);
    throwsCode(() => get(wire, ['a']), 'ERR_MSGPACK_DEPTH');
    throwsCode(() => lengthOf(deep.subarray(0, -1)), 'ERR_MSGPACK_TRUNCATED');
    // And as long a path.
    const step = { 145: 0, 129: 'a', 146: 1 }[level[0]];
    const path = Array(depth).fill(step);
    assert.equal(get(deep, path), 7);
    assert.deepStrictEqual(getMany(deep, [path, path.slice(1).concat('x')]), [7, undefined]);
  }
});

test('every prefix: the value, or TRUNCATED', () => {
  const paths = ['/users/1/tags/1', '/big', '/19/1', '/no', ''];
  for (let size = 0; size < WIRE.length; size++) {
    const part = WIRE.subarray(0, size);
    for (const path of paths) {
      const found = outcome(() => get(part, path));
      if (found.code === undefined) assert.deepStrictEqual(found.value, get(WIRE, path), `${size}`);
      else assert.equal(found.code, 'ERR_MSGPACK_TRUNCATED');
      assert.equal(outcome(() => slice(part, path)).code, found.code);
      if (path === '/big' || path === '') assert.equal(found.code, 'ERR_MSGPACK_TRUNCATED');
    }
    throwsCode(() => getMany(part, paths), 'ERR_MSGPACK_TRUNCATED');
    throwsCode(() => lengthOf(part), 'ERR_MSGPACK_TRUNCATED');
  }
  stillWorks();
});

test('hostile claims cost nothing', () => {
  for (const text of [
    'ddffffffff',
    'dfffffffff',
    'dbffffffff61',
    'c6ffffffff00',
    'c9ffffffff0500',
  ]) {
    const wire = Buffer.concat([bytes('92'), bytes(text), Buffer.alloc(50)]);
    throwsCode(() => get(wire, [1]), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
    throwsCode(() => getMany(wire, [[1], [0, 70]]), 'ERR_MSGPACK_TRUNCATED');
    throwsCode(() => lengthOf(wire), 'ERR_MSGPACK_TRUNCATED', { offset: 1 });
  }
});

test('input of every kind, and what is none', () => {
  const { buffer } = new Uint8Array(WIRE);
  const shared = new SharedArrayBuffer(WIRE.length);
  new Uint8Array(shared).set(WIRE);
  const inputs = [
    WIRE,
    new Uint8Array(WIRE),
    buffer,
    new DataView(buffer),
    new Uint8ClampedArray(buffer),
    new Int8Array(buffer),
    shared,
    new Uint8Array(shared),
    new DataView(shared),
  ];
  for (const input of inputs) {
    assert.equal(get(input, '/users/0/name'), 'Ann');
    assert.deepStrictEqual(getMany(input, ['/raw', '/id']), [Buffer.from([1, 2, 3]), 7]);
    assert.equal(hex(slice(input, '/19')), hex(slice(WIRE, '/19')));
    assert.equal(typeAt(input, '/at'), 'timestamp');
    assert.equal(lengthOf(input), WIRE.length);
    assert.deepStrictEqual(keysAt(input), keysAt(WIRE));
  }
  assert.notEqual(slice(shared, '/id').buffer, shared);
  const calls = [
    (input) => get(input, ''),
    (input) => getMany(input, ['']),
    (input) => slice(input),
    (input) => has(input),
    (input) => typeAt(input),
    (input) => lengthAt(input),
    (input) => keysAt(input),
    (input) => lengthOf(input),
  ];
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  for (const call of calls) {
    for (const input of [null, undefined, 'a1', 7, [1], {}, detached, detached.buffer]) {
      throwsCode(() => call(input), 'ERR_MSGPACK_INVALID_INPUT');
    }
    throwsCode(() => call(new Uint8Array(0)), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  }
  stillWorks();
});

test('a path that runs code: proxies and getters, which detach the input or call again', () => {
  const input = new Uint8Array(WIRE);
  const evil = ['users', 0, 'name'];
  Object.defineProperty(evil, 1, {
    get() {
      structuredClone(input.buffer, { transfer: [input.buffer] });
      return 0;
    },
  });
  throwsCode(() => get(input, evil), 'ERR_MSGPACK_INVALID_INPUT');
  let reads = 0;
  const nested = new Proxy(['users', 0, 'name'], {
    get(target, key, receiver) {
      reads++;
      assert.equal(get(WIRE, '/id'), 7);
      assert.deepStrictEqual(getMany(WIRE, ['/19/0', '/big']), [1.5, 2n ** 60n]);
      assert.equal(lengthOf(WIRE), WIRE.length);
      return Reflect.get(target, key, receiver);
    },
  });
  assert.equal(get(WIRE, nested), 'Ann');
  assert.deepStrictEqual(getMany(WIRE, [nested, '/id']), ['Ann', 7]);
  assert.equal(reads, 8);
  const options = {
    get int64() {
      return get(WIRE, '/id') === 7 ? 'string' : 'auto';
    },
  };
  assert.equal(get(WIRE, '/big', options), String(2n ** 60n));
  assert.throws(
    () =>
      get(WIRE, [
        'a',
        {
          toString() {
            throw new Error('never called');
          },
        },
      ]),
    { code: 'ERR_INVALID_ARG_TYPE' },
  );
  stillWorks();
});

const MISSING = Symbol('missing');
const isIndex = (step) => /^(0|[1-9][0-9]*)$/.test(String(step));

/** What own properties, or entries of Maps, lead to. */
function follow(value, path) {
  return path.reduce((at, step) => {
    if (at === MISSING || typeof at !== 'object' || at === null) return MISSING;
    if (Array.isArray(at)) {
      return isIndex(step) && Number(step) < at.length ? at[step] : MISSING;
    }
    if (at instanceof Map) return at.has(step) ? at.get(step) : MISSING;
    const isPlain = Object.getPrototypeOf(at) === Object.prototype;
    return isPlain && Object.hasOwn(at, step) ? at[step] : MISSING;
  }, value);
}

/** Paths that lead to something, up to `most` of them. */
function pathsOf(root, most) {
  const paths = [[]];
  for (let i = 0; i < paths.length && paths.length < most; i++) {
    const value = follow(root, paths[i]);
    let steps = [];
    if (Array.isArray(value) || value instanceof Map) steps = [...value.keys()];
    else if (value?.constructor === Object) steps = Object.keys(value);
    for (const step of steps) {
      if (typeof step === 'string' || typeof step === 'number') paths.push([...paths[i], step]);
    }
  }
  return paths.slice(0, most);
}

/** Whether a path leads through maps with different keys only: of equal ones get takes the first. */
function isUnambiguous(wire, path, options) {
  return path.every((_, i) => {
    const prefix = path.slice(0, i);
    return (
      typeAt(wire, prefix, options) !== 'map' ||
      lengthAt(wire, prefix, options) === keysAt(wire, prefix, options).length
    );
  });
}

test('properties: paths of random messages lead where unpack has them', (t) => {
  const seed = seedOf(t);
  const { next, value } = wireOf(seed);
  let compared = 0;
  for (let run = 0; run < runsOf(4000); run++) {
    const options = { ...next.pick(OPTION_SETS), maxDepth: undefined };
    const wire = value();
    const whole = outcome(() => unpack(wire, options));
    if (whole.code !== undefined) continue;
    const right = pathsOf(whole.value, 60);
    const wrong = right.map((path) => [
      ...path.slice(0, -1),
      next.pick(['id', 'no', '7', 3, -1, '1.5', 200]),
    ]);
    const paths = [...right, ...wrong, ...wrong.map((path) => [...path, 'a'])].filter((path) =>
      isUnambiguous(wire, path, options),
    );
    const label = (path) => `${JSON.stringify({ path, ...options })} ${hex(wire)}`;
    const expected = paths.map((path) => follow(whole.value, path));
    const found = getMany(wire, paths, options);
    for (let i = 0; i < paths.length; i++) {
      const path = paths[i];
      const want = expected[i] === MISSING ? undefined : expected[i];
      assert.deepStrictEqual(get(wire, path, options), want, label(path));
      assert.deepStrictEqual(found[i], want, label(path));
      assert.equal(has(wire, path, options), expected[i] !== MISSING, label(path));
      const part = slice(wire, path, options);
      if (expected[i] === MISSING) assert.equal(part, undefined);
      else assert.deepStrictEqual(unpack(part, options), want, label(path));
      const keys = keysAt(wire, path, options);
      if (want instanceof Map) assert.deepStrictEqual(keys, [...want.keys()]);
      else if (keys) assert.deepStrictEqual(new Set(keys), new Set(Object.keys(want)), label(path));
      if (typeof want === 'string' && typeAt(wire, path) === 'string') {
        assert.equal(lengthAt(wire, path, options), want.length, label(path));
      }
      compared++;
    }
  }
  assert.ok(compared > 0 || process.env.FC_RUNS !== undefined, 'nothing was compared');
});

test('properties: any bytes and any path give a value or a documented error', (t) => {
  const { damage, next, noise, value } = wireOf(seedOf(t));
  for (let run = 0; run < runsOf(6000); run++) {
    const wire = next.below(3) > 0 ? damage(value()) : noise(next.below(60));
    const options = next.pick(OPTION_SETS);
    const step = () => next.pick(['id', 'name', 'a', '', '7', 0, 1, 2, 19, '__proto__']);
    const path = Array.from({ length: next.below(4) }, step);
    outcome(() => get(wire, path, options));
    outcome(() => getMany(wire, [path, [step()], [step(), step()]], options));
    outcome(() => slice(wire, path, options));
    outcome(() => lengthAt(wire, path, options));
    outcome(() => keysAt(wire, path, options));
    // What is there has a type, and its bytes are a part of the whole.
    const part = outcome(() => slice(wire, path, options)).value;
    if (part !== undefined) assert.ok(typeAt(wire, path, options) !== undefined && part.length > 0);
  }
  stillWorks();
});

test('a large message of every make: the last value, from the first on', () => {
  const next = generator(3);
  const word = () =>
    Array.from({ length: next.below(40) }, () => next.pick(['é', 'a', '漢', 'z'])).join('');
  const makes = {
    numbers: () => next.below(2 ** next.below(32)),
    doubles: () => next() / 7,
    points: () => [next() / 7, next() / 3],
    texts: word,
    records: () => ({ id: next(), name: word(), tags: [word(), word()], at: next() / 3, on: true }),
    mixture: () =>
      next.pick([1, 'x', null, [1, [2.5, {}]], { a: { b: word() } }, Buffer.alloc(300)]),
  };
  for (const [name, make] of Object.entries(makes)) {
    const list = Array.from({ length: 12_000 }, make);
    const wire = pack({ first: 1, list, last: { x: [name] } });
    assert.equal(get(wire, '/last/x/0'), name);
    assert.equal(lengthOf(wire), wire.length, name);
    const picks = Array.from({ length: 50 }, () => next.below(list.length));
    assert.deepStrictEqual(getMany(wire, [...picks.map((i) => ['list', i]), '/last/x/0']), [
      ...picks.map((i) => list[i]),
      name,
    ]);
    for (const i of picks) assert.deepStrictEqual(get(wire, ['list', i]), list[i], name);
    const cut = wire.subarray(0, wire.length - 1 - next.below(wire.length >> 1));
    throwsCode(() => lengthOf(cut), 'ERR_MSGPACK_TRUNCATED', {
      offset: outcome(() => unpackFrom(cut)).offset,
    });
  }
});

test('extensions: bytes are called, a tag and its value are one', () => {
  const source = `
    import assert from 'node:assert/strict';
    import { addExtension, get, getMany, has, keysAt, lengthAt, lengthOf, pack, slice, typeAt } from './index.js';
    class Point { constructor(x, y) { this.x = x; this.y = y; } }
    class Wrap { constructor(inner) { this.inner = inner; } }
    const before = Buffer.from('92d40905a16107', 'hex');
    assert.equal(get(before, [1]), 'a');
    addExtension({ Class: Point, type: 5, pack: (p) => Buffer.from([p.x, p.y]), unpack: (b) => new Point(b[0], b[1]) });
    addExtension({ Class: Wrap, type: 9, write: (w) => w.inner, read: (inner) => new Wrap(inner) });
    const wire = pack({ p: new Point(1, 2), w: new Wrap({ a: [1, new Wrap('in')] }), last: 7 });
    assert.deepStrictEqual(get(wire, '/p'), new Point(1, 2));
    assert.equal(typeAt(wire, '/p'), 'ext');
    assert.equal(lengthAt(wire, '/p'), 2);
    assert.deepStrictEqual(get(wire, '/w'), new Wrap({ a: [1, new Wrap('in')] }));
    assert.equal(typeAt(wire, '/w'), 'ext');
    assert.equal(lengthAt(wire, '/w'), undefined);
    assert.equal(keysAt(wire, '/w'), undefined);
    assert.equal(get(wire, '/w/a'), undefined);
    assert.equal(has(wire, '/w/a'), false);
    assert.equal(get(wire, '/last'), 7);
    assert.deepStrictEqual(getMany(wire, ['/last', '/w/a', '/p']), [7, undefined, new Point(1, 2)]);
    assert.equal(lengthOf(wire), wire.length);
    assert.equal(slice(wire, '/w').toString('hex'), pack(new Wrap({ a: [1, new Wrap('in')] })).toString('hex'));
    // The type has a meaning now: the value behind it belongs to it.
    assert.equal(get(before, [1]), 7);
    // An extension that looks into other messages while one is unpacked.
    addExtension({ type: 7, unpack: (b) => [get(wire, '/last'), ...getMany(wire, ['/p']), get(before, [0]).inner] });
    assert.deepStrictEqual(get(Buffer.from('9201d40700', 'hex'), [1]), [7, new Point(1, 2), 'a']);
    addExtension({ type: 8, unpack() { throw new Error('no'); } });
    assert.throws(() => get(Buffer.from('9201d40800', 'hex'), [1]), { code: 'ERR_MSGPACK_EXTENSION', offset: 2 });
    assert.equal(get(wire, '/last'), 7);
    console.log('right');`;
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    cwd,
  });
  assert.equal(`${stdout}${stderr}`, 'right\n');
});

test('getMany: a path that cannot be met any more leads no further', () => {
  // [ str without an end ]
  const cut = bytes('91 d9');
  for (const paths of [['/0/a'], ['/0/a', '/x'], ['/0/a', '/1'], ['/0/a', '/1/b', ['0', 'c']]]) {
    assert.deepEqual(
      getMany(cut, paths),
      paths.map((path) => get(cut, path)),
    );
  }
  // { a: [1, str without an end
  const inside = bytes('82 a161 92 01 d9');
  assert.deepEqual(getMany(inside, ['/a/0', '/a/0/b']), [1, undefined]);
  throwsCode(() => getMany(inside, ['/a/0/b', '/b']), 'ERR_MSGPACK_TRUNCATED', { offset: 5 });
  // A name that no key has is looked for in all keys, by both.
  for (const paths of [[['\ud83d']], [['\ud83d', 'a'], '/x']]) {
    const props = { offset: 5 };
    throwsCode(() => getMany(inside, paths), 'ERR_MSGPACK_TRUNCATED', props);
    throwsCode(() => get(inside, paths[0]), 'ERR_MSGPACK_TRUNCATED', props);
  }
});
