'use strict';

// Whether this process may compile code from strings: not under a content security policy or
// --disallow-code-generation-from-strings. Asked once; the general routines serve where it may not.

function allowed() {
  try {
    return new Function('return true')();
  } catch {
    return false;
  }
}

module.exports = { canCompile: allowed() };
