/* A 128-bit digest of rows, at the speed of memory: of their elements as they are stored, row by row, independent of file
 * format, stride, blocks and threads.
 *
 * Rows form groups, the smallest of 1, 2, 4 .. CPB_DIGEST_GROUP_MOST rows that have CPB_DIGEST_GROUP_BYTES. The digest of each
 * group is mixed with its index, and these are added: groups may come in any order and on any thread. */
#ifndef CPB_FILES_ROW_DIGEST_H
#define CPB_FILES_ROW_DIGEST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capball/view.h"
#include "loops/table.h"

enum { CPB_DIGEST_GROUP_BYTES = 1 << 14, CPB_DIGEST_GROUP_MOST = 1024 };

typedef struct cpb_row_digest {
  const cpb_loops *loops;
  cpb_dtype dtype;
  size_t cols, row_bytes, group; /* rows of a group */
  uint64_t keys[2][CPB_DIGEST_LANES];
  _Atomic uint64_t sums[2];
  unsigned char *rest; /* the beginning of an incomplete group */
  uint64_t rest_row;   /* its first row */
  size_t rest_rows;
} cpb_row_digest;

cpb_status cpb_row_digest_begin(cpb_row_digest *digest, cpb_dtype dtype, size_t cols, cpb_error *error);
void cpb_row_digest_free(cpb_row_digest *digest);

/* Discards the rows so far. */
void cpb_row_digest_clear(cpb_row_digest *digest);

/* False if rows begin within a group and do not continue the rows before them: blocks that come out of order begin at
 * a multiple of `group`, and only the last may end elsewhere. Thread-safe. */
bool cpb_row_digest_add(cpb_row_digest *digest, uint64_t first, cpb_view rows);

/* Of all rows that were added. */
void cpb_row_digest_finish(cpb_row_digest *digest, uint64_t rows, uint64_t hash[2]);

#endif
