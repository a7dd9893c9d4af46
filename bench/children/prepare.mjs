// Writes a value's bytes and its JSON to files, so that the process whose memory is measured has
// not built the value itself.

import { writeFileSync } from 'node:fs';
import { pack } from '../../index.js';
import { buildValues, findWorkload } from '../workloads.mjs';
import { reply, task } from './reply.mjs';

const [value] = buildValues(findWorkload(task.workload), task.quick);
const bytes = pack(value);
writeFileSync(`${task.file}.msgpack`, bytes);
writeFileSync(`${task.file}.json`, JSON.stringify(value));
reply({ bytes: bytes.length });
