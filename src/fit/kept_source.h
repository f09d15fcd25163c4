/* Caches the rows of a source of unknown length, as long as they are few, so that text is parsed only once. */
#ifndef CPB_FIT_KEPT_SOURCE_H
#define CPB_FIT_KEPT_SOURCE_H

#include <stdbool.h>

#include "capball/view.h"

typedef struct cpb_kept_source {
  cpb_source source; /* to be read instead of `of`; a view once the rows are cached */
  cpb_source *of;
  uint64_t rows; /* of the last pass that read `of` */
  bool keeping;
  char *data;
  size_t row_bytes, used, room; /* bytes */
} cpb_kept_source;

void cpb_kept_source_init(cpb_kept_source *kept, cpb_source *of);
void cpb_kept_source_free(cpb_kept_source *kept);

#endif
