#include "scale/statistics_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ruler.h"
#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "scale/piece_fail.h"

static const cpb_statistics_options defaults = {
    .size = sizeof(cpb_statistics_options), .dtype = CPB_F32, .sample = 4096};

void cpb_statistics_options_init(cpb_statistics_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

static cpb_status check_options(const cpb_statistics_options *options, cpb_error *error) {
  enum { MOST_COLUMNS = 1 << 20, MOST_SAMPLE = 1 << 24 };
  if (options->d < 1 || options->d > MOST_COLUMNS)
    return cpb_fail_count(error, "d", options->d, "d must be 1 .. %d", MOST_COLUMNS);
  if ((unsigned)options->dtype > CPB_I8) return cpb_fail_dtype(error, "dtype", options->dtype);
  if (options->sample > MOST_SAMPLE)
    return cpb_fail_count(error, "sample", options->sample, "a sample holds at most %d rows", MOST_SAMPLE);
  return CPB_OK;
}

cpb_status cpb_statistics_new(const cpb_statistics_options *given, cpb_statistics **out, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "statistics");
  *out = NULL;
  cpb_statistics_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_statistics_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status != CPB_OK) return status;
  cpb_statistics *s = calloc(1, sizeof *s);
  if (s == NULL) return cpb_fail_memory(error, "statistics");
  s->options = *options;
  cpb_row_sample_init(&s->sample, options->sample, options->d * cpb_dtype_size(options->dtype),
                      options->seed);
  s->sample.repeats = options->repeats;
  status = cpb_column_sums_new(&s->columns, options->d, error);
  if (status == CPB_OK) status = cpb_norm_sketch_init(&s->norms, error);
  s->mean = calloc(options->d, sizeof(double));
  if (status == CPB_OK && s->mean == NULL) status = cpb_fail_memory(error, "%zu columns", options->d);
  if (status != CPB_OK) {
    cpb_statistics_free(s);
    return status;
  }
  *out = s;
  return CPB_OK;
}

void cpb_statistics_free(cpb_statistics *s) {
  if (s == NULL) return;
  cpb_column_sums_free(&s->columns);
  cpb_row_sample_free(&s->sample);
  cpb_norm_sketch_free(&s->norms);
  free(s->mean);
  free(s);
}

void cpb_statistics_describe(const cpb_statistics *s, cpb_statistics_options *options) {
  cpb_sized_give(options, &s->options, sizeof s->options);
}

/* ---- taking rows in ---- */

/* The ids of rows: given, or consecutive. */
typedef struct row_ids {
  const uint64_t *given;
  uint64_t first;
} row_ids;

static uint64_t id_of(row_ids ids, size_t row) {
  return ids.given != NULL ? ids.given[row] : ids.first + row;
}

static row_ids ids_after(row_ids ids, size_t rows) {
  return (row_ids){ids.given != NULL ? ids.given + rows : NULL, ids.first + rows};
}

static cpb_status offer_rows(cpb_statistics *s, cpb_view rows, row_ids ids, cpb_error *error) {
  size_t bytes = rows.stride * cpb_dtype_size(rows.dtype);
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < rows.rows && status == CPB_OK; i++)
    status = cpb_row_sample_offer(&s->sample, id_of(ids, i), (const char *)rows.data + i * bytes, error);
  return status;
}

/* Adds the rows before the first that is not finite; *count is their number. */
static cpb_status take_finite(cpb_statistics *s, cpb_view rows, row_ids ids, size_t *count,
                              cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  *count = cpb_column_sums_add(&s->columns, loops, rows);
  if (*count < rows.rows) { /* the bad row is among the next rows; those before it still count */
    size_t end = *count;
    while (end < rows.rows && cpb_row_fault(loops, rows, end) == 0) end++;
    cpb_column_sums_add(&s->columns, loops, cpb_view_slice(rows, *count, end - *count));
    *count = end;
  }
  s->rows += *count;
  return offer_rows(s, cpb_view_slice(rows, 0, *count), ids, error);
}

static void count_fault(cpb_statistics *s, int fault) {
  *(fault == CPB_FAULT_NAN ? &s->nan_rows : &s->inf_rows) += 1;
}

static cpb_status update_columns(cpb_statistics *s, cpb_view rows, row_ids ids, cpb_error *error) {
  for (size_t first = 0; first < rows.rows; first++) {
    size_t count;
    cpb_status status =
        take_finite(s, cpb_view_slice(rows, first, rows.rows - first), ids_after(ids, first), &count, error);
    if (status != CPB_OK) return status;
    first += count;
    if (first < rows.rows) count_fault(s, cpb_row_fault(cpb_loops_here(), rows, first));
  }
  return CPB_OK;
}

static cpb_status update_norms(cpb_statistics *s, cpb_view rows, cpb_error *error) {
  enum { BATCH = 512 };
  double norms[BATCH];
  size_t count = 0;
  cpb_ruler metric = {.loops = cpb_loops_here(), .x = rows, .c = s->mean, .sign = 1};
  cpb_status status = CPB_OK;
  for (size_t row = 0; row < rows.rows && status == CPB_OK; row++) {
    if (cpb_ruler_length(&metric, row, &norms[count]) == 0) count++;
    if (count < BATCH && row + 1 < rows.rows) continue;
    status = cpb_norm_sketch_add(&s->norms, metric.loops, norms, count, error);
    count = 0;
  }
  return status;
}

static cpb_status update(cpb_statistics *s, cpb_view rows, row_ids ids, cpb_error *error) {
  if (s == NULL) return cpb_fail_missing(error, "statistics");
  cpb_status status = cpb_check_view(rows, "rows", s->options.d, error);
  if (status != CPB_OK) return status;
  if (rows.dtype != s->options.dtype)
    return cpb_fail(error, CPB_WHY_DTYPE_OTHER, "rows", "rows are %s, wanted %s", cpb_dtype_name(rows.dtype),
                    cpb_dtype_name(s->options.dtype));
  if (s->has_norms) {
    s->norm_rows += rows.rows;
    return update_norms(s, rows, error);
  }
  cpb_id_sums_add(&s->ids, ids.given, ids.first, rows.rows);
  return update_columns(s, rows, ids, error);
}

cpb_status cpb_statistics_update(cpb_statistics *s, cpb_view rows, uint64_t first_id, cpb_error *error) {
  return update(s, rows, (row_ids){NULL, first_id}, error);
}

cpb_status cpb_statistics_update_ids(cpb_statistics *s, cpb_view rows, const uint64_t *ids,
                                     cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return update(s, rows, (row_ids){ids, 0}, error);
}

uint64_t cpb_statistics_bad_rows(const cpb_statistics *s) { return s->nan_rows + s->inf_rows; }

/* ---- merging ---- */

static cpb_status check_alike(const cpb_statistics *a, const cpb_statistics *b, cpb_error *error) {
  const cpb_statistics_options *p = &a->options, *q = &b->options;
  if (p->d != q->d) return cpb_fail_piece_columns(error, p->d, q->d);
  if (p->dtype != q->dtype)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece is %s, the other %s", cpb_dtype_name(p->dtype),
                    cpb_dtype_name(q->dtype));
  if (p->sample != q->sample)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece samples %zu rows, the other %zu", p->sample,
                    q->sample);
  if (p->seed != q->seed)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece has seed %llu, the other %llu",
                    (unsigned long long)p->seed, (unsigned long long)q->seed);
  if (a->has_norms != b->has_norms)
    return cpb_fail(error, CPB_WHY_PIECES, "piece",
                    "one piece is of pass 1, the other of pass 2 (with norms)");
  if (a->origin != b->origin)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "the norms of the pieces are about different centres");
  return CPB_OK;
}

static cpb_status merge_norms(cpb_statistics *whole, const cpb_statistics *piece, cpb_error *error) {
  cpb_status status = cpb_norm_sketch_merge(&whole->norms, &piece->norms, error);
  if (status == CPB_OK) whole->norm_rows += piece->norm_rows;
  return status;
}

cpb_status cpb_statistics_merge(cpb_statistics *whole, const cpb_statistics *piece, cpb_error *error) {
  if (whole == NULL || piece == NULL || whole == piece) return cpb_fail_same_piece(error, "statistics");
  cpb_status status = check_alike(whole, piece, error);
  if (status != CPB_OK) return status;
  if (piece->options.repeats) whole->options.repeats = whole->sample.repeats = true;
  if (whole->has_norms) return merge_norms(whole, piece, error);
  status = cpb_row_sample_merge(&whole->sample, &piece->sample, error);
  if (status != CPB_OK) return status;
  whole->rows += piece->rows;
  whole->nan_rows += piece->nan_rows;
  whole->inf_rows += piece->inf_rows;
  cpb_id_sums_merge(&whole->ids, &piece->ids);
  cpb_column_sums_merge(&whole->columns, &piece->columns);
  return CPB_OK;
}

cpb_status cpb_statistics_restart(cpb_statistics *piece, const cpb_statistics *whole, cpb_error *error) {
  if (whole == NULL || piece == NULL || whole == piece) return cpb_fail_same_piece(error, "statistics");
  piece->has_norms = whole->has_norms;
  piece->origin = whole->origin;
  cpb_status status = check_alike(whole, piece, error);
  if (status != CPB_OK) return status;
  memcpy(piece->mean, whole->mean, whole->options.d * sizeof *piece->mean);
  cpb_norm_sketch_clear(&piece->norms);
  piece->rows = piece->nan_rows = piece->inf_rows = 0;
  piece->norm_rows = 0;
  piece->ids = (cpb_id_sums){0};
  cpb_column_sums_clear(&piece->columns);
  cpb_row_sample_clear(&piece->sample, whole->sample.bound);
  return CPB_OK;
}

/* ---- results ---- */

cpb_status cpb_statistics_check_ids(const cpb_statistics *s, cpb_error *error) {
  uint64_t given = s->rows + s->nan_rows + s->inf_rows;
  cpb_status status = s->options.repeats ? CPB_OK : cpb_id_sums_check(&s->ids, error);
  if (status != CPB_OK || s->rows == 0 || s->norm_rows <= given) return status;
  return cpb_fail(error, CPB_WHY_ROW_TWICE, "statistics",
                  "pass 1 had %llu rows, pass 2 has %llu: pieces overlap", (unsigned long long)given,
                  (unsigned long long)s->norm_rows);
}

void cpb_statistics_set_mean(cpb_statistics *s) {
  if (s->rows == 0) return;
  for (size_t i = 0; i < s->options.d; i++) {
    s->mean[i] = cpb_exact_mean(&s->columns.sum[i], s->rows);
    /* 0 and -0 are equal: their order of arrival must not show */
    s->columns.low[i] += 0.;
    s->columns.high[i] += 0.;
  }
}

cpb_status cpb_statistics_finish(cpb_statistics *s, cpb_statistics_result *result, cpb_error *error) {
  if (s == NULL || result == NULL) return cpb_fail_missing(error, s == NULL ? "statistics" : "result");
  cpb_status status = cpb_sized_check(result, "cpb_statistics_result", error);
  if (status == CPB_OK) status = cpb_row_sample_settle(&s->sample, error);
  if (status == CPB_OK) status = cpb_statistics_check_ids(s, error);
  if (status != CPB_OK) return status;
  cpb_statistics_set_mean(s);
  bool any = s->rows > 0;
  uint64_t n = s->norms.count;
  cpb_statistics_result ours = {.rows = s->rows,
                                .nan_rows = s->nan_rows,
                                .inf_rows = s->inf_rows,
                                .mean = any ? s->mean : NULL,
                                .low = any ? s->columns.low : NULL,
                                .high = any ? s->columns.high : NULL,
                                .sample =
                                    cpb_rows(s->sample.rows, s->options.dtype, s->sample.count, s->options.d),
                                .sample_ids = s->sample.ids,
                                .norms = s->has_norms,
                                .norm_rows = n,
                                .norm_mean = n > 0 ? cpb_exact_mean(&s->norms.moments.sum[0], n) : NAN,
                                .norm_square_mean = n > 0 ? cpb_exact_mean(&s->norms.moments.sum[1], n) : NAN,
                                .norm_max = n > 0 ? s->norms.moments.high[0] : NAN,
                                .norm_median = n > 0 ? cpb_norm_sketch_rank(&s->norms, (n - 1) / 2) : NAN};
  if (s->norms.overflows > 0) ours.norm_square_mean = INFINITY;
  cpb_sized_give(result, &ours, sizeof ours);
  return CPB_OK;
}
