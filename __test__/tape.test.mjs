// The two halves agree on what the words of a tape mean.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const tape = require('../src/tape.js');
const binding = require('../binding.js');

test('tape.js and tape.rs: the same names and values, in the same order', () => {
  const layout = binding.tapeLayout();
  assert.ok(layout.length > 80, `only ${layout.length} constants`);
  assert.deepStrictEqual(Object.entries(tape), layout);
});

test('every value is an integer of 32 bits, and no name comes twice', () => {
  const layout = binding.tapeLayout();
  for (const [name, value] of layout) {
    assert.match(name, /^[A-Z][A-Z0-9_]+$/);
    assert.equal(value | 0, value, name);
  }
  assert.equal(new Set(layout.map(([name]) => name)).size, layout.length);
});

test('within a group no two constants are the same', () => {
  const all = Object.keys(tape);
  for (const prefix of [
    'STATUS_',
    'FAULT_',
    'MODE_',
    'P_',
    'U_',
    'K_',
    'RARE_',
    'CONST_',
    'LOOK_',
    'TYPE_',
    'PLACE_',
  ]) {
    const names = all.filter((name) => name.startsWith(prefix));
    assert.ok(names.length > 1, prefix);
    assert.equal(new Set(names.map((name) => tape[name])).size, names.length, prefix);
  }
  // A status and a fault share a word.
  const outcomes = all.filter((name) => /^(STATUS|FAULT)_/.test(name));
  assert.equal(new Set(outcomes.map((name) => tape[name])).size, outcomes.length);
});

test('every tag fits its bits, and the header block holds every field', () => {
  for (const [name, value] of Object.entries(tape)) {
    if (/^[PUK]_/.test(name)) assert.ok(value >= 0 && value < 2 ** tape.TAG_BITS, name);
    if (name.endsWith('_F64')) assert.ok(2 * value + 1 < tape.HEADER_WORDS, name);
  }
  assert.equal(tape.HEADER_WORDS % 2, 0);
});
