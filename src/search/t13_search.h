/* A search, and the groups of queries that are processed together. */
#ifndef CPB_SEARCH_T13_SEARCH_H
#define CPB_SEARCH_T13_SEARCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capball/advanced/feed.h"
#include "base/best.h"
#include "base/memory.h"
#include "base/blocks.h"
#include "search/byte_filter.h"

enum { CPB_SEARCH_PANEL = CPB_PANEL_COLS };

/* Up to CPB_SEARCH_PANEL queries, and the part of the rows that one task compares with them. Rows are filtered by bytes
 * (byte_filter.h) until that leaves too many rows to measure in one part, from then on by floats (float_filter.h).
 * Both filters give a lower and an upper bound per row, smaller is nearer; the scale of the bounds depends on the
 * filter. */
typedef struct cpb_search_group {
  cpb_search *search;
  size_t panel, part;
  size_t first, count;     /* slots of its queries */
  bool bytes;              /* filtered by bytes, .. */
  bool fails;              /* .. which leaves too many rows; of part 0: for its panel */
  bool retry_bytes;        /* to bytes, after the first block */
  size_t begin, from, end; /* rows of the current block, in its order; from: the first one not compared yet */
  double bound[CPB_SEARCH_PANEL];  /* rows beyond it are not answers */
  cpb_best best[CPB_SEARCH_PANEL]; /* with limits, k grows as rows are found */
  uint64_t compared, measured, wasted;
  size_t
      overflowed_columns; /* columns of the first block whose buffer overflowed: bytes cannot separate its rows */

  size_t deferred[CPB_SEARCH_PANEL]; /* deferred rows, which may be answers: their number, .. */
  float *nearest;                    /* .. PANEL x room: lower bounds, */
  size_t *row;                       /* .. and numbers among the rows fed */
  size_t noted[CPB_SEARCH_PANEL];    /* rows with the k smallest upper bounds, .. */
  float *among;                      /* .. PANEL x k: heaps of those bounds, the largest first */

  float threshold[CPB_SEARCH_PANEL];        /* of floats, .. */
  double blur[CPB_SEARCH_PANEL];            /* .. and the distance between their two bounds */
  int32_t byte_threshold[CPB_SEARCH_PANEL]; /* of bytes, .. */
  const cpb_byte_filter_run *run;           /* .. for this run, .. */
  int32_t *start;                           /* .. and the start values of its sums */
} cpb_search_group;

struct cpb_search {
  cpb_float_filter float_filter;
  cpb_byte_filter byte_filter; /* unused unless `bytes` */
  bool bytes;
  size_t n, k;
  double *queries; /* n x d; of unit length under COSINE */
  double *limits;  /* n or NULL */
  double *center;
  float *center_f32; /* NULL for queries of double */
  cpb_query_scale *query_scale;
  size_t *order, *slot; /* query order[i] is in slot i; panels hold queries of similar reach */

  size_t panel_count, group_count; /* one group per panel and part of the rows */
  float *panels;                   /* of d x PANEL factors */
  cpb_search_group *groups;        /* parts x panels */
  size_t room;                     /* for the deferred rows of a query, .. */
  float *spans;                    /* .. and their storage, groups x PANEL x (room + k) */
  size_t *rows;
  int32_t *starts;     /* groups x rows of a run */
  cpb_ranked *entries; /* groups x PANEL x k, without limits */
  cpb_hit *answer;
  uint64_t offered;

  /* the current block */
  float *factors, *start;
  size_t *block_order;
  double raise;                    /* of the starts, over all blocks fed */
  size_t block_rows, float_rows;   /* maximum sizes of a block: with bytes, and with floats alone */
  size_t block_first, block_count; /* position among the rows fed */
  cpb_view fed;
  const uint64_t *ids; /* of the rows fed; NULL: first_id, first_id+1, .. */
  uint64_t first_id;
  cpb_first_fault fault;
  atomic_bool out_of_memory;
  bool failed;
  cpb_memory memory; /* of the arrays, except factors and answer */
};

/** The number of rows offered so far. */
uint64_t cpb_search_rows(const cpb_search *search);

/* ---- Deferred rows: candidates that are filtered further and measured in double only when necessary. ---- */

/* Converts a value to the key of a cpb_best (smaller is nearer), and back. */
double cpb_search_key(const cpb_search *search, double value);

/* Recomputes the bounds of bytes or floats from the answers found so far. */
void cpb_group_renew_bounds(cpb_search_group *group);

/* Adds a row, a possible answer for the query of this column. */
void cpb_group_take(cpb_search_group *group, size_t column, size_t row, cpb_byte_filter_span span);

/* choosy: few rows of a block are wanted. first: only the current block has been compared. hopeless: bytes cannot
 * separate the rows of that block. */
bool cpb_search_wants_few_rows(const cpb_search *search);
bool cpb_group_is_first(const cpb_search_group *group);
bool cpb_group_is_hopeless(const cpb_search_group *group);

/* Measures all deferred rows. */
void cpb_group_measure_deferred(cpb_search_group *group);

#endif
