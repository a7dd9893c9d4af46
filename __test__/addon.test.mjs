// An addon that does not load: one error, whose text is all that the user has.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binaryName, tuple } from '../scripts/build.mjs';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../', import.meta.url));
const manifest = require('../package.json');
const { PREBUILT } = require('../src/platform.js');

const platform = tuple();
const binary = binaryName();
const platformPackage = `${manifest.napi.packageName}-${platform}`;
const isElf64 = process.platform === 'linux' && os.endianness() === 'LE';

const scratch = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-addon-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

let count = 0;

/**
 * A project with msgpack-rs in node_modules as users have it, without a binary of any kind. `change`
 * gets the folders of both packages.
 */
function project(change = () => {}) {
  const dir = path.join(scratch, String(count++));
  const modules = path.join(dir, 'node_modules');
  const own = path.join(modules, 'msgpack-rs');
  for (const name of ['index.js', 'index.mjs', 'binding.js', 'package.json', 'src']) {
    cpSync(path.join(root, name), path.join(own, name), {
      recursive: true,
      filter: (file) => !file.endsWith('.rs'),
    });
  }
  change({ own, theirs: path.join(modules, platformPackage) });
  return dir;
}

/** The platform package, with this as its binary, or none. */
function writePlatformPackage(dir, bytes) {
  mkdirSync(dir, { recursive: true });
  writeFileSync(
    path.join(dir, 'package.json'),
    JSON.stringify({ name: platformPackage, version: manifest.version, main: binary }),
  );
  if (bytes) writeFileSync(path.join(dir, binary), bytes);
}

const built = () => readFileSync(path.join(root, binary));

/** What loading the package in that project throws, from `require` and from `import`. */
function failure(dir, { flags = [], env = {} } = {}) {
  const load = {
    commonjs: `try { require('msgpack-rs'); } catch (e) { tell(e); }`,
    module: `try { await import('msgpack-rs'); } catch (e) { tell(e); }`,
  };
  const told = Object.entries(load).map(([type, code]) => {
    const tell = `const tell = ({ name, code, message, tried }) =>
      console.log(JSON.stringify({ name, code, message, tried }));`;
    // The status is not asked: Node.js 20 reports what a CommonJS module throws to `import` a second
    // time, as uncaught.
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [...flags, `--input-type=${type}`, '--eval', tell + code],
      { cwd: dir, encoding: 'utf8', env: { ...process.env, ...env } },
    );
    assert.notEqual(stdout, '', `it has loaded, or died: ${stderr}`);
    return JSON.parse(stdout);
  });
  assert.deepEqual(told[0], told[1]);
  const [error] = told;
  assert.equal(error.name, 'Error');
  assert.equal(error.code, 'ERR_MSGPACK_ADDON');
  return error;
}

/** The fixes, in order; that they are numbered from 1 is checked on the way. */
function fixes({ message }) {
  const steps = [...message.matchAll(/^ {2}(\d+)\. (.*)$/gm)];
  for (const [i, [, number]] of steps.entries()) assert.equal(Number(number), i + 1);
  assert.ok(steps.length > 0, message);
  return steps.map(([, , fix]) => fix);
}

test('it loads from the platform package, and from a file next to the package', () => {
  const load = `console.log(require('msgpack-rs').pack([1]).toString('hex'))`;
  for (const dir of [
    project(({ theirs }) => writePlatformPackage(theirs, built())),
    project(({ own }) => writeFileSync(path.join(own, binary), built())),
  ]) {
    const { stdout, stderr } = spawnSync(process.execPath, ['--eval', load], {
      cwd: dir,
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    assert.equal(stdout, '9101\n');
  }
});

test('the platform package is not installed', () => {
  const error = failure(project());
  const [head] = error.message.split('\n');
  assert.equal(
    head,
    `msgpack-rs ${manifest.version} cannot load its native addon on ${platform}: ` +
      `the package ${platformPackage} is not installed.`,
  );
  assert.deepEqual(error.tried, [
    `Cannot find module './${binary}'`,
    `Cannot find module '${platformPackage}'`,
  ]);
  const [first, second, third] = fixes(error);
  assert.match(first, /optional dependencies/);
  assert.match(second, /delete both/);
  assert.match(third, new RegExp(`npm install ${platformPackage}@${manifest.version}$`));
});

test('the platform package has lost its binary', () => {
  const error = failure(project(({ theirs }) => writePlatformPackage(theirs)));
  assert.match(error.message, new RegExp(`${platformPackage} is there without its binary`));
});

test('a binary that is none: what the system says is quoted', () => {
  const garbage = project(({ theirs }) => writePlatformPackage(theirs, Buffer.from('<html>')));
  const error = failure(garbage);
  assert.match(error.message, new RegExp(`on ${platform}: it is there, but was refused`));
  const [, quoted] = error.message.split('\n');
  assert.match(quoted, /^ {2}\S/);
  assert.match(quoted, /msgpack-rs\.[\w-]+\.node|Win32/);
  if (process.platform === 'linux') assert.match(quoted, /file too short|invalid ELF header/i);
  assert.match(fixes(error)[0], /another machine or operating system/);
});

test('the first thing that went wrong is the one that is quoted', () => {
  const error = failure(
    project(({ own, theirs }) => {
      writeFileSync(path.join(own, binary), '<html>');
      writePlatformPackage(theirs, Buffer.from('<html>'));
    }),
  );
  const [, quoted] = error.message.split('\n');
  assert.ok(quoted.includes(path.join('msgpack-rs', binary)), quoted);
  assert.equal(error.tried.length, 2);
});

test('an empty binary, as a full disk leaves it', () => {
  const error = failure(project(({ theirs }) => writePlatformPackage(theirs, Buffer.alloc(0))));
  assert.match(error.message, /it is there, but was refused/);
});

test('a binary for another processor', { skip: !isElf64 }, () => {
  const EM_AARCH64 = 183;
  const EM_X86_64 = 62;
  const other = built();
  other.writeUInt16LE(process.arch === 'arm64' ? EM_X86_64 : EM_AARCH64, 18);
  const error = failure(project(({ theirs }) => writePlatformPackage(theirs, other)));
  assert.match(error.message, /it is there, but was refused/);
  assert.match(fixes(error)[0], /another machine or operating system/);
});

test('a binary that needs a newer glibc', { skip: !platform.endsWith('-gnu') || !isElf64 }, () => {
  // The first glibc that it asks for becomes one that no system has, by name and by hash.
  const hash = (name) => {
    let h = 0;
    for (const byte of Buffer.from(name)) {
      h = (h << 4) + byte;
      h = (h ^ ((h >>> 24) & 0xf0)) & 0x0fffffff;
    }
    return Buffer.from(new Uint32Array([h]).buffer);
  };
  const newer = built();
  const [name] = newer.toString('latin1').match(/GLIBC_2\.\d\d(?=\0)/);
  const wanted = 'GLIBC_2.99';
  newer.write(wanted, newer.indexOf(`${name}\0`));
  const entry = newer.indexOf(hash(name));
  assert.ok(entry > 0);
  hash(wanted).copy(newer, entry);

  const error = failure(project(({ theirs }) => writePlatformPackage(theirs, newer)));
  assert.match(error.message, /GLIBC_2\.99' not found/);
  assert.match(fixes(error)[0], /glibc 2\.28 or newer/);
});

test('a binary of another version is refused, and not misread', () => {
  const dir = project(({ own, theirs }) => {
    const file = path.join(own, 'package.json');
    writeFileSync(file, JSON.stringify({ ...manifest, version: '99.1.0' }));
    writePlatformPackage(theirs, built());
  });
  const error = failure(dir);
  assert.match(
    error.message,
    new RegExp(`^msgpack-rs 99\\.1\\.0 found a native addon of version ${manifest.version}\\.\n`),
  );
  assert.match(fixes(error)[0], /of one version/);
});

test('an addon of somebody else is refused', () => {
  const error = failure(
    project(({ own }) => {
      writeFileSync(path.join(own, 'binding.js'), 'module.exports = { pack() {} };');
    }),
  );
  assert.match(error.message, /found a native addon of version unknown/);
});

test('addons are switched off', () => {
  const dir = project(({ theirs }) => writePlatformPackage(theirs, built()));
  for (const setting of [{ flags: ['--no-addons'] }, { env: { NODE_OPTIONS: '--no-addons' } }]) {
    const error = failure(dir, setting);
    assert.match(error.message, /loading addons is disabled/);
    assert.match(fixes(error)[0], /without --no-addons/);
  }
});

test('the permission model without addons', () => {
  const flag = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  const dir = project(({ theirs }) => writePlatformPackage(theirs, built()));
  const error = failure(dir, {
    flags: [flag, '--allow-fs-read=*'],
    env: { NODE_NO_WARNINGS: '1' },
  });
  assert.match(error.message, /loading addons is disabled/);
  assert.match(fixes(error)[1], /--allow-addons/);
});

test('a file that the environment names is the only one that is tried', () => {
  const dir = project(({ theirs }) => writePlatformPackage(theirs, built()));
  const missing = path.join(dir, 'missing.node');
  const garbage = path.join(dir, 'garbage.node');
  writeFileSync(garbage, '<html>');
  for (const [file, expected] of [
    [missing, /there is no .*missing\.node/],
    [garbage, /it is there, but was refused\.\n.*/],
  ]) {
    const error = failure(dir, { env: { NAPI_RS_NATIVE_LIBRARY_PATH: file } });
    assert.match(error.message, expected);
    assert.ok(fixes(error)[0].startsWith('Unset NAPI_RS_NATIVE_LIBRARY_PATH'));
  }
});

test('a platform for which nothing is built', () => {
  const dir = project(({ own }) => {
    const file = path.join(own, 'index.js');
    const other = `Object.defineProperty(process, 'arch', { value: 'sparc' });\n`;
    writeFileSync(file, readFileSync(file, 'utf8').replace("'use strict';\n", `$&${other}`));
  });
  const error = failure(dir);
  assert.match(error.message, new RegExp(`on ${process.platform}-sparc.*: there is no prebuilt`));
  assert.deepEqual(fixes(error), [
    'Build it: in a checkout of the sources, with Rust, run `npm install`.',
  ]);
});

test('what fails once fails again, and the compat doors fail alike', () => {
  const dir = project(({ own }) =>
    symlinkSync(path.join(root, 'compat'), path.join(own, 'compat')),
  );
  const code = `
    const codes = [];
    for (const id of ['msgpack-rs', 'msgpack-rs', 'msgpack-rs/compat/msgpackr', 'msgpack-rs/compat/msgpack-node']) {
      try { require(id); } catch (error) { codes.push(error.code); }
    }
    console.log(codes.join());`;
  const { stdout } = spawnSync(
    process.execPath,
    ['--preserve-symlinks', '--preserve-symlinks-main', '--eval', code],
    { cwd: dir, encoding: 'utf8' },
  );
  assert.equal(stdout.trim(), Array(4).fill('ERR_MSGPACK_ADDON').join());
});

test('the platforms that are named are the targets of the build', () => {
  const words = {
    unknown: '',
    pc: '',
    apple: '',
    windows: 'win32',
    x86_64: 'x64',
    aarch64: 'arm64',
  };
  const named = manifest.napi.targets.map((target) => {
    const [arch, , system, libc] = target.split('-');
    return [words[system] ?? system, words[arch], libc].filter(Boolean).join('-');
  });
  assert.deepEqual(named.sort(), [...PREBUILT].sort());
});
