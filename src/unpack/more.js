'use strict';

// What comes in of the kinds that only some codecs know: Set, Error, RegExp, typed arrays, BigInts
// past 64 bits.

const tape = require('../tape');
const { MsgpackError } = require('../error');
const { checkGrown } = require('./collisions');
const { ARRAY_BUFFER, DATA_VIEW, TYPED_ARRAYS } = require('../typed-arrays');

const ERRORS = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  AggregateError,
};

/** What the array behind the tag `type` becomes; into `target`, if that is there already. */
function tagged(type, parts, target) {
  switch (type) {
    case tape.EXT_SET:
      return filled(target ?? new Set(), parts);
    case tape.EXT_ERROR:
      return error(parts, target);
    default: {
      const [source, flags = ''] = parts;
      if (typeof source !== 'string' || typeof flags !== 'string') {
        throw new TypeError('A RegExp is two strings');
      }
      return new RegExp(source, flags);
    }
  }
}

function filled(set, parts) {
  for (const x of parts) {
    const { size } = set;
    set.add(x);
    if (set.size !== size) checkGrown(set);
  }
  return set;
}

/** The object that `tagged` fills, for what may hold itself. */
function emptyTagged(type) {
  switch (type) {
    case tape.EXT_SET:
      return new Set();
    case tape.EXT_ERROR:
      return new Error();
    default:
      return undefined;
  }
}

function error([name, message = '', cause, errors], target) {
  if (typeof name !== 'string') throw new TypeError('The name of an error is a string');
  const Class = Object.hasOwn(ERRORS, name) ? ERRORS[name] : Error;
  const made = target ?? (Class === AggregateError ? new Class([], message) : new Class(message));
  if (target !== undefined) {
    Object.setPrototypeOf(target, Class.prototype);
    own(target, 'message', String(message));
  }
  if (Class.prototype.name !== name) own(made, 'name', name);
  if (cause !== undefined) own(made, 'cause', cause);
  if (errors !== undefined || Class === AggregateError) own(made, 'errors', errors ?? []);
  return made;
}

/** As the language adds them: not to be enumerated. */
function own(o, key, value) {
  Object.defineProperty(o, key, { value, writable: true, enumerable: false, configurable: true });
}

/** A typed array over memory of its own, aligned as it must be. */
function typed(bytes, code) {
  const View = TYPED_ARRAYS[code];
  if (View === undefined && code !== ARRAY_BUFFER && code !== DATA_VIEW) {
    throw new RangeError(`${code} is the code of no typed array`);
  }
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  if (View !== undefined) return new View(copy.buffer);
  return code === ARRAY_BUFFER ? copy.buffer : new DataView(copy.buffer);
}

/** Two's complement, the highest byte first. */
function bigint(bytes) {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`));
}

/** The text that a key of any kind has, for what takes msgpackr's place. */
function keyText(key, { allowArraysInMapKeys }) {
  if (typeof key !== 'object' || key === null) return String(key);
  if (allowArraysInMapKeys && Array.isArray(key)) {
    const parts = key.flat(Number.POSITIVE_INFINITY);
    if (parts.every((part) => KEY_PARTS.has(typeof part))) return parts.toString();
  }
  throw new MsgpackError('ERR_MSGPACK_KEY', 'A map has a key that has no text');
}

const KEY_PARTS = new Set(['string', 'number', 'boolean', 'bigint']);

module.exports = { bigint, emptyTagged, keyText, tagged, typed };
