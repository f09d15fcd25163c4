#define _POSIX_C_SOURCE 200809L
#include "search/index_codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "search/index_blocks.h"

enum { PANEL = CPB_INDEX_PANEL, ALWAYS = INT32_MAX /* the term of a row that is never excluded */ };

static bool new_filter(const cpb_index *index, cpb_fold *fold, cpb_byte_filter *filter) {
  bool made = cpb_byte_filter_new(filter, fold == NULL ? &index->float_filter : &fold->rows, 1);
  if (!made) cpb_byte_filter_free(filter);
  return made;
}

static void take_fold(cpb_index *index, cpb_fold *fold, cpb_byte_filter filter) {
  cpb_fold_free(index->fold);
  cpb_byte_filter_free(&index->byte_filter);
  index->fold = fold;
  index->byte_filter = filter;
}

bool cpb_codes_set_fold(cpb_index *index, cpb_fold *fold) {
  cpb_byte_filter filter;
  bool made = new_filter(index, fold, &filter);
  if (made)
    take_fold(index, fold, filter);
  else
    cpb_fold_free(fold);
  return made;
}

/* Rows that are folded, as far as the first level is concerned. */
static cpb_view first_level(const cpb_fold *fold, const float *folded, size_t count) {
  cpb_view rows = cpb_rows(folded, CPB_F32, count, fold->columns);
  rows.stride = fold->numbers;
  return rows;
}

/* From the folds of the rows of the sample. */
static bool prepare_folded(const cpb_index *index, cpb_fold *fold, cpb_byte_filter *filter, cpb_view sample) {
  cpb_fold_room room = {0};
  float *folded = cpb_memory_take(&room.memory, sample.rows * (fold->numbers + fold->levels), sizeof *folded);
  int *fault = cpb_memory_take(&room.memory, sample.rows, sizeof *fault);
  bool made = cpb_fold_room_new(&room, fold->d);
  if (made) {
    cpb_fold_rows(fold, &index->float_filter, sample, 0, sample.rows, &room, folded,
                  folded + sample.rows * fold->numbers, fault);
    made = cpb_byte_filter_prepare_rows(filter, first_level(fold, folded, sample.rows));
  }
  cpb_memory_free(&room.memory);
  return made;
}

void cpb_coder_free(cpb_coder *coder) {
  if (coder == NULL) return;
  cpb_byte_filter_free(&coder->byte_filter);
  cpb_memory_free(&coder->room.memory);
  free(coder);
}

static bool make_room(cpb_coder *coder, const cpb_index *index, const cpb_fold *fold) {
  cpb_dtype dtype = fold != NULL ? CPB_F32 : index->options.dtype;
  if (!cpb_byte_filter_room(&coder->byte_filter, dtype, CPB_INDEX_BLOCK, PANEL)) return false;
  if (fold == NULL) return true;
  coder->folded =
      cpb_memory_lines(&coder->room.memory, CPB_INDEX_BLOCK * fold->numbers, sizeof *coder->folded);
  coder->error = cpb_memory_lines(&coder->room.memory, CPB_INDEX_BLOCK * fold->levels, sizeof *coder->error);
  return cpb_fold_room_new(&coder->room, fold->d);
}

static cpb_coder *new_coder(const cpb_index *index, const cpb_fold *fold, const cpb_byte_filter *filter) {
  cpb_coder *coder = calloc(1, sizeof *coder);
  if (coder == NULL) return NULL;
  coder->byte_filter = *filter;
  coder->fold = fold;
  if (make_room(coder, index, fold)) return coder;
  cpb_coder_free(coder);
  return NULL;
}

cpb_coder *cpb_coder_new(const cpb_index *index) {
  return new_coder(index, index->fold, &index->byte_filter);
}

bool cpb_coder_start(const cpb_index *index, const cpb_byte_filter *filter, cpb_coder **coder,
                     cpb_index_block *block) {
  *coder = new_coder(index, NULL, filter);
  if (*coder != NULL && cpb_block_new_codes(index, block)) return true;
  cpb_coder_free(*coder);
  *coder = NULL;
  return false;
}

/* What is chosen for an index, before it takes effect. */
typedef struct chosen {
  cpb_fold *fold;
  cpb_byte_filter filter;
  cpb_coder *coder;
} chosen;

static bool prepare_filter(const cpb_index *index, chosen *c, cpb_view sample) {
  if (!new_filter(index, c->fold, &c->filter)) return false;
  return c->fold != NULL ? prepare_folded(index, c->fold, &c->filter, sample)
                         : cpb_byte_filter_prepare_rows(&c->filter, sample);
}

static bool place_again(cpb_index *index, const chosen *c) {
  if (index->fold == NULL && c->fold == NULL) return true;
  return cpb_blocks_place_again(index, c->fold);
}

/* A fold is worth its choice if there are many rows. */
static bool choose_fold(const cpb_index *index, cpb_view sample, size_t n, cpb_fold **fold) {
  enum { MANY = 2048 };
  cpb_fold_levels levels = cpb_index_levels(index);
  if (index->options.levels[0] == CPB_INDEX_UNFOLDED || (levels.directions[0] == 0 && n < MANY)) return true;
  return cpb_fold_choose(&index->float_filter, sample, &levels, fold);
}

/* A coder is among it, so that codes can be computed without memory if rows that are added with it are taken back. */
bool cpb_codes_prepare(cpb_index *index, cpb_view sample, size_t n) {
  chosen c = {.fold = NULL};
  cpb_float_filter_init(&index->float_filter, index->options.metric, sample, index->center,
                        index->center_f32);
  if (choose_fold(index, sample, n, &c.fold) && prepare_filter(index, &c, sample) &&
      (c.coder = new_coder(index, c.fold, &c.filter)) != NULL && place_again(index, &c)) {
    take_fold(index, c.fold, c.filter);
    cpb_coder_free(index->coder);
    index->coder = c.coder;
    return true;
  }
  cpb_coder_free(c.coder);
  cpb_byte_filter_free(&c.filter);
  cpb_fold_free(c.fold);
  return false;
}

/* L2, COSINE: ii. IP: the sum of i, which is used if rows are bytes. */
static int32_t term_of(const cpb_byte_filter *byte_filter, size_t at) {
  const cpb_gridded *about = &byte_filter->gridded[at];
  if (!(byte_filter->rows[at].rest < INFINITY)) return ALWAYS;
  return byte_filter->float_filter->metric == CPB_IP ? about->sum : about->square;
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

/* Agrees with describe_row of search/byte_filter.c. */
void cpb_codes_thresholds(const cpb_byte_filter *byte_filter, const cpb_byte_filter_run *run,
                          const int32_t *term, double step, int32_t *threshold) {
  bool products = byte_filter->float_filter->metric == CPB_IP,
       whole = byte_filter->kind != CPB_BYTE_FILTER_FLOATS;
  const double most = 0x1p100; /* anything more rises as much; times 0 it is 0 */
  double of_term = !products ? -run->step / 2 : whole ? (double)byte_filter->center[0] / run->step : 0;
  double factor = of_term / step;
  factor = factor > -most ? factor < most ? factor : most : -most;
  byte_filter->float_filter->loops->thresholds(term, (float)factor, threshold);
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

/* Of the lines of SIDE rows, one after the other. */
static void place_square(const int8_t *lines, uint8_t *to) {
  four_words a = load_words(lines), b = load_words(lines + CPB_BYTES_LINE);
  four_words c = load_words(lines + 2 * CPB_BYTES_LINE), d = load_words(lines + 3 * CPB_BYTES_LINE);
  four_words ab = WORDS_OF(a, b, 0, 4, 1, 5), ab_high = WORDS_OF(a, b, 2, 6, 3, 7);
  four_words cd = WORDS_OF(c, d, 0, 4, 1, 5), cd_high = WORDS_OF(c, d, 2, 6, 3, 7);
  four_words word[SIDE] = {WORDS_OF(ab, cd, 0, 1, 4, 5), WORDS_OF(ab, cd, 2, 3, 6, 7),
                           WORDS_OF(ab_high, cd_high, 0, 1, 4, 5), WORDS_OF(ab_high, cd_high, 2, 3, 6, 7)};
  for (size_t i = 0; i < SIDE; i++) memcpy(to + i * STRIDE, &word[i], sizeof *word);
}

/* Words [from, words) of the line of one row. */
static void place_words(const int8_t *line, size_t from, size_t words, uint8_t *to) {
  for (size_t i = from; i < words; i++) {
    uint32_t word;
    memcpy(&word, line + i * CPB_BYTES_WORD, sizeof word);
    word ^= 0x80808080;
    memcpy(to + i * STRIDE, &word, sizeof word);
  }
}

/* A line of words at a time, of all rows: both sides stay in the first cache. The panel is in new memory, of which the
 * next lines are fetched. */
static void place_rows(const cpb_byte_filter *byte_filter, size_t count, uint8_t *panel) {
  const int8_t *lines = byte_filter->codes;
  for (size_t left = byte_filter->words; left > 0;
       lines += byte_filter->group * CPB_BYTES_LINE, panel += LINE_WORDS * STRIDE) {
    size_t words = left < LINE_WORDS ? left : LINE_WORDS;
    left -= words;
    for (size_t i = 0; i < count; i += SIDE) {
      size_t rows = count - i < SIDE ? count - i : SIDE, whole = 0;
      const int8_t *from = lines + i * CPB_BYTES_LINE;
      uint8_t *to = panel + i * CPB_BYTES_WORD;
      for (size_t j = 0; j < SIDE; j++)
        __builtin_prefetch(panel + LINE_WORDS * STRIDE + (i + j) * CPB_BYTES_LINE, 1);
      for (; rows == SIDE && whole + SIDE <= words; whole += SIDE)
        place_square(from + whole * CPB_BYTES_WORD, to + whole * STRIDE);
      for (size_t j = 0; j < rows; j++)
        place_words(from + j * CPB_BYTES_LINE, whole, words, to + j * CPB_BYTES_WORD);
    }
  }
}

/* Of position `at` of a run, which is position `to` of the block. */
static void write_records(const cpb_coder *coder, const cpb_index *index, const cpb_index_block *block,
                          size_t run, size_t at, size_t to) {
  const cpb_fold *fold = coder->fold;
  const cpb_byte_filter *filter = &coder->byte_filter;
  size_t place = at - filter->runs[run].first, row = filter->order[at], of_rho = fold->columns - 1;
  cpb_record_before before = {filter->rows[at].rest,
                              filter->codes[of_rho / CPB_BYTES_LINE * filter->group * CPB_BYTES_LINE +
                                            place * CPB_BYTES_LINE + of_rho % CPB_BYTES_LINE]};
  for (size_t level = 1; level < fold->levels; level++)
    cpb_record_write(fold, level, coder->folded + row * fold->numbers, coder->error + row * fold->levels,
                     &before, cpb_block_record(index, block, level, to));
}

static void keep_run(const cpb_coder *coder, const cpb_index *index, size_t run, cpb_index_block *block,
                     size_t panel) {
  const cpb_byte_filter *byte_filter = &coder->byte_filter;
  const cpb_byte_filter_run *of = &byte_filter->runs[run];
  size_t to = (panel + run) * PANEL;
  block->panels[panel + run] = *of;
  block->panels[panel + run].first = to;
  place_rows(byte_filter, of->count, block->codes + to * byte_filter->words * CPB_BYTES_WORD);
  for (size_t i = 0; i < of->count; i++) {
    block->term[to + i] = term_of(byte_filter, of->first + i);
    block->row_of[to + i] = (uint16_t)(panel * PANEL + byte_filter->order[of->first + i]);
    if (coder->fold != NULL) write_records(coder, index, block, run, of->first + i, to + i);
  }
}

/* Those of rows [first, end) of a block that are to be copied. */
static void copy_rows(const cpb_index *index, cpb_index_block *block, const cpb_rows_copy *copy, size_t first,
                      size_t end) {
  size_t bytes = index->row_bytes;
  first = first > copy->first ? first : copy->first;
  end = end < copy->end ? end : copy->end;
  if (first >= end) return;
  const char *from = copy->from + (first - copy->first) * copy->stride;
  char *to = block->rows + first * bytes;
  if (copy->stride == bytes)
    memcpy(to, from, (end - first) * bytes);
  else
    for (size_t i = 0; i < end - first; i++) memcpy(to + i * bytes, from + i * copy->stride, bytes);
}

/* Copies rows [first, first+count) of a block, given as `rows`, and makes numbers of them, a few at a time, so that they are
 * read from memory once. Returns the rows of the codes. */
static cpb_view number_rows(cpb_coder *coder, const cpb_index *index, cpb_index_block *block,
                            const cpb_rows_copy *copy, cpb_view rows, size_t first, int *fault) {
  enum { FEW = CPB_FOLD_ROWS };
  const cpb_fold *fold = coder->fold;
  cpb_byte_filter *byte_filter = &coder->byte_filter;
  cpb_view folded = fold == NULL ? rows : first_level(fold, coder->folded, rows.rows);
  int none[FEW];
  for (size_t i = 0, end; i < rows.rows; i = end) {
    end = rows.rows - i < FEW ? rows.rows : i + FEW;
    copy_rows(index, block, copy, first + i, first + end);
    if (fold != NULL)
      cpb_fold_rows(fold, &index->float_filter, rows, i, end - i, &coder->room,
                    coder->folded + i * fold->numbers, coder->error + i * fold->levels, fault + i);
    cpb_byte_filter_numbers(byte_filter, folded, i, end - i, fold != NULL ? none : fault + i);
    for (size_t j = i; fold != NULL && j < end; j++)
      byte_filter->rounded[j] += coder->error[j * fold->levels];
  }
  return folded;
}

/* Rows [first, first+count) of a block, at the positions of the same numbers. */
static int code_rows(cpb_coder *coder, const cpb_index *index, cpb_index_block *block,
                     const cpb_rows_copy *copy, size_t first, size_t count, size_t *faulty) {
  cpb_byte_filter *byte_filter = &coder->byte_filter;
  int fault[CPB_INDEX_BLOCK];
  cpb_view rows = number_rows(
      coder, index, block, copy,
      cpb_rows(block->rows + first * index->row_bytes, index->options.dtype, count, index->options.cols),
      first, fault);
  for (*faulty = first; *faulty < first + count; ++*faulty)
    if (fault[*faulty - first] != 0) return fault[*faulty - first];
  cpb_byte_filter_order(byte_filter, count);
  byte_filter->next = coder->fold != NULL ? (cpb_view){0} : copy->next;
  for (size_t run = 0; run < byte_filter->run_count; run++) {
    cpb_byte_filter_codes(byte_filter, rows, run, 0);
    keep_run(coder, index, run, block, first / PANEL);
  }
  return 0;
}

static int row_fault(const cpb_index *index, cpb_view rows, size_t row) {
  int fault = cpb_row_fault(index->float_filter.loops, rows, row);
  if (fault != 0 || index->options.metric != CPB_COSINE) return fault;
  for (size_t k = 0; k < rows.cols; k++)
    if (cpb_view_at(rows, row, k) != 0) return 0;
  return CPB_FAULT_ZERO;
}

static int first_fault(const cpb_index *index, cpb_view rows, size_t first, size_t *faulty) {
  for (*faulty = first; *faulty < rows.rows; ++*faulty) {
    int fault = row_fault(index, rows, *faulty);
    if (fault != 0) return fault;
  }
  return 0;
}

/* An incomplete last panel is coded separately from the others, because it is coded again when rows are added. */
int cpb_coder_run(cpb_coder *coder, const cpb_index *index, cpb_index_block *block, const cpb_rows_copy *copy,
                  size_t panel, size_t *faulty) {
  size_t first = panel * PANEL, full = block->count / PANEL * PANEL;
  int fault = 0;
  if (!index->bytes) {
    copy_rows(index, block, copy, 0, block->count);
    return first_fault(index, cpb_block_rows(index, block), first, faulty);
  }
  if (full > first) fault = code_rows(coder, index, block, copy, first, full - first, faulty);
  if (fault != 0 || block->count == full) return fault;
  return code_rows(coder, index, block, copy, full, block->count - full, faulty);
}
