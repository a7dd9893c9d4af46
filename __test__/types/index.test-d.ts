// What tsd asks of the types, with the TypeScript that it brings: one of the 5 series.

import type { Buffer } from 'node:buffer';
import { expectAssignable, expectError, expectNotAssignable, expectType } from 'tsd';
import {
  Ext,
  type MessageBytes,
  type MsgpackError,
  type PackedBuffer,
  type PackOptions,
  Packr,
  pack,
  packInto,
  Timestamp,
  type Unpacked,
  type UnpackOptions,
  unpack,
  unpackFrom,
  unpackMultiple,
} from '../../index';

interface User {
  id: number;
}

const bytes = pack({ id: 1 });
expectType<PackedBuffer>(bytes);
expectAssignable<Buffer>(bytes);
expectType<unknown>(unpack(bytes));
expectType<User>(unpack<User>(bytes));
expectType<unknown[]>(unpackMultiple(bytes));
expectType<User[]>(unpackMultiple<User>(bytes));
expectType<Unpacked<User>>(unpackFrom<User>(bytes));
expectType<number>(packInto(1, new Uint8Array(9)));

expectAssignable<MessageBytes>(new ArrayBuffer(1));
expectAssignable<MessageBytes>(new DataView(new ArrayBuffer(1)));
expectNotAssignable<MessageBytes>('a1');
expectNotAssignable<MessageBytes>([1, 2]);

expectAssignable<PackOptions>({ undefinedAs: 'nil', float32: 'fit', maxDepth: 5 });
expectNotAssignable<PackOptions>({ undefinedAs: 'null' });
expectAssignable<UnpackOptions>({ int64: 'string', utf8: 'raw', maps: 'map' });
expectNotAssignable<UnpackOptions>({ int64: 'long' });

expectType<bigint>(new Timestamp(1n).seconds);
expectType<Date>(new Timestamp(1).toDate());
expectType<number>(new Ext(5, bytes).type);
expectAssignable<Error>({} as MsgpackError);

const packr = new Packr({ moreTypes: true });
expectType<PackedBuffer>(packr.pack(new Set([1])));
expectType<User>(packr.unpack<User>(bytes));

expectError(pack());
expectError(unpack('a1'));
expectError(packInto(1, new ArrayBuffer(8)));
expectError(new Packr({ moreType: true }));
