/** Rows of numbers: a typed array with its number of columns, an array of rows, or `Rows` held by the module. */
export type RowsLike =
  | { data: Float32Array | Float64Array | Uint8Array | Int8Array; cols: number }
  | { data: Uint16Array; cols: number; dtype: 'f16' }
  | ReadonlyArray<ArrayLike<number>>
  | Rows;

export interface Matrix<T = Float32Array | Float64Array> {
  data: T;
  rows: number;
  cols: number;
}

/** A call that failed. The message names the value; programs test the other members. */
export class CapballError extends Error {
  readonly status: string;
  /** A fixed number, see reason.h of the C library: 1002 is a value outside its domain. */
  readonly reason: number;
  /** The row the message is about, counted from 0. */
  readonly row: number | null;
  /** The option or parameter the message is about, or "". */
  readonly argument: string;
}

/** Called with the completed fraction of a call, 0 to 1; returning true stops the call. */
export interface Stoppable {
  progress?: (share: number) => boolean | void;
}

export type Metric = 'l2' | 'ip' | 'cosine';
export type Goal = 'mean' | 'median' | 'hemisphere' | 'spread' | 'recall';

/** The version of the library, such as "0.3.0". */
export const version: string;
/** The loops in use: "v128". */
export const isa: string;

/** Rows held by the module, so that several calls need one copy. Freed with the object, or by free(). */
export class Rows {
  private constructor();
  static from(rows: RowsLike): Rows;
  readonly rows: number;
  readonly cols: number;
  readonly dtype: 'f32' | 'f64' | 'f16' | 'u8' | 'i8';
  /** Names of the columns, if the file has them. */
  readonly names: string[] | null;
  /** Ids of the rows, if the file has them. */
  readonly ids: string[] | null;
  toArray(): Float32Array | Float64Array | Uint16Array | Uint8Array | Int8Array;
  free(): void;
}

/** {y on the sphere: <p,y> >= b}; sigma = sqrt(1-b^2) and a = b+<p,v> keep the digits of small balls. */
export interface Cap {
  p: ArrayLike<number>;
  b: number;
  sigma?: number;
  a?: number;
}

/** A region of the data space; its boundary belongs to it. `axis` and `along`: an ellipsoid of revolution. */
export type Region =
  | { kind?: 'ball' | 'complement' | 'punctured'; center: ArrayLike<number>; radius: number; axis?: ArrayLike<number>; along?: number }
  | { kind: 'half-space'; normal: ArrayLike<number>; offset: number }
  | { kind: 'empty' | 'everything' };

export interface MapFitOptions extends Stoppable {
  /** The scale, > 0, in the unit of the data; default: chosen by the goal. */
  s?: number;
  goal?: Goal;
  /** For the goal recall: the fraction of the true k neighbours that exact search on the sphere must find. */
  target?: number;
  k?: number;
  center?: ArrayLike<number>;
  /** false: the centre is 0. */
  centred?: boolean;
  pole?: ArrayLike<number>;
  whiten?: boolean;
  ridge?: number;
  spherical?: boolean;
  /** Skip rows with NaN or infinity instead of reporting the first one. */
  skipBad?: boolean;
  sample?: number;
  seed?: number;
}

/** y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2): from R^d to the unit sphere of R^(d+1). */
export class SphereMap {
  constructor(options: { d: number; s: number; center?: ArrayLike<number>; pole?: ArrayLike<number>; whiten?: ArrayLike<number>; toward?: ArrayLike<number> });
  static fit(rows: RowsLike, options?: MapFitOptions): SphereMap;
  /** The map of a file that `toFile` or `capball fit` has written. */
  static parse(text: string, name?: string): SphereMap;
  readonly d: number;
  readonly s: number;
  readonly center: number[] | null;
  readonly pole: number[] | null;
  readonly whiten: number[] | null;
  readonly toward: number[] | null;
  readonly columns: string[] | null;
  readonly goal: string;
  /** Why this scale was chosen: scales of other goals, curves. */
  readonly evidence: Record<string, unknown> | null;
  embed(rows: RowsLike, options?: { dtype?: 'f32' | 'f64' } & Stoppable): Matrix;
  unembed(rows: RowsLike, options?: { dtype?: 'f32' | 'f64' } & Stoppable): Matrix;
  cap(region: Region): Required<Cap> & { p: Float64Array };
  region(cap: Cap): Region;
  /** The ball of a cap; an error if its region is not a ball. */
  ball(cap: Cap): { kind: 'ball'; center: Float64Array; radius: number; axis?: Float64Array; along?: number };
  /** Per row, >= 0 is inside. */
  regionScores(region: Region, rows: RowsLike): Float64Array;
  /** The content of the map file, byte for byte that of `capball fit`. `source` is the name of the data. */
  toFile(source?: string): string;
  free(): void;
}

export interface Hits {
  k: number;
  /** k per query, nearest first. */
  ids: Uint32Array;
  /** Distances (not squared), inner products or cosines. */
  values: Float64Array;
}

/** The k nearest rows of the base for every query, exactly. */
export function knn(base: RowsLike, queries: RowsLike, k: number, options?: { metric?: Metric } & Stoppable): Hits;

/** All rows within a limit; the hits of query i are from offsets[i] to offsets[i+1], nearest first. */
export function rangeSearch(base: RowsLike, queries: RowsLike, limit: number | ArrayLike<number>, options?: { metric?: Metric } & Stoppable): { offsets: Uint32Array; ids: Uint32Array; values: Float64Array };

/** The k codes with the smallest Hamming distance: for sketches of earlier releases, whose codes are bits. */
export function hammingKnn(codes: RowsLike, queries: RowsLike, k: number, options?: Stoppable): Hits;

/** The smallest ball around rows, with a lower bound that proves it. */
export function enclosingBall(rows: RowsLike, options?: { gap?: number; maxPasses?: number } & Stoppable): {
  center: Float64Array; radius: number; lowerBound: number; gap: number; converged: boolean; passes: number; support: number[]; multipliers: Float64Array;
};

/** Support vector data description: a ball that leaves the fraction nu of the rows outside. */
export function svdd(rows: RowsLike, options?: { nu?: number; gap?: number; maxIterations?: number; method?: 'exact' | 'cap-svm' | 'cap-svm-paper'; weights?: ArrayLike<number> } & Stoppable): {
  center: Float64Array; radius: number; objective: number | null; lowerBound: number | null; gap: number; converged: boolean; support: number; iterations: number; multipliers: Float64Array;
};

export interface Strange {
  row: number;
  score: number;
  /** The fraction of the training rows that score no more. */
  rank: number | null;
  /** Whether the score is less than the model's threshold. */
  outlier: boolean;
  /** The columns that lower the score most. */
  reasons: { column: number; name: string; value: number; center: number; share: number }[];
}

/** A ball learned from rows: score = r^2 - |W(x-c)|^2, >= 0 is inside. `parse` also reads regions that Python's `ball_of`
 *  has saved: complements of balls, half-spaces and ellipsoids, inside of which scores are >= 0 as well. `contamination`, in (0, 0.5], is the fraction of
 *  these rows that score less than the model's threshold; without it the threshold is 0. `robust` is the recipe for
 *  outliers, that of `capball ball --robust` if `calibrate` is given as well: p-values of new rows. */
export class BallModel {
  private constructor();
  static fit(rows: RowsLike, options?: { nu?: number; gap?: number; method?: 'exact' | 'cap-svm' | 'cap-svm-paper'; whiten?: boolean; ridge?: number; standardize?: boolean; robust?: boolean; calibrate?: boolean; balls?: number | 'auto'; seed?: number; weights?: ArrayLike<number>; contamination?: number } & Stoppable): BallModel;
  static parse(text: string, name?: string): BallModel;
  readonly method: string;
  /** What is inside; of a half-space `center` is the normal and `radius` the offset. */
  readonly kind: 'ball' | 'complement' | 'half-space';
  readonly d: number;
  readonly center: number[] | null;
  readonly radius: number;
  /** The score below which a row is an outlier. */
  readonly threshold: number;
  readonly nu: number;
  readonly gap: number;
  readonly converged: boolean;
  readonly rows: number;
  readonly support: number;
  readonly whiten: number[] | null;
  readonly columns: string[] | null;
  scores(rows: RowsLike): Float64Array;
  /** For each score how often a new ordinary row scores no more; NaN without `calibrate`. */
  pValues(scores: ArrayLike<number>): Float64Array;
  /** For each score -1, an outlier, or 1. */
  verdicts(scores: ArrayLike<number>): Int8Array;
  /** The rows with the lowest scores, lowest first. */
  strangest(rows: RowsLike, count?: number, scores?: Float64Array): Strange[];
  /** The content of the model file, that of `capball ball`. */
  toFile(): string;
  /** The ball as an SQL condition. */
  toSql(): string;
  free(): void;
}

/** Classes as balls: a file of `BallClassifier.save` of Python, the one that `capball score` takes. */
export class BallClasses {
  private constructor();
  static parse(text: string, name?: string): BallClasses;
  readonly d: number;
  /** The scale of the sphere. */
  readonly s: number;
  readonly labels: string[];
  readonly rule: 'softmax' | 'one-vs-rest' | 'largest';
  /** Linear functions on the sphere: one per class, or several, its sub-classes. */
  readonly planes: number;
  /** Of the training data; 0: unknown. */
  readonly rows: number;
  readonly columns: string[] | null;
  /** A column per label; the class of a row is the one with the largest. */
  scores(rows: RowsLike): Matrix<Float64Array>;
  /** A column per label; they sum to 1. An error for the rule `largest`, which has none. */
  probabilities(rows: RowsLike): Matrix<Float64Array>;
  /** For each row of scores the number of its class, from 0 in the order of the labels. */
  verdicts(scores: Matrix): Uint32Array;
  /** The label of every row. */
  predict(rows: RowsLike): string[];
  /** The content of the file, byte for byte. */
  toFile(): string;
  /** The class of a row as an SQL expression. */
  toSql(): string;
  free(): void;
}

/** Angle-based intrinsic dimension of the rows, and of their images at the given scales with dABID/dlog s. */
export function abid(rows: RowsLike, options?: { scales?: ArrayLike<number>; center?: ArrayLike<number>; pairs?: 'all' | 'distinct' } & Stoppable): {
  original: number; abid: Float64Array; slope: Float64Array;
};

/** Norms about a centre (default 0), with a histogram of `bars` bars. */
export function norms(rows: RowsLike, options?: { center?: ArrayLike<number>; bars?: number } & Stoppable): {
  rows: number; nanRows: number; infRows: number; min: number | null; mean: number | null; median: number | null; max: number | null; edges: number[]; counts: number[];
};

export interface RecommendRow {
  transform: 'none' | 'normalize' | 'sphere' | 'lift-ip' | 'lift-cosine';
  /** s of the sphere. */
  scale: number | null;
  index: 'float' | 'int8' | 'bits';
  query: 'point' | 'ball';
  recall: number;
  recallError: number;
  candidatesFor99: number;
  bytes: number;
}

/** Measures which transform suits an index: recall of the true k nearest neighbours for each combination. */
export function recommend(base: RowsLike, options?: { queries?: RowsLike; k?: number; engine?: 'float' | 'int8' | 'bits'; sample?: number; queryCount?: number; seed?: number; skipBad?: boolean; name?: string; queriesName?: string } & Stoppable): {
  pick: RecommendRow; forCosine: RecommendRow; rows: RecommendRow[]; k: number; baseRows: number; queries: number; meanNorm: number; radius: number; poor: boolean; text: string;
  /** Lines for a shell, with the names and options that `base` and `queries` were read by. */
  commands: string[];
};

/** Codes of a few bytes that estimate Euclidean distances. */
export class Sketch {
  private constructor();
  static fit(rows: RowsLike, options?: { bits?: number; bytes?: number; form?: 'chosen' | 'principal' | 'columns' | 'signs' | 'turned'; certain?: boolean; seed?: number; s?: number; goal?: Goal; sample?: number; skipBad?: boolean } & Stoppable): Sketch;
  static parse(text: string, name?: string): Sketch;
  readonly kind: string;
  readonly d: number;
  readonly bits: number;
  /** Of a code: bits/8, and those of its numbers. */
  readonly bytes: number;
  readonly s: number;
  readonly center: number[] | null;
  readonly seed: number;
  /** `bytes` per row. */
  encode(rows: RowsLike): Matrix<Uint8Array>;
  /** The k codes whose estimated distance to each query is smallest. */
  search(codes: RowsLike, queries: RowsLike, k: number, options?: Stoppable): Hits;
  toFile(): string;
  free(): void;
}

/** Other transforms for an index that has one metric, and the exact lifts. */
export class Transform {
  private constructor();
  static fit(rows: RowsLike, options?: { kind?: 'none' | 'center' | 'normalize' | 'lift-ip' | 'lift-cosine' | 'ip-cosine' | 'ip-l2'; skipBad?: boolean } & Stoppable): Transform;
  static parse(text: string, name?: string): Transform;
  readonly kind: string;
  readonly d: number;
  readonly cols: number;
  readonly metric: Metric;
  readonly center: number[] | null;
  readonly maxNorm: number | null;
  base(rows: RowsLike, options?: { dtype?: 'f32' | 'f64' } & Stoppable): Matrix;
  query(rows: RowsLike, options?: { dtype?: 'f32' | 'f64' } & Stoppable): Matrix;
  toFile(): string;
  free(): void;
}

/** Rows from the bytes of a file, by its extension: csv tsv npy fvecs bvecs fbin u8bin i8bin f16bin libsvm .. */
export function readRows(bytes: Uint8Array, name: string, options?: { format?: string; columns?: string; drop?: string; idColumn?: string; skipBad?: boolean; decimalComma?: boolean } & Stoppable): Rows;

/** Text from files and users as people are shown it: what could control a terminal or change the direction of text is `\\xNN`. */
export function printable(text: string): string;
