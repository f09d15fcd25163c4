/* n rows through a map, on the caller's threads: the special loops for the plain S, else row by row. */
#include <stdlib.h>

#include "batch/map_object.h"
#include "core/fail.h"
#include "core/rows.h"

typedef struct application {
  cpb_map_rows rows;   /* of the whole call */
  cpb_rows_job job;    /* the same for the loop */
  cpb_rows_loop *loop; /* NULL: row by row */
  atomic_bool no_memory;
} application;

static void careful(void *context, size_t row) {
  const cpb_map_rows *rows = context;
  rows->one(rows, row);
}

static void apply_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  application *a = arg;
  size_t d = a->rows.map->options.d;
  cpb_map_rows rows = a->rows;
  rows.first = first;
  rows.in = cpb_view_slice(rows.in, first, count);
  rows.out = cpb_out_slice(rows.out, first, count);
  if (a->loop != NULL) {
    cpb_rows_job job = a->job;
    job.n = count;
    job.in = rows.in.data;
    job.out = rows.out.data;
    job.context = &rows;
    a->loop(&job);
    return;
  }
  if (rows.map->whiten != NULL && (rows.scratch = malloc(2 * d * sizeof(double))) == NULL) {
    atomic_store(&a->no_memory, true);
    return;
  }
  for (size_t i = 0; i < count; i++) rows.one(&rows, i);
  free(rows.scratch);
}

/* The loops know T1 about a centre that leaves room for the result. */
static bool has_loop(const cpb_map *map, cpb_dtype out) {
  double most = out == CPB_F32 ? CPB_CENTER_MOST_F32 : CPB_CENTER_MOST_F64;
  return map->center_most <= most && map->pole == NULL && map->whiten == NULL && map->mirror == NULL;
}

/* Above this the output does not stay in a cache anyway; storing past it saves reading it first. */
static bool worth_streaming(cpb_view in, cpb_out out) {
  size_t in_bytes = in.rows * in.stride * cpb_dtype_size(in.dtype);
  size_t out_bytes = out.rows * out.stride * cpb_dtype_size(out.dtype);
  return in_bytes + out_bytes >= (size_t)32 << 20;
}

/* The loop for the call, chosen once. */
static void plan(application *a, bool stream) {
  const cpb_map_rows *rows = &a->rows;
  bool embedding = rows->one == cpb_map_embed_row;
  a->job = (cpb_rows_job){.embedding = embedding,
                          .in_type = rows->in.dtype,
                          .out_type = rows->out.dtype,
                          .n = rows->in.rows,
                          .d = rows->map->options.d,
                          .in = rows->in.data,
                          .in_stride = rows->in.stride,
                          .out = rows->out.data,
                          .out_stride = rows->out.stride,
                          .s = rows->map->options.s,
                          .center = {rows->map->high, rows->map->low, rows->map->taken[embedding]},
                          .stream = stream,
                          .careful = careful};
  a->loop = rows->loops->rows(&a->job);
}

static cpb_status apply(application *a, const char *in_name, const char *out_name, size_t in_cols,
                        size_t out_cols, const cpb_exec *exec, cpb_error *error) {
  cpb_map_rows *rows = &a->rows;
  cpb_status status = cpb_check_view(rows->in, in_name, in_cols, error);
  if (status == CPB_OK) status = cpb_check_out(rows->out, out_name, rows->in.rows, out_cols, error);
  bool in_place = cpb_same_rows(rows->in, rows->out);
  if (status == CPB_OK && !in_place) status = cpb_check_apart(rows->in, in_name, rows->out, out_name, error);
  if (status != CPB_OK) return status;
  if (has_loop(rows->map, rows->out.dtype)) plan(a, !in_place && worth_streaming(rows->in, rows->out));
  cpb_first_fault fault;
  cpb_first_fault_init(&fault);
  rows->fault = &fault;
  enum { LONG_RUN = 8 }; /* the special loops walk several ranges of a block at once */
  cpb_blocks blocks = {.rows = rows->in.rows,
                       .per_block = cpb_blocks_rows(in_cols) * (a->loop != NULL ? LONG_RUN : 1),
                       .body = apply_block,
                       .arg = a};
  cpb_blocks_run(&blocks, exec);
  if (atomic_load(&a->no_memory)) return cpb_fail_memory(error, "one row of %zu numbers", in_cols);
  return cpb_first_fault_report(&fault, in_name, error);
}

cpb_status cpb_map_embed(const cpb_map *map, cpb_view x, cpb_out y, const cpb_exec *exec, cpb_error *error) {
  if (map == NULL) return cpb_fail_missing(error, "map");
  size_t d = map->options.d;
  const cpb_loops *loops = cpb_loops_here();
  application a = {.rows = {.map = map, .one = cpb_map_embed_row, .loops = loops, .in = x, .out = y}};
  return apply(&a, "x", "y", d, d + 1, exec, error);
}

cpb_status cpb_map_unembed(const cpb_map *map, cpb_view y, cpb_out x, const cpb_exec *exec,
                           cpb_error *error) {
  if (map == NULL) return cpb_fail_missing(error, "map");
  size_t d = map->options.d;
  const cpb_loops *loops = cpb_loops_here();
  application a = {.rows = {.map = map, .one = cpb_map_unembed_row, .loops = loops, .in = y, .out = x}};
  return apply(&a, "y", "x", d + 1, d, exec, error);
}
