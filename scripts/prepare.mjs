// `npm install` in a checkout ends here. It never runs for users of the published package, which
// has no install script and brings its binary as a package of its own.

import { buildIfStale, isCheckout } from './build.mjs';

const skip = process.env.MSGPACK_RS_SKIP_BUILD;

if (skip && skip !== '0') {
  console.error('msgpack-rs: MSGPACK_RS_SKIP_BUILD is set, the native binary is not built');
} else if (isCheckout()) {
  try {
    buildIfStale();
  } catch (error) {
    console.error(`\nmsgpack-rs: ${error.message}`);
    console.error('To install without building, set MSGPACK_RS_SKIP_BUILD=1.');
    process.exitCode = 1;
  }
}
