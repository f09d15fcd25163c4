/* Applies a map to n rows on the caller's threads: by special loops for the plain S, else row by row. */

#include "sphere/map_object.h"
#include "base/fail.h"
#include "base/rows.h"
#include "loops/chunk.h"

typedef struct application {
  cpb_map_rows rows;     /* of the whole call; for a whitened map, its map is the one without W */
  const cpb_map *whiten; /* the whitened map, or NULL */
  cpb_rows_job job;      /* the same for the loop */
  cpb_rows_loop *loop;   /* NULL: row by row */
  atomic_bool no_memory;
} application;

static void apply_rows(const application *a, cpb_view in, cpb_out out, size_t first) {
  cpb_map_rows rows = a->rows;
  rows.first = first;
  rows.in = in;
  rows.out = out;
  if (a->loop != NULL) {
    cpb_rows_job job = a->job;
    job.n = in.rows;
    job.in = in.data;
    job.out = out.data;
    job.context = &rows;
    a->loop(&job);
  } else
    for (size_t i = 0; i < in.rows; i++) rows.one(&rows, i);
}

/* x + m for rows of W^-1 z; most are so short that all their elements fit the type. */
static void store_unwhitened(const application *a, cpb_out out, size_t first, double *x) {
  const cpb_map *map = a->whiten;
  size_t d = map->options.d, stride = cpb_whiten_stride(d);
  const double surely = 1e76; /* less than the square of the largest float */
  cpb_map_rows rows = a->rows;
  rows.first = first;
  rows.out = out;
  for (size_t i = 0; i < out.rows; i++, x += stride) {
    if (map->center != NULL) rows.loops->axpby(1, x, 1, map->center, x, d);
    if (rows.loops->dot(x, x, d) <= surely || cpb_fits(out.dtype, x, d))
      cpb_row_store(rows.loops, out, i, 0, d, x);
    else
      cpb_map_fail_row(&rows, i, CPB_FAULT_RANGE);
  }
}

/* The step of the sphere follows while the rows are in the cache. */
static void apply_whitened(void *arg, size_t first, size_t count, double *room) {
  const application *a = arg;
  const cpb_map *map = a->whiten;
  size_t d = map->options.d, stride = cpb_whiten_stride(d);
  cpb_view in = cpb_view_slice(a->rows.in, first, count);
  cpb_out out = cpb_out_slice(a->rows.out, first, count);
  cpb_whiten_prefetch soon = cpb_whiten_look_ahead(a->rows.in, first + count, out);
  double *from = room, *to = room + CPB_WHITEN_ROWS * stride;
  if (a->job.embedding) {
    cpb_whiten_load(a->rows.loops, in, map->center, from);
    cpb_whiten_rows(a->rows.loops, d, map->whiten_columns, count, from, to, soon);
    apply_rows(a, (cpb_view){to, CPB_F64, count, d, stride}, out, first);
  } else {
    apply_rows(a, in, (cpb_out){from, CPB_F64, count, d, stride}, first);
    cpb_whiten_rows(a->rows.loops, d, map->unwhiten_columns, count, from, to, soon);
    store_unwhitened(a, out, first, to);
  }
}

static void apply_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  application *a = arg;
  if (a->whiten == NULL)
    apply_rows(a, cpb_view_slice(a->rows.in, first, count), cpb_out_slice(a->rows.out, first, count), first);
  else if (!cpb_whiten_blocks(a->whiten->options.d, first, count, apply_whitened, a))
    atomic_store(&a->no_memory, true);
}

/* Above this size the output does not stay in a cache anyway; non-temporal stores avoid reading it first. */
static bool worth_streaming(cpb_view in, cpb_out out) {
  size_t in_bytes = in.rows * in.stride * cpb_dtype_size(in.dtype);
  size_t out_bytes = out.rows * out.stride * cpb_dtype_size(out.dtype);
  return in_bytes + out_bytes >= (size_t)32 << 20;
}

/* Chooses the loop once per call. A whitened map reads or writes blocks of doubles. */
static void plan(application *a, bool stream) {
  const cpb_map_rows *rows = &a->rows;
  bool embedding = rows->one == cpb_map_embed_row;
  cpb_view in = rows->in;
  cpb_out out = rows->out;
  size_t d = rows->map->options.d;
  if (a->whiten != NULL && embedding) in = (cpb_view){NULL, CPB_F64, in.rows, d, cpb_whiten_stride(d)};
  if (a->whiten != NULL && !embedding) out = (cpb_out){NULL, CPB_F64, out.rows, d, cpb_whiten_stride(d)};
  a->job = (cpb_rows_job){.embedding = embedding,
                          .in_type = in.dtype,
                          .out_type = out.dtype,
                          .n = in.rows,
                          .d = d,
                          .in = in.data,
                          .in_stride = in.stride,
                          .out = out.data,
                          .out_stride = out.stride,
                          .s = rows->map->options.s,
                          .center = {rows->map->high, rows->map->low, rows->map->twofold, rows->map->wide},
                          .stream = stream && a->whiten == NULL, /* a whitened map prefetches its output */
                          .careful = rows->one};
  /* the loops implement T1 about a centre for which the result stays in range */
  bool in_range =
      rows->map->center_most <= (out.dtype == CPB_F32 ? CPB_CENTER_MOST_F32 : CPB_CENTER_MOST_F64);
  if (in_range && rows->map->pole == NULL && rows->map->mirror == NULL)
    a->loop = cpb_rows_of(rows->loops, &a->job);
}

/* Rows per block; the special loops process several ranges of a block at once, a whitening needs whole blocks. */
static size_t rows_per_block(const application *a, size_t cols) {
  enum { LONG_RUN = 8 };
  size_t rows = cpb_blocks_rows(cols) * (a->loop != NULL ? LONG_RUN : 1);
  return a->whiten == NULL ? rows : cpb_round_up(rows / LONG_RUN, CPB_WHITEN_ROWS);
}

static application application_of(const cpb_map *map, bool embedding, cpb_view in, cpb_out out) {
  return (application){.rows = {.map = map,
                                .one = embedding ? cpb_map_embed_row : cpb_map_unembed_row,
                                .loops = cpb_loops_here(),
                                .in = in,
                                .out = out}};
}

static cpb_status apply(const cpb_map *map, bool embedding, cpb_view in, cpb_out out, const cpb_exec *exec,
                        cpb_error *error) {
  if (map == NULL) return cpb_fail_missing(error, "map");
  application a = application_of(map, embedding, in, out);
  const char *in_name = embedding ? "x" : "y", *out_name = embedding ? "y" : "x";
  size_t in_cols = map->options.d + !embedding, out_cols = map->options.d + embedding;
  cpb_status status = cpb_check_view(in, in_name, in_cols, error);
  if (status == CPB_OK) status = cpb_check_out(out, out_name, in.rows, out_cols, error);
  bool in_place =
      in.data == out.data && in.dtype == out.dtype && in.stride == out.stride && in.rows == out.rows;
  if (status == CPB_OK && !in_place) status = cpb_check_apart(in, in_name, out, out_name, error);
  if (status != CPB_OK) return status;
  if (map->whiten != NULL) {
    a.whiten = map;
    a.rows.map = map->bare;
  }
  plan(&a, !in_place && worth_streaming(in, out));
  cpb_first_fault fault = {0};
  a.rows.fault = &fault;
  cpb_blocks_run(&(cpb_blocks){in.rows, rows_per_block(&a, in_cols), apply_block, &a}, exec);
  if (atomic_load(&a.no_memory)) return cpb_fail_memory(error, "one row of %zu numbers", in_cols);
  return cpb_first_fault_report(&fault, in_name, error);
}

cpb_status cpb_map_embed(const cpb_map *map, cpb_view x, cpb_out y, const cpb_exec *exec, cpb_error *error) {
  return apply(map, true, x, y, exec, error);
}

cpb_status cpb_map_unembed(const cpb_map *map, cpb_view y, cpb_out x, const cpb_exec *exec,
                           cpb_error *error) {
  return apply(map, false, y, x, exec, error);
}

void cpb_map_one_init(cpb_map_one *one, const cpb_map *map, bool embedding, cpb_dtype dtype) {
  size_t d = map->options.d;
  application a = application_of(map, embedding, cpb_rows(NULL, dtype, 1, d + !embedding),
                                 cpb_rows_out(NULL, dtype, 1, d + embedding));
  if (map->whiten == NULL) plan(&a, false);
  *one = (cpb_map_one){a.rows, a.job, a.loop};
}

cpb_status cpb_map_one_apply(const cpb_map_one *one, const void *in, void *out, cpb_error *error) {
  cpb_first_fault fault = {0};
  cpb_map_rows rows = one->rows;
  cpb_rows_job job = one->job;
  rows.fault = &fault;
  rows.in.data = job.in = in;
  rows.out.data = job.out = out;
  job.context = &rows;
  one->loop(&job);
  return cpb_first_fault_report(&fault, job.embedding ? "x" : "y", error);
}

static cpb_status apply_plain(double s, bool embedding, cpb_view in, cpb_out out, cpb_error *error) {
  cpb_map *map;
  cpb_status status = cpb_map_plain(embedding ? in.cols : out.cols, s, NULL, &map, error);
  if (status == CPB_OK) status = apply(map, embedding, in, out, NULL, error);
  cpb_map_free(map);
  return status;
}

cpb_status cpb_embed(cpb_view x, cpb_out y, double s, cpb_error *error) {
  return apply_plain(s, true, x, y, error);
}

cpb_status cpb_unembed(cpb_view y, cpb_out x, double s, cpb_error *error) {
  return apply_plain(s, false, y, x, error);
}
