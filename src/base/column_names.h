/* Column names, as stored by readers, maps, models, transforms and indexes for their rows: text, and all different, so that
 * columns are found by them. */
#ifndef CPB_BASE_COLUMN_NAMES_H
#define CPB_BASE_COLUMN_NAMES_H

#include <stdbool.h>

#include "capball/view.h"

/* Copies `count` names, a NULL name as ""; the copy of NULL is NULL. A name that is not UTF-8 is decoded (cpb_utf8_decode),
 * and one that repeats an earlier one gets a number, the first that makes it a new name: a, a.1, a.2. Names that are text and
 * different are copied unchanged. False, and *copy = NULL, when out of memory. */
bool cpb_column_names_copy(const char *const *names, size_t count, const char *const **copy);

void cpb_column_names_free(const char *const *names); /* NULL is allowed */

#endif
