// Runs the commands as processes, as a shell does.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../', import.meta.url));
export const bin = (name) => path.join(root, 'bin', `${name}.js`);

/** The flags of this run that concern the code and not the tests. */
const flags = process.execArgv.filter((flag) => !flag.startsWith('--test'));

// What decides about colours in the shell that runs the tests must not decide here.
const { FORCE_COLOR, NO_COLOR, NODE_OPTIONS, ...clean } = process.env;

export const command = (args, name = 'msgpack-rs') => [...flags, bin(name), ...args];

/** Runs `msgpack-rs` with `args` to its end. Output is text, or bytes with `encoding: 'buffer'`. */
export function cli(args, { input = '', env = {}, cwd, encoding = 'utf8', name } = {}) {
  const { status, signal, stdout, stderr, error } = spawnSync(
    process.execPath,
    command(args, name),
    {
      cwd,
      encoding: encoding === 'buffer' ? undefined : encoding,
      env: { ...clean, ...env },
      input,
      maxBuffer: 2 ** 28,
    },
  );
  if (error) throw error;
  assert.equal(signal, null);
  return { status, stdout, stderr: stderr.toString() };
}

/** Starts it, for tests that talk to it. */
export function start(args, { env = {}, nodeFlags = [], ...options } = {}) {
  return spawn(process.execPath, [...nodeFlags, ...command(args)], {
    env: { ...clean, ...env },
    ...options,
  });
}

/** How a child ended, and what it wrote to standard error. */
export async function ended(child) {
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const [status, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (...how) => resolve(how));
  });
  return { status, signal, stderr };
}

/** A directory for the tests of a file, gone when they are over. */
export function scratch() {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-cli-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  const at = (name) => path.join(dir, name);
  return {
    dir,
    at,
    put(name, content) {
      writeFileSync(at(name), content);
      return at(name);
    },
    read: (name, encoding) => readFileSync(at(name), encoding),
  };
}
