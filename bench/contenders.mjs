// Who takes part, each set up as its documentation tells those who want speed, and all of them
// held to standard MessagePack: no records mode, no shared structures.

import v8 from 'node:v8';
import { Decoder, Encoder } from '@msgpack/msgpack';
import lite from 'msgpack-lite';
import { Packr, Unpackr } from 'msgpackr';
import notepack from 'notepack.io';
import { pack, unpack } from '../index.js';

// What msgpackr's own standalone `pack` is bound to.
const packr = new Packr({ useRecords: false });
// By default a 64-bit integer becomes a BigInt, which is not what was packed; as a number is also
// its fastest way.
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });
const encoder = new Encoder({ maxDepth: 1000 });
const decoder = new Decoder();

/** The MessagePack codecs: any of them must read what any other wrote. */
export const codecs = [
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
export function builtins({ toJson, fromJson }) {
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
