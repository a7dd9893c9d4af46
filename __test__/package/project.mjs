// The packages of a release, and projects that have installed them as users do: from tarballs, into
// an empty folder, with no network and nothing of this checkout in sight.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { root, tuple } from '../../scripts/build.mjs';
import { targets } from '../../scripts/targets.mjs';

export const target = targets.find(({ platform }) => platform === tuple());

// scripts/test-package.mjs makes them.
const dir = process.env.MSGPACK_RS_TARBALLS;
assert.ok(dir, 'run this as `npm run test:package`');

const find = (start) => {
  const name = readdirSync(dir).find((file) => file.startsWith(start));
  assert.ok(name, `no tarball of ${start}`);
  return path.resolve(dir, name);
};

export const tarballs = {
  root: find('msgpack-rs-0'),
  platform: find(`msgpack-rs-binding-${target.platform}-`),
};

const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-package-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A folder of its own. */
export function folder() {
  return mkdtempSync(path.join(scratch, 'x-'));
}

/** Runs a command to its end. npm and what it installs are .cmd files on Windows. */
export function run(command, args, { cwd, env = {} } = {}) {
  const shell = process.platform === 'win32' && command !== process.execPath;
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    shell,
  });
  if (error) throw error;
  return { status, stdout, stderr };
}

export const node = (cwd, args, env) => run(process.execPath, args, { cwd, env });

/** What a program prints, which must end well and say nothing on the side. */
export function output(cwd, args) {
  const { status, stdout, stderr } = node(cwd, args);
  assert.equal(stderr, '');
  assert.equal(status, 0);
  return stdout;
}

/** An empty project in which these tarballs were installed. */
export function project(...files) {
  const cwd = folder();
  writeFileSync(path.join(cwd, 'package.json'), '{ "name": "project", "private": true }\n');
  const { status, stderr } = run('npm', ['install', '--no-audit', '--no-fund', ...files], {
    cwd,
    // A cache of its own, which is empty: what is not in the tarballs cannot be had.
    env: { npm_config_offline: 'true', npm_config_cache: path.join(cwd, '.npm') },
  });
  assert.equal(status, 0, stderr);
  return cwd;
}

/** What a TypeScript project has besides: the types of Node.js, as this checkout has them. */
export function addNodeTypes(cwd) {
  mkdirSync(path.join(cwd, 'node_modules', '@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types']) {
    const from = path.join(root, 'node_modules', name);
    symlinkSync(from, path.join(cwd, 'node_modules', name), 'junction');
  }
}
