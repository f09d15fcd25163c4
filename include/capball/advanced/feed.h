/* Exact search over a base that is passed block by block, as it may be larger than memory; re-ranking of
 * candidates by exact distances.                                                                      T13
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_FEED_H
#define CAPBALL_ADVANCED_FEED_H

#include "capball/map.h"
#include "capball/search.h"

CPB_BEGIN

typedef struct cpb_search cpb_search;

/** Creates *search with a copy of the queries; the caller owns it.
 *  queries   n >= 1 rows of d >= 1, any dtype                          borrowed for the call
 *  EROW for a query with NaN or inf, or of length 0 under COSINE; EINVAL for k = 0 without limits, a limit
 *  that is NaN or, under L2, negative. */
CPB_CALL cpb_status cpb_search_new(cpb_view queries, const cpb_search_options *options, cpb_search **search,
                                   cpb_error *error);
CPB_API void cpb_search_free(cpb_search *search);

/** Searches rows first_id, first_id+1, .. of the base for every query. Blocks may come in any order and
 *  size; a few thousand rows at a time keep all threads busy.
 *  rows   n >= 0 rows of d, any dtype                                  borrowed for the call
 *  EROW names the first row with NaN or inf, or of length 0 under COSINE; the search is then invalid. */
CPB_CALL cpb_status cpb_search_feed(cpb_search *search, cpb_view rows, uint64_t first_id,
                                    const cpb_exec *exec, cpb_error *error);

/** The same for rows with ids ids[0], ids[1], ..; borrowed for the call. Ids must be unique: a row passed
 *  twice may be found twice. */
CPB_CALL cpb_status cpb_search_feed_ids(cpb_search *search, cpb_view rows, const uint64_t *ids,
                                        const cpb_exec *exec, cpb_error *error);

/** The result of one query so far, nearest first; *hits is valid until the next feed. k hits unless fewer rows
 *  have been passed; or all within the limit. */
CPB_CALL cpb_status cpb_search_hits(cpb_search *search, size_t query, const cpb_hit **hits, size_t *count,
                                    cpb_error *error);

/** Counts of the work done so far. Set its size. */
typedef struct cpb_search_report {
  size_t size;       /* sizeof(cpb_search_report) */
  uint64_t rows;     /* passed */
  uint64_t bytes;    /* pairs of a row and a query compared in bytes; all others in floats */
  uint64_t measured; /* pairs whose value was computed in double */
} cpb_search_report;

/** Fills *report up to report->size, which the caller has set. */
CPB_API void cpb_search_describe(const cpb_search *search, cpb_search_report *report);

/** How candidates are ranked. Start from cpb_rerank_options_init. */
typedef struct cpb_rerank_options {
  size_t size;
  size_t k;           /* number of neighbours; default 10 */
  const cpb_map *map; /* the rows are embedded by this map; NULL (the default): they are the data */
} cpb_rerank_options;
CPB_API void cpb_rerank_options_init(cpb_rerank_options *options, size_t size);

/** The k nearest of given candidates, by |x-q| in double; their rows are read by number, each once. With a map, from
 *  embedded rows only:                                                                              T13
 *    |x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0),  norms about the map's centre
 *  base        rows of d, any dtype; with a map (pole e, no reflection) embedded rows of d+1, whose rounding limits the
 *              precision: the error of |x-q| is about 2u s of their type for rows of |x| <= s
 *  candidates  queries.rows x count, of which only the ids are used; no id twice for a query
 *  hits        queries.rows x k, caller's, k <= count; ties by id
 *  EROW names a row of the base or a query with NaN or inf; EINVAL for an id beyond the base or one that occurs
 *  twice for a query. */
CPB_CALL cpb_status cpb_rerank_store(const cpb_store *base, cpb_view queries, const cpb_hit *candidates,
                                     size_t count, const cpb_rerank_options *options, cpb_hit *hits,
                                     const cpb_exec *exec, cpb_error *error);

CPB_END
#endif
