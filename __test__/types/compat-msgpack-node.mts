// What code written for msgpack-node says, with the import changed.

import net from 'node:net';
import { PassThrough } from 'node:stream';
import msgpack, {
  type DuplexLike,
  pack,
  Stream,
  type StreamError,
  type Unpack,
  unpack,
} from 'msgpack-rs/compat/msgpack-node';

declare function use(...values: unknown[]): void;

// Any number of values.
const bytes: Buffer = pack({ id: 1 }, 'two', undefined);
use(pack(), msgpack.pack(1));

// One value, and how much is left.
let rest: Buffer = bytes;
while (rest.length > 0) {
  const value: { id: number } | undefined = unpack(rest);
  if (value === undefined) break;
  const left: number = unpack.bytes_remaining;
  rest = rest.subarray(rest.length - left);
}
const same: Unpack = msgpack.unpack;
use(same(new Uint8Array(1)), same(new ArrayBuffer(1)), same(new DataView(new ArrayBuffer(1))));

// Streams, with and without `new`.
const socket = net.connect(1234);
const stream: Stream = new Stream(socket);
stream.on('msg', (value) => use(value.anything));
stream.once('error', (error: StreamError) => use(error.code, error.offset, error.message));
stream.addListener('mine', (a, b) => use(a, b));
const isFlushed: boolean = stream.send({ id: 1 });
stream.send('x', () => use('written'));
stream.send('x', 'utf8', () => use('written'));
const passed: Stream = msgpack.Stream(new PassThrough());
const custom: DuplexLike = { write: (data: Buffer) => data.length, on: () => undefined };
Stream(custom).send(1);
use(isFlushed, passed.emit('mine'), stream instanceof Stream);

class Connection extends Stream {
  constructor(duplex: net.Socket) {
    super(duplex);
    this.on('msg', (value) => this.answer(value));
  }
  answer(value: unknown) {
    return this.send({ value });
  }
}
use(new Connection(socket));

// @ts-expect-error a number is no bytes
unpack(5);
// @ts-expect-error a stream needs a stream
new Stream();
// @ts-expect-error nothing to write to
new Stream({ on: () => undefined });
// @ts-expect-error the name is send
stream.write(1);
