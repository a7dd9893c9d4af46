'use strict';

// The walker of one shape, as code: a pass over the keys that only checks that they are the ones
// expected, then straight property reads, each with a guess at the type seen before. A wrong guess
// goes to the general routine and costs time, never a different result.
//
// Nothing of a value gets into the code but its keys, as quoted literals.

const { DEEP_ROOM, P_INT, P_NUMBER, P_SHAPE, P_STR, TAG_BITS } = require('../tape');
const { FALSE, NIL, SKIP, TRUE } = require('./words');

/** The code for one property. Strings gather in `text`, which goes to the rope before anything
 * else can add to it. */
function field(key, example, i) {
  const general = `add(text); text = ''; p = value(x, p, room - 1, ${SKIP}, s${i});`;
  const read = `x = v[${JSON.stringify(key)}];`;
  switch (typeof example) {
    case 'string':
      return `${read}
        if (typeof x === 'string' && x.length < LONG) {
          text += x;
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
        if (isArray(x)) { add(text); text = ''; p = array(x, p, room - 1, s${i}); }
        else { ${general} }`;
      }
      return `${read}
        if (typeof x === 'object' && x !== null) {
          add(text);
          text = '';
          p = s${i}.walk(x, p, room - 1, ${SKIP}, s${i});
        } else { ${general} }`;
    default:
      return `${read} ${general}`;
  }
}

/**
 * Checks that the keys of `v` are the expected ones, in order. The loop goes through inherited keys
 * too: it is for objects that inherit none.
 */
function checkLoop(n) {
  return `let i = 0;
        for (const key in v) if (key !== keys[i++]) return other(v, p, room, hole, site);
        if (i !== ${n}) return other(v, p, room, hole, site);`;
}

/** The same for any object; with index keys, which V8 lists faster than it goes through them, too. */
const checkList = `const own = keysOf(v);
        if (own.length !== keys.length - 1) return other(v, p, room, hole, site);
        for (let i = 0; i < own.length; i++) {
          if (own[i] !== keys[i]) return other(v, p, room, hole, site);
        }`;

/**
 * Compiles the walkers of `shape`, guessing the types of the values in `examples`: `body` packs an
 * object of that shape, `walkPlain` checks first that it is one, `walkOf(proto)` makes a function that
 * does so for objects with another prototype than Object's.
 */
function compileWalker(shape, examples, env) {
  const { keys, id } = shape;
  const source = `'use strict';
    const { T, F, LIMIT, LONG, add, array, deep, flush, isArray, keysOf, other, plain,
      prototypeOf, value } = env;
    ${keys.map((_, i) => `const s${i} = sites[${i}];`).join('\n')}
    function body(v, p, room) {
      if (room <= T[${DEEP_ROOM}]) return deep(v, p, room);
      if (p > LIMIT) p = flush(p);
      T[p++] = ${(id << TAG_BITS) | P_SHAPE};
      let x;
      let text = '';
      ${keys.map((key, i) => field(key, examples[i], i)).join('\n')}
      add(text);
      return p > LIMIT ? flush(p) : p;
    }
    function walkPlain(v, p, room, hole, site) {
      if (v.toJSON !== undefined || prototypeOf(v) !== plain) return other(v, p, room, hole, site);
      ${shape.hasIndex ? checkList : checkLoop(keys.length)}
      return body(v, p, room);
    }
    function walkOf(proto) {
      return function walk(v, p, room, hole, site) {
        if (v.toJSON !== undefined || prototypeOf(v) !== proto) {
          return other(v, p, room, hole, site);
        }
        ${checkList}
        return body(v, p, room);
      };
    }
    return { body, walkOf, walkPlain };`;
  // One slot more than there are keys: the check of an object with more of them stays in bounds.
  const expected = [...keys, null];
  const make = new Function('env', 'keys', 'sites', source);
  return make(env, expected, shape.sites);
}

module.exports = { compileWalker };
