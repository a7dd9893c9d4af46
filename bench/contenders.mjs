// Who takes part, each set up as its documentation tells those who want speed. In the table all are
// held to standard MessagePack: no records mode, no shared structures. Those are for the groups
// about Packr, where each side has the same options.

import v8 from 'node:v8';
import { Decoder, Encoder } from '@msgpack/msgpack';
import lite from 'msgpack-lite';
import { Packr, Unpackr } from 'msgpackr';
import notepack from 'notepack.io';
import { Packr as OurPackr, pack, unpack } from '../index.js';

// What msgpackr's own standalone `pack` is bound to.
const packr = new Packr({ useRecords: false });
// By default a 64-bit integer becomes a BigInt, which is not what was packed; as a number is also
// its fastest way.
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });
const encoder = new Encoder({ maxDepth: 1000 });
const decoder = new Decoder();

/** The MessagePack codecs: any of them must read what any other wrote. */
const codecs = [
  { name: 'msgpack-rs', kind: 'ours', pack, unpack },
  {
    name: 'msgpackr',
    kind: 'peer',
    pack: (value) => packr.pack(value),
    unpack: (bytes) => unpackr.unpack(bytes),
  },
  {
    name: '@msgpack/msgpack',
    kind: 'peer',
    pack: (value) => encoder.encode(value),
    unpack: (bytes) => decoder.decode(bytes),
  },
  { name: 'notepack.io', kind: 'peer', pack: notepack.encode, unpack: notepack.decode },
  { name: 'msgpack-lite', kind: 'peer', pack: lite.encode, unpack: lite.decode },
];

/** What a Node.js program has without any dependency. */
function builtins({ toJson, fromJson }) {
  const stringify = toJson ? (value) => JSON.stringify(toJson(value)) : JSON.stringify;
  const parse = fromJson ? (text) => fromJson(JSON.parse(text)) : JSON.parse;
  return [
    { name: 'JSON, a string', kind: 'json', pack: stringify, unpack: parse },
    {
      name: 'JSON, a Buffer',
      kind: 'json-buffer',
      // What a socket, a file or a cache needs.
      pack: (value) => Buffer.from(stringify(value)),
      unpack: (bytes) => parse(bytes.toString()),
    },
    { name: 'v8.serialize', kind: 'v8', pack: v8.serialize, unpack: v8.deserialize },
  ];
}

/** All that plain MessagePack has. All codecs read the same bytes: ours, the shortest form. */
function standard(workload) {
  const field = [...codecs.map((codec) => ({ ...codec, packInput: pack })), ...builtins(workload)];
  return field.filter(({ name }) => !workload.contenders || workload.contenders.includes(name));
}

const copyOf = (structures) => Array.from(structures, (names) => [...names]);

// The readers that get what the other side wrote are given its structures as another process would
// be. An integer beyond 32 bits is an int 64 in ours, which msgpackr reads as a number if told to.
function withRecords() {
  const ours = new OurPackr({ structures: [] });
  const theirs = new Packr({ structures: [] });
  return [
    {
      name: 'msgpack-rs',
      kind: 'ours',
      pack: (value) => ours.pack(value),
      unpack: (bytes) => ours.unpack(bytes),
      readerOfOthers() {
        const reader = new OurPackr({ structures: copyOf(theirs.structures) });
        return (bytes) => reader.unpack(bytes);
      },
    },
    {
      name: 'msgpackr',
      kind: 'peer',
      pack: (value) => theirs.pack(value),
      unpack: (bytes) => theirs.unpack(bytes),
      readerOfOthers() {
        const structures = copyOf(ours.structures);
        const reader = new Packr({ structures, int64AsType: 'number' });
        return (bytes) => reader.unpack(bytes);
      },
    },
    { name: 'msgpack-rs, maps', kind: 'maps', isOurs: true, pack, unpack },
  ];
}

function withMoreTypes() {
  const ours = new OurPackr({ moreTypes: true });
  const theirs = new Packr({ moreTypes: true });
  return [
    {
      name: 'msgpack-rs',
      kind: 'ours',
      pack: (value) => ours.pack(value),
      unpack: (bytes) => ours.unpack(bytes),
    },
    {
      name: 'msgpackr',
      kind: 'peer',
      pack: (value) => theirs.pack(value),
      unpack: (bytes) => theirs.unpack(bytes),
    },
    { name: 'v8.serialize', kind: 'v8', pack: v8.serialize, unpack: v8.deserialize },
  ];
}

// Each is called by a function of its own, as in a program that has several of them. The last two
// are only there to be there: a codec must not become slower when others are at work.
function instances() {
  const bare = new OurPackr();
  const options = new OurPackr({ float32: true, int64: 'bigint' });
  const records = new OurPackr({ structures: [] });
  const moreTypes = new OurPackr({ moreTypes: true });
  return [
    {
      name: 'pack, unpack',
      kind: 'ours',
      pack: (value) => pack(value),
      unpack: (bytes) => unpack(bytes),
    },
    {
      name: 'new Packr()',
      kind: 'instance',
      isOurs: true,
      isSame: true,
      pack: (value) => bare.pack(value),
      unpack: (bytes) => bare.unpack(bytes),
    },
    {
      name: 'Packr, options',
      kind: 'options',
      isOurs: true,
      isSame: true,
      pack: (value) => options.pack(value),
      unpack: (bytes) => options.unpack(bytes),
    },
    {
      name: 'Packr, records',
      kind: 'beside',
      isOurs: true,
      pack: (value) => records.pack(value),
      unpack: (bytes) => records.unpack(bytes),
    },
    {
      name: 'Packr, more types',
      kind: 'beside',
      isOurs: true,
      pack: (value) => moreTypes.pack(value),
      unpack: (bytes) => moreTypes.unpack(bytes),
    },
  ];
}

const FIELDS = {
  table: standard,
  growth: standard,
  records: withRecords,
  'more-types': withMoreTypes,
  instance: instances,
};

/**
 * Who takes part in a workload. Instances are made anew here, so that the processes of the table
 * have none. `packInput` makes what is unpacked, by default the contender's own `pack`; `isOurs`
 * says that a wrong result is a failure; `isSame` that its bytes have to be those of `pack`.
 */
export const contendersOf = (workload) => FIELDS[workload.group](workload);
