// One document as JSON text and as MessagePack: what it takes to go from one to the other, without
// values in between and by way of them.

import { jsonToMsgpack, msgpackToJson, pack, unpack } from '../../index.mjs';
import { interleave } from '../interleave.mjs';
import { buildValues, findWorkload } from '../workloads.mjs';
import { reply, task } from './reply.mjs';

const values = buildValues(findWorkload(task.workload), task.quick);
const texts = values.map((value) => JSON.stringify(value));
// As read from a file or a socket; and flat.
const received = texts.map((text) => Buffer.from(text));
const flat = received.map((bytes) => bytes.toString());
const packed = values.map((value) => Buffer.from(pack(value)));

const JOBS = {
  'from a string': {
    inputs: flat,
    ours: (json) => jsonToMsgpack(json),
    other: (json) => pack(JSON.parse(json)),
  },
  'from a Buffer': {
    inputs: received,
    ours: (json) => jsonToMsgpack(json),
    other: (json) => pack(JSON.parse(json.toString())),
  },
  'to JSON': {
    inputs: packed,
    ours: (bytes) => msgpackToJson(bytes),
    other: (bytes) => Buffer.from(JSON.stringify(unpack(bytes))),
  },
};

const failures = [];
for (const [name, { inputs, ours, other }] of Object.entries(JOBS)) {
  const same = inputs.every((input) => ours(input).equals(other(input)));
  if (!same) failures.push(`${task.workload}, ${name}: other bytes than by way of values`);
}

const times = {};
for (const [name, { inputs, ours, other }] of Object.entries(JOBS)) {
  if (failures.length > 0) break;
  times[name] = interleave(
    [
      { name: 'msgpack-rs', kind: 'ours', call: ours, inputs },
      { name: 'by way of values', kind: 'values', call: other, inputs },
    ],
    task.pace,
  );
}
reply({ failures, bytes: received[0].length, times });
