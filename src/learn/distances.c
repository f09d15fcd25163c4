#include "learn/distances.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "geometry/vector.h"
#include "learn/piece_rounds.h"

/* Prepares the rows of SVDD: in a unit in which their squares are normal doubles, with their mean. Rows of weight
 * 0 are ignored and never read. */

double cpb_scaled(double x, int exponent) { return exponent == 0 ? x : ldexp(x, -exponent); }

double cpb_in_data_unit(double x, int exponent) {
  return exponent == 0 ? x : ldexp(ldexp(x, exponent), -exponent);
}

double cpb_lower_in_unit(double x, int exponent) {
  double scaled = ldexp(x, exponent);
  if (isinf(scaled)) return NAN;
  return exponent == 0 || scaled >= DBL_MIN ? scaled : fmax(0, scaled - DBL_TRUE_MIN);
}

void cpb_set_center(const double *origin, const double *point, int exponent, size_t d, double *center) {
  for (size_t j = 0; j < d; j++) center[j] = cpb_in_data_unit(origin[j] + point[j], exponent);
}

/* Two factors, because a single one may overflow. */
static void scale(const double *from, size_t count, int exponent, double *to) {
  double first = ldexp(1, -(exponent / 2)), second = ldexp(1, -(exponent - exponent / 2));
  for (size_t i = 0; i < count; i++) to[i] = from[i] * first * second;
}

static double one_row(const cpb_loops *loops, cpb_view x, int exponent, size_t row, const double *c) {
  double buffer[CPB_CHUNK], scaled[CPB_CHUNK], sum = 0;
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    const double *chunk = cpb_row_chunk(loops, x, row, offset, count, buffer);
    if (exponent != 0) {
      scale(chunk, count, exponent, scaled);
      chunk = scaled;
    }
    sum += loops->dist2(chunk, c + offset, count);
  }
  return sum;
}

void cpb_dist2_of_rows(const cpb_loops *loops, cpb_view x, int exponent, size_t first, size_t count,
                       const double *c, double *dist2) {
  if (exponent == 0 && loops->rows_dist2[x.dtype] != NULL) {
    const char *start = (const char *)x.data + first * x.stride * cpb_dtype_size(x.dtype);
    loops->rows_dist2[x.dtype](start, x.stride, count, x.cols, c, dist2);
    return;
  }
  for (size_t i = 0; i < count; i++) dist2[i] = one_row(loops, x, exponent, first + i, c);
}

void cpb_scaled_row(const cpb_loops *loops, cpb_view x, int exponent, size_t i, double *row) {
  loops->widen[x.dtype]((const char *)x.data + i * x.stride * cpb_dtype_size(x.dtype), x.cols, row);
  if (exponent != 0) scale(row, x.cols, exponent, row);
}

void cpb_row_about(const cpb_loops *loops, cpb_view x, int exponent, size_t i, const double *c, double *row) {
  cpb_scaled_row(loops, x, exponent, i, row);
  loops->axpby(1, row, -1, c, row, x.cols);
}

/* The exponent of the largest |x_ij - origin_j| of rows with a weight > 0 (weights NULL: all); INT_MIN when all
 * are 0. */
static int spread_exponent(cpb_view x, const double *weights, const double *origin) {
  int largest = INT_MIN;
  for (size_t i = 0; i < x.rows; i++)
    for (size_t j = 0; j < x.cols && (weights == NULL || weights[i] > 0); j++) {
      double at = cpb_view_at(x, i, j), half = at / 2 - origin[j] / 2;
      if (half == 0) half = at - origin[j]; /* halves of the smallest numbers underflow */
      int exponent = half == 0 || !isfinite(half) ? INT_MIN : ilogb(half) + 1;
      if (exponent > largest) largest = exponent;
    }
  return largest;
}

enum { BLOCK_ROWS = 4096 };

/* One pass over all rows: sums and largest distance about one of them. */
typedef struct mean_job {
  const cpb_loops *loops;
  cpb_view x;
  const double *caps;
  const double *first;
  double *partial;  /* per block: d sums */
  double *largest2; /* per block */
  cpb_first_fault fault;
} mean_job;

static double weight_of(const mean_job *job, size_t row) { return job->caps == NULL ? 1 : job->caps[row]; }

static void mean_block(void *argument, size_t block, size_t first, size_t count) {
  mean_job *job = argument;
  double *sum = job->partial + block * job->x.cols, largest = 0, dist2[BLOCK_ROWS];
  cpb_dist2_of_rows(job->loops, job->x, 0, first, count, job->first, dist2);
  for (size_t row = first; row < first + count; row++) {
    double weight = weight_of(job, row);
    if (!(weight > 0)) continue;
    cpb_add_row(job->loops, job->x, row, weight, job->first, sum);
    if (dist2[row - first] > largest) largest = dist2[row - first];
    if (dist2[row - first] < INFINITY) continue;
    int fault = cpb_row_fault(job->loops, job->x, row);
    if (fault != 0) cpb_first_fault_meet(&job->fault, row, (cpb_fault)fault);
    largest = INFINITY;
  }
  job->largest2[block] = largest;
}

static void write_mean(const mean_job *job, size_t blocks, double *mean) {
  size_t d = job->x.cols;
  cpb_twofold total = {0, 0};
  for (size_t row = 0; job->caps != NULL && row < job->x.rows; row++) cpb_twofold_add(&total, job->caps[row]);
  double weight = job->caps == NULL ? (double)job->x.rows : cpb_twofold_value(total);
  for (size_t j = 0; j < d; j++) {
    double sum = 0;
    for (size_t block = 0; block < blocks; block++) sum += job->partial[block * d + j];
    mean[j] = job->first[j] + sum / weight;
  }
}

/* The mean of the rows, computed relative to `first`, one of them, and the largest squared distance from it. */
static cpb_status look(mean_job *job, const double *first, double *mean, double *largest2,
                       const cpb_exec *exec, cpb_error *error) {
  cpb_blocks blocks = {job->x.rows, BLOCK_ROWS, mean_block, job};
  size_t count = cpb_blocks_count(&blocks);
  job->first = first;
  job->partial = calloc(count, (job->x.cols + 1) * sizeof *job->partial);
  if (job->partial == NULL) return cpb_fail_memory(error, "a pass over %zu rows", job->x.rows);
  job->largest2 = job->partial + count * job->x.cols;
  cpb_first_fault_init(&job->fault);
  cpb_blocks_run(&blocks, exec);
  *largest2 = 0;
  for (size_t block = 0; block < count; block++) *largest2 = fmax(*largest2, job->largest2[block]);
  write_mean(job, count, mean);
  free(job->partial);
  return cpb_first_fault_report(&job->fault, "x", error);
}

/* The row of the largest weight: it is never far out for its weight, so that sums about it lose no digits. */
static size_t heaviest(const double *caps, size_t n) {
  size_t best = 0;
  for (size_t i = 1; caps != NULL && i < n; i++)
    if (caps[i] > caps[best]) best = i;
  return best;
}

static cpb_status copy_in_unit(cpb_svdd_rows *rows, const mean_job *job, cpb_error *error) {
  size_t n = job->x.rows, d = job->x.cols;
  rows->copies = d > SIZE_MAX / sizeof(double) / n ? NULL : calloc(n * d, sizeof *rows->copies);
  if (rows->copies == NULL) return cpb_fail_memory(error, "%zu rows in another unit", n);
  for (size_t i = 0; i < n; i++)
    if (weight_of(job, i) > 0) cpb_scaled_row(job->loops, job->x, rows->exponent, i, rows->copies + i * d);
  rows->x = cpb_rows(rows->copies, CPB_F64, n, d);
  return CPB_OK;
}

static cpb_status make_ready(cpb_svdd_rows *rows, mean_job *job, double *first, const cpb_exec *exec,
                             cpb_error *error) {
  size_t heavy = heaviest(job->caps, job->x.rows);
  double largest2, safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT);
  int fault = cpb_row_fault(job->loops, job->x, heavy);
  cpb_scaled_row(job->loops, job->x, 0, heavy, first);
  if (fault != 0) memset(first, 0, job->x.cols * sizeof *first); /* the first fault is the one to report */
  cpb_status status = look(job, first, rows->origin, &largest2, exec, error);
  if (status != CPB_OK || (largest2 > 1 / safe2 && largest2 < safe2)) return status;
  int exponent = spread_exponent(job->x, job->caps, first);
  if (exponent == INT_MIN || abs(exponent) < CPB_SAFE_EXPONENT / 2) return CPB_OK;
  rows->exponent = exponent;
  status = copy_in_unit(rows, job, error);
  if (status != CPB_OK) return status;
  job->x = rows->x;
  cpb_scaled_row(job->loops, job->x, 0, heavy, first);
  return look(job, first, rows->origin, &largest2, exec, error);
}

cpb_status cpb_svdd_rows_init(cpb_svdd_rows *rows, const cpb_loops *loops, cpb_view x, const double *caps,
                              const cpb_exec *exec, cpb_error *error) {
  mean_job job = {.loops = loops, .x = x, .caps = caps};
  *rows = (cpb_svdd_rows){.x = x, .origin = malloc(2 * x.cols * sizeof(double))};
  cpb_status status = rows->origin == NULL ? cpb_fail_memory(error, "%zu columns", x.cols)
                                           : make_ready(rows, &job, rows->origin + x.cols, exec, error);
  if (status != CPB_OK) cpb_svdd_rows_free(rows);
  return status;
}

void cpb_svdd_rows_free(cpb_svdd_rows *rows) {
  free(rows->origin);
  free(rows->copies);
  *rows = (cpb_svdd_rows){0};
}
