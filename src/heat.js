'use strict';

/**
 * When code is compiled for a shape: after so many objects of it, and only if those were one in so
 * many of all. Code that is compiled runs slowly at first. Packing, the general walker is about as
 * fast as the compiled ones of many shapes that take turns; unpacking, a constructor is faster than
 * the general routine in the end, but for the first second it is not (`bench/` workload `shapes`).
 */
const COMPILE_AFTER = { pack: 128, unpack: 32 };
const COMPILE_SHARE = { pack: 32, unpack: 512 };

/** Counts the objects that the general routine handles. A shape has `seen` and `since`, 0 at first. */
class Heat {
  constructor(direction) {
    this.after = COMPILE_AFTER[direction];
    this.share = COMPILE_SHARE[direction];
    this.objects = 0;
  }

  /** Counts an object of `shape`, and says whether code should be compiled for it. */
  isHot(shape) {
    this.objects = (this.objects + 1) | 0;
    if (++shape.seen < this.after) return false;
    const share = (this.objects - shape.since) | 0;
    shape.seen = 0;
    shape.since = this.objects;
    return share <= this.after * this.share;
  }
}

module.exports = { Heat };
