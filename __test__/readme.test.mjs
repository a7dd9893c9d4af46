// The README and the documents for users are code too: their examples run and print what they say
// they print, and what they list is what there is.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GLIBC_FLOOR } from '../scripts/targets.mjs';

const root = new URL('../', import.meta.url);
const read = (name) => readFileSync(new URL(name, root), 'utf8');
const readme = read('README.md');
const pages = readdirSync(new URL('docs/', root))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const require = createRequire(import.meta.url);
const unique = (list) => [...new Set(list)].sort();
const codesIn = (text) => unique(text.match(/ERR_MSGPACK_[A-Z0-9_]+/g));

/** The blocks of code of a document in one language. */
function blocks(document, language) {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...read(document).matchAll(pattern)].map(([, code]) => code);
}

/** What `code` prints. Run from the root of the checkout, the package's own name resolves to it. */
function run(code, cwd = fileURLToPath(root)) {
  const type = /^(import|export) /m.test(code) ? 'module' : 'commonjs';
  const flags = process.execArgv.filter((flag) => !flag.startsWith('--test'));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, `--input-type=${type}`, '--eval', code],
    { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  );
  assert.equal(stderr, '');
  assert.equal(status, 0);
  return stdout.split('\n').slice(0, -1);
}

// How many examples there are at least, so that a pattern that finds none does not look like success.
const AT_LEAST = {
  'README.md': 5,
  'docs/compat-msgpackr.md': 4,
  'docs/functions.md': 7,
  'docs/look.md': 7,
  'docs/packr.md': 8,
  'docs/streams.md': 8,
  'docs/transcode.md': 4,
  'docs/support.md': 1,
};

for (const document of ['README.md', ...pages]) {
  const examples = blocks(document, 'js');

  test(`there are examples in ${document}, if any are known of`, () => {
    assert.ok(examples.length >= (AT_LEAST[document] ?? 0), `${examples.length}`);
    // All code of ours is run, whatever it is marked as.
    assert.deepEqual(
      unique(read(document).match(/^```(?:javascript|mjs|cjs|ts|typescript)$/gm)),
      [],
    );
  });

  for (const [i, code] of examples.entries()) {
    test(`${document}, example ${i + 1}: ${code.trim().split('\n')[0]}`, () => {
      // `console.log(…); // text` promises that text, up to an explanation after a comma and space.
      const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, t]) => t);
      const printed = run(code);
      assert.equal(printed.length, promised.length);
      for (const [i, line] of printed.entries()) {
        const [exact, explained] = [promised[i], promised[i].split(', a')[0]];
        assert.ok(line === exact || line === explained, `printed ${line}, promised ${exact}`);
      }
    });
  }
}

test('docs/compat-msgpackr.md: the package that takes the place of msgpackr', () => {
  const [manifest, project] = blocks('docs/compat-msgpackr.md', 'json');
  const files = blocks('docs/compat-msgpackr.md', 'js')
    .map((code) => [code.match(/^\/\/ (index\.m?js)$/m)?.[1], code])
    .filter(([name]) => name !== undefined);
  assert.deepEqual(
    files.map(([name]) => name),
    ['index.js', 'index.mjs'],
  );
  const { name, exports } = JSON.parse(manifest);
  const { dependencies, overrides } = JSON.parse(project);
  assert.ok(dependencies[name].startsWith('file:./'));
  assert.equal(overrides[name], `$${name}`);

  const dir = mkdtempSync(path.join(os.tmpdir(), 'msgpack-rs-docs-'));
  try {
    // What npm makes of it.
    const modules = path.join(dir, 'node_modules');
    mkdirSync(path.join(modules, name), { recursive: true });
    writeFileSync(path.join(modules, name, 'package.json'), manifest);
    for (const [file, code] of files) writeFileSync(path.join(modules, name, file), code);
    symlinkSync(fileURLToPath(root), path.join(modules, 'msgpack-rs'), 'junction');
    for (const subpath of Object.keys(exports)) {
      const id = path.posix.join(name, subpath);
      const call = `new Packr({ moreTypes: true }).pack(new Set([7])).toString('hex')`;
      for (const load of [
        `import { Packr } from '${id}';`,
        `const { Packr } = require('${id}');`,
      ]) {
        assert.deepEqual(run(`${load}\nconsole.log(${call});`, dir), ['d473009107']);
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('docs/packr.md: the bytes in its tables', () => {
  const rows = [...read('docs/packr.md').matchAll(/^\| `(.+?)` \|.* \| `([0-9a-f ]+)` \|$/gm)];
  assert.ok(rows.length >= 12);
  const printed = run(
    `const { Packr } = require('msgpack-rs');
    const [shared, cyclic] = [[1], []];
    cyclic.push(cyclic);
    ${rows
      .map(([, value]) => `new Packr({ structuredClone: true }).pack(${value})`)
      .map((bytes) => `console.log(${bytes}.toString('hex'));`)
      .join('\n')}`,
  );
  assert.deepEqual(
    rows.map(([, value], i) => [value, printed[i]]),
    rows.map(([, value, hex]) => [value, hex.replaceAll(' ', '')]),
  );
});

test('import and require are one module with the same names', async () => {
  const required = require('msgpack-rs');
  const imported = await import('msgpack-rs');
  assert.equal(imported.default, required);
  assert.deepEqual(
    Object.keys(imported)
      .filter((name) => name !== 'default' && name !== 'module.exports')
      .sort(),
    Object.keys(required).sort(),
  );
  for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name);
  assert.equal(imported.encode, imported.pack);
  assert.equal(imported.decode, imported.unpack);
});

test('the types name every export', () => {
  const declared = [...read('index.d.ts').matchAll(/^export (?:class|function|const) (\w+)/gm)];
  assert.deepEqual(
    unique(declared.map(([, name]) => name)),
    Object.keys(require('msgpack-rs')).sort(),
  );
});

test('the README and the types list the same error codes', () => {
  const types = read('index.d.ts').replaceAll(/\/\*\*.*?\*\//gs, '');
  const union = types.match(/type MsgpackErrorCode =(.*?);/s)[1];
  assert.deepEqual(codesIn(readme.match(/^## Errors$(.*?)^## /ms)[1]), codesIn(union));
  // What loading throws is no MsgpackError: that comes with what was to be loaded.
  assert.deepEqual(codesIn(readme), unique([...codesIn(union), 'ERR_MSGPACK_ADDON']));
});

/** The names in the first columns of the tables below headings that start like this. */
const listedIn = (text, heading) =>
  [...text.matchAll(new RegExp(`^#+ ${heading}.*?(?=^#)`, 'gms'))]
    .flatMap(([section]) => [...section.matchAll(/^\| `(\w+)`/gm)])
    .map(([, name]) => name)
    .sort();

/** The options that the types declare in an interface. */
const declaredIn = (name) =>
  [...read('index.d.ts').matchAll(new RegExp(`interface ${name} .*?\\{(.*?)^\\}`, 'gms'))]
    .flatMap(([, body]) => [...body.matchAll(/^ {2}(\w+)\?:/gm)])
    .map(([, option]) => option)
    .sort();

test('the README and the types list the same options', () => {
  const declared = [...declaredIn('PackOptions'), ...declaredIn('UnpackOptions')];
  assert.deepEqual(listedIn(readme, 'Options of '), declared.sort());
});

test('docs/packr.md and the types list the same options', () => {
  const declared = ['PackOptions', 'UnpackOptions', 'PackrOptions'].flatMap(declaredIn);
  assert.deepEqual(listedIn(read('docs/packr.md'), 'Options'), unique(declared));
});

test('links inside the repository lead somewhere', () => {
  const slug = (heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-');
  const documents = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pages];
  for (const document of documents) {
    for (const [, file, anchor] of read(document).matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)) {
      const target = path.posix.join(path.posix.dirname(document), file);
      const text = read(file === '' ? document : target);
      assert.ok(text.length > 0, `${document}: ${file}`);
      const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => slug(heading));
      assert.ok(anchor === '' || anchors.includes(anchor), `${document}: ${file}#${anchor}`);
    }
  }
});

test('the pages that the README names are the pages that there are', () => {
  const named = [...readme.matchAll(/\]\((docs\/[\w-]+\.md)/g)].map(([, page]) => page);
  assert.deepEqual(unique(named), pages.toSorted());
});

test('docs/support.md: the platforms and the runtimes are those of the code', () => {
  const support = read('docs/support.md');
  const { PREBUILT } = require('../src/platform.js');
  const section = support.match(/^## Platforms$(.*?)^## /ms)[1];
  assert.deepEqual(
    unique(section.match(/(?<=`)(linux|darwin|win32)-[\w-]+/g)),
    PREBUILT.toSorted(),
  );
  for (const document of ['README.md', 'docs/support.md', 'src/addon.js']) {
    assert.ok(read(document).includes(`glibc ${GLIBC_FLOOR}`), document);
  }

  const known = JSON.parse(read('scripts/runtimes.json'));
  for (const [name, { version, exceptions }] of Object.entries(known)) {
    const list = exceptions.flatMap(({ reason, files = [], tests = [], random = [] }) => [
      `- ${reason}:`,
      ...files.map((file) => `  - all of ${file}.test.mjs`),
      ...tests.map((test) => `  - ${test}`),
      ...random.map((test) => `  - ${test} (some values)`),
    ]);
    const [, written] = support.match(
      new RegExp(`<!-- ${name}:begin -->\n(.*?)\n<!-- ${name}:end -->`, 's'),
    );
    assert.deepEqual(written.split('\n'), list);
    const row = support.match(new RegExp(`^\\| ${name} (\\d+\\.\\d+\\.\\d+).*\\|$`, 'im'));
    assert.equal(row[1], version);
    const count = exceptions.reduce((sum, { tests = [] }) => sum + tests.length, 0);
    assert.ok(row[0].includes(`${count} tests `), row[0]);
  }
});

test('the package can be loaded by its file, too', async () => {
  const byFile = await import(pathToFileURL(require.resolve('../index.js')).href);
  assert.equal(byFile.default, require('msgpack-rs'));
});

test('code generation is refused when this run says so', {
  skip: !process.env.MSGPACK_RS_TEST_NO_EVAL,
}, () => {
  // .ci/run runs the suite with --disallow-code-generation-from-strings; make sure that it arrives.
  assert.throws(() => new Function('return 1'), EvalError);
});
