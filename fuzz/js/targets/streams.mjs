// Streams: the same values, and the same error, however the bytes are cut.
import { checkError } from '../../../__test__/helpers.mjs';
import { PACKR_CODES } from '../../../__test__/packr-helpers.mjs';
import {
  NIL,
  PackrStream,
  Packr,
  packIter,
  packParts,
  UnpackrStream,
  unpackIter,
} from '../../../index.js';
import { PACKR_OPTIONS } from '../random.mjs';
import { same } from '../same.mjs';

function settled(iterable) {
  const values = [];
  try {
    for (const value of iterable) values.push(value);
    return { values };
  } catch (error) {
    checkError(error, PACKR_CODES);
    return { values, code: error.code };
  }
}

async function settledLater(iterable) {
  const values = [];
  try {
    for await (const value of iterable) values.push(value === NIL ? null : value);
    return { values };
  } catch (error) {
    checkError(error, PACKR_CODES);
    return { values, code: error.code };
  }
}

const OPTIONS = { ...PACKR_OPTIONS, maxMessageSize: [5, 100, 70_000], copyBuffers: [true] };
// Where these are absent, what a stream means by them is its own.
delete OPTIONS.freeze;

function optionsOf(random) {
  for (;;) {
    const { maxMessageSize, ...options } = random.choose(OPTIONS);
    try {
      new Packr(options);
      return [options, maxMessageSize === undefined ? options : { ...options, maxMessageSize }];
    } catch (error) {
      if (error.code !== 'ERR_INVALID_ARG_VALUE') throw error;
    }
  }
}

function bytesOf(random, options) {
  const messages = random.many(random.below(8), () => random.message(3));
  const values = random.many(random.below(8), () => random.plain());
  const own = random.oneIn(2) ? settled(packIter(values, options)).values : [];
  const all = Buffer.concat([...own, ...messages]);
  return random.oneIn(2) ? random.damage(all) : all;
}

async function reading(random) {
  const [options, withSize] = optionsOf(random);
  const bytes = bytesOf(random, options);
  const whole = settled(unpackIter([bytes], withSize));
  const cut = settled(unpackIter(random.pieces(bytes), withSize));
  // Which of two faults is seen first depends on how much there is.
  same(cut.values.length, whole.values.length);
  same(cut.values, whole.values);
  same(cut.code === undefined, whole.code === undefined);
  if (random.oneIn(4)) {
    const stream = new UnpackrStream(withSize);
    for (const piece of random.pieces(bytes)) stream.write(piece);
    stream.end();
    same((await settledLater(stream)).values, whole.values);
  }
}

async function writing(random) {
  const values = random.many(random.below(300), () => random.plain());
  const options = random.oneIn(2) ? {} : { useRecords: true };
  const bytes = Buffer.concat(settled(packIter(values, options)).values);
  same(
    settled(unpackIter(random.pieces(bytes), { mapsAsObjects: true, ...options })).values,
    values,
  );
  const value = random.plain();
  same(Buffer.concat(packParts(value)).equals(new Packr().pack(value)), true);
  if (random.oneIn(6)) {
    const stream = new PackrStream(options);
    for (const each of values) stream.write(each === null ? NIL : each);
    stream.end();
    const chunks = (await settledLater(stream)).values;
    const back = settled(unpackIter([Buffer.concat(chunks)], { mapsAsObjects: true, ...options }));
    same(back.values, values);
  }
}

export default {
  name: 'streams',
  async run(random) {
    await random.pick([reading, reading, writing])(random);
  },
};
