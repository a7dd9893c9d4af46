// The same module for `import`: one instance, whichever way it is loaded.

import msgpack from './msgpack-node.js';

export default msgpack;

export const { pack, Stream, unpack } = msgpack;
