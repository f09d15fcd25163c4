// The module as its users call it: errors, progress, and the package in an empty folder.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as native from './native.mjs';
import { skip, test } from './tap.mjs';

const throws = (call, expected) =>
  assert.throws(call, (error) => {
    assert.equal(error.name, 'CapballError');
    for (const [key, value] of Object.entries(expected)) value instanceof RegExp ? assert.match(error[key], value) : assert.equal(error[key], value);
    return true;
  });

export async function libraryTests(capball) {
  const { SphereMap, Rows } = capball;
  await test('errors have status, reason, row and argument', () => {
    throws(() => new SphereMap({ d: 2, s: -1 }), { status: 'invalid value', reason: 1002, row: null, argument: 's', message: /s must be > 0 and finite, got -1/ });
    throws(() => SphereMap.fit([[1, 2], [3, NaN]]), { row: 1, message: /row 1 holds NaN/ });
    throws(() => SphereMap.fit([[1, 2]], { goal: 'best' }), { argument: 'goal' });
    throws(() => SphereMap.fit([[1, 2]], { gaol: 'mean' }), { argument: 'gaol', message: /there is no option gaol/ });
    throws(() => SphereMap.fit([[1, 2]], { k: 1.5 }), { argument: 'k' });
    throws(() => SphereMap.fit([[1, 2]], { center: [1] }), { argument: 'center' });
    throws(() => capball.knn([[1, 2]], [[1, 2]], 2), { argument: 'k' });
    throws(() => capball.knn([[1, 2]], [[1]], 1), {});
    throws(() => capball.svdd([[1, 2]], { nu: 2 }), { argument: 'nu' });
    throws(() => capball.knn([[1, 2], [3]], [[1, 2]], 1), { argument: 'base' });
    throws(() => capball.knn('rows', [[1, 2]], 1), { argument: 'base' });
    throws(() => SphereMap.parse('{}'), { status: 'malformed file' });
    throws(() => capball.BallClasses.parse('{}', 'mine.json'), { status: 'malformed file', message: /mine\.json/ });
    const classes = capball.BallClasses.parse(readFileSync(join(import.meta.dirname, '../../../tests/golden/classes.json'), 'utf8'));
    throws(() => classes.scores([[1, 2]]), {});
    throws(() => classes.predict([[1, 2, 3], [1, NaN, 3]]), { row: 1, message: /NaN/ });
    throws(() => classes.verdicts({ data: Float64Array.of(1, 2, 3), rows: 1, cols: 3 }), { argument: 'scores' });
    throws(() => capball.readRows(new Uint8Array([1, 2, 3]), 'x.npy'), { message: /x\.npy/ });
    throws(() => capball.readRows(new TextEncoder().encode('a,b\n1,x\n'), 'x.csv'), { row: 0, message: /x\.csv: line 2, column 2 \(b\)/ });
  });
  await test('a cap and its ball, by the law', () => {
    const map = new SphereMap({ d: 2, s: 1.5 }), cap = map.cap({ center: [1, 2], radius: 0.25 }), ball = map.ball(cap);
    assert.ok(Math.abs(ball.center[0] - 1) < 1e-15 && Math.abs(ball.center[1] - 2) < 1e-15 && Math.abs(ball.radius - 0.25) < 1e-15);
    assert.equal(map.region({ p: [0, 0, -1], b: 0 }).kind, 'complement');
    assert.equal(map.region(map.cap({ kind: 'half-space', normal: [1, 0], offset: 2 })).kind, 'half-space');
    throws(() => map.ball({ p: [0, 0, -1], b: 0 }), { argument: 'cap' });
    const pole = new SphereMap({ d: 2, s: 1, pole: [0.6, 0, 0.8] });
    const ellipse = pole.region(pole.cap({ center: [0, 0], radius: 0.5, axis: [1, 0], along: 0.4 }));
    assert.ok(Math.abs(ellipse.along - 0.4) < 1e-12 && Math.abs(ellipse.axis[0]) > 1 - 1e-12);
  });
  await test('progress is reported and can stop a call', () => {
    const x = native.randomRows(5, 4000, 24), shares = [];
    capball.recommend(x, { k: 5, progress: (share) => void shares.push(share) });
    assert.ok(shares.length > 3 && shares.every((share, i) => share >= (shares[i - 1] ?? 0)) && shares.at(-1) <= 1);
    throws(() => capball.recommend(x, { k: 5, progress: (share) => share > 0.2 }), { status: 'stopped by the caller' });
  });
  await test('memory is returned', () => {
    const x = native.randomRows(6, 2000, 64);
    const round = () => { for (let i = 0; i < 20; i++) { const rows = Rows.from(x), map = SphereMap.fit(rows); map.embed(rows); map.free(); rows.free(); } };
    round();
    assert.throws(() => { const rows = Rows.from(x); rows.free(); SphereMap.fit(rows); }, /freed/);
  });
}

const four = `import { knn } from 'capball';
const base = [[0, 0], [3, 4], [6, 8]];
const { ids, values } = knn(base, [[3, 3]], 2);
console.log(ids, values);
`;

export async function packageTests(packed) {
  try {
    execFileSync('npm', ['--version'], { stdio: 'ignore' });
  } catch {
    skip('npm pack and install', 'npm is not installed');
    return;
  }
  await test('npm pack, npm install of that file in an empty folder, four lines, an answer', () => {
    const run = (cwd, command, ...words) => execFileSync(command, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    const [{ filename, files }] = JSON.parse(run(packed, 'npm', 'pack', '--json', '--pack-destination', native.folder));
    assert.deepEqual(files.map((file) => file.path).sort(),
      ['LICENSE', 'README.md', 'capball.wasm', 'core.d.ts', 'core.js', 'index.d.ts', 'index.js', 'package.json', 'wasi.js']);
    const empty = native.path('empty');
    mkdirSync(empty);
    run(empty, 'npm', 'install', '--offline', '--no-audit', '--no-fund', join(native.folder, filename));
    writeFileSync(join(empty, 'four.mjs'), four);
    assert.equal(run(empty, 'node', 'four.mjs'), 'Uint32Array(2) [ 1, 0 ] Float64Array(2) [ 1, 4.242640687119285 ]\n');
  });
  await test('the samples of its README print what it says', () => {
    const page = readFileSync(join(packed, 'README.md'), 'utf8'), samples = [...page.matchAll(/```js\n([\s\S]*?)```\n+```text\n([\s\S]*?)```/g)];
    assert.ok(samples.length >= 3);
    samples.forEach(([, code, wanted], i) => {
      writeFileSync(native.path(`empty/sample${i}.mjs`), code);
      assert.equal(execFileSync('node', [`sample${i}.mjs`], { cwd: native.path('empty'), encoding: 'utf8' }), wanted);
    });
  });
}
