'use strict';

// The words of the constants, for the general walker and for compiled ones.

const { CONST_FALSE, CONST_NIL, CONST_SKIP, CONST_TRUE, P_CONST, TAG_BITS } = require('../tape');

const word = (constant) => (constant << TAG_BITS) | P_CONST;

module.exports = {
  NIL: word(CONST_NIL),
  FALSE: word(CONST_FALSE),
  TRUE: word(CONST_TRUE),
  /** A property that is left out. */
  SKIP: word(CONST_SKIP),
};
