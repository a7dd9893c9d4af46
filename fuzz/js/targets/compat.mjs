// The doors for users of other packages: msgpackr next to the one of its name, any bytes for both.
import * as theirs from 'msgpackr';
import * as node from '../../../compat/msgpack-node.mjs';
import * as ours from '../../../compat/msgpackr.mjs';
import { checkError, sameBytes } from '../../../__test__/helpers.mjs';
import { PACKR_CODES } from '../../../__test__/packr-helpers.mjs';
import { same } from '../same.mjs';

const BOOLEANS = [true, false];
const OPTIONS = {
  bundleStrings: BOOLEANS,
  encodeUndefinedAsNil: BOOLEANS,
  int64AsType: ['bigint', 'number', 'string', 'auto'],
  mapsAsObjects: BOOLEANS,
  moreTypes: BOOLEANS,
  sequential: BOOLEANS,
  structuredClone: BOOLEANS,
  useFloat32: Object.values(theirs.FLOAT32_OPTIONS),
  useRecords: BOOLEANS,
  variableMapSize: BOOLEANS,
};

function attempt(fn) {
  try {
    return { value: fn() };
  } catch (error) {
    checkError(error, PACKR_CODES);
    return { error };
  }
}

function msgpackr(random) {
  // Numbers as they are, maps as they were.
  const { useFloat32, mapsAsObjects, sequential, bundleStrings, ...options } =
    random.choose(OPTIONS);
  const value = { list: random.plain() };
  const our = new ours.Packr({ ...options });
  const their = new theirs.Packr({ ...options });
  const reader = { ...options, ...(options.useRecords === false ? { mapsAsObjects: true } : {}) };
  const wire = our.pack(value);
  same(new theirs.Unpackr({ ...reader }).unpack(wire), value);
  same(new ours.Unpackr({ ...reader }).unpack(their.pack(value)), value);
}

function msgpackrBytes(random) {
  const options = random.choose(OPTIONS);
  const codec = new ours.Packr({ ...options });
  const value = random.plain();
  const source = random.oneIn(2) ? random.message() : attempt(() => codec.pack(value)).value;
  if (source === undefined) return;
  for (let i = 0; i < 4; i++) {
    const message = random.damage(source);
    attempt(() => codec.unpack(message));
    attempt(() => codec.unpackMultiple(message));
    attempt(() => codec.unpack(message, { start: random.below(message.length + 1) }));
  }
  if (options.sequential) return;
  const probe = { id: 7, name: 'probe' };
  const back = codec.unpack(codec.pack(probe));
  same(back instanceof Map ? Object.fromEntries(back) : back, probe);
}

/** What msgpack-node cannot be told apart from: keys like numbers are written as such. */
function msgpackNode(random) {
  const value = random.plain();
  const wire = node.pack(value, value);
  const one = node.unpack(wire);
  same(one, value);
  sameBytes(node.pack(one), wire.subarray(0, wire.length / 2), 'msgpack-node');
  same(node.unpack.bytes_remaining, wire.length / 2);
  const message = random.damage(wire);
  try {
    node.unpack(message);
  } catch (error) {
    if (error.message !== 'Error de-serializing object') throw error;
  }
}

export default {
  name: 'compat',
  run(random) {
    random.pick([msgpackr, msgpackrBytes, msgpackNode])(random);
  },
};
