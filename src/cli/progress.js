'use strict';

/** Work that is done sooner needs no bar. */
const DELAY_MS = 1000;
const REDRAW_MS = 100;
const BAR_WIDTH = 24;
const MAX_NAME = 24;

const ERASE = '\r\x1b[K';

function sized(bytes) {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

function clock(seconds) {
  const rounded = Math.ceil(seconds);
  return `${Math.floor(rounded / 60)}:${String(rounded % 60).padStart(2, '0')}`;
}

/** A line about `done` of `total` bytes; `total` may be undefined. */
function progressLine(name, done, total, ms) {
  const speed = (done / ms) * 1000;
  const shown = name.length > MAX_NAME ? `…${name.slice(1 - MAX_NAME)}` : name;
  const rate = `${sized(done)}  ${sized(speed)}/s`;
  if (total === undefined) return `${shown}  ${rate}`;
  // A file may grow while it is read.
  const part = Math.min(done / total, 1);
  const filled = Math.round(part * BAR_WIDTH);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]`;
  const left = clock(Math.max(total - done, 0) / speed);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `${shown}  ${bar} ${percent} %  ${rate}  ${left} left`;
}

/** A bar on standard error, if that is a terminal, about one file. */
class Progress {
  #name;
  #total;
  #done = 0;
  #start = performance.now();
  #drawn = Number.NEGATIVE_INFINITY;
  #isShown = false;

  constructor(name, total) {
    this.#name = name;
    this.#total = total;
  }

  add(bytes) {
    this.#done += bytes;
    const now = performance.now();
    if (now - this.#start < DELAY_MS || now - this.#drawn < REDRAW_MS) return;
    this.#drawn = now;
    if (!this.#isShown) {
      this.#isShown = true;
      process.once('SIGINT', this.#interrupt);
    }
    const line = progressLine(this.#name, this.#done, this.#total, now - this.#start);
    // A line that wraps could not be erased.
    process.stderr.write(ERASE + line.slice(0, (process.stderr.columns || 80) - 1));
  }

  erase() {
    if (!this.#isShown) return;
    this.#isShown = false;
    process.off('SIGINT', this.#interrupt);
    process.stderr.write(ERASE);
  }

  #interrupt = () => {
    this.erase();
    // Now nobody handles it, and the process ends as the signal wants it to.
    process.kill(process.pid, 'SIGINT');
  };
}

const NONE = { add() {}, erase() {} };

/** The bar of a file; none where it would be among what a command writes to the same terminal. */
function progressOf({ name, size }, output) {
  const isSeen = process.stderr.isTTY === true && !output.isTerminal;
  return isSeen ? new Progress(name, size) : NONE;
}

module.exports = { progressLine, progressOf };
