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
/** Objects seen of a shape before a walker is compiled for it (`bench/` workload `shapes`). */
const COMPILE_AFTER = 4;

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
  constructor(id, keys) {
    this.id = id;
    this.keys = keys;
    this.seen = 0;
    this.sites = null;
    /** Checks that an object has this shape, then packs it; set once compiled. */
    this.walk = null;
    /** Packs an object that is known to have this shape. */
    this.body = null;
  }
}

class Shapes {
  constructor(native) {
    this.native = native;
    this.root = new Node();
    this.nodes = 1;
    this.full = false;
  }

  /** The shape of an object with these keys, or null when it is none to remember. */
  find(keys) {
    const n = keys.length;
    if (n > MAX_KEYS) return null;
    let node = this.root;
    for (let i = 0; i < n; i++) {
      const key = keys[i];
      if (node.lastKey === key) {
        node = node.lastChild;
      } else {
        node = this.step(node, key);
        if (node === null) return null;
      }
    }
    return node.shape !== null ? node.shape : this.define(node, keys);
  }

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
    node.shape = new Shape(this.native.defineShape(keys), keys);
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

module.exports = { COMPILE_AFTER, Shapes, Site };
