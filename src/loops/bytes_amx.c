/* Products of bytes for processors with AMX, which multiply tiles of 16 rows, 64 numbers and 16 columns; used by the amx table.
 * Two tiles of rows by two of columns share their loads, and rows are compared when all columns of 32 of them are complete.
 * Those found are collected: while found() runs, no tile is multiplied, and restarting takes as long as comparing many rows.
 *
 * A process must request the tile registers from the system; the result of the first request is cached. */
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/system.h"
#include "loops/table.h"

bool cpb_has_amx(void);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_amx(const cpb_panel_bytes *panel);

static bool ask_for_tiles(void) {
  enum { FEATURES = 7, TILE = 1 << 24, INT8 = 1 << 25 };
  unsigned a, b, c, d;
  if (!__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d)) return false;
  return (d & TILE) != 0 && (d & INT8) != 0 && cpb_sys_gives_tiles();
}

bool cpb_has_amx(void) {
  enum { UNKNOWN, NO, YES };
  static atomic_int known = UNKNOWN;
  int answer = atomic_load_explicit(&known, memory_order_relaxed);
  if (answer == UNKNOWN) {
    answer = ask_for_tiles() ? YES : NO;
    atomic_store_explicit(&known, answer, memory_order_relaxed);
  }
  return answer == YES;
}

enum { TILE_ROWS = 16, TILE_BYTES = 64, PAIR = 2 * TILE_ROWS, VECTORS = CPB_BYTES_COLS / 16 };
enum { LINE_WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD, PANEL_STEP = CPB_BYTES_COLS * CPB_BYTES_WORD };

typedef int32_t tile_values[CPB_BYTES_COLS];

static void configure_tiles(void) {
  struct {
    uint8_t palette, first, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shape = {.palette = 1};
  for (size_t i = 0; i < 8; i++) shape.row_bytes[i] = TILE_BYTES, shape.rows[i] = TILE_ROWS;
  /* gcc 12 takes only eight bytes of it for read, and need not store the others */
  __asm__ volatile("" : : "m"(shape));
  _tile_loadconfig(&shape);
}

/* The columns of a row whose values are above their thresholds. */
static inline uint64_t columns_above(int32_t from, const __m512i threshold[VECTORS], const int32_t *value) {
  __m512i start = _mm512_set1_epi32(from);
  __mmask16 mask[VECTORS];
#pragma GCC unroll 4
  for (size_t v = 0; v < VECTORS; v++)
    mask[v] =
        _mm512_cmpgt_epi32_mask(_mm512_add_epi32(start, _mm512_load_si512(value + 16 * v)), threshold[v]);
  return _mm512_kunpackd(_mm512_kunpackw(mask[3], mask[2]), _mm512_kunpackw(mask[1], mask[0]));
}

static inline void load_thresholds(const cpb_panel_bytes *p, __m512i threshold[VECTORS]) {
#pragma GCC unroll 4
  for (size_t v = 0; v < VECTORS; v++) threshold[v] = _mm512_loadu_si512(p->threshold + 16 * v);
}

/* The next rows are in the second-level cache: prefetched while these are compared. */
static inline void fetch_row(const cpb_panel_bytes *p, size_t row) {
  enum { NEXT_LINE = CPB_BYTES_LINE * CPB_BYTES_GROUP, MOST = 4 };
  const int8_t *a = p->a + cpb_bytes_at(p->words, row, 0);
  for (size_t word = 0, lines = 0; word < p->words && lines < MOST; word += LINE_WORDS, lines++)
    _mm_prefetch((const char *)(a + lines * NEXT_LINE), _MM_HINT_T0);
}

/* Rows whose products are complete. */
typedef struct looking {
  size_t row, at, share; /* the first, how many have been compared, and how many at a time */
  tile_values *value;
  uint64_t above[PAIR];
} looking;

static inline void look_at_some(const cpb_panel_bytes *p, looking *l, size_t count) {
  size_t end = PAIR - l->at < count ? PAIR : l->at + count;
  __m512i threshold[VECTORS];
  load_thresholds(p, threshold);
  for (; l->at < end; l->at++) {
    size_t row = l->row + l->at;
    if (row >= p->rows) break;
    if (row + 2 * PAIR < p->rows) fetch_row(p, row + 2 * PAIR);
    l->above[l->at] = columns_above(p->start[row], threshold, l->value[l->at]);
  }
}

/* Rows that have a column above its threshold, not reported yet. */
enum { FOUND = 32 };
typedef struct found_rows {
  size_t count, row[FOUND];
  uint64_t columns[FOUND];
  _Alignas(64) tile_values value[FOUND];
} found_rows;

static void report(const cpb_panel_bytes *p, found_rows *f) {
  for (size_t i = 0; i < f->count; i++) p->found(p->context, f->row[i], f->columns[i], f->value[i]);
  f->count = 0;
}

static void collect(const cpb_panel_bytes *p, looking *l, found_rows *f) {
  __m512i asked = _mm512_set1_epi64((long long)(UINT64_MAX >> (CPB_BYTES_COLS - p->columns)));
  uint32_t rows = 0;
  for (size_t i = 0; i < PAIR; i += 8) {
    __m512i above = _mm512_and_si512(asked, _mm512_loadu_si512(l->above + i));
    _mm512_storeu_si512(l->above + i, above);
    rows |= (uint32_t)_mm512_test_epi64_mask(above, above) << i;
  }
  for (; rows != 0; rows &= rows - 1) {
    size_t i = (size_t)__builtin_ctz(rows), row = l->row + i;
    __m512i start = _mm512_set1_epi32(p->start[row]);
    for (size_t v = 0; v < VECTORS; v++)
      _mm512_store_si512(f->value[f->count] + 16 * v,
                         _mm512_add_epi32(start, _mm512_load_si512(l->value[i] + 16 * v)));
    f->row[f->count] = row;
    f->columns[f->count++] = l->above[i];
    if (f->count == FOUND) report(p, f);
  }
  memset(l->above, 0, sizeof l->above);
}

/* The panel of an index is in memory: while the first rows are multiplied, the words after the next ones are prefetched. */
static inline void fetch_words(const uint8_t *b) {
  enum { AHEAD = 2 * LINE_WORDS * PANEL_STEP };
#pragma GCC unroll 4
  for (size_t word = 0; word < LINE_WORDS; word++) {
    _mm_prefetch((const char *)(b + AHEAD + word * PANEL_STEP), _MM_HINT_T0);
    _mm_prefetch((const char *)(b + AHEAD + word * PANEL_STEP + TILE_BYTES), _MM_HINT_T0);
  }
}

/* Products of 32 rows with 32 columns. Tile instructions take long; meanwhile earlier rows are compared. */
static void multiply(const cpb_panel_bytes *p, const int8_t *upper, const int8_t *lower, size_t column,
                     tile_values *value, looking *before, bool fetches) {
  enum { NEXT_LINE = CPB_BYTES_LINE * CPB_BYTES_GROUP, NEXT_PANEL = LINE_WORDS * PANEL_STEP };
  const uint8_t *b = p->b + column * CPB_BYTES_WORD;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (size_t word = 0; word < p->words; word += LINE_WORDS) {
    if (fetches) fetch_words(b);
    _tile_loadd(4, upper, CPB_BYTES_LINE);
    _tile_loadd(6, b, PANEL_STEP);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(7, b + TILE_BYTES, PANEL_STEP);
    _tile_dpbsud(1, 4, 7);
    _tile_loadd(5, lower, CPB_BYTES_LINE);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
    look_at_some(p, before, before->share);
    upper += NEXT_LINE, lower += NEXT_LINE, b += NEXT_PANEL;
  }
  _tile_stored(0, value[0] + column, sizeof *value);
  _tile_stored(1, value[0] + column + 16, sizeof *value);
  _tile_stored(2, value[TILE_ROWS] + column, sizeof *value);
  _tile_stored(3, value[TILE_ROWS] + column + 16, sizeof *value);
}

static void multiply_rows(const cpb_panel_bytes *p, size_t row, tile_values *value, looking *before,
                          found_rows *found) {
  const int8_t *upper = p->a + cpb_bytes_at(p->words, row, 0), *lower = upper;
  if (row + TILE_ROWS < p->rows) lower = p->a + cpb_bytes_at(p->words, row + TILE_ROWS, 0);
  for (size_t column = 0; column < p->columns; column += 2 * TILE_ROWS)
    multiply(p, upper, lower, column, value, before, row == 0);
  look_at_some(p, before, PAIR);
  collect(p, before, found);
}

/* As many rows at a time that all have been compared when the last line is multiplied. */
static size_t share_of(const cpb_panel_bytes *p) {
  size_t lines = (p->words + LINE_WORDS - 1) / LINE_WORDS, halves = 1 + (p->columns > 2 * TILE_ROWS);
  return PAIR / (lines * halves) + 1;
}

/* Tiles suit long rows: a line of 64 numbers takes the same time however many of them are used. */
void cpb_panel_bytes_amx(const cpb_panel_bytes *p) {
  enum { SHORT = LINE_WORDS / 2 };
  _Alignas(64) tile_values value[2][PAIR];
  if (p->columns == 0 || p->rows == 0) return;
  if (p->words <= SHORT) {
    cpb_panel_bytes_vnni(p);
    return;
  }
  if (p->columns <= 2 * TILE_ROWS) memset(value, 0, sizeof value);
  configure_tiles();
  found_rows found;
  found.count = 0;
  looking before = {.at = PAIR, .share = share_of(p)};
  for (size_t row = 0, turn = 0; row < p->rows; row += PAIR, turn = 1 - turn) {
    multiply_rows(p, row, value[turn], &before, &found);
    before.row = row, before.at = 0, before.value = value[turn];
  }
  look_at_some(p, &before, PAIR);
  collect(p, &before, &found);
  _tile_release();
  report(p, &found);
}
