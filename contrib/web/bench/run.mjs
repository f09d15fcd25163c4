// Speed of capball.wasm under node beside the native library: CPU seconds per call, best of interleaved rounds, and the
// ratio native/wasm, which is 1 if they are equally fast. The work on rows in the module's memory is timed, as
// in C; copies from and to JavaScript are not.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createWasi } from '../npm/wasi.js';
import { browserIsThere, openBrowser } from '../test/page.mjs';

const { BUILD } = process.env, root = join(import.meta.dirname, '../../..');
const program = join(BUILD, 'web/native-times');
execFileSync('cc', ['-O2', '-std=c17', '-I', join(root, 'include'), join(import.meta.dirname, 'native.c'), join(BUILD, 'libcapball.a'), '-lm', '-lz', '-lzstd', '-ldl', '-lpthread', '-o', program, ...hdf5()], { stdio: 'inherit' });
function hdf5() {
  try {
    return execFileSync('pkg-config', ['--libs', 'hdf5'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim().split(' ');
  } catch {
    return [];
  }
}

const module = new WebAssembly.Module(readFileSync(join(BUILD, 'web/npm/capball.wasm')));
let wasm;
wasm = new WebAssembly.Instance(module, { wasi_snapshot_preview1: createWasi(() => wasm.memory.buffer, new Map()), capball: { progress: () => 0 } }).exports;
wasm._initialize();

const K = 10, QUERIES = 100, SCALES = 8;
const string = (text) => {
  const bytes = new TextEncoder().encode(`${text}\0`), pointer = wasm.alloc(bytes.length);
  new Uint8Array(wasm.memory.buffer, pointer, bytes.length).set(bytes);
  return pointer;
};
function rowsOf(count, cols) {
  const handle = wasm.rows_new(0, count, cols), data = new Float32Array(wasm.memory.buffer, wasm.rows_data(handle), count * cols);
  let state = 1;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[i] = (state >>> 8) / 16777216 - 0.5;
  }
  return handle;
}
function prepare(what, rows, cols) {
  const x = rowsOf(rows, cols);
  if (what === 'embed') {
    const map = wasm.map_new(string(`{"d":${cols},"s":1}`)), y = wasm.rows_new(0, rows, cols + 1);
    return () => wasm.map_embed(map, x, y);
  }
  if (what === 'search') {
    const queries = rowsOf(QUERIES, cols), hits = wasm.alloc(16 * QUERIES * K);
    return () => wasm.knn(x, queries, K, 0, hits);
  }
  const scales = wasm.alloc(8 * SCALES), to = wasm.alloc(8 * SCALES), original = wasm.alloc(8), options = string('{}');
  new Float64Array(wasm.memory.buffer, scales, SCALES).forEach((_, i, list) => (list[i] = 0.25 * (i + 1)));
  return () => wasm.abid(x, options, scales, SCALES, to, 0, original);
}
function best(run, rounds) {
  let least = Infinity;
  for (let i = 0; i < rounds; i++) {
    const start = process.cpuUsage();
    if (run() !== 0) throw new Error('a call failed');
    least = Math.min(least, process.cpuUsage(start).user);
  }
  return least / 1e6;
}
const native = (isa, words) => Number(execFileSync(program, words.map(String), { env: { ...process.env, CPB_ISA: isa }, encoding: 'utf8' }));

const wanted = { embed: 0.7, search: 2, abid: 0.5 };
const work = [['embed', 200000, 8], ['embed', 50000, 128], ['search', 20000, 64], ['search', 20000, 128], ['abid', 2000, 32], ['abid', 2000, 128]];
console.log(`# ${cpus()[0].model}, node ${process.versions.node}, f32 rows, one thread: node web/bench/run.mjs`);
console.log('#what      rows     d    wasm ms   plain C ms   ratio   wanted   native/wasm');
for (const [what, rows, cols] of work) {
  const run = prepare(what, rows, cols), times = { wasm: [], plain: [], best: [] };
  run();
  for (let round = 0; round < 5; round++) {
    times.wasm.push(best(run, 3));
    times.plain.push(native('plain', [what, rows, cols, 3]));
    times.best.push(native('', [what, rows, cols, 3]));
  }
  const [ours, plain, fast] = ['wasm', 'plain', 'best'].map((key) => Math.min(...times[key]));
  console.log(`${what.padEnd(8)} ${String(rows).padStart(6)} ${String(cols).padStart(5)} ${(1e3 * ours).toFixed(2).padStart(10)} ${(1e3 * plain).toFixed(2).padStart(12)} ${(plain / ours).toFixed(2).padStart(7)} ${String(wanted[what]).padStart(8)} ${(fast / ours).toFixed(2).padStart(13)}`);
}

/** Time of the script per frame while a ball is dragged among 20,000 points. */
async function frames() {
  const browser = await openBrowser(), page = browser.context.pages()[0];
  await page.goto(pathToFileURL(join(BUILD, 'web/index.html')).href);
  await page.selectOption('#count', '20000');
  const box = await page.locator('#plane').boundingBox();
  await page.mouse.move(box.x + box.width * 0.62, box.y + box.height * 0.6);
  await page.mouse.down();
  for (let i = 0; i < 80; i++) await page.mouse.move(box.x + box.width * (0.62 - 0.003 * i), box.y + box.height * (0.6 - 0.002 * i));
  await page.mouse.up();
  const times = (await page.evaluate(() => window.capballPage.frameTimes())).sort((a, b) => a - b);
  await browser.close();
  console.log(`a frame with 20,000 points: median ${times[times.length >> 1].toFixed(1)} ms of ${times.length} frames, wanted < 16`);
}
if (browserIsThere()) await frames();
else console.log('# frames of the page: chromium or playwright-core is not installed: make test-web');
