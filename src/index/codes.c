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
  cpb_screen_init(&index->screen, index->options.metric, numbers, sample.rows, d, index->center,
                  index->center_f32);
  free(numbers);
  return cpb_sieve_prepare_rows(&index->sieve, sample);
}

void cpb_coder_free(cpb_coder *coder) {
  if (coder == NULL) return;
  free(coder->sieve.numbers);
  coder->sieve.center = NULL; /* owned by the index */
  coder->sieve.opposite = NULL;
  cpb_sieve_free(&coder->sieve);
  free(coder);
}

cpb_coder *cpb_coder_new(const cpb_index *index) {
  cpb_coder *coder = calloc(1, sizeof *coder);
  if (coder == NULL) return NULL;
  coder->sieve = index->sieve;
  if (cpb_sieve_room(&coder->sieve, CPB_INDEX_BLOCK, PANEL)) return coder;
  cpb_coder_free(coder);
  return NULL;
}

/* L2, COSINE: ii. IP: the sum of i, which is used if rows are bytes. */
static int32_t term_of(const cpb_sieve *sieve, const cpb_sieve_run *run, size_t at) {
  const cpb_sieve_row *row = &sieve->rows[at];
  if (!(row->rest < INFINITY)) return ALWAYS;
  if (sieve->screen->metric == CPB_IP) return sieve->whole[at] / -128;
  return (int32_t)lrint(row->square / (run->step * run->step));
}

cpb_sieve_row cpb_codes_row(const cpb_sieve *sieve, const cpb_sieve_run *run, int32_t term) {
  cpb_sieve_row row = {.rest = term == ALWAYS ? INFINITY : run->rest, .length = run->length};
  if (sieve->screen->metric != CPB_IP)
    row.square = run->step * run->step * term;
  else if (sieve->kind != CPB_SIEVE_FLOATS)
    row.constant = (double)sieve->center[0] * term;
  return row;
}

/* Agrees with code_row of search/sieve.c. */
void cpb_codes_thresholds(const cpb_sieve *sieve, const cpb_sieve_run *run, const int32_t *term,
                          float per_step, int32_t *threshold) {
  bool products = sieve->screen->metric == CPB_IP, whole = sieve->kind != CPB_SIEVE_FLOATS;
  double of_term = !products ? -run->step / 2 : whole ? (double)sieve->center[0] / run->step : 0;
  for (size_t j = 0; j < PANEL; j++) {
    float part = term[j] == ALWAYS ? INFINITY : (float)(of_term * term[j]);
    threshold[j] = -cpb_sieve_rise(part, per_step);
  }
}

static const uint64_t signs = 0x8080808080808080; /* codes are stored plus 128 */

/* Two words of one row. */
static uint64_t words_at(const cpb_sieve *sieve, size_t at, size_t word) {
  uint64_t codes;
  memcpy(&codes, sieve->codes + cpb_bytes_at(sieve->words, at, word * CPB_BYTES_WORD), sizeof codes);
  return codes ^ signs;
}

/* Transposes words [from, to) of rows at and at+1, so that the positions of a word are contiguous. */
static void place_pair(const cpb_sieve *sieve, size_t at, size_t from, size_t to, uint8_t *panel) {
  const uint64_t low = UINT32_MAX;
  const size_t stride = PANEL * CPB_BYTES_WORD;
  panel += at % PANEL * CPB_BYTES_WORD;
  for (size_t word = from; word < to; word += 2) {
    uint64_t first = words_at(sieve, at, word), second = words_at(sieve, at + 1, word);
    uint64_t even = (first & low) | second << 32, odd = first >> 32 | (second & ~low);
    memcpy(panel + word * stride, &even, sizeof even);
    if (word + 1 < to) memcpy(panel + (word + 1) * stride, &odd, sizeof odd);
  }
}

static void place_row(const cpb_sieve *sieve, size_t at, uint8_t *panel) {
  for (size_t word = 0; word < sieve->words; word++) {
    uint32_t codes = (uint32_t)words_at(sieve, at, word);
    memcpy(panel + (word * PANEL + at % PANEL) * CPB_BYTES_WORD, &codes, sizeof codes);
  }
}

/* A line of words at a time, of all rows: both sides stay in the first cache. */
static void place_rows(const cpb_sieve *sieve, size_t first, size_t count, uint8_t *panel) {
  enum { WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD };
  for (size_t from = 0; from < sieve->words; from += WORDS) {
    size_t to = from + WORDS < sieve->words ? from + WORDS : sieve->words;
    for (size_t i = 0; i + 1 < count; i += 2) place_pair(sieve, first + i, from, to, panel);
  }
  if (count % 2 != 0) place_row(sieve, first + count - 1, panel);
}

static void keep_run(const cpb_sieve *sieve, size_t run, cpb_index_block *block, size_t panel) {
  const cpb_sieve_run *of = &sieve->runs[run];
  size_t to = (panel + run) * PANEL;
  block->panels[panel + run] = *of;
  block->panels[panel + run].first = to;
  place_rows(sieve, of->first, of->count, block->codes + to * sieve->words * CPB_BYTES_WORD);
  for (size_t i = 0; i < of->count; i++) {
    block->term[to + i] = term_of(sieve, of, of->first + i);
    block->row_of[to + i] = (uint16_t)(panel * PANEL + sieve->rows[of->first + i].row);
  }
}

/* Rows [first, first+count) of a block, at the positions of the same numbers. */
static int code_rows(cpb_sieve *sieve, const cpb_index *index, cpb_index_block *block, size_t first,
                     size_t count, size_t *faulty) {
  cpb_view rows =
      cpb_rows(block->rows + first * index->row_bytes, index->options.dtype, count, index->options.cols);
  int fault[CPB_INDEX_BLOCK];
  cpb_sieve_numbers(sieve, rows, 0, count, fault);
  for (*faulty = first; *faulty < first + count; ++*faulty)
    if (fault[*faulty - first] != 0) return fault[*faulty - first];
  cpb_sieve_order(sieve, count);
  for (size_t run = 0; run < sieve->run_count; run++) {
    cpb_sieve_codes(sieve, rows, run);
    keep_run(sieve, run, block, first / PANEL);
  }
  return 0;
}

/* An incomplete last panel is coded separately from the others, because it is coded again when rows are added. */
int cpb_coder_run(cpb_coder *coder, const cpb_index *index, cpb_index_block *block, size_t panel,
                  size_t *faulty) {
  size_t first = panel * PANEL, full = block->count / PANEL * PANEL;
  int fault = full > first ? code_rows(&coder->sieve, index, block, first, full - first, faulty) : 0;
  if (fault != 0 || block->count == full) return fault;
  return code_rows(&coder->sieve, index, block, full, block->count - full, faulty);
}
