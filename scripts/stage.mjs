// node scripts/stage.mjs BINARIES TARBALLS [--only=PLATFORM] [--local]
//                               makes the packages of a release: a tarball for each platform and one
//                               for the root, as they are tested and then published. BINARIES holds
//                               the .node files, all of them unless one platform is enough. What
//                               they need of a system is checked, unless they stay on this one.

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from './build.mjs';
import { manifest, problemsOf, targets } from './targets.mjs';

const MAX_BINARY_BYTES = 2_000_000;

function fail(message) {
  throw new Error(message);
}

const args = process.argv.slice(2);
const only = args.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
const [binaries, tarballs] = args.filter((arg) => !arg.startsWith('--'));
if (binaries === undefined || tarballs === undefined) fail('which folders?');
const wanted = targets.filter(({ platform }) => only === undefined || platform === only);
if (wanted.length === 0) fail(`${only} is none of ${targets.map((t) => t.platform).join(', ')}`);

// Users must not meet a release that is there for others only.
const found = readdirSync(binaries).filter((name) => name.endsWith('.node'));
const missing = wanted.filter(({ binary }) => !found.includes(binary));
const strange = found.filter((name) => !wanted.some(({ binary }) => binary === name));
if (missing.length > 0) fail(`there is no ${missing.map((t) => t.binary).join(', ')}`);
if (strange.length > 0) fail(`what is ${strange.join(', ')}?`);

function run(command, cwd) {
  const { status } = spawnSync(command, {
    cwd,
    shell: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) fail(`${command} failed`);
}

/** The manifest as it is published: with the platforms, and without what only a checkout has. */
function published({ devDependencies, overrides, scripts, ...rest }) {
  const optionalDependencies = Object.fromEntries(
    targets.map((target) => [target.package, manifest.version]),
  );
  return { ...rest, ...whence(), optionalDependencies };
}

/** Provenance is refused for a package that does not name the repository it was built from. */
function whence() {
  const { GITHUB_REPOSITORY: repository, GITHUB_SERVER_URL: server } = process.env;
  return repository ? { repository: { type: 'git', url: `git+${server}/${repository}.git` } } : {};
}

const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-stage-'));
try {
  const out = path.resolve(tarballs);
  mkdirSync(out, { recursive: true });
  const pack = (dir) =>
    run(`npm pack --ignore-scripts --loglevel=error --pack-destination "${out}"`, dir);

  writeJson(path.join(scratch, 'package.json'), manifest);
  run(`npx napi create-npm-dirs --cwd "${scratch}"`, root);
  for (const target of wanted) {
    const bytes = readFileSync(path.join(binaries, target.binary));
    const problems = args.includes('--local') ? [] : problemsOf(target, bytes);
    if (bytes.length > MAX_BINARY_BYTES) problems.push(`${target.binary} is ${bytes.length} bytes`);
    if (problems.length > 0) fail(problems.join('\n'));

    const dir = path.join(scratch, 'npm', target.platform);
    const file = path.join(dir, 'package.json');
    writeFileSync(path.join(dir, target.binary), bytes);
    cpSync(path.join(root, 'LICENSE'), path.join(dir, 'LICENSE'));
    writeJson(file, { type: 'commonjs', ...JSON.parse(readFileSync(file, 'utf8')), ...whence() });
    pack(dir);
  }

  const dir = path.join(scratch, 'root');
  const files = manifest.files.map((pattern) => pattern.split('/')[0]);
  for (const name of new Set([...files, 'README.md', 'LICENSE'])) {
    cpSync(path.join(root, name), path.join(dir, name), { recursive: true });
  }
  writeJson(path.join(dir, 'package.json'), published(manifest));
  pack(dir);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(readdirSync(tarballs).join('\n'));
