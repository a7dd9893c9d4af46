// The platforms that a release has binaries for, as `napi.targets` in package.json lists them.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './build.mjs';
import { elfNeeds, glibcOf } from './elf.mjs';

export const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** The oldest glibc that the binaries load on. The README and `src/addon.js` say it, too. */
export const GLIBC_FLOOR = '2.28';

/** What every system has. Node.js's own Alpine image has no libgcc_s. */
const LIBRARIES = {
  gnu: /^(libc\.so\.6|ld-linux-[\w-]+\.so\.\d|lib(pthread|dl|m|rt)\.so\.\d|libgcc_s\.so\.1)$/,
  musl: /^(libc\.so|libc\.musl-\w+\.so\.1)$/,
};

const SYSTEMS = { linux: 'linux', darwin: 'darwin', windows: 'win32' };
const ARCHS = { x86_64: 'x64', aarch64: 'arm64' };

export const targets = manifest.napi.targets.map((triple) => {
  const [arch, , system, libc] = triple.split('-');
  const platform = [SYSTEMS[system], ARCHS[arch], libc].filter(Boolean).join('-');
  return {
    triple,
    platform,
    libc,
    arch: ARCHS[arch],
    isLinux: system === 'linux',
    binary: `${manifest.napi.binaryName}.${platform}.node`,
    package: `${manifest.napi.packageName}-${platform}`,
  };
});

/** What is wrong with a binary for that target, as sentences; empty when it will do. */
export function problemsOf({ arch, binary, isLinux, libc }, bytes) {
  if (!isLinux) return [];
  const needs = elfNeeds(bytes);
  const problems = [];
  if (needs.arch !== arch) problems.push(`${binary} is for ${needs.arch}`);
  const strange = needs.libraries.filter((name) => !LIBRARIES[libc].test(name));
  if (strange.length > 0) problems.push(`${binary} needs ${strange.join(', ')}`);
  const [major, minor] = glibcOf(needs) ?? [0, 0];
  const [floorMajor, floorMinor] = GLIBC_FLOOR.split('.').map(Number);
  if (libc === 'gnu' && major === 0) problems.push(`${binary} is not linked to glibc`);
  if (major > floorMajor || (major === floorMajor && minor > floorMinor)) {
    problems.push(`${binary} needs glibc ${major}.${minor}; the floor is ${GLIBC_FLOOR}`);
  }
  return problems;
}
