#define _POSIX_C_SOURCE 200809L
#include "index/codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/zero_lines.h"

enum { PANEL = CPB_INDEX_PANEL, ALWAYS = INT32_MAX /* the term of a row that is never excluded */ };

bool cpb_codes_prepare(cpb_index *index, cpb_view sample) {
  size_t d = sample.cols;
  double *numbers = cpb_zero_lines(sample.rows * d, sizeof *numbers);
  if (numbers == NULL) return false;
  cpb_view_widen(sample, numbers);
  cpb_float_filter_init(&index->float_filter, index->options.metric, numbers, sample.rows, d, index->center,
                        index->center_f32);
  free(numbers);
  return cpb_byte_filter_prepare_rows(&index->byte_filter, sample);
}

void cpb_coder_free(cpb_coder *coder) {
  if (coder == NULL) return;
  free(coder->byte_filter.numbers);
  coder->byte_filter.center = NULL; /* owned by the index */
  coder->byte_filter.opposite = NULL;
  cpb_byte_filter_free(&coder->byte_filter);
  free(coder);
}

cpb_coder *cpb_coder_new(const cpb_index *index) {
  cpb_coder *coder = calloc(1, sizeof *coder);
  if (coder == NULL) return NULL;
  coder->byte_filter = index->byte_filter;
  if (cpb_byte_filter_room(&coder->byte_filter, CPB_INDEX_BLOCK, PANEL)) return coder;
  cpb_coder_free(coder);
  return NULL;
}

/* L2, COSINE: ii. IP: the sum of i, which is used if rows are bytes. */
static int32_t term_of(const cpb_byte_filter *byte_filter, const cpb_byte_filter_run *run, size_t at) {
  const cpb_byte_filter_row *row = &byte_filter->rows[at];
  if (!(row->rest < INFINITY)) return ALWAYS;
  if (byte_filter->float_filter->metric == CPB_IP) return byte_filter->whole[at] / -128;
  return (int32_t)lrint(row->square / (run->step * run->step));
}

cpb_byte_filter_row cpb_codes_row(const cpb_byte_filter *byte_filter, const cpb_byte_filter_run *run,
                                  int32_t term) {
  cpb_byte_filter_row row = {.rest = term == ALWAYS ? INFINITY : run->rest, .length = run->length};
  if (byte_filter->float_filter->metric != CPB_IP)
    row.square = run->step * run->step * term;
  else if (byte_filter->kind != CPB_BYTE_FILTER_FLOATS)
    row.constant = (double)byte_filter->center[0] * term;
  return row;
}

/* Agrees with code_row of search/byte_filter.c. */
void cpb_codes_thresholds(const cpb_byte_filter *byte_filter, const cpb_byte_filter_run *run,
                          const int32_t *term, float per_step, int32_t *threshold) {
  bool products = byte_filter->float_filter->metric == CPB_IP,
       whole = byte_filter->kind != CPB_BYTE_FILTER_FLOATS;
  double of_term = !products ? -run->step / 2 : whole ? (double)byte_filter->center[0] / run->step : 0;
  for (size_t j = 0; j < PANEL; j++) {
    float part = term[j] == ALWAYS ? INFINITY : (float)(of_term * term[j]);
    threshold[j] = -cpb_byte_filter_rise(part, per_step);
  }
}

static const uint64_t signs = 0x8080808080808080; /* codes are stored plus 128 */

/* Two words of one row. */
static uint64_t words_at(const cpb_byte_filter *byte_filter, size_t at, size_t word) {
  uint64_t codes;
  memcpy(&codes, byte_filter->codes + cpb_bytes_at(byte_filter->words, at, word * CPB_BYTES_WORD),
         sizeof codes);
  return codes ^ signs;
}

/* Transposes words [from, to) of rows at and at+1, so that the positions of a word are contiguous. */
static void place_pair(const cpb_byte_filter *byte_filter, size_t at, size_t from, size_t to,
                       uint8_t *panel) {
  const uint64_t low = UINT32_MAX;
  const size_t stride = PANEL * CPB_BYTES_WORD;
  panel += at % PANEL * CPB_BYTES_WORD;
  for (size_t word = from; word < to; word += 2) {
    uint64_t first = words_at(byte_filter, at, word), second = words_at(byte_filter, at + 1, word);
    uint64_t even = (first & low) | second << 32, odd = first >> 32 | (second & ~low);
    memcpy(panel + word * stride, &even, sizeof even);
    if (word + 1 < to) memcpy(panel + (word + 1) * stride, &odd, sizeof odd);
  }
}

static void place_row(const cpb_byte_filter *byte_filter, size_t at, uint8_t *panel) {
  for (size_t word = 0; word < byte_filter->words; word++) {
    uint32_t codes = (uint32_t)words_at(byte_filter, at, word);
    memcpy(panel + (word * PANEL + at % PANEL) * CPB_BYTES_WORD, &codes, sizeof codes);
  }
}

/* A line of words at a time, of all rows: both sides stay in the first cache. */
static void place_rows(const cpb_byte_filter *byte_filter, size_t first, size_t count, uint8_t *panel) {
  enum { WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD };
  for (size_t from = 0; from < byte_filter->words; from += WORDS) {
    size_t to = from + WORDS < byte_filter->words ? from + WORDS : byte_filter->words;
    for (size_t i = 0; i + 1 < count; i += 2) place_pair(byte_filter, first + i, from, to, panel);
  }
  if (count % 2 != 0) place_row(byte_filter, first + count - 1, panel);
}

static void keep_run(const cpb_byte_filter *byte_filter, size_t run, cpb_index_block *block, size_t panel) {
  const cpb_byte_filter_run *of = &byte_filter->runs[run];
  size_t to = (panel + run) * PANEL;
  block->panels[panel + run] = *of;
  block->panels[panel + run].first = to;
  place_rows(byte_filter, of->first, of->count, block->codes + to * byte_filter->words * CPB_BYTES_WORD);
  for (size_t i = 0; i < of->count; i++) {
    block->term[to + i] = term_of(byte_filter, of, of->first + i);
    block->row_of[to + i] = (uint16_t)(panel * PANEL + byte_filter->rows[of->first + i].row);
  }
}

/* Rows [first, first+count) of a block, at the positions of the same numbers. */
static int code_rows(cpb_byte_filter *byte_filter, const cpb_index *index, cpb_index_block *block,
                     size_t first, size_t count, size_t *faulty) {
  cpb_view rows =
      cpb_rows(block->rows + first * index->row_bytes, index->options.dtype, count, index->options.cols);
  int fault[CPB_INDEX_BLOCK];
  cpb_byte_filter_numbers(byte_filter, rows, 0, count, fault);
  for (*faulty = first; *faulty < first + count; ++*faulty)
    if (fault[*faulty - first] != 0) return fault[*faulty - first];
  cpb_byte_filter_order(byte_filter, count);
  for (size_t run = 0; run < byte_filter->run_count; run++) {
    cpb_byte_filter_codes(byte_filter, rows, run);
    keep_run(byte_filter, run, block, first / PANEL);
  }
  return 0;
}

/* An incomplete last panel is coded separately from the others, because it is coded again when rows are added. */
int cpb_coder_run(cpb_coder *coder, const cpb_index *index, cpb_index_block *block, size_t panel,
                  size_t *faulty) {
  size_t first = panel * PANEL, full = block->count / PANEL * PANEL;
  int fault = full > first ? code_rows(&coder->byte_filter, index, block, first, full - first, faulty) : 0;
  if (fault != 0 || block->count == full) return fault;
  return code_rows(&coder->byte_filter, index, block, full, block->count - full, faulty);
}
