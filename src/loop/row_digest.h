/* 128 bits that tell rows apart, at the speed of memory: of their elements as they are stored, row by row, whatever file,
 * stride, blocks and threads they come by.
 *
 * Rows are taken in groups, the fewest of 1, 2, 4 .. CPB_DIGEST_GROUP_MOST that have CPB_DIGEST_GROUP_BYTES. Each group has
 * a digest of its own, which is mixed with its number, and these are added up: groups may come in any order and on any
 * thread. */
#ifndef CPB_LOOP_ROW_DIGEST_H
#define CPB_LOOP_ROW_DIGEST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capball/view.h"
#include "loop/table.h"

enum { CPB_DIGEST_GROUP_BYTES = 1 << 14, CPB_DIGEST_GROUP_MOST = 1024 };

typedef struct cpb_row_digest {
  const cpb_loops *loops;
  cpb_dtype dtype;
  size_t cols, row_bytes, group; /* rows of a group */
  uint64_t keys[2][CPB_DIGEST_LANES];
  _Atomic uint64_t sums[2];
  unsigned char *rest; /* the beginning of a group whose end has not come */
  uint64_t rest_row;   /* its first row */
  size_t rest_rows;
} cpb_row_digest;

cpb_status cpb_row_digest_begin(cpb_row_digest *digest, cpb_dtype dtype, size_t cols, cpb_error *error);
void cpb_row_digest_free(cpb_row_digest *digest);

/* Forgets the rows so far. */
void cpb_row_digest_clear(cpb_row_digest *digest);

/* False where rows begin within a group and do not go on where the rows before them ended: blocks that do not come in order
 * begin at a multiple of `group`, and only the last ends elsewhere. From several threads at once. */
bool cpb_row_digest_add(cpb_row_digest *digest, uint64_t first, cpb_view rows);

/* Of all rows that were added. */
void cpb_row_digest_finish(cpb_row_digest *digest, uint64_t rows, uint64_t hash[2]);

#endif
