// What capball.wasm computes has the bits of the native library's plain loops.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as native from './native.mjs';
import { test } from './tap.mjs';

const bits = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex');
const sameBits = (ours, theirs) => {
  assert.equal(ours.constructor, theirs.constructor);
  assert.equal(ours.length, theirs.length);
  assert.equal(bits(ours), bits(theirs));
};

/** Of each row, by the fields of the file. */
function insideByFormula({ kind, center, radius, whiten }, rows) {
  const data = rows.toArray(), d = center.length;
  return Array.from({ length: rows.rows }, (_, i) => {
    const x = Array.from(data.subarray(i * d, i * d + d));
    if (kind === 'half-space') return x.reduce((sum, value, k) => sum + value * center[k], 0) >= radius;
    const shifted = x.map((value, k) => value - center[k]);
    const z = whiten === null || whiten.length === 0 ? shifted : shifted.map((_, j) => shifted.reduce((sum, value, k) => sum + whiten[j * d + k] * value, 0));
    return (Math.hypot(...z) <= radius) === (kind !== 'complement');
  });
}

const golden = join(import.meta.dirname, '../../../tests/golden');
const readable = (name) => {
  try {
    native.capball('convert', join(golden, name), '-d', 'f64', '-o', 'golden.npy');
    return true;
  } catch {
    return false;
  }
};

export async function sameBitsTests(capball) {
  const { SphereMap, BallModel, BallClasses, Sketch, Transform } = capball;

  for (const Type of [Float32Array, Float64Array])
    for (const d of [1, 2, 3, 8, 17, 64, 130])
      await test(`embed and unembed, ${Type.name}, d = ${d}`, () => {
        const x = native.randomRows(d, 67, d, Type), dtype = Type === Float32Array ? 'f32' : 'f64';
        native.writeNpy('x.npy', x);
        native.capball('fit', 'x.npy', '-o', 'map.json');
        native.capball('embed', '-m', 'map.json', 'x.npy', '-d', dtype, '-o', 'y.npy');
        native.capball('unembed', '-m', 'map.json', 'y.npy', '-d', dtype, '-o', 'back.npy');
        const map = SphereMap.fit(x), y = map.embed(x, { dtype });
        assert.equal(map.toFile('x.npy'), native.text('map.json'));
        sameBits(y.data, native.readNpy('y.npy'));
        sameBits(map.unembed(y, { dtype }).data, native.readNpy('back.npy'));
      });

  const base = native.randomRows(1, 700, 12), queries = native.randomRows(2, 30, 12);
  native.writeFvecs('base.fvecs', base);
  native.writeFvecs('queries.fvecs', queries);

  for (const [goal, more] of [['mean', []], ['median', []], ['hemisphere', []], ['spread', []], ['recall', ['--target', '0.9', '-k', '5']], ['mean', ['--whiten', '--ridge', '0.1']], ['mean', ['--center', 'none']], ['', ['--scale', '2.5']]])
    await test(`a map fitted here is the file of the command: ${goal} ${more.join(' ')}`, () => {
      native.capball('fit', 'base.fvecs', ...(goal === '' ? [] : ['--goal', goal]), ...more, '-o', 'map.json');
      const options = { ...(goal === '' ? {} : { goal }), ...(more[0] === '--target' ? { target: 0.9, k: 5 } : {}), ...(more[0] === '--whiten' ? { whiten: true, ridge: 0.1 } : {}),
        ...(more[0] === '--center' ? { centred: false } : {}), ...(more[0] === '--scale' ? { s: 2.5 } : {}) };
      const rows = capball.readRows(native.bytes('base.fvecs'), 'base.fvecs');
      const file = SphereMap.fit(rows, options).toFile('base.fvecs');
      assert.equal(file, native.text('map.json'));
      assert.equal(SphereMap.parse(file).toFile(), file);
      rows.free();
    });
  await test('a map file from here is accepted by the command', () => {
    writeFileSync(native.path('ours.json'), SphereMap.fit(base).toFile('base.fvecs'));
    native.capball('embed', '-m', 'ours.json', 'base.fvecs', '-o', 'y.npy');
    sameBits(SphereMap.fit(base).embed(base, { dtype: 'f32' }).data, native.readNpy('y.npy'));
  });

  for (const metric of ['l2', 'ip', 'cosine'])
    await test(`nearest neighbours by ${metric}`, () => {
      native.capball('knn', 'base.fvecs', 'queries.fvecs', '-k', '7', '--metric', metric, '-o', 'ids.npy', '--distances', 'values.npy', '-d', 'f64');
      const hits = capball.knn(base, queries, 7, { metric });
      assert.deepEqual([...hits.ids], [...native.readNpy('ids.npy')]);
      sameBits(hits.values, native.readNpy('values.npy'));
    });
  await test('rows within a radius', () => {
    native.capball('range', 'base.fvecs', 'queries.fvecs', '--radius', '14', '-o', 'found.jsonl');
    const found = capball.rangeSearch(base, queries, 14), lines = native.text('found.jsonl').trim().split('\n').map(JSON.parse);
    assert.ok(found.ids.length > 10);
    lines.forEach((line, i) => {
      assert.deepEqual([...found.ids.slice(found.offsets[i], found.offsets[i + 1])], line.ids);
      assert.deepEqual([...found.values.slice(found.offsets[i], found.offsets[i + 1])], line.distances);
    });
  });

  for (const [words, options] of [[[], {}], [['--nu', '0.1'], { nu: 0.1 }], [['--nu', '0.05', '--standardize', '--whiten', '--ridge', '0.1'], { nu: 0.05, standardize: true, whiten: true, ridge: 0.1 }], [['--nu', '0.9', '--contamination', '0.05'], { nu: 0.9, contamination: 0.05 }], [['--robust'], { robust: true, calibrate: true }], [['--robust', '--balls', '3'], { robust: true, calibrate: true, balls: 3 }], [['--robust', '--balls', 'auto'], { robust: true, calibrate: true, balls: 'auto' }]])
    await test(`a ball ${words.join(' ')}: model file, scores, verdicts`, () => {
      native.capball('ball', 'base.fvecs', ...words, '-o', 'model.json');
      native.capball('score', '-m', 'model.json', 'base.fvecs', '-o', 'scores.npy');
      const model = BallModel.fit(base, options);
      assert.equal(model.toFile(), native.text('model.json'));
      sameBits(model.scores(base), native.readNpy('scores.npy'));
      native.capball('score', '-m', 'model.json', 'base.fvecs', '-o', 'verdicts.npy', '--predict');
      assert.deepEqual([...model.verdicts(model.scores(base))], [...native.readNpy('verdicts.npy')]);
      assert.equal(BallModel.parse(model.toFile()).toFile(), model.toFile());
      if (!options.calibrate) return;
      native.capball('score', '-m', 'model.json', 'base.fvecs', '-o', 'p.npy', '--alpha', '0.05');
      const columns = native.readNpy('p.npy');
      sameBits(model.pValues(model.scores(base)), columns.filter((_, i) => i % 2 === 1));
    });
  const table = native.path('table.npy'), rows = capball.readRows(readFileSync(join(golden, 'rows_60x3.csv')), 'rows_60x3.csv');
  writeFileSync(table, native.npyBytes({ data: rows.toArray(), rows: rows.rows, cols: rows.cols }));
  for (const kind of ['ball', 'complement', 'half-space', 'ellipsoid'])
    await test(`a saved region, ${kind}: scores and verdicts`, () => {
      const file = join(golden, `region_${kind.replace('-', '')}.json`), model = BallModel.parse(readFileSync(file, 'utf8'));
      assert.equal(model.kind, kind === 'ellipsoid' ? 'ball' : kind);
      native.capball('score', '-m', file, table, '-o', 'scores.npy');
      native.capball('score', '-m', file, table, '-o', 'verdicts.npy', '--predict');
      const scores = model.scores(rows), verdicts = model.verdicts(scores);
      sameBits(scores, native.readNpy('scores.npy'));
      assert.deepEqual([...verdicts], [...native.readNpy('verdicts.npy')]);
      assert.equal(model.toFile(), readFileSync(file, 'utf8'));
      assert.deepEqual([...verdicts], insideByFormula(model, rows).map((inside) => (inside ? 1 : -1)));
      assert.equal(new Set(verdicts).size, 2);
    });

  const classes = join(golden, 'classes.json');
  await test('classes: scores, probabilities, labels, the file', () => {
    const model = BallClasses.parse(readFileSync(classes, 'utf8')), near = { data: Float64Array.from(rows.toArray(), (value) => value / 2), cols: 3 };
    native.writeNpy('near.npy', { ...near, rows: rows.rows });
    native.capball('score', '-m', classes, 'near.npy', '-o', 'classes.npy');
    const wanted = native.readNpy('classes.npy'), found = model.verdicts(model.scores(near));
    assert.deepEqual([model.d, model.labels, model.rule, model.columns, model.planes], [3, ['far', 'near'], 'softmax', ['a', 'b', 'c'], 3]);
    assert.deepEqual([...found], [...wanted.filter((_, i) => i % 3 === 0)]);
    sameBits(model.probabilities(near).data, wanted.filter((_, i) => i % 3 !== 0));
    assert.deepEqual(model.predict(near), Array.from(found, (k) => model.labels[k]));
    assert.equal(new Set(found).size, 2);
    assert.equal(model.toFile(), readFileSync(classes, 'utf8'));
    assert.match(model.toSql(), /'far'/);
  });

  await test('enclosing ball and SVDD have the centre of the models', () => {
    assert.deepEqual([...capball.enclosingBall(base).center], BallModel.fit(base).center);
    assert.deepEqual([...capball.svdd(base, { nu: 0.1 }).center], BallModel.fit(base, { nu: 0.1 }).center);
  });

  await test('ABID over s', () => {
    const facts = JSON.parse(native.capball('abid', 'base.fvecs', '--sweep', '--json'));
    const mean = capball.SphereMap.fit({ data: Float64Array.from(base.data), cols: base.cols }).center;
    const scales = facts.curve.map(([s]) => s);
    const ours = capball.abid(base, { scales, center: mean });
    assert.ok(Math.abs(ours.original / facts.abid - 1) < 1e-14); // the command's rows are in the order of its sample
    facts.curve.forEach(([, value], i) => assert.ok(Math.abs(ours.abid[i] / value - 1) < 1e-9));
  });

  await test('a sketch and its codes', () => {
    native.capball('sketch', 'train', 'base.fvecs', '--bits', '64', '-o', 'sketch.json');
    native.capball('sketch', 'encode', '-m', 'sketch.json', 'base.fvecs', '-o', 'codes.npy');
    const sketch = Sketch.fit(base, { bits: 64 }), codes = sketch.encode(base);
    assert.equal(sketch.toFile(), native.text('sketch.json'));
    sameBits(codes.data, native.readNpy('codes.npy'));
    native.capball('sketch', 'search', '-m', 'sketch.json', 'codes.npy', 'base.fvecs', '-k', '3', '-o', 'near.ivecs', '--distances', 'near.npy', '--dtype', 'f64');
    const hits = sketch.search(codes, base, 3);
    sameBits(hits.values, native.readNpy('near.npy'));
    const bits = capball.hammingKnn(codes, codes, 3);
    for (let i = 0; i < base.rows; i++) assert.ok(bits.values[3 * i] === 0 && bits.ids[3 * i] <= i);
  });
  for (const kind of ['center', 'normalize', 'lift-ip', 'lift-cosine', 'ip-cosine', 'ip-l2'])
    await test(`transform ${kind}`, () => {
      native.capball('fit', '--transform', kind, 'base.fvecs', '-o', 'lift.json');
      native.capball('embed', '-m', 'lift.json', 'base.fvecs', '-o', 'y.npy');
      const transform = Transform.fit(base, { kind });
      assert.equal(transform.toFile(), native.text('lift.json'));
      sameBits(transform.base(base, { dtype: 'f32' }).data, native.readNpy('y.npy'));
    });
  await test('the recommendation', () => {
    const theirs = JSON.parse(native.capball('recommend', 'base.fvecs', '--queries', 'queries.fvecs', '-k', '5', '--json'));
    const ours = capball.recommend(base, { queries, k: 5, name: 'base.fvecs', queriesName: 'queries.fvecs' });
    assert.equal(ours.text, theirs.text);
    assert.deepEqual(ours.commands, theirs.commands);
    assert.deepEqual(ours.rows.map((row) => [row.transform, row.scale, row.index, row.query, row.recall, row.candidatesFor99]),
      theirs.rows.map((row) => [row.transform, row.scale, row.index, row.query, row.recall, row.candidates_for_99]));
  });

  for (const [name, options, words] of [
    ["it's named.csv", { idColumn: 'who' }, ['--id-column', 'who']], ['-dash.csv', { columns: 'b,a' }, ['--columns', 'b,a']],
    ['marks\u009b\u202e.csv', { drop: '1', skipBad: true }, ['--drop', '1', '--skip-bad']]])
    await test(`commands for ${encodeURI(name)} run as they are shown`, () => {
      const next = native.randomNumbers(11), lines = Array.from({ length: 80 }, (_, i) => `r${i},${next()},${next() + (i % 5)},${next()}`);
      native.writeText(name, ['who,a,b,c', ...lines].join('\n'));
      const rows = capball.readRows(native.bytes(name), name, options), ours = capball.recommend(rows, { k: 5 });
      assert.deepEqual(ours.commands, JSON.parse(native.capball('recommend', '-k', '5', '--json', ...words, '--', name)).commands);
      assert.ok(native.shell(['rm -f nearest.npy', ...ours.commands, 'test -s nearest.npy']) !== null);
      rows.free();
    });
  await test('text for people', () => {
    assert.equal(capball.printable('naïve \u009b\u202e'), 'naïve \\xc2\\x9b\\xe2\\x80\\xae');
  });

  for (const name of readdirSync(golden).filter((file) => /\.(npy|csv|tsv|fvecs|bvecs|ivecs|fbin|u8bin|i8bin|f16bin|ibin|libsvm|svm)$/.test(file)))
    await test(`${name}: read as the command reads it`, () => {
      const bytes = new Uint8Array(readFileSync(join(golden, name)));
      if (!readable(name)) {
        assert.throws(() => capball.readRows(bytes, name), (error) => error instanceof capball.CapballError && error.message.includes(name));
        return;
      }
      const rows = capball.readRows(bytes, name), map = new SphereMap({ d: rows.cols, s: 1 });
      writeFileSync(native.path('one.json'), map.toFile());
      native.capball('embed', '-m', 'one.json', 'golden.npy', '-d', 'f64', '-o', 'y.npy');
      sameBits(map.embed(rows).data, native.readNpy('y.npy'));
    });
}
