'use strict';

// The shapes of the objects that are packed: the keys of an object, in order, are a path in a trie,
// and its end node holds the shape. Rust keeps the encoded keys under the shape's id.
//
// The trie is bounded; when it is full it starts anew, and so do the ids.

const { Heat } = require('../heat');

/** Objects with more keys are dictionaries, not records. */
const MAX_KEYS = 128;
/** Longer keys are not worth remembering. */
const MAX_KEY_UNITS = 255;
const MAX_NODES = 8192;
/** Shared structures that there is room for without more. */
const ROOMY_STRUCTURES = 512;
/** UTF-16 units of all keys of all shapes, each of which has its own encoded. */
const MAX_UNITS = 1 << 20;
/** Keys in all that walkers are compiled for, until the shapes start anew. */
const MAX_COMPILED_KEYS = 1 << 15;
/** A node with this many children stands where keys are data; the root is where shapes part. */
const MAX_CHILDREN = 64;
const MAX_ROOT_CHILDREN = 2048;
/** Keys refused for want of room before the trie starts anew: what fills it may be long gone. */
const MAX_REFUSALS = 1 << 14;
/** A key that V8 keeps as an index: objects with one are listed in another, slower way. */
const INDEX_KEY = /^(0|[1-9][0-9]{0,9})$/;

class Node {
  constructor() {
    /** The child that was taken last, and the one before that. */
    this.lastKey = null;
    this.lastChild = null;
    this.otherKey = null;
    this.otherChild = null;
    this.children = null;
    this.shape = null;
  }
}

/** One place where objects are found: the walker of the shape last seen there. */
class Site {
  constructor(walk) {
    this.walk = walk;
    this.inner = null;
    /** How often the shape was another than the one of `walk`. */
    this.turns = 0;
    /** Where shapes take turns: the last one, and how many objects in a row had it. */
    this.shape = null;
    this.same = 0;
    /** The keys of the Map last seen here, and once they came again, their shape. */
    this.mapKeys = null;
    this.mapShape = null;
    /** Whether the values of such Maps have been scalars. */
    this.mapIsFlat = true;
    /** The keys of the large record last seen here, and its id. */
    this.large = null;
  }

  /** The shape of a Map with these keys, or null: most have keys that never come again. */
  shapeOfMap(keys, shapes) {
    const known = this.mapKeys;
    const n = keys.length;
    let isSame = known !== null && known.length === n && n <= MAX_KEYS;
    for (let i = 0; isSame && i < n; i++) isSame = keys[i] === known[i];
    if (!isSame) {
      // Few and short: what is remembered must not keep what was packed.
      const isSmall = n <= MAX_KEYS && keys.every((key) => typeof key === 'string');
      this.mapKeys = isSmall ? keys : null;
      this.mapShape = null;
      this.mapIsFlat = true;
      return null;
    }
    if (this.mapShape === null) this.mapShape = shapes.find(keys);
    return this.mapShape;
  }
}

class Shape {
  constructor(id, keys, site, since) {
    this.id = id;
    this.keys = keys;
    this.sites = keys.map(site);
    this.hasIndex = keys.some((key) => INDEX_KEY.test(key));
    /** Objects of this shape since the count of all was `since`. */
    this.seen = 0;
    this.since = since;
    /** Packs an object that is known to have this shape; set once compiled. */
    this.body = null;
    this.walkPlain = null;
    this.walkOf = null;
    this.walks = new WeakMap();
  }

  /** The walker that checks first whether an object has this shape and this prototype. */
  walk(proto) {
    if (proto === Object.prototype) return this.walkPlain;
    let walk = this.walks.get(proto);
    if (walk === undefined) {
      walk = this.walkOf(proto);
      this.walks.set(proto, walk);
    }
    return walk;
  }
}

class Shapes {
  /** `site` makes a new site; `records` says what the shapes of records are for. */
  constructor(native, site, records) {
    this.native = native;
    this.site = site;
    this.shareable = records?.shouldShare ?? null;
    /** As many times the usual room as it takes for all structures that can be shared. */
    this.room = Math.max(1, Math.ceil((records?.maxShared ?? 0) / ROOMY_STRUCTURES));
    this.root = new Node();
    this.nodes = 1;
    this.units = 0;
    this.refusals = 0;
    this.full = false;
    this.heat = new Heat('pack');
    this.compiledKeys = 0;
    /** Ids of large records, by their keys. */
    this.large = new Map();
  }

  /** The shape of an object with these keys, or null when it is none to remember. */
  find(keys) {
    const n = keys.length;
    if (n > MAX_KEYS) return null;
    let node = this.root;
    for (let i = 0; i < n; i++) {
      const key = keys[i];
      node = node.lastKey === key ? node.lastChild : this.step(node, key);
      if (node === null) return null;
    }
    return node.shape !== null ? node.shape : this.define(node, keys);
  }

  /** Counts an object of a shape that is not compiled, and says whether it should be. */
  isHot(shape) {
    if (!this.heat.isHot(shape) || this.compiledKeys > MAX_COMPILED_KEYS) return false;
    this.compiledKeys += shape.keys.length;
    return true;
  }

  /** The child of `node` for `key`, which is not its last one; null if there is none. */
  known(node, key) {
    let child = node.otherChild;
    if (node.otherKey !== key) {
      child = node.children === null ? undefined : node.children.get(key);
      if (child === undefined) return null;
    }
    this.turn(node, key, child);
    return child;
  }

  turn(node, key, child) {
    node.otherKey = node.lastKey;
    node.otherChild = node.lastChild;
    node.lastKey = key;
    node.lastChild = child;
  }

  /** The child of `node` for `key`; null when these keys are none to remember. */
  step(node, key) {
    const known = this.known(node, key);
    if (known !== null) return known;
    if (key.length > MAX_KEY_UNITS) return null;
    if (node.children === null) node.children = new Map();
    const limit = this.room * (node === this.root ? MAX_ROOT_CHILDREN : MAX_CHILDREN);
    if (node.children.size >= limit) {
      this.full ||= ++this.refusals > MAX_REFUSALS;
      return null;
    }
    if (this.nodes >= this.room * MAX_NODES) {
      this.full = true;
      return null;
    }
    this.nodes++;
    const child = new Node();
    node.children.set(key, child);
    this.turn(node, key, child);
    return child;
  }

  define(node, keys) {
    const id = this.register(keys);
    if (id === null) return null;
    node.shape = new Shape(id, keys, this.site, this.heat.objects);
    return node.shape;
  }

  register(keys) {
    for (const key of keys) this.units += key.length;
    if (this.units > this.room * MAX_UNITS) {
      this.full = true;
      return null;
    }
    // What the user's function does meanwhile, packing included, comes before the shape.
    const shareable = this.shareable === null || this.shareable([...keys]) !== false;
    return this.native.defineShape(keys, shareable ? 1 : 0);
  }

  /** The id of a record whose names are too many or too long for a path; null for want of room. */
  findLarge(keys, site) {
    const known = site.large?.keys;
    let isSame = known?.length === keys.length;
    for (let i = 0; isSame && i < keys.length; i++) isSame = keys[i] === known[i];
    if (isSame) return site.large.id;
    const text = JSON.stringify(keys);
    const id = this.large.get(text) ?? this.register(keys);
    if (id === null) return null;
    this.large.set(text, id);
    site.large = { keys, id };
    return id;
  }

  /** Forgets everything; only between messages, since a tape names shapes by their ids. */
  clear() {
    this.native.clearShapes();
    this.root = new Node();
    this.nodes = 1;
    this.units = 0;
    this.refusals = 0;
    this.full = false;
    this.compiledKeys = 0;
    this.large.clear();
  }
}

module.exports = { MAX_KEYS, Shapes, Site };
