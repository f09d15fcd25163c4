// capball for node and browsers: loads capball.wasm, which is beside this file.
import { createCapball, CapballError } from './core.js';

async function compile() {
  const url = new URL('./capball.wasm', import.meta.url);
  if (url.protocol !== 'file:') return WebAssembly.compileStreaming(fetch(url));
  const { readFile } = await import('node:fs/promises');
  return WebAssembly.compile(await readFile(url));
}

export { CapballError };
export const {
  version, isa, Rows, SphereMap, BallModel, BallClasses, Sketch, Transform,
  knn, rangeSearch, hammingKnn, enclosingBall, svdd, abid, norms, recommend, readRows, printable,
} = await createCapball(await compile());
