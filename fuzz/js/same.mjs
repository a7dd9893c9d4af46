// Deep and strict equality that says little where it holds, and enough where it does not.
import { inspect, isDeepStrictEqual } from 'node:util';

const shown = (value) => inspect(value, { depth: 4, maxArrayLength: 12, maxStringLength: 80 });

/** `error` is why there is no `expected`, where there is none. */
export function same(actual, expected, error) {
  if (error !== undefined) {
    throw new Error(`a value where there is an error: ${shown(actual)}`, { cause: error });
  }
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`another value:\n${shown(actual)}\nexpected:\n${shown(expected)}`);
}
