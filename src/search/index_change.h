/* Calls that change an index. */
#ifndef CPB_SEARCH_INDEX_CHANGE_H
#define CPB_SEARCH_INDEX_CHANGE_H

#include "search/index_object.h"

/* Pinned: stored in files. */
typedef enum cpb_change_kind {
  CPB_CHANGE_ADD = 1,
  CPB_CHANGE_REMOVE = 2,
  CPB_CHANGE_REPLACE = 3,
} cpb_change_kind;

typedef struct cpb_index_change {
  cpb_change_kind kind;
  size_t count;
  const uint64_t *ids; /* NULL: an ADD of rows that get the next ids */
  cpb_view rows;       /* none for a REMOVE */
} cpb_index_change;

/* Applies a change whose rows fit the index, with the index locked: all of it or, on failure, nothing. */
cpb_status cpb_index_apply(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                           cpb_error *error);

#endif
