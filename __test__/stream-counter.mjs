// Counts what the readers of streams ask of the addon. To be imported before anything that loads the
// package: it wraps what the package then finds.
import { createRequire } from 'node:module';

const binding = createRequire(import.meta.url)('../binding.js');

/** Calls since `reset`, and scanners (messages that are not complete) that are open now. */
export const counts = { parses: 0, scans: 0, open: 0 };

export function reset() {
  counts.parses = 0;
  counts.scans = 0;
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
  parser.scan = (...args) => {
    counts.scans++;
    return scan(...args);
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
