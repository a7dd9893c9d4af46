// One direction of one workload, timed for every contender; on request with its check before.

import { check } from '../check.mjs';
import { builtins, codecs } from '../contenders.mjs';
import { interleave } from '../interleave.mjs';
import { buildValues, findWorkload } from '../workloads.mjs';
import { reply, task } from './reply.mjs';

const workload = findWorkload(task.workload);
const values = buildValues(workload, task.quick);
const contenders = [...codecs, ...builtins(workload)].filter(
  ({ name }) => !workload.contenders || workload.contenders.includes(name),
);

const average = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// All codecs read the same bytes, ours, which are the shortest form; copied, as a read from a
// socket would be, and not slices of what the packer still holds.
function received({ kind, pack }, value) {
  const encoded = kind === 'peer' ? codecs[0].pack(value) : pack(value);
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
  const { calls, warmMs = task.pace.warmMs } = workload;
  const timed = interleave(field, { ...task.pace, ...(task.quick ? {} : { calls, warmMs }) });
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
