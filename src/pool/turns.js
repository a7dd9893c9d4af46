'use strict';

/** So many at a time; the others wait, in the order in which they came. */
class Turns {
  constructor(most) {
    this.free = most;
    this.waiting = new Set();
    this.give = this.give.bind(this);
  }

  /** A job that is done when it is one's turn. Who has it gives it back; `cancel` stops waiting. */
  take() {
    let come;
    const promise = new Promise((resolve) => {
      come = resolve;
    });
    this.waiting.add(come);
    this.next();
    const cancel = () => this.waiting.delete(come);
    return { cancel, promise };
  }

  give() {
    this.free++;
    this.next();
  }

  next() {
    if (this.free === 0) return;
    for (const come of this.waiting) {
      this.waiting.delete(come);
      this.free--;
      come();
      return;
    }
  }
}

module.exports = { Turns };
