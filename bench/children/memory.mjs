// What the memory measurements share.

import { writeFileSync } from 'node:fs';

export const rss = () => process.memoryUsage.rss();

/** The most memory this process has held, since the last `forgetPeak` where the system can. */
export const peakRss = () => process.resourceUsage().maxRSS * 1024;

/** Linux can start its high-water mark anew; elsewhere whatever came before stays in the figure. */
export function forgetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {}
}

/** Collects what is garbage and lets the finalizers run that give native memory back. */
export async function settle() {
  for (let pass = 0; pass < 3; pass += 1) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
