// Outliers: a ball around all columns or two of them, live.
import { byId, colours, download, drawPoints, element, fitCanvas, percent, pointSize, short, showError } from './dom.js';

export function createOutliers(jobs, printable) {
  let data = null, input = null, result = null, timer = 0, running = false, again = false;

  /** New data: facts and the file, or null. */
  function use(facts, file) {
    jobs.cancel();
    [data, input, result] = [facts, file, null];
    byId('ball-report').hidden = true;
    showError('ball-error', null);
    setDownloads();
    byId('ball').textContent = 'Choose data above.';
    if (facts === null) return;
    const names = Array.from({ length: facts.cols }, (_, i) => facts.names?.[i] || `x${i}`);
    for (const [id, at] of [['across', 0], ['up', Math.min(1, facts.cols - 1)]]) {
      byId(id).replaceChildren(...names.map((name, i) => element('option', { value: i }, printable(name))));
      byId(id).value = String(at);
    }
    soon();
  }
  const setDownloads = () => {
    for (const id of ['download-scores', 'download-model']) byId(id).disabled = result === null;
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(next, 60);
  };
  /** One fit at a time; of the changes meanwhile, the last one counts. */
  async function next() {
    again = running;
    if (running || data === null) return;
    running = true;
    await fit(data);
    running = false;
    if (again) next();
  }
  async function fit(mine) {
    const two = byId('columns').value === 'two', nu = Number(byId('nu').value), shown = [Number(byId('across').value), Number(byId('up').value)];
    if (two && shown[0] === shown[1]) {
      showError('ball-error', new Error('Choose two different columns.'));
      return;
    }
    byId('ball').textContent = 'Fitting …';
    try {
      const file = input;
      if (file !== null) await jobs.load(file);
      if (input === file) input = null;
      const made = await jobs.run('outliers', { columns: two ? shown : null, nu, standardize: byId('standardize').checked, whiten: byId('whiten').checked });
      if (!two) made.points = await jobs.run('points', { columns: shown });
      if (mine !== data) return;
      result = { ...made, two };
      showError('ball-error', null);
      show();
    } catch (error) {
      if (mine !== data || error.cancelled) return;
      byId('ball').textContent = '';
      showError('ball-error', error);
    }
  }
  const nameOf = (row) => result.ids?.[row] ?? String(row);
  function show() {
    const { scores, labels, strange, radius, gap, two } = result, outside = labels.reduce((count, label) => count + (label < 0 ? 1 : 0), 0);
    byId('ball').textContent = `${outside.toLocaleString('en')} of ${scores.length.toLocaleString('en')} rows are outside (${percent(outside / scores.length)}); radius ${short(radius)}${byId('standardize').checked ? ' standard deviations' : ''}, within ${gap.toExponential(1).replace('-', '−')} of the best possible.`;
    byId('strange').tBodies[0].replaceChildren(...strange.map(({ row, score, reasons }) => element('tr', {},
      element('th', { scope: 'row' }, printable(nameOf(row))), element('td', { class: 'num' }, short(score, 4)),
      element('td', {}, reasons.map(({ name, value, center, share }) => `${printable(name)} ${short(value, 4)} (${value < center ? '−' : '+'}${Math.round(100 * share)}\u00a0%)`).join(', ')))));
    byId('scatter').setAttribute('aria-label', `rows by two columns${two ? ', with the ball' : ''}: ${outside} of ${scores.length} outside`);
    byId('ball-report').hidden = false;
    setDownloads();
    draw();
  }

  function draw() {
    if (result === null) return;
    const surface = fitCanvas(byId('scatter')), { context, side } = surface, c = colours(), { points, labels } = result, pad = 34;
    const ranges = [0, 1].map((axis) => {
      let low = Infinity, high = -Infinity;
      for (let i = axis; i < points.data.length; i += 2) [low, high] = [Math.min(low, points.data[i]), Math.max(high, points.data[i])];
      const margin = 0.06 * (high - low || 1);
      return [low - margin, high + margin];
    });
    const x = (value) => pad + ((value - ranges[0][0]) / (ranges[0][1] - ranges[0][0])) * (side - 2 * pad);
    const y = (value) => side - pad - ((value - ranges[1][0]) / (ranges[1][1] - ranges[1][0])) * (side - 2 * pad);
    const count = points.rows.length, px = new Float32Array(count), py = new Float32Array(count), kind = new Uint8Array(count);
    points.rows.forEach((row, i) => {
      px[i] = x(points.data[2 * i]);
      py[i] = y(points.data[2 * i + 1]);
      kind[i] = labels[row] < 0 ? 1 : 0;
    });
    if (result.two) drawBall(context, c, x, y);
    drawPoints(surface, { x: px, y: py, kind }, [{ colour: c.soft, alpha: 0.55 }, { colour: c.hit, alpha: 0.95 }], pointSize(count));
    axes(context, c, side, ranges, pad);
  }
  /** |W(x-c)| = r as a curve: x = c + r W^-1 u. */
  function drawBall(context, c, x, y) {
    const { center, radius, whiten } = result, [a, b, d, e] = whiten ?? [1, 0, 0, 1], det = a * e - b * d;
    context.beginPath();
    for (let i = 0; i <= 120; i++) {
      const t = (2 * Math.PI * i) / 120, [u, v] = [radius * Math.cos(t), radius * Math.sin(t)];
      context.lineTo(x(center[0] + (e * u - b * v) / det), y(center[1] + (-d * u + a * v) / det));
    }
    context.strokeStyle = c.bar;
    context.lineWidth = 2;
    context.stroke();
    context.fillStyle = c.bar;
    context.globalAlpha = 0.08;
    context.fill();
    context.globalAlpha = 1;
  }
  function axes(context, c, side, ranges, pad) {
    const name = (id) => byId(id).selectedOptions[0]?.textContent ?? '';
    context.fillStyle = c.soft;
    context.font = '12px system-ui, sans-serif';
    context.textAlign = 'left';
    context.fillText(short(ranges[0][0], 3), pad, side - 12);
    context.textAlign = 'right';
    context.fillText(short(ranges[0][1], 3), side - pad, side - 12);
    context.textAlign = 'center';
    context.fillText(name('across'), side / 2, side - 12);
    context.save();
    context.translate(18, side / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(name('up'), 0, 0);
    context.restore();
    context.textAlign = 'left';
  }

  byId('nu').addEventListener('input', () => (byId('nu-value').value = Number(byId('nu').value).toFixed(2)));
  for (const id of ['nu', 'standardize', 'whiten', 'columns', 'across', 'up']) byId(id).addEventListener('input', soon);
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  byId('download-scores').addEventListener('click', () => {
    const lines = Array.from(result.scores, (score, i) => `${quoted(nameOf(i))},${score},${result.labels[i]}`);
    download('scores.csv', `row,score,inside\n${lines.join('\n')}\n`, 'text/csv');
  });
  byId('download-model').addEventListener('click', () => download('model.json', result.model, 'application/json'));
  addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  return { use };
}
