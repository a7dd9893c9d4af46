import msgpack = require('./msgpack-node.js');

export type { DuplexLike, StreamError, Unpack } from './msgpack-node.js';
export { pack, Stream, unpack } from './msgpack-node.js';
export default msgpack;
