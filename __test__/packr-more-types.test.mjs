// moreTypes: Set, Error, RegExp, typed arrays, large bigints and undefined, in the forms of msgpackr.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import fc from 'fast-check';
import * as peer from 'msgpackr';
import msgpack, { Ext, pack, Timestamp } from '../index.js';
import {
  attempt,
  bytes,
  checkError,
  generator,
  hex,
  nestArrays,
  runsOf,
  sameBytes,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import {
  both,
  everyPrefix,
  PACKR_CODES,
  reads,
  sameGraph,
  settle,
  writes,
} from './packr-helpers.mjs';

const { Packr } = msgpack;

const make = (options) => new Packr({ moreTypes: true, ...options });
const theirs = (options) => new peer.Packr({ moreTypes: true, ...options });

/** The same bytes as msgpackr, and each reads what the other wrote. */
function agree(value, expected, label) {
  writes(make(), value, expected, label);
  sameBytes(Buffer.from(theirs().pack(value)), bytes(expected), `msgpackr ${label}`);
  sameGraph(make().unpack(bytes(expected)), value);
  sameGraph(theirs().unpack(bytes(expected)), value);
}

test('Set', () => {
  agree(new Set(), 'd4730090');
  agree(new Set([1, 2]), 'd47300920102');
  agree(new Set(['a', null, true, 0.5]), 'd4730094a161c0c3cb3fe0000000000000');
  agree(new Set([new Set([1]), new Set()]), 'd4730092d473009101d4730090');
  agree(new Set([undefined]), 'd4730091d40000');
  agree(
    [new Set([1]), { s: new Set([{ a: 1 }]) }],
    '92d473009101 d4724091a173 d4730091 d4724191a16101',
  );
  agree(new Set(Array(16).keys()), 'd47300dc0010000102030405060708090a0b0c0d0e0f');
  class Bag extends Set {}
  writes(make(), new Bag([1]), 'd473009101');
  const large = new Set(Array.from({ length: 70_000 }, (_, i) => i));
  const wire = make().pack(large);
  assert.equal(hex(wire.subarray(0, 8)), 'd47300dd00011170');
  assert.deepStrictEqual(make().unpack(wire), large);
});

test('the order of a Set and a Map is kept, and equal elements are one', () => {
  reads(make(), 'd4730094 03 01 02 01', new Set([3, 1, 2]));
  assert.deepEqual([...make().unpack(bytes('d4730094 03 01 02 01'))], [3, 1, 2]);
  assert.deepEqual(
    [...make().unpack(bytes('83 03c0 01c0 0301'))],
    [
      [3, 1],
      [1, null],
    ],
  );
  reads(make(), 'd4730092 9101 9101', new Set([[1], [1]]));
  reads(make(), 'd4730092 cb8000000000000000 00', new Set([0]));
});

test('Map', () => {
  agree(new Map(), '80');
  agree(new Map([[1, 2]]), '810102');
  agree(
    new Map([
      ['a', { b: 1 }],
      [null, new Map([[0.5, true]])],
    ]),
    '82a161d4724091a16201 c081cb3fe0000000000000c3',
  );
  agree(new Map([[[1], new Set([1])]]), '819101d473009101');
  agree(new Map([[undefined, undefined]]), '81d40000d40000');
  agree(new Map([[new Map([[1, 2]]), { k: new Map() }]]), '81810102d4724091a16b80');
  agree(
    new Map([
      [true, 1],
      [false, 2],
      [NaN, 3],
    ]),
    '83c301c202cb7ff800000000000003',
  );
  agree(
    new Map(Array.from({ length: 16 }, (_, i) => [i, i])),
    `de0010${Array.from({ length: 16 }, (_, i) => `0${i.toString(16)}`.repeat(2)).join('')}`,
  );
  class Table extends Map {}
  writes(make(), new Table([[1, 2]]), '810102');
  agree(new Map([[64, 127]]), '81cc40cc7f');
});

test('an object is a record, and a map on the wire is a Map', () => {
  agree({}, 'd4724090');
  agree({ a: 1 }, 'd4724091a16101');
  agree([{ a: 1 }, { a: 2 }], '92d4724091a161014002');
  agree({ a: 64 }, 'd4724091a161cc40');
  reads(make(), '81a16101', new Map([['a', 1]]));
  reads(make({ mapsAsObjects: true }), '81a16101', { a: 1 });
  reads(make({ maps: 'object' }), '81a16101', { a: 1 });
  reads(make({ mapsAsObjects: false }), '81a16101', new Map([['a', 1]]));
  const maps = () => make({ useRecords: false });
  both(maps, { a: new Set([1]), b: undefined }, '82a161d473009101a162d40000');
  reads(maps(), '81a16101', { a: 1 });
});

const NAMES = [
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
];
const text = (value) => hex(pack(value));

/** What a Set, Error and so on come back as: this class exactly, name, message and cause. */
function sameError(actual, { Class, name, message, cause }) {
  assert.equal(Object.getPrototypeOf(actual), Class.prototype);
  assert.equal(actual.name, name);
  assert.equal(actual.message, message);
  assert.deepStrictEqual(actual.cause, cause);
  assert.ok(actual.stack.includes(message));
}

test('Error: every name, the message, the cause', () => {
  for (const name of NAMES) {
    const Class = globalThis[name];
    for (const [message, cause, causeHex] of [
      ['boom', undefined, 'd40000'],
      ['', 'why', 'a3776879'],
      ['é 漢 😀', null, 'c0'],
      ['m', { a: [1] }, 'd4724091a1619101'],
      ['m', new Set([1]), 'd473009101'],
      ['x'.repeat(300), 0, '00'],
    ]) {
      const value = cause === undefined ? new Class(message) : new Class(message, { cause });
      const expected = bytes(`d4650093 ${text(name)} ${text(message)} ${causeHex}`);
      writes(make(), value, expected, name);
      sameBytes(Buffer.from(theirs().pack(value)), expected, name);
      for (const back of [make().unpack(expected), theirs().unpack(expected)]) {
        sameError(back, { Class, name, message, cause });
      }
    }
  }
});

test('Error: causes within causes', () => {
  const value = new Error('a', { cause: new TypeError('b', { cause: new RangeError('c') }) });
  const expected =
    'd4650093 a54572726f72 a161 d4650093 a9547970654572726f72 a162 d4650093 aa52616e67654572726f72 a163 d40000';
  writes(make(), value, expected);
  const back = make().unpack(bytes(expected));
  sameError(back.cause.cause, {
    Class: RangeError,
    name: 'RangeError',
    message: 'c',
    cause: undefined,
  });
  let deep;
  for (let i = 0; i < 400; i++) deep = new Error(`e${i}`, { cause: deep });
  let unpacked = make().unpack(make().pack(deep));
  for (let i = 399; i >= 0; i--) {
    assert.equal(unpacked.message, `e${i}`);
    unpacked = unpacked.cause;
  }
  assert.equal(unpacked, undefined);
});

test('AggregateError', () => {
  const value = new AggregateError([new Error('a'), 1], 'all');
  const expected =
    'd4650094 ae4167677265676174654572726f72 a3616c6c d40000 92 d4650093a54572726f72a161d40000 01';
  writes(make(), value, expected);
  sameBytes(Buffer.from(theirs().pack(value)), bytes(expected));
  for (const back of [make().unpack(bytes(expected)), theirs().unpack(bytes(expected))]) {
    sameError(back, { Class: AggregateError, name: 'AggregateError', message: 'all' });
    assert.equal(back.errors.length, 2);
    sameError(back.errors[0], { Class: Error, name: 'Error', message: 'a' });
    assert.equal(back.errors[1], 1);
  }
  writes(
    make(),
    new AggregateError([], '', { cause: 1 }),
    'd4650094 ae4167677265676174654572726f72 a0 01 90',
  );
  // As msgpackr 1 wrote it, without the errors.
  const old = make().unpack(bytes('d4650093 ae4167677265676174654572726f72 a16d d40000'));
  sameError(old, { Class: AggregateError, name: 'AggregateError', message: 'm' });
  assert.deepEqual(old.errors, []);
});

test('Error: subclasses and other names come back as Error with that name', () => {
  class Named extends TypeError {
    constructor(message) {
      super(message);
      this.name = 'Named';
    }
  }
  writes(make(), new Named('m'), 'd4650093 a54e616d6564 a16d d40000');
  class Unnamed extends TypeError {}
  writes(make(), new Unnamed('m'), 'd4650093 a9547970654572726f72 a16d d40000');
  class Getter extends Error {
    get name() {
      return 'G';
    }
  }
  writes(make(), new Getter('m'), 'd4650093 a147 a16d d40000');
  for (const name of [
    'Named',
    'Foo',
    '',
    'Object',
    'Function',
    '__proto__',
    'constructor',
    'toString',
  ]) {
    const back = make().unpack(bytes(`d4650093 ${text(name)} a16d d40000`));
    sameError(back, { Class: Error, name, message: 'm' });
  }
});

test('Error: from another realm, and other properties left out', () => {
  const value = Object.assign(new Error('m'), { code: 'E_X', extra: 1 });
  writes(make(), value, 'd4650093 a54572726f72 a16d d40000');
  const foreign = vm.runInNewContext('new RangeError("m")');
  writes(make(), foreign, 'd4650093 aa52616e67654572726f72 a16d d40000');
  const set = vm.runInNewContext('new Set([1])');
  writes(make(), set, 'd473009101');
  writes(make(), vm.runInNewContext('/a/g'), 'd4780092a161a167');
  writes(make(), vm.runInNewContext('new Uint16Array([1])'), 'c703740401 00');
});

test('Error: the errors of no AggregateError are a property like any other', () => {
  const value = Object.assign(new Error('m'), { errors: [1] });
  const expected = 'd4650093 a54572726f72 a16d d40000';
  writes(make(), value, expected);
  sameBytes(Buffer.from(theirs().pack(value)), bytes(expected));
});

test('RegExp', () => {
  for (const [value, expected] of [
    [/a\/b/gi, 'd4780092a4615c2f62a26769'],
    [/(?:)/, 'd4780092a4283f3a29a0'],
    // biome-ignore lint/complexity/useRegexLiterals: an empty source
    [new RegExp(''), 'd4780092a4283f3a29a0'],
    // Bun writes a literal like this with escapes, which are its source then.
    // biome-ignore lint/complexity/useRegexLiterals: see above
    [new RegExp('é漢', 'u'), 'd4780092a5c3a9e6bca2a175'],
    [/x/dgimsuy, 'd4780092a178a76467696d737579'],
    [/\n\t[/]/, `d4780092 ${text('\\n\\t[/]')} a0`],
  ]) {
    agree(value, expected, String(value));
  }
  agree([/a/, { r: /b/g }], '92d4780092a161a0d4724091a172d4780092a162a167');
  const moved = /a/g;
  moved.lastIndex = 5;
  writes(make(), moved, 'd4780092a161a167');
  assert.equal(make().unpack(bytes('d4780092a161a167')).lastIndex, 0);
});

const ARRAYS = [
  [Int8Array, 0],
  [Uint8Array, 1],
  [Uint8ClampedArray, 2],
  [Int16Array, 3],
  [Uint16Array, 4],
  [Int32Array, 5],
  [Uint32Array, 6],
  [Float32Array, 7],
  [Float64Array, 8],
  [BigInt64Array, 9],
  [BigUint64Array, 10],
];
const element = (Class, i) => (Class.name.startsWith('Big') ? BigInt(i) : i);
const of = (Class, ...items) => Class.from(items.map((i) => element(Class, i)));
const raw = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

test('typed arrays: every class, exact bytes', () => {
  for (const [Class, code] of ARRAYS) {
    const c = code.toString(16).padStart(2, '0');
    agree(new Class(0), `c70174${c}`, Class.name);
    for (const value of [of(Class, 1), of(Class, 1, 2), of(Class, 1, 2, 3).subarray(1, 2)]) {
      const length = (1 + value.byteLength).toString(16).padStart(2, '0');
      agree(value, `c7${length}74${c}${hex(raw(value))}`, Class.name);
    }
  }
  agree(Int16Array.of(-1, 258), 'c7057403 ffff 0201');
  agree(Float64Array.of(NaN, -0), 'c7117408 000000000000f87f 0000000000000080');
  agree(BigInt64Array.of(-2n), 'c7097409 feffffffffffffff');
  agree(Float32Array.of(0.1, Infinity), 'c7097407 cdcccc3d 0000807f');
});

test('typed arrays: ArrayBuffer, DataView and Buffer', () => {
  const memory = Uint8Array.of(1, 2, 3).buffer;
  agree(memory, 'c7047410010203');
  agree(new ArrayBuffer(0), 'c7017410');
  agree(new DataView(memory, 1), 'c70374110203');
  agree(new DataView(memory, 1, 1), 'c702741102');
  agree(new DataView(new ArrayBuffer(0)), 'c7017411');
  agree(Buffer.from([1, 2]), 'c4020102');
  agree(Buffer.alloc(0), 'c400');
  agree({ b: Buffer.from([1]), u: Uint8Array.of(1) }, 'd4724092a162a175 c40101 c702740101');
});

test('typed arrays: the length forms, at their edges', () => {
  for (const [length, head] of [
    [253, 'c7fe7401'],
    [254, 'c7ff7401'],
    [255, 'c801007401'],
    [256, 'c801017401'],
    [65533, 'c8fffe7401'],
    [65534, 'c8ffff7401'],
    [65535, 'c9000100007401'],
    [65536, 'c9000100017401'],
    [1_000_000, 'c9000f42417401'],
  ]) {
    const value = new Uint8Array(length).fill(7);
    const expected = Buffer.concat([bytes(head), value]);
    writes(make(), value, expected, `${length}`);
    sameBytes(Buffer.from(theirs().pack(value)), expected, `${length}`);
    reads(make(), expected, value, `${length}`);
    reads(make(), Buffer.concat([bytes('92'), expected, bytes('01')]), [value, 1]);
    // A form wider than needed, and fixext where the length allows it.
    const wide = Buffer.concat([bytes('c900000000 7401'), value]);
    wide.writeUInt32BE(length + 1, 1);
    reads(make(), wide, value, `${length}`);
  }
  for (const [wire, value] of [
    ['d47401', new Uint8Array(0)],
    ['d5740109', Uint8Array.of(9)],
    ['d67411010203', new DataView(Uint8Array.of(1, 2, 3).buffer)],
    ['d77400 01020304050607', Int8Array.of(1, 2, 3, 4, 5, 6, 7)],
    [
      'd87402 0102030405060708090a0b0c0d0e0f',
      Uint8ClampedArray.from({ length: 15 }, (_, i) => i + 1),
    ],
  ]) {
    reads(make(), wire, value);
  }
});

test('typed arrays: memory of their own, aligned, of any offset', () => {
  for (const [Class, code] of ARRAYS) {
    for (let shift = 0; shift < 9; shift++) {
      const value = of(Class, 1, 2, 3);
      const body = Buffer.concat([
        Buffer.from([0xc7, 1 + value.byteLength, 0x74, code]),
        raw(value),
      ]);
      const memory = Buffer.alloc(body.length + shift + 1, 0xc0);
      memory[0] = 0x91;
      const input = memory.subarray(shift);
      input[0] = 0x91;
      body.copy(input, 1);
      const [back] = make().unpack(input);
      assert.deepStrictEqual(back, value);
      memory.fill(0xee);
      assert.deepStrictEqual(back, value);
      assert.equal(back.buffer.byteLength, value.byteLength);
    }
  }
});

test('typed arrays: over memory that is shared, resized or gone', () => {
  const shared = new Uint16Array(new SharedArrayBuffer(4));
  shared.set([1, 2]);
  writes(make(), shared, 'c7057404 0100 0200');
  const { value, error } = attempt(() => make().pack(new SharedArrayBuffer(2)));
  if (error === undefined) assert.notEqual(hex(value), 'd4724090');
  const gone = new Uint8Array(4);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  throwsCode(() => make().pack({ a: gone }), 'ERR_MSGPACK_INVALID_INPUT', { path: '$.a' });
  stillWorks();
});

const big = (hexDigits) => BigInt(`0x${hexDigits}`);

test('bigints beyond 64 bits: whole words of 8 bytes, two’s complement', () => {
  for (const [value, expected] of [
    [2n ** 64n, 'd842 0000000000000001 0000000000000000'],
    [2n ** 64n + 1n, 'd842 0000000000000001 0000000000000001'],
    [-(2n ** 63n) - 1n, 'd842 ffffffffffffffff 7fffffffffffffff'],
    [-(2n ** 64n), 'd842 ffffffffffffffff 0000000000000000'],
    [-(2n ** 64n) - 1n, 'd842 fffffffffffffffe ffffffffffffffff'],
    [2n ** 127n - 1n, 'd842 7f ff^15'],
    [-(2n ** 127n), 'd842 80 00^15'],
    [2n ** 127n, 'c71842 00^8 80 00^15'],
    [-(2n ** 127n) - 1n, 'c71842 ff^8 7f ff^15'],
    [2n ** 191n - 1n, 'c71842 7f ff^23'],
    [-(2n ** 191n), 'c71842 80 00^23'],
    [2n ** 191n, 'c72042 00^8 80 00^23'],
    [big('123456789abcdef0'.repeat(3)), `c71842 ${'123456789abcdef0'.repeat(3)}`],
    [2n ** 1983n - 1n, 'c7f842 7f ff^247'],
    [2n ** 1983n, 'c8010042 00^8 80 00^247'],
    [-(2n ** 2047n), 'c8010042 80 00^255'],
  ]) {
    const label = String(value).slice(0, 30);
    writes(make(), value, expected, label);
    sameBytes(Buffer.from(theirs().pack(value)), bytes(expected), `msgpackr ${label}`);
    reads(make(), expected, value, label);
    assert.equal(theirs().unpack(bytes(expected)), value);
    both(make, [value, { a: value }], `92 ${expected} d4724091a161 ${expected}`, label);
    both(make, new Map([[value, value]]), `81 ${expected} ${expected}`, label);
  }
});

test('bigints of 64 bits and fewer: an int 64 or a uint 64', () => {
  for (const [value, expected] of [
    [2n ** 53n, 'd30020000000000000'],
    [2n ** 63n - 1n, 'd37fffffffffffffff'],
    [2n ** 63n, 'cf8000000000000000'],
    [2n ** 64n - 1n, 'cfffffffffffffffff'],
    [-(2n ** 53n), 'd3ffe0000000000000'],
    [-(2n ** 63n), 'd38000000000000000'],
  ]) {
    agree(value, expected, `${value}`);
    agree([value], `91${expected}`, `${value}`);
  }
  for (const int64 of ['bigint', 'string', 'number']) {
    const convert = { bigint: BigInt, string: String, number: Number }[int64];
    reads(make({ int64 }), 'd30000000000000001', convert(1));
  }
});

test('small bigints', () => {
  for (const [value, expected] of [
    [0n, 'd30000000000000000'],
    [1n, 'd30000000000000001'],
    [-1n, 'd3ffffffffffffffff'],
    [64n, 'd30000000000000040'],
    [2n ** 53n - 1n, 'd3001fffffffffffff'],
    [-(2n ** 53n) + 1n, 'd3ffe0000000000001'],
  ]) {
    writes(make(), value, expected, `${value}`);
    sameBytes(Buffer.from(theirs().pack(value)), bytes(expected), `msgpackr ${value}`);
    reads(make({ int64: 'bigint' }), expected, value, `${value}`);
    reads(make({ int64: 'bigint' }), make().pack([value]), [value]);
  }
});

test('bigints: any length can be read', () => {
  for (const [wire, value] of [
    ['c70042', 0n],
    ['d44200', 0n],
    ['d44201', 1n],
    ['d4427f', 127n],
    ['d44280', -128n],
    ['d442ff', -1n],
    ['d5427fff', 32767n],
    ['d5420080', 128n],
    ['d542ffff', -1n],
    ['c70342 800000', -(2n ** 23n)],
    ['d642 7fffffff', 2n ** 31n - 1n],
    ['d642 80000000', -(2n ** 31n)],
    ['d742 7fffffffffffffff', 2n ** 63n - 1n],
    ['d742 8000000000000000', -(2n ** 63n)],
    ['c70942 80 00^8', -(2n ** 71n)],
    ['c70942 01 00^8', 2n ** 64n],
    ['c8000942 01 00^8', 2n ** 64n],
    ['c90000000942 01 00^8', 2n ** 64n],
    ['d842 ff^16', -1n],
    ['d842 00^16', 0n],
  ]) {
    if (wire === 'c70042') {
      const { value: back } = settle(() => make().unpack(bytes(wire)));
      assert.ok(back === undefined || back === value);
      continue;
    }
    reads(make(), wire, value, wire);
    reads(make(), `92 ${wire} 01`, [value, 1], wire);
  }
});

test('bigints: random ones, of up to thousands of bits, as msgpackr writes them', (t) => {
  const next = generator(seedOf(t));
  const ours = make();
  const peers = theirs();
  for (let run = 0; run < runsOf(400); run++) {
    const bits = 1 + next.below(run % 10 === 0 ? 5000 : 300);
    let value = 1n;
    for (let i = 0; i < bits; i += 30) value = (value << 30n) | BigInt(next.below(2 ** 30));
    value = BigInt.asIntN(bits + 1, value);
    if (value >= -(2n ** 53n) && value <= 2n ** 53n) continue;
    const wire = ours.pack(value);
    sameBytes(wire, Buffer.from(peers.pack(value)), String(value));
    assert.equal(ours.unpack(wire), value);
  }
  const huge = 3n ** 50_000n;
  for (const value of [huge, -huge]) {
    assert.equal(ours.unpack(ours.pack(value)), value);
    assert.equal(peers.unpack(ours.pack(value)), value);
    assert.equal(ours.unpack(peers.pack(value)), value);
  }
});

test('a bigint of a million bits, quickly', () => {
  const value = (1n << 1_000_000n) + 12345n;
  const started = process.hrtime.bigint();
  const wire = make().pack(value);
  assert.equal(make().unpack(wire), value);
  assert.equal(peer.unpack(wire), value);
  assert.ok(process.hrtime.bigint() - started < 20_000_000_000n);
});

test('undefined, wherever it stands', () => {
  agree(undefined, 'd40000');
  agree([undefined, [undefined]], '92d4000091d40000');
  agree({ a: undefined }, 'd4724091a161d40000');
  agree({ a: undefined, b: [undefined] }, 'd4724092a161a162d4000091d40000');
  agree(new Map([[undefined, 1]]), '81d4000001');
  agree(new Map([[1, undefined]]), '8101d40000');
  agree(new Set([undefined, null]), 'd4730092d40000c0');
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
  writes(make(), [, 1], '92d4000001');
  writes(make(), [() => 1], '91d40000');
  writes(make(), { f() {} }, 'd4724091a166d40000');
  // Any ext 0 is undefined, whatever is in it.
  for (const wire of ['d40001', 'd400ff', 'd5000102', 'c70000', 'c703000a0b0c', 'd800 01^16']) {
    reads(make(), wire, undefined, wire);
    reads(make(), `93 01 ${wire} 02`, [1, undefined, 2], wire);
  }
  both(() => make({ undefinedAs: 'nil' }), [null], '91c0');
  writes(make({ undefinedAs: 'nil' }), [undefined, { a: undefined }], '92c0d4724091a161c0');
  writes(make({ undefinedAs: 'omit' }), [undefined, { a: undefined, b: 1 }], '92c0d4724091a16201');
  throwsCode(
    () => make({ undefinedAs: 'throw' }).pack({ a: [undefined] }),
    'ERR_MSGPACK_UNSUPPORTED_TYPE',
    { path: '$.a[0]' },
  );
});

test('without moreTypes nothing of it is written, or read', () => {
  for (const options of [{}, { moreTypes: false }, { useRecords: false, moreTypes: false }]) {
    const plain = new Packr(options);
    for (const value of [
      new Set([1]),
      new Error('m'),
      /a/g,
      Float32Array.of(1),
      new ArrayBuffer(2),
    ]) {
      writes(plain, [value], pack([value]));
    }
    reads(plain, 'c70374010102', new Ext(0x74, Buffer.from([1, 1, 2])));
    reads(plain, 'd40000', new Ext(0, Buffer.from([0])));
    throwsCode(() => plain.pack(2n ** 64n), 'ERR_MSGPACK_OUT_OF_RANGE');
  }
});

test('Date, Timestamp, Ext and boxed values are packed as ever', () => {
  for (const value of [
    new Date(0),
    new Date(1e12 + 1),
    new Timestamp(5n, 7),
    new Ext(5, Buffer.from([1])),
  ]) {
    writes(make(), [value], pack([value]));
  }
  both(make, [new Date(5)], '91d7ff0131 2d00 00000000');
  writes(make(), [Object(5), Object('x'), Object(true)], '9305a178c3');
  both(make, [64, 127, 128, 63, -1], '95cc40cc7fcc803fff');
});

const WHOLE = {
  set: new Set([1, 'a', new Set([{ a: 1 }])]),
  map: new Map([[{ k: 1 }, new Map([[undefined, 2n ** 70n]])]]),
  error: new RangeError('boom', { cause: new AggregateError([new Error('x')], 'y') }),
  regexp: /a+/giu,
  arrays: ARRAYS.map(([Class]) => of(Class, 1, 2)),
  memory: [new ArrayBuffer(3), new DataView(new ArrayBuffer(4), 1, 2), Buffer.from([1, 2])],
  bigints: [2n ** 64n, -(2n ** 100n), 2n ** 63n, -(2n ** 63n)],
  undefineds: [undefined, { u: undefined }],
  dates: [new Date(0), new Date(1e12 + 7)],
  records: Array.from({ length: 5 }, (_, i) => ({ id: i, name: `n${i}` })),
};

test('all of it in one message, both ways with msgpackr', () => {
  const ours = make();
  const peers = theirs();
  const wire = ours.pack(WHOLE);
  sameBytes(wire, Buffer.from(peers.pack(WHOLE)));
  sameGraph(ours.unpack(wire), WHOLE);
  sameGraph(peers.unpack(wire), WHOLE);
  for (let i = 0; i < 200; i++) {
    sameBytes(ours.pack(WHOLE), wire);
    sameGraph(ours.unpack(wire), WHOLE);
  }
  assert.equal(ours.unpackMultiple(Buffer.concat([wire, wire, wire])).length, 3);
});

test('every prefix of it is short of bytes', () => {
  for (const value of Object.values(WHOLE)) sameGraph(everyPrefix(make, make().pack(value)), value);
  everyPrefix(make, make().pack(WHOLE));
  stillWorks();
});

test('deep and long', () => {
  // As `both`, by a comparison that does not itself recurse: assert's is short of stack at 900.
  const bothDeep = (value, wire) => {
    writes(make(), value, wire);
    sameGraph(make().unpack(bytes(wire)), value);
  };
  for (const depth of [99, 100, 101, 299, 300, 301, 900]) {
    let sets = 1;
    for (let i = 0; i < depth; i++) sets = new Set([sets]);
    bothDeep(sets, `d4730091^${depth} 01`);
    let maps = 1;
    for (let i = 0; i < depth; i++) maps = new Map([[1, maps]]);
    bothDeep(maps, `8101^${depth} 01`);
    let keys = 1;
    for (let i = 0; i < depth; i++) keys = new Map([[keys, 1]]);
    const wire = make().pack(keys);
    sameBytes(wire, bytes(`81^${depth} 01^${depth + 1}`));
    sameGraph(make().unpack(wire), keys);
    const inner = [new Set([undefined]), Uint16Array.of(1), 2n ** 64n, /a/, { a: 1 }];
    sameGraph(make().unpack(make().pack(nestArrays(depth, inner))), nestArrays(depth, inner));
  }
  const long = Array.from({ length: 2000 }, (_, i) => [
    new Set([i]),
    Uint8Array.of(i),
    BigInt(i + 1) << 70n,
    undefined,
    { i },
  ]);
  sameGraph(make().unpack(make().pack(long)), long);
  sameBytes(make().pack(long), Buffer.from(theirs().pack(long)));
  throwsCode(() => make().unpack(bytes('d4730091^1001 01')), 'ERR_MSGPACK_DEPTH');
  for (const hostile of [
    'd47300^100000 90',
    'd46500^100000 90',
    'd47800^100000 90',
    'd4650093a0a0^50000 c0',
  ]) {
    checkError(settle(() => make().unpack(bytes(hostile))).error, PACKR_CODES);
  }
});

test('a Set of no array, an Error of none, a RegExp of none', () => {
  const code = 'ERR_MSGPACK_EXTENSION';
  const none = [
    '01',
    'c0',
    'a161',
    '80',
    'd40000',
    'd6ff00000000',
    'c40101',
    'cb0000000000000000',
    'c3',
  ];
  for (const tag of ['73', '65', '78']) {
    for (const next of none) {
      for (const [head, offset] of [
        ['', 0],
        ['92 01', 2],
        ['81 a161', 3],
      ]) {
        throwsCode(() => make().unpack(bytes(`${head} d4${tag}00 ${next}`.trim())), code, {
          offset,
        });
      }
    }
    throwsCode(() => make().unpack(bytes(`d4${tag}00 c1`)), ['ERR_MSGPACK_INVALID_BYTE', code]);
    throwsCode(() => make().unpack(bytes(`d4${tag}00`)), 'ERR_MSGPACK_TRUNCATED');
  }
  stillWorks();
});

test('an Error of other parts than it has, is an Error or an error', () => {
  for (const parts of [
    '90',
    '91a54572726f72',
    '92a54572726f72a16d',
    '93c0c0c0',
    '930102c0',
    '93 90 91c0 c0',
    '93 a54572726f72 d40000 d40000',
    '93 d40000 d40000 d40000',
    '94 ae4167677265676174654572726f72 a16d c0 05',
    '94 ae4167677265676174654572726f72 a16d c0 a161',
    '94 ae4167677265676174654572726f72 a16d c0 c0',
    '94 a54572726f72 a16d c0 9101',
    '95 a54572726f72 a16d c0 90 90',
    '93 80 80 80',
    '93 c40101 c40102 c0',
  ]) {
    const { value, error } = settle(() => make().unpack(bytes(`d46500 ${parts}`)));
    if (error) checkError(error, ['ERR_MSGPACK_EXTENSION']);
    else assert.ok(value instanceof Error, parts);
  }
  stillWorks();
});

test('a RegExp that there is not', () => {
  for (const [source, flags] of [
    ['(', ''],
    ['a', 'zz'],
    ['a', 'gg'],
    ['[', 'g'],
    ['\\', ''],
    ['a{2,1}', ''],
    ['a', 'uv'],
    ['(?<a>.)(?<a>.)', 'u'],
  ]) {
    const wire = bytes(`9201 d47800 92 ${text(source)} ${text(flags)}`);
    const error = throwsCode(() => make().unpack(wire), 'ERR_MSGPACK_EXTENSION', { offset: 2 });
    assert.ok(error.cause instanceof SyntaxError, `${source} ${flags}`);
  }
  for (const parts of [
    '90',
    '91a161',
    '920102',
    '92a16101',
    '92c0a0',
    '93a161a0a0',
    '92 a161 d40000',
  ]) {
    const { value, error } = settle(() => make().unpack(bytes(`d47800 ${parts}`)));
    if (error) checkError(error, ['ERR_MSGPACK_EXTENSION']);
    else assert.ok(value instanceof RegExp, parts);
  }
  stillWorks();
});

test('a typed array of an odd length, of an unknown code, or of no code', () => {
  const code = 'ERR_MSGPACK_EXTENSION';
  for (const [Class, n] of ARRAYS) {
    const size = Class.BYTES_PER_ELEMENT;
    for (let length = 1; length < 20; length++) {
      const head = Buffer.from([0x91, 0xc7, length + 1, 0x74, n]);
      const wire = Buffer.concat([head, Buffer.alloc(length)]);
      if (length % size === 0) assert.equal(make().unpack(wire)[0].length, length / size);
      else throwsCode(() => make().unpack(wire), code, { offset: 1 });
    }
  }
  for (let n = 0; n < 256; n++) {
    if (n <= 10 || n === 16 || n === 17) continue;
    const wire = Buffer.from([0x91, 0xc7, 9, 0x74, n, 0, 0, 0, 0, 0, 0, 0, 0]);
    throwsCode(() => make().unpack(wire), code, { offset: 1 });
  }
  throwsCode(() => make().unpack(bytes('91 c70074')), code, { offset: 1 });
  // In memory that ends with it: a place behind the end cannot even be looked at.
  throwsCode(() => make().unpack(Uint8Array.of(0x91, 0xc7, 0, 0x74)), code, { offset: 1 });
  stillWorks();
});

test('declared sizes that are not there take no memory', () => {
  const before = process.memoryUsage().rss;
  for (const wire of [
    'd47300 ddffffffff',
    'd47300 dfffffffff',
    'd46500 ddffffffff',
    'd47800 ddffffffff',
    'c9ffffffff7401',
    'c9ffffffff42',
    'c9ffffffff00',
    'ddffffffff',
    'd47300 dd01e84800^30',
  ]) {
    for (let i = 0; i < 20; i++) {
      throwsCode(
        () => make().unpack(bytes(wire)),
        ['ERR_MSGPACK_TRUNCATED', 'ERR_MSGPACK_TOO_LARGE', 'ERR_MSGPACK_EXTENSION'],
      );
    }
  }
  assert.ok(process.memoryUsage().rss - before < 200 << 20);
});

test('damaged messages: a value or a documented error', (t) => {
  const next = generator(seedOf(t));
  const wires = Object.values(WHOLE).map((value) => make().pack(value));
  for (let run = 0; run < runsOf(4000); run++) {
    const wire = Buffer.from(next.pick(wires));
    for (let n = 1 + next.below(3); n > 0; n--) {
      const at = next.below(wire.length);
      if (next.below(2) === 0) wire[at] = next.below(256);
      else wire[at] = next.pick([0xd4, 0x73, 0x65, 0x78, 0x74, 0x42, 0xc7, 0x91, 0x40, 0xdd, 0]);
    }
    settle(() => make().unpack(wire));
    if (run % 100 === 0) stillWorks();
  }
});

test('random values, both ways and with msgpackr', (t) => {
  const bigints = fc
    .bigInt({ min: -(2n ** 200n), max: 2n ** 200n })
    .filter((n) => n > 2n ** 53n || n < -(2n ** 53n));
  const leaf = fc.oneof(
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 }),
    fc.double().filter((n) => !Number.isInteger(n) && !Number.isNaN(n)),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom(null, true, false, undefined),
    bigints,
    fc.date({ noInvalidDate: true }),
    fc.uint8Array({ maxLength: 20 }),
    fc.float64Array({ maxLength: 5, noNaN: true }),
    fc.constantFrom(/a/g, /[é]/u),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 8 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'é', '19', ''), tie('value')).map((o) => ({ ...o })),
      fc.array(tie('value'), { maxLength: 6 }).map((items) => new Set(items)),
      fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 5 }).map((e) => new Map(e)),
    ),
  }));
  const ours = make();
  const peers = theirs();
  fc.assert(
    fc.property(value, (each) => {
      const wire = ours.pack(each);
      sameBytes(wire, Buffer.from(peers.pack(each)));
      assert.deepStrictEqual(ours.unpack(wire), each);
      assert.deepStrictEqual(peers.unpack(wire), each);
    }),
    { seed: seedOf(t), numRuns: runsOf(400), endOnFailure: false },
  );
});
