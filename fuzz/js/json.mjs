// Random JSON texts, and what JSON.parse makes of them as far as it has to agree.

const NUMBERS = [
  '0',
  '-0',
  '1',
  '127',
  '128',
  '-32',
  '-33',
  '65536',
  '4294967296',
  '1.0',
  '-0.0',
].concat(
  ['9007199254740993', '18446744073709551615', '18446744073709551616', '-9223372036854775809'],
  ['0.1', '1e5', '1E-5', '-1.5e+3', '1e21', '5e-324', '1e400', '-1e999', '1e-400', '123.456e7'],
  [`0.${'3'.repeat(40)}`, `${'9'.repeat(30)}`, '1.7976931348623157e308', '2.5e-1'],
);
const PIECES = [
  'a',
  'word',
  'é',
  '漢',
  '😀',
  ' ',
  '/',
  '\u007f',
  '\u2028',
  '\ud83d',
  '\ude00',
].concat(
  [
    '\\n',
    '\\"',
    '\\\\',
    '\\/',
    '\\u0000',
    '\\u00e9',
    '\\ud83d\\ude00',
    '\\uD83D',
    '\\ude00',
    '\\u0061',
  ],
  ['x'.repeat(70)],
);
const SPACES = ['', '', '', ' ', '\n', '\t', '\r\n', '   '];
const EXTS = ['AQ==', '', 'AQI=', '!', '0102'];
/** What a text that is none has somewhere. */
const WRONG = [
  ',',
  ':',
  '}',
  ']',
  '[',
  '{',
  '"',
  '\\',
  '\\u12',
  '\\x',
  '01',
  '-',
  '1.',
  '.5',
  '1e',
  '+1',
].concat([
  'nul',
  'NaN',
  'Infinity',
  "'a'",
  '\u0000',
  '\n',
  '\u00a0',
  '\ufeff',
  '//',
  '1e400',
  '\\ud800',
]);

/** A text by the grammar, with keys that come twice. */
export function jsonText(random, depth = random.below(5)) {
  const { below, many, oneIn, pick } = random;
  const space = () => pick(SPACES);
  const string = () => `"${many(below(oneIn(8) ? 60 : 4), () => pick(PIECES)).join('')}"`;
  const key = () =>
    oneIn(3) ? string() : pick(['"a"', '"b"', '"id"', '"1"', '"\\u0061"', '"__proto__"']);

  function list(open, close, entry) {
    const entries = many(below(oneIn(12) ? 40 : 5), () => space() + entry() + space());
    return `${open}${entries.join(',') || space()}${close}`;
  }

  function value(left) {
    switch (below(left > 0 ? 9 : 4)) {
      case 0:
        return pick(['null', 'true', 'false']);
      case 1:
      case 2:
        return oneIn(3)
          ? String(random.number()).replace('NaN', '0').replace('Infinity', '9')
          : pick(NUMBERS);
      case 3:
        return string();
      case 4:
        return `{"$ext":${pick(['5', '-1', '127', '128', '1.5'])},"data":${oneIn(4) ? '[1,255]' : `"${pick(EXTS)}"`}}`;
      case 5:
      case 6:
        return list('[', ']', () => value(left - 1));
      default:
        return list('{', '}', () => `${key()}${space()}:${space()}${value(left - 1)}`);
    }
  }

  return space() + value(depth) + space();
}

/** Some of it taken away, said twice, or put in. */
export function mutated(random, text) {
  const { below, oneIn, pick } = random;
  let result = text;
  for (let left = 1 + below(2); left > 0; left--) {
    const at = below(result.length + 1);
    const end = Math.min(result.length, at + 1 + below(4));
    const put = pick(['', pick(WRONG), pick(WRONG), result.slice(at, end).repeat(2)]);
    result = result.slice(0, at) + put + result.slice(oneIn(2) ? at : end);
  }
  return result;
}

const HALVES = /\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u(d[89a-f][0-9a-f]{2})|.)/gis;

/** What JSON.parse makes of a text without halves of pairs; `undefined` for what it refuses. */
export function parsed(text) {
  const whole = text
    .toWellFormed()
    .replaceAll(HALVES, (match, _high, _low, half) => (half === undefined ? match : '\\ufffd'));
  try {
    return { value: JSON.parse(whole) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether it may have a number that no double can hold. */
export function hasTooLarge(text) {
  const numbers = text.match(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi) ?? [];
  return numbers.some((number) => !Number.isFinite(Number(number)));
}

/** How many arrays and objects are inside one another, of a text that is one. */
export function depthOf(text) {
  let depth = 0;
  let most = 0;
  for (const [match] of text.matchAll(/"(?:\\.|[^"\\])*"|[[\]{}]/gs)) {
    if (match === '[' || match === '{') most = Math.max(most, ++depth);
    else if (match === ']' || match === '}') depth--;
  }
  return most;
}
