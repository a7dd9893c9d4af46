// Times contenders against each other in one process, in many short rounds in which each has a
// turn, so that whatever disturbs the machine or grows the heap meets all of them alike.

// A call this long is one turn, and its garbage is collected before the next contender's turn.
const LONG_CALL_MS = 20;
// Who is this many times slower than the fastest needs no exact figure, only few rounds.
const HOPELESS = 2;

// Every result is stored here, where it outlives the loop, so that no work can be optimised away.
const kept = { result: null };

function turn({ call, inputs }, calls) {
  let index = 0;
  const start = performance.now();
  for (let done = 0; done < calls; done += 1) {
    kept.result = call(inputs[index]);
    index = index + 1 === inputs.length ? 0 : index + 1;
  }
  return performance.now() - start;
}

// Long enough for the optimising compiler, and until two calls were made of what takes that long.
function warmUp(contender, warmMs) {
  let calls = 1;
  let spent = turn(contender, 1);
  let last = spent;
  while (spent < warmMs) {
    calls = last < warmMs / 8 ? calls * 2 : calls;
    last = turn(contender, calls);
    spent += last;
  }
  return last / calls;
}

function collect(contender) {
  kept.result = null;
  // A full collection for every short turn would age compiled code and hidden classes out.
  globalThis.gc(contender.perCall < LONG_CALL_MS ? { type: 'minor' } : { type: 'major' });
}

export function shuffle(list) {
  const order = [...list];
  for (let index = order.length - 1; index > 0; index -= 1) {
    const other = Math.floor(Math.random() * (index + 1));
    [order[index], order[other]] = [order[other], order[index]];
  }
  return order;
}

function quantile(sorted, part) {
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export function quantiles(samples) {
  const sorted = [...samples].sort((one, other) => one - other);
  const [p10, ns, p90] = [0.1, 0.5, 0.9].map((part) => quantile(sorted, part));
  return { ns, p10, p90 };
}

/**
 * `pace` is { rounds, turnMs, warmMs, budgetMs, calls? }: how often and how long, what one
 * contender may spend in all, and the whole number of calls where the workload sets it.
 */
export function interleave(contenders, pace) {
  const field = contenders.map((contender) => ({ ...contender, samples: [] }));
  for (const contender of field) {
    collect({ perCall: LONG_CALL_MS });
    contender.perCall = warmUp(contender, pace.warmMs);
  }
  const fastest = Math.min(...field.map((contender) => contender.perCall));
  for (const contender of field) {
    const calls = pace.calls ? pace.calls / pace.rounds : pace.turnMs / contender.perCall;
    contender.calls = Math.max(1, Math.round(calls));
    const affordable = Math.floor(pace.budgetMs / (contender.calls * contender.perCall));
    const least = contender.perCall > fastest * HOPELESS ? 3 : 5;
    contender.rounds = pace.calls ? pace.rounds : Math.max(affordable, least);
    contender.rounds = Math.min(contender.rounds, pace.rounds);
  }
  for (let round = 0; round < pace.rounds; round += 1) {
    // Who has fewer rounds sits some out, spread over the whole.
    const taken = (contender, rounds) => Math.ceil((rounds * contender.rounds) / pace.rounds);
    const present = field.filter((one) => taken(one, round + 1) > taken(one, round));
    for (const contender of shuffle(present)) {
      collect(contender);
      contender.samples.push((turn(contender, contender.calls) / contender.calls) * 1e6);
    }
  }
  return field.map(({ name, kind, calls, samples }) => {
    return { name, kind, ...quantiles(samples), rounds: samples.length, calls };
  });
}

/**
 * The same for jobs that take their time, such as those of streams: `run(repeats)` does a job so
 * often, or promises to. A turn is one job of `count` units, or as many as `turnMs` has room for.
 */
export async function takeTurns(contenders, { rounds, turnMs = 0, warmRuns = 2 }) {
  const field = [];
  for (const contender of contenders) {
    collect({ perCall: LONG_CALL_MS });
    let perRun = Infinity;
    for (let runs = 0; runs < warmRuns; runs += 1) {
      perRun = Math.min(perRun, await timeOf(contender, 1));
    }
    const repeats = Math.max(1, Math.round(turnMs / perRun));
    field.push({ ...contender, repeats, perCall: perRun * repeats, samples: [] });
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of shuffle(field)) {
      collect(contender);
      const ms = await timeOf(contender, contender.repeats);
      contender.samples.push((ms * 1e6) / contender.repeats / (contender.count ?? 1));
    }
  }
  return field.map(({ name, kind, samples }) => {
    return { name, kind, ...quantiles(samples), rounds: samples.length };
  });
}

async function timeOf({ run }, repeats) {
  const start = performance.now();
  await run(repeats);
  return performance.now() - start;
}
