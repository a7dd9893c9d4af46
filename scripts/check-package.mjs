// Looks at what `npm publish` would send, so that a missing file or a stray one fails here and not
// at the user's.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './build.mjs';

const MAX_UNPACKED_BYTES = 500_000;

const problems = [];

const { status, stdout } = spawnSync('npm pack --dry-run --json --ignore-scripts', {
  cwd: root,
  encoding: 'utf8',
  shell: true,
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (status !== 0) throw new Error('npm pack failed');
// npm 12 answers with an object by package name, older ones with a list.
const [report] = Object.values(JSON.parse(stdout));
const files = new Set(report.files.map((file) => file.path));

function filesUnder(dir) {
  return readdirSync(path.join(root, dir), { withFileTypes: true }).flatMap((entry) => {
    const name = `${dir}/${entry.name}`;
    if (entry.isDirectory()) return filesUnder(name);
    return name.endsWith('.rs') ? [] : [name];
  });
}

const required = new Set([
  ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'],
  ...['index.js', 'index.mjs', 'index.d.ts', 'index.d.mts', 'binding.js'],
  ...filesUnder('src'),
  ...filesUnder('compat'),
]);
for (const name of required) if (!files.has(name)) problems.push(`${name} is missing`);
for (const name of files) if (!required.has(name)) problems.push(`${name} does not belong there`);

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
for (const script of ['preinstall', 'install', 'postinstall']) {
  if (manifest.scripts[script]) problems.push(`a published package must have no ${script} script`);
}
if (Object.keys(manifest.dependencies ?? {}).length > 0) problems.push('there are dependencies');
if (report.unpackedSize > MAX_UNPACKED_BYTES) {
  problems.push(`${report.unpackedSize} bytes are more than ${MAX_UNPACKED_BYTES}`);
}

console.log([...files].sort().join('\n'));
console.log(`${files.size} files, ${report.unpackedSize} bytes (${report.size} packed)`);
if (problems.length > 0) {
  console.error(`\n${problems.join('\n')}`);
  process.exitCode = 1;
}
