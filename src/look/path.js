'use strict';

// Paths, checked, and as Rust takes them: packed, with two entries a step (see `path.rs`).

const { invalidArgument } = require('../error');

/** The steps of a path: an array of strings and numbers, or a JSON Pointer (RFC 6901). */
function stepsOf(path) {
  if (typeof path === 'string') return pointerSteps(path);
  if (Array.isArray(path)) return path;
  throw invalidArgument('A path is an array of strings and numbers, or a JSON Pointer string');
}

function pointerSteps(pointer) {
  if (pointer === '') return [];
  if (pointer[0] !== '/' || /~(?![01])/.test(pointer)) {
    const error = new TypeError(
      `A JSON Pointer is '' or starts with '/', and has '~' only in ~0 and ~1. Received ${JSON.stringify(pointer)}`,
    );
    error.code = 'ERR_INVALID_ARG_VALUE';
    throw error;
  }
  const steps = pointer.slice(1).split('/');
  if (!pointer.includes('~')) return steps;
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * The entries of a path. As names of properties, `7` and `'7'` are the same; as keys of a Map they
 * are not. The steps are read once: an array may be a proxy.
 */
function entriesOf(path, asMaps) {
  const steps = stepsOf(path);
  const entries = [];
  const { length } = steps;
  for (let i = 0; i < length; i++) {
    const step = steps[i];
    if (typeof step !== 'string' && typeof step !== 'number') {
      const shown = step === null ? 'null' : typeof step;
      throw invalidArgument(`A path consists of strings and numbers; it has ${shown} at ${i}`);
    }
    if (asMaps && typeof step === 'number') {
      entries.push(null, step);
      continue;
    }
    const text = String(step);
    // No key that was unpacked has half a character.
    if (!text.isWellFormed()) entries.push(null, null);
    else entries.push(text, asMaps ? null : numberOf(text));
  }
  return entries;
}

/** The number that has this text, or null. */
function numberOf(text) {
  const first = text.charCodeAt(0);
  const isDigit = first >= 48 && first <= 57;
  // '-', 'I' of Infinity, 'N' of NaN.
  if (!isDigit && first !== 45 && first !== 73 && first !== 78) return null;
  const number = Number(text);
  return String(number) === text ? number : null;
}

module.exports = { entriesOf };
