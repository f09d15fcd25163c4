/* Deferred rows: candidates that are filtered further and measured in double only when necessary. */
#ifndef CPB_SEARCH_WAITING_ROWS_H
#define CPB_SEARCH_WAITING_ROWS_H

#include "search/search_object.h"

/* Converts a value to the key of a cpb_best (smaller is nearer), and back. */
double cpb_search_key(const cpb_search *search, double value);

/* Recomputes the bounds of bytes or floats from the answers found so far. */
void cpb_group_renew_bounds(cpb_search_group *group);

/* Adds a row, a possible answer for the query of this column. */
void cpb_group_take(cpb_search_group *group, size_t column, size_t row, cpb_sieve_span span);

/* choosy: few rows of a block are wanted. first: only the current block has been compared. hopeless: bytes cannot
 * separate the rows of that block. start_over then drops the deferred rows, so that the group can begin again with
 * floats. */
bool cpb_search_is_choosy(const cpb_search *search);
bool cpb_group_is_first(const cpb_search_group *group);
bool cpb_group_is_hopeless(const cpb_search_group *group);
void cpb_group_start_over(cpb_search_group *group);

/* Measures all deferred rows. */
void cpb_group_settle(cpb_search_group *group);

#endif
