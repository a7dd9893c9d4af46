// What the commands of the benchmark have in common: what they measure on, and how they end.

import { writeFileSync } from 'node:fs';
import { installIfMissing } from './install.mjs';
import { runChild } from './spawn.mjs';

/** What `node` and its codecs are; ends the command if they do not load. */
export function environmentOf(node) {
  installIfMissing();
  const environment = runChild(node, 'environment');
  if (environment.died) {
    console.error(`The codecs do not load on ${node}: ${environment.died}`);
    process.exit(1);
  }
  return environment;
}

export function printQuick(quick) {
  if (quick) console.log('A quick run: its times are too short to be worth quoting.');
}

/** What the commands print of it that compare with msgpackr. */
export function printMachine({ cpu, cores, os, arch, node, v8, versions, msgpackrNative }) {
  console.log(`Machine   ${cpu}, ${cores} cores, ${os} ${arch}`);
  console.log(`Node.js   ${node}, V8 ${v8}`);
  console.log(`Codecs    msgpack-rs ${versions['msgpack-rs']}, msgpackr ${versions.msgpackr}`);
  console.log(`          msgpackr's native helper is ${msgpackrNative ? 'active' : 'NOT active'}`);
}

/** Writes the results down, if a file was named, and says what was wrong with them. */
export function finish(results, file, problems) {
  if (file) {
    writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
    console.log(`\nWritten: ${file}`);
  }
  for (const problem of problems) console.error(`\nWrong: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
