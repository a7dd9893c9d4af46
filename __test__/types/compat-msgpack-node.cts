// The same from CommonJS.

import msgpack = require('msgpack-rs/compat/msgpack-node');
import { PassThrough } from 'node:stream';
import { pack, Stream, unpack } from 'msgpack-rs/compat/msgpack-node';

declare function use(...values: unknown[]): void;

const bytes: Buffer = msgpack.pack({ id: 1 });
const value: { id: number } = unpack(bytes);
const left: number = msgpack.unpack.bytes_remaining;
const stream: msgpack.Stream = new msgpack.Stream(new PassThrough());
const other: Stream = Stream(new PassThrough());

// @ts-expect-error a misspelt property
use(unpack.bytesRemaining);

use(pack(value, left), stream.send(value), other.send(value));
