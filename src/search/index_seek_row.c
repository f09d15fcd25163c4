/* One row of an index: whether a query may find it, and its value. */
#include "search/index_seek.h"

#include <math.h>

#include "base/fail.h"
#include "search/index_blocks.h"
#include "search/measure.h"

bool cpb_seek_allows(const cpb_index_filter *filter, size_t query, uint64_t id) {
  if (filter == NULL) return true;
  if (filter->allow != NULL) return filter->allow(filter->context, query, id);
  const uint64_t *bitmap = filter->bitmap + query * filter->stride;
  return id < filter->bits && (bitmap[id / 64] >> id % 64 & 1) != 0;
}

bool cpb_seek_measure(const cpb_index *index, size_t slot, const double *q, double *value) {
  cpb_row_buffer buffer;
  const char *row = cpb_slot_read(index, slot, &buffer);
  if (row == NULL) return false;
  *value = INFINITY; /* of a row that damage made invalid */
  (void)cpb_measure(index->float_filter.loops, index->options.metric,
                    cpb_rows(row, index->options.dtype, 1, index->options.cols), 0, q, index->center,
                    value); /* for products the centre is 0 */
  return true;
}

cpb_status cpb_seek_fail_read(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_SYSTEM, "index", "the file of the index cannot be read");
}
