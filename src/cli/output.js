'use strict';

const fs = require('node:fs');
const { UsageError } = require('./arguments');

/** Where a command writes: a file, or standard output where none is named. */
class Output {
  #file;
  #stream = null;

  constructor(file) {
    this.#file = file === '-' ? undefined : file;
  }

  get isTerminal() {
    return this.#file === undefined && process.stdout.isTTY === true;
  }

  /** Writing over what is still to be read would leave nothing of it. */
  checkInputs(names) {
    const file = this.#file;
    const own = file === undefined ? undefined : fs.statSync(file, { throwIfNoEntry: false });
    if (!own?.isFile()) return;
    for (const name of names) {
      const input = name === '-' ? fs.fstatSync(0) : fs.statSync(name, { throwIfNoEntry: false });
      if (input?.dev === own.dev && input.ino === own.ino) {
        throw new UsageError(`${name}: the input is the output, too`);
      }
    }
  }

  #open() {
    if (this.#stream === null) {
      this.#stream = this.#file === undefined ? process.stdout : fs.createWriteStream(this.#file);
      // What fails is told to the write that has failed.
      this.#stream.on('error', () => {});
    }
    return this.#stream;
  }

  /** Fulfilled when the bytes are out: whoever waits for it holds no more than one piece. */
  write(bytes) {
    if (bytes.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#open().write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** All is written. A file that nothing was written to is empty. */
  end() {
    if (this.#file === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const stream = this.#open();
      stream.once('error', reject);
      stream.end(resolve);
    });
  }
}

module.exports = { Output };
