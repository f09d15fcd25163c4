#include "ball/hull.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/memory.h"

/* A column nearer to the span of the others than this share of its length is exchanged for one of them. */
static const double DEPENDENT = 1e-9;

enum { REFINEMENTS = 3 };

cpb_status cpb_hull_init(cpb_hull *hull, const cpb_loops *loops, size_t dim, double unit) {
  *hull = (cpb_hull){.loops = loops, .dim = dim, .unit = unit};
  hull->point = calloc(dim, sizeof *hull->point);
  return hull->point == NULL ? CPB_ENOMEM : CPB_OK;
}

void cpb_hull_free(cpb_hull *hull) {
  free(hull->p);
  free(hull->column);
  free(hull->point);
  free(hull->basis);
  free(hull->triangle);
  free(hull->scratch);
  *hull = (cpb_hull){0};
}

cpb_status cpb_hull_reserve(cpb_hull *hull, size_t count) {
  if (count + 1 < hull->room) return CPB_OK;
  size_t twice = 2 * hull->room + 8, room = twice > count + 1 ? twice : count + 2;
  double *triangle = calloc(room, room * sizeof *triangle);
  if (triangle == NULL || !cpb_resize(&hull->column, room, sizeof *hull->column) ||
      !cpb_resize(&hull->p, room * hull->dim, sizeof *hull->p) ||
      !cpb_resize(&hull->basis, room * (hull->dim + 1), sizeof *hull->basis) ||
      !cpb_resize(&hull->scratch, hull->dim + 1 + 2 * room, sizeof *hull->scratch)) {
    free(triangle);
    return CPB_ENOMEM;
  }
  for (size_t k = 0; k < hull->count; k++)
    memcpy(triangle + k * room, hull->triangle + k * hull->room, (k + 1) * sizeof *triangle);
  free(hull->triangle);
  hull->triangle = triangle;
  hull->room = room;
  return CPB_OK;
}

static double *p_of(const cpb_hull *hull, size_t k) { return hull->p + k * hull->dim; }
static double *basis_at(const cpb_hull *hull, size_t k) { return hull->basis + k * (hull->dim + 1); }
static double *triangle_at(const cpb_hull *hull, size_t k) { return hull->triangle + k * hull->room; }
static double *residual_of(const cpb_hull *hull) { return hull->scratch; }
static double *vector_at(const cpb_hull *hull, size_t i) {
  return hull->scratch + hull->dim + 1 + i * hull->room;
}

/* x <- R^-1 x */
static void solve_upper(const cpb_hull *hull, double *x) {
  for (size_t k = hull->count; k-- > 0;) {
    const double *column = triangle_at(hull, k);
    x[k] /= column[k];
    hull->loops->axpby(-x[k], column, 1, x, x, k);
  }
}

/* x <- R^-T x */
static void solve_lower(const cpb_hull *hull, double *x) {
  for (size_t k = 0; k < hull->count; k++) {
    const double *column = triangle_at(hull, k);
    x[k] = (x[k] - hull->loops->dot(column, x, k)) / column[k];
  }
}

/* (unit,p) = sum_k coefficient_k basis_k + residual, by Gram-Schmidt, repeated unless most was left the first
 * time. True when the residual is large enough to be a new direction; its length is *rest. */
static bool project(const cpb_hull *hull, const double *p, double *coefficient, double *rest) {
  size_t length = hull->dim + 1;
  double *residual = residual_of(hull);
  residual[0] = hull->unit;
  memcpy(residual + 1, p, hull->dim * sizeof *p);
  double whole = sqrt(hull->loops->dot(residual, residual, length));
  memset(coefficient, 0, hull->count * sizeof *coefficient);
  *rest = 0;
  for (int round = 0; round < 2 && !(*rest > whole / 2); round++) {
    for (size_t k = 0; k < hull->count; k++) {
      double part = hull->loops->dot(basis_at(hull, k), residual, length);
      coefficient[k] += part;
      hull->loops->axpby(-part, basis_at(hull, k), 1, residual, residual, length);
    }
    *rest = sqrt(hull->loops->dot(residual, residual, length));
  }
  return hull->count<length && * rest> DEPENDENT * whole;
}

static void append(cpb_hull *hull, const double *p, cpb_hull_column column, const double *coefficient,
                   double rest) {
  size_t k = hull->count++;
  memcpy(p_of(hull, k), p, hull->dim * sizeof *p);
  hull->column[k] = column;
  memcpy(triangle_at(hull, k), coefficient, k * sizeof *coefficient);
  triangle_at(hull, k)[k] = rest;
  const double *residual = residual_of(hull);
  for (size_t j = 0; j <= hull->dim; j++) basis_at(hull, k)[j] = residual[j] / rest;
}

/* Applies the rotation (c, s) to rows x, y of the basis. */
static void rotate(double *x, double *y, double c, double s, size_t n) {
  for (size_t j = 0; j < n; j++) {
    double first = c * x[j] + s * y[j];
    y[j] = c * y[j] - s * x[j];
    x[j] = first;
  }
}

/* Removes column k; the matrix, which then has one extra diagonal, is rotated back to a triangle. */
static void drop(cpb_hull *hull, size_t k) {
  size_t last = --hull->count;
  for (size_t j = k; j < last; j++) {
    memcpy(p_of(hull, j), p_of(hull, j + 1), hull->dim * sizeof *hull->p);
    hull->column[j] = hull->column[j + 1];
    memcpy(triangle_at(hull, j), triangle_at(hull, j + 1), (j + 2) * sizeof *hull->triangle);
  }
  for (size_t i = k; i < last; i++) {
    double *column = triangle_at(hull, i), length = cpb_hypot(column[i], column[i + 1]);
    double c = column[i] / length, s = column[i + 1] / length;
    for (size_t j = i; j < last; j++) rotate(triangle_at(hull, j) + i, triangle_at(hull, j) + i + 1, c, s, 1);
    rotate(basis_at(hull, i), basis_at(hull, i + 1), c, s, hull->dim + 1);
  }
}

/* Adds a column's cap to the sums of the full ones (sign 1) or removes it (-1). */
static void move_to_full(cpb_hull *hull, const double *p, cpb_hull_column column, int sign) {
  double cap = sign * column.cap;
  hull->full.weight += cap;
  hull->full.height += cap * column.q;
  hull->loops->axpby(cap, p, 1, hull->full.point, hull->full.point, hull->dim);
}

/* A column became full, or empty. */
static void report_left(cpb_hull *hull, const double *p, cpb_hull_column column, bool full) {
  if (full) move_to_full(hull, p, column, 1);
  if (hull->left != NULL) hull->left(hull->context, column.tag, full);
}

static void leave(cpb_hull *hull, size_t k, bool full) {
  report_left(hull, p_of(hull, k), hull->column[k], full);
  drop(hull, k);
}

static void settle(cpb_hull *hull) {
  double sum = 0, height = hull->full.height, share = 1 - hull->full.weight;
  for (size_t k = 0; k < hull->count; k++) sum += hull->column[k].weight;
  if (hull->full.point == NULL)
    memset(hull->point, 0, hull->dim * sizeof *hull->point);
  else
    memcpy(hull->point, hull->full.point, hull->dim * sizeof *hull->point);
  for (size_t k = 0; k < hull->count; k++) {
    if (sum > 0) hull->column[k].weight = hull->column[k].weight / sum * share;
    height += hull->column[k].weight * hull->column[k].q;
    hull->loops->axpby(hull->column[k].weight, p_of(hull, k), 1, hull->point, hull->point, hull->dim);
  }
  hull->value = height - hull->loops->dot(hull->point, hull->point, hull->dim);
}

double cpb_hull_lower(const cpb_hull *hull) {
  double sum = hull->full.height, u = DBL_EPSILON / 2;
  for (size_t k = 0; k < hull->count; k++) sum += hull->column[k].weight * hull->column[k].q;
  double chain = 4 * (double)hull->count + 8 * (40 + (double)(hull->dim / CPB_CHUNK));
  return hull->value - chain * u * sum;
}

double cpb_hull_proven(const cpb_hull *hull, double rounding_bound, double unit_error, uint64_t rows) {
  double sum = hull->value + hull->loops->dot(hull->point, hull->point, hull->dim);
  double lower = cpb_hull_lower(hull) - rounding_bound - 4 * unit_error * sum;
  double underflow = DBL_MIN * (double)(rows + hull->dim); /* squares too small to be normal */
  return lower * (1 - unit_error) - underflow;
}

double cpb_sum_error(size_t d, size_t blocks) {
  double chain = 2 * (64 + (double)(d / CPB_CHUNK)) + 160 + (double)blocks;
  return chain * DBL_EPSILON / 2;
}

/* Gains: first-order growth of the form if weight moved to a column, 0 for all at the optimum; with full columns
 * present they are equal there, and are taken relative to their mean. */
static double gains_about_mean(const cpb_hull *hull, double *gain) {
  double norm2 = hull->loops->dot(hull->point, hull->point, hull->dim), mean = 0, largest = 0;
  for (size_t k = 0; k < hull->count; k++) {
    double along = hull->loops->dot(p_of(hull, k), hull->point, hull->dim);
    gain[k] = (hull->column[k].q - 2 * along + norm2) - hull->value;
    mean += gain[k] / (double)hull->count;
  }
  if (hull->full.point == NULL) mean = 0;
  for (size_t k = 0; k < hull->count; k++) largest = fmax(largest, fabs(gain[k] -= mean));
  return largest;
}

/* The step of the weights to the optimum over the affine hull: half of (A^T A)^-1 times the gains of the columns,
 * corrected to preserve the sum of weights. Because it uses the gains at the present weights, it is its own
 * iterative refinement. Returns the largest gain. */
static double step_to_optimum(const cpb_hull *hull, double *step) {
  double top = 0, bottom = 0, largest = gains_about_mean(hull, step);
  solve_lower(hull, step);
  for (size_t k = 0; k < hull->count; k++) {
    double unit = basis_at(hull, k)[0];
    top += unit * step[k];
    bottom += unit * unit;
  }
  for (size_t k = 0; k < hull->count; k++) step[k] = 0.5 * (step[k] - top / bottom * basis_at(hull, k)[0]);
  solve_upper(hull, step);
  return largest;
}

/* The largest t <= limit with 0 <= weight + t step <= cap, and the column that stops it (count: none). */
static double farthest_step(const cpb_hull *hull, const double *step, double limit, size_t *stopper) {
  *stopper = hull->count;
  for (size_t k = 0; k < hull->count; k++) {
    double weight = hull->column[k].weight, cap = hull->column[k].cap;
    double room = step[k] < 0 ? weight / -step[k] : step[k] > 0 ? fmax(0, cap - weight) / step[k] : INFINITY;
    if (room < limit) {
      limit = room;
      *stopper = k;
    }
  }
  return limit;
}

static void advance(cpb_hull *hull, const double *step, double t) {
  for (size_t k = 0; k < hull->count; k++)
    hull->column[k].weight = fmax(0, hull->column[k].weight + t * step[k]);
}

/* What happened to a column in the span of the others. */
typedef enum exchanged { NO_GAIN, PLACE_MADE, WENT_ACROSS } exchanged;

/* For a column in the span of the others: weight flows to it, or from its cap, along the direction that leaves the
 * point unchanged, until one of the others is empty or full, or the column has moved from 0 to its cap or back. */
static exchanged exchange(cpb_hull *hull, cpb_hull_column *column, bool down, double *coefficient) {
  size_t stopper;
  double gain = column->q, own = down ? column->weight : column->cap - column->weight;
  solve_upper(hull, coefficient);
  for (size_t k = 0; k < hull->count; k++) gain -= coefficient[k] * hull->column[k].q;
  for (size_t k = 0; k < hull->count; k++) coefficient[k] = down ? coefficient[k] : -coefficient[k];
  double t = farthest_step(hull, coefficient, own, &stopper);
  if (!(down ? gain < 0 : gain > 0) || !(t < INFINITY)) return NO_GAIN;
  advance(hull, coefficient, t);
  column->weight += down ? -t : t;
  if (stopper == hull->count) return WENT_ACROSS;
  leave(hull, stopper, coefficient[stopper] > 0);
  return PLACE_MADE;
}

static void descend_to_optimum(cpb_hull *hull) {
  double *step = vector_at(hull, 1);
  int refinements = 0;
  while (hull->count > 1) {
    size_t stopper;
    double size = step_to_optimum(hull, step), t = farthest_step(hull, step, 1, &stopper);
    if (!isfinite(size) || !isfinite(t)) break;
    double scale = fabs(hull->value) + hull->loops->dot(hull->point, hull->point, hull->dim);
    if (stopper == hull->count && (size <= 8 * DBL_EPSILON * scale || refinements++ == REFINEMENTS)) break;
    advance(hull, step, t);
    if (stopper < hull->count) leave(hull, stopper, step[stopper] > 0);
    settle(hull);
  }
}

cpb_status cpb_hull_enter_capped(cpb_hull *hull, const double *p, cpb_hull_column column, bool *better) {
  double before = hull->count == 0 ? -INFINITY : hull->value, rest;
  cpb_status status = cpb_hull_reserve(hull, hull->count);
  *better = false;
  if (status != CPB_OK) return status;
  bool full = hull->count > 0 && column.weight > 0 && column.weight >= column.cap;
  if (full) move_to_full(hull, p, column, -1);
  double *coefficient = vector_at(hull, 0);
  while (!project(hull, p, coefficient, &rest)) {
    exchanged done = exchange(hull, &column, full, coefficient);
    if (done == PLACE_MADE) continue;
    report_left(hull, p, column, done == WENT_ACROSS ? !full : full);
    settle(hull);
    *better = done == WENT_ACROSS && hull->value > before;
    return CPB_OK;
  }
  append(hull, p, column, coefficient, rest);
  if (column.weight > 0) settle(hull); /* a column that has no weight yet has moved nothing */
  descend_to_optimum(hull);
  *better = hull->value > before;
  return CPB_OK;
}

cpb_status cpb_hull_enter(cpb_hull *hull, const double *p, double q, uint64_t tag, bool *better) {
  cpb_hull_column column = {q, INFINITY, hull->count == 0, tag};
  return cpb_hull_enter_capped(hull, p, column, better);
}
