'use strict';

/**
 * Whether to write colours to a stream: to a terminal that has them, unless NO_COLOR says not to.
 * FORCE_COLOR says to write them anyway, and wins, as it does in Node.js.
 */
function hasColours(stream) {
  const { FORCE_COLOR: force, NO_COLOR: no, ...rest } = process.env;
  if (force !== undefined) return force !== '0' && force !== 'false';
  // An empty one says nothing, which Node.js sees otherwise.
  if (no !== undefined && no !== '') return false;
  return stream.isTTY === true && stream.hasColors(rest);
}

module.exports = { hasColours };
