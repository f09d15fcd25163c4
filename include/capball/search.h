/* Exact search: the k nearest rows of a base, or all rows within a limit, for many queries at once.  T13
 *
 *   L2       value = |x-q|, not squared        nearest = smallest     within: value <= limit
 *   IP       value = <x,q>                     nearest = largest      within: value >= limit
 *   COSINE   value = <x,q>/(|x||q|)            nearest = largest      within: value >= limit
 * Values are those of double arithmetic; rows of equal value are ordered by their id, the lower first.
 * They hold over the whole range of double, also for rows and queries near 1e-308 or 1e308, subnormal, or of mixed sizes:
 * sums are computed as if exponents had no bounds, and the value is rounded to a double at the end. A distance or inner
 * product beyond the largest double is inf or -inf, one below the smallest is 0, and such rows tie. A k-th value
 * that is used as a limit has at least these k rows within it.
 * Products of bytes or of single precision only decide which rows cannot be answers, with a proven margin,
 * so that the answer is the one of a plain double loop over all rows, for any number of threads. */
#ifndef CAPBALL_SEARCH_H
#define CAPBALL_SEARCH_H

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/** What "near" means. Pinned, append only. */
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

/** What is asked. Start from cpb_search_options_init. */
typedef struct cpb_search_options {
  size_t size; /* sizeof(cpb_search_options) */
  cpb_metric metric;
  size_t k;             /* so many nearest rows per query, ..                                    */
  const double *limits; /* .. or all rows within limits[query], borrowed; exactly one of them is given */
} cpb_search_options;

CPB_API void cpb_search_options_init(cpb_search_options *options, size_t size);

/** The k nearest of all base rows for every query, in one call.
 *  hits   queries.rows x k, caller's; query i's are hits[i*k ..], nearest first
 *  EINVAL when k > base.rows or the base is empty. */
CPB_CALL cpb_status cpb_knn(cpb_view base, cpb_view queries, size_t k, cpb_metric metric, cpb_hit *hits,
                            const cpb_exec *exec, cpb_error *error);

/** Is handed the answer to one query; hits are a view for the call. Not CPB_OK ends the search. */
typedef cpb_status cpb_search_take(void *context, size_t query, const cpb_hit *hits, size_t count,
                                   cpb_error *error);

/** Any number of queries against a base of any size: `take` is called once for each query, in order. The base is
 *  read once for every 16384 queries, whose answers are held.
 *  EINVAL when k is more than the rows of the base, or it has none. EROW: the row of the queries, or of the base. */
CPB_CALL cpb_status cpb_search_run(cpb_source *base, cpb_view queries, const cpb_search_options *options,
                                   cpb_search_take *take, void *context, const cpb_exec *exec,
                                   cpb_error *error);

/** The k nearest of some candidates, by |x-q| in double.                                           T13
 *  base         the rows the candidates' ids count, any dtype
 *  candidates   queries.rows x count, of which only the ids are looked at; none twice for a query
 *  hits         queries.rows x k, caller's, k <= count; ties by id
 *  EROW names a row of the base or a query with NaN or inf; EINVAL an id beyond the base, or a query with an id
 *  twice. */
CPB_CALL cpb_status cpb_rerank(cpb_view base, cpb_view queries, const cpb_hit *candidates, size_t count,
                               size_t k, cpb_hit *hits, const cpb_exec *exec, cpb_error *error);

/** The k nearest of several lists, such as the answers of pieces of a base: what one search over all of them
 *  gives. A hit that is in several lists, with the same id and value, is taken once.
 *  lists    n lists of counts[i] hits, each nearest first, equal values by id     borrowed for the call
 *  hits     room for k, caller's; *count were found: k, fewer only where the lists have fewer
 *  EINVAL: a list that is not in this order, or NaN in it. Thread-safe. */
CPB_CALL cpb_status cpb_hits_merge(const cpb_hit *const *lists, const size_t *counts, size_t n,
                                   cpb_metric metric, size_t k, cpb_hit *hits, size_t *count,
                                   cpb_error *error);

CPB_END
#endif
