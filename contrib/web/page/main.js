// Starts the page: the module, the plane and the sphere, the worker for files.
import { createCapball } from '../npm/core.js';
import { byId, showError } from './dom.js';
import { createSee } from './see.js';
import { createJobs } from './jobs.js';
import { createTry } from './try.js';
import { createOutliers } from './outliers.js';

async function inflate(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer();
}

async function start() {
  const module = await WebAssembly.compile(await inflate(byId('wasm').textContent));
  const capball = await createCapball(module);
  byId('version').textContent = capball.version;
  const see = createSee(capball), workers = () => createJobs(module, byId('worker').textContent);
  const outliers = createOutliers(workers(), capball.printable); // a worker of its own: a long measurement does not delay it
  createTry(workers(), outliers.use, capball.printable);
  window.capballPage = { frameTimes: see.frameTimes };
}
start().catch((error) => showError('failure', new Error(`This browser cannot run the page: ${error.message}`)));
