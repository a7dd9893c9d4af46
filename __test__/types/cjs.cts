// The API from CommonJS: `import … = require()` and, compiled to require, `import`.

import msgpack = require('msgpack-rs');
import asDefault from 'msgpack-rs';
import { Ext, MsgpackError, type PackOptions, type pack, Timestamp, unpack } from 'msgpack-rs';

declare function use(...values: unknown[]): void;

const options: PackOptions = { undefinedAs: 'nil' };
const bytes: Buffer = msgpack.pack({ id: 1 }, options);
const value: { id: number } = msgpack.unpack<{ id: number }>(bytes);
const { end }: msgpack.Unpacked = msgpack.unpackFrom(bytes, 0);
const code: msgpack.MsgpackErrorCode = 'ERR_MSGPACK_DEPTH';
const same: typeof pack = msgpack.encode;

// One class, by either name.
const ext: msgpack.Ext = new Ext(1, bytes);
const time: msgpack.Timestamp = new Timestamp(1n);

try {
  unpack(bytes);
} catch (error) {
  if (error instanceof MsgpackError) use(error.code, error.path);
  if (error instanceof msgpack.MsgpackError) use(error.offset);
}

// @ts-expect-error a misspelt option
msgpack.pack(1, { undefinedas: 'nil' });

use(value, end, code, same, ext, time, asDefault.pack);
