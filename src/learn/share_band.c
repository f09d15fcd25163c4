/* Feasible multipliers that are the best over the rows about the edge, and at least as good as the hull's.
 * Where many rows are almost equally far from every centre in sight, as on a sphere, fillings alone would
 * have to be met one by one. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/band.h"
#include "learn/share_solver.h"

typedef cpb_share_solver solver;

typedef struct band_rows {
  size_t count, first;
  size_t *row;
  double *p, *norm2, *cap, *before, *weight; /* before: of the hull */
  double *fixed, *point;
} band_rows;

static void band_free(band_rows *band) {
  free(band->row);
  free(band->p);
}

static cpb_status band_alloc(band_rows *band, size_t count, size_t d) {
  *band = (band_rows){.count = count};
  band->row = malloc(count * sizeof *band->row);
  band->p = calloc((count + 2) * d + 4 * count, sizeof *band->p);
  if (band->row == NULL || band->p == NULL) return CPB_ENOMEM;
  band->norm2 = band->p + (count + 2) * d;
  band->cap = band->norm2 + count;
  band->before = band->cap + count;
  band->weight = band->before + count;
  band->fixed = band->p + count * d;
  band->point = band->fixed + d;
  return CPB_OK;
}

/* ---- the hull's multipliers, and the rows in question about them ---- */

/* Of all rows, and in bits those that are full in every filling of the hull. */
typedef struct mixture {
  double *a;
  uint64_t *bits;
} mixture;

static cpb_status mixture_init(mixture *mix, const solver *s) {
  size_t n = s->share->x.rows, words = (n + 63) / 64;
  mix->a = malloc(n * sizeof *mix->a);
  mix->bits = malloc(words * sizeof *mix->bits);
  if (mix->a == NULL || mix->bits == NULL) return CPB_ENOMEM;
  cpb_share_multipliers(s, mix->a);
  memset(mix->bits, 0xff, words * sizeof *mix->bits);
  for (size_t f = 0; f < s->filling_count; f++)
    for (size_t w = 0; w < words; w++) mix->bits[w] &= s->fillings[f].bits[w];
  return CPB_OK;
}

static void mixture_free(mixture *mix) {
  free(mix->a);
  free(mix->bits);
}

static bool has_bit(const uint64_t *bits, size_t i) { return bits[i / 64] >> i % 64 & 1; }

/* Rows in part first, then those on the wrong side of the edge, the worst first, then the nearest to it. */
static double urgency(const solver *s, const mixture *mix, size_t i) {
  size_t name = cpb_share_name(s, i);
  double above = s->score[i] - s->now.edge_score;
  if (has_bit(mix->bits, name)) return -above;
  return mix->a[name] > 0 ? INFINITY : above;
}

static int by_row(const void *a, const void *b) {
  size_t x = ((const cpb_scored *)a)->row, y = ((const cpb_scored *)b)->row;
  return (x > y) - (x < y);
}

/* The rows of the band to the front of the candidates, in order; returns how many. */
static size_t choose_rows(solver *s, const mixture *mix) {
  size_t found = 0, in_part = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (!(s->score[i] > -INFINITY)) continue;
    double key = urgency(s, mix, i);
    in_part += key == INFINITY;
    s->candidates[found++] = (cpb_scored){key, i};
  }
  size_t most = s->band_rows + (in_part < CPB_BAND_MOST ? in_part : CPB_BAND_MOST);
  size_t count = found < most ? found : most;
  cpb_scored_select(s->candidates, found, count);
  qsort(s->candidates, count, sizeof *s->candidates, by_row);
  return count;
}

static void copy_rows(const solver *s, const mixture *mix, band_rows *band) {
  for (size_t k = 0; k < band->count; k++) {
    size_t i = s->candidates[k].row;
    double *p = band->p + k * s->d;
    cpb_share_add_row(s, i, 1, p);
    band->row[k] = i;
    band->norm2[k] = s->share->loops->dot(p, p, s->d);
    band->cap[k] = cpb_share_cap(s, i);
    band->before[k] = fmin(mix->a[cpb_share_name(s, i)], band->cap[k]);
  }
}

/* The start: the band's weight on its rows with the highest scores. */
static void fill_band(const solver *s, band_rows *band, double weight) {
  cpb_scored *order = s->candidates;
  for (size_t k = 0; k < band->count; k++) order[k] = (cpb_scored){s->score[band->row[k]], k};
  qsort(order, band->count, sizeof *order, cpb_scored_compare);
  for (size_t k = 0; k < band->count; k++) {
    double part = fmin(fmax(weight, 0), band->cap[order[k].row]);
    if (part > 0) band->first = order[k].row;
    band->weight[order[k].row] = part;
    weight -= part;
  }
}

/* What the hull has outside the band. */
static cpb_hull_full rest_of_hull(const solver *s, const band_rows *band, double height) {
  cpb_hull_full fixed = {.point = band->fixed, .height = height, .weight = 1};
  memcpy(band->fixed, s->hull.point, s->d * sizeof *band->fixed);
  for (size_t k = 0; k < band->count; k++) {
    if (band->before[k] == 0) continue;
    fixed.weight -= band->before[k];
    fixed.height -= band->before[k] * band->norm2[k];
    s->share->loops->axpby(-band->before[k], band->p + k * s->d, 1, fixed.point, fixed.point, s->d);
  }
  return fixed;
}

/* ---- the column ---- */

/* The hull's point and height with the changes of the band; `size` so that rounding, and the sum of all
 * multipliers, which is no longer 1 to the last bit, are within unit_error of it. */
static void change_column(solver *s, const band_rows *band, double hull_height, cpb_band_column *to) {
  cpb_twofold height = {hull_height, 0}, sum = {0, 0};
  double size = 0, changed = 8;
  memcpy(to->p, s->hull.point, s->d * sizeof *to->p);
  for (size_t k = 0; k < band->count; k++) {
    double change = band->weight[k] - band->before[k];
    if (change == 0) continue;
    cpb_twofold_add(&sum, change);
    cpb_twofold_add(&height, change * band->norm2[k]);
    s->share->loops->axpby(change, band->p + k * s->d, 1, to->p, to->p, s->d);
    size += fabs(change) * band->norm2[k];
    changed++;
  }
  to->q = cpb_twofold_value(height);
  double error = fabs(cpb_twofold_value(sum)) * to->q +
                 DBL_EPSILON * (changed + 4 * (double)s->hull.count) * (size + to->q);
  to->size = s->doubt / (2 * s->unit_error) + size + error / s->unit_error;
}

static cpb_status write_rows(const solver *s, const band_rows *band, mixture *mix, cpb_filling *made) {
  size_t n = s->share->x.rows, count = 0;
  for (size_t k = 0; k < band->count; k++) {
    size_t name = cpb_share_name(s, band->row[k]);
    mix->bits[name / 64] &= ~((uint64_t)1 << name % 64);
    mix->a[name] = band->weight[k];
  }
  for (size_t i = 0; i < n; i++) count += mix->a[i] > 0 && !has_bit(mix->bits, i);
  made->parts = malloc((count + 1) * sizeof *made->parts);
  if (made->parts == NULL) return CPB_ENOMEM;
  for (size_t i = 0; i < n; i++)
    if (mix->a[i] > 0 && !has_bit(mix->bits, i)) made->parts[made->part_count++] = (cpb_scored){mix->a[i], i};
  made->bits = mix->bits;
  mix->bits = NULL;
  return CPB_OK;
}

static cpb_status solve_band(solver *s, band_rows *band, double height) {
  cpb_band problem = {.loops = s->share->loops,
                      .d = s->d,
                      .count = band->count,
                      .rows = band->p,
                      .cap = band->cap,
                      .fixed = rest_of_hull(s, band, height),
                      .tolerance = fmax(s->share->gap / 16, 0x1p-50),
                      .weight = band->weight,
                      .point = band->point};
  fill_band(s, band, 1 - problem.fixed.weight);
  problem.first = band->first;
  cpb_status status = cpb_band_solve(&problem);
  for (size_t k = 0; k < band->count; k++) band->weight[k] = fmin(band->weight[k], band->cap[k]);
  return status;
}

cpb_status cpb_share_improve(solver *s, cpb_filling *made, cpb_band_column *column) {
  band_rows band = {0};
  mixture mix = {0};
  double height = 0;
  *made = (cpb_filling){0};
  cpb_status status = mixture_init(&mix, s);
  if (status == CPB_OK) status = band_alloc(&band, choose_rows(s, &mix), s->d);
  for (size_t k = 0; k < s->hull.count; k++) height += s->hull.weight[k] * s->hull.q[k];
  if (status == CPB_OK) {
    copy_rows(s, &mix, &band);
    status = solve_band(s, &band, height);
  }
  if (status == CPB_OK) {
    change_column(s, &band, height, column);
    status = write_rows(s, &band, &mix, made);
  }
  band_free(&band);
  mixture_free(&mix);
  return status;
}
