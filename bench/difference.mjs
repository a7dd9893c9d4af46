// Where two decoded values differ first, as `$.path: what`, or null. Bytes are compared as bytes,
// because peers return them in different classes, and a prototype is not looked at for that reason.

const bytesOf = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

export function difference(expected, actual) {
  const found = below(expected, actual);
  return found === null ? null : `$${found}`;
}

// The path is put together on the way back from a difference, since on the way down it would cost
// a string an element.
function below(expected, actual) {
  if (Object.is(expected, actual)) return null;
  if (typeof expected !== 'object' || typeof actual !== 'object' || !expected || !actual) {
    return `: ${describe(expected)} became ${describe(actual)}`;
  }
  if (ArrayBuffer.isView(expected)) {
    // A Buffer may come back as a Uint8Array; what is neither keeps its type.
    if (!(expected instanceof Uint8Array) && expected.constructor !== actual.constructor) {
      return `: it is no ${expected.constructor.name}`;
    }
    const same = ArrayBuffer.isView(actual) && bytesOf(expected).equals(bytesOf(actual));
    return same ? null : ': its bytes differ';
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return ': an array became an object';
    if (expected.length !== actual.length) {
      return `: ${expected.length} elements became ${actual.length}`;
    }
    for (let index = 0; index < expected.length; index += 1) {
      const found = below(expected[index], actual[index]);
      if (found !== null) return `[${index}]${found}`;
    }
    return null;
  }
  const special = OF_TYPES.find(({ type }) => expected instanceof type);
  if (special) {
    const { type } = special;
    return actual instanceof type ? special.below(expected, actual) : `: it is no ${type.name}`;
  }
  const keys = Object.keys(expected);
  const count = Object.keys(actual).length;
  if (Array.isArray(actual) || keys.length !== count)
    return `: ${keys.length} keys became ${count}`;
  for (const key of keys) {
    if (!Object.hasOwn(actual, key)) return `: the key ${JSON.stringify(key)} was lost`;
    const found = below(expected[key], actual[key]);
    if (found !== null) return `.${key}${found}`;
  }
  return null;
}

const belowEntries = (expected, actual) => {
  if (expected.size !== actual.size) return `: ${expected.size} entries became ${actual.size}`;
  return below([...expected], [...actual]);
};

// What the groups about Packr have, in the order of entries too, which the wire keeps.
const OF_TYPES = [
  { type: Map, below: belowEntries },
  { type: Set, below: belowEntries },
  { type: Date, below: (expected, actual) => below(expected.getTime(), actual.getTime()) },
  {
    type: Error,
    below(expected, actual) {
      const partsOf = ({ name, message, cause }) => [name, message, cause];
      return below(partsOf(expected), partsOf(actual));
    },
  },
];

function describe(value) {
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  return typeof value === 'object' && value ? 'an object' : String(value);
}
