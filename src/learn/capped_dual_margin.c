/* Feasible multipliers that are optimal over the rows near the edge, and at least as good as the hull's. Where
 * many rows are almost equally far from every plausible centre, as on a sphere, the iteration would otherwise have
 * to visit fillings one at a time. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/margin.h"
#include "learn/capped_dual_parts.h"

typedef cpb_capped_solver solver;

typedef struct margin_rows {
  size_t count, first;
  size_t *row;
  double *p, *norm2, *cap, *before, *weight; /* before: those of the hull */
  double *fixed, *point;
} margin_rows;

static void margin_free(margin_rows *margin) {
  free(margin->row);
  free(margin->p);
}

static cpb_status margin_alloc(margin_rows *margin, size_t count, size_t d) {
  *margin = (margin_rows){.count = count};
  margin->row = malloc(count * sizeof *margin->row);
  margin->p = calloc((count + 2) * d + 4 * count, sizeof *margin->p);
  if (margin->row == NULL || margin->p == NULL) return CPB_ENOMEM;
  margin->norm2 = margin->p + (count + 2) * d;
  margin->cap = margin->norm2 + count;
  margin->before = margin->cap + count;
  margin->weight = margin->before + count;
  margin->fixed = margin->p + count * d;
  margin->point = margin->fixed + d;
  return CPB_OK;
}

/* ---- the hull's multipliers, and the undecided rows ---- */

/* Of all rows; the bits mark those that are full in every filling of the hull. */
typedef struct mixture {
  double *a;
  uint64_t *bits;
} mixture;

static cpb_status mixture_init(mixture *mix, const solver *s) {
  size_t n = s->dual->x.rows, words = (n + 63) / 64;
  mix->a = malloc(n * sizeof *mix->a);
  mix->bits = malloc(words * sizeof *mix->bits);
  if (mix->a == NULL || mix->bits == NULL) return CPB_ENOMEM;
  cpb_capped_multipliers(s, mix->a);
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
  size_t name = cpb_capped_name(s, i);
  double above = s->score[i] - s->now.edge_score;
  if (has_bit(mix->bits, name)) return -above;
  return mix->a[name] > 0 ? INFINITY : above;
}

static int by_row(const void *a, const void *b) {
  size_t x = ((const cpb_scored *)a)->row, y = ((const cpb_scored *)b)->row;
  return (x > y) - (x < y);
}

/* Moves the rows of the margin to the front of the candidates, in order; returns how many. */
static size_t choose_rows(solver *s, const mixture *mix) {
  size_t found = 0, in_part = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (!(s->score[i] > -INFINITY)) continue;
    double key = urgency(s, mix, i);
    in_part += key == INFINITY;
    s->candidates[found++] = (cpb_scored){key, i};
  }
  size_t most = s->margin_rows + (in_part < CPB_MARGIN_MOST ? in_part : CPB_MARGIN_MOST);
  size_t count = found < most ? found : most;
  cpb_scored_select(s->candidates, found, count);
  qsort(s->candidates, count, sizeof *s->candidates, by_row);
  return count;
}

static void copy_rows(const solver *s, const mixture *mix, margin_rows *margin) {
  for (size_t k = 0; k < margin->count; k++) {
    size_t i = s->candidates[k].row;
    double *p = margin->p + k * s->d;
    cpb_capped_add_row(s, i, 1, p);
    margin->row[k] = i;
    margin->norm2[k] = s->dual->loops->dot(p, p, s->d);
    margin->cap[k] = cpb_capped_cap(s, i);
    margin->before[k] = fmin(mix->a[cpb_capped_name(s, i)], margin->cap[k]);
  }
}

/* The start: the margin's weight on its rows with the highest scores. */
static void fill_margin(const solver *s, margin_rows *margin, double weight) {
  cpb_scored *order = s->candidates;
  for (size_t k = 0; k < margin->count; k++) order[k] = (cpb_scored){s->score[margin->row[k]], k};
  qsort(order, margin->count, sizeof *order, cpb_scored_compare);
  for (size_t k = 0; k < margin->count; k++) {
    double part = fmin(fmax(weight, 0), margin->cap[order[k].row]);
    if (part > 0) margin->first = order[k].row;
    margin->weight[order[k].row] = part;
    weight -= part;
  }
}

/* The part of the hull outside the margin. */
static cpb_hull_full rest_of_hull(const solver *s, const margin_rows *margin, double height) {
  cpb_hull_full fixed = {.point = margin->fixed, .height = height, .weight = 1};
  memcpy(margin->fixed, s->hull.point, s->d * sizeof *margin->fixed);
  for (size_t k = 0; k < margin->count; k++) {
    if (margin->before[k] == 0) continue;
    fixed.weight -= margin->before[k];
    fixed.height -= margin->before[k] * margin->norm2[k];
    s->dual->loops->axpby(-margin->before[k], margin->p + k * s->d, 1, fixed.point, fixed.point, s->d);
  }
  return fixed;
}

/* ---- the column ---- */

/* The hull's point and height with the changes of the margin; `size` is such that rounding errors, including a sum
 * of multipliers that is no longer exactly 1, are within unit_error times it. */
static void change_column(solver *s, const margin_rows *margin, double hull_height, cpb_margin_column *to) {
  cpb_twofold height = {hull_height, 0}, sum = {0, 0};
  double size = 0, changed = 8;
  memcpy(to->p, s->hull.point, s->d * sizeof *to->p);
  for (size_t k = 0; k < margin->count; k++) {
    double change = margin->weight[k] - margin->before[k];
    if (change == 0) continue;
    cpb_twofold_add(&sum, change);
    cpb_twofold_add(&height, change * margin->norm2[k]);
    s->dual->loops->axpby(change, margin->p + k * s->d, 1, to->p, to->p, s->d);
    size += fabs(change) * margin->norm2[k];
    changed++;
  }
  to->q = cpb_twofold_value(height);
  double error = fabs(cpb_twofold_value(sum)) * to->q +
                 DBL_EPSILON * (changed + 4 * (double)s->hull.count) * (size + to->q);
  to->size = s->doubt / (2 * s->unit_error) + size + error / s->unit_error;
}

static cpb_status write_rows(const solver *s, const margin_rows *margin, mixture *mix, cpb_filling *made) {
  size_t n = s->dual->x.rows, count = 0;
  for (size_t k = 0; k < margin->count; k++) {
    size_t name = cpb_capped_name(s, margin->row[k]);
    mix->bits[name / 64] &= ~((uint64_t)1 << name % 64);
    mix->a[name] = margin->weight[k];
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

static cpb_status solve_margin(solver *s, margin_rows *margin, double height) {
  cpb_margin problem = {.loops = s->dual->loops,
                        .d = s->d,
                        .count = margin->count,
                        .rows = margin->p,
                        .cap = margin->cap,
                        .fixed = rest_of_hull(s, margin, height),
                        .tolerance = fmax(s->dual->gap / 16, 0x1p-50),
                        .weight = margin->weight,
                        .point = margin->point};
  fill_margin(s, margin, 1 - problem.fixed.weight);
  problem.first = margin->first;
  cpb_status status = cpb_margin_solve(&problem);
  for (size_t k = 0; k < margin->count; k++) margin->weight[k] = fmin(margin->weight[k], margin->cap[k]);
  return status;
}

cpb_status cpb_capped_improve(solver *s, cpb_filling *made, cpb_margin_column *column) {
  margin_rows margin = {0};
  mixture mix = {0};
  double height = 0;
  *made = (cpb_filling){0};
  cpb_status status = mixture_init(&mix, s);
  if (status == CPB_OK) status = margin_alloc(&margin, choose_rows(s, &mix), s->d);
  for (size_t k = 0; k < s->hull.count; k++) height += s->hull.weight[k] * s->hull.q[k];
  if (status == CPB_OK) {
    copy_rows(s, &mix, &margin);
    status = solve_margin(s, &margin, height);
  }
  if (status == CPB_OK) {
    change_column(s, &margin, height, column);
    status = write_rows(s, &margin, &mix, made);
  }
  margin_free(&margin);
  mixture_free(&mix);
  return status;
}
