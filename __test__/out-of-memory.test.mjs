// Memory that is not there: an error, and the next call is right. Each case runs in a process that
// may take no more than so much memory besides what it has by then.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const index = fileURLToPath(new URL('../index.js', import.meta.url));
const canLimit = spawnSync('prlimit', ['--version']).status === 0;
const skip = canLimit ? false : 'no prlimit here';

/** Room for what V8 itself needs meanwhile, and no room for the message. */
const ROOM_MB = 300;

/** What a case prepares, and the call that is then refused. */
const CASES = {
  'unpack: the tape': [
    `const bytes = Buffer.alloc(120 * MB + 6, 0xc0);
     bytes.set([0x91, 0xdd]);
     bytes.writeUInt32BE(120 * MB, 2);`,
    'unpack(bytes)',
  ],
  'unpack: a string that is not ASCII': [
    `const bytes = Buffer.alloc(200 * MB + 5, 'é');
     bytes[0] = 0xdb;
     bytes.writeUInt32BE(200 * MB, 1);`,
    'unpack(bytes)',
  ],
  'unpack: a copy of a binary': [
    `const bytes = Buffer.alloc(1000 * MB + 5);
     bytes[0] = 0xc6;
     bytes.writeUInt32BE(1000 * MB, 1);`,
    'unpack(bytes, { copyBuffers: true })',
  ],
  'pack: the result': ['const data = Buffer.alloc(1000 * MB);', 'pack({ data })'],
  'pack: long strings': [
    `const text = 'x'.repeat(40 * MB);
     text.charCodeAt(7);`,
    'pack(Array(12).fill(text))',
  ],
  'pack: a long string that is not ASCII': [
    `const text = 'é'.repeat(150 * MB);
     text.charCodeAt(7);`,
    'pack({ text })',
  ],
  'jsonToMsgpack: a string': [
    `const text = '"' + 'x'.repeat(350 * MB) + '"';
     text.charCodeAt(7);`,
    'jsonToMsgpack(text)',
  ],
  'jsonToMsgpack: a string that is not ASCII': [
    `const text = '"' + 'ж'.repeat(150 * MB) + '"';
     text.charCodeAt(7);`,
    'jsonToMsgpack(text)',
  ],
  'jsonToMsgpack: the message': [
    `const json = Buffer.alloc(500 * MB, 'x');
     json[0] = json[json.length - 1] = 0x22;`,
    'jsonToMsgpack(json)',
  ],
  'msgpackToJson: the text': [
    `const bytes = Buffer.alloc(300 * MB + 6, 0x7f);
     bytes[0] = 0xdd;
     bytes.writeUInt32BE(300 * MB + 1, 1);`,
    'msgpackToJson(bytes)',
  ],
  'jsonToMsgpackAsync: a string': [
    `const text = '"' + 'x'.repeat(350 * MB) + '"';
     text.charCodeAt(7);`,
    'await jsonToMsgpackAsync(text)',
  ],
  'jsonToMsgpackAsync: the message': [
    `const json = Buffer.alloc(200 * MB, 'x');
     json[0] = json[json.length - 1] = 0x22;`,
    'await jsonToMsgpackAsync(json)',
  ],
  'msgpackToJsonAsync: the copy': [
    `const bytes = Buffer.alloc(500 * MB + 5);
     bytes[0] = 0xc6;
     bytes.writeUInt32BE(500 * MB, 1);`,
    'await msgpackToJsonAsync(bytes)',
  ],
  'msgpackToJsonAsync: the text': [
    `const bytes = Buffer.alloc(200 * MB + 5);
     bytes[0] = 0xc6;
     bytes.writeUInt32BE(200 * MB, 1);`,
    'await msgpackToJsonAsync(bytes)',
  ],
  'unpackAsync: the copy': [
    `const bytes = Buffer.alloc(500 * MB + 5);
     bytes[0] = 0xc6;
     bytes.writeUInt32BE(500 * MB, 1);`,
    'await unpackAsync(bytes)',
  ],
  'unpackAsync: the tape': [
    `const bytes = Buffer.alloc(120 * MB + 6, 0xc0);
     bytes.set([0x91, 0xdd]);
     bytes.writeUInt32BE(120 * MB, 2);`,
    'await unpackAsync(bytes)',
  ],
  'validateAsync: the copy': [
    `const bytes = Buffer.alloc(500 * MB + 5);
     bytes[0] = 0xc6;
     bytes.writeUInt32BE(500 * MB, 1);`,
    'await validateAsync(bytes)',
  ],
  'pack: numbers': [
    'const row = new Array(MB / 2).fill(0.5);',
    'pack({ list: Array(100).fill(row) })',
  ],
};

for (const [name, [prepare, call]] of Object.entries(CASES)) {
  test(name, { skip }, () => {
    const script = `
      const assert = require('node:assert');
      const { execFileSync } = require('node:child_process');
      const { readFileSync } = require('node:fs');
      const {
        MsgpackError, jsonToMsgpack, jsonToMsgpackAsync, msgpackToJson, msgpackToJsonAsync, pack,
        unpack, unpackAsync, validateAsync,
      } = require(${JSON.stringify(index)});
      const MB = 2 ** 20;
      const small = { id: 7, name: 'probe', list: [1, 2.5, 'é'] };
      const wire = pack(small).toString('hex');
      unpack(pack(small));
      ${prepare}
      const [, kB] = /VmSize:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
      execFileSync('prlimit', ['--pid', process.pid, '--as=' + (kB * 1024 + ${ROOM_MB} * MB)]);
      async function main() {
        for (let i = 0; i < 3; i++) {
          let error;
          try { ${call}; } catch (thrown) { error = thrown; }
          assert.ok(error instanceof MsgpackError, String(error?.stack));
          assert.equal(error.code, 'ERR_MSGPACK_TOO_LARGE');
          for (let n = 0; n < 5; n++) {
            assert.equal(pack(small).toString('hex'), wire);
            assert.deepStrictEqual(unpack(pack(small)), small);
          }
        }
      }
      main().then(() => console.log('refused'));`;
    const out = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    assert.equal(out.trim(), 'refused');
  });
}
