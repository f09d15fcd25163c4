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
  return (int32_t)(row->square / (run->step * run->step) + 0.5);
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

/* ---- panels: codes plus 128, the positions of a word contiguous ---- */

enum {
  SIDE = 4,                        /* rows and words that are transposed at once */
  STRIDE = PANEL * CPB_BYTES_WORD, /* from a word of a panel to the next, in bytes */
  LINE_WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD
};

typedef uint32_t four_words __attribute__((vector_size(SIDE * CPB_BYTES_WORD)));

/* Four words of a (0 to 3) and b (4 to 7). */
#ifdef __clang__
#define WORDS_OF(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define WORDS_OF(a, b, i, j, k, l) __builtin_shuffle(a, b, (four_words){i, j, k, l})
#endif

static four_words load_words(const int8_t *codes) {
  four_words words;
  memcpy(&words, codes, sizeof words);
  return words ^ 0x80808080;
}

static void place_square(const int8_t *const line[SIDE], size_t offset, uint8_t *to) {
  four_words a = load_words(line[0] + offset), b = load_words(line[1] + offset);
  four_words c = load_words(line[2] + offset), d = load_words(line[3] + offset);
  four_words ab = WORDS_OF(a, b, 0, 4, 1, 5), ab_high = WORDS_OF(a, b, 2, 6, 3, 7);
  four_words cd = WORDS_OF(c, d, 0, 4, 1, 5), cd_high = WORDS_OF(c, d, 2, 6, 3, 7);
  four_words word[SIDE] = {WORDS_OF(ab, cd, 0, 1, 4, 5), WORDS_OF(ab, cd, 2, 3, 6, 7),
                           WORDS_OF(ab_high, cd_high, 0, 1, 4, 5), WORDS_OF(ab_high, cd_high, 2, 3, 6, 7)};
  for (size_t i = 0; i < SIDE; i++) memcpy(to + i * STRIDE, &word[i], sizeof *word);
}

/* Words [from, words) of the line of one row. */
static void place_words(const int8_t *line, size_t from, size_t words, uint8_t *to) {
  for (size_t i = from * CPB_BYTES_WORD; i < words * CPB_BYTES_WORD; i++)
    to[i / CPB_BYTES_WORD * STRIDE + i % CPB_BYTES_WORD] = (uint8_t)(line[i] + 128);
}

/* The lines of `rows` rows from row `at` on, at most SIDE. */
static void place_lines(const cpb_sieve *sieve, size_t at, size_t rows, size_t from, uint8_t *to) {
  const int8_t *line[SIDE];
  size_t words = sieve->words - from < LINE_WORDS ? sieve->words - from : LINE_WORDS, whole = 0;
  for (size_t i = 0; i < rows; i++)
    line[i] = sieve->codes + cpb_bytes_at(sieve->words, at + i, from * CPB_BYTES_WORD);
  for (; rows == SIDE && whole + SIDE <= words; whole += SIDE)
    place_square(line, whole * CPB_BYTES_WORD, to + whole * STRIDE);
  for (size_t i = 0; i < rows; i++) place_words(line[i], whole, words, to + i * CPB_BYTES_WORD);
}

/* A line of words at a time, of all rows: both sides stay in the first cache. */
static void place_rows(const cpb_sieve *sieve, size_t first, size_t count, uint8_t *panel) {
  for (size_t from = 0; from < sieve->words; from += LINE_WORDS)
    for (size_t i = 0; i < count; i += SIDE)
      place_lines(sieve, first + i, count - i < SIDE ? count - i : SIDE, from,
                  panel + from * STRIDE + i * CPB_BYTES_WORD);
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
