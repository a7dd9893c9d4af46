// The order of a release, with an npm that only writes down what it is asked.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/build.mjs';
import { manifest, targets } from '../../scripts/targets.mjs';
import { folder, node } from './project.mjs';

const { version } = manifest;
const platforms = targets.map(({ platform }) => `msgpack-rs-binding-${platform}-${version}.tgz`);
const all = [...platforms, `msgpack-rs-${version}.tgz`];

/** Publishes these files with an npm that knows `there`, and fails at `broken`. */
function publish({ files = all, there = [], broken = 'nothing' } = {}) {
  const dir = folder();
  const tarballs = path.join(dir, 'tarballs');
  mkdirSync(tarballs);
  for (const file of files) writeFileSync(path.join(tarballs, file), '');
  const log = path.join(dir, 'log');
  writeFileSync(log, '');
  writeFileSync(
    path.join(dir, 'npm'),
    `#!/bin/sh
echo "$*" >> '${log}'
case "$*" in
${there.map((id) => `  "view ${id}@"*) exit 0 ;;\n`).join('')}  view*) exit 1 ;;
  *${broken}*) exit 1 ;;
esac
`,
    { mode: 0o755 },
  );
  const PATH = `${dir}${path.delimiter}${process.env.PATH}`;
  const script = path.join(root, 'scripts', 'publish.mjs');
  const { status, stderr } = node(dir, [script, tarballs], { PATH });
  const published = readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('publish'));
  return { status, stderr, published };
}

const skip = process.platform === 'win32' && 'a release is published from Linux';
const line = (file) => `publish ./${file} --access public --provenance`;

test('the platforms, then the root', { skip }, () => {
  const { status, published } = publish();
  assert.equal(status, 0);
  assert.deepEqual(published, all.map(line));
});

test('one that fails ends it: no root without its platforms', { skip }, () => {
  const { status, stderr, published } = publish({ broken: platforms[2] });
  assert.notEqual(status, 0);
  assert.match(stderr, /were not tried/);
  assert.deepEqual(published, platforms.slice(0, 3).map(line));
});

test('what is there already is passed over', { skip }, () => {
  const { status, published } = publish({ there: targets.slice(0, 3).map((t) => t.package) });
  assert.equal(status, 0);
  assert.deepEqual(published, all.slice(3).map(line));
});

test('a file that lacks, or one too many: nothing is published', { skip }, () => {
  for (const files of [all.slice(1), all.slice(0, -1), [...all, 'other-1.0.0.tgz']]) {
    const { status, published } = publish({ files });
    assert.notEqual(status, 0);
    assert.deepEqual(published, []);
  }
});
