// What is in the tarballs, to the file: one that is missing and one that strayed in fail here, and
// not at the user's.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/build.mjs';
import { manifest, problemsOf, targets } from '../../scripts/targets.mjs';
import { folder, node, run, tarballs, target } from './project.mjs';

const MAX_ROOT_PACKED = 250_000;
const MAX_ROOT_UNPACKED = 700_000;
const MAX_PLATFORM_PACKED = 1_000_000;

/** The files of a tarball, and its manifest. */
function unpacked(tarball) {
  const cwd = folder();
  // A path of Windows would be taken for one on another host.
  const { status, stderr } = run('tar', ['-xzf', path.relative(cwd, tarball)], { cwd });
  assert.equal(status, 0, stderr);
  const dir = path.join(cwd, 'package');
  const files = filesIn(dir);
  const size = files.reduce((sum, file) => sum + statSync(path.join(dir, file)).size, 0);
  return {
    files,
    size,
    path: (name) => path.join(dir, name),
    manifest: JSON.parse(readFileSync(path.join(dir, 'package.json'), 'utf8')),
  };
}

function filesIn(dir, under = '') {
  return readdirSync(path.join(dir, under), { withFileTypes: true })
    .flatMap((entry) => {
      const name = path.posix.join(under, entry.name);
      return entry.isDirectory() ? filesIn(dir, name) : [name];
    })
    .sort();
}

/** All that is in a folder of the checkout and is not Rust. */
const javascriptIn = (name) =>
  existsSync(path.join(root, name))
    ? filesIn(root, name).filter((file) => !file.endsWith('.rs'))
    : [];

test('the root: JavaScript, types and documents, and nothing else', () => {
  const { files, size } = unpacked(tarballs.root);
  assert.deepEqual(
    files,
    [
      ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'],
      ...['index.js', 'index.mjs', 'index.d.ts', 'index.d.mts', 'binding.js'],
      ...['bin', 'compat', 'src'].flatMap(javascriptIn),
    ].sort(),
  );
  assert.ok(size < MAX_ROOT_UNPACKED, `${size} bytes`);
  assert.ok(
    statSync(tarballs.root).size < MAX_ROOT_PACKED,
    `${statSync(tarballs.root).size} bytes`,
  );
});

test('the root: no script runs, nothing is depended on but the platforms', () => {
  const { name, version, scripts, dependencies, devDependencies, bundleDependencies, ...rest } =
    unpacked(tarballs.root).manifest;
  assert.deepEqual([name, version], [manifest.name, manifest.version]);
  assert.deepEqual(
    [scripts, dependencies, devDependencies, bundleDependencies],
    [undefined, undefined, undefined, undefined],
  );
  assert.deepEqual(
    rest.optionalDependencies,
    Object.fromEntries(targets.map((each) => [each.package, version])),
  );
  assert.deepEqual(Object.keys(rest.peerDependencies), ['@types/node']);
  assert.deepEqual(rest.peerDependenciesMeta, { '@types/node': { optional: true } });
  assert.equal(rest.engines.node, '>=20');
});

test('the platform: one binary, for one system', () => {
  const { files, manifest: theirs } = unpacked(tarballs.platform);
  assert.deepEqual(files, ['LICENSE', 'README.md', target.binary, 'package.json'].sort());
  assert.equal(theirs.name, target.package);
  assert.equal(theirs.version, manifest.version);
  assert.equal(theirs.main, target.binary);
  assert.deepEqual([theirs.scripts, theirs.dependencies], [undefined, undefined]);
  const [platform, arch, libc] = target.platform.split('-');
  assert.deepEqual([theirs.os, theirs.cpu], [[platform], [arch]]);
  const expected = { gnu: ['glibc'], musl: ['musl'] }[libc];
  assert.deepEqual(theirs.libc, expected);
  const { size } = statSync(tarballs.platform);
  assert.ok(size < MAX_PLATFORM_PACKED, `${size} bytes`);
});

// That a release can be refused.

const binary = readFileSync(unpacked(tarballs.platform).path(target.binary));

test('a binary that needs more than users have is noticed', { skip: target.libc !== 'gnu' }, () => {
  const newer = Buffer.from(binary);
  const [name] = newer.toString('latin1').match(/GLIBC_2\.\d\d(?=\0)/);
  newer.write('GLIBC_2.99', newer.indexOf(`${name}\0`));
  assert.match(problemsOf(target, newer).join(), /needs glibc 2\.99; the floor is 2\.28/);
});

test('a binary for another processor or libc is noticed', { skip: !target.isLinux }, () => {
  for (const other of targets.filter((each) => each.isLinux && each !== target)) {
    assert.notDeepEqual(problemsOf(other, binary), [], other.platform);
  }
});

test('a release that lacks a platform is not made', () => {
  const dir = folder();
  writeFileSync(path.join(dir, target.binary), binary);
  const stage = path.join(root, 'scripts', 'stage.mjs');
  const { status, stderr } = node(dir, [stage, dir, path.join(dir, 'out')]);
  assert.notEqual(status, 0);
  const others = targets.filter((each) => each !== target).map((each) => each.binary);
  assert.ok(stderr.includes(`there is no ${others.join(', ')}`), stderr);
  assert.ok(!existsSync(path.join(dir, 'out')));
});
