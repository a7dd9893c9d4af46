// The results as one SVG: for each workload how many times faster, against JSON and against the
// fastest peer.

import * as echarts from 'echarts';
import { ratios } from './ratios.mjs';

const ROW_HEIGHT = 30;
const ABOVE = 90;
const BELOW = 50;

// The axis is in doublings, so that twice as fast and half as fast are equally long, and bars
// start at "as fast".
const doublings = (found) => (found === undefined ? null : Number(Math.log2(found).toFixed(3)));
const multiple = (doubled) => {
  if (doubled === null) return '';
  const times = 2 ** doubled;
  return `${times >= 10 ? times.toFixed(0) : Number(times.toFixed(times < 1 ? 2 : 1))}×`;
};

const COLOURS = { json: '#3b6fb6', peer: '#e08a2c' };
const NAMES = { json: 'against JSON (strings)', peer: 'against the fastest MessagePack peer' };

const bars = (rows, direction, against, panel) => ({
  type: 'bar',
  name: NAMES[against],
  xAxisIndex: panel,
  yAxisIndex: panel,
  itemStyle: { color: COLOURS[against] },
  data: rows.map((row) => doublings(ratios(row[direction])[against])),
  label: { show: true, position: 'right', fontSize: 10, formatter: ({ value }) => multiple(value) },
});

export function chart({ workloads, environment, date }) {
  const rows = workloads.filter(({ group, inMean }) => group === 'table' && inMean);
  const { node, cpu, versions } = environment;
  const height = ABOVE + rows.length * ROW_HEIGHT + BELOW;
  const panels = ['pack', 'unpack'];
  const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 1080, height });
  drawing.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: [
      {
        text: `msgpack-rs ${versions['msgpack-rs']}: how many times faster, Node.js ${node}`,
        subtext: `${cpu}, ${date.slice(0, 10)}; right of 1× msgpack-rs is faster`,
        left: 'center',
      },
      ...panels.map((text, panel) => ({
        text,
        left: panel === 0 ? 410 : 830,
        top: ABOVE - 32,
        textStyle: { fontSize: 14 },
      })),
    ],
    // Without a DOM no text is measured, and the gap has to allow for a wide font.
    legend: { bottom: 0, itemGap: 60, data: Object.values(NAMES) },
    grid: [
      { left: 250, width: 380, top: ABOVE, bottom: BELOW },
      { left: 660, width: 390, top: ABOVE, bottom: BELOW },
    ],
    xAxis: panels.map((_, gridIndex) => ({
      type: 'value',
      gridIndex,
      minInterval: 1,
      axisLabel: { formatter: multiple },
    })),
    yAxis: panels.map((_, gridIndex) => ({
      type: 'category',
      gridIndex,
      inverse: true,
      data: rows.map(({ title }) => title),
      axisTick: { show: false },
      // Names on the left of the picture, though bars may go to the left of 1×.
      axisLine: { onZero: true },
      axisLabel: { show: gridIndex === 0, interval: 0 },
    })),
    series: panels.flatMap((direction, panel) => [
      bars(rows, direction, 'json', panel),
      bars(rows, direction, 'peer', panel),
    ]),
  });
  const svg = drawing.renderToSVGString();
  drawing.dispose();
  return svg;
}
