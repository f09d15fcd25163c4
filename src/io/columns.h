/* Which columns of a file are read, and how they are used. */
#ifndef CPB_IO_COLUMNS_H
#define CPB_IO_COLUMNS_H

#include <stdbool.h>

#include "io/texts.h"

/* The place of a file's column in a row, or one of these. */
#define CPB_COLUMN_UNUSED SIZE_MAX
#define CPB_COLUMN_ID (SIZE_MAX - 1)
#define CPB_COLUMN_LABEL (SIZE_MAX - 2)

/* The caller's choice: "a,b,3-7" each, names or numbers from 1; NULL: none. */
typedef struct cpb_column_wish {
  const char *columns, *drop, *id, *label;
  bool first_is_id;
} cpb_column_wish;

typedef struct cpb_columns {
  size_t *place; /* of each column of the file */
  size_t in_file, taken;
  bool ids, labels;
} cpb_columns;

/* names  of the file's columns; NULL or empty: none
 * EFORMAT if a wish names a column that does not exist, or if no column remains. Free it in any case. */
cpb_status cpb_columns_choose(cpb_columns *columns, const cpb_column_wish *wish, const char *path,
                              const cpb_texts *names, size_t in_file, cpb_error *error);
/* Restricts the columns taken to those with these names, in this order; `names` are those of the whole file. */
cpb_status cpb_columns_select(cpb_columns *columns, const char *const *wanted, size_t count, const char *path,
                              const cpb_texts *names, cpb_error *error);
void cpb_columns_free(cpb_columns *columns);

static inline bool cpb_column_wish_any(const cpb_column_wish *wish) {
  return wish->columns != NULL || wish->drop != NULL || wish->id != NULL || wish->label != NULL;
}

#endif
