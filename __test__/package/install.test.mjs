// Installed without a network, and used.

import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { manifest } from '../../scripts/targets.mjs';
import { folder, node, output, project, run, tarballs, target } from './project.mjs';

const cwd = project(tarballs.root, tarballs.platform);
const installed = JSON.parse(
  readFileSync(path.join(cwd, 'node_modules', 'msgpack-rs', 'package.json'), 'utf8'),
);

/** Both ways, by every name that the package exports. */
const subpaths = Object.keys(installed.exports)
  .filter((name) => !name.endsWith('.json'))
  .map((name) => path.posix.join('msgpack-rs', name));

const LOADERS = {
  commonjs: (id) => `const module = require('${id}');`,
  module: (id) => `import * as module from '${id}';`,
};

test('two packages, the root and this platform', () => {
  const modules = path.join(cwd, 'node_modules');
  const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
  const [scope, name] = target.package.split('/');
  assert.deepEqual(names.sort(), [scope, 'msgpack-rs'].sort());
  assert.deepEqual(readdirSync(path.join(modules, scope)), [name]);
});

for (const id of subpaths) {
  test(`${id}: require and import, a value there and back`, () => {
    for (const [type, load] of Object.entries(LOADERS)) {
      const code = `${load(id)}
        const value = { id: 7, name: 'Ада', list: [1, 2.5, null, true], bytes: Buffer.from('x') };
        const bytes = module.pack(value);
        if (JSON.stringify(module.unpack(bytes)) !== JSON.stringify(value)) throw new Error('no');
        console.log(bytes.toString('hex'));`;
      // msgpackr writes a map of 16 bits.
      const start = id.endsWith('msgpackr') ? 'de0004' : '84';
      assert.equal(
        output(cwd, [`--input-type=${type}`, '--eval', code]),
        `${start}a2696407a46e616d65a6d090d0b4d0b0a46c6973749401cb4004000000000000c0c3a56279746573c40178\n`,
      );
    }
  });
}

test('in a worker thread', () => {
  const code = `
    const { Worker } = require('node:worker_threads');
    new Worker("require('node:worker_threads').parentPort.postMessage(require('msgpack-rs').pack(1n)[0])", { eval: true })
      .on('message', console.log);`;
  assert.equal(output(cwd, ['--eval', code]), '1\n');
});

for (const [name, file] of Object.entries(installed.bin ?? {})) {
  test(`the command ${name} tells how it is used`, () => {
    assert.ok(existsSync(path.join(cwd, 'node_modules', 'msgpack-rs', file)));
    const command = path.join(cwd, 'node_modules', '.bin', name);
    const { status, stdout, stderr } = run(command, ['--help'], { cwd });
    assert.equal(status, 0, stderr);
    assert.ok(stdout.includes(name), stdout);
  });
}

/** What loading it throws in that project. */
function failure(dir, flags = []) {
  const code = `try { require('msgpack-rs'); } catch (error) { console.log(error.code, error.message); }`;
  const { stdout, stderr } = node(dir, [...flags, '--eval', code]);
  assert.equal(stderr, '');
  assert.match(stdout, /^ERR_MSGPACK_ADDON /);
  return stdout;
}

test('--no-addons: a clear error', () => {
  const text = failure(cwd, ['--no-addons']);
  assert.match(text, new RegExp(`on ${target.platform}: .*\n.*loading addons is disabled`));
  assert.match(text, /1\. Start the process without --no-addons/);
});

test('the root alone, as with --omit=optional: installs, and says what is missing', () => {
  assert.match(failure(project(tarballs.root)), new RegExp(`${target.package} is not installed`));
});

// That these tests can fail.

/** The project as it is, but for one change. */
function broken(change) {
  const dir = folder();
  cpSync(cwd, dir, { recursive: true });
  change(path.join(dir, 'node_modules', 'msgpack-rs'));
  return dir;
}

test('a package without one of its files is noticed', () => {
  const dir = broken((own) => rmSync(path.join(own, 'src', 'tape.js')));
  assert.throws(() => output(dir, ['--eval', LOADERS.commonjs('msgpack-rs')]), /tape/);
});

test('packages of two versions are noticed', () => {
  const dir = broken((own) => {
    const file = path.join(own, 'package.json');
    writeFileSync(file, JSON.stringify({ ...installed, version: '99.0.0' }));
  });
  assert.match(failure(dir), new RegExp(`found a native addon of version ${manifest.version}`));
});
