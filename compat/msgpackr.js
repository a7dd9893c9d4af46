// The interface of msgpackr 2 over the codec of msgpack-rs: its names, options and defaults. What
// differs is listed in docs/compat-msgpackr.md.

const { isAnyArrayBuffer } = require('node:util').types;
const { createCodec } = require('../src/codec');
const { invalidOption } = require('../src/error');
const { createMsgpackrStreams } = require('../src/stream/of-msgpackr');

const NEVER = 0;
const ALWAYS = 1;
const DECIMAL_ROUND = 3;
const DECIMAL_FIT = 4;
const FLOAT32 = new Map([
  [NEVER, false],
  [ALWAYS, 'always'],
  [DECIMAL_ROUND, 'round'],
  [DECIMAL_FIT, 'fit'],
]);
const INT64_TYPES = ['bigint', 'number', 'string', 'auto'];

/** Modes of pack; the low byte beside RESERVE_START_SPACE is the number of bytes. */
const REUSE_BUFFER_MODE = 512;
const RESET_BUFFER_MODE = 1024;
const RESERVE_START_SPACE = 2048;

const MAX_SHARED_STRUCTURES = 8160;
const MAX_STRUCTURES = 8192;
/** How many sequential instances define before they start again. */
const SEQUENTIAL_STRUCTURES = 32;

/** msgpackr stops where the call stack does, which is before this. */
const MAX_DEPTH = 10_000;

/** Results start at a multiple of this in the buffer given to useBuffer. */
const ALIGN = 8;

/** The options that are on or off, by the name of the setting that they are. */
const SWITCHES = [
  ['sequential', 'sequential'],
  ['copyBuffers', 'copyBuffers'],
  ['freezeData', 'freeze'],
  ['useTimestamp32', 'useTimestamp32'],
  ['largeBigIntToFloat', 'largeBigIntToFloat'],
  ['largeBigIntToString', 'largeBigIntToString'],
  ['useBigIntExtension', 'useBigIntExtension'],
  ['coercibleKeyAsNumber', 'coercibleKeyAsNumber'],
  ['allowArraysInMapKeys', 'allowArraysInMapKeys'],
  ['mapAsEmptyObject', 'mapAsEmptyObject'],
  ['setAsEmptyObject', 'setAsEmptyObject'],
];
const FUNCTIONS = [
  'getStructures',
  'saveStructures',
  'shouldShareStructure',
  'onInvalidDate',
  'writeFunction',
];
const LIMITS = [
  ['maxSharedStructures', MAX_SHARED_STRUCTURES],
  ['maxOwnStructures', MAX_STRUCTURES],
];
const OPTIONS = [
  ...SWITCHES.map(([name]) => name),
  ...FUNCTIONS,
  ...LIMITS.map(([name]) => name),
  'useRecords',
  'mapsAsObjects',
  'moreTypes',
  'structuredClone',
  'variableMapSize',
  'useFloat32',
  'useToJSON',
  'int64AsType',
  'int64AsNumber',
  'encodeUndefinedAsNil',
  'skipValues',
  // Without an effect here: strings are written in their place.
  'bundleStrings',
];

const given = (value) => value !== undefined && value !== null;

/** What the options of an instance mean to the codec. */
function settingsOf(instance, structures) {
  const { useRecords, mapsAsObjects, structuredClone } = instance;
  const settings = {
    compat: true,
    maxDepth: MAX_DEPTH,
    useRecords: typeof useRecords === 'function' ? useRecords : useRecords !== false,
    maps: (mapsAsObjects ?? useRecords === false) ? 'object' : 'map',
    moreTypes: Boolean(instance.moreTypes ?? structuredClone),
    variableMapSize: Boolean(instance.variableMapSize),
    undefinedAs: instance.encodeUndefinedAsNil ? 'nil' : 'undefined',
    float32: float32Of(instance.useFloat32),
    int64: int64Of(instance),
  };
  // Left out, objects that come again are written again, but read; `false` refuses to read them.
  if (given(structuredClone)) settings.structuredClone = Boolean(structuredClone);
  if (given(instance.useToJSON)) settings.useToJSON = Boolean(instance.useToJSON);
  for (const [name, setting] of SWITCHES) if (instance[name]) settings[setting] = true;
  for (const name of FUNCTIONS) {
    if (!given(instance[name])) continue;
    if (typeof instance[name] !== 'function') {
      throw invalidOption(name, instance[name], 'a function');
    }
    settings[name] = (...args) => instance[name](...args);
  }
  if (given(instance.skipValues)) {
    if (typeof instance.skipValues.includes !== 'function') {
      throw invalidOption('skipValues', instance.skipValues, 'an array, or have a method includes');
    }
    settings.skipValues = instance.skipValues;
  }
  if (given(structures)) {
    if (!Array.isArray(structures)) throw invalidOption('structures', structures, 'an array');
    settings.structures = structures;
  }
  for (const [name, max] of LIMITS) {
    const value = instance[name];
    if (!given(value)) continue;
    if (!Number.isInteger(value) || value < 0 || value > max) {
      throw invalidOption(name, value, `an integer from 0 to ${max}`);
    }
    settings[name] = value;
  }
  if (settings.sequential) settings.maxOwnStructures ??= SEQUENTIAL_STRUCTURES;
  const { maxSharedStructures: shared = 0, maxOwnStructures: own = 0 } = settings;
  if (shared + own > MAX_STRUCTURES) {
    const room = MAX_STRUCTURES - shared;
    throw invalidOption('maxOwnStructures', own, `at most ${room} beside maxSharedStructures`);
  }
  return settings;
}

function float32Of(value) {
  if (!given(value)) return false;
  const mode = FLOAT32.get(Number(value));
  if (mode === undefined) throw invalidOption('useFloat32', value, 'one of FLOAT32_OPTIONS');
  return mode;
}

function int64Of({ int64AsType, int64AsNumber }) {
  if (!given(int64AsType)) return int64AsNumber ? 'number' : 'bigint';
  if (INT64_TYPES.includes(int64AsType)) return int64AsType;
  throw invalidOption('int64AsType', int64AsType, `one of '${INT64_TYPES.join("', '")}'`);
}

/** All that were added, for the instances that there are and those to come. */
const extensions = [];

/** What a function of an extension threw, which is for its caller as it is. */
const thrownByExtension = new WeakSet();

function passing(extension, name) {
  return (value) => {
    try {
      return extension[name](value);
    } catch (error) {
      if (Object(error) === error) thrownByExtension.add(error);
      throw error;
    }
  };
}

function addExtension(extension) {
  const { Class, type } = extension;
  const out = ['write', 'pack'].find((name) => extension[name]);
  const back = ['unpack', 'read'].find((name) => extension[name]);
  if (Class && typeof Class !== 'function') throw new TypeError('The Class must be a class');
  if (Class && !out) throw new Error('Extension has no pack or write function');
  if (given(type) && !(Number.isInteger(type) && type >= -128 && type <= 255)) {
    throw new TypeError(`The type must be an integer from 0 to 255, not ${String(type)}`);
  }
  if (!out && !back) return;
  if (!given(type) && out !== 'write') {
    throw new Error('Extension has no type (numeric code to identify the extension)');
  }
  if ((out === 'pack' && back === 'read') || (out === 'write' && back === 'unpack')) {
    throw new Error(`An extension that has ${out} cannot have ${back}`);
  }
  const added = {};
  if (Class) added.Class = Class;
  // MessagePack's types are signed.
  if (given(type)) added.type = (type << 24) >> 24;
  if (Class && out) added[out] = passing(extension, out);
  if (given(type) && back) added[back] = passing(extension, back);
  extensions.push(added);
}

/** The error as users of msgpackr know it. */
function told(error) {
  if (error?.code === 'ERR_MSGPACK_TRUNCATED') error.incomplete = true;
  if (error?.code !== 'ERR_MSGPACK_EXTENSION') return error;
  return thrownByExtension.has(Object(error.cause)) ? error.cause : error;
}

/** Tells where unpackMultiple stopped. */
function stopped(error, lastPosition, values) {
  if (Object(error) === error && Object.isExtensible(error)) {
    error.lastPosition = lastPosition;
    if (values !== undefined) error.values = values;
  }
  return told(error);
}

/** The part of `bytes` that the second argument of unpack asks for. */
function part(bytes, start, end) {
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  return view.subarray(start, end);
}

const isBytes = (value) => ArrayBuffer.isView(value) || isAnyArrayBuffer(value);

/** The codec of an instance; a function taken off its instance has that of the module. */
let codecOf;

class Unpackr {
  #options = {};
  /** The array that was given, if any. */
  #structures;
  #codec = null;
  /** How many of the extensions the codec has. */
  #extended = 0;

  static {
    codecOf = (self) => {
      const instance = Object(self) === self && #codec in self ? self : standard;
      if (instance.#codec === null) {
        instance.#codec = createCodec(settingsOf(instance, instance.#structures));
        instance.#extended = 0;
      }
      while (instance.#extended < extensions.length) {
        instance.#codec.addExtension(extensions[instance.#extended++]);
      }
      return instance.#codec;
    };

    // An option is also a property, which can be set until the end.
    for (const name of OPTIONS) {
      Object.defineProperty(Unpackr.prototype, name, {
        configurable: true,
        get() {
          return this.#options[name];
        },
        set(value) {
          const before = this.#options;
          this.#options = { ...before, [name]: value };
          try {
            settingsOf(this, this.#structures);
          } catch (error) {
            this.#options = before;
            throw error;
          }
          this.#codec = null;
        },
      });
    }
  }

  constructor(options) {
    const all = Object(options);
    for (const name of OPTIONS) if (all[name] !== undefined) this.#options[name] = all[name];
    this.#structures = all.structures;
    settingsOf(this, this.#structures);
    // The rest belongs to the functions among the options, whose `this` is the instance.
    for (const name of Object.keys(all)) if (!(name in this)) this[name] = all[name];
  }

  get structures() {
    return codecOf(this).structures;
  }

  set structures(structures) {
    settingsOf(this, structures);
    this.#structures = structures;
    this.#codec?.setStructures(structures ?? []);
  }

  unpack(bytes, options) {
    const codec = codecOf(this);
    let start = 0;
    try {
      if (options === undefined || !isBytes(bytes)) return codec.unpack(bytes);
      start = Math.max(0, Number(options?.start ?? 0)) || 0;
      const end = Number(typeof options === 'object' ? (options?.end ?? -1) : options);
      return codec.unpack(part(bytes, start, end >= 0 ? end : undefined));
    } catch (error) {
      if (start > 0 && error?.offset !== undefined) error.offset += start;
      throw told(error);
    }
  }

  unpackMultiple(bytes, forEach) {
    const codec = codecOf(this);
    if (forEach) {
      eachOf(codec, bytes, forEach);
      return;
    }
    const values = [];
    if (!this?.sequential) {
      try {
        return codec.unpackMultiple(bytes);
      } catch {
        // Once more, one by one, for what came before.
      }
    }
    eachOf(codec, bytes, (value) => values.push(value), values);
    return values;
  }

  decode(bytes, options) {
    return this.unpack(bytes, options);
  }
}

function eachOf(codec, bytes, forEach, values) {
  const length = isBytes(bytes) ? bytes.byteLength : 1;
  let start = 0;
  try {
    while (start < length) {
      const { value, end } = codec.unpackFrom(bytes, start, start > 0);
      if (forEach(value, start, end) === false) return;
      start = end;
    }
  } catch (error) {
    throw stopped(error, start, values);
  }
}

class Packr extends Unpackr {
  /** The buffer of useBuffer, and where the next result goes in it. */
  #target = null;
  #position = 0;
  /** Where the last result ends in it. */
  offset = 0;

  constructor(options) {
    super(options);
    const pack = (value, mode) => {
      let bytes;
      try {
        bytes = codecOf(this).pack(value);
      } catch (error) {
        throw told(error);
      }
      return mode === undefined && this.#target === null ? bytes : this.#place(bytes, mode);
    };
    this.pack = pack;
    this.encode = pack;
  }

  #place(bytes, mode) {
    const reserved = mode & RESERVE_START_SPACE ? mode & 0xff : 0;
    const length = reserved + bytes.length;
    const start = (this.#position + ALIGN - 1) & -ALIGN;
    let result = bytes;
    if (this.#target !== null && length <= this.#target.length - start) {
      result = this.#target.subarray(start, start + length);
      this.offset = start + length;
      this.#position = mode & RESET_BUFFER_MODE ? start : this.offset;
    } else if (reserved > 0) {
      result = Buffer.allocUnsafe(length);
    }
    if (result !== bytes) {
      result.fill(0, 0, reserved);
      result.set(bytes, reserved);
    }
    if (mode & REUSE_BUFFER_MODE) {
      result.start = 0;
      result.end = length;
    }
    return result;
  }

  useBuffer(buffer) {
    this.#target = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    this.#position = 0;
  }

  get position() {
    return this.#position;
  }

  set position(position) {
    this.#position = position;
  }

  clearSharedData() {}
}

const standard = new Packr({ useRecords: false });

const streams = createMsgpackrStreams({ Packr, Unpackr, codecOf, told });

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** A number as DECIMAL_ROUND would read it: its first decimal digits, as many as float 32 has. */
function roundFloat32(number) {
  const value = Number(number);
  if (!Number.isFinite(value) || value === 0) return value;
  float[0] = value;
  const exponent = (bits[0] >>> 23) & 0xff;
  const scale = Number(`1e${Math.floor(45.15 - exponent * 0.30103)}`);
  return Math.trunc(value * scale + (value > 0 ? 0.5 : -0.5)) / scale;
}

/** What msgpackr gives for the byte 0xc1; here that is an error. */
class C1Type {}
const C1 = new C1Type();
C1.name = 'MessagePack 0xC1';

module.exports.Packr = Packr;
module.exports.Encoder = Packr;
module.exports.Unpackr = Unpackr;
module.exports.Decoder = Unpackr;
module.exports.pack = standard.pack;
module.exports.encode = standard.pack;
module.exports.unpack = (bytes, options) => standard.unpack(bytes, options);
module.exports.decode = module.exports.unpack;
module.exports.PackrStream = streams.PackrStream;
module.exports.EncoderStream = streams.PackrStream;
module.exports.UnpackrStream = streams.UnpackrStream;
module.exports.DecoderStream = streams.UnpackrStream;
module.exports.encodeIter = streams.encodeIter;
module.exports.decodeIter = streams.decodeIter;
module.exports.unpackMultiple = (bytes, forEach) => standard.unpackMultiple(bytes, forEach);
module.exports.addExtension = addExtension;
module.exports.clearSource = () => {};
module.exports.roundFloat32 = roundFloat32;
module.exports.C1 = C1;
module.exports.FLOAT32_OPTIONS = { NEVER, ALWAYS, DECIMAL_ROUND, DECIMAL_FIT };
module.exports.NEVER = NEVER;
module.exports.ALWAYS = ALWAYS;
module.exports.DECIMAL_ROUND = DECIMAL_ROUND;
module.exports.DECIMAL_FIT = DECIMAL_FIT;
module.exports.REUSE_BUFFER_MODE = REUSE_BUFFER_MODE;
module.exports.RESET_BUFFER_MODE = RESET_BUFFER_MODE;
module.exports.RESERVE_START_SPACE = RESERVE_START_SPACE;
module.exports.isNativeAccelerationEnabled = true;
module.exports.useRecords = false;
module.exports.mapsAsObjects = true;
