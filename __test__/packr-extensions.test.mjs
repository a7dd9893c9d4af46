// Extensions: classes of the application, in both forms, wherever they stand and whatever they do.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import msgpack, { Ext, pack, unpack } from '../index.js';
import {
  bytes,
  checkError,
  hex,
  nestArrays,
  runsOf,
  sameBytes,
  seedOf,
  stillWorks,
  throwsCode,
} from './helpers.mjs';
import { both, everyPrefix, nest, PACKR_CODES, reads, settle, writes } from './packr-helpers.mjs';

const { Packr } = msgpack;

class Point {
  constructor(x, y) {
    this.x = x;
    this.y = y;
  }
}
const point = {
  Class: Point,
  type: 5,
  pack: ({ x, y }) => Buffer.from([x, y]),
  unpack: (data) => new Point(data[0], data[1]),
};

/** A class of one value, in the form whose value follows the ext. */
class Box {
  constructor(value) {
    this.value = value;
  }
}
const box = { Class: Box, type: 6, write: (b) => b.value, read: (value) => new Box(value) };

const EXTENSIONS = { extensions: [point, box] };
const make = (options) => new Packr({ ...EXTENSIONS, ...options });

test('pack and unpack: the bytes are the payload', () => {
  both(make, new Point(1, 2), 'd5050102');
  both(make, [new Point(1, 2), { a: new Point(3, 4) }], '92 d5050102 81a161d5050304');
  both(make, { a: new Point(1, 2), b: 1 }, '82 a161d5050102 a16201');
  writes(make(), new Map([[new Point(1, 2), new Point(3, 4)]]), '81 d5050102 d5050304');
  reads(
    make({ maps: 'map' }),
    '81 d5050102 d5050304',
    new Map([[new Point(1, 2), new Point(3, 4)]]),
  );
  writes(make(), new Set([new Point(1, 2)]), '91d5050102');
});

test('write and read: an ext of one zero byte, then the value', () => {
  both(make, new Box(3), 'd4060003');
  both(make, new Box(null), 'd40600c0');
  both(make, new Box('é'), 'd40600a2c3a9');
  both(make, new Box([1, [2]]), 'd406009201 9102');
  both(make, new Box({ a: 1 }), 'd40600 81a16101');
  both(make, new Box(new Box(new Point(1, 2))), 'd40600 d40600 d5050102');
  both(
    make,
    [new Box(1), 2, { b: new Box([new Box(3)]) }],
    '93 d4060001 02 81a162d4060091d4060003',
  );
  writes(make(), new Map([[new Box(1), new Box(2)]]), '81 d4060001 d4060002');
  const maps = make({ maps: 'map' });
  reads(maps, '81 d4060001 d4060002', new Map([[new Box(1), new Box(2)]]));
  reads(maps, 'd4060081 a161 d4060001', new Box(new Map([['a', new Box(1)]])));
});

test('the filler byte of the written form is not looked at', () => {
  for (const filler of ['00', '01', '7f', 'ff', 'c1']) {
    reads(make(), `92 d406${filler} 05 01`, [new Box(5), 1]);
  }
});

test('payloads of every length form', () => {
  class Blob {
    constructor(data) {
      this.data = data;
    }
  }
  const blob = {
    Class: Blob,
    type: 20,
    pack: ({ data }) => data,
    unpack: (data) => new Blob(Buffer.from(data)),
  };
  const blobs = () => new Packr({ extensions: [blob] });
  const rows = [
    [0, 'c70014'],
    [1, 'd414'],
    [2, 'd514'],
    [3, 'c70314'],
    [4, 'd614'],
    [5, 'c70514'],
    [7, 'c70714'],
    [8, 'd714'],
    [9, 'c70914'],
    [15, 'c70f14'],
    [16, 'd814'],
    [17, 'c71114'],
    [31, 'c71f14'],
    [32, 'c72014'],
    [255, 'c7ff14'],
    [256, 'c8010014'],
    [65535, 'c8ffff14'],
    [65536, 'c90001000014'],
    [300_000, 'c9000493e014'],
  ];
  for (const [length, head] of rows) {
    const data = Buffer.alloc(length, 7);
    both(blobs, new Blob(data), Buffer.concat([bytes(head), data]), `${length}`);
    both(
      blobs,
      [0, new Blob(data), 'x'],
      Buffer.concat([bytes('9300'), bytes(head), data, bytes('a178')]),
      `${length}`,
    );
    // The wider forms that another encoder may choose.
    const wide = Buffer.concat([bytes('c900000000'), bytes('14'), data]);
    wide.writeUInt32BE(length, 1);
    reads(blobs(), wide, new Blob(data), `${length}`);
  }
});

test('what pack may return: any view of bytes, exactly what it shows', () => {
  const results = [
    Buffer.from([1, 2, 3]),
    Uint8Array.of(1, 2, 3),
    Uint8Array.of(9, 1, 2, 3, 9).subarray(1, 4),
    Buffer.from([9, 9, 1, 2, 3]).subarray(2),
    new Uint8Array(new SharedArrayBuffer(3)).map((_, i) => i + 1),
  ];
  for (const result of results) {
    const packr = new Packr({ extensions: [{ ...point, pack: () => result }] });
    for (let i = 0; i < 50; i++) writes(packr, [new Point(0, 0)], '91 c70305010203');
  }
});

test('bytes that pack changes after it has returned them', () => {
  const memory = Buffer.alloc(2);
  const reusing = {
    ...point,
    pack({ x, y }) {
      memory[0] = x;
      memory[1] = y;
      return memory;
    },
  };
  const packr = new Packr({ extensions: [reusing] });
  const list = Array.from({ length: 100 }, (_, i) => new Point(i, i + 1));
  const expected = Buffer.concat([
    bytes('dc0064'),
    ...list.map(({ x, y }) => Buffer.from([0xd5, 5, x, y])),
  ]);
  for (let i = 0; i < 20; i++) writes(packr, list, expected);
  const large = Buffer.alloc(100_000);
  const packer = new Packr({ extensions: [{ ...point, pack: ({ x }) => large.fill(x) }] });
  const wire = packer.pack([new Point(1, 0), new Point(2, 0)]);
  const [first, second] = unpack(wire);
  assert.ok(first.data.every((byte) => byte === 1));
  assert.ok(second.data.every((byte) => byte === 2));
});

test('what unpack is given: the bytes of the ext, in memory that is there', () => {
  const seen = [];
  const spy = {
    ...point,
    unpack(data) {
      assert.ok(data instanceof Uint8Array);
      seen.push(hex(data));
      return data;
    },
  };
  const wire = bytes('94 c70005 d4050a d5050b0c c703050d0e0f');
  const result = new Packr({ extensions: [spy] }).unpack(wire);
  assert.deepEqual(seen, ['', '0a', '0b0c', '0d0e0f']);
  assert.deepEqual(result.map(hex), seen);
  const copied = new Packr({ extensions: [spy], copyBuffers: true }).unpack(wire);
  wire.fill(0xc1);
  assert.deepEqual(copied.map(hex), seen.slice(0, 4));
});

test('the types 0 and 127, and all between', () => {
  for (let type = 0; type <= 127; type++) {
    const t = type.toString(16).padStart(2, '0');
    const packed = () => new Packr({ extensions: [{ ...point, type }] });
    both(packed, [new Point(1, 2), null], `92 d5${t}0102 c0`);
    const written = () => new Packr({ extensions: [{ ...box, type }] });
    both(written, [new Box('x'), null], `92 d4${t}00a178 c0`);
  }
});

test('type 0 leaves undefined alone', () => {
  const packr = new Packr({ extensions: [{ ...point, type: 0 }] });
  for (let i = 0; i < 20; i++) {
    writes(packr, [undefined, new Point(1, 2)], '92 c0 d5000102');
    writes(packr, { a: undefined, b: new Point(1, 2) }, '81 a162 d5000102');
    writes(packr, undefined, 'c0');
    reads(packr, '92 c0 d5000102', [null, new Point(1, 2)]);
  }
});

test('either half may be missing', () => {
  const packs = new Packr({ extensions: [{ Class: Point, type: 5, pack: point.pack }] });
  writes(packs, [new Point(1, 2)], '91d5050102');
  reads(packs, '91d5050102', [new Ext(5, Buffer.from([1, 2]))]);
  const unpacks = new Packr({ extensions: [{ Class: Point, type: 5, unpack: point.unpack }] });
  writes(unpacks, [new Point(1, 2)], '91 82a17801a17902');
  reads(unpacks, '91d5050102', [new Point(1, 2)]);
  const writer = new Packr({ extensions: [{ Class: Box, type: 6, write: box.write }] });
  writes(writer, [new Box(3)], '91d4060003');
  const reader = new Packr({ extensions: [{ Class: Box, type: 6, read: box.read }] });
  writes(reader, [new Box(3)], '91 81a576616c756503');
  reads(reader, '91d4060003', [new Box(3)]);
});

test('a type that nobody knows stays an Ext, and is packed to the same bytes', () => {
  for (const type of [0, 1, 7, 66, 98, 100, 101, 105, 112, 114, 115, 116, 120, 127, -2, -128]) {
    for (const length of [0, 1, 2, 3, 4, 8, 16, 17, 256]) {
      const data = Buffer.alloc(length, 9);
      const wire = pack([new Ext(type, data), 1]);
      const back = make().unpack(wire);
      assert.ok(back[0] instanceof Ext, `type ${type}`);
      assert.equal(back[0].type, type);
      assert.ok(data.equals(back[0].data));
      writes(make(), back, wire, `type ${type} length ${length}`);
    }
  }
  const typed = () => make({ moreTypes: true });
  for (const type of [1, 7, 100, 102, 127, -2, -128]) {
    const wire = pack([new Ext(type, Buffer.alloc(3, 9)), 1]);
    const back = typed().unpack(wire);
    assert.ok(back[0] instanceof Ext, `type ${type}`);
    writes(typed(), back, wire, `type ${type}`);
  }
});

test('an Ext of a type that is known is packed as it is', () => {
  writes(make(), [new Ext(5, Buffer.from([1, 2])), new Point(1, 2)], '92 d5050102 d5050102');
});

class Point3 extends Point {
  constructor(x, y, z) {
    super(x, y);
    this.z = z;
  }
}
class Point4 extends Point3 {}

test('subclasses are packed by the extension of the nearest class', () => {
  both(make, new Point(1, 2), 'd5050102');
  writes(make(), [new Point3(1, 2, 3), new Point4(4, 5, 6)], '92 d5050102 d5050405');
  const point3 = {
    Class: Point3,
    type: 7,
    pack: ({ x, y, z }) => Buffer.from([x, y, z]),
    unpack: ([x, y, z]) => new Point3(x, y, z),
  };
  for (const extensions of [
    [point, point3],
    [point3, point],
  ]) {
    const packr = new Packr({ extensions });
    for (let i = 0; i < 200; i++) {
      writes(
        packr,
        [new Point(1, 2), new Point3(1, 2, 3), new Point4(4, 5, 6)],
        '93 d5050102 c70307010203 c70307040506',
      );
    }
    reads(packr, '92 d5050102 c70307010203', [new Point(1, 2), new Point3(1, 2, 3)]);
  }
});

test('objects of the same keys, some of the class and some of none', () => {
  const packr = make();
  const list = Array.from({ length: 400 }, (_, i) =>
    i % 3 === 0 ? new Point(i % 100, 1) : { x: i % 100, y: 1 },
  );
  const expected = Buffer.concat([
    bytes('dc0190'),
    ...list.map(({ x }, i) =>
      i % 3 === 0 ? Buffer.from([0xd5, 5, x, 1]) : bytes(`82a178${hex(pack(x))}a17901`),
    ),
  ]);
  for (let i = 0; i < 10; i++) {
    writes(packr, list, expected);
    reads(packr, expected, list);
  }
  // One shape for a long time, then the other.
  for (const value of [{ x: 1, y: 2 }, new Point(1, 2), { x: 1, y: 2 }, new Point(1, 2)]) {
    const one = value instanceof Point ? 'd5050102' : '82a17801a17902';
    for (let i = 0; i < 500; i++) writes(packr, [value], `91${one}`);
  }
});

test('prototypes that are set afterwards, and objects made without a constructor', () => {
  writes(make(), Object.setPrototypeOf({ x: 1, y: 2 }, Point.prototype), 'd5050102');
  writes(make(), Object.create(new Point(1, 2)), 'd5050102');
  writes(make(), Object.setPrototypeOf(new Point(1, 2), null), '82a17801a17902');
  writes(make(), Object.setPrototypeOf(new Point(1, 2), Object.prototype), '82a17801a17902');
  const lying = { x: 1, y: 2, constructor: 5 };
  writes(make(), lying, '83a17801a17902ab636f6e7374727563746f7205');
});

test('subclasses of Array, Map, Set, Error, Date, Uint8Array, RegExp, Number and Function', () => {
  class List extends Array {}
  class Table extends Map {}
  class Bag extends Set {}
  class Fault extends Error {}
  class Day extends Date {}
  class Bytes extends Uint8Array {}
  class Pattern extends RegExp {}
  class Count extends Number {}
  const extensions = [
    { Class: List, type: 1, write: (v) => [...v], read: (v) => List.from(v) },
    { Class: Table, type: 2, write: (v) => [...v], read: (v) => new Table(v) },
    { Class: Bag, type: 3, write: (v) => [...v], read: (v) => new Bag(v) },
    { Class: Fault, type: 4, write: (v) => v.message, read: (v) => new Fault(v) },
    { Class: Day, type: 5, write: (v) => v.getTime(), read: (v) => new Day(v) },
    {
      Class: Bytes,
      type: 6,
      pack: (v) => new Uint8Array(v.buffer, v.byteOffset, v.length),
      unpack: (v) => Bytes.from(v),
    },
    { Class: Pattern, type: 7, write: (v) => v.source, read: (v) => new Pattern(v) },
    { Class: Count, type: 8, write: (v) => v.valueOf(), read: (v) => new Count(v) },
  ];
  const rows = [
    [List.from([1, 2]), 'd40100 920102'],
    [new Table([[1, 2]]), 'd40200 91920102'],
    [new Bag([1]), 'd40300 9101'],
    [new Fault('m'), 'd40400 a16d'],
    [new Day(5), 'd40500 05'],
    [Bytes.from([1, 2]), 'd5060102'],
    [new Pattern('a'), 'd40700 a161'],
    [new Count(5), 'd40800 05'],
  ];
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
    const typed = () => new Packr({ ...options, extensions });
    for (const [value, expected] of rows) {
      writes(typed(), value, expected, value.constructor.name);
      writes(typed(), [value, 1], `92${expected}01`, value.constructor.name);
      const back = typed().unpack(bytes(`92${expected}01`))[0];
      assert.equal(Object.getPrototypeOf(back), Object.getPrototypeOf(value));
      assert.deepEqual(back, value);
    }
  }
  // What they extend is packed as ever.
  const plain = new Packr({ extensions });
  const values = [
    [1, 2],
    new Map([[1, 2]]),
    new Set([1]),
    new Date(5),
    Uint8Array.of(1, 2),
    Object(5),
  ];
  for (const value of values) writes(plain, value, pack(value));
});

test('classes of the language themselves', () => {
  const extensions = [
    { Class: Date, type: 1, write: (v) => v.getTime(), read: (v) => new Date(v) },
    { Class: Set, type: 2, write: (v) => [...v], read: (v) => new Set(v) },
    { Class: Map, type: 3, write: (v) => [...v], read: (v) => new Map(v) },
    { Class: RegExp, type: 4, write: (v) => v.source, read: (v) => new RegExp(v) },
    { Class: Error, type: 5, write: (v) => v.message, read: (v) => new Error(v) },
    { Class: URL, type: 6, write: String, read: (v) => new URL(v) },
    {
      Class: Float32Array,
      type: 7,
      pack: (v) => new Uint8Array(v.buffer, v.byteOffset, v.byteLength),
      unpack: (v) => new Float32Array(v.buffer.slice(v.byteOffset, v.byteOffset + v.byteLength)),
    },
    { Class: Promise, type: 8, write: () => 'promise', read: (v) => v },
  ];
  const rows = [
    [new Date(5), 'd4010005'],
    [new Set([1]), 'd402009101'],
    [new Map([[1, 2]]), 'd4030091920102'],
    [/a/, 'd40400a161'],
    [new Error('m'), 'd40500a16d'],
    [new TypeError('m'), 'd40500a16d'],
    [new URL('http://a/'), 'd40600a9687474703a2f2f612f'],
    [Float32Array.of(1), 'd6070000803f'],
    [Promise.resolve(), 'd40800a770726f6d697365'],
  ];
  for (const options of [{}, { moreTypes: true }]) {
    const packr = new Packr({ ...options, extensions });
    for (const [value, expected] of rows) {
      writes(packr, [value], `91${expected}`, value.constructor.name);
    }
    assert.deepEqual(packr.unpack(bytes('92d4010005d402009101')), [new Date(5), new Set([1])]);
    assert.deepEqual(packr.unpack(bytes('d6070000803f')), Float32Array.of(1));
  }
});

test('an extension goes before toJSON', () => {
  class Money {
    toJSON() {
      return assert.fail('toJSON was called');
    }
  }
  const packr = new Packr({ extensions: [{ Class: Money, type: 9, write: () => 5 }] });
  writes(packr, { a: new Money() }, '81a161d4090005');
});

test('write without a type: another value in its place', () => {
  class Celsius {
    constructor(degrees) {
      this.degrees = degrees;
    }
  }
  const packr = new Packr({
    extensions: [point, { Class: Celsius, write: (c) => ({ c: c.degrees, p: new Point(1, 2) }) }],
  });
  for (let i = 0; i < 200; i++) {
    writes(packr, new Celsius(5), '82a16305a170d5050102');
    writes(
      packr,
      [new Celsius(5), new Map([[1, new Celsius(6)]])],
      '92 82a16305a170d5050102 81 01 82a16306a170d5050102',
    );
  }
  const nothing = new Packr({ extensions: [{ Class: Celsius, write: () => undefined }] });
  writes(nothing, [new Celsius(1)], '91c0');
  class Plain extends Celsius {}
  const chained = new Packr({
    extensions: [
      { Class: Plain, write: (c) => new Celsius(c.degrees) },
      { Class: Celsius, write: (c) => c.degrees },
    ],
  });
  writes(chained, [new Plain(7)], '9107');
});

test('write that returns its argument: the object as it would be without', () => {
  for (const options of [{}, { useRecords: true }, { structuredClone: true }]) {
    const plain = hex(new Packr(options).pack([new Box(1)])).slice(2);
    const same = new Packr({ ...options, extensions: [{ Class: Box, write: (b) => b }] });
    writes(same, [new Box(1)], `91${plain}`);
    const typed = new Packr({ ...options, extensions: [{ Class: Box, type: 6, write: (b) => b }] });
    writes(typed, [new Box(1)], `91d40600${plain}`);
  }
});

test('write that never comes to an end is an error, not a hang', () => {
  for (const extension of [
    { Class: Box, write: () => new Box(1) },
    { Class: Box, type: 6, write: () => new Box(1) },
    { Class: Box, type: 6, write: (b) => [b] },
  ]) {
    const packr = new Packr({ extensions: [extension] });
    throwsCode(() => packr.pack({ a: new Box(1) }), ['ERR_MSGPACK_DEPTH', 'ERR_MSGPACK_EXTENSION']);
    writes(packr, [1], '9101');
  }
  stillWorks();
});

test('the same type and another class in each instance', () => {
  class Left extends Box {}
  class Right extends Box {}
  const left = new Packr({
    extensions: [{ Class: Left, type: 1, write: (v) => v.value, read: (v) => new Left(v) }],
  });
  const right = new Packr({
    extensions: [
      {
        Class: Right,
        type: 1,
        pack: (v) => Buffer.from([v.value]),
        unpack: (data) => new Right(data[0]),
      },
    ],
  });
  const none = new Packr();
  for (let i = 0; i < 100; i++) {
    both(() => left, [new Left(7)], '91d4010007');
    both(() => right, [new Right(7)], '91d40107');
    writes(left, [new Right(7)], '9181a576616c756507');
    writes(none, [new Left(7), new Right(7)], '9281a576616c75650781a576616c756507');
    reads(none, '91d40107', [new Ext(1, Buffer.from([7]))]);
    assert.deepStrictEqual(unpack(bytes('91d40107')), [new Ext(1, Buffer.from([7]))]);
  }
});

test('addExtension of an instance: from then on, for this instance, and it returns it', () => {
  const packr = new Packr();
  const other = new Packr();
  const value = [new Point(1, 2), new Box(3)];
  const objects = '92 82a17801a17902 81a576616c756503';
  for (let i = 0; i < 200; i++) writes(packr, value, objects);
  assert.equal(packr.addExtension(point), packr);
  for (let i = 0; i < 200; i++) writes(packr, value, '92 d5050102 81a576616c756503');
  assert.equal(packr.addExtension(box), packr);
  for (let i = 0; i < 200; i++) both(() => packr, value, '92 d5050102 d4060003');
  writes(other, value, objects);
  assert.deepStrictEqual(pack(value), bytes(objects));
  // A later one for the same class or the same type takes its place.
  packr.addExtension({ ...point, type: 15, unpack: (data) => ({ at: data[0] }) });
  writes(packr, [new Point(1, 2)], '91d50f0102');
  reads(packr, '91d50f0102', [{ at: 1 }]);
  for (const wrong of [undefined, null, 5, {}, { Class: Point }, { ...point, type: 128 }]) {
    assert.throws(() => packr.addExtension(wrong), {
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
    });
  }
  writes(packr, [new Point(1, 2)], '91d50f0102');
});

test('addExtension in the middle of a pack does no harm', () => {
  const packr = new Packr();
  const value = {
    a: 1,
    get b() {
      packr.addExtension(point);
      return 2;
    },
    c: [1],
  };
  for (let i = 0; i < 50; i++) writes(packr, value, '83a16101a16202a1639101');
  writes(packr, new Point(1, 2), 'd5050102');
});

test('the functions of the module have no extensions, and an instance does not give them any', () => {
  make().pack(new Point(1, 2));
  assert.deepStrictEqual(pack(new Point(1, 2)), bytes('82a17801a17902'));
  assert.deepStrictEqual(unpack(bytes('d5050102')), new Ext(5, Buffer.from([1, 2])));
});

const child = (code) => {
  const url = new URL('../index.mjs', import.meta.url);
  const script = `
    import assert from 'node:assert/strict';
    import msgpack, * as all from ${JSON.stringify(String(url))};
    const { addExtension, decode, encode, Ext, pack, packInto, Packr, unpack, unpackFrom,
      unpackMultiple } = all;
    class Point { constructor(x, y) { this.x = x; this.y = y; } }
    const point = { Class: Point, type: 5, pack: ({ x, y }) => Buffer.from([x, y]),
      unpack: (data) => new Point(data[0], data[1]) };
    const hex = (buffer) => buffer.toString('hex');
    const bytes = (text) => Buffer.from(text, 'hex');
    ${code}`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
};

test('addExtension of the module: for its functions, and for instances made afterwards', () => {
  child(`
    const before = new Packr();
    for (let i = 0; i < 300; i++) assert.equal(hex(pack([new Point(1, 2)])), '9182a17801a17902');
    addExtension(point);
    const after = new Packr();
    const typed = new Packr({ moreTypes: true, extensions: [] });
    for (let i = 0; i < 300; i++) {
      for (const write of [pack, encode, (v) => after.pack(v), (v) => typed.pack(v)]) {
        assert.equal(hex(write([new Point(1, 2)])), '91d5050102');
      }
      for (const read of [unpack, decode, (v) => after.unpack(v), (v) => typed.unpack(v)]) {
        assert.deepStrictEqual(read(bytes('91d5050102')), [new Point(1, 2)]);
      }
    }
    assert.deepStrictEqual(unpackMultiple(bytes('d5050102d5050304')), [new Point(1, 2), new Point(3, 4)]);
    assert.deepStrictEqual(unpackFrom(bytes('00d5050102ff'), 1), { value: new Point(1, 2), end: 5 });
    assert.equal(packInto({ a: new Point(1, 2) }, Buffer.alloc(7)), 7);
  `);
  child(`
    const before = new Packr();
    addExtension(point);
    assert.equal(hex(before.pack(new Point(1, 2))), '82a17801a17902');
    assert.deepStrictEqual(before.unpack(bytes('d5050102')), new Ext(5, bytes('0102')));
    assert.equal(hex(pack({ a: 0.5, p: new Point(1, 2) }, { float32: true })), '82a161ca3f000000a170d5050102');
    assert.deepStrictEqual(unpack(bytes('81a161d5050102'), { maps: 'map' }), new Map([['a', new Point(1, 2)]]));
    const own = new Packr({ extensions: [{ Class: Point, type: 9, write: (p) => p.x }] });
    assert.equal(hex(own.pack(new Point(1, 2))), 'd4090001');
    assert.throws(() => addExtension({ Class: Point }), { code: 'ERR_INVALID_ARG_VALUE' });
    assert.equal(hex(pack(new Point(1, 2))), 'd5050102');
  `);
});

test('the extensions of the module in its functions, one in the other, and failing', () => {
  child(`
    class Nest { constructor(value) { this.value = value; } }
    addExtension({ Class: Nest, type: 6, pack: (n) => pack(n.value), unpack: (data) => new Nest(unpack(data)) });
    addExtension({ Class: Point, type: 7, write: () => { throw new RangeError('no'); } });
    const value = { a: new Nest([new Nest({ b: new Nest('é') })]), z: 1 };
    for (let i = 0; i < 300; i++) {
      assert.deepStrictEqual(unpack(pack(value)), value);
      assert.throws(() => pack([1, { p: new Point(1, 2) }]), (error) =>
        error.code === 'ERR_MSGPACK_EXTENSION' && error.cause instanceof RangeError &&
        error.path === '$[1].p');
    }
  `);
});

test('extensions in long arrays, and in messages of several hundred levels', () => {
  const list = Array.from({ length: 1000 }, (_, i) =>
    i % 2 === 0 ? new Point(i & 127, i % 7) : new Box([i, { i }]),
  );
  const packr = make();
  const wire = packr.pack(list);
  const expected = Buffer.concat([
    bytes('dc03e8'),
    ...list.map((item, i) => {
      if (item instanceof Point) return Buffer.from([0xd5, 5, item.x, item.y]);
      const n = hex(pack(i));
      return bytes(`d40600 92${n}81a169${n}`);
    }),
  ]);
  sameBytes(wire, expected);
  for (let i = 0; i < 10; i++) {
    reads(packr, wire, list);
    writes(packr, list, wire);
  }
  for (const depth of [50, 99, 100, 101, 150, 299, 300, 301, 400, 800]) {
    for (const inner of [
      new Point(1, 2),
      new Box(new Point(1, 2)),
      [new Box(1), new Point(1, 2)],
    ]) {
      const innerHex = hex(packr.pack(inner));
      both(make, nestArrays(depth, inner), `91^${depth} ${innerHex}`, `${depth}`);
      both(
        make,
        nest(depth, inner, (value) => ({ a: value })),
        `81a161^${depth} ${innerHex}`,
        `${depth}`,
      );
    }
  }
});

test('written extensions nested several hundred levels, with a limit', () => {
  for (const depth of [10, 100, 101, 300, 301, 499]) {
    const value = nest(depth, 1, (inner) => new Box([inner]));
    both(make, value, `d4060091^${depth} 01`, `${depth}`);
  }
  const deep = nest(2000, 1, (inner) => new Box([inner]));
  throwsCode(() => make().pack(deep), 'ERR_MSGPACK_DEPTH');
  throwsCode(() => make().unpack(bytes('d4060091^2000 01')), 'ERR_MSGPACK_DEPTH');
  // With nothing but extensions in one another there has to be an end as well.
  for (const count of [5000, 200_000]) {
    checkError(
      settle(() => make().pack(nest(count, 1, (inner) => new Box(inner)))).error,
      PACKR_CODES,
    );
    checkError(settle(() => make().unpack(bytes(`d40600^${count} 01`))).error, PACKR_CODES);
  }
  stillWorks();
});

test('extensions that use their own instance, within one another', () => {
  class Nest {
    constructor(value) {
      this.value = value;
    }
  }
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }, { structures: [] }]) {
    const packr = new Packr({
      ...options,
      extensions: [
        point,
        {
          Class: Nest,
          type: 10,
          pack: (nest) => packr.pack(nest.value),
          unpack: (data) => new Nest(packr.unpack(data)),
        },
        {
          Class: Box,
          type: 6,
          write: (b) => [b.value, packr.pack({ in: b.value })],
          read([value, inner]) {
            assert.deepStrictEqual(packr.unpack(inner), { in: value });
            return new Box(value);
          },
        },
      ],
    });
    const value = {
      before: { k: [1, 2.5, 'x'] },
      nest: new Nest({ a: new Nest([new Nest({ k: new Point(1, 2) }), { k: 'é' }]), z: 'z' }),
      box: new Box(new Box({ k: new Nest([new Box(1)]) })),
      list: [new Nest(1), new Box(2), { k: new Nest({ k: 1 }) }],
      after: { k: 'after', z: [null, true] },
    };
    for (let i = 0; i < 40; i++) {
      assert.deepStrictEqual(packr.unpack(packr.pack(value)), value);
      assert.deepStrictEqual(packr.unpack(packr.pack([value, value])), [value, value]);
    }
    let deep = new Nest('bottom');
    for (let i = 0; i < 30; i++) deep = new Nest([deep, { i }]);
    for (let i = 0; i < 5; i++) {
      assert.deepStrictEqual(packr.unpack(packr.pack({ deep, end: 1 })), { deep, end: 1 });
    }
  }
});

test('exact bytes of a pack within a pack of the same instance', () => {
  class Nest {
    constructor(value) {
      this.value = value;
    }
  }
  const nested = (packr) => ({
    Class: Nest,
    type: 10,
    pack: (n) => packr.pack(n.value),
    unpack: (data) => new Nest(packr.unpack(data)),
  });
  const plain = new Packr();
  plain.addExtension(nested(plain));
  const typed = new Packr({ moreTypes: true });
  typed.addExtension(nested(typed));
  for (let i = 0; i < 50; i++) {
    both(
      () => plain,
      [{ a: 1 }, new Nest({ a: 2 }), { a: 3 }],
      '93 81a16101 d60a81a16102 81a16103',
    );
    // A message of its own, with definitions of its own; those of the outer one go on.
    both(
      () => typed,
      [{ a: 1 }, new Nest({ a: 2 }), { a: 3 }, { b: 4 }],
      '94 d4724091a16101 c7070ad4724091a16102 4003 d4724191a16204',
    );
  }
});

test('extensions that call everything there is', () => {
  const everything = () => {
    assert.equal(hex(pack({ a: [1] })), '81a1619101');
    assert.deepStrictEqual(unpack(bytes('81a1619101')), { a: [1] });
    throwsCode(() => unpack(bytes('91')), 'ERR_MSGPACK_TRUNCATED');
    throwsCode(() => pack(2n ** 64n), 'ERR_MSGPACK_OUT_OF_RANGE');
    const shared = [1];
    const other = new Packr({ structuredClone: true, extensions: [point] });
    assert.equal(hex(other.pack([shared, shared])), '92d669000000019101d67000000001');
    const [a, b] = other.unpack(bytes('92d66900000001 9101 d67000000001'));
    assert.equal(a, b);
    assert.deepStrictEqual(packr.unpack(packr.pack([new Point(1, 2)])), [new Point(1, 2)]);
  };
  const packr = new Packr({
    extensions: [
      point,
      {
        Class: Box,
        type: 6,
        write(b) {
          everything();
          return b.value;
        },
        read(value) {
          everything();
          return new Box(value);
        },
      },
    ],
  });
  for (let i = 0; i < 50; i++) {
    both(
      () => packr,
      ['é', new Box({ a: 'text' }), 'end'],
      '93a2c3a9 d4060081a161a474657874 a3656e64',
    );
  }
});

const boom = new RangeError('boom');
const throws = () => {
  throw boom;
};

test('pack or write that throws: an error with the cause and the path', () => {
  for (const extension of [
    { Class: Point, type: 5, pack: throws },
    { Class: Point, type: 5, write: throws },
    { Class: Point, write: throws },
  ]) {
    for (const options of [
      {},
      { moreTypes: true },
      { structures: [] },
      { structuredClone: true },
    ]) {
      const packr = new Packr({ ...options, extensions: [extension] });
      const clean = new Packr({ ...structuredClone(options), extensions: [extension] });
      const p = new Point(1, 2);
      for (const [value, path] of [
        [p, '$'],
        [[1, p], '$[1]'],
        [{ a: p }, '$.a'],
        [{ a: 1, list: [{ b: p, c: 1 }] }, '$.list[0].b'],
        [nestArrays(350, p), `$${'[0]'.repeat(350)}`],
        [[...Array(400).fill(0), p], '$[400]'],
      ]) {
        for (let i = 0; i < 5; i++) {
          throwsCode(() => packr.pack(value), 'ERR_MSGPACK_EXTENSION', { path, cause: boom });
          throwsCode(() => packr.packInto(value, Buffer.alloc(5000)), 'ERR_MSGPACK_EXTENSION', {
            path,
          });
        }
      }
      for (const value of [new Map([[p, 1]]), new Map([[1, p]]), new Set([p])]) {
        throwsCode(() => packr.pack([value]), 'ERR_MSGPACK_EXTENSION', { cause: boom });
      }
      writes(packr, [1, 'x'], clean.pack([1, 'x']));
      assert.deepStrictEqual(packr.unpack(packr.pack({ a: 1 })), { a: 1 });
    }
  }
  stillWorks();
});

test('anything may be thrown', () => {
  for (const thrown of [
    undefined,
    null,
    5,
    'text',
    Symbol('s'),
    { message: 1 },
    Object.create(null),
  ]) {
    const extension = (name) => ({
      Class: Point,
      type: 5,
      [name]() {
        throw thrown;
      },
    });
    for (const name of ['pack', 'write']) {
      const packr = new Packr({ extensions: [extension(name)] });
      const error = throwsCode(() => packr.pack([new Point(1, 2)]), 'ERR_MSGPACK_EXTENSION');
      assert.equal(error.cause, thrown);
    }
    for (const name of ['unpack', 'read']) {
      const packr = new Packr({ extensions: [extension(name)] });
      const error = throwsCode(
        () => packr.unpack(bytes('91d4050001')),
        ['ERR_MSGPACK_EXTENSION', ...(name === 'unpack' ? ['ERR_MSGPACK_EXTRA_BYTES'] : [])],
      );
      if (error.code === 'ERR_MSGPACK_EXTENSION') assert.equal(error.cause, thrown);
    }
  }
});

test('a MsgpackError from within is the cause, and keeps its own place', () => {
  const packr = new Packr({
    extensions: [
      {
        Class: Point,
        type: 5,
        pack: () => pack({ x: [2n ** 64n] }),
        unpack: () => unpack(bytes('9101c1')),
      },
    ],
  });
  const packing = throwsCode(() => packr.pack({ p: new Point(1, 2) }), 'ERR_MSGPACK_EXTENSION', {
    path: '$.p',
  });
  checkError(packing.cause, ['ERR_MSGPACK_OUT_OF_RANGE']);
  assert.equal(packing.cause.path, '$.x[0]');
  const unpacking = throwsCode(() => packr.unpack(bytes('920ad40500')), 'ERR_MSGPACK_EXTENSION', {
    offset: 2,
  });
  checkError(unpacking.cause, ['ERR_MSGPACK_EXTRA_BYTES', 'ERR_MSGPACK_INVALID_BYTE']);
});

test('pack that returns no bytes is an error with the path', () => {
  for (const rubbish of [undefined, null, 5, 'text', true, [1, 2], {}, 1n, Symbol('s'), () => 1]) {
    const packr = new Packr({ extensions: [{ ...point, pack: () => rubbish }] });
    const p = new Point(1, 2);
    for (let i = 0; i < 5; i++) {
      throwsCode(() => packr.pack(p), 'ERR_MSGPACK_EXTENSION', { path: '$' });
      throwsCode(() => packr.pack({ a: [0, p] }), 'ERR_MSGPACK_EXTENSION', { path: '$.a[1]' });
      throwsCode(() => packr.pack([new Map([[1, p]])]), 'ERR_MSGPACK_EXTENSION');
    }
    writes(packr, [1], '9101');
  }
  const detached = new Uint8Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const packr = new Packr({ extensions: [{ ...point, pack: () => detached }] });
  throwsCode(
    () => packr.pack({ a: new Point(1, 2) }),
    ['ERR_MSGPACK_EXTENSION', 'ERR_MSGPACK_INVALID_INPUT'],
    { path: '$.a' },
  );
  writes(packr, [1], '9101');
});

test('unpack or read that throws: an error with the cause and the offset of the ext', () => {
  const packed = { Class: Point, type: 5, unpack: throws };
  const written = { Class: Point, type: 5, read: throws };
  for (const options of [{}, { moreTypes: true }, { structuredClone: true }, { maps: 'map' }]) {
    for (const [extension, ext] of [
      [packed, 'd5050102'],
      [packed, 'c70005'],
      [packed, `c8010005 ${'07'.repeat(256)}`],
      [written, 'd4050001'],
      [written, 'd40500 93010203'],
    ]) {
      const packr = new Packr({ ...options, extensions: [extension] });
      for (const [head, tail, offset] of [
        ['', '', 0],
        ['9201', '', 2],
        ['93 a3616263', '01', 5],
        ['81a161', '', 3],
        ['91^350', '', 350],
        ['dc0190 07^399', '', 402],
      ]) {
        const wire = bytes(`${head} ${ext} ${tail}`.trim());
        const code = 'ERR_MSGPACK_EXTENSION';
        for (let i = 0; i < 3; i++) {
          throwsCode(() => packr.unpack(wire), code, { offset, cause: boom });
          throwsCode(() => packr.unpackFrom(Buffer.concat([Buffer.alloc(4), wire]), 4), code, {
            offset: offset + 4,
            cause: boom,
          });
          throwsCode(() => packr.unpackMultiple(Buffer.concat([bytes('0102'), wire])), code, {
            offset: offset + 2,
            cause: boom,
          });
        }
      }
      assert.deepStrictEqual(packr.unpack(bytes('920102')), [1, 2]);
    }
  }
  stillWorks();
});

test('unpack and read may return anything', () => {
  for (const value of [undefined, null, 0, '', NaN, 'text', Symbol.iterator, [1], throws]) {
    const packed = new Packr({ extensions: [{ ...point, unpack: () => value }] });
    const written = new Packr({ extensions: [{ ...box, read: () => value }] });
    for (let i = 0; i < 50; i++) {
      reads(packed, 'd5050102', value);
      reads(packed, '93 01 d5050102 02', [1, value, 2]);
      reads(packed, '82 a161 d5050102 a162 02', { a: value, b: 2 });
      reads(written, '93 01 d40600 9105 02', [1, value, 2]);
      reads(written, '82 a161 d40600c0 a162 02', { a: value, b: 2 });
    }
    assert.deepStrictEqual(packed.unpackFrom(bytes('d5050102')), { value, end: 4 });
    assert.deepStrictEqual(packed.unpackMultiple(bytes('d505010201')), [value, 1]);
  }
});

test('an extension as a key of a map', () => {
  const maps = make({ maps: 'map' });
  reads(
    maps,
    '82 d5050102 01 d40600a161 02',
    new Map([
      [new Point(1, 2), 1],
      [new Box('a'), 2],
    ]),
  );
  // An object has no such key.
  for (const wire of ['81 d5050102 01', '81 d40600a161 01']) {
    throwsCode(() => make().unpack(bytes(wire)), 'ERR_MSGPACK_KEY', { offset: 1 });
  }
});

test('unpackMultiple and unpackFrom', () => {
  const packr = make();
  const values = [new Point(1, 2), new Box([new Box(1)]), 5, { a: new Point(3, 4) }, new Box('é')];
  const wires = values.map((value) => packr.pack(value));
  const all = Buffer.concat(wires);
  for (let i = 0; i < 20; i++) {
    assert.deepStrictEqual(packr.unpackMultiple(all), values);
    let at = 0;
    for (const [n, value] of values.entries()) {
      assert.deepStrictEqual(packr.unpackFrom(all, at), { value, end: at + wires[n].length });
      at += wires[n].length;
    }
  }
  const many = Buffer.concat(Array.from({ length: 500 }, () => all));
  assert.equal(packr.unpackMultiple(many).length, 2500);
  throwsCode(() => packr.unpackMultiple(bytes('d5050102 d40600')), 'ERR_MSGPACK_TRUNCATED');
  throwsCode(() => packr.unpackMultiple(bytes('01 d5050102 c1')), 'ERR_MSGPACK_INVALID_BYTE', {
    offset: 5,
  });
  throwsCode(() => packr.unpack(bytes('d4060001 02')), 'ERR_MSGPACK_EXTRA_BYTES', { offset: 4 });
  throwsCode(() => packr.unpack(bytes('d5050102 02')), 'ERR_MSGPACK_EXTRA_BYTES', { offset: 4 });
});

test('every prefix of messages with extensions', () => {
  for (const value of [
    new Point(1, 2),
    new Box(new Box({ a: [new Point(1, 2)] })),
    [new Point(1, 2), new Box('text'), { a: new Box([1, 2, 3]), b: new Point(3, 4) }],
    nestArrays(120, new Box(new Point(1, 2))),
  ]) {
    const wire = make().pack(value);
    assert.deepStrictEqual(everyPrefix(make, wire), value);
  }
});

test('an ext of a read type in a form without a value is an error or an Ext', () => {
  for (const wire of [
    'c70006',
    'd5060102',
    'c703060102 03',
    '91 d806 00^16',
    'c70106 00',
    'd40600',
  ]) {
    settle(() => make().unpack(bytes(wire)));
    settle(() => make().unpackMultiple(bytes(`${wire} 01`)));
  }
  stillWorks();
});

test('unpack that takes the input away, or overwrites it', () => {
  const spoils = {
    detach: (input) => structuredClone(input.buffer, { transfer: [input.buffer] }),
    zeros: (input) => input.fill(0),
    'invalid bytes': (input) => input.fill(0xc1),
    'longer arrays': (input) => input.fill(0xdd),
    'longer strings': (input) => input.fill(0xdb),
  };
  const rest = [{ a: 'text', b: 'é'.repeat(40), c: Buffer.alloc(9, 1) }, 0.5, 2 ** 40, new Date(0)];
  for (const [name, spoil] of Object.entries(spoils)) {
    for (const Class of [Point, Box]) {
      for (const size of [1, 50, 600]) {
        for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
          const packer = make(options);
          const message = packer.pack([
            'first',
            Class === Point ? new Point(1, 2) : new Box([1]),
            ...Array.from({ length: size }, () => rest),
            Class === Point ? new Point(1, 2) : new Box([1]),
          ]);
          const input = new Uint8Array(message.length);
          input.set(message);
          const spoiling = () => {
            if (input.length > 0) spoil(input);
            return 'spoilt';
          };
          const packr = new Packr({
            ...options,
            extensions: [
              { ...point, unpack: spoiling },
              { ...box, read: spoiling },
            ],
          });
          const { value } = settle(() => packr.unpack(input));
          if (value !== undefined) {
            assert.equal(value[0], 'first', name);
            assert.equal(value[1], 'spoilt', name);
            assert.equal(value.length, size + 3, name);
          }
          assert.deepStrictEqual(packr.unpack(bytes('92 0102')), [1, 2]);
          stillWorks();
        }
      }
    }
  }
});

test('an extension that changes what is being packed', () => {
  const target = { list: null, map: null };
  const changing = {
    Class: Box,
    type: 6,
    write() {
      target.list.length = 0;
      target.map.clear();
      target.extra = 1;
      delete target.map;
      return 'changed';
    },
  };
  for (let i = 0; i < 50; i++) {
    for (const options of [{}, { moreTypes: true }, { structuredClone: true }]) {
      const packr = new Packr({ ...options, extensions: [changing] });
      target.list = [1, new Box(1), 2, 3];
      target.map = new Map([
        [1, new Box(1)],
        [2, 2],
      ]);
      delete target.extra;
      const { value } = settle(() => packr.pack(target));
      if (value !== undefined) packr.unpack(value);
      assert.deepStrictEqual(packr.unpack(packr.pack([1])), [1]);
    }
  }
  stillWorks();
});

test('extensions and records: the values of a record, and what write returns', () => {
  const typed = () => make({ moreTypes: true });
  both(
    typed,
    [{ a: new Point(1, 2) }, { a: new Box({ a: 3 }) }],
    '92 d4724091a161 d5050102 40 d40600 4003',
  );
  both(typed, new Box({ a: new Box({ b: 1 }) }), 'd40600 d4724091a161 d40600 d4724191a16201');
  both(
    typed,
    [new Box(new Set([1])), new Box(new Map([[1, undefined]])), new Box(undefined)],
    '93 d40600d473009101 d406008101d40000 d40600d40000',
  );
  const keys = new Map([[new Point(1, 2), new Box(1)]]);
  both(typed, keys, '81 d5050102 d4060001');
});

test('extensions and references: one object stays one', () => {
  const cloning = () => make({ structuredClone: true });
  const p = new Point(1, 2);
  const b = new Box([1]);
  writes(cloning(), [p, p], '92 d66900000001 d5050102 d67000000001');
  writes(cloning(), [b, b], '92 d66900000001 d40600 9101 d67000000001');
  for (const wire of [
    '92 d66900000001 d5050102 d67000000001',
    '92 d66900000001 d40600 9101 d67000000001',
  ]) {
    const [first, second] = cloning().unpack(bytes(wire));
    assert.equal(first, second);
    assert.ok(first instanceof Point || first instanceof Box);
  }
  const shared = { s: 1 };
  const [first, second] = cloning().unpack(cloning().pack([new Box(shared), new Box(shared)]));
  assert.equal(first.value, second.value);
  assert.notEqual(first, second);
});

test('random values with extensions, both ways and in every mode', (t) => {
  const leaf = fc.oneof(
    fc.integer(),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(null, true, 0.1, 2 ** 40),
    fc.tuple(fc.nat(255), fc.nat(255)).map(([x, y]) => new Point(x, y)),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 8 }),
      fc
        .dictionary(fc.constantFrom('a', 'b', 'é', '19', 'x', 'y', 'value'), tie('value'))
        .map((o) => ({ ...o })),
      tie('value').map((inner) => new Box(inner)),
    ),
  }));
  const makes = [{}, { moreTypes: true }, { structuredClone: true }, { sortKeys: true }].map(
    (options) => make(options),
  );
  fc.assert(
    fc.property(value, (each) => {
      for (const packr of makes) assert.deepStrictEqual(packr.unpack(packr.pack(each)), each);
    }),
    { seed: seedOf(t), numRuns: runsOf(300), endOnFailure: false },
  );
});
