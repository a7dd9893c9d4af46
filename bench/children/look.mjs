// Looking into one document, against unpacking it: early, late and ten values, and validating.

import { isDeepStrictEqual } from 'node:util';
import { get, getMany, lazy, pack, unpack, validate } from '../../index.js';
import { canadaLike, twitterLike } from '../documents.mjs';
import { interleave } from '../interleave.mjs';
import { randomSource } from '../random.mjs';
import { user } from '../workloads.mjs';
import { reply, task } from './reply.mjs';

const random = randomSource(27);
const MB = 1e6;
const TEN = 10;

/** As many of what `make` gives as come to a megabyte. */
function megabyteOf(make) {
  const list = [];
  for (let bytes = 0; bytes < MB; bytes += pack(list.at(-1)).length) list.push(make(list.length));
  return list;
}

/** The list that a document consists of, and the path of a scalar in one of its elements. */
const DOCUMENTS = {
  twitter: () => {
    const statuses = [];
    return {
      list: megabyteOf(() => {
        if (statuses.length === 0) statuses.push(...twitterLike(random).statuses);
        return statuses.pop();
      }),
      path: ['user', 'screen_name'],
    };
  },
  users: () => ({ list: megabyteOf((index) => user(random, index)), path: ['email'] }),
  numbers: () => ({ list: megabyteOf(() => random.fraction()), path: [] }),
  points: () => ({ list: canadaLike(random).features[0].geometry.coordinates, path: [0, 1] }),
};

const { list, path } = DOCUMENTS[task.document]();
const value = { version: 1, list, last: { ok: true } };
// As what was received: not a slice of what the packer holds.
const bytes = Buffer.from(pack(value));
const ten = Array.from({ length: TEN }, (_, index) => [
  'list',
  Math.floor(((index + 0.5) * list.length) / TEN),
  ...path,
]);
const follow = (steps) => steps.reduce((at, step) => at[step], value);

const field = [
  { kind: 'unpack', name: 'unpack', call: unpack, want: value },
  { kind: 'first', name: 'get of the first field', call: (b) => get(b, ['version']), want: 1 },
  { kind: 'last', name: 'get of the very last', call: (b) => get(b, ['last', 'ok']), want: true },
  {
    kind: 'many',
    name: 'getMany of ten fields',
    call: (b) => getMany(b, ten),
    want: ten.map(follow),
  },
  {
    kind: 'validate',
    name: 'validate',
    call: (b) => validate(b),
    check: (found) => found.bytes === bytes.length && found.values === 1,
  },
  { kind: 'lazy', name: 'lazy, and its last field', call: (b) => lazy(b).last.ok, want: true },
];

const failures = field
  .filter(
    ({ call, want, check = (found) => isDeepStrictEqual(found, want) }) => !check(call(bytes)),
  )
  .map(({ name }) => `${name}: another value came out`);
const contenders =
  failures.length > 0
    ? []
    : interleave(
        field.map(({ name, kind, call }) => ({ name, kind, call, inputs: [bytes] })),
        task.pace,
      );
reply({ failures, bytes: bytes.length, contenders });
