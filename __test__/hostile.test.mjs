// Hostile bytes: huge declared lengths cost nothing, nested claims too, nothing crashes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { unpack, unpackFrom, unpackMultiple } from '../index.js';
import { attempt, bytes, collect, stillWorks, throwsCode } from './helpers.mjs';

const CLAIMS = {
  'array 32 of 20 M': 'dd01312d00',
  'array 32 of 2^32-1': 'ddffffffff',
  'array 32 of 2^31': 'dd80000000',
  'map 32 of 2^32-1': 'dfffffffff',
  'str 32 of 2^32-1': 'dbffffffff',
  'bin 32 of 2^32-1': 'c6ffffffff',
  'ext 32 of 2^32-1': 'c9ffffffff01',
  'timestamp of 2^32-1': 'c9ffffffffff',
  'str 32 of 2^31 and some bytes': 'db80000000 61^200',
  'array 32 of 16 M, three deep': 'dd00ffffff^3',
  'array 32 of 32 M, ten deep': 'dd01e84800^10',
  'array 16 of 1000, 300 deep': 'dc03e8^300',
  'array 16 of 65535, 300 deep': 'dcffff^300',
  'map 16 of 65535, 200 deep': 'deffffa161^200',
  'array 32 of the rest of 1 KB': 'dd000003f0 c0^1000',
  'wide arrays in 1 KB': 'dc00ff c0 dc00ff^300',
  'map claims after keys': 'df00ffffff a16101^300',
  'array of maps of claims': 'dcffff de7fffa161dd00ffffff^100',
};

for (const [name, wire] of Object.entries(CLAIMS)) {
  test(`${name}: an error, every way it is called`, () => {
    const input = bytes(wire);
    throwsCode(() => unpack(input), 'ERR_MSGPACK_TRUNCATED');
    throwsCode(() => unpack(input, { maps: 'map' }), 'ERR_MSGPACK_TRUNCATED');
    throwsCode(() => unpackFrom(input), 'ERR_MSGPACK_TRUNCATED');
    throwsCode(() => unpackMultiple(input), 'ERR_MSGPACK_TRUNCATED');
    stillWorks();
  });
}

test('thousands of hostile messages leave the process as large as it was', () => {
  const inputs = Object.values(CLAIMS).map(bytes);
  const round = (times) => {
    for (let i = 0; i < times; i++) for (const input of inputs) attempt(() => unpack(input));
  };
  round(60);
  collect();
  const before = process.memoryUsage();
  round(300);
  collect();
  const after = process.memoryUsage();
  const grown = after.rss - before.rss;
  // A single one of these claims, believed, is 160 MB and more.
  assert.ok(grown < 48 * 2 ** 20, `RSS grew by ${(grown / 2 ** 20).toFixed(1)} MB`);
  const outside = after.external + after.arrayBuffers - before.external - before.arrayBuffers;
  assert.ok(outside < 8 * 2 ** 20, `external memory grew by ${(outside / 2 ** 20).toFixed(1)} MB`);
});

test('one believed claim would not fit: a child with little memory survives them all', () => {
  const index = fileURLToPath(new URL('../index.js', import.meta.url));
  const script = `
    const { unpack } = require(${JSON.stringify(index)});
    let errors = 0;
    for (const wire of ${JSON.stringify(Object.values(CLAIMS).map((w) => bytes(w).toString('hex')))}) {
      const before = process.memoryUsage().rss;
      try { unpack(Buffer.from(wire, 'hex')); } catch (e) { if (e.code === 'ERR_MSGPACK_TRUNCATED') errors++; }
      const grown = process.memoryUsage().rss - before;
      if (grown > 24 * 2 ** 20) throw new Error(wire.slice(0, 20) + ' took ' + grown);
    }
    console.log(errors);`;
  const out = execFileSync(process.execPath, ['--max-old-space-size=48', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(Number(out), Object.keys(CLAIMS).length);
});

test('many small containers in a small message cost in proportion', () => {
  const empties = Buffer.concat([bytes('dc03e8'), Buffer.alloc(1000, 0x90)]);
  assert.deepEqual(unpack(empties).length, 1000);
  const claims = Buffer.concat([bytes('dc03e8'), Buffer.alloc(1000, 0x9f)]);
  throwsCode(() => unpack(claims), 'ERR_MSGPACK_TRUNCATED');
  const maps = Buffer.concat([bytes('dc03e8'), Buffer.alloc(1000, 0x8f)]);
  attempt(() => unpack(maps));
  stillWorks();
});

test('every two-byte start with every kind of tail is a value or a documented error', () => {
  const tails = ['', '00^20', 'ff^20', 'c0^20', 'a161^10', '91^40', 'c1'].map(bytes);
  for (let a = 0x80; a <= 0xdf; a++) {
    for (let b = 0; b <= 0xff; b += 5) {
      for (const tail of tails) attempt(() => unpack(Buffer.concat([Buffer.from([a, b]), tail])));
    }
  }
  stillWorks();
});
