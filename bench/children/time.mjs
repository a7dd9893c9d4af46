// One direction of one workload, timed for every contender; on request with its check before.

import { check } from '../check.mjs';
import { contendersOf } from '../contenders.mjs';
import { interleave } from '../interleave.mjs';
import { buildValues, findWorkload } from '../workloads.mjs';
import { reply, task } from './reply.mjs';

const workload = findWorkload(task.workload);
const values = buildValues(workload, task.quick);
// Who is warmed up first differs from process to process, where there are several.
const all = contendersOf(workload);
const contenders = [...all.slice(task.turn), ...all.slice(0, task.turn)];

const average = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// Copied, as a read from a socket would be, and not slices of what the packer still holds.
function received({ pack, packInput = pack }, value) {
  const encoded = packInput(value);
  // Flat, and in one byte a character where it can be, as text that was received is.
  return typeof encoded === 'string' ? Buffer.from(encoded).toString() : Buffer.from(encoded);
}

function time(able) {
  const bytes = able.map(({ pack }) =>
    average(values.map((value) => Buffer.byteLength(pack(value)))),
  );
  const field = able.map((one) => ({
    name: one.name,
    kind: one.kind,
    call: one[task.direction],
    inputs: task.direction === 'pack' ? values : values.map((value) => received(one, value)),
  }));
  // A quick run does not make the whole number of calls that a workload asks for.
  const { calls, warmMs = task.pace.warmMs, rounds = task.pace.rounds } = workload;
  const pace = { ...task.pace, ...(task.quick ? {} : { calls, warmMs, rounds }) };
  const timed = interleave(field, pace);
  return timed.map((one, index) => ({ ...one, bytes: bytes[index] }));
}

const { failures, notSupported } = task.checked ?? check(values, contenders);
const able = contenders.filter(({ name }) => !(name in notSupported));

reply({
  failures,
  notSupported,
  values: values.length,
  contenders: failures.length === 0 ? time(able) : [],
});
