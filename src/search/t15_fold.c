#include "search/t15_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = CPB_PANEL_COLS };

/* ---- levels ---- */

size_t cpb_fold_levels_count(const cpb_fold_levels *levels) {
  size_t count = 0;
  while (count < CPB_FOLD_LEVELS && levels->directions[count] > 0) count++;
  return count;
}

bool cpb_fold_levels_fit(const cpb_fold_levels *levels, size_t d) {
  size_t count = cpb_fold_levels_count(levels), before = 0;
  if (count > 0 && levels->directions[0] > CPB_FOLD_FIRST) return false;
  for (size_t i = 0; i < CPB_FOLD_LEVELS; i++) {
    size_t here = levels->directions[i];
    if (i < count ? here <= before || here > CPB_FOLD_MOST || here > d : here != 0) return false;
    before = here;
  }
  return count == 0 || levels->directions[0] < d;
}

/* ---- directions ---- */

/* The largest sum of |<p_i,p_j>| over j bounds the norm of P P^T. */
static bool is_contraction(const cpb_fold *fold) {
  for (size_t i = 0; i < fold->directions; i++) {
    double sum = (double)(fold->d + CPB_FOLD_MOST) * 0x1p-50; /* of its own rounding */
    for (size_t j = 0; j < fold->directions; j++)
      sum += fabs(fold->rows.loops->dot(fold->wide + i * fold->d, fold->wide + j * fold->d, fold->d));
    if (!(sum <= 1)) return false;
  }
  return true;
}

/* |P|_F <= sqrt(directions): a chain of d fused terms for each direction. */
static double product_error(const cpb_fold *fold) {
  return 1.01 * (double)fold->d * 0x1p-24 * sqrt((double)fold->directions);
}

static void set_directions(cpb_fold *fold, const float *directions) {
  for (size_t j = 0; j < fold->directions; j++)
    for (size_t k = 0; k < fold->d; k++) {
      fold->wide[j * fold->d + k] = (double)directions[j * fold->d + k];
      fold->panels[(j / COLS * fold->d + k) * COLS + j % COLS] = directions[j * fold->d + k];
    }
}

static void set_levels(cpb_fold *fold, size_t d, const cpb_fold_levels *levels) {
  fold->d = d;
  fold->levels = cpb_fold_levels_count(levels);
  memcpy(fold->end, levels->directions, sizeof fold->end);
  fold->directions = fold->end[fold->levels - 1];
  fold->columns = fold->end[0] + 1;
  fold->numbers = fold->directions + fold->levels;
}

cpb_fold *cpb_fold_new(cpb_metric metric, size_t d, const cpb_fold_levels *levels, const float *directions,
                       bool *contracts) {
  cpb_fold *fold = calloc(1, sizeof *fold);
  *contracts = true;
  if (fold == NULL) return NULL;
  set_levels(fold, d, levels);
  size_t panels = (fold->directions + COLS - 1) / COLS;
  fold->panels = cpb_memory_lines(&fold->memory, panels * d * COLS, sizeof *fold->panels);
  fold->wide = cpb_memory_lines(&fold->memory, fold->directions * d, sizeof *fold->wide);
  double *zeros = cpb_memory_lines(&fold->memory, COLS, sizeof *zeros);
  float *float_zeros = cpb_memory_lines(&fold->memory, COLS, sizeof *float_zeros);
  if (!fold->memory.failed) {
    cpb_float_filter_set(&fold->rows, metric == CPB_IP ? CPB_IP : CPB_L2, fold->columns, 0, zeros,
                         float_zeros);
    fold->error = product_error(fold);
    set_directions(fold, directions);
    *contracts = is_contraction(fold);
    if (*contracts) return fold;
  }
  cpb_fold_free(fold);
  return NULL;
}

void cpb_fold_free(cpb_fold *fold) {
  if (fold == NULL) return;
  cpb_memory_free(&fold->memory);
  free(fold);
}

/* ---- rows ---- */

bool cpb_fold_room_new(cpb_fold_room *room, size_t d) {
  room->factors = cpb_memory_lines(&room->memory, CPB_FOLD_ROWS / CPB_PANEL_ROWS * cpb_panel_group(d),
                                   sizeof *room->factors);
  room->start = cpb_memory_lines(&room->memory, CPB_FOLD_ROWS, sizeof *room->start);
  return !room->memory.failed;
}

/* Rows whose factors are in the room, and where their numbers go. */
typedef struct folding {
  const cpb_fold *fold;
  size_t panel;
  float *to;
} folding;

/* Columns of a panel go to their levels, each of which has one number, rho, more. */
static void take_products(void *context, size_t row, uint64_t columns, const float *values) {
  const folding *of = context;
  const cpb_fold *fold = of->fold;
  float *to = of->to + row * fold->numbers;
  size_t first = of->panel * COLS, end = first + COLS;
  (void)columns;
  end = end < fold->directions ? end : fold->directions;
  for (size_t level = 0, j = first; j < end; level++)
    for (; j < end && j < fold->end[level]; j++) to[j + level] = values[j - first];
}

static void multiply(const cpb_fold *fold, const cpb_fold_room *room, size_t count, float *to) {
  float below[COLS];
  for (size_t j = 0; j < COLS; j++) below[j] = -INFINITY;
  for (size_t panel = 0; panel * COLS < fold->directions; panel++) {
    size_t left = fold->directions - panel * COLS;
    fold->rows.loops->panel(&(cpb_panel){.rows = count,
                                         .k = fold->d,
                                         .columns = left < COLS ? left : COLS,
                                         .a = room->factors,
                                         .start = room->start,
                                         .b = fold->panels + panel * fold->d * COLS,
                                         .threshold = below,
                                         .found = take_products,
                                         .context = &(folding){fold, panel, to}});
  }
}

/* rho, and *error a bound of what it lacks: where size2 - seen2 is off by at most `off`. */
static double rest_of(double size2, double seen2, double off, double *error) {
  double left2 = cpb_larger(size2 - seen2, 0), rest = sqrt(left2);
  *error = off < left2 ? off / rest : sqrt(off);
  return rest;
}

/* x' is rounded to single precision, and so is its size where rows are of doubles; F changes by no more than x' does. */
static void find_rests(const cpb_fold *fold, double size2, float *to, float *error) {
  const double rounding = 0x1p-22, tiny = 0x1p-140;
  double size = sqrt(size2), seen2 = 0, of_seen = fold->error * size + (double)fold->d * tiny;
  for (size_t level = 0; level < fold->levels; level++) {
    size_t first = cpb_fold_first(fold, level), count = cpb_fold_count(fold, level);
    double of_rest;
    for (size_t j = first; j < first + count; j++) seen2 += (double)to[j] * (double)to[j];
    double off = of_seen * (2 * sqrt(seen2) + of_seen) + rounding * size2;
    to[first + count] = (float)rest_of(size2, seen2, off, &of_rest);
    error[level] = (float)(1.0001 * (of_seen + of_rest + rounding * size) + tiny);
  }
}

/* Any numbers out of range: such a row is always measured. */
static void put_out_of_range(const cpb_fold *fold, float *to, float *error) {
  memset(to, 0, fold->numbers * sizeof *to);
  memset(error, 0, fold->levels * sizeof *error);
  to[0] = 0x1p120f;
}

/* At most CPB_FOLD_ROWS. */
static void fold_some(const cpb_fold *fold, const cpb_float_filter *numbers, cpb_view rows, size_t first,
                      size_t count, cpb_fold_room *room, float *to, float *error, int *fault) {
  enum { AHEAD = 4 };
  double size2[CPB_FOLD_ROWS];
  for (size_t i = 0; i < count; i++) {
    float *factors = room->factors + cpb_panel_at(fold->d, i, 0);
    if (first + i + AHEAD < rows.rows) cpb_fetch_row(rows, first + i + AHEAD);
    fault[i] = cpb_float_filter_numbers(numbers, rows, first + i, factors, CPB_PANEL_ROWS * CPB_PANEL_LINE,
                                        &size2[i]);
    bool in_range = size2[i] < CPB_FLOAT_FILTER_MOST;
    for (size_t k = 0; !in_range && k < fold->d; k++) room->factors[cpb_panel_at(fold->d, i, k)] = 0;
  }
  multiply(fold, room, count, to);
  for (size_t i = 0; i < count; i++) {
    if (size2[i] < CPB_FLOAT_FILTER_MOST)
      find_rests(fold, size2[i], to + i * fold->numbers, error + i * fold->levels);
    else
      put_out_of_range(fold, to + i * fold->numbers, error + i * fold->levels);
  }
}

void cpb_fold_rows(const cpb_fold *fold, const cpb_float_filter *numbers, cpb_view rows, size_t first,
                   size_t count, cpb_fold_room *room, float *to, float *error, int *fault) {
  for (size_t i = 0; i < count; i += CPB_FOLD_ROWS) {
    size_t here = count - i < CPB_FOLD_ROWS ? count - i : CPB_FOLD_ROWS;
    fold_some(fold, numbers, rows, first + i, here, room, to + i * fold->numbers, error + i * fold->levels,
              fault + i);
  }
}

/* ---- queries ---- */

/* Numbers of a query that is out of range are taken as 0. */
void cpb_fold_query(const cpb_fold *fold, const cpb_float_filter *numbers, const double *query,
                    const cpb_query_scale *query_scale, cpb_fold_room *room, float *to, float *error) {
  double size2 = 0;
  for (size_t k = 0; k < fold->d; k++) {
    double z = isinf(query_scale->grain) ? 0 : cpb_float_filter_number(numbers, query, query_scale, k);
    room->factors[cpb_panel_at(fold->d, 0, k)] = (float)z;
    size2 += z * z;
  }
  multiply(fold, room, 1, to);
  find_rests(fold, size2, to, error);
}
