// node scripts/build-target.mjs TRIPLE FOLDER
//                               builds the binary for a release, and checks what it needs. For Linux
//                               with zig, from any Linux: see scripts/zig.txt.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './build.mjs';
import { GLIBC_FLOOR, problemsOf, targets } from './targets.mjs';

const [triple, folder] = process.argv.slice(2);
const target = targets.find((t) => t.triple === triple);
if (target === undefined || folder === undefined) {
  console.error(`usage: build-target.mjs TRIPLE FOLDER
  TRIPLE is one of ${targets.map((t) => t.triple).join(', ')}`);
  process.exit(2);
}

const args = ['build', '--platform', '--release', '--no-js', '--output-dir', path.resolve(folder)];
if (target.isLinux) args.push('--cross-compile');
args.push(
  '--target',
  target.libc === 'gnu' && target.isLinux ? `${triple}.${GLIBC_FLOOR}` : triple,
);
args.push('--', '--locked');

const { status } = spawnSync('npx', ['napi', ...args], {
  cwd: root,
  shell: process.platform === 'win32',
  stdio: ['ignore', 'inherit', 'inherit'],
});
if (status !== 0) process.exit(1);

const bytes = readFileSync(path.join(folder, target.binary));
const problems = problemsOf(target, bytes);
console.log(`${target.binary}: ${bytes.length} bytes`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
