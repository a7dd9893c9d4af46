// Packr with any options: what one instance writes another reads, messages that are damaged, and
// msgpackr where both mean the same.
import * as msgpackr from 'msgpackr';
import { sameBytes } from '../../../__test__/helpers.mjs';
import { settle } from '../../../__test__/packr-helpers.mjs';
import { addExtension, MsgpackError, Packr } from '../../../index.js';
import { PACKR_OPTIONS } from '../random.mjs';
import { same } from '../same.mjs';

class Point {
  constructor(x, y) {
    this.x = x;
    this.y = y;
  }
}
class Wrapped {
  constructor(value) {
    this.value = value;
  }
}
const EXTENSIONS = [
  {
    Class: Point,
    type: 3,
    pack: ({ x, y }) => Uint8Array.of(x, y),
    unpack: (data) => new Point(data[0], data[1]),
  },
  { Class: Wrapped, type: 4, write: ({ value }) => value, read: (value) => new Wrapped(value) },
];

/** Options that can be together; what cannot is an error of its own kind. */
function makeBoth(options) {
  try {
    return [new Packr({ ...options }), new Packr({ ...options })];
  } catch (error) {
    if (error.code !== 'ERR_INVALID_ARG_VALUE') throw error;
    return null;
  }
}

const PROBE = { id: 7, name: 'probe', list: [1, 2.5, 'é'] };

/** The pairs of instances that live for many cases. */
const pairs = [];

function pairOf(random) {
  if (pairs.length < 40 || random.oneIn(20)) {
    const options = random.choose(PACKR_OPTIONS);
    if (random.oneIn(2)) options.extensions = EXTENSIONS;
    if (random.oneIn(4)) options.structures = [];
    const made = makeBoth(options);
    if (made === null) return pairOf(random);
    // Those that share them read with the list that the other has written.
    if (options.structures !== undefined) made[1] = new Packr({ ...options });
    const fresh = { options, writer: made[0], reader: made[1] };
    pairs[pairs.length < 40 ? pairs.length : random.below(40)] = fresh;
    return fresh;
  }
  return random.pick(pairs);
}

function forget(reader) {
  pairs.splice(
    pairs.findIndex((pair) => pair.reader === reader),
    1,
  );
}

function valueFor(random) {
  if (random.oneIn(3)) return random.plain();
  const value = random.value();
  if (random.oneIn(6)) return [value, new Point(1, 2), new Wrapped(value), value];
  return value;
}

function roundTrip(random) {
  const { options, writer, reader } = pairOf(random);
  const value = valueFor(random);
  const packed = settle(() => writer.pack(value));
  if (packed.error !== undefined) return;
  const read = settle(() => reader.unpack(packed.value));
  // Who misses a message of a sequence misses its definitions.
  if (read.error !== undefined && options.sequential) forget(reader);
  // What it writes it reads, unless an option refuses that: keys, ill-formed text, times.
  const refused = ['ERR_MSGPACK_KEY', 'ERR_MSGPACK_TIMESTAMP', 'ERR_MSGPACK_DEPTH'];
  if (read.error !== undefined && !refused.includes(read.error.code)) throw read.error;
  if (random.oneIn(2)) probe(options, writer, reader);
  if (read.error === undefined && !options.sequential && random.oneIn(2)) {
    const from = reader.unpackFrom(
      Buffer.concat([packed.value, packed.value]),
      packed.value.length,
    );
    same(from.value, read.value);
    if (from.end !== 2 * packed.value.length) throw new Error(`end ${from.end}`);
    same(reader.unpackMultiple(packed.value), [read.value]);
  }
}

/** The good message; with a filter or a depth that it does not pass it is not tried. */
function probe(options, writer, reader) {
  if (options.keyFilter !== undefined || options.skipValues !== undefined) return;
  const wire = writer.pack(PROBE);
  const back = reader.unpack(wire);
  const plain = back instanceof Map ? Object.fromEntries(back) : back;
  if (options.sortKeys) same(Object.keys(plain).sort(), Object.keys(PROBE).sort());
  else same(Object.keys(plain), Object.keys(PROBE));
  same(plain.name, 'probe');
  same(plain.id, 7);
}

/** Damaged messages: a value or a documented error, and the next message is read. */
function damaged(random) {
  const { options } = pairOf(random);
  const [writer, reader] = makeBoth(options);
  const source = random.oneIn(2)
    ? settle(() => writer.pack(valueFor(random))).value
    : random.message();
  if (source === undefined) return;
  for (let i = 0; i < 4; i++) {
    const message = random.damage(source);
    settle(() => reader.unpack(message));
    settle(() => reader.unpackMultiple(message));
    settle(() => reader.unpackFrom(message, random.below(message.length + 1)));
  }
  if (!options.sequential) probe(options, writer, reader);
}

const THEIRS = [
  [{ useRecords: false, variableMapSize: true }, { undefinedAs: 'undefined' }],
  [{ useRecords: true }, { useRecords: true }],
  [{ moreTypes: true }, { moreTypes: true }],
  [{ structuredClone: true }, { structuredClone: true }],
];

function peer(random) {
  const [theirOptions, ourOptions] = random.pick(THEIRS);
  const value = random.plain();
  const theirs = new msgpackr.Packr({ int64AsType: 'auto', mapsAsObjects: true, ...theirOptions });
  const ours = new Packr({ int64: 'auto', mapsAsObjects: true, ...ourOptions });
  same(ours.unpack(theirs.pack(value)), value);
  same(theirs.unpack(ours.pack(value)), value);
}

function sorted(random) {
  const packr = new Packr({ sortKeys: true });
  const value = random.plain();
  sameBytes(packr.pack(packr.unpack(packr.pack(value))), packr.pack(value), 'sortKeys');
}

function options(random) {
  const strange = [null, 1, 'x', {}, [], NaN, -1, 2n, Symbol('s'), () => {}];
  const name = random.pick([...Object.keys(PACKR_OPTIONS), 'extensions', 'structures', 'nothing']);
  try {
    new Packr({ [name]: random.pick(strange) });
    addExtension(random.pick(strange));
  } catch (error) {
    const isRefusal = error instanceof TypeError && error.code === 'ERR_INVALID_ARG_VALUE';
    if (!isRefusal && !(error instanceof MsgpackError)) throw error;
  }
}

export default {
  name: 'packr',
  run(random) {
    random.pick([roundTrip, roundTrip, damaged, peer, sorted, options])(random);
  },
};
