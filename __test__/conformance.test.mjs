// The public conformance vectors: every listed form decodes, the first is what is written.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ext, pack, Timestamp, unpack } from '../index.js';
import { bytes, hex } from './helpers.mjs';

const suite = JSON.parse(readFileSync(new URL('./data/msgpack-test-suite.json', import.meta.url)));

/** What a case stands for: the value to pack, and the one every form must decode to. */
function subjectOf(entry) {
  const [kind] = Object.keys(entry).filter((key) => key !== 'msgpack');
  switch (kind) {
    case 'binary':
      return { value: bytes(entry.binary) };
    case 'timestamp': {
      const [seconds, nanoseconds] = entry.timestamp;
      return { value: new Timestamp(BigInt(seconds), nanoseconds), timestamps: 'timestamp' };
    }
    case 'ext':
      return { value: new Ext(entry.ext[0], bytes(entry.ext[1])) };
    case 'number':
      return { value: entry.number, loose: true };
    case 'bignum':
      return { value: BigInt(entry.bignum), loose: true };
    default:
      return { value: entry[kind] };
  }
}

const written = (entry) => entry.msgpack[0].replaceAll('-', '');

let count = 0;
for (const [group, cases] of Object.entries(suite)) {
  test(`vectors of ${group}`, () => {
    for (const entry of cases) {
      const { value, timestamps, loose } = subjectOf(entry);
      const options = group.includes('float') ? { float32: true } : undefined;
      assert.equal(hex(pack(value, options)), written(entry), entry.msgpack[0]);
      for (const form of entry.msgpack) {
        const decoded = unpack(bytes(form), { timestamps });
        if (loose) {
          const asBig = Number.isInteger(decoded) || typeof decoded === 'bigint';
          const same =
            asBig && value !== 0.5 ? BigInt(decoded) === BigInt(value) : decoded === value;
          assert.ok(same, `${form}: ${decoded}`);
          const safe = typeof decoded === 'bigint' ? decoded : BigInt(Math.trunc(decoded));
          assert.equal(
            typeof decoded === 'bigint',
            safe > 2n ** 53n - 1n || safe < -(2n ** 53n) + 1n,
          );
        } else assert.deepStrictEqual(decoded, value, form);
        assert.deepStrictEqual(unpack(Buffer.concat([bytes('91'), bytes(form)]), { timestamps }), [
          decoded,
        ]);
        count++;
      }
    }
  });
}

test('the bignum cases as BigInt and as Number give the same bytes', () => {
  for (const entry of suite['23.number-bignum.yaml']) {
    assert.equal(hex(pack(BigInt(entry.bignum))), written(entry));
    if (entry.number !== undefined) assert.equal(hex(pack(entry.number)), written(entry));
  }
});

test('the timestamps of the vectors as Dates', () => {
  for (const entry of suite['50.timestamp.yaml']) {
    const [seconds, nanoseconds] = entry.timestamp;
    const decoded = unpack(bytes(entry.msgpack[0]));
    assert.ok(decoded instanceof Date);
    assert.equal(decoded.getTime(), seconds * 1000 + Math.floor(nanoseconds / 1e6));
    if (nanoseconds % 1e6 === 0) {
      assert.equal(hex(pack(decoded)), entry.msgpack[0].replaceAll('-', ''));
    }
  }
});

test('all vectors were there', () => {
  assert.ok(count >= 200, `${count} forms`);
});
