'use strict';

const brand = Symbol.for('msgpack-rs.Timestamp');

const MIN_SECONDS = -(2n ** 63n);
const MAX_SECONDS = 2n ** 63n - 1n;
const MAX_NANOSECONDS = 999_999_999;

function outOfRange(message) {
  const error = new RangeError(message);
  error.code = 'ERR_OUT_OF_RANGE';
  return error;
}

/** A point in time to the nanosecond: all that a MessagePack timestamp can hold. */
class Timestamp {
  constructor(seconds, nanoseconds = 0) {
    if (typeof seconds === 'number' && Number.isSafeInteger(seconds)) seconds = BigInt(seconds);
    if (typeof seconds !== 'bigint' || seconds < MIN_SECONDS || seconds > MAX_SECONDS) {
      throw outOfRange('The seconds of a Timestamp are an integer of 64 bits');
    }
    if (!Number.isInteger(nanoseconds) || nanoseconds < 0 || nanoseconds > MAX_NANOSECONDS) {
      throw outOfRange('The nanoseconds of a Timestamp are an integer from 0 to 999999999');
    }
    this.seconds = seconds;
    this.nanoseconds = nanoseconds;
  }

  static fromDate(date) {
    const milliseconds = Date.prototype.getTime.call(date);
    if (Number.isNaN(milliseconds)) throw outOfRange('An invalid Date is no Timestamp');
    const seconds = Math.floor(milliseconds / 1000);
    return new Timestamp(BigInt(seconds), (milliseconds - seconds * 1000) * 1e6);
  }

  /** The Date of the same millisecond; what is finer is cut off, towards the past. */
  toDate() {
    return new Date(Number(this.seconds) * 1000 + Math.floor(this.nanoseconds / 1e6));
  }
}
Object.defineProperty(Timestamp.prototype, brand, { value: true });

/** Whether `value` is a Timestamp, of this copy of the package or another. */
function isTimestamp(value) {
  return value[brand] === true;
}

module.exports = { Timestamp, isTimestamp };
