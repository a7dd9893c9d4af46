// npm run test:package          what a user does with the packages of a release, from their install
//                               on, with the binary that `npm run build` has made
// npm run test:package -- --binaries=FOLDER
//                               with the one that is there, as scripts/build-target.mjs has made it
// npm run test:package -- --tarballs=FOLDER
//                               with packages that are there, as scripts/stage.mjs has made them

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { binaryName, buildIfStale, root, tuple } from './build.mjs';

const MIN_TESTS = 37;

function argument(name) {
  const start = `--${name}=`;
  const value = process.argv.slice(2).find((arg) => arg.startsWith(start));
  return value === undefined ? undefined : path.resolve(value.slice(start.length));
}

function run(args, env = {}) {
  const { status, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(stdout);
  if (status !== 0) throw new Error(`${args[0]} failed`);
  return stdout;
}

const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-tarballs-'));
try {
  let binaries = argument('binaries');
  let tarballs = argument('tarballs');
  if (tarballs === undefined) {
    const stage = ['scripts/stage.mjs', `--only=${tuple()}`];
    if (binaries === undefined) {
      buildIfStale(console.log);
      binaries = path.join(scratch, 'binaries');
      mkdirSync(binaries);
      cpSync(path.join(root, binaryName()), path.join(binaries, binaryName()));
      // Linked to what this machine has, which may be newer than what users may have.
      stage.push('--local');
    }
    tarballs = path.join(scratch, 'tarballs');
    run([...stage, binaries, tarballs]);
  }

  const dir = path.join('__test__', 'package');
  const files = readdirSync(path.join(root, dir)).filter((name) => name.endsWith('.test.mjs'));
  const report = run(
    ['--test', '--test-reporter=spec', ...files.map((name) => path.join(dir, name))],
    { MSGPACK_RS_TARBALLS: tarballs },
  );
  const count = Number(report.match(/^ℹ pass (\d+)$/m)?.[1]);
  if (!(count >= MIN_TESTS)) throw new Error(`${count} tests passed, expected ${MIN_TESTS}`);
} catch (error) {
  console.error(`\ntest:package: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
