// The worker: holds the rows of one file and measures them.
import { createCapball } from '../npm/core.js';

let capball = null, rows = null, file = null;

const work = {
  load({ bytes, name, options }) {
    const read = capball.readRows(bytes, name, options);
    rows?.free();
    rows = read;
    file = { name, options };
    return { name, rows: rows.rows, cols: rows.cols, dtype: rows.dtype, names: rows.names };
  },
  measure({ k, engine }, report) {
    const stage = (name, from, to) => (share) => report(from + share * (to - from), name);
    const map = capball.SphereMap.fit(rows, { progress: stage('centre', 0, 0.05) });
    const norms = capball.norms(rows, { center: map.center, bars: 24 });
    const spread = capball.SphereMap.fit(rows, { goal: 'spread', sample: 2048, progress: stage('ABID over s', 0.05, 0.3) });
    const { evidence } = spread;
    const result = capball.recommend(rows, { k, engine, sample: 20000, queryCount: 200, progress: stage('recall', 0.3, 1) });
    return { norms, s: map.s, abid: evidence, recommendation: result, map: mapFile(result.pick) };
  },
  outliers({ columns, nu, standardize, whiten }) {
    const chosen = select(columns), model = capball.BallModel.fit(chosen, { nu, standardize, ...(whiten ? { whiten, ridge: standardize ? 0.1 : 0.01 } : {}) });
    const scores = model.scores(chosen), labels = model.verdicts(scores), strange = model.strangest(chosen, 15, scores);
    const name = (column) => nameOf(columns === null ? column : columns[column]);
    for (const one of strange) for (const reason of one.reasons) reason.name = name(reason.column);
    const result = { scores, labels, strange, radius: model.radius, center: model.center, whiten: model.whiten, gap: model.gap, support: model.support,
      points: points(columns ?? [0, Math.min(1, rows.cols - 1)]), ids: rows.ids, model: model.toFile() };
    model.free();
    return result;
  },
  points: ({ columns }) => points(columns),
};

const nameOf = (column) => rows.names?.[column] || `x${column}`;

/** The map file of a recommendation, as `capball fit` among its commands writes it. */
function mapFile(pick) {
  if (pick.transform === 'none') return null;
  if (pick.transform === 'sphere') return capball.SphereMap.fit(rows, { s: pick.scale }).toFile(file.name);
  return capball.Transform.fit(rows, { kind: pick.transform }).toFile();
}

function select(columns) {
  if (columns === null) return rows;
  const all = rows.toArray(), data = new all.constructor(rows.rows * columns.length);
  for (let i = 0; i < rows.rows; i++) columns.forEach((column, k) => (data[i * columns.length + k] = all[i * rows.cols + column]));
  return { data, cols: columns.length, ...(rows.dtype === 'f16' ? { dtype: 'f16' } : {}) };
}

/** Two columns as doubles, of at most 20000 rows, evenly chosen. */
function points(columns) {
  const half = new capball.SphereMap({ d: rows.cols, s: 1 }); // widens every type
  const all = rows.dtype === 'f16' ? half.unembed(half.embed(rows)).data : rows.toArray();
  const step = Math.max(1, Math.ceil(rows.rows / 20000)), shown = [], ids = [];
  for (let i = 0; i < rows.rows; i += step) {
    shown.push(all[i * rows.cols + columns[0]], all[i * rows.cols + columns[1]]);
    ids.push(i);
  }
  half.free();
  return { data: Float64Array.from(shown), rows: Uint32Array.from(ids), columns };
}

onmessage = async ({ data }) => {
  if (data.module !== undefined) {
    capball = createCapball(data.module);
    return;
  }
  capball = await capball;
  let last = 0;
  const report = (share, stage) => {
    if (performance.now() - last < 50) return;
    last = performance.now();
    postMessage({ id: data.id, progress: share, stage });
  };
  try {
    postMessage({ id: data.id, result: work[data.kind](data.options, report) });
  } catch (error) {
    postMessage({ id: data.id, error: { message: error.message, row: error.row, argument: error.argument, reason: error.reason } });
  }
};
