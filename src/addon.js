'use strict';

// The native addon, or one error that says what is wrong with it and what to do. The generated
// loader finds it; everything that needs it comes through here.

const { version } = require('../package.json');
const { PREBUILT, tuple } = require('./platform');

const OVERRIDE = 'NAPI_RS_NATIVE_LIBRARY_PATH';

const REINSTALL =
  'If node_modules or the lock file came from another machine or operating system, delete both ' +
  'and install here.';
const BUILD = 'Build it: in a checkout of the sources, with Rust, run `npm install`.';

function load() {
  let binding;
  try {
    binding = require('../binding.js');
  } catch (error) {
    throw loadError(error);
  }
  const found = typeof binding.version === 'function' ? binding.version() : 'unknown';
  if (found !== version) throw versionError(found);
  return binding;
}

function versionError(found) {
  return addonError(`msgpack-rs ${version} found a native addon of version ${found}.`, [
    ...unsetOverride(),
    'Install msgpack-rs again, so that the package and its binary are of one version.',
    'In a checkout, run `npm run build`.',
    'If a bundler or a Dockerfile copies the .node file, let it copy the one of this version.',
  ]);
}

/** What the generated loader's error comes to. It has tried a file here, then the package. */
function loadError(error) {
  const platform = tuple();
  const name = `@msgpack-rs/binding-${platform}`;
  const tried = messages(error);
  const fault = tried.find((message) => !isMissing(message));
  const quoted = fault === undefined ? '' : `\n  ${fault}`;
  const file = process.env[OVERRIDE];

  let what;
  let fixes;
  if (fault === undefined && file) {
    what = `there is no ${file}.`;
    fixes = unsetOverride();
  } else if (!PREBUILT.includes(platform)) {
    what = `there is no prebuilt one for it.${quoted}`;
    fixes = [BUILD];
  } else if (fault !== undefined) {
    what = `it is there, but was refused.${quoted}`;
    fixes = fixesFor(fault);
  } else {
    const state = tried.some(isHollow) ? 'is there without its binary' : 'is not installed';
    what = `the package ${name} ${state}.`;
    fixes = [
      'Install msgpack-rs again with its optional dependencies: without --omit=optional, ' +
        '--no-optional or `omit=optional` in .npmrc.',
      REINSTALL,
      `Install it by itself: npm install ${name}@${version}`,
      'In a bundle, keep msgpack-rs out of it (external), and install it where the bundle runs.',
      BUILD,
    ];
  }
  return addonError(
    `msgpack-rs ${version} cannot load its native addon on ${platform}: ${what}`,
    fixes,
    tried,
  );
}

/** By what the system says of a file that it does not load: what helps, first things first. */
function fixesFor(fault) {
  if (/addons is disabled|--allow-ffi/.test(fault)) {
    return [
      'Start the process without --no-addons; look for it in NODE_OPTIONS, too.',
      'With the permission model, add --allow-addons (Deno: --allow-ffi).',
    ];
  }
  const again = [...unsetOverride(), REINSTALL, 'Install msgpack-rs again.', BUILD];
  if (!/GLIBC_/.test(fault)) return again;
  return [
    'Use a system with glibc 2.28 or newer (Debian 10, Ubuntu 20.04, RHEL 8), or Alpine.',
    ...again,
  ];
}

function unsetOverride() {
  const file = process.env[OVERRIDE];
  return file ? [`Unset ${OVERRIDE}: it is ${file}, and nothing else is tried.`] : [];
}

/** What went wrong along the causes, in the order in which things were tried. */
function messages(error) {
  const all = [];
  for (let e = error; e; e = e.cause) {
    // The rest is a list of files of this package.
    const [message] = String(e.message).split('\nRequire stack:');
    // The loader looks for WebAssembly, too, which there is none of, and then sums up.
    if (!/\.wasi\.cjs'|-wasm32-wasi'|^Cannot find native binding/.test(message))
      all.unshift(message);
  }
  return all;
}

/** Nothing there to load, as Node.js, Bun and Deno say it. */
function isMissing(message) {
  return /^(Cannot find (module|package)|Unsupported (architecture|OS))/.test(message);
}

/** A package whose manifest is there and names a file that is not. */
function isHollow(message) {
  return /valid "main" entry/.test(message);
}

function addonError(what, fixes, tried) {
  const steps = fixes.map((fix, i) => `  ${i + 1}. ${fix}`).join('\n');
  const error = new Error(`${what}\n${steps}`);
  error.code = 'ERR_MSGPACK_ADDON';
  // Each by its first words: the causes of the loader's own error fill a screen.
  if (tried !== undefined) error.tried = tried;
  return error;
}

module.exports = load();
