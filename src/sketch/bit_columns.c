#include "sketch/bit_columns.h"

#include <string.h>

#include "sketch/code_groups.h"

enum { SIDE = 64 };

static size_t panels_of(size_t bits) { return (bits + CPB_PANEL_COLS - 1) / CPB_PANEL_COLS; }

cpb_bit_columns cpb_bit_columns_new(cpb_memory *memory, size_t bits, size_t rows) {
  size_t words = (rows + SIDE - 1) / SIDE, columns = cpb_code_group_count(bits) * CPB_CODE_GROUP;
  return (cpb_bit_columns){.bits = bits,
                           .codes =
                               cpb_memory_zeros(memory, words * SIDE, panels_of(bits) * sizeof(uint64_t)),
                           .groups = cpb_memory_lines(memory, columns, words * sizeof(uint64_t))};
}

/* Bit j of word i becomes bit i of word j: swaps halves, then quarters, .. */
static void transpose(uint64_t square[SIDE]) {
  uint64_t mask = 0x00000000ffffffffu;
  for (unsigned step = SIDE / 2; step > 0; step /= 2, mask ^= mask << step)
    for (unsigned i = 0; i < SIDE; i = (i + step + 1) & ~step) {
      uint64_t change = (square[i] >> step ^ square[i + step]) & mask;
      square[i] ^= change << step;
      square[i + step] ^= change;
    }
}

/* Word `word` of column i. */
static uint64_t *place_of(const cpb_bit_columns *c, size_t i, size_t word) {
  return c->groups + (i / CPB_CODE_GROUP * c->words + word) * CPB_CODE_GROUP + i % CPB_CODE_GROUP;
}

cpb_status cpb_bit_columns_fill(cpb_bit_columns *c, const cpb_sketch *sketch, cpb_view x,
                                const cpb_exec *exec, cpb_error *error) {
  size_t panels = panels_of(c->bits);
  c->rows = x.rows;
  c->words = (x.rows + SIDE - 1) / SIDE;
  memset(c->codes + x.rows * panels, 0, (c->words * SIDE - x.rows) * panels * sizeof *c->codes);
  cpb_sketch_words to = {.count = panels, .words = c->codes, .stride = panels};
  cpb_status status = cpb_sketch_encode_words(sketch, x, &to, exec, error);
  for (size_t word = 0; status == CPB_OK && word < c->words; word++)
    for (size_t panel = 0; panel < panels; panel++) {
      uint64_t square[SIDE];
      for (size_t i = 0; i < SIDE; i++) square[i] = c->codes[(word * SIDE + i) * panels + panel];
      transpose(square);
      for (size_t i = 0; i < SIDE && panel * SIDE + i < c->bits; i++)
        *place_of(c, panel * SIDE + i, word) = square[i];
    }
  return status;
}

void cpb_bit_columns_set(cpb_bit_columns *c, size_t i, const cpb_bit_columns *from) {
  for (size_t word = 0; word < c->words; word++) *place_of(c, i, word) = *place_of(from, 0, word);
}

typedef struct leaning {
  const cpb_bit_columns *columns;
  double *lean;
} leaning;

static uint64_t take(void *context, size_t group, unsigned below, const uint64_t *distances) {
  const leaning *l = context;
  (void)below; /* all columns are used */
  double n = (double)l->columns->rows;
  for (size_t k = 0; k < CPB_CODE_GROUP && group * CPB_CODE_GROUP + k < l->columns->bits; k++)
    l->lean[group * CPB_CODE_GROUP + k] = (n - 2 * (double)distances[k]) / n;
  return INT64_MAX;
}

void cpb_bit_columns_lean(const cpb_bit_columns *c, size_t i, uint64_t *column, double *lean) {
  leaning l = {c, lean};
  for (size_t word = 0; word < c->words; word++) column[word] = *place_of(c, i, word);
  cpb_loops_here()->hamming(&(cpb_hamming){.groups = cpb_code_group_count(c->bits),
                                           .words = c->words,
                                           .codes = c->groups,
                                           .query = column,
                                           .limit = INT64_MAX,
                                           .found = take,
                                           .context = &l});
}
