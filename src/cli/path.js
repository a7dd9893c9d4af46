'use strict';

const { UsageError } = require('./arguments');

// A name without quotes ends where a step could begin.
const STEP = /\.?([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** The steps of a path such as `users[3].name`, `$.users[3]["first name"]`, or `$` for all. */
function readPath(text) {
  const steps = [];
  let at = text.startsWith('$') ? 1 : 0;
  const damaged = () => {
    const mark = at === 0 ? text : `${text.slice(0, at)} ⟶ ${text.slice(at)}`;
    return new UsageError(
      `'${mark}' is no path`,
      `A path is like users[3].name or users[3]["first name"].`,
    );
  };
  if (text === '') throw damaged();
  while (at < text.length) {
    STEP.lastIndex = at;
    const found = STEP.exec(text);
    // Only the first name may come without a point.
    if (found === null || (at > 0 && /^[^.[]/.test(found[0]))) throw damaged();
    const [step, name, index, quoted] = found;
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else {
      try {
        steps.push(JSON.parse(quoted));
      } catch {
        throw damaged();
      }
    }
    at += step.length;
  }
  return steps;
}

module.exports = { readPath };
