'use strict';

// A file of the user's against JSON and other packages: first whether what comes back is right, then
// how long it takes.

const { jsonToMsgpack, msgpackToJson, pack, unpack } = require('../../..');
const { contenders } = require('./contenders');
const { readDocument } = require('./document');
const { medians } = require('./timing');
const { hasColours } = require('../colours');

/** A contender's messages; or why it does not take part. */
function check(contender, values, wanted) {
  try {
    const packed = values.map((value) => contender.pack(value));
    const back = packed.map((bytes) => contender.unpack(bytes));
    // Equal values are equal bytes, in whichever classes a codec hands out its binaries and times.
    const isSame = back.every((value, i) => pack(value).equals(wanted[i]));
    const size = packed.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
    return { ...contender, packed, isSame, size };
  } catch (error) {
    return { ...contender, failure: error.message };
  }
}

function time(ms) {
  if (ms >= 1000) return `${(ms / 1000).toPrecision(3)} s`;
  if (ms >= 1) return `${ms.toPrecision(3)} ms`;
  return `${(ms * 1000).toPrecision(3)} µs`;
}

function table(title, rows, isBold) {
  const [bold, plain] = isBold ? ['\x1b[1m', '\x1b[0m'] : ['', ''];
  const [{ ms: own }] = rows;
  const lines = rows.map(({ label, ms, size, isSame }) => {
    const ratio = `${(ms / own).toFixed(2)}×`;
    const cells = [time(ms).padStart(10), ratio.padStart(9), String(size ?? '').padStart(12)];
    return `  ${label.padEnd(28)}${cells.join('')}${isSame ? '' : ' *'}`.trimEnd();
  });
  const head = `${title.padEnd(30)}${'time'.padStart(10)}${'ratio'.padStart(9)}${'bytes'.padStart(12)}`;
  return `\n${bold}${head}${plain}\n${lines.join('\n')}\n`;
}

function each(list, call) {
  return () => {
    let last;
    for (let i = 0; i < list.length; i++) last = call(list[i]);
    return last;
  };
}

/** Without a value in between, beside the way through values. */
function transcoding(packed, texts, isQuick) {
  const jobs = [
    [
      'MessagePack to JSON text',
      packed,
      [
        ['msgpackToJson', (bytes) => msgpackToJson(bytes)],
        ['JSON.stringify(unpack())', (bytes) => Buffer.from(JSON.stringify(unpack(bytes)))],
      ],
    ],
    [
      'JSON text to MessagePack',
      texts,
      [
        ['jsonToMsgpack', (text) => jsonToMsgpack(text)],
        ['pack(JSON.parse())', (text) => pack(JSON.parse(text.toString()))],
      ],
    ],
  ];
  return jobs.map(([title, inputs, ways]) => {
    const results = ways.map(([, call]) => inputs.map(call));
    const isSame = results[1].every((bytes, i) => bytes.equals(results[0][i]));
    const times = medians(
      ways.map(([, call]) => each(inputs, call)),
      isQuick,
    );
    return [title, ways.map(([label], i) => ({ label, ms: times[i], isSame: isSame || i === 0 }))];
  });
}

async function bench(file, { format, quick }, output) {
  const isBold = hasColours(process.stdout);
  const write = (text) => output.write(Buffer.from(text));
  const document = readDocument(file, format);
  const { values } = document;
  if (values.length === 0) {
    process.stderr.write(`${file}: there is nothing to measure\n`);
    return 1;
  }
  const messages = values.length === 1 ? '1 message' : `${values.length} messages`;
  await write(`${file}: ${document.format}, ${messages}, ${document.bytes} bytes\n`);
  await write(`Node.js ${process.versions.node} on ${process.platform} ${process.arch}; `);
  await write('medians, all in one process; a ratio above 1 is slower than msgpack-rs\n');

  const wanted = values.map((value) => pack(value));
  const all = contenders(process.cwd()).map((one) => check(one, values, wanted));
  const field = all.filter(({ failure }) => failure === undefined);
  const packTimes = medians(
    field.map((one) => each(values, one.pack)),
    quick,
  );
  await write(
    table(
      'pack',
      field.map((one, i) => ({ ...one, ms: packTimes[i] })),
      isBold,
    ),
  );
  const unpackTimes = medians(
    field.map((one) => each(one.packed, one.unpack)),
    quick,
  );
  await write(
    table(
      'unpack',
      field.map((one, i) => ({ ...one, ms: unpackTimes[i] })),
      isBold,
    ),
  );

  const json = field.find(({ label }) => label === 'JSON, as a Buffer');
  const tables = json === undefined ? [] : transcoding(wanted, json.packed, quick);
  for (const [title, rows] of tables) await write(table(title, rows, isBold));

  const hasOthers = [...field, ...tables.flatMap(([, rows]) => rows)].some((row) => !row.isSame);
  if (hasOthers) await write('\n* with another result: not all values come back as they were\n');
  for (const { label, failure } of all) {
    if (failure !== undefined) await write(`\n${label} does not take part: ${failure}\n`);
  }
  return 0;
}

module.exports = { bench };
