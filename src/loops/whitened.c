/* Rows transformed by a lower triangular matrix. */
#include "loops/whitened.h"

#include <math.h>
#include <stdlib.h>

#include "base/blocks.h"
#include "base/fail.h"
#include "loops/distances.h"

/* Each row of W is applied to a group of rows while it is in the first-level cache. */
enum { GROUP = 16 };

size_t cpb_whitened_scratch(size_t d) { return GROUP * d; }

void cpb_whitened_norms(const double *W, cpb_view rows, const double *center, double *scratch,
                        double *norms) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = rows.cols;
  for (size_t first = 0; first < rows.rows; first += GROUP) {
    size_t count = rows.rows - first < GROUP ? rows.rows - first : GROUP;
    for (size_t i = 0; i < count; i++) {
      cpb_row_about(loops, rows, 0, first + i, center, scratch + i * d);
      norms[first + i] = 0;
    }
    for (size_t k = 0; k < d; k++)
      for (size_t i = 0; i < count; i++) {
        double coordinate = loops->dot(W + k * d, scratch + i * d, k + 1);
        norms[first + i] += coordinate * coordinate;
      }
    for (size_t i = 0; i < count; i++) norms[first + i] = sqrt(norms[first + i]);
  }
}

typedef struct whitened_job {
  const double *W, *center;
  cpb_view rows;
  double *z, *scratch; /* d per block */
  size_t d;
} whitened_job;

static void whiten_block(void *arg, size_t block, size_t first, size_t count) {
  const whitened_job *job = arg;
  const cpb_loops *loops = cpb_loops_here();
  double *x = job->scratch + block * job->d;
  for (size_t i = first; i < first + count; i++) {
    cpb_row_about(loops, job->rows, 0, i, job->center, x);
    for (size_t k = 0; k < job->d; k++) job->z[i * job->d + k] = loops->dot(job->W + k * job->d, x, k + 1);
  }
}

cpb_status cpb_whitened_rows(const double *W, cpb_view rows, const double *center, double *z,
                             const cpb_exec *exec, cpb_error *error) {
  whitened_job job = {.W = W, .center = center, .rows = rows, .z = z, .d = rows.cols};
  cpb_blocks blocks = {rows.rows, cpb_blocks_rows(rows.cols), whiten_block, &job};
  job.scratch = calloc(cpb_blocks_count(&blocks) * rows.cols + 1, sizeof *job.scratch);
  if (job.scratch == NULL) return cpb_fail_memory(error, "rows of %zu columns", rows.cols);
  cpb_status status = cpb_blocks_run_told(&blocks, exec, error);
  free(job.scratch);
  return status;
}

void cpb_unwhiten(const double *W, size_t d, double *x) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t k = 0; k < d; k++) x[k] = (x[k] - loops->dot(W + k * d, x, k)) / W[k * d + k];
}
