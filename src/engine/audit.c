/* T13: the recall of given answers, measured by comparing all rows with some of the queries. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/candidates.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/chunk.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "engine/score_law.h"
#include "statistics/row_sample.h"

typedef struct auditing {
  cpb_score_law law;
  cpb_view queries; /* those chosen */
  size_t k;
  double *nearest; /* queries x k: the smallest distances so far, ascending */
  cpb_view block;
  double *distances; /* queries x block.rows */
} auditing;

static cpb_status audit_query(void *arg, size_t query, cpb_error *error) {
  auditing *a = arg;
  double *distances = a->distances + query * a->block.rows;
  cpb_status status =
      cpb_score_law_distances(&a->law, cpb_view_slice(a->queries, query, 1), a->block, distances, error);
  for (size_t i = 0; i < a->block.rows && status == CPB_OK; i++)
    cpb_keep_smallest(a->nearest + query * a->k, a->k, distances[i]);
  return status;
}

static cpb_status look_at_all(auditing *a, cpb_source *all, uint64_t *rows, const cpb_exec *exec,
                              cpb_error *error) {
  cpb_status status = all->rewind(all, error);
  for (*rows = 0; status == CPB_OK; *rows += a->block.rows) {
    status = all->next(all, &a->block, error);
    if (status != CPB_OK || a->block.rows == 0) break;
    size_t count = a->queries.rows * a->block.rows;
    a->distances = malloc(count * sizeof *a->distances);
    status = a->distances == NULL ? cpb_fail_memory(error, "%zu distances", count)
                                  : cpb_exec_try(exec, a->queries.rows, audit_query, a, error);
    free(a->distances);
    if (status == CPB_EROW) status = cpb_fail_later(error, *rows);
    if (status == CPB_OK) status = cpb_exec_tell(exec, 0.95, error);
  }
  return status;
}

/* Wilson's interval at 1.96 standard errors; the recall of a query varies no more than a yes-or-no result. */
static void judge(cpb_audit *audit, double recall, double n) {
  double z2 = 1.96 * 1.96, middle = (recall + z2 / (2 * n)) / (1 + z2 / n);
  double wide = 1.96 * sqrt(recall * (1 - recall) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  audit->recall = recall;
  audit->low = fmax(0, fmin(recall, middle - wide));
  audit->high = fmin(1, fmax(recall, middle + wide));
}

static double recall_of(const auditing *a, const cpb_row_sample *sample, const cpb_hit *hits) {
  size_t found = 0;
  for (size_t i = 0; i < sample->count; i++)
    for (size_t j = 0; j < a->k; j++)
      found += hits[sample->ids[i] * a->k + j].value <= a->nearest[i * a->k + a->k - 1] * (1 + 1e-6);
  return (double)found / (double)(sample->count * a->k);
}

static cpb_status run(auditing *a, cpb_source *all, const cpb_row_sample *sample, const cpb_hit *hits,
                      cpb_audit *audit, const cpb_exec *exec, cpb_error *error) {
  a->nearest = malloc(sample->count * a->k * sizeof *a->nearest);
  if (a->nearest == NULL) return cpb_fail_memory(error, "%zu distances", sample->count * a->k);
  for (size_t i = 0; i < sample->count * a->k; i++) a->nearest[i] = INFINITY;
  cpb_status status = look_at_all(a, all, &audit->rows, exec, error);
  audit->queries = sample->count;
  if (status == CPB_OK) judge(audit, recall_of(a, sample, hits), (double)sample->count);
  free(a->nearest);
  return status;
}

CPB_DEFAULTS(cpb_audit_options, .size = sizeof(cpb_audit_options), .k = 10, .most = 100)

cpb_status cpb_transform_audit(const cpb_transform *transform, cpb_view queries, const cpb_hit *hits,
                               cpb_source *all, const cpb_audit_options *options, cpb_audit *given,
                               const cpb_exec *exec, cpb_error *error) {
  cpb_audit_options o = defaults;
  cpb_audit audit = {.size = sizeof audit};
  cpb_row_sample sample;
  if (hits == NULL || given == NULL) return cpb_fail_missing(error, hits == NULL ? "hits" : "audit");
  cpb_status status = cpb_check_readable(all, "all", error);
  if (status == CPB_OK) status = cpb_sized_take(&o, sizeof o, options, "cpb_audit_options", error);
  auditing a = {.k = o.k};
  if (status == CPB_OK && (o.k == 0 || o.most == 0 || queries.rows == 0))
    status = cpb_fail_count(error,
                            o.k == 0      ? "k"
                            : o.most == 0 ? "most"
                                          : "queries",
                            0, "an audit needs at least 1 answer");
  if (status == CPB_OK) status = cpb_score_law_of_transform(&a.law, transform, 0, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", a.law.d, error);
  if (status != CPB_OK) return status;
  status = cpb_row_sample_draw(&sample, queries, o.most, o.seed, &a.queries, error);
  if (status == CPB_OK) status = run(&a, all, &sample, hits, &audit, exec, error);
  if (status == CPB_OK) cpb_sized_give(given, &audit, sizeof audit);
  cpb_row_sample_free(&sample);
  return status;
}

/* T13: compares embedded rows with the images of the data, row by row. */

enum { AT_ONCE = 1024 };

/* Two sources read in parallel, whose blocks need not have the same sizes. */
typedef struct verifying {
  cpb_score_law law;
  const cpb_transform *transform;
  cpb_source *base, *embedded;
  cpb_view rows, images; /* the rest of the current blocks */
  uint64_t row;          /* the number of their first row */
  double *made;          /* AT_ONCE computed images, and one stored row */
  double bound[3];       /* largest distance of a row of f64, f32, f16 from the image in double */
  double worst;
} verifying;

static const cpb_dtype finest_first[] = {CPB_F64, CPB_F32, CPB_F16};

static cpb_status fill(cpb_source *source, cpb_view *left, size_t cols, const char *name, cpb_error *error) {
  if (left->rows > 0) return CPB_OK;
  cpb_status status = source->next(source, left, error);
  return status == CPB_OK ? cpb_check_view(*left, name, cols, error) : status;
}

static cpb_status verify_rows(verifying *v, size_t count, const cpb_exec *exec, cpb_error *error) {
  size_t cols = v->law.cols;
  double *stored = v->made + AT_ONCE * cols;
  cpb_out made = cpb_rows_out(v->made, CPB_F64, count, cols);
  cpb_status status =
      cpb_transform_apply(v->transform, CPB_ROLE_BASE, cpb_view_slice(v->rows, 0, count), made, exec, error);
  if (status == CPB_EROW) return cpb_fail_later(error, v->row);
  for (size_t i = 0; i < count && status == CPB_OK; i++) {
    cpb_row_widen(v->images, i, stored);
    double off = sqrt(cpb_loops_here()->dist2(stored, v->made + i * cols, cols)) * (1 + 0x1p-30);
    if (!(off <= v->bound[2]))
      return cpb_fail_row(error, CPB_WHY_NOT_THE_IMAGE, "embedded", v->row + i,
                          "is %.3g from the image of this row of the data, but rounding to f16 explains only "
                          "%.3g: it was computed by another map, or from other data",
                          off, v->bound[2]);
    v->worst = fmax(v->worst, off);
  }
  return status;
}

static cpb_status verify_next(verifying *v, bool *whole, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = fill(v->base, &v->rows, v->law.d, "base", error);
  if (status == CPB_OK) status = fill(v->embedded, &v->images, v->law.cols, "embedded", error);
  if (status != CPB_OK) return status;
  size_t count = v->rows.rows < v->images.rows ? v->rows.rows : v->images.rows;
  if (count > AT_ONCE) count = AT_ONCE;
  *whole = v->rows.rows == 0 && v->images.rows == 0;
  if (count == 0 && !*whole)
    return cpb_fail(error, CPB_WHY_ROWS, v->rows.rows == 0 ? "base" : "embedded",
                    "there are %s rows of the data than embedded ones, which end at row %llu",
                    v->rows.rows == 0 ? "fewer" : "more", (unsigned long long)v->row);
  status = count > 0 ? verify_rows(v, count, exec, error) : CPB_OK;
  v->rows = cpb_view_slice(v->rows, count, v->rows.rows - count);
  v->images = cpb_view_slice(v->images, count, v->images.rows - count);
  v->row += count;
  return status;
}

static cpb_status verify_all(verifying *v, const cpb_exec *exec, cpb_error *error) {
  bool whole = false;
  cpb_status status = v->base->rewind(v->base, error);
  if (status == CPB_OK) status = v->embedded->rewind(v->embedded, error);
  while (status == CPB_OK && !whole) {
    status = verify_next(v, &whole, exec, error);
    bool known = v->base->rows != CPB_ROWS_UNKNOWN && v->base->rows > 0;
    if (status == CPB_OK)
      status = cpb_exec_tell(exec, known ? fmin(1, (double)v->row / (double)v->base->rows) : 0, error);
  }
  return status;
}

cpb_status cpb_transform_verify(const cpb_transform *transform, cpb_source *base, cpb_source *embedded,
                                cpb_dtype *precision, const cpb_exec *exec, cpb_error *error) {
  verifying v = {.transform = transform, .base = base, .embedded = embedded};
  if (precision == NULL) return cpb_fail_missing(error, "precision");
  cpb_status status = cpb_score_law_of_transform(&v.law, transform, 0, error);
  if (status == CPB_OK) status = cpb_check_source(base, error);
  if (status == CPB_OK) status = cpb_check_source(embedded, error);
  if (status != CPB_OK) return status;
  /* Every precision already includes the error of the image in double. */
  double of_double = cpb_score_law_row_error(&v.law, CPB_F64);
  for (size_t i = 0; i < 3; i++) v.bound[i] = cpb_score_law_row_error(&v.law, finest_first[i]) - of_double;
  v.made = malloc((AT_ONCE + 1) * v.law.cols * sizeof *v.made);
  if (v.made == NULL) return cpb_fail_memory(error, "%d rows of %zu columns", AT_ONCE, v.law.cols);
  status = verify_all(&v, exec, error);
  free(v.made);
  size_t at = 0;
  while (at < 2 && v.worst > v.bound[at]) at++;
  *precision = finest_first[at];
  return status;
}
