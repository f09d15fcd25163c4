/* Exact search: the k nearest rows of a base, or all rows within a limit, for many queries at once.  T13
 *
 *   L2       value = |x-q|, not squared        nearest = smallest     within: value <= limit
 *   IP       value = <x,q>                     nearest = largest      within: value >= limit
 *   COSINE   value = <x,q>/(|x||q|)            nearest = largest      within: value >= limit
 * Values are computed in double; rows of equal value are ordered by id, lower ids first. They are correct over the
 * whole range of double, also for rows and queries near 1e-308 or 1e308, subnormal, or of mixed magnitude: sums are
 * computed as if exponents were unbounded, and the value is rounded to double at the end. A distance or inner product
 * beyond the largest double is inf or -inf, one below the smallest is 0, and such rows tie. If the k-th value is used
 * as a limit, at least these k rows are within it.
 * Products in bytes or single precision are only used to exclude rows, with a proven margin, so the result is that of
 * a plain double loop over all rows, for any number of threads. */
#ifndef CAPBALL_SEARCH_H
#define CAPBALL_SEARCH_H

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/** What "near" means. Values are fixed. */
typedef enum cpb_metric {
  CPB_L2 = 0,
  CPB_IP = 1,
  CPB_COSINE = 2,
} cpb_metric;
enum { CPB_METRICS = 3 };

/** "l2", "ip", "cosine"; a view, never NULL. */
CPB_API const char *cpb_metric_name(cpb_metric metric);

/** One row found. */
typedef struct cpb_hit {
  uint64_t id;
  double value;
} cpb_hit;

/** What to search for. Start from cpb_search_options_init. */
typedef struct cpb_search_options {
  size_t size; /* sizeof(cpb_search_options) */
  cpb_metric metric;
  size_t k;             /* number of nearest rows per query, or .. */
  const double *limits; /* .. all rows within limits[query], borrowed; set exactly one of the two */
} cpb_search_options;
CPB_API void cpb_search_options_init(cpb_search_options *options, size_t size);

/** The k nearest of all base rows for every query.
 *  hits   queries.rows x k, caller's; query i's are hits[i*k ..], nearest first
 *  EINVAL when k > base.rows or the base is empty. */
CPB_CALL cpb_status cpb_knn(cpb_view base, cpb_view queries, size_t k, cpb_metric metric, cpb_hit *hits,
                            const cpb_exec *exec, cpb_error *error);

/** Receives the result of one query; hits are valid for the call. A status other than CPB_OK ends the search. */
typedef cpb_status cpb_search_take(void *context, size_t query, const cpb_hit *hits, size_t count,
                                   cpb_error *error);

/** Any number of queries against a base of any size: `take` is called once for each query, in order. The base is
 *  read once for every 16384 queries, whose results are held in memory.
 *  EINVAL if k exceeds the number of base rows or the base is empty. EROW names the row of the queries or the base. */
CPB_CALL cpb_status cpb_search_run(cpb_source *base, cpb_view queries, const cpb_search_options *options,
                                   cpb_search_take *take, void *context, const cpb_exec *exec,
                                   cpb_error *error);

/** The k nearest of several lists, such as the results for parts of a base: the result of one search over all of
 *  them. A hit that occurs in several lists, with the same id and value, is returned once.
 *  lists    n lists of counts[i] hits, each nearest first, equal values by id     borrowed for the call
 *  hits     space for k, caller's; *count receives the number of hits: k unless the lists have fewer
 *  EINVAL: a list that is not sorted in this order, or contains NaN. Thread-safe. */
CPB_CALL cpb_status cpb_hits_merge(const cpb_hit *const *lists, const size_t *counts, size_t n,
                                   cpb_metric metric, size_t k, cpb_hit *hits, size_t *count,
                                   cpb_error *error);

CPB_END
#endif
