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

function field(key, i) {
  return `${property(key)}: ((w = T[q + ${i}]) & ${TAG_MASK}) === 0 ? w >> ${TAG_BITS} : value(w)`;
}

/** Compiles a function that makes an object of the words of `T` from `q` on. */
function compileConstructor(keys, env) {
  const source = `'use strict';
    const { value } = env;
    return function construct(T, q) {
      let w = 0;
      return {
        ${keys.map(field).join(',\n')}
      };
    };`;
  return new Function('env', source)(env);
}

module.exports = { compileConstructor };
