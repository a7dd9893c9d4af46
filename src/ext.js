'use strict';

const { invalidArgument } = require('./error');

const brand = Symbol.for('msgpack-rs.Ext');

/** A value of an extension type: an application's own (0 to 127) or a reserved one (-128 to -1). */
class Ext {
  constructor(type, data) {
    if (!Number.isInteger(type) || type < -128 || type > 127) {
      const error = new RangeError(
        `An ext type is an integer from -128 to 127, not ${String(type)}`,
      );
      error.code = 'ERR_OUT_OF_RANGE';
      throw error;
    }
    if (!ArrayBuffer.isView(data)) {
      throw invalidArgument('The data of an Ext is a Buffer or Uint8Array');
    }
    this.type = type;
    this.data = data;
  }
}
Object.defineProperty(Ext.prototype, brand, { value: true });

/** Whether `value` is an Ext, of this copy of the package or another. */
function isExt(value) {
  return value[brand] === true;
}

module.exports = { Ext, isExt };
