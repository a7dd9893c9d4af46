// What the measuring processes run on; asked of a child, because it may be another Node.js.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import { isNativeAccelerationEnabled } from 'msgpackr';
import { reply } from './reply.mjs';

const manifest = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const { dependencies } = manifest('../package.json');
const versions = Object.keys(dependencies)
  .filter((name) => name !== 'echarts')
  .map((name) => [name, manifest(`../node_modules/${name}/package.json`).version]);

reply({
  cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
  cores: os.availableParallelism(),
  memoryGB: Math.round(os.totalmem() / 2 ** 30),
  os: `${os.type()} ${os.release()}`,
  arch: process.arch,
  node: process.versions.node,
  v8: process.versions.v8,
  versions: {
    'msgpack-rs': manifest('../../package.json').version,
    ...Object.fromEntries(versions),
  },
  msgpackrNative: isNativeAccelerationEnabled,
});
