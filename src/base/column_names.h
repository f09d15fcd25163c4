/* Column names, as stored by maps, models and transforms for the rows they were fitted to. */
#ifndef CPB_BASE_COLUMN_NAMES_H
#define CPB_BASE_COLUMN_NAMES_H

#include <stdbool.h>

#include "capball/view.h"

/* Copies `count` names, a NULL name as ""; the copy of NULL is NULL. False, and *copy = NULL, when out of memory. */
bool cpb_column_names_copy(const char *const *names, size_t count, const char *const **copy);

void cpb_column_names_free(const char *const *names); /* NULL is allowed */

#endif
