/* Names of columns, as maps, models and transforms keep them of the rows that they were fitted to. */
#ifndef CPB_CORE_COLUMN_NAMES_H
#define CPB_CORE_COLUMN_NAMES_H

#include <stdbool.h>

#include "capball/view.h"

/* A copy of `count` names, "" for NULL; NULL of NULL. False without memory, and *copy is NULL then. */
bool cpb_column_names_copy(const char *const *names, size_t count, const char *const **copy);

void cpb_column_names_free(const char *const *names, size_t count); /* NULL is fine */

/* Those of a source, of a caller that knows of them; NULL: it has none. */
const char *const *cpb_source_names(const cpb_source *source);

#endif
