/* Queries as doubles, in order of reach; hit lists: sorting, and merging the lists of several parts of a base. */
#include "search/query_numbers.h"

#include <stdlib.h>

#include "loops/ruler.h"
#include "base/fail.h"

const char *cpb_metric_name(cpb_metric metric) {
  static const char *const names[CPB_METRICS] = {"l2", "ip", "cosine"};
  return (unsigned)metric < CPB_METRICS ? names[metric] : "?";
}

static bool is_before(cpb_hit a, cpb_hit b, cpb_metric metric) {
  if (a.value != b.value) return metric == CPB_L2 ? a.value < b.value : a.value > b.value;
  return a.id < b.id;
}

static int by_distance(const void *left, const void *right) {
  const cpb_hit *a = left, *b = right;
  return is_before(*b, *a, CPB_L2) - is_before(*a, *b, CPB_L2);
}

void cpb_hits_by_distance(cpb_hit *hits, size_t count) {
  if (count > 1) qsort(hits, count, sizeof *hits, by_distance);
}

static cpb_status check_lists(const cpb_hit *const *lists, const size_t *counts, size_t n, cpb_metric metric,
                              cpb_error *error) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < counts[i]; k++) {
      if (isnan(lists[i][k].value))
        return cpb_fail(error, CPB_WHY_NOT_FINITE, "lists", "lists[%zu][%zu] is NaN", i, k);
      if (k > 0 && is_before(lists[i][k], lists[i][k - 1], metric))
        return cpb_fail(error, CPB_WHY_LIST_ORDER, "lists",
                        "lists[%zu] is not in the order of %s: %.17g (id %llu) comes after %.17g (id %llu)",
                        i, cpb_metric_name(metric), lists[i][k].value, (unsigned long long)lists[i][k].id,
                        lists[i][k - 1].value, (unsigned long long)lists[i][k - 1].id);
    }
  return CPB_OK;
}

/* The list whose next hit comes first; n if all lists are exhausted. */
static size_t first_list(const cpb_hit *const *lists, const size_t *counts, const size_t *at, size_t n,
                         cpb_metric metric) {
  size_t best = n;
  for (size_t i = 0; i < n; i++)
    if (at[i] < counts[i] && (best == n || is_before(lists[i][at[i]], lists[best][at[best]], metric)))
      best = i;
  return best;
}

cpb_status cpb_hits_merge(const cpb_hit *const *lists, const size_t *counts, size_t n, cpb_metric metric,
                          size_t k, cpb_hit *hits, size_t *count, cpb_error *error) {
  if (count == NULL || (n > 0 && (lists == NULL || counts == NULL)) || (k > 0 && hits == NULL))
    return cpb_fail_missing(error, count == NULL    ? "lists"
                                   : lists == NULL  ? "counts"
                                   : counts == NULL ? "hits"
                                                    : "count");
  *count = 0;
  if ((unsigned)metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", (int)metric);
  cpb_status status = check_lists(lists, counts, n, metric, error);
  if (status != CPB_OK) return status;
  size_t *at = calloc(n + 1, sizeof *at), used = 0;
  if (at == NULL) return cpb_fail_memory(error, "to merge %zu lists", n);
  while (used < k) {
    size_t i = first_list(lists, counts, at, n, metric);
    if (i == n) break;
    cpb_hit hit = lists[i][at[i]++];
    if (used == 0 || hits[used - 1].id != hit.id || hits[used - 1].value != hit.value) hits[used++] = hit;
  }
  free(at);
  *count = used;
  return CPB_OK;
}

/* |q|, where it is used; under COSINE q/|q| takes the place of q. */
static int take_length(cpb_metric metric, const cpb_ruler *ruler, size_t query, double *q,
                       cpb_query_scale *query_scale) {
  enum { USUAL = 460, MOST = 1000 }; /* exponents of lengths whose squares are doubles, and of units */
  cpb_wide length;
  query_scale->length = query_scale->unit = 1;
  int fault = cpb_ruler_wide_length(ruler, query, &length);
  if (fault != 0 || metric == CPB_L2) return fault;
  if (length.m == 0) return metric == CPB_COSINE ? CPB_FAULT_ZERO : 0;
  int exponent = length.e < -MOST ? -MOST : length.e > MOST ? MOST : abs(length.e) < USUAL ? 0 : length.e;
  query_scale->unit = ldexp(1, -exponent);
  query_scale->length = ldexp(length.m, length.e - exponent);
  if (metric == CPB_IP) return 0;
  for (size_t k = 0; k < ruler->x.cols; k++)
    q[k] = exponent == 0 ? q[k] / query_scale->length : cpb_wide_ratio(cpb_wide_of(q[k], 0), length);
  query_scale->length = query_scale->unit = 1;
  return 0;
}

cpb_status cpb_query_take(cpb_metric metric, cpb_view queries, double *q, cpb_query_scale *query_scale,
                          cpb_error *error) {
  size_t d = queries.cols;
  cpb_ruler ruler = {.loops = cpb_loops_here(), .x = queries, .sign = 1};
  cpb_first_fault first = {0};
  for (size_t i = 0; i < queries.rows; i++) {
    const char *row = (const char *)queries.data + i * queries.stride * cpb_dtype_size(queries.dtype);
    ruler.loops->widen[queries.dtype](row, d, q + i * d);
    cpb_record_fault(&first, i, take_length(metric, &ruler, i, q + i * d, &query_scale[i]));
  }
  return cpb_first_fault_report(&first, "query", error);
}

void cpb_query_order(const cpb_query_scale *query_scale, const double *q, const double *center, size_t n,
                     size_t d, cpb_ranked *room, size_t *order) {
  for (size_t i = 0; i < n; i++) {
    double reach = cpb_float_filter_reach(q + i * d, center, d);
    room[i] = (cpb_ranked){reach * query_scale[i].unit / query_scale[i].length, i};
  }
  cpb_ranked_sort(room, n);
  for (size_t i = 0; i < n; i++) order[i] = (size_t)room[i].id;
}

cpb_status cpb_check_limits(cpb_metric metric, const double *limits, size_t n, cpb_error *error) {
  for (size_t i = 0; i < n; i++)
    if (isnan(limits[i]) || (metric == CPB_L2 && limits[i] < 0))
      return cpb_fail_domain(error, "limits", limits[i], "limits[%zu] must be a number%s", i,
                             metric == CPB_L2 ? " >= 0" : "");
  return CPB_OK;
}
