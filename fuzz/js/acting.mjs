// Inputs and options that change, throw and call back while they are read.
import { pack, unpack } from '../../index.js';
import { attempt } from '../../__test__/helpers.mjs';
import { Boom } from './outcome.mjs';

const transfer = (buffer) => structuredClone(buffer, { transfer: [buffer] });

/** Memory with these bytes, in one of the ways to have memory. */
function memoryOf(random, bytes) {
  const { length } = bytes;
  const make = [
    () => new ArrayBuffer(length),
    () => new ArrayBuffer(length, { maxByteLength: 2 * length + 1 }),
    () => new SharedArrayBuffer(length),
    () => new SharedArrayBuffer(length, { maxByteLength: 2 * length + 1 }),
  ];
  const memory = random.pick(make)();
  new Uint8Array(memory).set(bytes);
  return memory;
}

/** The same bytes in another view of them, over memory of its own. */
export function viewOf(random, bytes) {
  const memory = memoryOf(random, bytes);
  const views = [
    () => memory,
    () => new Uint8Array(memory),
    () => new DataView(memory),
    () => Buffer.from(memory),
    () => new Uint8ClampedArray(memory),
  ];
  return random.pick(views)();
}

/** A view that may be anything, and what may happen to its memory. */
export function hostileInput(random, bytes) {
  const memory = memoryOf(random, bytes);
  const views = [
    () => memory,
    () => new Uint8Array(memory),
    () => new Uint8Array(memory, bytes.length >> 1),
    () => new DataView(memory),
    () => new Proxy(new Uint8Array(memory), {}),
    () => Object.create(Uint8Array.prototype),
    () => Object.defineProperty(new Uint8Array(memory), 'length', { get: () => 1e9 }),
    () => Object.defineProperty(new Uint8Array(memory), 'byteLength', { get: () => 1e9 }),
    () => random.value(),
  ];
  const input = random.pick(views)();
  const acts = [
    () => {},
    () => {
      throw new Boom('boom');
    },
    () => transfer(memory),
    () => (memory.resize ?? memory.grow).call(memory, random.below(2 * bytes.length + 1)),
    () => new Uint8Array(memory).fill(random()),
    () => unpack(pack(random.value())),
    () => attempt(() => unpack(random.damage(bytes))),
    () => random.oneIn(12) && globalThis.gc?.(),
  ];
  return { act: () => ignoring(random.pick(acts)), input };
}

/** What a memory refuses to have done to it does not matter. */
function ignoring(fn) {
  try {
    fn();
  } catch (error) {
    if (error instanceof Boom) throw error;
  }
}

/** The same options, behind getters that act. */
export function actingOptions(random, options, act) {
  const result = {};
  for (const [name, value] of Object.entries(options)) {
    const get = () => {
      act();
      return random.oneIn(9) ? random.value() : value;
    };
    Object.defineProperty(result, name, { get, enumerable: true });
  }
  const get = (target, name) => {
    if (random.oneIn(4)) act();
    return Reflect.get(target, name);
  };
  return random.oneIn(3) ? new Proxy(result, { get }) : result;
}
