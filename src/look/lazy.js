'use strict';

// Views of arrays and maps whose entries unpack when they are first read. A view is a proxy; its
// target is a real array or object, which keeps what was read, so that most of what can be done with
// a value is done with the target, by the language itself.

const { inspect } = require('node:util');
const { OPT_MAPS_MAP, PLACE_ARRAY, PLACE_KINDS, PLACE_MAP } = require('../tape');
const { prepareFor } = require('../unpack/sparse');

const plain = Object.prototype;

// Printing goes past a proxy to its target; there it finds this.
const printing = { [inspect.custom]: { value: shown } };
const arrayViews = Object.create(Array.prototype, printing);
const objectViews = Object.create(plain, printing);

/** What `util.inspect` is to print instead of a view, with as much of it as that will print. */
function shown(depth, options) {
  const isArray = Array.isArray(this);
  const { length } = isArray ? this : Object.keys(this);
  if (depth < 0 && length > 0) return options.stylize(isArray ? '[Array]' : '[Object]', 'special');
  if (!isArray) return { ...this };
  const copy = new Array(length);
  const printed = Math.min(length, options.maxArrayLength ?? length);
  for (let i = 0; i < printed; i++) copy[i] = this[i];
  return copy;
}

function readOnly() {
  throw new TypeError('A lazy view is read-only. Copy it ({ ...view } or [...view]) to change it');
}

/** The handler of one view. `level` and `unpackAt` are those of the codec. */
class View {
  constructor(codec, bytes, at, read) {
    this.codec = codec;
    this.bytes = bytes;
    this.at = at;
    this.read = read;
    this.isLoaded = false;
    /** Where values are that were not read: by index, −1 for the others, or by key. */
    this.places = null;
    /** How many those are. */
    this.left = 0;
  }

  load(target) {
    if (this.isLoaded) return;
    const { codec, bytes, at, read } = this;
    const { isFlat, keys, values } = codec.level(bytes, at, !Array.isArray(target), read);
    if (isFlat) {
      // Nothing in it is worth putting off.
      const whole = codec.unpackAt(bytes, at, read);
      if (Array.isArray(target)) {
        for (let i = 0; i < whole.length; i++) target[i] = whole[i];
      } else {
        const names = Object.keys(whole);
        prepareFor(target, names);
        for (const key of names) define(target, key, whole[key]);
      }
      this.done();
    } else if (Array.isArray(target)) {
      target.length = values.length;
      target.fill(undefined);
      this.places = values;
      this.left = values.length;
    } else {
      this.places = new Map();
      prepareFor(target, keys);
      for (let i = 0; i < keys.length; i++) {
        define(target, keys[i], undefined);
        // The last of equal keys wins.
        this.places.set(keys[i], values[i]);
      }
      this.left = this.places.size;
    }
    this.isLoaded = true;
  }

  /** Nothing is left to read: the target has it all. */
  done() {
    this.places = null;
    this.bytes = null;
  }

  /** Reads the value of a property, if that has not been done. */
  fetch(target, key) {
    this.load(target);
    const { places } = this;
    if (places === null || typeof key !== 'string') return;
    if (Array.isArray(target)) {
      const index = Number(key);
      if (!(places[index] >= 0) || String(index) !== key) return;
      target[index] = this.value(places[index]);
      places[index] = -1;
    } else {
      const place = places.get(key);
      if (place === undefined) return;
      define(target, key, this.value(place));
      places.delete(key);
    }
    if (--this.left === 0) this.done();
  }

  value(place) {
    const kind = place % PLACE_KINDS;
    return valueAt(this.codec, this.bytes, (place - kind) / PLACE_KINDS, kind, this.read);
  }

  get(target, key, receiver) {
    this.fetch(target, key);
    return Reflect.get(target, key, receiver);
  }

  has(target, key) {
    this.load(target);
    return Reflect.has(target, key);
  }

  ownKeys(target) {
    this.load(target);
    return Reflect.ownKeys(target);
  }

  getOwnPropertyDescriptor(target, key) {
    this.fetch(target, key);
    return Reflect.getOwnPropertyDescriptor(target, key);
  }

  getPrototypeOf(target) {
    return Array.isArray(target) ? Array.prototype : plain;
  }
}

for (const trap of ['set', 'defineProperty', 'deleteProperty', 'preventExtensions']) {
  View.prototype[trap] = readOnly;
}
View.prototype.setPrototypeOf = readOnly;

/** A view of a container, and anything else as it is. */
function valueAt(codec, bytes, at, kind, read) {
  const isView = kind === PLACE_ARRAY || (kind === PLACE_MAP && (read.flags & OPT_MAPS_MAP) === 0);
  if (!isView) return codec.unpackAt(bytes, at, read);
  const target = kind === PLACE_ARRAY ? [] : {};
  Object.setPrototypeOf(target, kind === PLACE_ARRAY ? arrayViews : objectViews);
  return new Proxy(target, new View(codec, bytes, at, read));
}

/** Adds an own property, whatever Object.prototype has under that name. */
function define(o, key, x) {
  if (key in plain) {
    Object.defineProperty(o, key, {
      value: x,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    o[key] = x;
  }
}

module.exports = { valueAt };
