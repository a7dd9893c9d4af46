// Kinds of fault that users of MessagePack libraries reported in public, each checked here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ext, pack, unpack, unpackFrom, unpackMultiple } from '../index.js';
import { attempt, bytes, hex, packs, stillWorks, throwsCode, unpacks } from './helpers.mjs';

test('integer boundary: whole numbers past 32 bits stay integers', () => {
  packs(298080447363, 'cf0000004566faab83');
  packs(2 ** 32, 'cf0000000100000000');
  packs(-2147483649, 'd3ffffffff7fffffff');
});

test('integer boundary: a Number past 2^53-1 is a double and does not wrap', () => {
  for (const value of [1e20, 2 ** 64, Number.MAX_VALUE, -1e19]) {
    assert.equal(pack(value)[0], 0xcb);
    assert.equal(unpack(pack(value)), value);
  }
  packs(1e20, 'cb4415af1d78b58c40');
});

test('integer boundary: small negatives and int8', () => {
  packs(-1, 'ff');
  packs(-32, 'e0');
  packs(-33, 'd0df');
  unpacks('e0', -32);
});

test('integer boundary: a large negative takes its smallest form', () =>
  packs(-300000000, 'd2ee1e5d00'));

test('float: 3.14 comes back as itself', () => packs(3.14, 'cb40091eb851eb851f'));

test('64-bit decode: never a rounded number in silence', () =>
  unpacks('cf0020000000000001', 9007199254740993n));

test('64-bit decode: a millisecond clock is a Number', () => {
  const clock = unpack(bytes('cf0000018b157cf31b'));
  assert.equal(clock, 0x18b157cf31b);
  assert.equal(clock + 1, 0x18b157cf31c);
  unpacks('cf0000000000000001', 1);
});

test('BigInt: out of 64 bits is refused, inside is exact and smallest', () => {
  throwsCode(() => pack(2n ** 64n), 'ERR_MSGPACK_OUT_OF_RANGE');
  throwsCode(() => pack(-(2n ** 63n) - 1n), 'ERR_MSGPACK_OUT_OF_RANGE');
  packs(2n ** 63n, 'cf8000000000000000');
  packs(2n ** 64n - 1n, 'cfffffffffffffffff');
  packs(-(2n ** 63n), 'd38000000000000000');
  packs(1n, '01');
});

test('float: the sign of zero', () => {
  packs(-0, 'cb8000000000000000');
  unpacks('cb8000000000000000', -0);
});

test('size: the largest of each width', () => {
  packs(4294967295, 'ceffffffff');
  assert.equal(hex(pack(Buffer.alloc(255)).subarray(0, 2)), 'c4ff');
});

test('lone surrogate: U+FFFD at every length, as a key too, the rest of the text kept', () => {
  packs('hi \ud83d', 'a6686920efbfbd');
  packs('\udc00x', 'a4efbfbd78');
  packs(`${'a'.repeat(80)}hi \ud83d`, 'd956 61^80 686920efbfbd');
  packs(`${'a'.repeat(80)}\udc00x`, 'd954 61^80 efbfbd78');
  packs({ '\ud83d': 1 }, '81a3efbfbd01');
  packs({ [`${'a'.repeat(80)}\ud83d`]: 1 }, '81d953 61^80 efbfbd01');
});

test('CESU-8: an astral character is four bytes, surrogates in UTF-8 are ill-formed', () => {
  packs('🐦', 'a4f09f90a6');
  unpacks('a6eda0bdedb0a6', '\ufffd'.repeat(6));
});

test('invalid UTF-8: no overlong form becomes the character it hides', () => {
  unpacks('a2c0af', '\ufffd\ufffd');
  unpacks('a3e080af', '\ufffd\ufffd\ufffd');
  unpacks('a4f4908080', '\ufffd\ufffd\ufffd\ufffd');
  unpacks('a2e282', '\ufffd');
  unpacks('d966 78^100 c0af', `${'x'.repeat(100)}\ufffd\ufffd`);
});

test('invalid UTF-8: a cut sequence takes nothing from the next value', () => {
  unpacks('92a2e282a161', ['\ufffd', 'a']);
  unpacks('92a1f0a3616263', ['\ufffd', 'abc']);
});

test('raw strings: the bytes of a damaged string can be had', () => {
  unpacks('a2e280', Buffer.from([0xe2, 0x80]), { utf8: 'raw' });
  throwsCode(() => unpack(bytes('a2e280'), { utf8: 'fatal' }), 'ERR_MSGPACK_INVALID_UTF8');
});

test('native and UTF-8: 32 and more invalid bytes', () => {
  for (const length of [31, 32, 33, 64, 255, 256, 5000]) {
    const data = Buffer.alloc(length, Buffer.from('80fd', 'hex'));
    const head =
      length < 32
        ? [0xa0 | length]
        : length < 256
          ? [0xd9, length]
          : [0xda, length >> 8, length & 255];
    assert.equal(unpack(Buffer.concat([Buffer.from(head), data])), '\ufffd'.repeat(length));
  }
});

test('BOM: data at every length', () => {
  const value = unpack(bytes('da012f efbbbf 61^300'));
  assert.equal(value.length, 301);
  assert.equal(value.charCodeAt(0), 0xfeff);
  unpacks('a4efbbbf61', '\ufeffa');
});

test('documented calls only: an 80-character string in an object', () => {
  packs({ a: 's'.repeat(80) }, '81a161d950 73^80');
});

test('global state: strings of 64 bytes and more after a huge message', () => {
  pack('x'.repeat(20_000_000));
  assert.deepStrictEqual(unpack(pack({ name: 'a'.repeat(64) })), { name: 'a'.repeat(64) });
  unpack(pack(['y'.repeat(5_000_000), 'z']));
  stillWorks();
});

test('no wire form of its own: equal objects, long text and looped messages are plain', () => {
  const equal = Array.from({ length: 10_001 }, () => ({ a: 1 }));
  packs(equal, 'dc2711 81a16101^10001');
  const text = Array.from({ length: 10_000 }, (_, i) => `漢字${i}`);
  assert.deepStrictEqual(unpack(pack(text)), text);
  assert.equal(unpackMultiple(Buffer.concat(text.map((t) => pack(t)))).length, 10_000);
});

test('length boundary: ext of 255, 256, 65535 and 65536 bytes', () => {
  for (const [length, head] of [
    [255, 'c7ff05'],
    [256, 'c8010005'],
    [65535, 'c8ffff05'],
    [65536, 'c90001000005'],
  ]) {
    const wire = pack(new Ext(5, Buffer.alloc(length)));
    assert.equal(hex(wire.subarray(0, head.length / 2)), head);
    assert.equal(unpack(wire).data.length, length);
  }
});

test('non-string keys: two distinct keys do not merge', () => {
  throwsCode(() => unpack(bytes('81c001')), 'ERR_MSGPACK_KEY');
  throwsCode(() => unpack(bytes('82c001a46e756c6c02')), 'ERR_MSGPACK_KEY');
  throwsCode(() => unpack(bytes('81c301')), 'ERR_MSGPACK_KEY');
  unpacks('8101a161', { 1: 'a' });
  unpacks(
    '82c001a46e756c6c02',
    new Map([
      [null, 1],
      ['null', 2],
    ]),
    { maps: 'map' },
  );
});

test('map32: 65 536 keys', () => {
  const value = Object.fromEntries(Array.from({ length: 65_536 }, (_, i) => [`k${i}`, i]));
  const wire = pack(value);
  assert.equal(hex(wire.subarray(0, 5)), 'df00010000');
  assert.deepStrictEqual(unpack(wire), value);
  packs({ a: 1 }, '81a16101');
  assert.equal(
    pack(Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, i])))[0],
    0x8f,
  );
});

test('__proto__: an own property both ways, no prototype replaced', () => {
  const value = JSON.parse('{"__proto__":{"x":1},"a":2}');
  const back = unpack(pack(value));
  assert.deepStrictEqual(Object.keys(back), ['__proto__', 'a']);
  assert.equal(back.x, undefined);
  const hostile = unpack(bytes('82a95f5f70726f746f5f5f81a17801a16102'));
  assert.equal(hostile.x, undefined);
  assert.ok(Object.hasOwn(hostile, '__proto__'));
  assert.equal(Object.getPrototypeOf(hostile), Object.prototype);
  unpacks('82ab636f6e7374727563746f7201a970726f746f7479706502', { constructor: 1, prototype: 2 });
});

test('numeric keys: keys of an object are strings', () => {
  packs({ 555: 'x' }, '81a3353535a178');
  packs(new Map([[555, 'x']]), '81cd022ba178');
});

test('key order: as JavaScript has it in an object, as on the wire in a Map', () => {
  assert.deepStrictEqual(Object.keys(unpack(bytes('83a16201a13102a2303103'))), ['1', 'b', '01']);
  assert.deepStrictEqual(
    [...unpack(bytes('83a16201a13102a2303103'), { maps: 'map' }).keys()],
    ['b', '1', '01'],
  );
});

test('Map or object: an object from every entry point', () => {
  unpacks('81a16101', { a: 1 });
  assert.deepStrictEqual(unpackFrom(bytes('81a16101')).value, { a: 1 });
  assert.deepStrictEqual(unpackMultiple(bytes('81a16101')), [{ a: 1 }]);
});

test('custom wire form: plain MessagePack, on the hundredth object too', () => {
  for (let i = 0; i < 100; i++) packs({ a: 1 }, '81a16101');
});

test('table limit: many shapes', () => {
  for (let i = 0; i < 600; i++) {
    const value = { [`k${i}`]: i, [`l${i}`]: 'x' };
    assert.deepStrictEqual(unpack(pack(value)), value);
  }
});

test('undefined: skipped in objects, nil in arrays and at the top, never a private ext', () => {
  packs({ a: undefined, b: 1 }, '81a16201');
  packs([undefined], '91c0');
  packs(undefined, 'c0');
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
  packs([, 1], '92c001');
});

test('Date: an invalid one is never a valid-looking date', () => packs(new Date(NaN), 'c0'));

test('Date: the timestamp of the specification', () => {
  packs(new Date(0), 'd6ff00000000');
  unpacks('d6ff00000001', new Date(1000));
});

test('signed ext type: the byte is an int8', () =>
  unpacks('d4fe01', new Ext(-2, Buffer.from([1]))));

test('Date boundary: 2^34 seconds', () =>
  packs(new Date(17179869184000), 'c70cff000000000000000400000000'));

test('Date validity: too many nanoseconds, wrong sizes, out of range are refused', () => {
  for (const wire of [
    'd7ffee6b280000000001',
    'd4ff01',
    'c705ff0000000000',
    'c70cff000000007fffffffffffffff',
  ]) {
    throwsCode(() => unpack(bytes(wire)), 'ERR_MSGPACK_TIMESTAMP', { offset: 0 });
  }
});

test('ext type 0, unknown, empty and private ones are handed over', () => {
  unpacks('d40001', new Ext(0, Buffer.from([1])));
  unpacks('d42001', new Ext(32, Buffer.from([1])));
  unpacks('c70020', new Ext(32, Buffer.alloc(0)));
  unpacks('92c7002001', [new Ext(32, Buffer.alloc(0)), 1]);
  for (const type of [0, 1, 0x42, 0x62, 0x65, 0x69, 0x70, 0x72, 0x73, 0x74, 0x78]) {
    unpacks(Buffer.from([0xd4, type, 1]), new Ext(type, Buffer.from([1])));
    unpacks(Buffer.from([0xc7, 0, type]), new Ext(type, Buffer.alloc(0)));
  }
});

test('buffer reuse: a result never changes later', () => {
  const results = [];
  for (let i = 0; i < 2000; i++) results.push([pack({ i, s: 'x'.repeat(i % 100) }), i]);
  for (const [wire, i] of results)
    assert.deepStrictEqual(unpack(wire), { i, s: 'x'.repeat(i % 100) });
});

test('results do not overlap: writing all over one leaves the others', () => {
  const results = Array.from({ length: 200 }, (_, i) => pack({ i }));
  const copies = results.map((r) => Buffer.from(r));
  results.forEach((r, i) => {
    if (i % 2) r.fill(0xc1);
  });
  results.forEach((r, i) => {
    if (i % 2 === 0) assert.ok(r.equals(copies[i]));
  });
});

test('aliasing input: by default a view, with copyBuffers a copy', () => {
  const input = pack({ d: Buffer.from([1, 2]) });
  const copy = unpack(input, { copyBuffers: true });
  const view = unpack(input);
  input.fill(0xee);
  assert.deepStrictEqual(copy.d, Buffer.from([1, 2]));
  assert.deepStrictEqual(view.d, Buffer.from([0xee, 0xee]));
});

test('byteOffset: views decode and encode what they show', () => {
  assert.deepStrictEqual(unpack(Uint8Array.of(9, 9, 0x92, 1, 2, 9).subarray(2, 5)), [1, 2]);
  packs(Buffer.from([1, 2, 3, 4]).subarray(1, 3), 'c4020203');
});

test('input type: a plain Uint8Array is as good as a Buffer', () => {
  for (const wire of ['a3616263', 'd903616263', 'cb40091eb851eb851f', 'd6ff00000001', 'c4020102']) {
    assert.deepStrictEqual(unpack(Uint8Array.from(bytes(wire))), unpack(bytes(wire)));
  }
});

test('ArrayBuffer value: bin, never an empty map', () => {
  packs({ a: new ArrayBuffer(3) }, '81a161c403000000');
  packs(new SharedArrayBuffer(2), 'c4020000');
});

test('typed arrays: the bytes, not the elements', () => {
  packs(new Float32Array([1, 2]).subarray(1), 'c40400000040');
  packs(new Float64Array([1.5]), 'c408000000000000f83f');
});

test('empty view: zero length both ways', () => {
  packs(new Uint8Array(0), 'c400');
  unpacks('c400', Buffer.alloc(0));
  throwsCode(() => unpack(new Uint8Array(0)), 'ERR_MSGPACK_TRUNCATED');
});

test('re-entrancy: the buffer shrinks or goes in a getter', () => {
  for (const act of [(b) => b.resize(0), (b) => structuredClone(b, { transfer: [b] })]) {
    for (let i = 0; i < 50; i++) {
      const u8 = new Uint8Array(new ArrayBuffer(100, { maxByteLength: 200 })).fill(1);
      const result = attempt(() =>
        unpack(
          pack({
            a: u8,
            get b() {
              act(u8.buffer);
              return 1;
            },
          }),
        ),
      );
      if (result.error === undefined) assert.ok([0, 100].includes(result.value.a.length));
      stillWorks();
    }
  }
});

test('re-entrancy: toJSON and getters that pack', () => {
  packs(
    {
      a: { toJSON: () => pack([1]) },
      get b() {
        return pack({ c: 2 });
      },
    },
    '82a161c4029101a162c40481a16302',
  );
});

test('exception mid-way: no trace of the failed call', () => {
  assert.throws(() =>
    pack({
      a: 1,
      get b() {
        throw new Error('x');
      },
    }),
  );
  packs({ a: 1, c: 2 }, '82a16101a16302');
  throwsCode(() => unpack(bytes('81a161')), 'ERR_MSGPACK_TRUNCATED');
  unpacks('9101', [1]);
});

test('nil in a sequence of values', () =>
  assert.deepStrictEqual(unpackMultiple(bytes('01c002')), [1, null, 2]));

test('prefix decode: the value and how long it was', () => {
  assert.deepStrictEqual(unpackFrom(bytes('81a16101 ffffff')), { value: { a: 1 }, end: 4 });
});

test('trailing bytes: refused with the offset', () => {
  throwsCode(() => unpack(bytes('0102')), 'ERR_MSGPACK_EXTRA_BYTES', { offset: 1 });
});

test('empty input: an Error with a stack', () => {
  const error = throwsCode(() => unpack(Buffer.alloc(0)), 'ERR_MSGPACK_TRUNCATED', { offset: 0 });
  assert.ok(error.stack.length > 0);
});

test('reserved byte', () => {
  throwsCode(() => unpack(bytes('c1')), 'ERR_MSGPACK_INVALID_BYTE', { offset: 0 });
});

test('declared length: an error at once', () => {
  for (const wire of [
    'dd01312d00',
    'ddffffffff',
    'dfffffffff',
    'dbffffffff',
    'c6ffffffff',
    'c9ffffffff01',
    'dbaf8e8ec961',
  ]) {
    throwsCode(() => unpack(bytes(wire)), 'ERR_MSGPACK_TRUNCATED');
  }
});

test('recursion depth: a catchable error both ways', () => {
  throwsCode(() => unpack(bytes('91^100000 c0')), 'ERR_MSGPACK_DEPTH');
  throwsCode(() => unpack(bytes('81a161^100000 c0')), 'ERR_MSGPACK_DEPTH');
  let value = null;
  for (let i = 0; i < 100_000; i++) value = [value];
  throwsCode(() => pack(value), 'ERR_MSGPACK_DEPTH');
});

test('asymmetric limit: 200 nested arrays pack and unpack', () => {
  let value = 'end';
  for (let i = 0; i < 200; i++) value = [value];
  assert.deepStrictEqual(unpack(pack(value)), value);
});

test('leak on error: a great many cyclic values', () => {
  const value = {};
  value.self = value;
  for (let i = 0; i < 500; i++) attempt(() => pack(value));
  stillWorks();
});
