// Results come before times: a codec that loses data is not fast.

import { codecs } from './contenders.mjs';
import { difference } from './difference.mjs';

const [ours] = codecs;

/** What is wrong with the value that `run` returns, or null. */
function problem(value, run) {
  try {
    return difference(value, run());
  } catch (error) {
    return `threw ${error.message}`;
  }
}

/**
 * What a contender cannot bring back by itself takes it out of the comparison. What it can, we
 * must be able to exchange with it both ways, or it is a failure of ours.
 */
export function check(values, contenders) {
  const failures = new Set();
  const notSupported = {};
  const fails = (what, found) => found && failures.add(`${what}: ${found}`);

  const packed = values.map((value) => {
    let bytes;
    const trip = () => ours.unpack((bytes = ours.pack(value)));
    fails('unpack of what we packed', problem(value, trip));
    return bytes;
  });
  for (const other of contenders.filter(({ kind }) => kind !== 'ours')) {
    for (const [index, value] of values.entries()) {
      let bytes;
      const alone = problem(value, () => other.unpack((bytes = other.pack(value))));
      if (alone) {
        notSupported[other.name] = alone;
        break;
      }
      // The same bytes both ways leave nothing to exchange, and large values are slow to compare.
      if (other.kind !== 'peer' || packed[index]?.equals(bytes)) continue;
      fails(
        `${other.name} reads what we packed`,
        problem(value, () => other.unpack(packed[index])),
      );
      fails(
        `unpack of what ${other.name} packed`,
        problem(value, () => ours.unpack(bytes)),
      );
    }
  }
  return { failures: [...failures], notSupported };
}
