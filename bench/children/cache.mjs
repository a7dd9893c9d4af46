// The serializers of a cache without the cache: each kind of value in the mix of reads and writes.

import { isDeepStrictEqual } from 'node:util';
import { buildWorkloads, received, stores } from '../cache-objects.mjs';
import { interleave } from '../interleave.mjs';
import { reply, task } from './reply.mjs';

const average = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

function bringsBack({ write, read }, value, reader = read) {
  try {
    return isDeepStrictEqual(reader(write(value)), value);
  } catch {
    return false;
  }
}

/** What is wrong with ours; and who else is able to bring all values back. */
function check(values) {
  const able = stores.filter((store) => values.every((value) => bringsBack(store, value)));
  const [ours, peer] = ['ours', 'peer'].map((kind) => stores.find((store) => store.kind === kind));
  const failures = [];
  if (!able.includes(ours)) failures.push('what we packed does not come back');
  if (!values.every((value) => bringsBack(ours, value, peer.read))) {
    failures.push('msgpackr does not read what we packed');
  }
  if (!values.every((value) => bringsBack(peer, value, ours.read))) {
    failures.push('we do not read what msgpackr packed');
  }
  return { able, failures };
}

const TURNS = {
  write: { calls: 1, call: (store) => (input) => store.write(input.value) },
  read: { calls: 1, call: (store) => (input) => store.read(input.stored[0]) },
  // Each call is the whole mix, of values that are neighbours.
  mix: {
    calls: task.reads + 1,
    call:
      ({ write, read }) =>
      ({ value, stored }) => {
        const results = [write(value)];
        for (const one of stored) results.push(read(one));
        return results;
      },
  },
};

function inputsOf(store, values) {
  const stored = values.map((value) => received(store, store.write(value)));
  return values.map((value, index) => ({
    value,
    stored: Array.from({ length: task.reads }, (_, turn) => stored[(index + turn) % stored.length]),
  }));
}

function time(able, values, turn) {
  const { calls, call } = TURNS[turn];
  const field = able.map((store) => ({
    name: store.name,
    kind: store.kind,
    call: call(store),
    inputs: inputsOf(store, values),
  }));
  return interleave(field, task.pace).map(({ ns, p10, p90, ...rest }) => ({
    ...rest,
    ns: ns / calls,
    p10: p10 / calls,
    p90: p90 / calls,
  }));
}

const { values } = buildWorkloads().find(({ name }) => name === task.workload);
const { able, failures } = check(values);
const bytes = able.map(({ name, write }) => ({
  name,
  bytes: average(values.map((value) => Buffer.byteLength(write(value)))),
}));
const times = failures.length > 0 ? [] : task.turns.map((turn) => [turn, time(able, values, turn)]);
reply({ failures, bytes, times: Object.fromEntries(times) });
