'use strict';

// Who is measured: this package, JSON, and the MessagePack packages that can be loaded from where
// the command is run, each set up as its documentation tells those who want speed.

const { createRequire } = require('node:module');
const path = require('node:path');
const api = require('../../..');

const PEERS = {
  msgpackr({ Packr, Unpackr }) {
    const packr = new Packr({ useRecords: false });
    const unpackr = new Unpackr({ useRecords: false, int64AsType: 'auto' });
    return { pack: (value) => packr.pack(value), unpack: (bytes) => unpackr.unpack(bytes) };
  },
  '@msgpack/msgpack'({ Decoder, Encoder }) {
    const encoder = new Encoder({ maxDepth: 1000 });
    const decoder = new Decoder();
    return { pack: (value) => encoder.encode(value), unpack: (bytes) => decoder.decode(bytes) };
  },
  'notepack.io': ({ decode, encode }) => ({ pack: encode, unpack: decode }),
  'msgpack-lite': ({ decode, encode }) => ({ pack: encode, unpack: decode }),
};

/** The version of a package that has been loaded from this file. */
function versionOf(require, name, file) {
  // Not every package exports its package.json.
  for (let dir = path.dirname(file); dir !== path.dirname(dir); dir = path.dirname(dir)) {
    try {
      const manifest = require(path.join(dir, 'package.json'));
      if (manifest.name === name) return manifest.version;
    } catch {}
  }
  return '';
}

function peers(dir) {
  const require = createRequire(path.join(dir, 'bench.js'));
  const found = [];
  for (const [name, setUp] of Object.entries(PEERS)) {
    try {
      const label = `${name} ${versionOf(require, name, require.resolve(name))}`;
      found.push({ label, ...setUp(require(name)) });
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') {
        process.stderr.write(`${name} does not load: ${error.message}\n`);
      }
    }
  }
  return found;
}

/** The first is the one that the others are compared with. */
function contenders(dir) {
  const { version } = require('../../../package.json');
  return [
    {
      label: `msgpack-rs ${version}`,
      pack: (value) => api.pack(value),
      unpack: (bytes) => api.unpack(bytes),
    },
    {
      label: 'JSON, as a string',
      pack: (value) => JSON.stringify(value),
      unpack: (text) => JSON.parse(text),
    },
    {
      label: 'JSON, as a Buffer',
      pack: (value) => Buffer.from(JSON.stringify(value)),
      unpack: (bytes) => JSON.parse(bytes.toString()),
    },
    ...peers(dir),
  ];
}

module.exports = { contenders };
