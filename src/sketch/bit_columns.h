/* The bits of rows, stored by column, to count the rows on which two bits differ. */
#ifndef CPB_SKETCH_BIT_COLUMNS_H
#define CPB_SKETCH_BIT_COLUMNS_H

#include "core/memory.h"
#include "sketch/sketch_object.h"

typedef struct cpb_bit_columns {
  size_t bits, rows, words; /* words of a column, 64 rows each; padding rows are 0 in all bits */
  uint64_t *codes;          /* rows, rounded up to whole words, x panels */
  uint64_t *groups;         /* the columns in the layout of the Hamming loop */
} cpb_bit_columns;

/* The bits of at most `rows` rows, in this memory. */
cpb_bit_columns cpb_bit_columns_new(cpb_memory *memory, size_t bits, size_t rows);

/* Computes the bits of these rows. */
cpb_status cpb_bit_columns_fill(cpb_bit_columns *columns, const cpb_sketch *sketch, cpb_view x,
                                const cpb_exec *exec, cpb_error *error);

/* Replaces column i by the only column of `from`, which has as many rows. */
void cpb_bit_columns_set(cpb_bit_columns *columns, size_t i, const cpb_bit_columns *from);

/* lean[j] = 2 O_ij/n - 1 for all j, in [-1,1]: 1 where the bits always agree.
 * column: scratch space, the words of a column. */
void cpb_bit_columns_lean(const cpb_bit_columns *columns, size_t i, uint64_t *column, double *lean);

#endif
