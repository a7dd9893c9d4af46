'use strict';

// Where this process runs, in the words of the platform packages: linux-x64-gnu, darwin-arm64, …

/** Those that are built and tested for every release, as `napi.targets` in package.json has them. */
const PREBUILT = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-arm64-musl',
  'linux-x64-gnu',
  'linux-x64-musl',
  'win32-arm64-msvc',
  'win32-x64-msvc',
];

/** Asks for a report on the whole process, which takes a while: not for the way to a message. */
function tuple() {
  const { arch, platform } = process;
  if (platform === 'win32') return `${platform}-${arch}-msvc`;
  if (platform !== 'linux') return `${platform}-${arch}`;
  const libc = isGlibc() ? 'gnu' : 'musl';
  return `${platform}-${arch}-${libc}${arch === 'arm' ? 'eabihf' : ''}`;
}

function isGlibc() {
  const report = process.report?.getReport?.();
  // Runtimes without reports are built for glibc.
  return report?.header === undefined || report.header.glibcVersionRuntime !== undefined;
}

module.exports = { PREBUILT, tuple };
