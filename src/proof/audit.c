/* T13: the recall of given answers, measured by comparing all rows with some of the queries. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/candidates.h"
#include "capball/query.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "parallel/tell.h"
#include "scale/row_sample.h"
#include "proof/reading.h"

typedef struct auditing {
  cpb_reading reading;
  cpb_view queries; /* those chosen */
  size_t k;
  double *nearest; /* queries x k: the smallest distances so far, ascending */
  cpb_view block;
  double *distances; /* queries x block.rows */
  _Atomic size_t failed;
} auditing;

static void keep(double *nearest, size_t k, double distance) {
  if (!(distance < nearest[k - 1])) return;
  size_t at = k - 1;
  for (; at > 0 && nearest[at - 1] > distance; at--) nearest[at] = nearest[at - 1];
  nearest[at] = distance;
}

static cpb_status look(auditing *a, size_t query, cpb_error *error) {
  double *distances = a->distances + query * a->block.rows;
  cpb_status status =
      cpb_reading_distances(&a->reading, cpb_view_slice(a->queries, query, 1), a->block, distances, error);
  for (size_t i = 0; i < a->block.rows && status == CPB_OK; i++)
    keep(a->nearest + query * a->k, a->k, distances[i]);
  return status;
}

static void look_task(void *arg, size_t query) {
  auditing *a = arg;
  cpb_error error;
  if (look(a, query, &error) != CPB_OK) atomic_store(&a->failed, query);
}

static cpb_status look_at_block(auditing *a, const cpb_exec *exec, cpb_error *error) {
  a->distances = malloc(a->queries.rows * a->block.rows * sizeof *a->distances);
  if (a->distances == NULL) return cpb_fail_memory(error, "%zu distances", a->queries.rows * a->block.rows);
  atomic_store(&a->failed, SIZE_MAX);
  cpb_exec_run(exec, a->queries.rows, look_task, a);
  size_t failed = atomic_load(&a->failed);
  cpb_status status = failed == SIZE_MAX ? CPB_OK : look(a, failed, error);
  free(a->distances);
  return status;
}

static cpb_status look_at_all(auditing *a, cpb_source *all, uint64_t *rows, const cpb_exec *exec,
                              cpb_error *error) {
  cpb_status status = all->rewind(all, error);
  for (*rows = 0; status == CPB_OK; *rows += a->block.rows) {
    status = all->next(all, &a->block, error);
    if (status != CPB_OK || a->block.rows == 0) break;
    status = look_at_block(a, exec, error);
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

static cpb_status choose(cpb_view queries, cpb_row_sample *sample, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < queries.rows && status == CPB_OK; i++)
    status = cpb_row_sample_offer(sample, i, cpb_view_slice(queries, i, 1).data, error);
  return status == CPB_OK ? cpb_row_sample_settle(sample, error) : status;
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

static const cpb_audit_options defaults = {.size = sizeof defaults, .k = 10, .most = 100};

void cpb_audit_options_init(cpb_audit_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

cpb_status cpb_transform_audit(const cpb_transform *transform, cpb_view queries, const cpb_hit *hits,
                               cpb_source *all, const cpb_audit_options *options, cpb_audit *given,
                               const cpb_exec *exec, cpb_error *error) {
  cpb_audit_options o = defaults;
  cpb_audit audit = {.size = sizeof audit};
  cpb_row_sample sample;
  if (hits == NULL || all == NULL || given == NULL)
    return cpb_fail_missing(error, hits == NULL ? "hits" : all == NULL ? "all" : "audit");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_audit_options", error);
  auditing a = {.k = o.k};
  if (status == CPB_OK && (o.k == 0 || o.most == 0 || queries.rows == 0))
    status = cpb_fail_count(error,
                            o.k == 0      ? "k"
                            : o.most == 0 ? "most"
                                          : "queries",
                            0, "an audit needs at least 1 answer");
  if (status == CPB_OK) status = cpb_reading_of_transform(&a.reading, transform, 0, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", a.reading.d, error);
  if (status != CPB_OK) return status;
  cpb_row_sample_init(&sample, o.most, queries.cols * cpb_dtype_size(queries.dtype), o.seed);
  status = choose(queries, &sample, error);
  a.queries = cpb_rows(sample.rows, queries.dtype, sample.count, queries.cols);
  if (status == CPB_OK) status = run(&a, all, &sample, hits, &audit, exec, error);
  if (status == CPB_OK) cpb_sized_give(given, &audit, sizeof audit);
  cpb_row_sample_free(&sample);
  return status;
}
