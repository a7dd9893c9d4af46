// What the measured times say. A ratio is the other's median time over ours: above 1, ours is
// faster.

const fastest = (contenders) =>
  contenders.reduce((best, one) => (best && best.ns <= one.ns ? best : one), undefined);

export const ofKind = (contenders, kind) => fastest(contenders.filter((one) => one.kind === kind));

/**
 * Of one direction of one workload; what was not measured is undefined. Beside the plain functions
 * (in the group `instance`, they are ours) `instance` and `options` are what those of an instance
 * cost: above 1, the instance is slower.
 */
export function ratios(contenders) {
  const ours = ofKind(contenders, 'ours');
  const peer = ofKind(contenders, 'peer');
  const over = (other) => ours && other && other.ns / ours.ns;
  return {
    maps: over(ofKind(contenders, 'maps')),
    instance: over(ofKind(contenders, 'instance')),
    options: over(ofKind(contenders, 'options')),
    json: over(ofKind(contenders, 'json')),
    buffer: over(ofKind(contenders, 'json-buffer')),
    v8: over(ofKind(contenders, 'v8')),
    peer: over(peer),
    peerName: peer?.name,
  };
}

export function geometricMean(numbers) {
  const known = numbers.filter((number) => number !== undefined);
  return Math.exp(known.reduce((sum, number) => sum + Math.log(number), 0) / known.length);
}

/** The geometric means of the ratios over those workloads of a group that count. */
export function means({ workloads }, direction, group = 'table') {
  const counted = workloads.filter(
    (workload) => workload.group === group && workload.inMean && workload[direction].length > 0,
  );
  const all = counted.map((workload) => ratios(workload[direction]));
  const mean = (name) => geometricMean(all.map((one) => one[name]));
  const names = ['json', 'buffer', 'v8', 'peer', 'maps', 'instance', 'options'];
  return Object.fromEntries(names.map((name) => [name, mean(name)]));
}

export const nsPerByte = (contenders) => {
  const ours = ofKind(contenders, 'ours');
  return ours && ours.ns / ours.bytes;
};
