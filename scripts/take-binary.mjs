// node scripts/take-binary.mjs TARBALLS
//                               takes this platform's binary out of the packages of a release, so
//                               that `npm test` runs with that one and builds none.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { binaryName, root, staleReason, tuple } from './build.mjs';
import { manifest } from './targets.mjs';

const [tarballs] = process.argv.slice(2);
const scratch = mkdtempSync(path.join(root, 'taken-'));
try {
  const tarball = path.resolve(tarballs, `msgpack-rs-binding-${tuple()}-${manifest.version}.tgz`);
  // A path of Windows would be taken for one on another host.
  const args = ['-xzf', path.relative(scratch, tarball)];
  const { status } = spawnSync('tar', args, { cwd: scratch, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${tarball} cannot be read`);
  cpSync(path.join(scratch, 'package', binaryName()), path.join(root, binaryName()));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
const reason = staleReason();
if (reason !== null) throw new Error(reason);
