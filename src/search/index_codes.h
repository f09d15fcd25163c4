/* The codes of the rows of an index: those of the candidate filter (search/byte_filter.h), in panels. */
#ifndef CPB_SEARCH_INDEX_CODES_H
#define CPB_SEARCH_INDEX_CODES_H

#include "search/index_object.h"

/* Working memory for computing codes. */
typedef struct cpb_coder {
  cpb_byte_filter byte_filter; /* shares the centres of the index */
  const cpb_fold *fold;        /* NULL: codes are of all numbers */
  cpb_fold_room room;          /* with a fold: for the rows of a block, .. */
  float *folded, *error;       /* .. and what becomes of them */
} cpb_coder;

cpb_coder *cpb_coder_new(const cpb_index *index);
void cpb_coder_free(cpb_coder *coder);
/* Another one, and a block, for codes of all numbers by a filter that has centres; false without memory. */
bool cpb_coder_start(const cpb_index *index, const cpb_byte_filter *filter, cpb_coder **coder,
                     cpb_index_block *block);

/* Rows [first, end) of a block that are not there yet; `stride` is in bytes. `next` are rows of floats to be prefetched. */
typedef struct cpb_rows_copy {
  const char *from;
  size_t stride, first, end;
  cpb_view next;
} cpb_rows_copy;

/* Copies rows, none of which is before the panel, and computes the codes of a block from a panel on, or only checks its
 * rows if the index has no codes; the coder is then NULL. Returns the fault of the first faulty row, and sets its number
 * in the block; 0 if there is none. */
int cpb_coder_run(cpb_coder *coder, const cpb_index *index, cpb_index_block *block, const cpb_rows_copy *copy,
                  size_t panel, size_t *faulty);

/* Rows of bytes are on the grid, except for the cosine: their codes do not depend on the centres, and are all there is
 * to store of them. */
static inline bool cpb_codes_are_rows(const cpb_index *index) {
  return index->bytes && index->byte_filter.kind > CPB_BYTE_FILTER_FLOATS;
}

/* Numbers of a row that have codes. */
static inline size_t cpb_codes_columns(const cpb_index *index) {
  return index->fold != NULL ? index->fold->columns : index->options.cols;
}

/* Chooses a fold for n rows, and the centres, from a sample of them, which makes existing codes invalid; false if out of
 * memory. */
bool cpb_codes_prepare(cpb_index *index, cpb_view sample, size_t n);

/* Gives an index without blocks a fold, which it then owns, or NULL; false if out of memory. */
bool cpb_codes_set_fold(cpb_index *index, cpb_fold *fold);

/* The rows of a panel, whose position is not taken from the file, which may be damaged. */
static inline cpb_byte_filter_run cpb_codes_run(const cpb_index_block *block, size_t at) {
  cpb_byte_filter_run run = block->panels[at / CPB_INDEX_PANEL];
  run.first = at;
  run.count = block->count - at < CPB_INDEX_PANEL ? block->count - at : CPB_INDEX_PANEL;
  return run;
}

/* False for the term of a row that must always be measured. */
static inline bool cpb_codes_can_exclude(int32_t term) { return term != INT32_MAX; }

/* The row of a term, as bounds need it. */
cpb_byte_filter_row cpb_codes_row(const cpb_byte_filter *byte_filter, const cpb_byte_filter_run *run,
                                  int32_t term);

/* The thresholds of the rows of a panel for queries of this step; they may be too low, never too high. */
void cpb_codes_thresholds(const cpb_byte_filter *byte_filter, const cpb_byte_filter_run *run,
                          const int32_t *term, double step, int32_t *threshold);

/* Bytes of the codes of a block, including those after them that loops may read. */
static inline size_t cpb_codes_bytes(size_t words) {
  return (CPB_INDEX_BLOCK * words + CPB_INDEX_PANEL * CPB_BYTES_LINE / CPB_BYTES_WORD) * CPB_BYTES_WORD;
}

#endif
