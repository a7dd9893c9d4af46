// Looking into messages: what `get` and its like say beside what unpacking makes, and beside each
// other where a message is damaged or cut.
import {
  get,
  getMany,
  has,
  keysAt,
  lazy,
  lengthAt,
  lengthOf,
  pack,
  slice,
  typeAt,
  unpack,
  unpackFrom,
  unpackMultiple,
  validate,
} from '../../../index.js';
import { actingOptions, hostileInput, viewOf } from '../acting.mjs';
import { outcome } from '../outcome.mjs';
import { UNPACK_OPTIONS } from '../random.mjs';
import { same } from '../same.mjs';

const OPTIONS = { ...UNPACK_OPTIONS, maxDepth: [1, 2, 5, 1000] };
/** Steps that may or may not be there, and those that never are. */
const STEPS = ['a', 'b', 'id', 'name', 'é', '', '0', '1', 'k1', 'length', '__proto__', '01'].concat(
  ['constructor', '~', '/', 'a/b~c', '\ud83d', '4294967295', 0, 1, 2, 19, -1, 0.5, NaN, -0, 1e21],
  [Infinity, 2 ** 32, 2 ** 53],
);

/** A probe of all of it, after an error. */
function looks() {
  const bytes = Buffer.from('82a16192c0a162a16201', 'hex');
  same(getMany(bytes, ['/a/1', ['b'], '/c']), ['b', 1, undefined]);
  same({ ...lazy(bytes) }.a.length, 2);
  same(validate(bytes), { values: 1, bytes: 10, depth: 2, nodes: 7 });
}

const messageOf = (random) =>
  random.oneIn(2) ? pack([random.value()]) : random.message(random.below(6));

// ── Paths

/** The keys and values of a container, as steps of a path and what they lead to. */
function entriesOf(value) {
  if (Array.isArray(value)) return [...value.entries()];
  if (value instanceof Map) {
    return [...value].filter(([key]) => typeof key === 'string' || typeof key === 'number');
  }
  const isObject = typeof value === 'object' && value !== null;
  return isObject && Object.getPrototypeOf(value) === Object.prototype ? Object.entries(value) : [];
}

/** A path to something that is there, or nearly. */
function pathOf(random, value) {
  const path = [];
  let at = value;
  for (;;) {
    const entries = entriesOf(at);
    if (entries.length === 0 || random.oneIn(5)) break;
    const [step, inner] = random.pick(entries);
    path.push(step);
    at = inner;
  }
  if (random.oneIn(4)) path.push(random.pick(STEPS));
  if (random.oneIn(12)) path[random.below(path.length)] = random.pick(STEPS);
  return path;
}

/** The same path in another form, where it has one. */
function formOf(random, path, isMap) {
  if (isMap || random.oneIn(2)) return path;
  if (random.oneIn(2)) return path.map(String);
  const steps = path.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'));
  return steps.map((step) => `/${step}`).join('');
}

// ── What there is at a path

/** All that is said about one value agrees. */
function agrees(message, path, options) {
  const found = outcome(() => get(message, path, options));
  const there = outcome(() => has(message, path, options));
  const bytes = outcome(() => slice(message, path, options));
  const type = outcome(() => typeAt(message, path, options));
  const length = outcome(() => lengthAt(message, path, options));
  const keys = outcome(() => keysAt(message, path, options));
  if (there.error !== undefined) {
    for (const { error } of [found, bytes, type, length, keys]) same(error, there.error);
    return { error: there.error };
  }
  if (!there.value) {
    for (const { value, error } of [found, bytes, type, length, keys])
      same(value, undefined, error);
    return { isThere: false };
  }
  if (bytes.error !== undefined) {
    // Its end is not there, or something in it starts no value.
    if (found.error === undefined) throw new Error('unpacked without an end');
    return { error: found.error };
  }
  same(type.error, undefined);
  const start = bytes.value.byteOffset - message.byteOffset;
  same(lengthOf(message, start), bytes.value.length);
  const alone = outcome(() => unpack(bytes.value, options));
  same(found.value, alone.value, found.error === undefined ? alone.error : undefined);
  if (alone.error !== undefined) {
    same(found.error, { ...alone.error, offset: alone.error.offset + start });
    return { error: found.error };
  }
  checkType(found.value, type.value, length, keys, options);
  return { isThere: true, value: found.value, end: start + bytes.value.length };
}

function checkType(value, type, length, keys, { maps }) {
  same(length.error ?? keys.error, undefined);
  const entries = { array: value?.length, string: value?.length, binary: value?.length };
  if (type in entries) same(length.value, entries[type]);
  if (type === 'map') {
    const names = maps === 'map' ? [...value.keys()] : Object.keys(value);
    same(new Set(keys.value), new Set(names));
    same(keys.value.length, names.length);
    same(length.value >= names.length, true);
  } else {
    same(keys.value, undefined);
  }
}

/** Whether a map on the path has a key twice: then `get` and `unpack` take another one. */
function isTwice(message, path, options) {
  for (let depth = 0; depth < path.length; depth++) {
    const parent = path.slice(0, depth);
    if (typeAt(message, parent, options) !== 'map') continue;
    const keys = outcome(() => keysAt(message, parent, options));
    if (keys.value?.length !== lengthAt(message, parent, options)) return true;
  }
  return false;
}

/** What walking the unpacked value comes to. */
function walked(value, path, isMap) {
  let at = value;
  for (const step of path) {
    const entry = entriesOf(at).find(([key]) =>
      isMap && at instanceof Map
        ? Object.is(key, step) || key === step
        : String(key) === String(step),
    );
    if (entry === undefined) return undefined;
    at = entry[1];
  }
  return at;
}

function paths(random) {
  const message = messageOf(random);
  const options = random.choose(OPTIONS);
  const isMap = options.maps === 'map';
  const whole = outcome(() => unpack(message, options));
  const all = random.many(1 + random.below(20), () => pathOf(random, whole.value));
  const forms = all.map((path) => formOf(random, path, isMap));
  const results = forms.map((path) => agrees(message, path, options));
  if (whole.error === undefined) {
    for (const [i, { value }] of results.entries()) {
      if (!isTwice(message, all[i], options)) same(value, walked(whole.value, all[i], isMap));
    }
  }
  together(message, forms, results, options);
  // A beginning with the value in it will do.
  const cut = random.below(message.length + 1);
  const start = message.subarray(0, cut);
  for (const [i, { error, isThere, value, end }] of results.entries()) {
    const found = outcome(() => get(start, forms[i], options));
    if (isThere && end <= cut) same(found.value, value, found.error);
    else if (error === undefined && isThere) same(found.error?.code, 'ERR_MSGPACK_TRUNCATED');
  }
}

/** `getMany` says what `get` says of each. */
function together(message, forms, results, options) {
  const many = outcome(() => getMany(message, forms, options));
  const failed = results.find(({ error }) => error !== undefined);
  if (failed !== undefined) same(many.value, undefined);
  else
    same(
      many.value,
      results.map(({ value }) => value),
      many.error,
    );
}

// ── Damaged messages

function damaged(random) {
  const message = random.damage(messageOf(random));
  const options = random.choose(OPTIONS);
  const whole = outcome(() => unpack(message, options));
  const figures = outcome(() => validate(viewOf(random, message), options));
  same(figures.error, whole.error);
  if (whole.error === undefined) same(figures.value.bytes, message.length);
  const all = outcome(() => unpackMultiple(message, options));
  const counted = outcome(() => validate(message, { ...options, multiple: true }));
  same(counted.error, all.error);
  same(counted.value?.values, all.value?.length);
  same(outcome(() => lazy(message, options)).error, whole.error);
  const offset = random.below(message.length + 2);
  const from = outcome(() => unpackFrom(message, offset, options));
  const length = outcome(() => lengthOf(message, offset));
  if (from.error === undefined) same(length.value, from.value.end - offset, length.error);
  else if (length.error !== undefined) same(length.error.offset >= from.error.offset, true);
  const forms = random.many(1 + random.below(12), () =>
    random.many(random.below(4), () => random.pick(STEPS)),
  );
  const results = forms.map((path) => agrees(message, path, options));
  together(message, forms, results, options);
  looks();
}

// ── Views

function views(random) {
  let message = messageOf(random);
  if (random.oneIn(8)) message = random.damage(message);
  const options = random.choose(OPTIONS);
  const whole = outcome(() => unpack(message, options));
  const view = outcome(() => lazy(message, options));
  same(view.error, whole.error);
  if (whole.error !== undefined) return;
  // Some of it in any order, twice, and then all.
  for (let i = random.below(30); i > 0; i--) {
    const path = pathOf(random, whole.value);
    const [once, again] = [0, 1].map(() => walked(view.value, path, true));
    same(once, walked(whole.value, path, true));
    same(Object.is(once, again), true);
  }
  if (random.oneIn(2)) writes(random, view.value, options);
  if (random.oneIn(3))
    same(
      outcome(() => pack(view.value)),
      outcome(() => pack(whole.value)),
    );
  same(view.value, whole.value);
}

/** Whatever would change a view throws, and changes nothing. */
function writes(random, view, { maps }) {
  const isView = Array.isArray(view) || (maps !== 'map' && entriesOf(view).length > 0);
  if (!isView) return;
  const write = random.pick([
    (key) => Reflect.set(view, key, 1),
    (key) => Reflect.deleteProperty(view, key),
    (key) => Reflect.defineProperty(view, key, { value: 1 }),
    () => Reflect.preventExtensions(view),
    () => Reflect.setPrototypeOf(view, null),
    () => Array.prototype.push.call(view, 1),
    () => Object.freeze(view),
  ]);
  try {
    write(random.pick(STEPS));
  } catch (error) {
    if (error instanceof TypeError) return;
    throw error;
  }
  throw new Error('a view was written to');
}

// ── Inputs, paths and options that act

function hostile(random) {
  const message = random.oneIn(2) ? random.damage(messageOf(random)) : messageOf(random);
  const { act, input } = hostileInput(random, message);
  const options = actingOptions(random, random.choose(OPTIONS), act);
  const actingPath = () => {
    const steps = random.many(random.below(4), () => random.pick(STEPS));
    const get = (target, name) => {
      act();
      return random.oneIn(9) ? random.value() : target[name];
    };
    const odd = [
      '/a/~2',
      'a',
      '/~',
      7,
      null,
      [Symbol('s')],
      [{}],
      [null],
      { length: 1 },
      undefined,
    ];
    return random.pick([new Proxy(steps, { get }), steps, random.pick(odd)]);
  };
  const path = actingPath();
  for (const look of [get, has, slice, typeAt, lengthAt, keysAt]) {
    outcome(() => look(input, path, options), true);
  }
  outcome(() => getMany(input, random.many(random.below(12), actingPath), options), true);
  outcome(() => getMany(input, new Proxy([path], {}), options), true);
  outcome(() => validate(input, options), true);
  outcome(() => lengthOf(input, random.pick([0, 1, -1, 0.5, NaN, 1e9, '0', undefined])), true);
  const view = outcome(() => lazy(input, options), true);
  // The bytes may change under a view, which is then another value, or an error.
  outcome(() => act(), true);
  outcome(() => JSON.stringify(view.value), true);
  outcome(() => unpack(pack(view.value)), true);
  looks();
}

export default {
  name: 'look',
  run(random) {
    random.pick([paths, paths, damaged, views, hostile])(random);
  },
};
