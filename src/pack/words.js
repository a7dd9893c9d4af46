'use strict';

// The words of the constants, for the general walker and for compiled ones.

const { CONST_FALSE, CONST_INVALID_DATE, CONST_NIL, CONST_SKIP, CONST_TRUE } = require('../tape');
const { CONST_UNDEFINED, P_CONST, P_RARE, PR_BIGINT, PR_MARK, PR_OBJECT } = require('../tape');
const { PR_RECORD, PR_REF, PR_SHAPED_MAP, PR_TAG, PR_TYPED, TAG_BITS } = require('../tape');

const word = (constant) => (constant << TAG_BITS) | P_CONST;
const rare = (kind) => (kind << TAG_BITS) | P_RARE;

module.exports = {
  NIL: word(CONST_NIL),
  FALSE: word(CONST_FALSE),
  TRUE: word(CONST_TRUE),
  /** A property that is left out. */
  SKIP: word(CONST_SKIP),
  UNDEFINED: word(CONST_UNDEFINED),
  INVALID_DATE: word(CONST_INVALID_DATE),
  BIGINT: rare(PR_BIGINT),
  MARK: rare(PR_MARK),
  OBJECT: rare(PR_OBJECT),
  RECORD: rare(PR_RECORD),
  REF: rare(PR_REF),
  SHAPED_MAP: rare(PR_SHAPED_MAP),
  TAG: rare(PR_TAG),
  TYPED: rare(PR_TYPED),
};
