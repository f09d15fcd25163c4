/* Counts the rows scored at or above a limit, for many queries at once. */
#include <math.h>
#include <stdlib.h>

#include "batch/row_state.h"
#include "capball/query.h"
#include "core/fail.h"
#include "loop/block_product.h"
#include "parallel/blocks.h"
#include "proof/certificate.h"

typedef struct count_job {
  const cpb_loops *loops;
  cpb_view rows;
  size_t queries, wide; /* wide: queries, rounded up to a whole tile */
  const double *p;      /* coordinate k of query j at k*wide + j */
  const double *limits;
  _Atomic uint64_t *counts;
  cpb_first_fault fault;
  _Atomic int out_of_memory;
} count_job;

static void count_products(count_job *job, const double *products, size_t count) {
  for (size_t j = 0; j < job->queries; j++) {
    uint64_t above = 0;
    for (size_t i = 0; i < count; i++) above += products[i * job->wide + j] >= job->limits[j];
    if (above > 0) atomic_fetch_add_explicit(&job->counts[j], above, memory_order_relaxed);
  }
}

static void count_rows(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  count_job *job = arg;
  size_t cols = job->rows.cols, tall = cpb_round_up(count, CPB_TILE_ROWS);
  double *wide = calloc(tall * (cols + job->wide), sizeof *wide), *products = wide + tall * cols;
  if (wide == NULL) {
    atomic_store(&job->out_of_memory, 1);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    cpb_view at = cpb_view_slice(job->rows, first + i, 1);
    int fault = cpb_row_fault(job->loops, at, 0);
    if (fault != 0) cpb_first_fault_meet(&job->fault, first + i, (cpb_fault)fault);
    job->loops->widen[at.dtype](at.data, cols, wide + i * cols);
  }
  cpb_product product = {tall, job->wide, cols, wide, cols, 1, job->p, job->wide, products, job->wide};
  cpb_product_add(job->loops, &product);
  count_products(job, products, count);
  free(wide);
}

/* Transposes the queries. */
static void turn(const cpb_loops *loops, cpb_view p, size_t wide, double *row, double *turned) {
  for (size_t j = 0; j < p.rows; j++) {
    cpb_view at = cpb_view_slice(p, j, 1);
    loops->widen[at.dtype](at.data, p.cols, row);
    for (size_t k = 0; k < p.cols; k++) turned[k * wide + j] = row[k];
  }
}

static cpb_status run(count_job *job, cpb_view p, uint64_t *counts, const cpb_exec *exec, cpb_error *error) {
  enum { BLOCK = 96 };
  double *turned = calloc(p.cols * job->wide + p.cols, sizeof *turned);
  job->counts = calloc(p.rows + 1, sizeof *job->counts);
  if (turned == NULL || job->counts == NULL)
    atomic_store(&job->out_of_memory, 1);
  else {
    turn(job->loops, p, job->wide, turned + p.cols * job->wide, turned);
    job->p = turned;
    cpb_blocks blocks = {job->rows.rows, BLOCK, count_rows, job};
    cpb_blocks_run(&blocks, exec);
  }
  cpb_status status = cpb_first_fault_report(&job->fault, "rows", error);
  if (atomic_load(&job->out_of_memory)) status = cpb_fail_memory(error, "%zu queries", p.rows);
  for (size_t j = 0; status == CPB_OK && j < p.rows; j++) counts[j] += atomic_load(&job->counts[j]);
  free(turned);
  free((void *)job->counts);
  return status;
}

cpb_status cpb_query_count(cpb_view p, const double *limits, cpb_view rows, uint64_t *counts,
                           const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(p, "p", rows.cols, error);
  if (status == CPB_OK) status = cpb_check_view(rows, "rows", rows.cols, error);
  if (status != CPB_OK || p.rows == 0 || rows.rows == 0) return status;
  if (limits == NULL || counts == NULL) return cpb_fail_missing(error, limits == NULL ? "limits" : "counts");
  count_job job = {.loops = cpb_loops_here(),
                   .rows = rows,
                   .queries = p.rows,
                   .wide = cpb_round_up(p.rows, CPB_TILE_COLS),
                   .limits = limits};
  cpb_first_fault_init(&job.fault);
  return run(&job, p, counts, exec, error);
}
