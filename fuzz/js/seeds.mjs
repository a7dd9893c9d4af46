// node fuzz/js/seeds.mjs        writes the seeds of the corpus of each target of cargo-fuzz
//
// The first bytes of a file are the choices that `tests/model/bytes.rs` reads.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Packr } from '../../index.js';

const corpus = new URL('../corpus/', import.meta.url);
const vectors = new URL('../../__test__/data/msgpack-test-suite.json', import.meta.url);
const hex = (text) => Buffer.from(text.replaceAll(/[-\s]/g, ''), 'hex');

/** Edges of the grammar and of the parser, by name. */
const EDGES = {
  'claim-array': hex('dd ffffffff 01'),
  'claim-map': hex('df 00ffffff a161 01'),
  'claim-nested': Buffer.concat(Array(40).fill(hex('dc 03e8'))),
  'claim-str': hex('db ffffffff 61'),
  'deep-arrays': Buffer.concat([Buffer.alloc(999, 0x91), hex('90')]),
  'deep-arrays-and-one-more': Buffer.concat([Buffer.alloc(1000, 0x91), hex('90')]),
  'deep-maps': Buffer.concat([Buffer.concat(Array(990).fill(hex('81 a161'))), hex('80')]),
  'maps-without-a-shape': Buffer.concat([Buffer.concat(Array(990).fill(hex('81 01'))), hex('c0')]),
  'equal-keys': hex('84 a161 01 a161 02 a9 5f5f70726f746f5f5f 80 a0 c0'),
  'keys-of-every-kind': hex('87 01 01 a161 02 cb3ff8000000000000 03 ff 04 c0 05 90 06 c40161 07'),
  'long-array': Buffer.concat([hex('dc 012c'), Buffer.concat(Array(300).fill(hex('81 a169 c0')))]),
  'long-array-of-ints': Buffer.concat([hex('dc 012c'), Buffer.alloc(300, 7)]),
  'ints-then-a-float': hex('95 01 ccff d0d6 ce00010000 cb3ff0000000000000'),
  'ints-then-a-string': hex('95 01 02 03 04 a135'),
  'doubles-then-nil': hex('93 cb3ff0000000000000 ca3f800000 c0'),
  'no-utf8': hex('93 a3 ffc080 a4 eda0bdc3 da 0004 f09f9880'),
  'shapes-that-part': hex('93 82a16101a16202 82a16101a16303 82a16101a16204'),
  'texts-of-every-width': hex(
    '94 a2c3a9 a3e6bca2 a4f09f9880 d920 6161616161616161 6161616161616161 6161616161616161 6161616161616161',
  ),
  timestamps: hex('93 d6ff00000001 d7ff0000000400000001 c70cff 00000001 ffffffffffffffff'),
  'timestamps-that-are-none': hex('92 d7ffffffffff00000000 c703ff000000'),
  'two-messages': hex('81a16101 81a16102'),
  'never-used': hex('92 01 c1'),
};

/** Messages with records, tags, references; the first byte of the choices says so. */
function extendedMessages() {
  const twice = { name: 'twice' };
  const values = {
    records: [{ a: 1, b: 2 }, { a: 3, b: 4 }, { id: 1 }],
    references: [twice, twice, { twice }],
    'more-types': [
      new Set([1, 'x']),
      /a/g,
      new Error('e'),
      2n ** 70n,
      new Float64Array(2),
      undefined,
    ],
  };
  const packr = () => new Packr({ structuredClone: true });
  const messages = Object.entries(values).map(([name, value]) => [name, packr().pack(value)]);
  const wide = new Packr({ useRecords: true, maxOwnStructures: 500 });
  messages.push(['wide-ids', wide.pack(Array.from({ length: 70 }, (_, i) => ({ [`k${i}`]: i })))]);
  return messages;
}

function write(target, name, choices, ...messages) {
  const folder = new URL(`${target}/`, corpus);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(name, folder), Buffer.concat([Buffer.from(choices), ...messages]));
}

for (const [group, cases] of Object.entries(JSON.parse(readFileSync(vectors)))) {
  const name = group.replace('.yaml', '');
  const forms = cases.flatMap((each) => each.msgpack).map(hex);
  const array = hex(`dc${forms.length.toString(16).padStart(4, '0')}`);
  write('parse_bytes', name, [0x10, 0, 0, 0], array, ...forms);
  write('canonical', name, [1, 2, 3, 4], array, ...forms);
  write('stream_cuts', name, [0, 2, 0, 0], ...forms);
}
for (const [name, message] of Object.entries(EDGES)) {
  write('parse_bytes', name, [0, 0, 0, 0], message);
  write('parse_bytes', `${name}-strict`, [0x1b, 0, 64, 0], message);
  write('canonical', name, [5, 6, 7, 8], message);
  write('stream_cuts', name, [0, 1, 0, 0], message);
}
for (const [name, message] of extendedMessages()) {
  write('stream_cuts', name, [7, 3, 0, 0], message);
  write('stream_cuts', `${name}-and-shared`, [11, 4, 0, 0], message, message);
}
