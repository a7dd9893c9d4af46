// What code written for msgpackr says, with the import changed.

import msgpackr, {
  addExtension,
  ALWAYS,
  C1,
  clearSource,
  Decoder,
  decode,
  decodeIter,
  Encoder,
  encode,
  encodeIter,
  type Extension,
  FLOAT32_OPTIONS,
  isNativeAccelerationEnabled,
  type Options,
  Packr,
  PackrStream,
  pack,
  RESERVE_START_SPACE,
  roundFloat32,
  Unpackr,
  UnpackrStream,
  type UnpackOptions,
  unpack,
  unpackMultiple,
} from 'msgpack-rs/compat/msgpackr';
import type { Transform } from 'node:stream';

declare function use(...values: unknown[]): void;

// The functions of the module.
const bytes: Buffer = pack({ id: 1 }, RESERVE_START_SPACE | 4);
const user: { id: number } = unpack(bytes);
const many: number[] = unpackMultiple(bytes);
unpackMultiple(bytes, (value, start, end) => end - start > 0 && value !== null);
use(encode(1), decode(bytes, 5), unpack(bytes, { start: 1, end: 2 }), roundFloat32(0.1), C1);
clearSource();

// The classes, and their other names.
const structures: string[][] = [];
const options: Options = {
  structures,
  useFloat32: FLOAT32_OPTIONS.DECIMAL_FIT,
  int64AsType: 'auto',
  maxSharedStructures: 100,
  shouldShareStructure: (keys) => keys.length > 0,
  getStructures: () => structures,
  saveStructures(added) {
    structures.push(...(added as string[][]));
  },
  onInvalidDate: () => null,
  skipValues: [undefined],
};
const packr = new Packr(options);
const unpackr: Unpackr = new Packr({ useRecords: (value) => value.id > 0 });
const encoder: Packr = new Encoder({ useFloat32: ALWAYS });
const decoder = new Decoder({ mapsAsObjects: true });
packr.useBuffer(Buffer.alloc(100));
packr.position = 0;
use(packr.pack(1), packr.encode(1), packr.offset, packr.structures, packr.unpack(bytes));
use(unpackr.decode(bytes), encoder.encode(1), decoder.decode(bytes), decoder.unpackMultiple(bytes));

const part: UnpackOptions = { start: 1 };
unpackr.unpack(new Uint8Array(1), part);

class Dice extends Packr {
  override unpack(data: Uint8Array, where?: UnpackOptions) {
    return [super.unpack(data, where)];
  }
}
new Dice({ structuredClone: true, moreTypes: true });

// Extensions.
class Point {
  x = 1;
}
const extension: Extension = {
  Class: Point,
  type: 11,
  pack: (point: Point) => Buffer.from([point.x]),
  unpack: (data) => data[0],
};
addExtension(extension);
addExtension({ Class: Point, type: 12, write: (point) => [point.x], read: ([x]) => ({ x }) });

const native: boolean = isNativeAccelerationEnabled;
use(user, many, native, msgpackr.pack(1));

// @ts-expect-error a misspelt option
new Packr({ useRecord: false });
// @ts-expect-error a value that the option does not have
new Packr({ int64AsType: 'integer' });
// @ts-expect-error a type that is not a number
addExtension({ type: 'eleven', unpack: () => 1 });

const out: Transform = new PackrStream({ highWaterMark: 3, useRecords: false });
const back = new UnpackrStream({ unpackr: new Unpackr(), maxIncompleteBufferSize: 1000 });
out.pipe(back);
const chunks: Generator<Buffer> = encodeIter([1, 2]);
const later: AsyncGenerator<Buffer> = encodeIter(Promise.resolve([1, 2]));
for (const value of decodeIter(chunks)) use(value, back.getNullValue(), later);
new msgpackr.EncoderStream();
new msgpackr.DecoderStream();
// @ts-expect-error a number of bytes
new UnpackrStream({ maxIncompleteBufferSize: 'much' });
