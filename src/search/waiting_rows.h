/* The rows that might be answers: told apart further, and measured in double. */
#ifndef CPB_SEARCH_WAITING_ROWS_H
#define CPB_SEARCH_WAITING_ROWS_H

#include "search/search_object.h"

/* Keys of a cpb_best: smaller is nearer. The same both ways. */
double cpb_search_key(const cpb_search *search, double value);

/* What the group knows by now, in bounds of bytes or floats. */
void cpb_group_renew_bounds(cpb_search_group *group);

/* A row of those fed may be an answer for the query of a column. */
void cpb_group_take(cpb_search_group *group, size_t column, size_t row, cpb_sieve_span span);

/* Whether few rows of a block are wanted; whether nothing but the block under way has been looked at, and whether bytes fail to tell its rows apart: what
 * waits is dropped then, and the group is to start over with floats as if there had been no rows. */
bool cpb_search_is_choosy(const cpb_search *search);
bool cpb_group_is_first(const cpb_search_group *group);
bool cpb_group_is_hopeless(const cpb_search_group *group);
void cpb_group_start_over(cpb_search_group *group);

/* Measures all rows that wait. */
void cpb_group_settle(cpb_search_group *group);

#endif
