/* The k smallest of many keys, each with its id; of equal keys the lower ids. */
#ifndef CPB_BASE_BEST_H
#define CPB_BASE_BEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cpb_ranked {
  double key;
  uint64_t id;
} cpb_ranked;

/* A heap with its worst entry first. */
typedef struct cpb_best {
  size_t k, count;
  cpb_ranked *entry; /* k entries, owned by the caller */
} cpb_best;

void cpb_best_offer(cpb_best *best, double key, uint64_t id);

/* Makes room for one more entry than there are, in memory from malloc; false if there is none. */
bool cpb_best_grow(cpb_best *best);

/* Inserts x into the `count` smallest numbers so far, ascending, if it is one of them. */
void cpb_keep_smallest(double *smallest, size_t count, double x);

/* For qsort and bsearch of ids: the lowest first. */
int cpb_compare_ids(const void *left, const void *right);

/* Smaller keys first, then lower ids. */
void cpb_ranked_sort(cpb_ranked *entry, size_t count);
/* Only so that the smallest `first` come first, in this order. */
void cpb_ranked_sort_first(cpb_ranked *entry, size_t count, size_t first);
/* Only so that entry `at`, 0 .. count-1, is what it is in that order, and those before it come before. */
cpb_ranked cpb_ranked_select(cpb_ranked *entry, size_t count, size_t at);

#endif
