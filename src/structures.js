'use strict';

// The structures of records that a codec shares with others: the array that the user holds, or what
// getStructures and saveStructures keep elsewhere. It changes when a message is complete, never in
// the middle of one.

const { MsgpackError, invalidOption } = require('./error');
const { checkFunction } = require('./options');

/** Others may save structures between our reading and our saving them; not as often as this. */
const MAX_ATTEMPTS = 4;
/** Structures that can be shared at most. */
const MAX_SHARED = 8160;

class SharedStructures {
  constructor({ structures, getStructures, saveStructures }) {
    if (structures !== undefined && !areStructures(structures)) {
      throw invalidOption('structures', structures, 'an array of arrays of names');
    }
    this.get = checkFunction('getStructures', getStructures);
    this.save = checkFunction('saveStructures', saveStructures);
    this.isUsed = structures !== undefined || this.get !== null || this.save !== null;
    const isClosed = structures !== undefined && !Object.isExtensible(structures);
    this.canGrow = (structures !== undefined && !isClosed) || this.save !== null;
    /** Nobody would hear of another structure. */
    this.isFrozen = isClosed && this.save === null;
    this.list = isClosed ? [...structures] : (structures ?? []);
    this.isLoaded = this.get === null;
    /** Whether one of the user's two functions is running. */
    this.isAsking = false;
    /** Changes when the list is replaced; when it only grows its length tells. */
    this.version = 0;
  }

  /** Packs with `packOnce`, until what that has added to the structures is saved. */
  pack(value, packer, packOnce, packNested) {
    // In the middle of a message, or of saving, nothing is added.
    if (packer.isBusy() || this.isAsking) return packNested(value);
    if (!this.isLoaded) this.reload();
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      this.tell(packer.native, 'setShared');
      const { length } = this.list;
      packer.forgetShared();
      const message = packOnce(value);
      const count = packer.shared();
      if (count <= length && this.list.length === length) return message;
      if (this.add(packer.native, length, count)) return message;
    }
    throw new MsgpackError(
      'ERR_MSGPACK_RECORD',
      'The structures of records could not be saved: saveStructures declines them again and again',
      { path: '$' },
    );
  }

  /** Saves the structures that a message has added, or takes them back. */
  add(native, length, count) {
    let isSaved = false;
    try {
      const added = [];
      for (let i = length; i < count; i++) added.push(native.sharedNames(i));
      isSaved = this.list.length === length && this.offer(added);
      if (isSaved) {
        this.list.push(...added);
        native.toldLength = this.list.length;
      }
    } finally {
      if (!isSaved) this.version++;
    }
    return isSaved;
  }

  /** Whether the structures could be saved; if not, those that others have saved are the list now. */
  offer(added) {
    if (this.save === null) return true;
    let others;
    const isCompatible = (existing) => {
      const isSame = !existing || existing.length === this.list.length;
      if (!isSame) others = existing;
      return isSame;
    };
    const all = [...this.list, ...added];
    if (this.ask(() => this.save(all, isCompatible)) !== false) return true;
    if (this.get !== null) this.reload();
    else if (others !== undefined) this.replace(others);
    return false;
  }

  reload() {
    this.replace(this.ask(this.get) ?? []);
    this.isLoaded = true;
  }

  /** Calls the user's function, which may use the codec. */
  ask(f) {
    this.isAsking = true;
    try {
      return f();
    } finally {
      this.isAsking = false;
    }
  }

  /** The array stays the one that the user holds. */
  replace(list) {
    const checked = checkedStructures(list);
    this.list.length = 0;
    for (const names of checked) this.list.push(names);
    this.version++;
  }

  /** Tells a packer or an unpacker what is shared, if it has changed. */
  tell(native, method) {
    if (native.toldLength === this.list.length && native.toldVersion === this.version) return;
    native[method](checkedStructures(this.list));
    native.toldLength = this.list.length;
    native.toldVersion = this.version;
  }

  prepare(unpacker) {
    this.tell(unpacker, 'setStructures');
  }

  prepareNested(packer) {
    this.tell(packer, 'setShared');
  }

  /** A structure is missing: whether there may be more of them now. */
  load(unpacker) {
    if (this.get === null || this.isAsking) return false;
    this.reload();
    this.prepare(unpacker);
    return true;
  }
}

function areStructures(list) {
  const areNames = (names) =>
    Array.isArray(names) && names.every((name) => typeof name === 'string');
  return Array.isArray(list) && list.length <= MAX_SHARED && list.every(areNames);
}

function checkedStructures(list) {
  if (!areStructures(list)) {
    throw new MsgpackError(
      'ERR_MSGPACK_RECORD',
      `The structures of records are an array of up to ${MAX_SHARED} arrays of names`,
    );
  }
  return list.map((names) => [...names]);
}

module.exports = { MAX_SHARED, SharedStructures };
