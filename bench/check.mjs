// Results come before times: a codec that loses data is not fast.

import { difference } from './difference.mjs';

/** What is wrong with the value that `unpack` makes of bytes, or null. */
function problem(value, unpack, bytes) {
  if (bytes === undefined) return 'cannot be packed';
  try {
    return difference(value, unpack(bytes));
  } catch (error) {
    return `threw ${error.message}`;
  }
}

function packedBy(pack, value) {
  try {
    return pack(value);
  } catch {
    return undefined;
  }
}

/**
 * What a contender cannot bring back by itself takes it out of the comparison. What it can, we
 * must be able to exchange with it both ways, or it is a failure of ours.
 */
export function check(values, contenders) {
  const ours = contenders.find(({ kind }) => kind === 'ours');
  const failures = new Map();
  const notSupported = {};
  // The first of each kind: what is wrong in one value is mostly wrong in the rest.
  const exchange = (what, found) => found && !failures.has(what) && failures.set(what, found);

  const packed = values.map((value) => packedBy(ours.pack, value));
  for (const [index, value] of values.entries()) {
    exchange('unpack of what we packed', problem(value, ours.unpack, packed[index]));
  }
  for (const other of contenders.filter(({ kind }) => kind !== 'ours')) {
    const packedByOther = values.map((value) => packedBy(other.pack, value));
    // Made when all is packed, since only then all structures are known.
    const [ourReader, otherReader] = [ours, other].map(
      (one) => one.readerOfOthers?.() ?? one.unpack,
    );
    for (const [index, value] of values.entries()) {
      const mine = packed[index];
      const theirs = packedByOther[index];
      const alone = problem(value, other.unpack, theirs);
      if (alone && !other.isOurs) {
        notSupported[other.name] = alone;
        break;
      }
      exchange(other.name, alone);
      if (other.isSame && !mine?.equals(theirs)) exchange(other.name, 'packed other bytes');
      // The same bytes both ways leave nothing to exchange, and large values are slow to compare.
      if (other.kind !== 'peer' || (mine?.equals(theirs) && !other.readerOfOthers)) continue;
      exchange(`${other.name} reads what we packed`, problem(value, otherReader, mine));
      exchange(`unpack of what ${other.name} packed`, problem(value, ourReader, theirs));
    }
  }
  return { failures: [...failures].map((pair) => pair.join(': ')), notSupported };
}
