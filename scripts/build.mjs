// Is there a binary for this machine, newer than what it is made of? And if not, make one.
// Shared by `prepare` and `test`. Needs nothing that is not in Node.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import platform from '../src/platform.js';

export const { tuple } = platform;

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const at = (...parts) => path.join(root, ...parts);

/** True in a checkout: the Rust sources are there. They are not part of the published package. */
export function isCheckout() {
  return existsSync(at('Cargo.toml')) && existsSync(at('src', 'lib.rs'));
}

function rustSources(dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) return rustSources(file);
    return entry.name.endsWith('.rs') ? [file] : [];
  });
}

/** The name of the binary that the generated loader looks for on this machine. */
export function binaryName() {
  return `msgpack-rs.${tuple()}.node`;
}

/** Why the binary has to be built, or `null` when it is fresh. */
export function staleReason() {
  const binary = at(binaryName());
  if (!existsSync(binary)) return `there is no ${binaryName()} yet`;
  if (!existsSync(at('binding.js'))) return 'there is no binding.js yet';
  const built = statSync(binary).mtimeMs;
  const inputs = [
    ...rustSources(at('src')),
    ...['Cargo.toml', 'Cargo.lock', 'build.rs', '.cargo/config.toml'].map((f) => at(f)),
  ];
  const newer = inputs.find((file) => existsSync(file) && statSync(file).mtimeMs > built);
  return newer ? `${path.relative(root, newer)} is newer than the binary` : null;
}

const INSTALL_RUST = `Install Rust with rustup (https://rustup.rs), which is one command:
  Linux, macOS:  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
  Windows:       run rustup-init.exe from https://rustup.rs
then open a new terminal and run npm install again.`;

const INSTALL_LINKER = {
  linux:
    'A C linker is needed too: apt-get install build-essential (or gcc, by your package manager).',
  darwin: 'A C linker is needed too: xcode-select --install',
  win32: 'The Visual Studio Build Tools with "Desktop development with C++" are needed too.',
};

/** What is wrong with the Rust toolchain, in words for the user, or `null` when it will do. */
export function toolchainProblem() {
  const needed = readFileSync(at('Cargo.toml'), 'utf8').match(/^rust-version = "(\d+)\.(\d+)/m);
  const minimum = `${needed[1]}.${needed[2]}`;
  for (const tool of ['cargo', 'rustc']) {
    const { status, stdout, error } = spawnSync(tool, ['--version'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (error || status !== 0) {
      return `building msgpack-rs needs Rust ${minimum} or newer, and \`${tool}\` was not found or does not run.\n${INSTALL_RUST}`;
    }
    const [, major, minor] = (stdout.match(/(\d+)\.(\d+)/) ?? []).map(Number);
    if (major < needed[1] || (major === Number(needed[1]) && minor < needed[2])) {
      return `building msgpack-rs needs Rust ${minimum} or newer, and this is ${stdout.trim()}.\nUpdate it with: rustup update stable\nIf it did not come from rustup: ${INSTALL_RUST}`;
    }
  }
  return null;
}

/** Builds the binary when it is missing or stale. Throws an Error meant for the user's eyes. */
export function buildIfStale(log = console.error) {
  const reason = staleReason();
  if (!reason) return false;
  log(`msgpack-rs: building the native binary (${reason})`);

  const problem = toolchainProblem();
  if (problem) throw new Error(problem);
  if (!existsSync(at('node_modules', '@napi-rs', 'cli'))) {
    throw new Error(
      'building msgpack-rs needs its development dependencies: run npm install without --omit=dev.',
    );
  }

  // The command itself is written once, as the `build` script. `npm_execpath` is the package
  // manager that runs us; started by hand, npm is on the PATH (a .cmd file on Windows, hence shell).
  const started = new Date();
  const pm = process.env.npm_execpath;
  const options = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] };
  const { status } = pm?.match(/\.[cm]?js$/)
    ? spawnSync(process.execPath, [pm, 'run', 'build'], options)
    : spawnSync('npm run build', { ...options, shell: true });
  if (status !== 0) {
    throw new Error(
      `the build of msgpack-rs failed; the reason is above.\n${INSTALL_LINKER[process.platform] ?? ''}`,
    );
  }
  const binary = at(binaryName());
  if (!existsSync(binary)) throw new Error(`the build made no ${binaryName()}.`);
  // An edit made while the build ran must count as newer, and an unchanged copy as fresh.
  utimesSync(binary, started, started);
  return true;
}
