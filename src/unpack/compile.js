'use strict';

// The constructor of one shape, as code: an object literal with the shape's keys, each value read
// from its word of the tape. A key's name is all of a message that gets into the code, quoted.

const { TAG_BITS } = require('../tape');

const TAG_MASK = (1 << TAG_BITS) - 1;

/** In a literal, `"__proto__": v` would set the prototype; a computed key is a key like others. */
function property(key) {
  const quoted = JSON.stringify(key);
  return key === '__proto__' ? `[${quoted}]` : quoted;
}

const read = (i) => `((w = T[q + ${i}]) & ${TAG_MASK}) === 0 ? w >> ${TAG_BITS} : value(w)`;

/** Keys that V8 keeps as elements of the object, and up to where a table of them is worth it. */
const INDEX_KEY = /^(0|[1-9][0-9]{0,2})$/;
const MAX_INDEX = 255;

function literal(keys) {
  const fields = keys.map((key, i) => `${property(key)}: ${read(i)}`);
  return `return { ${fields.join(',\n')} };`;
}

/**
 * For a shape with index keys. A literal gets a table for its elements that has room to grow, more
 * than twice as large as JSON.parse makes it; a copy of what JSON.parse made stays as small.
 */
function copy(keys) {
  const stores = keys.map((key, i) => `o[${JSON.stringify(key)}] = ${read(i)};`);
  return `const o = { ...template }; ${stores.join('\n')} return o;`;
}

/** Compiles a function that makes an object of the words of `T` from `q` on. */
function compileConstructor(keys, env) {
  const indices = keys.filter((key) => INDEX_KEY.test(key)).map(Number);
  const copies = indices.length > 0 && Math.max(...indices) <= MAX_INDEX;
  const template = copies
    ? JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:null`).join(',')}}`)
    : null;
  const source = `'use strict';
    const { value } = env;
    return function construct(T, q) {
      let w = 0;
      ${copies ? copy(keys) : literal(keys)}
    };`;
  return new Function('env', 'template', source)(env, template);
}

module.exports = { compileConstructor };
