/* The rows of an index as codes: what the sieve makes of them, kept in panels. */
#ifndef CPB_INDEX_CODES_H
#define CPB_INDEX_CODES_H

#include "index/index_object.h"

/* The memory in which rows become codes. */
typedef struct cpb_coder {
  cpb_sieve sieve; /* with the centres of the index */
} cpb_coder;

cpb_coder *cpb_coder_new(const cpb_index *index);
void cpb_coder_free(cpb_coder *coder);

/* Makes codes of the rows of a block from a panel on. Gives the first row with a fault, counted in the block, and its fault;
 * 0 without any. */
int cpb_coder_run(cpb_coder *coder, const cpb_index *index, cpb_index_block *block, size_t panel,
                  size_t *faulty);

/* Chooses the centres by a sample of rows; false without memory. Codes made before are void. */
bool cpb_codes_prepare(cpb_index *index, cpb_view sample);

/* What bounds need to know of the row of a term. */
cpb_sieve_row cpb_codes_row(const cpb_sieve *sieve, const cpb_sieve_run *run, int32_t term);

/* Minus what the rows of a panel add to their sums, for queries of 1/step `per_step`: thresholds that may be too low. */
void cpb_codes_thresholds(const cpb_sieve *sieve, const cpb_sieve_run *run, const int32_t *term,
                          float per_step, int32_t *threshold);

/* Bytes of the codes of a block, with those that may be read after them. */
static inline size_t cpb_codes_bytes(size_t words) {
  return (CPB_INDEX_BLOCK * words + CPB_INDEX_PANEL * CPB_BYTES_LINE / CPB_BYTES_WORD) * CPB_BYTES_WORD;
}

#endif
