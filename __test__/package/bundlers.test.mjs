// In a bundle: the package stays outside of it, by the line that the README gives.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import esbuild from 'esbuild';
import webpack from 'webpack';
import { root } from '../../scripts/build.mjs';
import { folder, node, output, project, tarballs } from './project.mjs';

const cwd = project(tarballs.root, tarballs.platform);
mkdirSync(path.join(cwd, 'src'));
writeFileSync(
  path.join(cwd, 'src', 'main.mjs'),
  `import { pack } from 'msgpack-rs';
  import { Packr } from 'msgpack-rs/compat/msgpackr';
  console.log(pack([1]).toString('hex'), new Packr().pack({ a: 1 }).toString('hex'));\n`,
);
writeFileSync(
  path.join(cwd, 'src', 'main.cjs'),
  `console.log(require('msgpack-rs').pack([1]).toString('hex'), 'cjs');\n`,
);
const EXPECTED = { 'main.mjs': /^9101 [0-9a-f]+\n$/, 'main.cjs': /^9101 cjs\n$/ };

/** The documented configuration, as it is written in the README. */
function documented(tool) {
  const support = readFileSync(path.join(root, 'docs', 'support.md'), 'utf8');
  const [, line] = support.match(new RegExp(`^\\| ${tool} \\| \`(.*?)\` \\|$`, 'm'));
  return line;
}

for (const [format, entry] of [
  ['esm', 'main.mjs'],
  ['cjs', 'main.mjs'],
  ['cjs', 'main.cjs'],
]) {
  test(`esbuild: ${entry} to ${format}`, async () => {
    const flag = documented('esbuild').match(/--external:(\S+)/)[1];
    const outfile = path.join(cwd, `esbuild-${entry}.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const { errors, warnings } = await esbuild.build({
      absWorkingDir: cwd,
      bundle: true,
      entryPoints: [path.join('src', entry)],
      external: [flag],
      format,
      outfile,
      platform: 'node',
    });
    assert.deepEqual([...errors, ...warnings], []);
    assert.match(output(cwd, [outfile]), EXPECTED[entry]);
  });
}

for (const entry of ['main.mjs', 'main.cjs']) {
  test(`webpack: ${entry}`, async () => {
    const externals = new Function(`return { ${documented('webpack')} }`)();
    const stats = await promisify(webpack)({
      context: cwd,
      entry: `./src/${entry}`,
      mode: 'production',
      output: { path: cwd, filename: `webpack-${entry}.cjs` },
      target: 'node20',
      ...externals,
    });
    const { errors, warnings } = stats.toJson({ errors: true, warnings: true });
    assert.deepEqual([...errors, ...warnings], []);
    assert.match(output(cwd, [`webpack-${entry}.cjs`]), EXPECTED[entry]);
  });
}

/** With the JavaScript of the package inside, and only what is native outside. */
async function inside(dir) {
  const outfile = path.join(dir, 'inside.cjs');
  await esbuild.build({
    absWorkingDir: cwd,
    bundle: true,
    entryPoints: ['src/main.cjs'],
    external: ['*.node', '@msgpack-rs/*'],
    logLevel: 'error',
    outfile,
    platform: 'node',
  });
  return outfile;
}

test('a bundle with the JavaScript inside works where the platform package is', async () => {
  assert.match(output(cwd, [await inside(cwd)]), EXPECTED['main.cjs']);
});

test('elsewhere it says what to do', async () => {
  const outfile = await inside(folder());
  const { status, stderr } = node(path.dirname(outfile), [outfile]);
  assert.equal(status, 1);
  assert.match(stderr, /ERR_MSGPACK_ADDON/);
  assert.match(stderr, /In a bundle, keep msgpack-rs out of it/);
});
