'use strict';

// The walker of one shape, as code: a pass over the keys that only checks that they are the ones
// expected, then straight property reads, each with a guess at the type seen before. A wrong guess
// goes to the general routine and costs time, never a different result.
//
// Nothing of a value gets into the code but its keys, as quoted literals.

const { P_CONST, P_INT, P_NUMBER, P_SHAPE, P_STR, TAG_BITS } = require('../tape');
const { CONST_FALSE, CONST_NIL, CONST_SKIP, CONST_TRUE } = require('../tape');

const NIL = (CONST_NIL << TAG_BITS) | P_CONST;
const TRUE = (CONST_TRUE << TAG_BITS) | P_CONST;
const FALSE = (CONST_FALSE << TAG_BITS) | P_CONST;
const SKIP = (CONST_SKIP << TAG_BITS) | P_CONST;

function field(key, example, i) {
  const general = `p = value(x, p, room - 1, ${SKIP}, s${i});`;
  const read = `x = v[${JSON.stringify(key)}];`;
  switch (typeof example) {
    case 'string':
      return `${read}
        if (typeof x === 'string' && x.length < LONG) {
          add(x);
          T[p++] = x.length << ${TAG_BITS} | ${P_STR};
        } else { ${general} }`;
    case 'number':
      if ((example << TAG_BITS) >> TAG_BITS === example) {
        return `${read}
        if (typeof x === 'number' && (x << ${TAG_BITS} >> ${TAG_BITS}) === x &&
            (x !== 0 || 1 / x > 0)) {
          T[p++] = x << ${TAG_BITS} | ${P_INT};
        } else { ${general} }`;
      }
      return `${read}
        if (typeof x === 'number') {
          T[p] = ${P_NUMBER};
          p = (p + 2) & -2;
          F[p >> 1] = x;
          p += 2;
        } else { ${general} }`;
    case 'boolean':
      return `${read}
        if (typeof x === 'boolean') T[p++] = x ? ${TRUE} : ${FALSE};
        else { ${general} }`;
    case 'object':
      if (example === null) {
        return `${read}
        if (x === null) T[p++] = ${NIL};
        else { ${general} }`;
      }
      if (Array.isArray(example)) {
        return `${read}
        if (isArray(x)) p = array(x, p, room - 1, s${i});
        else { ${general} }`;
      }
      return `${read}
        if (typeof x === 'object' && x !== null) p = s${i}.walk(x, p, room - 1, ${SKIP}, s${i});
        else { ${general} }`;
    default:
      return `${read} ${general}`;
  }
}

/** Compiles the walkers of `shape`, guessing the types of `example`'s values. */
function compileWalker(shape, example, env) {
  const { keys, id } = shape;
  const source = `'use strict';
    const { T, F, LIMIT, LONG, add, array, flush, isArray, other, prototypeOf, plain, tooDeep,
      value } = env;
    ${keys.map((_, i) => `const s${i} = sites[${i}];`).join('\n')}
    function body(v, p, room) {
      if (room === 0) tooDeep(p);
      if (p > LIMIT) p = flush(p);
      T[p++] = ${(id << TAG_BITS) | P_SHAPE};
      let x;
      ${keys.map((key, i) => field(key, example[i], i)).join('\n')}
      return p > LIMIT ? flush(p) : p;
    }
    function walk(v, p, room, hole, site) {
      let i = 0;
      for (const key in v) if (key !== keys[i++]) return other(v, p, room, hole, site);
      if (i !== ${keys.length} || v.toJSON !== undefined || prototypeOf(v) !== plain) {
        return other(v, p, room, hole, site);
      }
      return body(v, p, room);
    }
    return { walk, body };`;
  // One slot more than there are keys: the check of an object with more of them stays in bounds.
  const expected = [...keys, null];
  const make = new Function('env', 'keys', 'sites', source);
  const { walk, body } = make(env, expected, shape.sites);
  shape.walk = walk;
  shape.body = body;
}

module.exports = { compileWalker };
