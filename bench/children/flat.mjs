// Packs or unpacks very often in one turn of the event loop, in which no finalizer can run.

import { pack, unpack } from '../../index.js';
import { buildValues, findWorkload } from '../workloads.mjs';
import { forgetPeak, peakRss, rss, settle } from './memory.mjs';
import { reply, task } from './reply.mjs';

const values = buildValues(findWorkload(task.workload));
const inputs = task.direction === 'pack' ? values : values.map((value) => Buffer.from(pack(value)));
const call = task.direction === 'pack' ? pack : unpack;

let kept;
function run(calls) {
  for (let done = 0; done < calls; done += 1) kept = call(inputs[done % inputs.length]);
}

// Warm-up is what makes the tape, and what is in use of the young generation, as large as it gets.
run(task.calls / 4);
await settle();
run(task.calls / 4);
forgetPeak();
const before = rss();
run(task.calls);
const after = rss();
const peak = peakRss();
reply({ calls: task.calls, before, grown: after - before, peak: peak - before, kept: typeof kept });
