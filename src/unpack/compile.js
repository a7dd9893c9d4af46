'use strict';

// The constructor of one shape, as code: an object literal with the shape's keys, each value read
// from its word of the tape. A key's name is all of a message that gets into the code, quoted.

const { CONST_FALSE, CONST_NIL, CONST_TRUE, TAG_BITS, U_CONST } = require('../tape');
const { U_INT, U_KNOWN_STR, U_NUMBER, U_OBJECT, U_STR } = require('../tape');
const { limitOf } = require('./sparse');

const TAG_MASK = (1 << TAG_BITS) - 1;
const NIL = (CONST_NIL << TAG_BITS) | U_CONST;
const TRUE = (CONST_TRUE << TAG_BITS) | U_CONST;
const FALSE = (CONST_FALSE << TAG_BITS) | U_CONST;

/** In a literal, `"__proto__": v` would set the prototype; a computed key is a key like others. */
function property(key) {
  const quoted = JSON.stringify(key);
  return key === '__proto__' ? `[${quoted}]` : quoted;
}

/** Code that reads the value of word `i`, with a guess at its kind: the one of `example`. */
function read(i, example) {
  const word = `(w = T[q + ${i}])`;
  const is = (tag) => `(${word} & ${TAG_MASK}) === ${tag}`;
  switch (example & TAG_MASK) {
    case U_STR:
    case U_KNOWN_STR:
      return `${is(U_KNOWN_STR)} ? known[w >>> ${TAG_BITS}] : value(w)`;
    case U_NUMBER:
      return `${is(U_NUMBER)} ? F[w >>> ${TAG_BITS}] : value(w)`;
    case U_OBJECT:
      return `${is(U_OBJECT)} ? object(w >>> ${TAG_BITS}) : value(w)`;
    case U_CONST:
      // null, true and false take turns; each is a word of its own.
      return `${word} === ${NIL} ? null : w === ${TRUE} ? true : w === ${FALSE} ? false : value(w)`;
    default:
      return `${is(U_INT)} ? w >> ${TAG_BITS} : value(w)`;
  }
}

/** Keys that V8 keeps as elements of the object, and up to where a table of them is worth it. */
const INDEX_KEY = /^(0|[1-9][0-9]{0,2})$/;
const MAX_INDEX = 255;

function literal(keys, examples) {
  const fields = keys.map((key, i) => `${property(key)}: ${read(i, examples[i])}`);
  return `return { ${fields.join(',\n')} };`;
}

/**
 * For a shape with index keys. A literal gets a table for its elements that has room to grow, more
 * than twice as large as JSON.parse makes it; a copy of what JSON.parse made stays as small.
 */
function copy(keys, examples) {
  const stores = keys.map((key, i) => `o[${JSON.stringify(key)}] = ${read(i, examples[i])};`);
  return `const o = { ...template }; ${stores.join('\n')} return o;`;
}

/**
 * Compiles a function that makes an object of the words of `T` from `q` on; `examples` are such
 * words.
 */
function compileConstructor(keys, examples, env) {
  const indices = keys.filter((key) => INDEX_KEY.test(key)).map(Number);
  const most = Math.min(MAX_INDEX, limitOf(keys.length));
  const copies = indices.length > 0 && Math.max(...indices) <= most;
  const template = copies
    ? JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:null`).join(',')}}`)
    : null;
  const source = `'use strict';
    const { known, object, value } = env;
    return function construct(T, F, q) {
      let w = 0;
      ${copies ? copy(keys, examples) : literal(keys, examples)}
    };`;
  return new Function('env', 'template', source)(env, template);
}

module.exports = { compileConstructor };
