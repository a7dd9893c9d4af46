// What `validate` and `lengthOf` say beside what unpacking says; run by the tests, and by a child
// that has added extensions.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { lengthOf, MsgpackError, unpack, unpackFrom, unpackMultiple, validate } from '../index.js';
import { OPTION_SETS, wireOf } from './look-helpers.mjs';

const require = createRequire(import.meta.url);
/** A validator for bytes in pieces. */
export const { createValidator } = require('../src/look');

/** What a call comes to: its result, or the code and offset of its error. */
export function outcome(fn) {
  try {
    return { value: fn() };
  } catch (error) {
    assert.ok(error instanceof MsgpackError, `${error?.stack ?? error}`);
    return { code: error.code, offset: error.offset };
  }
}

const hexOf = (bytes) => Buffer.from(bytes).toString('hex');

/** `validate` has the error that unpacking has, or none. */
export function sameAsUnpack(bytes, options) {
  for (const multiple of [false, true]) {
    const read = multiple ? unpackMultiple : unpack;
    const expected = outcome(() => read(bytes, options));
    const actual = outcome(() => validate(bytes, { ...options, multiple }));
    const label = () => `${JSON.stringify({ ...options, multiple })} ${hexOf(bytes)}`;
    assert.equal(actual.code, expected.code, label());
    assert.equal(actual.offset, expected.offset, label());
    if (expected.code !== undefined) continue;
    assert.equal(actual.value.bytes, bytes.length, label());
    assert.equal(actual.value.values, multiple ? expected.value.length : 1, label());
  }
}

const STRUCTURAL = ['ERR_MSGPACK_TRUNCATED', 'ERR_MSGPACK_INVALID_BYTE'];

/** `lengthOf` is where unpackFrom ends, and has its errors where they are about the structure. */
export function lengthAsUnpackFrom(bytes, offset) {
  const expected = outcome(() => unpackFrom(bytes, offset).end);
  const actual = outcome(() => lengthOf(bytes, offset));
  if (expected.code === undefined) {
    assert.equal(actual.value, expected.value - offset, `${offset} of ${hexOf(bytes)}`);
  } else if (STRUCTURAL.includes(expected.code)) {
    assert.deepEqual(actual, expected, `${offset} of ${hexOf(bytes)}`);
  }
}

export function differences(seed, runs, { tags = [] } = {}) {
  const wire = wireOf(seed, { tags });
  const { next } = wire;
  for (let run = 0; run < runs; run++) {
    const options = next.pick(OPTION_SETS);
    const kind = next.below(4);
    let bytes = kind === 0 ? wire.noise(next.below(40)) : wire.value();
    if (kind === 1) bytes = Buffer.concat([bytes, wire.value(), wire.value()]);
    if (kind >= 2 && next.below(2) > 0) bytes = wire.damage(bytes);
    sameAsUnpack(bytes, options);
    lengthAsUnpackFrom(bytes, next.below(bytes.length + 2));
    if (run % 20 === 0 && bytes.length < 400) {
      for (let size = 0; size < bytes.length; size++) {
        sameAsUnpack(bytes.subarray(0, size), options);
        lengthAsUnpackFrom(bytes.subarray(0, size), 0);
      }
    }
  }
}
