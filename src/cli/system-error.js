'use strict';

/** An error of the operating system, such as that a file is not there. */
const isSystemError = (error) => typeof error?.syscall === 'string';

/** Nobody reads what is written any more. Windows has a code of its own for that. */
const isClosed = (error) => error?.syscall === 'write' && ['EPIPE', 'EOF'].includes(error.code);

/** The words of the operating system, without the code and the name of the call. */
function reasonOf(error) {
  const [, words] = /^\w+: (.*?)(?:, \w+.*)?$/s.exec(error.message) ?? [null, error.message];
  return error.path === undefined ? words : `${error.path}: ${words}`;
}

module.exports = { isClosed, isSystemError, reasonOf };
