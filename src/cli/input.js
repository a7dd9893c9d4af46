'use strict';

const fs = require('node:fs');
const { reasonOf } = require('./system-error');

/** Bytes that are read at a time. What they become, as text, may be many times as much. */
const CHUNK = 64 * 1024;

/** A file that cannot be read to its end. */
class ReadError extends Error {
  constructor(cause) {
    super(reasonOf(cause), { cause });
  }
}

/**
 * Opens a file, or standard input for `-`. `chunks` is read once, and each of them is good until the
 * next is asked for; `size` is undefined where nobody knows it.
 */
async function openInput(name) {
  if (name === '-') {
    const stdin = process.stdin;
    return {
      name: '<stdin>',
      size: sizeOf(fs.fstatSync(0, { throwIfNoEntry: false })),
      chunks: stdin,
      close: async () => stdin.destroy(),
    };
  }
  const handle = await fs.promises.open(name, 'r');
  try {
    const size = sizeOf(await handle.stat());
    return { name, size, chunks: chunksOf(handle), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const sizeOf = (stats) => (stats?.isFile() ? stats.size : undefined);

async function* chunksOf(handle) {
  const memory = Buffer.allocUnsafeSlow(CHUNK);
  for (;;) {
    const { bytesRead } = await handle.read(memory, 0, CHUNK, null);
    if (bytesRead === 0) return;
    yield memory.subarray(0, bytesRead);
  }
}

module.exports = { ReadError, openInput };
