// Work in a worker, one job at a time per name; cancelling ends the worker and starts another.

export function createJobs(module, source) {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  let worker = null, next = 0, loaded = null;
  const waiting = new Map();

  function begin() {
    worker = new Worker(url);
    worker.onmessage = ({ data }) => {
      const job = waiting.get(data.id);
      if (job === undefined) return;
      if (data.progress !== undefined) {
        job.progress?.(data.progress, data.stage);
        return;
      }
      waiting.delete(data.id);
      data.error === undefined ? job.resolve(data.result) : job.reject(Object.assign(new Error(data.error.message), data.error));
    };
    worker.onerror = (event) => fail(new Error(event.message));
    worker.postMessage({ module });
    if (loaded !== null) worker.postMessage({ id: -1, kind: 'load', options: loaded });
  }
  function fail(error) {
    for (const job of waiting.values()) job.reject(error);
    waiting.clear();
  }
  function run(kind, options, progress = null) {
    if (worker === null) begin();
    const id = next++;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject, progress });
      worker.postMessage({ id, kind, options });
    });
  }
  return {
    run,
    async load(options) {
      loaded = null;
      const facts = await run('load', options);
      loaded = options;
      return facts;
    },
    /** Ends all work; what was loaded is loaded again by the next worker. */
    cancel() {
      worker?.terminate();
      worker = null;
      fail(Object.assign(new Error('Cancelled.'), { cancelled: true }));
    },
  };
}
