// The plain functions: values against the reference and a peer, messages whole and damaged.
import { isDeepStrictEqual } from 'node:util';
import { decode as peerDecode, encode as peerEncode } from '@msgpack/msgpack';
import { attempt, sameBytes } from '../../../__test__/helpers.mjs';
import { RefError, refPack, refUnpack } from '../../../__test__/reference.mjs';
import { Ext, pack, packInto, unpack, unpackFrom, unpackMultiple } from '../../../index.js';
import { same } from '../same.mjs';
import { PACK_OPTIONS, UNPACK_OPTIONS } from '../random.mjs';

const makeExt = (type, data) => new Ext(type, data);

function referenceResult(message) {
  try {
    return { value: refUnpack(message, makeExt) };
  } catch (error) {
    if (!(error instanceof RefError)) throw error;
    return { error };
  }
}

function values(random) {
  const value = random.standard();
  const wire = attempt(() => pack(value));
  if (wire.error !== undefined) {
    // At the top there is nothing to leave out.
    if (wire.error.code !== 'ERR_MSGPACK_UNSUPPORTED_TYPE') throw wire.error;
    return;
  }
  sameBytes(wire.value, refPack(value));
  const target = Buffer.alloc(wire.value.length + 9);
  const end = packInto(value, target, 4);
  sameBytes(target.subarray(4, end), wire.value, 'packInto');
  attempt(() => packInto(value, target.subarray(0, random.below(target.length))));
  agrees(wire.value);
  attempt(() => pack(random.value(), random.choose(PACK_OPTIONS)));
}

/** The reference reads the same, or refuses it too. */
function agrees(message) {
  const ours = attempt(() => unpack(message));
  const theirs = referenceResult(message);
  if (ours.error === undefined) same(ours.value, theirs.value, theirs.error);
  else if (theirs.error === undefined) throw ours.error;
  return ours;
}

function peer(random) {
  const value = random.plain();
  const wire = pack(value);
  sameBytes(wire, Buffer.from(peerEncode(value)), 'of @msgpack/msgpack');
  same(peerDecode(wire), value);
  same(unpack(wire), value);
}

function messages(random) {
  let message = random.message();
  if (random.oneIn(2)) message = random.damage(message);
  if (random.oneIn(8)) message = random.bytes(random.below(40));
  const whole = agrees(message);
  const options = random.choose(UNPACK_OPTIONS);
  // The ways to say the same.
  const one = attempt(() => unpack(message, options));
  const from = attempt(() => unpackFrom(message, 0, options));
  const all = attempt(() => unpackMultiple(message, options));
  if (one.error === undefined) {
    if (from.value?.end !== message.length) throw from.error ?? new Error(`end ${from.value.end}`);
    same(from.value.value, one.value);
    same(all.value, [one.value], all.error);
  } else if (from.error?.code !== one.error.code && one.error.code !== 'ERR_MSGPACK_EXTRA_BYTES') {
    throw new Error(`${one.error.code}, but from an offset ${from.error?.code}`);
  }
  if (whole.error === undefined && isDeepStrictEqual(options, {})) same(one.value, whole.value);
}

export default {
  name: 'plain',
  run(random) {
    random.pick([values, values, peer, messages, messages])(random);
  },
};
