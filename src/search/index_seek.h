/* Searches the codes of an index: rows that may be results are selected by bounds and measured in double. */
#ifndef CPB_SEARCH_INDEX_SEEK_H
#define CPB_SEARCH_INDEX_SEEK_H

#include "base/best.h"
#include "search/index_object.h"

/* The arguments of a search; queries are valid. */
typedef struct cpb_scan_args {
  const cpb_index *index;
  cpb_view queries;
  size_t k;             /* rows wanted, .. */
  const double *limits; /* .. or all within limits[query] */
  const cpb_index_filter *filter;
  const cpb_exec *exec;
} cpb_scan_args;

/* The result of a query. */
typedef struct cpb_seek_answer {
  cpb_best
      rows; /* keys, smaller is nearer, and ids, in any order; with limits the caller frees the entries */
  bool undecided; /* codes do not separate the rows: the query must be answered in floats */
  uint64_t measured;
} cpb_seek_answer;

/* Whether the filter lets a query find a live row. */
bool cpb_seek_allows(const cpb_index_filter *filter, size_t query, uint64_t id);

/* The value of a row, as cpb_knn computes it. q: the query in doubles, of unit length under COSINE. False if the row cannot
 * be read. */
bool cpb_seek_measure(const cpb_index *index, size_t slot, const double *q, double *value);

/* EIO: the file of an index could not be read. */
cpb_status cpb_seek_fail_read(cpb_error *error);

/* Converts a value to a key of cpb_best, where smaller is nearer, and back. */
static inline double cpb_seek_key(const cpb_index *index, double value) {
  return index->options.metric == CPB_L2 ? value : -value;
}

/* One answer for each query; they are stored in the scratch, and so are their entries unless there are limits. */
cpb_status cpb_seek_codes(const cpb_scan_args *question, cpb_index_scratch *scratch,
                          cpb_seek_answer **answers, cpb_error *error);

#endif
