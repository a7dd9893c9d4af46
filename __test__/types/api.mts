// The API as an ES module sees it; cjs.cts looks at it from CommonJS.

import msgpack, {
  decode,
  Ext,
  encode,
  get,
  getMany,
  has,
  keysAt,
  lazy,
  lengthAt,
  lengthOf,
  type JsonToMsgpackOptions,
  jsonToMsgpack,
  jsonToMsgpackAsync,
  type MessageBytes,
  MsgpackError,
  type MsgpackErrorCode,
  type MsgpackToJsonOptions,
  msgpackToJson,
  msgpackToJsonAsync,
  type PackedBuffer,
  type PackOptions,
  type Path,
  pack,
  packInto,
  slice,
  Timestamp,
  typeAt,
  type Unpacked,
  type UnpackOptions,
  unpack,
  unpackAsync,
  unpackFrom,
  unpackMultiple,
  type Validated,
  type ValidateOptions,
  type ValueType,
  validate,
} from 'msgpack-rs';

interface User {
  id: number;
}

declare function use(...values: unknown[]): void;

// What a user gets.
const bytes: Buffer = pack({ id: 1, tags: ['a'], at: new Date(0), raw: new Uint8Array(2) });
const view: Uint8Array = pack(null, { undefinedAs: 'nil', float32: true, maxDepth: 10 });
const named: PackedBuffer = encode(1n);
const unknownValue: unknown = unpack(bytes);
const user: User = unpack<User>(bytes);
const users: User[] = unpackMultiple<User>(bytes, { maps: 'object' });
const { value, end } = unpackFrom<User>(bytes, 4, { int64: 'bigint' });
const first: Unpacked<User> = unpackFrom<User>(bytes);
const next: number = packInto(user, new Uint8Array(100), end);
const last: number = packInto([value], Buffer.alloc(100), next, { undefinedAs: 'throw' });
const inferred: User = unpack(bytes);

// Every input that is documented.
const inputs: MessageBytes[] = [
  bytes,
  new Uint8Array(1),
  new Float64Array(1),
  new BigInt64Array(1),
  new DataView(new ArrayBuffer(1)),
  new ArrayBuffer(1),
  new SharedArrayBuffer(1),
];
for (const input of inputs) decode(input);

// Every option, with every value it has.
const everyUnpackOption: UnpackOptions[] = [
  { int64: 'auto', utf8: 'replace', copyBuffers: true, maps: 'object', timestamps: 'date' },
  { int64: 'bigint', utf8: 'fatal', copyBuffers: false, maps: 'map', timestamps: 'timestamp' },
  { int64: 'number', utf8: 'raw', maxDepth: 5 },
  { int64: 'string' },
  {},
];
const everyPackOption: PackOptions[] = [
  { undefinedAs: 'omit' },
  { undefinedAs: 'nil' },
  { undefinedAs: 'throw', float32: false, maxDepth: 5 },
];

const ext = new Ext(5, new Uint8Array(3));
const type: number = ext.type;
const data: Uint8Array = ext.data;

const time = new Timestamp(1n, 5);
const seconds: bigint = time.seconds;
const nanoseconds: number = time.nanoseconds;
const date: Date = Timestamp.fromDate(new Date()).toDate();
new Timestamp(-1);

// An error narrows by its code, to codes that exist.
try {
  unpack(bytes);
} catch (error) {
  if (error instanceof MsgpackError) {
    const code: MsgpackErrorCode = error.code;
    const offset: number | undefined = error.offset;
    const path: string | undefined = error.path;
    if (error.code === 'ERR_MSGPACK_TRUNCATED') use(code, offset, path, error.message);
    // @ts-expect-error there is no such code
    if (error.code === 'ERR_MSGPACK_TRUNCATE') use();
    // @ts-expect-error the code is not for writing
    error.code = 'ERR_MSGPACK_KEY';
  }
}

// JSON text, and promises.
const { signal } = new AbortController();
const everyJsonOption: JsonToMsgpackOptions[] = [
  { multiple: true, exts: true, binary: 'base64', utf8: 'replace', maxDepth: 5 },
  { binary: 'hex', utf8: 'fatal' },
  { binary: 'array' },
];
const everyTextOption: MsgpackToJsonOptions[] = [
  { space: 2, binary: 'base64', nonFinite: 'null', utf8: 'replace', multiple: false, maxDepth: 5 },
  { space: '\t', binary: 'hex', nonFinite: 'throw', utf8: 'fatal' },
  { binary: 'array' },
];
const fromText: PackedBuffer = jsonToMsgpack('[1]', { exts: true });
const fromBytes: PackedBuffer = jsonToMsgpack(bytes);
const text: PackedBuffer = msgpackToJson(bytes, { space: 2 });
const later: Promise<PackedBuffer> = jsonToMsgpackAsync('[1]', { signal, multiple: true });
const laterText: Promise<PackedBuffer> = msgpackToJsonAsync(bytes, { signal, space: 2 });
const laterUser: Promise<User> = unpackAsync<User>(bytes, { signal, maps: 'object' });
use(everyJsonOption, everyTextOption, fromText, fromBytes, text, later, laterText, laterUser);
// @ts-expect-error only the functions that return promises take a signal
msgpackToJson(bytes, { signal });
// @ts-expect-error a message is bytes
msgpackToJson('a1');

// What must not compile.
// @ts-expect-error a value is needed
pack();
// @ts-expect-error a string is not bytes
unpack('a1');
// @ts-expect-error nor is an array
unpack([1, 2]);
// @ts-expect-error a misspelt option
unpack(bytes, { int46: 'auto' });
// @ts-expect-error a value that the option does not have
unpack(bytes, { int64: 'long' });
// @ts-expect-error an option of unpack, not of pack
pack(1, { int64: 'auto' });
// @ts-expect-error packInto needs memory it can write bytes to
packInto(1, new ArrayBuffer(8));
// @ts-expect-error an unknown value is not an object
unpack(bytes).id;
// @ts-expect-error ext types are numbers
new Ext('5', new Uint8Array(1));
// @ts-expect-error only the package makes its errors
new MsgpackError('no');

use(view, named, unknownValue, users, first, last, inferred, everyUnpackOption, everyPackOption);
use(type, data, seconds, nanoseconds, date);

// Looking without unpacking.
const paths: Path[] = ['/users/0/name', ['users', 0, 'name'], ['id'] as const, []];
const found: unknown = get(bytes, ['users', 3, 'name']);
const fieldName: string | undefined = get<string>(bytes, '/users/3/name', { maps: 'map' });
const several: (number | undefined)[] = getMany<number>(bytes, paths);
const there: boolean = has(bytes, ['id']) && has(bytes);
const part: Buffer | undefined = slice(bytes, '/users');
const kind: ValueType | undefined = typeAt(bytes);
const size: number | undefined = lengthAt(bytes, [], { utf8: 'fatal' });
const names: string[] | undefined = keysAt(bytes, []);
const mapKeys: unknown[] | undefined = keysAt(bytes, '', { maps: 'map' });
const lazyUsers: { name: string }[] = lazy<{ name: string }[]>(bytes, { int64: 'number' });
const summary: Validated = validate(bytes, { multiple: true, utf8: 'fatal' });
const { values, bytes: total, depth, nodes } = summary;
const length: number = lengthOf(bytes, 3) + values + total + depth + nodes;
const validateOptions: ValidateOptions = { maxDepth: 5 };
use(
  found,
  fieldName,
  several,
  there,
  part,
  kind,
  size,
  names,
  mapKeys,
  lazyUsers,
  length,
  validateOptions,
);
if (kind === 'timestamp') use(kind);
// @ts-expect-error there is no such type
if (kind === 'date') use(kind);
// @ts-expect-error a path is needed
get(bytes);
// @ts-expect-error a number is no path
get(bytes, 3);
// @ts-expect-error nor is null a step
get(bytes, ['a', null]);
// @ts-expect-error one path is not several
getMany(bytes, '/a');
// @ts-expect-error an option of validate alone
unpack(bytes, { multiple: true });

// The default export is the same module.
const packDefault: typeof pack = msgpack.pack;
const unpackDefault: typeof unpack = msgpack.decode;
const sameClass: typeof Ext = msgpack.Ext;
use(packDefault, unpackDefault, sameClass);
