// node scripts/publish.mjs TARBALLS
//                               publishes a release: the platforms first and the root last, so that
//                               nobody can install a root whose platform is not there. What is there
//                               already is passed over, so a run that broke off can be run again.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { manifest, targets } from './targets.mjs';

const { name, version } = manifest;
const fileOf = (id) => `${id.replace('@', '').replace('/', '-')}-${version}.tgz`;
const packages = [...targets.map((target) => target.package), name];

const [dir] = process.argv.slice(2);
const found = readdirSync(dir).sort();
const expected = packages.map(fileOf).sort();
if (found.join() !== expected.join()) {
  throw new Error(`${dir} has to hold these files and no others:\n${expected.join('\n')}`);
}

/** Every argument is made here of names and versions; none needs quotes. */
function npm(...args) {
  const { status, error } = spawnSync('npm', args, {
    cwd: dir,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (error) throw error;
  return status === 0;
}

for (const id of packages) {
  if (npm('view', `${id}@${version}`, 'version')) {
    console.log(`${id} ${version} is there already`);
    continue;
  }
  const file = `./${path.basename(fileOf(id))}`;
  if (!npm('publish', file, '--access', 'public', '--provenance')) {
    throw new Error(`${id} was not published; the packages after it were not tried`);
  }
}
