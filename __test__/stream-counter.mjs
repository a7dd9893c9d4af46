// Counts what the readers of streams ask of the addon. To be imported before anything that loads the
// package: it wraps what the package then finds.
import { createRequire } from 'node:module';

const binding = createRequire(import.meta.url)('../binding.js');

/** Calls and bytes scanned since `reset`, and scanners (messages that are not complete) that are open now. */
export const counts = { parses: 0, scans: 0, scanned: 0, open: 0 };

export function reset() {
  counts.parses = 0;
  counts.scans = 0;
  counts.scanned = 0;
}

const { createParser } = binding;

binding.createParser = () => {
  const parser = createParser();
  const { closeScan, openScan, parse, scan } = parser;
  const open = new Set();
  parser.parse = (...args) => {
    counts.parses++;
    return parse(...args);
  };
  parser.scan = (piece, ...args) => {
    counts.scans++;
    counts.scanned += piece.length;
    return scan(piece, ...args);
  };
  parser.openScan = () => {
    const number = openScan();
    open.add(number);
    counts.open++;
    return number;
  };
  parser.closeScan = (number) => {
    if (open.delete(number)) counts.open--;
    return closeScan(number);
  };
  return parser;
};
