// Small charts as SVG.
const SPACE = 'http://www.w3.org/2000/svg';
const WIDTH = 480, HEIGHT = 260, LEFT = 44, RIGHT = 14, TOP = 16, BOTTOM = 32;

function node(name, attributes, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
const short = (value) => Number(value.toPrecision(3)).toString();

function frame(to, label, x, y) {
  const svg = node('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label });
  for (const value of y.ticks) {
    svg.append(node('line', { class: 'rule', x1: LEFT, x2: WIDTH - RIGHT, y1: y.at(value), y2: y.at(value) }),
      node('text', { x: LEFT - 6, y: y.at(value) + 4, 'text-anchor': 'end' }, short(value)));
  }
  for (const value of x.ticks) svg.append(node('text', { x: x.at(value), y: HEIGHT - 10, 'text-anchor': 'middle' }, short(value)));
  to.replaceChildren(svg);
  return svg;
}
const linear = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

/** Bars of a histogram; edges of equal ratio are drawn on a logarithmic axis. */
export function barChart(to, edges, counts, { label }) {
  const ratio = edges.length > 2 && Math.abs(edges[2] / edges[1] - edges[1] / edges[0]) < 1e-6, f = ratio ? Math.log : (value) => value;
  const scale = linear(f(edges[0]), f(edges.at(-1)), LEFT, WIDTH - RIGHT), x = { at: (value) => scale(f(value)), ticks: [edges[0], edges[edges.length >> 1], edges.at(-1)] };
  const most = Math.max(...counts), y = { at: linear(0, most, HEIGHT - BOTTOM, TOP), ticks: [0, most / 2, most] };
  const svg = frame(to, label, x, y);
  counts.forEach((count, i) => svg.append(node('rect', { class: 'bars', x: x.at(edges[i]) + 0.5, width: Math.max(1, x.at(edges[i + 1]) - x.at(edges[i]) - 1), y: y.at(count), height: Math.max(0, y.at(0) - y.at(count)) })));
}

/** A curve over a logarithmic axis. */
export function lineChart(to, points, { label, marks = [], rule, ruleName }) {
  const xs = points.map(([s]) => s), ys = points.map(([, value]) => value), low = Math.min(1, ...ys), high = Math.max(...ys, ...marks.map(([, value]) => value));
  const scale = linear(Math.log(xs[0]), Math.log(xs.at(-1)), LEFT, WIDTH - RIGHT), x = { at: (value) => scale(Math.log(value)), ticks: [xs[0], xs[xs.length >> 1], xs.at(-1)] };
  const y = { at: linear(low, high * 1.05, HEIGHT - BOTTOM, TOP), ticks: [low, (low + high) / 2, high] };
  const svg = frame(to, label, x, y);
  if (rule !== undefined) svg.append(node('line', { class: 'dash', x1: x.at(rule), x2: x.at(rule), y1: TOP, y2: HEIGHT - BOTTOM }), node('text', { x: x.at(rule) + 5, y: HEIGHT - BOTTOM - 8 }, ruleName));
  svg.append(node('polyline', { class: 'line', points: points.map(([s, value]) => `${x.at(s)},${y.at(value)}`).join(' ') }));
  for (const [s, value] of marks) if (s >= xs[0] && s <= xs.at(-1)) svg.append(node('circle', { class: 'mark', cx: x.at(s), cy: y.at(value), r: 4 }));
}
