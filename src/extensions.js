'use strict';

// The extensions of a codec: which classes go out as which ext type, and what reads them.

const { invalidOption } = require('./error');

const { getPrototypeOf } = Object;

const WHAT = 'an extension: { Class, type, pack, unpack } or { Class, type, write, read }';

class Extensions {
  constructor(parent = null) {
    this.byType = new Map(parent?.byType);
    this.byPrototype = new Map(parent?.byPrototype);
    /** By prototype: the extension that its objects have, or null. */
    this.found = new WeakMap();
    this.hasArrays = parent?.hasArrays ?? false;
  }

  /** Adds an extension, or replaces that of the same class or type. */
  add(ext, minType = 0) {
    const { Class, type } = checked(ext, minType);
    if (type !== undefined) this.byType.set(type, ext);
    if (Class !== undefined && (ext.pack ?? ext.write) !== undefined) {
      this.byPrototype.set(Class.prototype, ext);
      this.hasArrays ||= Object.prototype.isPrototypeOf.call(Array.prototype, Class.prototype);
      this.found = new WeakMap();
    }
  }

  /** Forgets what has one of these types: inherited, but not free here. */
  drop(types) {
    for (const type of types) this.byType.delete(type);
    for (const [proto, ext] of this.byPrototype) {
      if (types.has(ext.type)) this.byPrototype.delete(proto);
    }
  }

  /** The extension of the nearest class of objects with this prototype, or null. */
  of(proto) {
    // An array can be without one, too.
    if (this.byPrototype.size === 0 || proto === null) return null;
    let ext = this.found.get(proto);
    if (ext === undefined) {
      ext = this.search(proto);
      this.found.set(proto, ext);
    }
    return ext;
  }

  search(proto) {
    for (let each = proto; each !== null; each = getPrototypeOf(each)) {
      const ext = this.byPrototype.get(each);
      if (ext !== undefined) return ext;
    }
    return null;
  }
}

function checked(ext, minType) {
  if (typeof ext !== 'object' || ext === null) throw invalidOption('extension', ext, WHAT);
  const { Class, type, pack, unpack, read, write } = ext;
  if (Class !== undefined && typeof Class !== 'function') {
    throw invalidOption('extension.Class', Class, 'a class');
  }
  if (type !== undefined && !(Number.isInteger(type) && type >= minType && type <= 127)) {
    throw invalidOption('extension.type', type, 'an integer from 0 to 127');
  }
  for (const [name, f] of Object.entries({ pack, unpack, read, write })) {
    if (f !== undefined && typeof f !== 'function') {
      throw invalidOption(`extension.${name}`, f, 'a function');
    }
  }
  const packs = pack !== undefined || write !== undefined;
  if (packs && Class === undefined) throw invalidOption('extension.Class', Class, 'a class');
  if (type === undefined && (pack !== undefined || write === undefined)) {
    throw invalidOption('extension.type', type, 'an integer from 0 to 127');
  }
  // What one writes the other could not read.
  if (pack !== undefined && read !== undefined && unpack === undefined) {
    throw invalidOption('extension.read', read, 'absent: bytes are read by unpack');
  }
  if (pack === undefined && write !== undefined && unpack !== undefined) {
    throw invalidOption('extension.unpack', unpack, 'absent: values are read by read');
  }
  if (!packs && unpack === undefined && read === undefined)
    throw invalidOption('extension', ext, WHAT);
  return ext;
}

/** Whether what has this type on the wire is a tag in front of a value, not bytes. */
function isTag(ext) {
  return ext.unpack === undefined && (ext.read !== undefined || ext.write !== undefined);
}

module.exports = { Extensions, isTag };
