/* A search, and the queries that are looked at together. */
#ifndef CPB_SEARCH_SEARCH_OBJECT_H
#define CPB_SEARCH_SEARCH_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capball/advanced/feed.h"
#include "core/best.h"
#include "parallel/blocks.h"
#include "search/sieve.h"

enum { CPB_SEARCH_PANEL = CPB_PANEL_COLS };

/* Up to CPB_SEARCH_PANEL queries, and the share of the rows that one task looks at for them. Rows are told
 * apart by bytes (sieve.h) as long as that leaves few to measure, else by floats (screen.h). Both say between
 * which bounds a row lies, smaller is nearer; what a bound means is theirs. */
typedef struct cpb_search_group {
  cpb_search *search;
  size_t panel, part;
  size_t first, count;             /* slots of its queries */
  bool bytes;                      /* told apart by bytes, .. */
  bool by_floats;                  /* .. and how the task under way began */
  bool may_return;                 /* to bytes, after the first block */
  size_t begin, from, end;         /* rows of the block under way, in its order; from: not looked at yet */
  double bound[CPB_SEARCH_PANEL];  /* rows beyond it are no answers */
  cpb_best best[CPB_SEARCH_PANEL]; /* with limits k grows as rows are found */
  uint64_t compared, measured, wasted;
  size_t crowded; /* columns of the first block that had no room left: bytes cannot tell its rows apart */

  size_t waiting[CPB_SEARCH_PANEL]; /* rows that might be answers, .. */
  float *nearest;                   /* .. PANEL x room: how near they may be, */
  size_t *row;                      /* .. and rows of those fed */
  size_t noted[CPB_SEARCH_PANEL];   /* rows, the k that look nearest, .. */
  float *among;                     /* .. PANEL x k: how far they may be, heaps, the farthest first */

  float threshold[CPB_SEARCH_PANEL];        /* of floats, .. */
  double blur[CPB_SEARCH_PANEL];            /* .. and how far apart their bounds are */
  int32_t byte_threshold[CPB_SEARCH_PANEL]; /* of bytes, .. */
  const cpb_sieve_run *run;                 /* .. in this run, .. */
  int32_t *start;                           /* .. whose sums start here */
} cpb_search_group;

struct cpb_search {
  cpb_screen screen;
  cpb_sieve sieve; /* unused unless `bytes` */
  bool bytes;
  size_t n, k;
  double *queries; /* n x d; of unit length under COSINE */
  double *limits;  /* n or NULL */
  double *center;
  float *center_f32; /* NULL for queries of double */
  cpb_asked *asked;
  size_t *order, *slot; /* at slot i is query order[i]; panels hold queries of like reach */

  size_t panel_count, group_count; /* a group for each panel and part of the rows */
  float *panels;                   /* of d x PANEL factors */
  cpb_search_group *groups;        /* parts x panels */
  size_t room;                     /* for waiting rows of a query, .. */
  float *spans;                    /* .. and their place, groups x PANEL x (room + k) */
  size_t *rows;
  int32_t *starts;     /* groups x rows of a run */
  cpb_ranked *entries; /* groups x PANEL x k, without limits */
  cpb_hit *answer;
  uint64_t offered;

  /* the block under way */
  float *factors, *start;
  size_t *block_order;
  double raise;                    /* of the starts, over all blocks fed */
  size_t block_rows, float_rows;   /* at most; and where nothing is looked at in bytes */
  size_t block_first, block_count; /* its rows among those fed */
  cpb_view fed;
  const uint64_t *ids; /* of the rows fed; NULL: first_id, first_id+1, .. */
  uint64_t first_id;
  cpb_first_fault fault;
  atomic_bool out_of_memory;
  bool spoilt;
};

/** How many rows have been offered. */
uint64_t cpb_search_rows(const cpb_search *search);

/** Offers all rows of a source, from its first, to every query; ids count from 0. EROW: error->row does. */
cpb_status cpb_search_feed_source(cpb_search *search, cpb_source *base, const cpb_exec *exec,
                                  cpb_error *error);

#endif
