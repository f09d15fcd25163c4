// The library over one instance of capball.wasm. Rows are copied into its memory, results are copied out.
import { createWasi } from './wasi.js';

const DTYPES = ['f32', 'f64', 'f16', 'u8', 'i8'];
const ARRAYS = [Float32Array, Float64Array, Uint16Array, Uint8Array, Int8Array];
const METRICS = ['l2', 'ip', 'cosine'];
const REGIONS = ['empty', 'ball', 'half-space', 'complement', 'punctured', 'everything'];

/** A call that failed. */
export class CapballError extends Error {
  /** @param {{status: string, reason: number, row: number | null, argument: string, text: string}} facts */
  constructor(facts) {
    super(facts.text);
    this.name = 'CapballError';
    this.status = facts.status;
    this.reason = facts.reason;
    this.row = facts.row;
    this.argument = facts.argument;
  }
}

const invalid = (argument, text) => new CapballError({ status: 'invalid value', reason: 1002, row: null, argument, text });

const choice = (names, argument, value) => {
  const at = names.indexOf(value);
  if (at < 0) throw invalid(argument, `there is no ${argument} "${value}", only ${names.join(', ')}`);
  return at;
};

const plain = (key, value) => {
  if (ArrayBuffer.isView(value)) return Array.from(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw invalid(key, `${key} must be finite, got ${value}`);
  return value;
};

/** Options as JSON; names that the call does not know are an error. */
const optionText = (options, known) => {
  for (const name of Object.keys(options))
    if (!known.includes(name) && name !== 'progress')
      throw invalid(name, `there is no option ${name}, only ${known.join(', ')}`);
  return JSON.stringify(options, plain);
};

/** Rows in JavaScript's memory as {data, dtype, rows, cols}. */
function readMatrix(given, argument) {
  if (Array.isArray(given)) {
    const cols = given.length === 0 ? 0 : given[0].length;
    const data = new Float64Array(given.length * cols);
    given.forEach((row, i) => {
      if (row.length !== cols) throw invalid(argument, `${argument} row ${i} has ${row.length} numbers, wanted ${cols}`);
      data.set(row, i * cols);
    });
    return { data, dtype: 1, rows: given.length, cols };
  }
  if (given === null || typeof given !== 'object' || !ArrayBuffer.isView(given.data))
    throw invalid(argument, `${argument} must be rows: {data, cols} with a typed array, an array of arrays, or Rows`);
  const dtype = given.dtype === undefined ? ARRAYS.findIndex((type) => given.data instanceof type) : choice(DTYPES, 'dtype', given.dtype);
  if (dtype < 0 || !(given.data instanceof ARRAYS[dtype]) || (dtype === 2 && given.dtype !== 'f16'))
    throw invalid(argument, `${argument}.data must be a Float32Array, Float64Array, Uint8Array or Int8Array, or a Uint16Array with dtype f16`);
  const { cols } = given, rows = given.data.length / cols;
  if (!Number.isInteger(cols) || cols < 1 || !Number.isInteger(rows))
    throw invalid(argument, `${argument} has ${given.data.length} numbers, which are not rows of ${cols}`);
  return { data: given.data, dtype, rows, cols };
}

/**
 * Creates the library from a compiled module.
 * @param {WebAssembly.Module} module
 */
export async function createCapball(module, { env = {} } = {}) {
  const files = new Map();
  let wasm = null, progress = null;
  const memory = () => wasm.memory.buffer;
  const imports = {
    wasi_snapshot_preview1: createWasi(memory, files, env),
    capball: { progress: (share) => (progress !== null && progress(share) === true ? 1 : 0) },
  };
  wasm = (await WebAssembly.instantiate(module, imports)).exports;
  wasm._initialize();
  const encoder = new TextEncoder(), decoder = new TextDecoder();

  // ---- memory ----

  const alloc = (bytes) => {
    const pointer = wasm.alloc(bytes) >>> 0;
    if (pointer === 0) throw new CapballError({ status: 'out of memory', reason: 5001, row: null, argument: '', text: `no memory for ${bytes} bytes` });
    return pointer;
  };
  const readString = (pointer) => {
    const bytes = new Uint8Array(memory(), pointer >>> 0);
    return decoder.decode(bytes.slice(0, bytes.indexOf(0)));
  };
  const takeString = (pointer) => {
    if (pointer === 0) throw lastError();
    const text = readString(pointer);
    wasm.release(pointer);
    return text;
  };
  const takeJson = (pointer) => JSON.parse(takeString(pointer));
  const lastError = () => new CapballError(takeJson(wasm.error_json()));
  const succeed = (code) => {
    if (code !== 0) throw lastError();
  };
  const given = (pointer) => {
    if (pointer === 0) throw lastError();
    return pointer >>> 0;
  };
  const copyOut = (Type, pointer, count) => new Type(memory().slice(pointer, pointer + count * Type.BYTES_PER_ELEMENT));

  /** Memory of one call, freed at its end. */
  class Scratch {
    pointers = [];
    handles = [];
    reserve(bytes) {
      const pointer = alloc(bytes);
      this.pointers.push(pointer);
      return pointer;
    }
    string(text) {
      const bytes = encoder.encode(text), pointer = this.reserve(bytes.length + 1);
      const to = new Uint8Array(memory(), pointer, bytes.length + 1);
      to.set(bytes);
      to[bytes.length] = 0;
      return pointer;
    }
    numbers(list) {
      const pointer = this.reserve(8 * list.length);
      new Float64Array(memory(), pointer, list.length).set(list);
      return pointer;
    }
    newRows(dtype, rows, cols) {
      const handle = given(wasm.rows_new(dtype, rows, cols));
      this.handles.push(handle);
      return handle;
    }
    rows(x, argument) {
      if (x instanceof Rows) return x.handle();
      const { data, dtype, rows, cols } = readMatrix(x, argument);
      const handle = this.newRows(dtype, rows, cols);
      new ARRAYS[dtype](memory(), wasm.rows_data(handle) >>> 0, data.length).set(data);
      return handle;
    }
    free() {
      this.pointers.forEach((pointer) => wasm.release(pointer));
      this.handles.forEach((handle) => wasm.rows_free(handle));
    }
  }
  /** Runs one call with its scratch memory and its progress callback. */
  const call = (options, work) => {
    const scratch = new Scratch();
    progress = options?.progress ?? null;
    try {
      return work(scratch);
    } finally {
      progress = null;
      scratch.free();
    }
  };

  // ---- objects in the memory of the module ----

  const registry = new FinalizationRegistry(({ free, handle }) => free(handle));
  class Owned {
    #handle;
    #free;
    constructor(handle, free) {
      this.#handle = handle;
      this.#free = free;
      registry.register(this, { free, handle }, this);
    }
    /** @internal */
    handle() {
      if (this.#handle === 0) throw invalid('this', `this ${this.constructor.name} was freed`);
      return this.#handle;
    }
    free() {
      if (this.#handle === 0) return;
      registry.unregister(this);
      this.#free(this.#handle);
      this.#handle = 0;
    }
  }

  /** The handle of an object that parse makes of the text of a file. */
  const parsed = (parse, text, name) => call(null, (scratch) => new Given(given(parse(scratch.string(text), scratch.string(name))), text));

  const shapeOf = (x, argument) => (x instanceof Rows ? x : readMatrix(x, argument));
  const dtypeCode = (options) => choice(['f32', 'f64'], 'dtype', options.dtype ?? 'f64');
  /** Applies run(x, y) to rows of any width and returns y. */
  const applyRows = (x, cols, options, run) =>
    call(options, (scratch) => {
      const dtype = dtypeCode(options), { rows } = shapeOf(x, 'rows');
      const from = scratch.rows(x, 'rows'), to = scratch.newRows(dtype, rows, cols);
      succeed(run(from, to));
      return { data: copyOut(ARRAYS[dtype], wasm.rows_data(to) >>> 0, rows * cols), rows, cols };
    });
  /** `cols` numbers for every row, written by run(x, to, rows). */
  const numbersPerRow = (x, cols, run) =>
    call(null, (scratch) => {
      const { rows } = shapeOf(x, 'rows'), to = scratch.reserve(8 * rows * cols);
      succeed(run(scratch.rows(x, 'rows'), to, rows));
      return copyOut(Float64Array, to, rows * cols);
    });
  const hitsOf = (pointer, count) => {
    const ids = new Uint32Array(count), values = new Float64Array(count), view = new DataView(memory());
    for (let i = 0; i < count; i++) {
      ids[i] = view.getUint32(pointer + 16 * i, true);
      values[i] = view.getFloat64(pointer + 16 * i + 8, true);
    }
    return { ids, values };
  };

  /** Rows in the memory of the module, for several calls. */
  class Rows extends Owned {
    constructor(handle) {
      super(handle, wasm.rows_free);
      Object.assign(this, takeJson(wasm.rows_json(handle)));
    }
    static from(x) {
      const scratch = new Scratch();
      const handle = scratch.rows(x, 'rows');
      return new Rows(handle);
    }
    toArray() {
      const type = ARRAYS[choice(DTYPES, 'dtype', this.dtype)];
      return copyOut(type, wasm.rows_data(this.handle()) >>> 0, this.rows * this.cols);
    }
  }

  const FIT = ['s', 'goal', 'target', 'k', 'center', 'centred', 'pole', 'whiten', 'ridge', 'spherical', 'skipBad', 'sample', 'seed'];
  class SphereMap extends Owned {
    #text = null;
    constructor(options) {
      super(options instanceof Given ? options.handle : call(null, (scratch) =>
        given(wasm.map_new(scratch.string(optionText(options, ['d', 's', 'center', 'pole', 'whiten', 'toward']))))), wasm.map_free);
      Object.assign(this, takeJson(wasm.map_json(this.handle())));
      if (options instanceof Given) this.#text = options.text;
    }
    static fit(rows, options = {}) {
      return call(options, (scratch) =>
        new SphereMap(new Given(given(wasm.map_fit(scratch.rows(rows, 'rows'), scratch.string(optionText(options, FIT)))))));
    }
    static parse(text, name = 'map') {
      return new SphereMap(parsed(wasm.map_parse, text, name));
    }
    embed(rows, options = {}) {
      return applyRows(rows, this.d + 1, options, (x, y) => wasm.map_embed(this.handle(), x, y));
    }
    unembed(rows, options = {}) {
      return applyRows(rows, this.d, options, (y, x) => wasm.map_unembed(this.handle(), y, x));
    }
    #numbers(scratch, region) {
      const kind = choice(REGIONS, 'kind', region.kind ?? 'ball'), zero = new Array(this.d).fill(0);
      const c = Array.from(region.center ?? region.normal ?? zero), axis = Array.from(region.axis ?? zero);
      if (c.length !== this.d || axis.length !== this.d) throw invalid('center', `the map has ${this.d} columns, center or axis has not`);
      const r = kind === 2 ? region.offset : region.radius;
      return [kind, scratch.numbers([...c, ...axis, r ?? 0, region.along ?? r ?? 0]), region.axis === undefined ? 1 : 0];
    }
    cap(region) {
      return call(null, (scratch) => {
        const to = scratch.reserve(8 * (this.d + 4));
        succeed(wasm.map_cap(this.handle(), ...this.#numbers(scratch, region), to));
        const [b, sigma, a] = copyOut(Float64Array, to + 8 * (this.d + 1), 3);
        return { p: copyOut(Float64Array, to, this.d + 1), b, sigma, a };
      });
    }
    region(cap) {
      return call(null, (scratch) => {
        const { d } = this, to = scratch.reserve(8 * (2 * d + 2));
        const from = scratch.numbers([...cap.p, cap.b, cap.sigma ?? NaN, cap.a ?? NaN]);
        if (cap.p.length !== d + 1) throw invalid('cap', `p must have ${d + 1} numbers, got ${cap.p.length}`);
        const code = wasm.map_region(this.handle(), from, to);
        if (code < 0) throw lastError();
        const kind = REGIONS[code], [r, along] = copyOut(Float64Array, to + 16 * d, 2), c = copyOut(Float64Array, to, d);
        if (kind === 'half-space') return { kind, normal: c, offset: r };
        if (kind === 'empty' || kind === 'everything') return { kind };
        return along === 0 ? { kind, center: c, radius: r } : { kind, center: c, radius: r, axis: copyOut(Float64Array, to + 8 * d, d), along };
      });
    }
    ball(cap) {
      const region = this.region(cap);
      if (region.kind !== 'ball') throw invalid('cap', `the region of this cap is not a ball but: ${region.kind}`);
      return region;
    }
    regionScores(region, rows) {
      return call(null, (scratch) => {
        const { rows: n } = shapeOf(rows, 'rows'), to = scratch.reserve(8 * n);
        succeed(wasm.region_scores(this.handle(), ...this.#numbers(scratch, region), scratch.rows(rows, 'rows'), to));
        return copyOut(Float64Array, to, n);
      });
    }
    toFile(source = '') {
      return this.#text ?? call(null, (scratch) => takeString(wasm.map_file(this.handle(), scratch.string(source))));
    }
  }

  const MODEL = ['nu', 'gap', 'method', 'whiten', 'ridge', 'standardize', 'robust', 'calibrate', 'balls', 'seed', 'weights', 'contamination'];
  class BallModel extends Owned {
    constructor(made) {
      super(made.handle, wasm.model_free);
      Object.assign(this, takeJson(wasm.model_json(made.handle)));
      this.kind = REGIONS[this.kind];
    }
    static fit(rows, options = {}) {
      return call(options, (scratch) =>
        new BallModel(new Given(given(wasm.model_fit(scratch.rows(rows, 'rows'), scratch.string(optionText(options, MODEL)))))));
    }
    static parse(text, name = 'model') {
      return new BallModel(parsed(wasm.model_parse, text, name));
    }
    scores(rows) {
      return numbersPerRow(rows, 1, (x, to) => wasm.model_scores(this.handle(), x, to));
    }
    pValues(scores) {
      return call(null, (scratch) => {
        const to = scratch.reserve(8 * scores.length);
        wasm.model_p_values(this.handle(), scratch.numbers(scores), scores.length, to);
        return copyOut(Float64Array, to, scores.length);
      });
    }
    verdicts(scores) {
      return call(null, (scratch) => {
        const to = scratch.reserve(scores.length);
        wasm.model_verdicts(this.handle(), scratch.numbers(scores), scores.length, to);
        return copyOut(Int8Array, to, scores.length);
      });
    }
    strangest(rows, count = 20, scores = this.scores(rows)) {
      return call(null, (scratch) =>
        takeJson(wasm.model_strangest(this.handle(), scratch.rows(rows, 'rows'), scratch.numbers(scores), count)));
    }
    toFile() {
      return takeString(wasm.model_file(this.handle()));
    }
    toSql() {
      return takeString(wasm.model_sql(this.handle()));
    }
  }

  class BallClasses extends Owned {
    constructor(made) {
      super(made.handle, wasm.classes_free);
      Object.assign(this, takeJson(wasm.classes_json(made.handle)));
    }
    static parse(text, name = 'classes') {
      return new BallClasses(parsed(wasm.classes_parse, text, name));
    }
    #numbers(rows, run) {
      const cols = this.labels.length, data = numbersPerRow(rows, cols, run);
      return { data, rows: data.length / cols, cols };
    }
    scores(rows) {
      return this.#numbers(rows, (x, to) => wasm.classes_scores(this.handle(), x, to));
    }
    probabilities(rows) {
      return this.#numbers(rows, (x, to, n) => wasm.classes_scores(this.handle(), x, to) || wasm.classes_probabilities(this.handle(), to, n));
    }
    verdicts({ data, rows, cols }) {
      if (cols !== this.labels.length) throw invalid('scores', `there are ${this.labels.length} classes, and ${cols} scores per row`);
      return call(null, (scratch) => {
        const to = scratch.reserve(4 * rows);
        wasm.classes_verdicts(this.handle(), scratch.numbers(data), rows, to);
        return copyOut(Uint32Array, to, rows);
      });
    }
    predict(rows) {
      return Array.from(this.verdicts(this.scores(rows)), (found) => this.labels[found]);
    }
    toFile() {
      return takeString(wasm.classes_file(this.handle()));
    }
    toSql() {
      return takeString(wasm.classes_sql(this.handle()));
    }
  }

  class Sketch extends Owned {
    constructor(made) {
      super(made.handle, wasm.sketch_free);
      Object.assign(this, takeJson(wasm.sketch_json(made.handle)));
    }
    static fit(rows, options = {}) {
      return call(options, (scratch) =>
        new Sketch(new Given(given(wasm.sketch_fit(scratch.rows(rows, 'rows'), scratch.string(optionText(options, ['bits', 'bytes', 'form', 'certain', 'seed', 's', 'goal', 'sample', 'skipBad'])))))));
    }
    static parse(text, name = 'sketch') {
      return new Sketch(parsed(wasm.sketch_parse, text, name));
    }
    encode(rows) {
      return call(null, (scratch) => {
        const { rows: n } = shapeOf(rows, 'rows'), cols = this.bytes, to = scratch.reserve(n * cols);
        succeed(wasm.sketch_encode(this.handle(), scratch.rows(rows, 'rows'), to));
        return { data: copyOut(Uint8Array, to, n * cols), rows: n, cols };
      });
    }
    search(codes, queries, k, options = {}) {
      optionText(options, []);
      if (!Number.isInteger(k) || k < 1) throw invalid('k', `k must be a positive integer, got ${k}`);
      return search(codes, queries, k, options, (x, q, to) => wasm.sketch_search(this.handle(), x, q, k, to));
    }
    toFile() {
      return takeString(wasm.sketch_file(this.handle()));
    }
  }

  class Transform extends Owned {
    constructor(made) {
      super(made.handle, wasm.transform_free);
      Object.assign(this, takeJson(wasm.transform_json(made.handle)));
      this.cols = wasm.transform_cols(made.handle);
    }
    static fit(rows, options = {}) {
      return call(options, (scratch) =>
        new Transform(new Given(given(wasm.transform_fit(scratch.rows(rows, 'rows'), scratch.string(optionText(options, ['kind', 'skipBad'])))))));
    }
    static parse(text, name = 'transform') {
      return new Transform(parsed(wasm.transform_parse, text, name));
    }
    base(rows, options = {}) {
      return applyRows(rows, this.cols, options, (x, y) => wasm.transform_apply(this.handle(), 0, x, y));
    }
    query(rows, options = {}) {
      return applyRows(rows, this.cols, options, (x, y) => wasm.transform_apply(this.handle(), 1, x, y));
    }
    toFile() {
      return takeString(wasm.transform_file(this.handle()));
    }
  }

  // ---- functions ----

  function search(base, queries, k, options, run) {
    return call(options, (scratch) => {
      const count = shapeOf(queries, 'queries').rows * k;
      const to = scratch.reserve(16 * count);
      succeed(run(scratch.rows(base, 'base'), scratch.rows(queries, 'queries'), to));
      return { k, ...hitsOf(to, count) };
    });
  }
  function knn(base, queries, k, options = {}) {
    optionText(options, ['metric']);
    if (!Number.isInteger(k) || k < 1) throw invalid('k', `k must be a positive integer, got ${k}`);
    const metric = choice(METRICS, 'metric', options.metric ?? 'l2');
    return search(base, queries, k, options, (x, q, to) => wasm.knn(x, q, k, metric, to));
  }
  function hammingKnn(codes, queries, k, options = {}) {
    optionText(options, []);
    if (!Number.isInteger(k) || k < 1) throw invalid('k', `k must be a positive integer, got ${k}`);
    return search(codes, queries, k, options, (x, q, to) => wasm.hamming_knn(x, q, k, to));
  }
  function rangeSearch(base, queries, limit, options = {}) {
    optionText(options, ['metric']);
    const metric = choice(METRICS, 'metric', options.metric ?? 'l2');
    return call(options, (scratch) => {
      const { rows } = shapeOf(queries, 'queries');
      const limits = typeof limit === 'number' ? new Float64Array(rows).fill(limit) : limit;
      if (limits.length !== rows) throw invalid('limit', `limit must be a number or one per query, got ${limits.length} for ${rows}`);
      const found = given(wasm.range_search(scratch.rows(base, 'base'), scratch.rows(queries, 'queries'), scratch.numbers(limits), metric));
      const ends = copyOut(Uint32Array, wasm.found_ends(found) >>> 0, rows);
      const hits = hitsOf(wasm.found_hits(found) >>> 0, rows === 0 ? 0 : ends[rows - 1]);
      wasm.found_free(found);
      const offsets = new Uint32Array(rows + 1);
      offsets.set(ends, 1);
      return { offsets, ...hits };
    });
  }
  function enclosingBall(rows, options = {}) {
    return call(options, (scratch) => numbersOf(takeJson(
      wasm.enclosing_ball(scratch.rows(rows, 'rows'), scratch.string(optionText(options, ['gap', 'maxPasses']))))));
  }
  function svdd(rows, options = {}) {
    return call(options, (scratch) => {
      const { rows: n } = shapeOf(rows, 'rows'), to = scratch.reserve(8 * n);
      const text = scratch.string(optionText(options, ['nu', 'gap', 'maxIterations', 'method', 'weights']));
      const result = numbersOf(takeJson(wasm.svdd(scratch.rows(rows, 'rows'), text, to)));
      return { ...result, multipliers: copyOut(Float64Array, to, n) };
    });
  }
  const numbersOf = (result) => {
    for (const key of ['center', 'multipliers']) if (Array.isArray(result[key])) result[key] = Float64Array.from(result[key]);
    return result;
  };
  function abid(rows, options = {}) {
    const { scales = [], ...rest } = options;
    return call(options, (scratch) => {
      const count = scales.length, text = scratch.string(optionText(rest, ['center', 'pairs']));
      const [values, slopes, original] = [scratch.reserve(8 * count), scratch.reserve(8 * count), scratch.reserve(8)];
      succeed(wasm.abid(scratch.rows(rows, 'rows'), text, scratch.numbers(scales), count, values, slopes, original));
      return { original: copyOut(Float64Array, original, 1)[0], abid: copyOut(Float64Array, values, count), slope: copyOut(Float64Array, slopes, count) };
    });
  }
  function norms(rows, options = {}) {
    return call(options, (scratch) => takeJson(wasm.norms(scratch.rows(rows, 'rows'), scratch.string(optionText(options, ['center', 'bars'])))));
  }
  function recommend(base, options = {}) {
    const { queries = null, ...rest } = options;
    return call(options, (scratch) => {
      const text = scratch.string(optionText(rest, ['k', 'engine', 'sample', 'queryCount', 'seed', 'skipBad', 'name', 'queriesName']));
      const result = takeJson(wasm.recommend(scratch.rows(base, 'base'), queries === null ? 0 : scratch.rows(queries, 'queries'), text));
      return { ...result, pick: result.rows[result.pick], forCosine: result.rows[result.forCosine], commands: result.commands.split('\n').filter(Boolean) };
    });
  }
  const printable = (text) => call(null, (scratch) => takeString(wasm.printable(scratch.string(text))));
  function readRows(bytes, name, options = {}) {
    const path = name === '-' || name === '' ? './-' : name;
    return call(options, (scratch) => {
      files.set(path, bytes);
      try {
        const text = scratch.string(optionText(options, ['format', 'columns', 'drop', 'idColumn', 'skipBad', 'decimalComma']));
        return new Rows(given(wasm.rows_read(scratch.string(path), text)));
      } finally {
        files.clear();
      }
    });
  }

  return {
    version: readString(wasm.version()), isa: readString(wasm.isa()), CapballError,
    Rows, SphereMap, BallModel, BallClasses, Sketch, Transform,
    knn, rangeSearch, hammingKnn, enclosingBall, svdd, abid, norms, recommend, readRows, printable,
  };
}

/** A handle that the module returned, as the argument of a constructor. */
class Given {
  constructor(handle, text = null) {
    this.handle = handle;
    this.text = text;
  }
}
