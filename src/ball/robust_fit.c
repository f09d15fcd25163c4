#include "ball/robust_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/best.h"
#include "base/blocks.h"
#include "base/fail.h"
#include "base/tell.h"
#include "base/rows.h"
#include "loops/distances.h"
#include "loops/whitened.h"
#include "sphere/whitening.h"
#include "statistics/robust_scales.h"
#include "statistics/row_sample.h"

enum { REFITS = 2, FEW_ROWS = 50, FEW_COUNTED = 5, ROWS_PER_COLUMN = 5, NAMED = 3 };
static const double KEEP = 0.75, FARTHEST = 2.5, RIDGE = 0.1;
static const double TAIL = 5; /* a spread of so many quartile ranges, in standard deviations of a Gaussian */

typedef struct robust_job {
  cpb_robust *to;
  cpb_memory *memory, own; /* own: freed with the job */
  cpb_view rows;
  const double *weights; /* of the caller, or NULL */
  const char *const *names;
  cpb_robust_scales scales, kept; /* of all rows; median of those kept */
  const double *center;
  double *distance, *scratch; /* n; per block */
  size_t room;                /* of a block in scratch */
  cpb_ranked *order;          /* n */
  size_t used, left_out;      /* rows with a weight; of them left out */
  double rows_weighed;        /* the number of rows, as far as weights tell it */
  bool last;                  /* refit */
  bool tied;                  /* more than half of the weight is at one distance */
} robust_job;

static double weight_of(const robust_job *job, size_t row) {
  return job->weights == NULL ? 1 : job->weights[row];
}

/* ---- distances ---- */

static void start_block(void *arg, size_t block, size_t first, size_t count) {
  robust_job *job = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = job->rows.cols;
  double *z = job->scratch + block * job->room;
  for (size_t i = first; i < first + count; i++) {
    double sum = 0;
    cpb_row_about(loops, job->rows, 0, i, job->scales.median, z);
    for (size_t j = 0; j < d; j++)
      if (job->scales.spread[j] > 0) sum += fabs(z[j]) / job->scales.spread[j];
    job->distance[i] = sum;
  }
}

static void refit_block(void *arg, size_t block, size_t first, size_t count) {
  robust_job *job = arg;
  cpb_whitened_norms(job->to->W, cpb_view_slice(job->rows, first, count), job->kept.median,
                     job->scratch + block * job->room, job->distance + first);
}

static cpb_status find_distances(robust_job *job, void (*body)(void *, size_t, size_t, size_t),
                                 const cpb_exec *exec, cpb_error *error) {
  cpb_blocks blocks = {job->rows.rows, cpb_blocks_rows(job->rows.cols), body, job};
  return cpb_blocks_run_told(&blocks, exec, error);
}

/* ---- which rows are kept ---- */

/* The distance within which the share of the weight lies; of a weighted job the order is sorted. */
static double within(const robust_job *job, double share, double total) {
  double sum = 0;
  size_t at = 0;
  if (job->weights == NULL)
    return cpb_ranked_select(job->order, job->used, (size_t)ceil(share * total) - 1).key;
  while (at + 1 < job->used && (sum += weight_of(job, (size_t)job->order[at].id)) < share * total) at++;
  return job->order[at].key;
}

static void keep_ordinary(robust_job *job) {
  size_t n = job->rows.rows;
  double total = 0, least = INFINITY;
  job->used = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(weight_of(job, i) > 0)) continue;
    least = fmin(least, job->distance[i]);
    job->order[job->used++] = (cpb_ranked){job->distance[i], i};
    total += weight_of(job, i);
  }
  if (job->weights != NULL) cpb_ranked_sort(job->order, job->used);
  double most = within(job, KEEP, total), half = within(job, 0.5, total);
  job->tied = half == least;
  if (half > 0) most = fmin(most, FARTHEST * half);
  job->left_out = 0;
  for (size_t i = 0; i < n; i++) {
    bool out = !(job->distance[i] <= most);
    job->to->weight[i] = out ? 0 : weight_of(job, i);
    job->left_out += out && weight_of(job, i) > 0;
  }
}

/* ---- the rows that are kept, as a source ---- */

enum {
  BLOCK_BYTES = 1 << 18,
  FIRST_ROWS =
      1
      << 17 /* about so many rows give the whitening of all refits but the last, which only tells rows apart */
};

typedef struct kept_rows {
  cpb_source source;
  cpb_view rows;
  const double *weight;
  size_t at, row_bytes, most; /* next row; of a block */
  uint64_t drawn;             /* rows with a hash below this are read */
  char *block;
} kept_rows;

static cpb_status next_kept(cpb_source *source, cpb_view *block, cpb_error *error) {
  (void)error;
  kept_rows *k = source->self;
  size_t count = 0, step = k->rows.stride * cpb_dtype_size(k->rows.dtype);
  for (; k->at < k->rows.rows && count < k->most; k->at++)
    if (k->weight[k->at] > 0 && cpb_row_sample_hash(0, k->at) <= k->drawn)
      memcpy(k->block + count++ * k->row_bytes, (const char *)k->rows.data + k->at * step, k->row_bytes);
  *block = cpb_rows(k->block, k->rows.dtype, count, k->rows.cols);
  return CPB_OK;
}

static cpb_status rewind_kept(cpb_source *source, cpb_error *error) {
  (void)error;
  ((kept_rows *)source->self)->at = 0;
  return CPB_OK;
}

static cpb_status kept_rows_init(kept_rows *k, robust_job *job, cpb_error *error) {
  size_t bytes = job->rows.cols * cpb_dtype_size(job->rows.dtype);
  *k = (kept_rows){.rows = job->rows, .weight = job->to->weight, .row_bytes = bytes};
  k->drawn =
      job->last || job->used <= FIRST_ROWS ? UINT64_MAX : (uint64_t)(FIRST_ROWS / (double)job->used * 0x1p64);
  k->most = bytes < BLOCK_BYTES ? BLOCK_BYTES / bytes : 1;
  k->block = malloc(k->most * bytes);
  k->source = cpb_source_from_view(job->rows);
  k->source.view = (cpb_view){NULL, job->rows.dtype, 0, 0, 0};
  k->source.rows = CPB_ROWS_UNKNOWN;
  k->source.next = next_kept;
  k->source.rewind = rewind_kept;
  k->source.self = k;
  return k->block == NULL ? cpb_fail_memory(error, "%zu rows", k->most) : CPB_OK;
}

static cpb_status whiten_kept(robust_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_whitening_options wish = {.whiten = true,
                                .standardize = true,
                                .ridge = job->to->ridge,
                                .weights = job->weights == NULL ? NULL : job->to->weight,
                                .rows = job->rows,
                                .spread = job->scales.spread};
  kept_rows kept;
  cpb_passes passes;
  cpb_status status = kept_rows_init(&kept, job, error);
  free(job->to->W);
  job->to->W = NULL;
  if (status == CPB_OK) status = cpb_passes_init(&passes, &kept.source, 1, exec, error);
  if (status == CPB_OK) status = cpb_whitening_fit(&passes, wish, &job->to->W, error);
  free(kept.block);
  return status;
}

/* ---- what is told ---- */

static void put_column(cpb_text *notes, const robust_job *job, size_t j) {
  if (job->names != NULL && job->names[j] != NULL && job->names[j][0] != 0)
    cpb_text_puts(notes, job->names[j]);
  else
    cpb_text_format(notes, "x%zu", j);
}

/* "2 columns are constant: a, b": of the columns that satisfy `is`, the first few by name. */
static void note_columns(robust_job *job, bool (*is)(const robust_job *, size_t), const char *one,
                         const char *more) {
  cpb_text *notes = &job->to->notes;
  size_t count = 0, named = 0;
  for (size_t j = 0; j < job->rows.cols; j++) count += is(job, j);
  if (count == 0) return;
  cpb_text_format(notes, "%zu column%s %s: ", count, count == 1 ? "" : "s", count == 1 ? one : more);
  for (size_t j = 0; j < job->rows.cols && named < NAMED; j++) {
    if (!is(job, j)) continue;
    if (named++ > 0) cpb_text_puts(notes, ", ");
    put_column(notes, job, j);
  }
  cpb_text_puts(notes, count > NAMED ? ", ..\n" : "\n");
}

static bool is_constant(const robust_job *job, size_t j) { return !(job->scales.spread[j] > 0); }

static bool is_nearly_constant(const robust_job *job, size_t j) {
  if (is_constant(job, j) || job->scales.quartiles[j] > 0) return false;
  for (size_t i = 0; i < job->rows.rows; i++)
    if (job->to->weight[i] > 0 && cpb_view_at(job->rows, i, j) != job->kept.median[j]) return false;
  return true;
}

static bool is_binary(const robust_job *job, size_t j) { return job->scales.values[j] == 2; }

/* Whether its numbers go up or down by one step from row to row. */
static bool counts_rows(const robust_job *job, size_t j) {
  if (job->rows.rows < FEW_COUNTED || is_constant(job, j)) return false;
  double first = cpb_view_at(job->rows, 0, j), step = cpb_view_at(job->rows, 1, j) - first;
  for (size_t i = 2; i < job->rows.rows; i++)
    if (cpb_view_at(job->rows, i, j) - cpb_view_at(job->rows, i - 1, j) != step) return false;
  return true;
}

static bool is_heavy(const robust_job *job, size_t j) {
  const double GAUSS = 1.349; /* quartile range of a Gaussian, in standard deviations */
  double quartiles = job->scales.quartiles[j] / GAUSS;
  return quartiles > 0 && job->scales.spread[j] > TAIL * quartiles;
}

static void note_rows(robust_job *job) {
  cpb_text *notes = &job->to->notes;
  size_t d = job->rows.cols, n = job->used;
  cpb_text_format(
      notes, "centre and whitening rest on the %zu of %zu rows that look most ordinary, found in %d refits\n",
      n - job->left_out, n, REFITS);
  if (job->tied)
    cpb_text_puts(notes,
                  "half of the rows or more are equally far from the centre: equal rows are kept together\n");
  if (job->rows_weighed < FEW_ROWS)
    cpb_text_format(notes, "fewer than %d rows: centre, whitening and shares are rough\n", FEW_ROWS);
  if (d > n) cpb_text_puts(notes, "more columns than rows: only the ridge makes the whitening possible\n");
  if (job->rows_weighed < ROWS_PER_COLUMN * (double)d)
    cpb_text_format(notes, "fewer than %d rows a column: the ridge is %.3g in place of %.3g\n",
                    ROWS_PER_COLUMN, job->to->ridge,
                    job->to->ridge * job->rows_weighed / (ROWS_PER_COLUMN * (double)d));
}

static void note_all(robust_job *job) {
  note_rows(job);
  note_columns(job, is_constant, "is constant, and counts only for rows that differ there",
               "are constant, and count only for rows that differ there");
  note_columns(job, is_nearly_constant,
               "does not vary among the ordinary rows, and is measured by its spread over all rows",
               "do not vary among the ordinary rows, and are measured by their spread over all rows");
  note_columns(job, is_binary, "has two values, and is taken as numbers",
               "have two values, and are taken as numbers");
  note_columns(job, counts_rows,
               "counts the rows, and is taken as a number: leave it out if it only names them",
               "count the rows, and are taken as numbers: leave them out if they only name them");
  note_columns(job, is_heavy, "has heavy tails: its scale is that of the ordinary rows",
               "have heavy tails: their scales are those of the ordinary rows");
}

/* ---- the call ---- */

/* Whole numbers as weights count rows. */
static double count_rows(const double *weights, size_t n) {
  double total = 0, some = 0;
  bool whole = true;
  for (size_t i = 0; weights != NULL && i < n; i++) {
    total += weights[i];
    some += weights[i] > 0;
    whole = whole && weights[i] == floor(weights[i]);
  }
  return weights == NULL ? (double)n : whole ? total : some;
}

static cpb_status prepare(robust_job *job, const cpb_model_fit_options *o, cpb_error *error) {
  size_t n = job->rows.rows, d = job->rows.cols;
  cpb_blocks blocks = {n, cpb_blocks_rows(d), NULL, NULL};
  double few = ROWS_PER_COLUMN * (double)d;
  job->rows_weighed = count_rows(o->weights, n);
  job->to->ridge = o->ridge > 0 ? o->ridge : RIDGE;
  if (job->rows_weighed < few) job->to->ridge *= few / job->rows_weighed;
  job->room = cpb_whitened_scratch(d);
  job->distance = cpb_memory_take(&job->own, n, sizeof *job->distance);
  job->order = cpb_memory_take(&job->own, n, sizeof *job->order);
  job->to->weight = cpb_memory_take(job->memory, n, sizeof *job->to->weight);
  job->scratch = cpb_memory_take(&job->own, cpb_blocks_count(&blocks) + 1, job->room * sizeof *job->scratch);
  return job->memory->failed || job->own.failed
             ? cpb_fail_memory(error, "a robust fit of %zu rows and %zu columns", n, d)
             : CPB_OK;
}

/* From `from` on, of the call's progress 0 .. 1. */
static cpb_status refit(robust_job *job, double from, double to, const cpb_exec *exec, cpb_error *error) {
  keep_ordinary(job);
  cpb_status status = cpb_robust_medians(&job->kept, job->rows, job->to->weight, exec, error);
  return status == CPB_OK ? whiten_kept(job, CPB_EXEC_PART(exec, from, to), error) : status;
}

cpb_status cpb_robust_fit(cpb_robust *robust, cpb_memory *memory, cpb_view rows,
                          const cpb_model_fit_options *options, const char *const *names,
                          const cpb_exec *exec, cpb_error *error) {
  robust_job job = {
      .to = robust, .memory = memory, .rows = rows, .weights = options->weights, .names = names};
  cpb_status status = prepare(&job, options, error);
  if (status == CPB_OK)
    status = cpb_robust_scales_find(&job.scales, memory, rows, options->weights, exec, error);
  job.kept = job.scales;
  if (status == CPB_OK) {
    job.kept.median = cpb_memory_copy(memory, job.scales.median, rows.cols, sizeof(double));
    job.kept.quartiles = cpb_memory_copy(memory, job.scales.quartiles, rows.cols, sizeof(double));
    job.kept.values = cpb_memory_copy(memory, job.scales.values, rows.cols, 1);
    if (memory->failed) status = cpb_fail_memory(error, "%zu columns", rows.cols);
  }
  for (int k = 0; k < REFITS && status == CPB_OK; k++) {
    double from = (double)k / REFITS, third = 1.0 / (3 * REFITS);
    status = find_distances(&job, k == 0 ? start_block : refit_block, CPB_EXEC_PART(exec, from, from + third),
                            error);
    job.last = k == REFITS - 1;
    if (status == CPB_OK) status = refit(&job, from + third, from + 3 * third, exec, error);
  }
  robust->spread = job.scales.spread;
  if (status == CPB_OK) note_all(&job);
  cpb_memory_free(&job.own);
  return status;
}
