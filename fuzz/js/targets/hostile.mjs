// Objects and extensions that act while they are packed or unpacked: they throw, call back, change,
// resize, detach and delete what is being walked, and collect garbage.
import { checkError, stillWorks } from '../../../__test__/helpers.mjs';
import { PACKR_CODES } from '../../../__test__/packr-helpers.mjs';
import { RefError, refUnpack } from '../../../__test__/reference.mjs';
import {
  Ext,
  pack,
  packInto,
  packParts,
  Packr,
  unpack,
  unpackFrom,
  unpackIter,
  unpackMultiple,
} from '../../../index.js';
import { PACK_OPTIONS, PACKR_OPTIONS, UNPACK_OPTIONS } from '../random.mjs';

class Boom extends Error {}

const transfer = (buffer) => structuredClone(buffer, { transfer: [buffer] });

/** One case: the value's parts, and what may happen to them. */
class Scene {
  constructor(random) {
    this.random = random;
    this.objects = [];
    this.buffers = [];
    this.budget = 40;
    this.depth = 0;
    this.codec = undefined;
    /** Whether a proxy may break the rules of the language, which then throws by itself. */
    this.lies = false;
  }

  /** Something bad; whatever it throws besides Boom is caught. */
  act() {
    if (this.budget-- <= 0 || this.depth > 3) return;
    this.depth++;
    try {
      this.random.pick(ACTS)(this);
    } catch (error) {
      if (error instanceof Boom) throw error;
    } finally {
      this.depth--;
    }
  }

  anObject() {
    return this.random.pick(this.objects) ?? {};
  }

  trap(result) {
    const { random } = this;
    const act = () => {
      this.act();
      return random.oneIn(6) ? random.value() : result;
    };
    switch (random.below(7)) {
      case 0:
        return { toJSON: act };
      case 1:
        return new Proxy({ a: 1, b: result }, this.proxyTraps());
      case 2:
        return new Proxy([1, result], this.proxyTraps());
      case 3: {
        const map = new Map([['a', { toJSON: act }]]);
        map[Symbol.iterator] = act;
        this.objects.push(map);
        return map.set('b', { toJSON: act });
      }
      case 4: {
        const set = new Set([1, { toJSON: act }, 2]);
        this.objects.push(set);
        return set;
      }
      case 5:
        return Object.assign(new (class Acting {})(), {
          get: { toJSON: act },
        });
      default:
        return Object.defineProperty({ a: 1 }, random.key(), {
          get: act,
          enumerable: true,
          configurable: true,
        });
    }
  }

  proxyTraps() {
    const through =
      (name) =>
      (target, ...rest) => {
        this.act();
        if (this.random.oneIn(12)) {
          this.lies = true;
          return this.random.pick([
            undefined,
            [],
            ['a', 'a', 'q'],
            { value: 1 },
            5,
            'x'.repeat(40),
          ]);
        }
        return Reflect[name](target, ...rest);
      };
    const names = ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf'];
    return Object.fromEntries(names.map((name) => [name, through(name)]));
  }

  buffer() {
    const { random } = this;
    const size = random.pick([0, 1, 8, 100, 5000, 40_000]);
    const buffer = new ArrayBuffer(size, random.oneIn(2) ? { maxByteLength: 2 * size } : undefined);
    this.buffers.push(buffer);
    const view = random.pick([
      () => buffer,
      () => new Uint8Array(buffer),
      () => Buffer.from(buffer),
      () => new DataView(buffer),
      () => new Ext(9, new Uint8Array(buffer)),
    ]);
    return view();
  }

  value(depth = 3) {
    const { random } = this;
    if (random.oneIn(4)) return this.trap(random.plain());
    if (random.oneIn(6)) return this.buffer();
    if (random.oneIn(8) && this.codec !== undefined) return new Acting(this);
    if (depth === 0 || random.oneIn(4)) return random.value();
    const keys = random.many(1 + random.below(9), random.key);
    const inner = () => this.value(depth - 1);
    const result = random.oneIn(3)
      ? random.many(random.below(9), inner)
      : Object.fromEntries(keys.map((key) => [key, inner()]));
    this.objects.push(result);
    if (!Array.isArray(result) && random.oneIn(2)) {
      const held = random.plain();
      const get = () => {
        this.act();
        return held;
      };
      Object.defineProperty(result, random.pick(keys), {
        get,
        enumerable: true,
        configurable: true,
      });
    }
    return result;
  }
}

const ACTS = [
  () => {
    throw new Boom('boom');
  },
  ({ random }) => unpack(pack(random.value())),
  ({ random }) => unpack(random.damage(random.message()), random.choose(UNPACK_OPTIONS)),
  ({ random }) => packInto(random.value(), Buffer.alloc(random.below(2000))),
  ({ codec, random }) => codec?.unpack(codec.pack(random.value())),
  ({ codec, random }) => codec?.unpackMultiple(random.damage(random.message())),
  (scene) => pack(scene.value(1)),
  (scene) => pack(scene.anObject()),
  ({ buffers, random }) => transfer(random.pick(buffers)),
  ({ buffers, random }) => random.pick(buffers).resize(0),
  ({ buffers, random }) => {
    const buffer = random.pick(buffers);
    buffer.resize(random.below(buffer.maxByteLength + 1));
  },
  (scene) => {
    const object = scene.anObject();
    delete object[Object.keys(object)[0]];
  },
  (scene) => {
    const object = scene.anObject();
    for (const key of Object.keys(object)) delete object[key];
  },
  (scene) => {
    scene.anObject()[scene.random.key()] = scene.value(1);
  },
  (scene) => {
    scene.anObject().length = scene.random.below(4);
  },
  (scene) =>
    Object.setPrototypeOf(scene.anObject(), scene.random.pick([null, Array.prototype, {}])),
  (scene) => Object.freeze(scene.anObject()),
  (scene) => scene.anObject().clear?.(),
  (scene) => scene.anObject().push?.(...scene.random.many(20, () => 1)),
  (scene) => scene.anObject().set?.(scene.random.key(), 1),
  ({ random }) => pack(Object.fromEntries(random.many(200, (i) => [`fresh ${random()} ${i}`, i]))),
  // Slow, and as good as often.
  ({ random }) => random.oneIn(12) && globalThis.gc?.(),
  () => stillWorks(),
];

/** Packed and unpacked by extensions that act. */
class Acting {
  constructor(scene) {
    this.scene = scene;
  }
}

function documented(error, scene) {
  if (error instanceof Boom) return;
  // Too deep for the engine, or a proxy that it caught lying.
  if (error instanceof RangeError && /call stack/.test(error.message)) return;
  if (error instanceof TypeError && (scene.lies || error.code === 'ERR_INVALID_ARG_VALUE')) return;
  if (error.code === 'ERR_MSGPACK_EXTENSION' && error.cause !== undefined) return;
  checkError(error, PACKR_CODES);
}

function settles(scene, fn) {
  try {
    return fn();
  } catch (error) {
    documented(error, scene);
    return undefined;
  }
}

/** Whatever the value did, the bytes are a message. */
function isMessage(bytes) {
  try {
    refUnpack(bytes, (type, data) => new Ext(type, data), 2000);
  } catch (error) {
    const fine = ['ERR_MSGPACK_KEY', 'ERR_MSGPACK_TIMESTAMP'];
    if (!(error instanceof RefError) || !fine.includes(error.code)) throw error;
  }
  unpack(bytes, { maps: 'map', timestamps: 'timestamp' });
}

function values(random) {
  const scene = new Scene(random);
  const value = scene.value();
  const wire = settles(scene, () => pack(value, random.choose(PACK_OPTIONS)));
  if (wire !== undefined) isMessage(wire);
  const target = Buffer.alloc(random.below(9000));
  const end = settles(scene, () => packInto(value, target));
  if (end !== undefined) isMessage(target.subarray(0, end));
  const parts = settles(scene, () => packParts(value));
  // A part over the value's own memory may be gone by now.
  if (parts?.length === 1) isMessage(parts[0]);
}

function codecOf(scene, random) {
  const act = (result) => () => {
    scene.act();
    return result();
  };
  const memory = () => (random.oneIn(3) ? scene.buffer() : random.bytes());
  const bytes = {
    Class: Acting,
    type: 5,
    pack: act(() => (random.oneIn(9) ? random.value() : memory())),
    unpack: act(() => random.pick([{ fresh: 1 }, null, undefined, 5])),
  };
  const tag = {
    Class: Acting,
    type: 6,
    write: act(() => scene.value(1)),
    read: (value) => act(() => random.pick([value, null, { value }]))(),
  };
  const replace = { Class: Acting, write: act(() => scene.value(1)) };
  const options = {
    ...random.choose(PACKR_OPTIONS),
    extensions: [random.pick([bytes, tag, replace])],
  };
  if (random.oneIn(3)) {
    options.getStructures = act(() => random.pick([undefined, [], [['a', 'b']], [['x'], []]]));
    options.saveStructures = act(() => !random.oneIn(4));
  }
  if (random.oneIn(4)) options.keyFilter = act(() => !random.oneIn(9));
  try {
    return new Packr(options);
  } catch (error) {
    if (error.code === 'ERR_INVALID_ARG_VALUE') return null;
    throw error;
  }
}

function extensions(random) {
  const scene = new Scene(random);
  const codec = codecOf(scene, random);
  if (codec === null) return;
  scene.codec = codec;
  const value = [new Acting(scene), scene.value(), new Acting(scene)];
  const wire = settles(scene, () => codec.pack(value));
  const message = wire ?? Buffer.from('94d4050107d4060191c0', 'hex');
  // Input that the extensions can take away.
  const memory = new ArrayBuffer(message.length, { maxByteLength: 2 * message.length + 1 });
  const input = new Uint8Array(memory);
  input.set(message);
  scene.buffers.push(memory);
  scene.budget = 20;
  settles(scene, () => codec.unpack(input));
  settles(scene, () => codec.unpackMultiple(random.damage(message)));
  const series = Buffer.concat([message, message]);
  settles(scene, () => [...unpackIter(random.pieces(series), { extensions: [] })]);
  scene.budget = 0;
  settles(scene, () => codec.pack({ id: 7 }));
}

/** What there is to read; a view of memory that is gone cannot be made. */
function attempt(make) {
  try {
    return make();
  } catch {
    return undefined;
  }
}

function inputs(random) {
  const scene = new Scene(random);
  const message = random.message();
  const memory = new ArrayBuffer(message.length, { maxByteLength: message.length + 8 });
  new Uint8Array(memory).set(message);
  const changes = [
    () => {},
    () => transfer(memory),
    () => memory.resize(random.below(message.length + 8)),
  ];
  random.pick(changes)();
  const views = [
    () => memory,
    () => new Uint8Array(memory),
    () => new DataView(memory),
    () => new Proxy(message, {}),
    () => random.value(),
    () => Object.create(Uint8Array.prototype),
    () => Object.defineProperty(new Uint8Array(message), 'length', { get: () => 1e9 }),
  ];
  const input = attempt(random.pick(views));
  for (const read of [unpack, unpackFrom, unpackMultiple]) settles(scene, () => read(input));
  settles(scene, () => pack(1, random.value()));
  settles(scene, () => packInto(1, random.value(), random.value()));
}

export default {
  name: 'hostile',
  run(random) {
    random.pick([values, values, extensions, extensions, inputs])(random);
  },
};
