'use strict';

/** A turn is at least so long, so that the clock is fine enough for it. */
const USUAL = { turnMs: 10, warmUpMs: 100, rounds: 15 };
const QUICK = { turnMs: 1, warmUpMs: 5, rounds: 3 };
/** Once all have had their turn so often, no more rounds are begun after this time. */
const LEAST_ROUNDS = 3;
const BUDGET_MS = 4000;

// What comes out is stored where it outlives the loop, so that no work can be optimised away.
const kept = { result: null };

function turn(call, repeats) {
  const start = performance.now();
  for (let i = 0; i < repeats; i++) kept.result = call();
  return performance.now() - start;
}

function median(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * The median time of each call in milliseconds, in rounds in which each has a turn: whatever
 * disturbs the machine meets all of them alike. Who begins a round changes.
 */
function medians(calls, isQuick) {
  const { turnMs, warmUpMs, rounds } = isQuick ? QUICK : USUAL;
  const field = calls.map((call) => {
    let ms = turn(call, 1);
    let calls = 1;
    for (let spent = ms; spent < warmUpMs; spent += ms) {
      if (ms < turnMs) calls *= 2;
      ms = turn(call, calls);
    }
    return { call, repeats: Math.max(1, Math.ceil((turnMs / ms) * calls)), samples: [] };
  });
  const start = performance.now();
  for (let round = 0; round < rounds; round++) {
    if (round >= LEAST_ROUNDS && performance.now() - start > BUDGET_MS) break;
    for (let i = 0; i < field.length; i++) {
      const { call, repeats, samples } = field[(round + i) % field.length];
      samples.push(turn(call, repeats) / repeats);
    }
  }
  kept.result = null;
  return field.map(({ samples }) => median(samples));
}

module.exports = { medians };
