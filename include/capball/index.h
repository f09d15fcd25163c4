/* Exact Euclidean neighbours from any index of embedded rows that finds large inner products.       T13
 *
 * The index is two callbacks; the library asks, computes distances from the rows, and asks for twice as many
 * until the certificate holds. */
#ifndef CAPBALL_INDEX_H
#define CAPBALL_INDEX_H

#include <stdbool.h>

#include "capball/query.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Someone's index over the rows S(x). Its callbacks are called from the calling thread alone; what they
 *  return other than CPB_OK ends the call and is handed on, with their sentence. */
typedef struct cpb_index {
  void *self;
  uint64_t rows;

  /** The `count` rows of the largest <p,y>, in any order, p of d+1 doubles and unit length: ids and scores,
   *  *found of each. Fewer than asked for, from an index that does not hold all rows or looks at some only,
   *  are no proof. */
  cpb_status (*search)(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                       size_t *found, cpb_error *error);

  /** The d+1 coordinates of one row. */
  cpb_status (*row)(void *self, uint64_t id, double *y, cpb_error *error);

  double row_error;   /* 0: cpb_query_row_error of f32 */
  double score_error; /* 0: cpb_query_score_error */
} cpb_index;

/** How it is asked. Start from cpb_index_options_default(). */
typedef struct cpb_index_options {
  size_t size;   /* sizeof(cpb_index_options) */
  double radius; /* r of the ball query p(q,r); 0: the point query */
  size_t first;  /* candidates asked for at first; 0: twice k, at least 32 */
  size_t most;   /* candidates asked for at most; 0: all rows */
} cpb_index_options;

CPB_API cpb_index_options cpb_index_options_default(void);

/** How good the answer to one query is. */
typedef struct cpb_index_report {
  uint64_t looked; /* candidates of the last question */
  bool proven;     /* no other row is nearer than the k-th */
} cpb_index_report;

/** The k nearest rows of every query, by distances from the embedded rows. Rows whose distances differ
 *  by less than row_error resolves may stand in either order.
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  hits     n x k, caller's; query i's are hits[i*k ..], nearest first, value = |x-q|
 *  reports  n, or NULL
 *  EINVAL: k = 0, k > index->rows, fewer than k rows found, an id that is none of the rows. */
CPB_API cpb_status cpb_index_knn(const cpb_map *map, const cpb_index *index, cpb_view queries, size_t k,
                                 const cpb_index_options *options, cpb_hit *hits, cpb_index_report *reports,
                                 cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
