// What a call comes to, in a form that can be compared with what another call comes to.
import { checkError, CODES } from '../../__test__/helpers.mjs';

const ALL_CODES = [...CODES, 'ERR_MSGPACK_JSON'];

/** What may be thrown besides: an error of the case itself, or for an argument. */
export class Boom extends Error {}

/** The value, or the documented error; with `fine` an argument may be what it likes. */
function told(error, fine) {
  if (fine && (error instanceof Boom || error instanceof TypeError)) return { error };
  checkError(error, ALL_CODES);
  const { code, offset, line, column } = error;
  return { error: { code, offset, line, column } };
}

export function outcome(fn, fine = false) {
  try {
    return { value: fn() };
  } catch (error) {
    return told(error, fine);
  }
}

/** The same of a promise, and of a call that should have returned one. */
export async function settled(fn, fine = false) {
  try {
    return { value: await fn() };
  } catch (error) {
    return told(error, fine);
  }
}
