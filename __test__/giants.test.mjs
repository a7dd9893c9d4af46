import { constants } from 'node:buffer';
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const index = fileURLToPath(new URL('../index.js', import.meta.url));
const GiB = 2 ** 30;
// AddressSanitizer has its own idea of what can be allocated.
const isSanitized = /asan/.test(process.env.LD_PRELOAD ?? '');

// Those that take ten seconds and more.
const isAll = process.env.MSGPACK_RS_GIANTS === '1';
const WHY = 'only with MSGPACK_RS_GIANTS=1';

/** Whether `needed` bytes can be taken without a thought. */
function skipFor(needed) {
  if (isSanitized) return 'under AddressSanitizer';
  return os.freemem() > 2 * needed ? false : `${needed / GiB} GiB are not there`;
}

const skipOver4 = (needed) =>
  constants.MAX_LENGTH > 5 * GiB ? skipFor(needed) : 'no such Buffer here';

/** In a process of its own: what it takes is given back. */
function child(script) {
  const head = `
    const assert = require('node:assert');
    const { MsgpackError, msgpackToJson, pack, packInto, unpack, unpackFrom } = require(${JSON.stringify(index)});
    const GiB = 2 ** 30;
    const throws = (fn, code, offset) =>
      assert.throws(fn, (e) => e instanceof MsgpackError && e.code === code &&
        (offset === undefined || e.offset === offset));
    const works = () => assert.deepStrictEqual(unpack(pack({ a: [1, 'é'] })), { a: [1, 'é'] });`;
  execFileSync(process.execPath, ['-e', `${head}\n${script}\nworks();`], { stdio: 'pipe' });
}

test('a message of more than 2 GiB is read', { skip: skipFor(0.2 * GiB) }, () => {
  child(`
    const size = 2.2 * GiB;
    const input = Buffer.alloc(Math.floor(size) + 20);
    input[0] = 0x93;
    input[1] = 0xc6;
    const length = Math.floor(size);
    input.writeUInt32BE(length, 2);
    input.set([0xa3, 0x65, 0x6e, 0x64, 0xc4, 1, 9], 6 + length);
    const { value, end } = unpackFrom(input);
    assert.equal(end, 6 + length + 7);
    assert.equal(value[0].length, length);
    assert.equal(value[0].byteOffset - input.byteOffset, 6);
    assert.equal(value[1], 'end');
    assert.deepStrictEqual(value[2], Buffer.from([9]));
    assert.equal(unpackFrom(input, 6 + length).value, 'end');
    throws(() => unpack(input), 'ERR_MSGPACK_EXTRA_BYTES', end);
    input[6 + length] = 0xc1;
    throws(() => unpack(input), 'ERR_MSGPACK_INVALID_BYTE', 6 + length);`);
});

test('a message of more than 4 GiB is read', {
  skip: skipOver4(0.2 * GiB),
}, () => {
  child(`
      const length = Math.floor(2.2 * GiB);
      const input = Buffer.alloc(2 * length + 30);
      input.set([0x94, 0xc6]);
      input.writeUInt32BE(length, 2);
      input[6 + length] = 0xc6;
      input.writeUInt32BE(length, 7 + length);
      const behind = 11 + 2 * length;
      input.set([0xa3, 0x65, 0x6e, 0x64, 0xd5, 7, 8, 9], behind);
      const { value, end } = unpackFrom(input);
      assert.equal(end, behind + 8);
      assert.equal(value[1].length, length);
      assert.equal(value[1].byteOffset - input.byteOffset, 11 + length);
      assert.equal(value[2], 'end');
      assert.deepStrictEqual(value[3].data, Buffer.from([8, 9]));
      assert.equal(unpackFrom(input, behind).value, 'end');
      throws(() => unpack(input), 'ERR_MSGPACK_EXTRA_BYTES', end);
      input[behind] = 0xc1;
      throws(() => unpack(input), 'ERR_MSGPACK_INVALID_BYTE', behind);
      // Longer than MessagePack can say.
      throws(() => pack(Buffer.alloc(2 ** 32)), 'ERR_MSGPACK_TOO_LARGE');
      throws(() => pack({ deep: [new Uint8Array(2 ** 32)] }), 'ERR_MSGPACK_TOO_LARGE');`);
});

test('a binary of more than 2 GiB is packed', { skip: skipFor(2.5 * GiB) }, () => {
  child(`
    const data = Buffer.alloc(Math.floor(2.2 * GiB));
    data[data.length - 1] = 5;
    const wire = pack(['first', data, 'last']);
    assert.equal(wire.length, 1 + 6 + 5 + data.length + 5);
    assert.equal(wire.subarray(0, 12).toString('hex'), '93a56669727374c6' + data.length.toString(16));
    assert.equal(wire.subarray(-6).toString('hex'), '05a46c617374');
    works();
    // What a Buffer cannot hold.
    const times = Math.ceil(require('node:buffer').constants.MAX_LENGTH / data.length) + 1;
    if (times < 1000) throws(() => pack(Array(times).fill(data)), 'ERR_MSGPACK_TOO_LARGE');
    throws(() => packInto(data, Buffer.alloc(1000)), 'ERR_MSGPACK_BUFFER_TOO_SMALL');`);
});

test('a message of more than 4 GiB is packed', {
  skip: isAll ? skipOver4(5 * GiB) : WHY,
}, () => {
  child(`
      const data = Buffer.alloc(Math.floor(2.2 * GiB));
      data[data.length - 1] = 5;
      const wire = pack([data, 'mid', data]);
      assert.equal(wire.length, 1 + 5 + data.length + 4 + 5 + data.length);
      const mid = 6 + data.length;
      assert.equal(wire.subarray(mid - 1, mid + 5).toString('hex'), '05a36d6964c6');
      assert.equal(wire.at(-1), 5);`);
});

test('strings past V8’s limit', { skip: skipFor(0.5 * GiB) }, () => {
  child(`
    const most = require('node:buffer').constants.MAX_STRING_LENGTH;
    for (const length of [most + 1, most + 3, 2 ** 31 + 5]) {
      const input = Buffer.alloc(length + 5);
      input[0] = 0xdb;
      input.writeUInt32BE(length, 1);
      throws(() => unpack(input), 'ERR_MSGPACK_TOO_LARGE', 0);
      works();
      input.write('éé', 5);
      if (length > most + 2) throws(() => unpack(input), 'ERR_MSGPACK_TOO_LARGE', 0);
      works();
    }`);
});

test('strings at V8’s limit', { skip: isAll ? skipFor(3 * GiB) : WHY }, () => {
  child(`
    const most = require('node:buffer').constants.MAX_STRING_LENGTH;
    const text = 'x'.repeat(most);
    const wire = pack(text);
    assert.equal(wire.length, most + 5);
    assert.equal(wire.subarray(0, 6).toString('hex'), 'db' + most.toString(16) + '78');
    assert.ok(unpack(wire) === text);
    // Together longer than any string.
    const long = 'y'.repeat(2 ** 28);
    const list = pack([long, 'z', long]);
    assert.equal(list.length, 1 + 2 * (5 + 2 ** 28) + 2);
    assert.equal(list.subarray(-(2 ** 28) - 7, -(2 ** 28) + 1).toString('hex'), 'a17adb1000000079'.padStart(16));`);
});

test('more values than a tape holds', { skip: skipFor(0.5 * GiB) }, () => {
  child(`
    const count = 2 ** 28 + 1;
    const input = Buffer.alloc(count + 6);
    input.set([0x91, 0xdd]);
    input.writeUInt32BE(count, 2);
    throws(() => unpack(input), 'ERR_MSGPACK_TOO_LARGE');`);
});

test('a text with white space is no longer than JSON.stringify’s', {
  skip: skipFor(1.5 * GiB),
}, () => {
  child(`
    const inside = (count) => {
      const nils = Buffer.alloc(5 + count, 0xc0);
      nils[0] = 0xdd;
      nils.writeUInt32BE(count, 1);
      return Buffer.concat([Buffer.alloc(499, 0x91), nils]);
    };
    const length = (count) => msgpackToJson(inside(count), { space: 10 }).length;
    const line = '\\n'.length + 10 * 500 + 'null,'.length;
    assert.equal(length(106_000), length(1000) + 105_000 * line);
    throws(() => length(107_000), 'ERR_MSGPACK_TOO_LARGE');`);
});
