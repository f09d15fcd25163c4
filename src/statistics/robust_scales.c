#include "statistics/robust_scales.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/best.h"
#include "base/blocks.h"
#include "base/fail.h"
#include "loops/distances.h"
#include "loops/row_state.h"
#include "statistics/row_sample.h"

typedef struct scales_job {
  cpb_robust_scales *to;
  cpb_view rows;
  const double *weights;
  double *partial;  /* per block: d sums, or the farthest numbers, and d of a row */
  double *farthest; /* d: |x-median| at most */
  cpb_first_fault fault;
  atomic_bool no_memory;
} scales_job;

static double weight_of(const scales_job *job, size_t row) {
  return job->weights == NULL ? 1 : job->weights[row];
}

/* ---- medians and quartiles ---- */

/* The row drawn from stretch k of n rows. */
static size_t drawn_row(size_t n, size_t k) {
  if (n <= CPB_MEDIAN_ROWS) return k;
  uint64_t from = (uint64_t)k * n / CPB_MEDIAN_ROWS, to = (uint64_t)(k + 1) * n / CPB_MEDIAN_ROWS;
  return (size_t)(from + cpb_row_sample_hash(0, k) % (to - from));
}

/* The least of the numbers that the share of the weight does not exceed. */
static double quantile_of(const scales_job *job, const cpb_ranked *numbers, size_t count, double share,
                          double total) {
  double sum = 0;
  size_t at = 0;
  while (at + 1 < count && (sum += weight_of(job, (size_t)numbers[at].id)) < share * total) at++;
  return numbers[at].key;
}

static unsigned char values_of(const cpb_ranked *numbers, size_t count) {
  unsigned values = count > 0;
  for (size_t i = 1; i < count && values < 3; i++) values += numbers[i].key != numbers[i - 1].key;
  return (unsigned char)values;
}

static void median_of_column(void *arg, size_t block, size_t column, size_t columns) {
  (void)block, (void)columns;
  scales_job *job = arg;
  size_t n = job->rows.rows, drawn = n < CPB_MEDIAN_ROWS ? n : CPB_MEDIAN_ROWS, count = 0;
  cpb_ranked *numbers = malloc((drawn + 1) * sizeof *numbers);
  if (numbers == NULL) {
    atomic_store(&job->no_memory, true);
    return;
  }
  double total = 0;
  for (size_t k = 0; k < drawn; k++) {
    size_t row = drawn_row(n, k);
    if (!(weight_of(job, row) > 0)) continue;
    numbers[count++] = (cpb_ranked){cpb_view_at(job->rows, row, column), row};
    total += weight_of(job, row);
  }
  cpb_robust_scales *to = job->to;
  if (count > 0) {
    cpb_ranked_sort(numbers, count);
    to->median[column] = quantile_of(job, numbers, count, 0.5, total);
    to->quartiles[column] =
        quantile_of(job, numbers, count, 0.75, total) - quantile_of(job, numbers, count, 0.25, total);
    to->values[column] = values_of(numbers, count);
  }
  free(numbers);
}

static cpb_status find_medians(scales_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_blocks columns = {job->rows.cols, 1, median_of_column, job};
  cpb_blocks_run(&columns, exec);
  return atomic_load(&job->no_memory) ? cpb_fail_memory(error, "the medians of %zu columns", job->rows.cols)
                                      : CPB_OK;
}

cpb_status cpb_robust_medians(cpb_robust_scales *scales, cpb_view rows, const double *weights,
                              const cpb_exec *exec, cpb_error *error) {
  scales_job job = {.to = scales, .rows = rows, .weights = weights};
  return find_medians(&job, exec, error);
}

/* ---- spreads ---- */

/* |x - median| of a row, each a number; 0 for a row that has no weight or is at fault. */
static bool row_away(scales_job *job, const cpb_loops *loops, size_t row, double *away) {
  size_t d = job->rows.cols;
  bool finite = true;
  if (!(weight_of(job, row) > 0)) return false;
  cpb_row_about(loops, job->rows, 0, row, job->to->median, away);
  for (size_t j = 0; j < d; j++) {
    away[j] = fabs(away[j]);
    finite = finite && away[j] <= DBL_MAX;
    if (!(away[j] <= DBL_MAX)) away[j] = DBL_MAX;
  }
  int fault = finite ? 0 : cpb_row_fault(loops, job->rows, row);
  cpb_record_fault(&job->fault, row, fault);
  return fault == 0;
}

static void farthest_of_block(void *arg, size_t block, size_t first, size_t count) {
  scales_job *job = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = job->rows.cols;
  double *farthest = job->partial + 2 * block * d, *away = farthest + d;
  for (size_t i = first; i < first + count; i++)
    for (size_t j = 0, used = row_away(job, loops, i, away); used && j < d; j++)
      if (away[j] > farthest[j]) farthest[j] = away[j];
}

/* In units of the farthest number, so that no square leaves the range of double. */
static void squares_of_block(void *arg, size_t block, size_t first, size_t count) {
  scales_job *job = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = job->rows.cols;
  double *sum = job->partial + 2 * block * d, *away = sum + d;
  for (size_t j = 0; j < d; j++) sum[j] = 0;
  for (size_t i = first; i < first + count; i++)
    for (size_t j = 0, used = row_away(job, loops, i, away); used && j < d; j++) {
      double share = job->farthest[j] > 0 ? away[j] / job->farthest[j] : 0;
      sum[j] += weight_of(job, i) * (share * share);
    }
}

static void find_spreads(scales_job *job, const cpb_exec *exec) {
  size_t d = job->rows.cols;
  double total = 0;
  cpb_blocks blocks = {job->rows.rows, cpb_blocks_rows(d), farthest_of_block, job};
  size_t count = cpb_blocks_count(&blocks);
  cpb_blocks_run(&blocks, exec);
  for (size_t j = 0; j < d; j++)
    for (size_t block = 0; block < count; block++)
      job->farthest[j] = fmax(job->farthest[j], job->partial[2 * block * d + j]);
  blocks.body = squares_of_block;
  cpb_blocks_run(&blocks, exec);
  for (size_t i = 0; i < job->rows.rows; i++) total += weight_of(job, i);
  for (size_t j = 0; j < d; j++) {
    double sum = 0;
    for (size_t block = 0; block < count; block++) sum += job->partial[2 * block * d + j];
    job->to->spread[j] = job->farthest[j] * sqrt(sum / total);
  }
}

cpb_status cpb_robust_scales_find(cpb_robust_scales *scales, cpb_memory *memory, cpb_view rows,
                                  const double *weights, const cpb_exec *exec, cpb_error *error) {
  size_t d = rows.cols;
  cpb_blocks blocks = {rows.rows, cpb_blocks_rows(d), NULL, NULL};
  scales_job job = {.to = scales, .rows = rows, .weights = weights};
  scales->median = cpb_memory_zeros(memory, d, sizeof(double));
  scales->quartiles = cpb_memory_zeros(memory, d, sizeof(double));
  scales->spread = cpb_memory_zeros(memory, d, sizeof(double));
  scales->values = cpb_memory_zeros(memory, d, 1);
  job.farthest = cpb_memory_zeros(memory, d, sizeof *job.farthest);
  job.partial = cpb_memory_zeros(memory, cpb_blocks_count(&blocks) + 1, 2 * d * sizeof *job.partial);
  if (memory->failed) return cpb_fail_memory(error, "the scales of %zu columns", d);
  cpb_status status = find_medians(&job, exec, error);
  if (status == CPB_OK) find_spreads(&job, exec);
  return status == CPB_OK ? cpb_first_fault_report(&job.fault, "rows", error) : status;
}
