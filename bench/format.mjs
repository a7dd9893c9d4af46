// Numbers as people read them, the same in the printed report, the table and the targets.

const UNITS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

const threeDigits = (number) => {
  if (number >= 100) return number.toFixed(0);
  return number.toFixed(number >= 10 ? 1 : 2);
};

export function duration(ns) {
  const [size, unit] = UNITS.find(([least]) => ns >= least) ?? UNITS.at(-1);
  return `${threeDigits(ns / size)} ${unit}`;
}

export const ratio = (number) =>
  number === undefined || Number.isNaN(number) ? '–' : threeDigits(number);

export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

export const grouped = (number) => Math.round(number).toLocaleString('en').replaceAll(',', ' ');
