// JSON to MessagePack and back, and the functions that return promises: against JSON, pack and
// unpack where they have to agree, and beside themselves where only an error is documented.
import { setImmediate as turn, setTimeout as after } from 'node:timers/promises';
import { sameBytes } from '../../../__test__/helpers.mjs';
import {
  Ext,
  jsonToMsgpack,
  jsonToMsgpackAsync,
  msgpackToJson,
  msgpackToJsonAsync,
  pack,
  Timestamp,
  unpack,
  unpackAsync,
  validate,
  validateAsync,
} from '../../../index.js';
import { actingOptions, hostileInput, viewOf } from '../acting.mjs';
import { depthOf, hasTooLarge, jsonText, mutated, parsed } from '../json.mjs';
import { Boom, outcome, settled } from '../outcome.mjs';
import { UNPACK_OPTIONS } from '../random.mjs';
import { same } from '../same.mjs';

const BINARY = ['base64', 'hex', 'array'];
const SPACES = [0, 1, 2, 10, 11, 20, '', '\t', '  ', ' \r\n\t'];
const ODD_SPACES = ['"', 'é', 'a long indentation', '\ud83d\ude00'];
const FROM_OPTIONS = {
  binary: BINARY,
  exts: [true, false],
  maxDepth: [1, 2, 3, 5, 100, Infinity],
  multiple: [true, false],
  utf8: ['replace', 'fatal'],
};
const TO_OPTIONS = {
  binary: BINARY,
  maxDepth: [1, 2, 3, 5, 100, Infinity],
  multiple: [true, false],
  nonFinite: ['null', 'throw'],
  space: SPACES,
  utf8: ['replace', 'fatal'],
};

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A call after an error is right. */
function transcodes() {
  const message = jsonToMsgpack('{"a":[1,2.5,"é"],"b":{}}');
  same(message.toString('hex'), '82a1619301cb4004000000000000a2c3a9a16280');
  same(msgpackToJson(message).toString(), '{"a":[1,2.5,"é"],"b":{}}');
}

// ── What JSON and pack say of the same value

/** A value that JSON has. */
const jsonPlain = (random) => JSON.parse(JSON.stringify(random.plain()));

function values(random) {
  const value = jsonPlain(random);
  const space = random.pick([...SPACES, ...ODD_SPACES]);
  const text = JSON.stringify(value, null, space);
  // Indented by what is no white space it is no JSON.
  const read = ODD_SPACES.includes(space) ? JSON.stringify(value) : text;
  sameBytes(jsonToMsgpack(read), pack(value));
  sameBytes(jsonToMsgpack(viewOf(random, Buffer.from(read))), pack(value), 'of bytes');
  same(msgpackToJson(viewOf(random, pack(value)), { space }).toString(), text);
}

// ── Texts: what JSON.parse takes is taken, and nothing else

/** A fault is at a byte, and in the line and column where that is; what is before it is right. */
function checkPlace({ offset, line, column }, bytes, options) {
  if (!(offset >= 0 && offset <= bytes.length)) throw new Error(`offset ${offset}`);
  const before = bytes.subarray(0, offset);
  const lines = decoder.decode(before).split('\n');
  same({ line, column }, { line: lines.length, column: lines.at(-1).length + 1 });
  const { error } = outcome(() => jsonToMsgpack(before, options));
  if (error !== undefined) same(error.offset, offset);
}

function readsText(input, bytes, options) {
  const { value, error } = outcome(() => jsonToMsgpack(input, options));
  const text = decoder.decode(bytes);
  const expected = parsed(text);
  if (error !== undefined) {
    transcodes();
    checkPlace(error, bytes, options);
    const depth = options.maxDepth ?? 1000;
    const isFine =
      expected === undefined ||
      (error.code === 'ERR_MSGPACK_JSON' && hasTooLarge(text)) ||
      (error.code === 'ERR_MSGPACK_DEPTH' && depthOf(text) > depth) ||
      (error.code === 'ERR_MSGPACK_INVALID_UTF8' &&
        options.utf8 === 'fatal' &&
        text.includes('\ufffd'));
    if (!isFine)
      throw new Error(`${error.code} at ${error.offset} of a text that is right: ${text}`);
    return;
  }
  if (expected === undefined) throw new Error(`a text that is none was taken: ${text}`);
  if (depthOf(text) > (options.maxDepth ?? 1000)) throw new Error('too deep, and taken');
  if (options.exts) return;
  same(unpack(value, { int64: 'number', maxDepth: Infinity }), expected.value);
  // By the other way through the text.
  if (!text.includes('$ext')) sameBytes(jsonToMsgpack(input, { ...options, exts: true }), value);
}

function texts(random) {
  const { multiple: _, ...options } = random.choose(FROM_OPTIONS);
  let text = jsonText(random);
  if (random.oneIn(2)) text = mutated(random, text);
  let bytes = Buffer.from(text);
  readsText(text, bytes, { ...options, exts: false });
  if (random.oneIn(2)) bytes = random.damage(bytes);
  readsText(viewOf(random, bytes), bytes, { ...options, exts: false });
  outcome(() => jsonToMsgpack(bytes, options));
}

/** Many texts, one behind the other, are the messages of each. */
function manyTexts(random) {
  const all = random.many(random.below(6), () => jsonText(random, 2));
  const options = random.oneIn(2) ? { exts: true, binary: random.pick(BINARY) } : {};
  const each = all.map((text) => outcome(() => jsonToMsgpack(text, options)));
  const whole = outcome(() => jsonToMsgpack(all.join('\n'), { ...options, multiple: true }));
  const failed = each.findIndex(({ error }) => error !== undefined);
  if (failed === -1) {
    sameBytes(whole.value, Buffer.concat(each.map(({ value }) => value)));
  } else {
    const before = Buffer.byteLength(all.slice(0, failed).join('\n')) + (failed > 0 ? 1 : 0);
    same(whole.error?.code, each[failed].error.code);
    same(whole.error.offset, before + each[failed].error.offset);
  }
  outcome(() => jsonToMsgpack(mutated(random, all.join(' ')), { multiple: true }));
}

// ── Messages: what unpack takes is taken, and says the same

class Twice extends Error {}

/** The value that JSON.parse makes of the text of a value; throws for keys that are one there. */
function jsonValue(value, binary) {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (Buffer.isBuffer(value)) return binary === 'array' ? [...value] : value.toString(binary);
  if (value instanceof Ext) return { $ext: value.type, data: jsonValue(value.data, binary) };
  if (Array.isArray(value)) return value.map((item) => jsonValue(item, binary));
  if (!(value instanceof Map)) return value;
  const result = {};
  for (const [key, inner] of value) {
    const name = keyText(key, binary);
    if (Object.hasOwn(result, name)) throw new Twice();
    Object.defineProperty(result, name, {
      value: jsonValue(inner, binary),
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return result;
}

function keyText(key, binary) {
  if (typeof key === 'string') return key;
  if (typeof key === 'bigint') return String(key);
  const value = jsonValue(key, binary);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A timestamp has a text of its own. */
function hasTime(value) {
  if (value instanceof Map) return [...value].flat().some(hasTime);
  return Array.isArray(value) ? value.some(hasTime) : value instanceof Timestamp;
}

function hasNonFinite(value) {
  if (value instanceof Map) return [...value].flat().some(hasNonFinite);
  if (Array.isArray(value)) return value.some(hasNonFinite);
  return typeof value === 'number' && !Number.isFinite(value);
}

function readsMessage(message, input, options) {
  const { maxDepth, multiple: _, ...rest } = options;
  const { value, error } = outcome(() => msgpackToJson(input, { maxDepth, ...rest }));
  const asMaps = { maps: 'map', maxDepth, timestamps: 'timestamp', utf8: rest.utf8 };
  const whole = outcome(() => unpack(message, asMaps));
  if (error !== undefined) {
    transcodes();
    // Which unpack does not look for.
    if (error.code === 'ERR_MSGPACK_KEY') return;
    if (error.code === 'ERR_MSGPACK_JSON') {
      same(rest.nonFinite, 'throw');
      if (whole.error === undefined) same(hasNonFinite(whole.value), true);
      return;
    }
    same(error, { ...whole.error, line: undefined, column: undefined }, whole.value);
    return;
  }
  if (whole.error !== undefined) throw new Error(`taken, but not by unpack: ${whole.error.code}`);
  const text = value.toString();
  sameBytes(Buffer.from(text), value, 'UTF-8');
  const back = JSON.parse(text);
  if (hasTime(whole.value)) return;
  try {
    same(back, jsonValue(whole.value, rest.binary ?? 'base64'));
  } catch (twice) {
    if (!(twice instanceof Twice)) throw twice;
  }
  // Once there and back everything is in its shortest form, and stays.
  const deep = { maxDepth: Infinity };
  const once = jsonToMsgpack(value, deep);
  sameBytes(jsonToMsgpack(msgpackToJson(once, { ...deep, space: rest.space }), deep), once);
}

function messages(random) {
  const options = random.choose(TO_OPTIONS);
  let message = random.oneIn(3) ? pack([random.value()]) : random.message();
  if (random.oneIn(2)) message = random.damage(message);
  readsMessage(message, viewOf(random, message), options);
  const { maxDepth, utf8 } = options;
  const all = { maps: 'map', maxDepth, multiple: true, timestamps: 'timestamp', utf8 };
  const count = outcome(() => validate(message, all));
  const lines = outcome(() => msgpackToJson(message, { maxDepth, multiple: true, utf8 }));
  if (lines.error?.code === 'ERR_MSGPACK_KEY') return;
  same(lines.error, count.error);
  same(lines.value?.toString().split('\n').length, count.value && 1 + count.value.values);
}

/** An ext comes back with `exts`, in each of its forms. */
function exts(random) {
  const binary = random.pick(BINARY);
  const leaf = () =>
    random.oneIn(2)
      ? new Ext(random.below(127), Buffer.from(random.bytes(random.below(40))))
      : jsonPlain(random);
  const message = pack(random.many(random.below(20), leaf));
  const json = msgpackToJson(message, { binary, space: random.pick([0, 2]) });
  sameBytes(jsonToMsgpack(json, { binary, exts: true, maxDepth: Infinity }), message);
}

// ── Promises

const CALLS = [
  { later: jsonToMsgpackAsync, now: jsonToMsgpack, takesText: true, options: FROM_OPTIONS },
  { later: msgpackToJsonAsync, now: msgpackToJson, options: TO_OPTIONS },
  { later: unpackAsync, now: unpack, options: UNPACK_OPTIONS },
  { later: validateAsync, now: validate, options: { ...UNPACK_OPTIONS, multiple: [true, false] } },
];

function inputOf(random, takesText) {
  if (!takesText) return random.oneIn(2) ? random.damage(random.message()) : pack([random.value()]);
  const text = jsonText(random);
  return Buffer.from(random.oneIn(2) ? mutated(random, text) : text);
}

/** The promise comes to what the call without one comes to, though the input changes meanwhile. */
async function promised(random) {
  const call = random.pick(CALLS);
  const bytes = inputOf(random, call.takesText);
  const options = random.choose(call.options);
  const expected = outcome(() => call.now(Buffer.from(bytes), options));
  const asText = call.takesText && random.oneIn(2);
  // As a string it is well-formed, whatever the bytes are.
  const input = asText ? bytes.toString() : viewOf(random, bytes);
  const result = settled(() => call.later(input, options));
  if (!asText) new Uint8Array(input.buffer ?? input).fill(0xc1);
  const found = await result;
  same(found.error, expected.error);
  same(found.value, expected.value);
}

/** Many at once, of which some are aborted; what is said of the others is right. */
async function crowd(random) {
  await Promise.all(random.many(1 + random.below(24), () => aborted(random)));
  same(await unpackAsync(pack([1, 'a'])), [1, 'a']);
}

async function aborted(random) {
  const call = random.pick(CALLS);
  const bytes = inputOf(random, call.takesText);
  const expected = outcome(() => call.now(Buffer.from(bytes)));
  const controller = new AbortController();
  const { signal } = controller;
  const reason = random.pick([undefined, new Boom('aborted'), null, 'a text']);
  const abort = () => controller.abort(reason);
  const when = random.below(7);
  if (when === 0) abort();
  let result;
  const later = call.later(bytes, { signal }).then(
    (value) => {
      result = { value };
    },
    (error) => {
      result = { error };
    },
  );
  if (when === 1) abort();
  if (when === 2) queueMicrotask(abort);
  if (when === 3) setImmediate(abort);
  if (when === 4) after(random.below(3)).then(abort);
  await later;
  if (when === 5) abort();
  if (signal.aborted && result.error === signal.reason && 'error' in result) return;
  if (when < 2) throw new Error('not rejected with the reason of the signal');
  if ('error' in result) same(result.error.code, expected.error?.code);
  else same(result.value, expected.value, expected.error);
}

/** A signal that is none, but looks like one. */
function actingSignal(random, act) {
  const acting = (result) => () => {
    act();
    return result;
  };
  const signal = new EventTarget();
  const { addEventListener, removeEventListener } = signal;
  return Object.assign(signal, {
    aborted: random.oneIn(6),
    reason: new Boom('aborted'),
    throwIfAborted: acting(),
    addEventListener(...listener) {
      act();
      addEventListener.apply(signal, listener);
    },
    removeEventListener(...listener) {
      act();
      removeEventListener.apply(signal, listener);
    },
  });
}

// ── Inputs and options that act

async function hostile(random) {
  const call = random.pick(CALLS);
  const { act, input } = hostileInput(random, inputOf(random, call.takesText));
  const options = actingOptions(random, random.choose(call.options), act);
  outcome(() => call.now(input, options), true);
  transcodes();
  const withSignal = random.oneIn(2)
    ? { ...random.choose(call.options), signal: actingSignal(random, act) }
    : options;
  const pending = settled(() => call.later(input, withSignal), true);
  try {
    act();
  } catch {}
  if (random.oneIn(4)) await turn();
  await pending;
  transcodes();
  // The next of the same kind has its turn.
  same(await unpackAsync(pack([1, 'a'])), [1, 'a']);
}

export default {
  name: 'transcode',
  async run(random) {
    const cases = [values, texts, texts, manyTexts, messages, messages, exts];
    await random.pick([...cases, promised, crowd, hostile])(random);
    transcodes();
  },
};
