// Try: a file or a sample set, and which transform finds its neighbours.
import { byId, download, element, percent, short, showError } from './dom.js';
import { sampleFile } from './samples.js';
import { barChart, lineChart } from './charts.js';

const NAMES = { none: 'raw rows by cosine', normalize: 'centre + normalise', sphere: 'sphere', 'lift-ip': 'lift, inner product', 'lift-cosine': 'lift, cosine' };
const MOST_BYTES = 1.5e9;

export function createTry(jobs, use, printable) {
  let input = null, map = null, running = false;

  const setRunning = (on, text) => {
    running = on;
    byId('measure').disabled = on || input === null;
    byId('cancel').disabled = !on;
    byId('progress').hidden = !on;
    byId('progress').value = 0;
    byId('state').textContent = text;
  };

  /** What the fields say, as options of readRows. */
  function readingOptions() {
    const columns = byId('read').value.trim(), idColumn = byId('ids').value.trim();
    return { ...(byId('skip').checked ? { skipBad: true } : {}), ...(columns === '' ? {} : { columns }), ...(idColumn === '' ? {} : { idColumn }) };
  }
  async function load(bytes, name) {
    if (running) cancel();
    byId('report').hidden = true;
    showError('data-error', null);
    byId('data').textContent = `Reading ${printable(name)} …`;
    input = { bytes, name };
    try {
      const file = { bytes, name, options: readingOptions() }, facts = await jobs.load(file);
      byId('data').textContent = `${printable(facts.name)}: ${facts.rows.toLocaleString('en')} rows of ${facts.cols} columns, ${facts.dtype}`;
      byId('measure').disabled = false;
      use(facts, file);
    } catch (error) {
      if (error.cancelled) return;
      byId('measure').disabled = true;
      byId('data').textContent = 'No data yet.';
      input = { bytes, name };
      use(null, null);
      showError('data-error', error);
    } finally {
      byId('data').dataset.loads = String(Number(byId('data').dataset.loads ?? 0) + 1); // for tests: a file was read
    }
  }
  async function readFile(chosen) {
    if (chosen.size > MOST_BYTES) {
      showError('data-error', new Error(`${printable(chosen.name)} has ${chosen.size} bytes, more than a page can hold; the command, capball recommend, has no such limit`));
      return;
    }
    load(new Uint8Array(await chosen.arrayBuffer()), chosen.name);
  }
  byId('file').addEventListener('change', (event) => event.target.files.length > 0 && readFile(event.target.files[0]));
  const drop = byId('drop');
  for (const kind of ['dragenter', 'dragover'])
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add('over');
    });
  for (const kind of ['dragleave', 'drop']) drop.addEventListener(kind, () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) readFile(event.dataTransfer.files[0]);
  });
  for (const button of document.querySelectorAll('[data-sample]'))
    button.addEventListener('click', () => {
      byId('read').value = byId('ids').value = '';
      load(...sampleFile(button.dataset.sample));
    });
  for (const id of ['skip', 'read', 'ids']) byId(id).addEventListener('change', () => input !== null && load(input.bytes, input.name));

  async function measure() {
    showError('data-error', null);
    setRunning(true, 'Measuring …');
    try {
      const k = Number(byId('k').value), result = await jobs.run('measure', { k, engine: byId('engine').value }, (share, stage) => {
        byId('progress').value = share;
        byId('state').textContent = `${stage}, ${Math.round(100 * share)} %`;
      });
      setRunning(false, 'Done.');
      show(result);
    } catch (error) {
      setRunning(false, error.cancelled ? 'Cancelled.' : '');
      if (!error.cancelled) showError('data-error', error);
    }
  }
  function cancel() {
    jobs.cancel();
  }
  byId('measure').addEventListener('click', measure);
  byId('cancel').addEventListener('click', cancel);

  const best = (rows, name) => rows.filter((row) => row.transform === name).sort((a, b) => b.recall - a.recall)[0];
  function show({ norms, s, abid, recommendation, map: file }) {
    const engine = byId('engine').value, rows = recommendation.rows.filter((row) => row.index === engine), { pick, k } = recommendation;
    const raw = best(rows, 'none'), ours = best(rows, 'sphere');
    byId('sums').replaceChildren(
      sum(percent(raw.recall), `of the true ${k} neighbours by raw cosine`, raw.recall < 0.9 ? 'bad' : ''),
      sum(percent(ours.recall), 'on the sphere', ours.recall >= 0.9 ? 'good' : ''),
      sum(percent(pick.recall), `with the pick: ${NAMES[pick.transform]}`, pick.recall >= 0.9 ? 'good' : ''));
    byId('words').textContent = recommendation.text;
    barChart(byId('norms'), norms.edges, norms.counts, { label: `histogram of the norms, from ${short(norms.min)} to ${short(norms.max)}` });
    lineChart(byId('abid'), abid.abid_curve, { label: 'ABID of the embedding as a function of s', marks: abid.abid_maxima, rule: s, ruleName: 'mean norm' });
    table(rows, pick, k);
    byId('commands').textContent = recommendation.commands.length > 0 ? recommendation.commands.join('\n') : 'The rows go into the index as they are, by cosine.';
    map = file;
    byId('download-map').disabled = map === null;
    byId('map-note').textContent = map === null ? 'The pick needs no map.' : 'The file that capball fit writes, byte for byte.';
    byId('report').hidden = false;
  }
  const sum = (number, text, kind) => element('div', { class: `sum ${kind}` }, element('b', {}, number), text);
  function table(rows, pick, k) {
    const head = (name, number) => element('th', { scope: 'col', class: number ? 'num' : '' }, name);
    const cell = (text) => element('td', { class: 'num' }, text);
    byId('recall').tHead.replaceChildren(element('tr', {}, head('stored as'), head('s', true), head('query'), head(`recall@${k}`, true), head('candidates for 99 %', true), head('bytes', true)));
    byId('recall').tBodies[0].replaceChildren(...rows.map((row) => element('tr', { class: same(row, pick) ? 'pick' : '' },
      element('th', { scope: 'row' }, NAMES[row.transform]), cell(short(row.scale)), element('td', {}, row.query), cell(percent(row.recall)), cell(row.candidatesFor99.toLocaleString('en')), cell(String(row.bytes)))));
  }
  const same = (a, b) => a.transform === b.transform && a.scale === b.scale && a.query === b.query && a.index === b.index;

  byId('copy').addEventListener('click', () => {
    const range = document.createRange();
    range.selectNodeContents(byId('commands'));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    navigator.clipboard?.writeText(byId('commands').textContent).catch(() => {});
  });
  byId('download-map').addEventListener('click', () => download('map.json', map, 'application/json'));
  setRunning(false, '');
}
