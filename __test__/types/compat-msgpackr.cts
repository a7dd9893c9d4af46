// The same from CommonJS.

import msgpackr = require('msgpack-rs/compat/msgpackr');
import { type Options, Packr, pack, unpack } from 'msgpack-rs/compat/msgpackr';

declare function use(...values: unknown[]): void;

const options: Options = { useRecords: false, int64AsType: 'number' };
const packr: msgpackr.Packr = new Packr(options);
const bytes: Buffer = pack({ id: 1 });
const value: { id: number } = unpack(bytes);

// @ts-expect-error a misspelt option
new msgpackr.Unpackr({ mapAsObjects: true });

use(packr.encode(value), msgpackr.FLOAT32_OPTIONS.ALWAYS);
