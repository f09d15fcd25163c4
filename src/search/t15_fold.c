#include "search/t15_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = CPB_PANEL_COLS };

/* ---- directions ---- */

/* The largest sum of |<p_i,p_j>| over j bounds the norm of P P^T. */
static bool is_contraction(const cpb_fold *fold) {
  for (size_t i = 0; i < fold->directions; i++) {
    double sum = (double)(fold->d + COLS) * 0x1p-50; /* of its own rounding */
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
      fold->panel[k * COLS + j] = directions[j * fold->d + k];
    }
}

cpb_fold *cpb_fold_new(cpb_metric metric, size_t d, size_t count, const float *directions, bool *contracts) {
  cpb_fold *fold = calloc(1, sizeof *fold);
  *contracts = true;
  if (fold == NULL) return NULL;
  *fold = (cpb_fold){.d = d, .directions = count, .columns = count + 1};
  fold->panel = cpb_memory_lines(&fold->memory, d * COLS, sizeof *fold->panel);
  fold->wide = cpb_memory_lines(&fold->memory, count * d, sizeof *fold->wide);
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

/* rho, and *error a bound of what it lacks: where size2 - seen2 is off by at most `off`. */
static double rest_of(double size2, double seen2, double off, double *error) {
  double left2 = cpb_larger(size2 - seen2, 0), rest = sqrt(left2);
  *error = off < left2 ? off / rest : sqrt(off);
  return rest;
}

typedef struct folding {
  const cpb_fold *fold;
  const double *size2;
  float *to, *error;
} folding;

/* x' is rounded to single precision, and so is its size where rows are of doubles; F changes by no more than x' does. */
static void fold_row(void *context, size_t row, uint64_t columns, const float *values) {
  const double rounding = 0x1p-22, tiny = 0x1p-140;
  folding *of = context;
  const cpb_fold *fold = of->fold;
  float *to = of->to + row * fold->columns;
  double size2 = of->size2[row], size = sqrt(size2), seen2 = 0, of_rest;
  (void)columns;
  for (size_t j = 0; j < fold->directions; j++) {
    to[j] = values[j];
    seen2 += (double)values[j] * (double)values[j];
  }
  double of_seen = fold->error * size + (double)fold->d * tiny;
  double off = of_seen * (2 * sqrt(seen2) + of_seen) + rounding * size2;
  double rest = rest_of(size2, seen2, off, &of_rest);
  to[fold->directions] = (float)rest;
  of->error[row] = (float)(1.0001 * (of_seen + of_rest + rounding * size) + tiny);
}

/* Any numbers out of range: such a row is always measured. */
static void put_out_of_range(const cpb_fold *fold, float *to, float *error) {
  memset(to, 0, fold->columns * sizeof *to);
  to[0] = 0x1p120f;
  *error = 0;
}

/* At most CPB_FOLD_ROWS. */
static void fold_some(const cpb_fold *fold, const cpb_float_filter *numbers, cpb_view rows, size_t first,
                      size_t count, cpb_fold_room *room, float *to, float *error, int *fault) {
  enum { AHEAD = 4 };
  double size2[CPB_FOLD_ROWS];
  bool in_range[CPB_FOLD_ROWS];
  float below[COLS];
  for (size_t j = 0; j < COLS; j++) below[j] = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    float *factors = room->factors + cpb_panel_at(fold->d, i, 0);
    if (first + i + AHEAD < rows.rows) cpb_fetch_row(rows, first + i + AHEAD);
    fault[i] = cpb_float_filter_numbers(numbers, rows, first + i, factors, CPB_PANEL_ROWS * CPB_PANEL_LINE,
                                        &size2[i]);
    in_range[i] = size2[i] < CPB_FLOAT_FILTER_MOST;
    for (size_t k = 0; !in_range[i] && k < fold->d; k++) room->factors[cpb_panel_at(fold->d, i, k)] = 0;
  }
  fold->rows.loops->panel(&(cpb_panel){.rows = count,
                                       .k = fold->d,
                                       .columns = fold->directions,
                                       .a = room->factors,
                                       .start = room->start,
                                       .b = fold->panel,
                                       .threshold = below,
                                       .found = fold_row,
                                       .context = &(folding){fold, size2, to, error}});
  for (size_t i = 0; i < count; i++)
    if (!in_range[i]) put_out_of_range(fold, to + i * fold->columns, &error[i]);
}

void cpb_fold_rows(const cpb_fold *fold, const cpb_float_filter *numbers, cpb_view rows, size_t first,
                   size_t count, cpb_fold_room *room, float *to, float *error, int *fault) {
  for (size_t i = 0; i < count; i += CPB_FOLD_ROWS) {
    size_t here = count - i < CPB_FOLD_ROWS ? count - i : CPB_FOLD_ROWS;
    fold_some(fold, numbers, rows, first + i, here, room, to + i * fold->columns, error + i, fault + i);
  }
}

/* ---- queries ---- */

double cpb_fold_query(const cpb_fold *fold, const cpb_float_filter *numbers, const double *query,
                      const cpb_query_scale *query_scale, double *z, double *to) {
  const cpb_loops *loops = fold->rows.loops;
  const double rounding = (double)(fold->d + COLS) * 0x1p-52;
  double seen2 = 0, of_rest;
  for (size_t k = 0; k < fold->d; k++)
    z[k] = isinf(query_scale->grain) ? 0 : cpb_float_filter_number(numbers, query, query_scale, k);
  double size2 = loops->dot(z, z, fold->d), size = sqrt(size2);
  for (size_t j = 0; j < fold->directions; j++) {
    to[j] = loops->dot(fold->wide + j * fold->d, z, fold->d);
    seen2 += to[j] * to[j];
  }
  double of_seen = rounding * sqrt((double)fold->directions) * size;
  double off = of_seen * (2 * sqrt(seen2) + of_seen) + 2 * rounding * size2;
  to[fold->directions] = rest_of(size2, seen2, off, &of_rest);
  return 1.0001 * (of_seen + of_rest + rounding * size);
}
