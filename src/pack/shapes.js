'use strict';

// The shapes of the objects that are packed: the keys of an object, in order, are a path in a trie,
// and its end node holds the shape. Rust keeps the encoded keys under the shape's id.
//
// The trie is bounded; when it is full it starts anew, and so do the ids.

/** Objects with more keys are dictionaries, not records. */
const MAX_KEYS = 128;
/** Longer keys are not worth remembering. */
const MAX_KEY_UNITS = 255;
const MAX_NODES = 8192;
/** A node with this many children stands where keys are data; the root is where shapes part. */
const MAX_CHILDREN = 64;
const MAX_ROOT_CHILDREN = 2048;
/**
 * Objects seen of a shape before a walker is compiled for it. Code that runs a few hundred times is
 * slower than the general walker, which is optimised already (`bench/` workload `shapes`).
 */
const COMPILE_AFTER = 300;

class Node {
  constructor() {
    this.lastKey = null;
    this.lastChild = null;
    this.children = null;
    this.shape = null;
  }
}

/** One place where objects are found: the walker of the shape last seen there. */
class Site {
  constructor(walk) {
    this.walk = walk;
    this.inner = null;
  }
}

class Shape {
  constructor(id, keys, site) {
    this.id = id;
    this.keys = keys;
    this.sites = keys.map(site);
    this.seen = 0;
    /** Packs an object that is known to have this shape; set once compiled. */
    this.body = null;
    this.walkOf = null;
    this.walks = new WeakMap();
  }

  /** The walker that checks first whether an object has this shape and this prototype. */
  walk(proto) {
    let walk = this.walks.get(proto);
    if (walk === undefined) {
      walk = this.walkOf(proto);
      this.walks.set(proto, walk);
    }
    return walk;
  }
}

class Shapes {
  /** `site` makes a new site. */
  constructor(native, site) {
    this.native = native;
    this.site = site;
    this.root = new Node();
    this.nodes = 1;
    this.full = false;
  }

  /** The child of `node` for `key`; null when these keys are none to remember. */
  step(node, key) {
    let child = node.children === null ? undefined : node.children.get(key);
    if (child === undefined) {
      if (key.length > MAX_KEY_UNITS) return null;
      if (node.children === null) node.children = new Map();
      const limit = node === this.root ? MAX_ROOT_CHILDREN : MAX_CHILDREN;
      if (node.children.size >= limit) return null;
      if (this.nodes >= MAX_NODES) {
        this.full = true;
        return null;
      }
      this.nodes++;
      child = new Node();
      node.children.set(key, child);
    }
    node.lastKey = key;
    node.lastChild = child;
    return child;
  }

  define(node, keys) {
    node.shape = new Shape(this.native.defineShape(keys), keys, this.site);
    return node.shape;
  }

  /** Forgets everything; only between messages, since a tape names shapes by their ids. */
  clear() {
    this.native.clearShapes();
    this.root = new Node();
    this.nodes = 1;
    this.full = false;
  }
}

module.exports = { COMPILE_AFTER, MAX_KEYS, Shapes, Site };
