// undefined, functions and symbols: left out of objects, nil in lists, and the undefinedAs option.
import { test } from 'node:test';
import { pack } from '../index.js';
import { packs, stillWorks, throwsCode } from './helpers.mjs';

const GONE = { undefined, function: () => 1, symbol: Symbol('s') };

test('at the top undefined is nil, a function or symbol throws', () => {
  packs(undefined, 'c0');
  for (const value of [() => 1, class A {}, Symbol('s'), Symbol.iterator, async () => 1]) {
    throwsCode(() => pack(value), 'ERR_MSGPACK_UNSUPPORTED_TYPE', { path: '$' });
  }
  stillWorks();
});

for (const [name, value] of Object.entries(GONE)) {
  test(`${name} as a property is left out, wherever it stands, however often`, () => {
    for (let i = 0; i < 60; i++) {
      packs({ a: value }, '80');
      packs({ a: value, b: 1 }, '81a16201');
      packs({ a: 1, b: value }, '81a16101');
      packs({ a: 1, b: value, c: 2 }, '82a16101a16302');
      packs({ x: { a: value } }, '81a17880');
      packs(
        [
          { a: 1, b: value },
          { a: 1, b: 2 },
        ],
        '92 81a16101 82a16101a16202',
      );
      packs(
        [
          { a: 1, b: 2 },
          { a: value, b: value },
        ],
        '92 82a16101a16202 80',
      );
    }
  });

  test(`${name} is nil in an array, a Set and a Map`, () => {
    for (let i = 0; i < 60; i++) {
      packs([value], '91c0');
      packs([1, value, 2], '9301c002');
      packs(new Set([value]), '91c0');
      packs(
        new Map([
          ['a', value],
          [value, 1],
        ]),
        '82 a161c0 c001',
      );
    }
  });
}

test('16 properties of which one is left out need the small header', () => {
  const value = {};
  for (let i = 0; i < 16; i++) value[`k${i.toString(16)}`] = i === 5 ? undefined : 0;
  const rest = '0123456789abcdef'.replace('5', '');
  const body = [...rest].map((c) => `a26b${c.charCodeAt(0).toString(16)}00`).join('');
  for (let i = 0; i < 60; i++) packs(value, `8f${body}`);
  packs({ ...value, k5: 0 }, `de0010${body.slice(0, 40)}a26b3500${body.slice(40)}`);
});

test("undefinedAs: 'nil' writes nil for a property", () => {
  const nil = { undefinedAs: 'nil' };
  for (let i = 0; i < 60; i++) {
    packs({ a: undefined, b: 1 }, '82a161c0a16201', nil);
    packs({ a: undefined, b: 1 }, '81a16201');
    packs({ a: undefined, b: 1 }, '81a16201', { undefinedAs: 'omit' });
    packs({ x: { a: undefined } }, '81a17881a161c0', nil);
  }
  packs(undefined, 'c0', nil);
  packs([undefined, 1], '92c001', nil);
  packs({ a: () => 1 }, '81a161c0', nil);
  packs({ a: Symbol('s') }, '81a161c0', nil);
});

test("undefinedAs: 'throw' throws with the path", () => {
  const strict = { undefinedAs: 'throw' };
  const code = 'ERR_MSGPACK_UNSUPPORTED_TYPE';
  for (let i = 0; i < 60; i++) {
    throwsCode(() => pack({ a: 1, b: undefined }, strict), code, { path: '$.b' });
    packs({ a: 1, b: undefined }, '81a16101');
    packs({ a: 1, b: 2 }, '82a16101a16202', strict);
  }
  throwsCode(() => pack(undefined, strict), code, { path: '$' });
  throwsCode(() => pack([1, undefined], strict), code, { path: '$[1]' });
  throwsCode(() => pack({ f: () => 1 }, strict), code, { path: '$.f' });
  throwsCode(() => pack([Symbol('s')], strict), code, { path: '$[0]' });
  throwsCode(() => pack({ a: [{ b: undefined }] }, strict), code, { path: '$.a[0].b' });
  throwsCode(() => pack(new Set([undefined]), strict), code);
  throwsCode(() => pack(new Map([['k', undefined]]), strict), code);
  stillWorks();
});
