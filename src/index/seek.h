/* Searching the codes of an index: which rows may be answers, and those measured. */
#ifndef CPB_INDEX_SEEK_H
#define CPB_INDEX_SEEK_H

#include "core/best.h"
#include "index/index_object.h"

/* What is asked, of queries that are checked. */
typedef struct cpb_seek_question {
  const cpb_index *index;
  cpb_view queries;
  size_t k;             /* rows wanted, .. */
  const double *limits; /* .. or all within limits[query] */
  const cpb_index_filter *filter;
  const cpb_exec *exec;
} cpb_seek_question;

/* What was found for a query. */
typedef struct cpb_seek_answer {
  cpb_best
      rows; /* keys, smaller is nearer, and ids, in any order; with limits the entries are the answer's to free */
  bool undecided; /* bytes do not tell the rows apart: nothing was found */
  uint64_t measured;
} cpb_seek_answer;

/* Whether a live row of an id may be found by a query. */
bool cpb_seek_allows(const cpb_index_filter *filter, size_t query, uint64_t id);

/* *value of the row of a slot, as cpb_knn has it. q: the query's doubles, of unit length under COSINE. The row was checked when
 * it was added. */
double cpb_seek_measure(const cpb_index *index, size_t slot, const double *q);

/* Keys of a cpb_best: smaller is nearer. The same both ways. */
static inline double cpb_seek_key(const cpb_index *index, double value) {
  return index->options.metric == CPB_L2 ? value : -value;
}

/* Fills answers, one for each query; they and their entries without limits are in the scratch. */
cpb_status cpb_seek_codes(const cpb_seek_question *question, cpb_index_scratch *scratch,
                          cpb_seek_answer **answers, cpb_error *error);

#endif
