/* The ball of the working set, by active sets or by caps, and the bound it proves. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "learn/ball_rounds_parts.h"
#include "learn/distances.h"
#include "learn/paper_schemes.h"

/* The farthest first, whatever their order of arrival. */
static cpb_status take_staged(cpb_ball_rounds *rounds) {
  cpb_status status = cpb_working_set_sort(&rounds->staged);
  if (status == CPB_OK && rounds->set.count > CPB_WORKING_ROWS)
    status = cpb_working_set_keep(&rounds->set, CPB_WORKING_ROWS / 2);
  if (status == CPB_OK) status = cpb_working_set_join(&rounds->set, &rounds->staged, &rounds->newcomers);
  rounds->staged.count = 0;
  return status;
}

typedef struct support_row {
  double multiplier;
  uint64_t tag;
} support_row;

static int by_multiplier_down(const void *a, const void *b) {
  const support_row *x = a, *y = b;
  return x->multiplier != y->multiplier ? (x->multiplier < y->multiplier ? 1 : -1)
                                        : (x->tag > y->tag) - (x->tag < y->tag);
}

/* Keeps the support, the largest multipliers first. */
static cpb_status keep_support(cpb_ball_rounds *rounds, support_row *rows, size_t count) {
  qsort(rows, count, sizeof *rows, by_multiplier_down);
  if (count > rounds->d + 1) count = rounds->d + 1;
  double *multiplier = malloc(count * sizeof *multiplier);
  uint64_t *row = malloc(count * sizeof *row);
  if (multiplier == NULL || row == NULL) {
    free(multiplier);
    free(row);
    return CPB_ENOMEM;
  }
  for (size_t k = 0; k < count; k++) {
    multiplier[k] = rows[k].multiplier;
    row[k] = rows[k].tag;
  }
  free(rounds->multiplier);
  free(rounds->support_row);
  rounds->multiplier = multiplier;
  rounds->support_row = row;
  rounds->support_count = count;
  return CPB_OK;
}

static cpb_status solve_active_set(cpb_ball_rounds *rounds) {
  double tolerance = fmax(rounds->options.gap / 16, 0x1p-52);
  if (rounds->hull.count == 0 && rounds->largest2 > 0) rounds->hull.unit = sqrt(rounds->largest2);
  cpb_status status = cpb_working_set_solve(&rounds->set, &rounds->hull, tolerance, &rounds->iterations);
  if (status != CPB_OK) return status;
  support_row *rows = malloc(rounds->hull.count * sizeof *rows);
  if (rows == NULL) return CPB_ENOMEM;
  for (size_t k = 0; k < rounds->hull.count; k++)
    rows[k] = (support_row){rounds->hull.weight[k], rounds->hull.tag[k]};
  status = keep_support(rounds, rows, rounds->hull.count);
  free(rows);
  memcpy(rounds->point, rounds->hull.point, rounds->d * sizeof *rounds->point);
  rounds->lower2 = fmax(rounds->lower2, rounds->hull.value);
  rounds->proven2 = fmax(rounds->proven2, cpb_hull_lower(&rounds->hull));
  return status;
}

/* The rounding error of a mean of squared distances from a mean, as cpb_working_set_dual computes it. */
static double dual_error(size_t count, size_t d) {
  return (8 * (double)count + 8 * (40 + (double)(d / CPB_CHUNK))) * DBL_EPSILON / 2;
}

static cpb_status solve_by_caps(cpb_ball_rounds *rounds) {
  size_t n = rounds->set.count, count = 0, steps = 0;
  double *multiplier = malloc(n * sizeof *multiplier), lower2 = 0;
  support_row *rows = malloc(n * sizeof *rows);
  cpb_status status = multiplier == NULL || rows == NULL ? CPB_ENOMEM : CPB_OK;
  if (status == CPB_OK)
    status = cpb_paper_cap_iteration(&rounds->set, rounds->loops, rounds->point, multiplier, &lower2, &steps);
  if (status == CPB_OK) {
    for (size_t i = 0; i < n; i++)
      if (multiplier[i] > 0) rows[count++] = (support_row){multiplier[i], rounds->set.tag[i]};
    status = keep_support(rounds, rows, count);
    rounds->iterations += steps;
    rounds->lower2 = fmax(rounds->lower2, lower2);
    rounds->proven2 = fmax(rounds->proven2, lower2 * (1 - dual_error(count, rounds->d)));
  }
  free(multiplier);
  free(rows);
  return status;
}

cpb_status cpb_ball_rounds_move(cpb_ball_rounds *rounds, cpb_error *error) {
  cpb_status status = take_staged(rounds);
  if (status == CPB_OK && rounds->set.count > 0)
    status = rounds->options.method == CPB_BALL_CAPS ? solve_by_caps(rounds) : solve_active_set(rounds);
  if (status != CPB_OK) return cpb_fail_memory(error, "a working set of %zu rows", rounds->set.count);
  for (size_t j = 0; j < rounds->d; j++)
    rounds->center[j] = cpb_in_data_unit(rounds->origin[j] + rounds->point[j], rounds->exponent);
  return CPB_OK;
}

/* Rounded down, because it is a lower bound. */
static double proven_radius(const cpb_ball_rounds *rounds) {
  double lower = ldexp(sqrt(fmax(rounds->proven2, 0)) * (1 - DBL_EPSILON), rounds->exponent);
  return rounds->exponent == 0 || lower >= DBL_MIN ? lower : fmax(0, lower - DBL_TRUE_MIN);
}

void cpb_ball_rounds_keep_best(cpb_ball_rounds *rounds) {
  cpb_best_ball *best = &rounds->best;
  double radius = ldexp(sqrt(rounds->largest2), rounds->exponent);
  if (radius < best->radius) {
    best->radius = radius;
    for (size_t j = 0; j < rounds->d; j++) best->center[j] = ldexp(rounds->center[j], rounds->exponent);
  }
  best->lower = fmin(proven_radius(rounds), best->radius);
  double ratio = best->radius > 0 ? best->lower / best->radius : 1;
  best->gap = (1 - ratio) * (1 + ratio);
}

void cpb_ball_rounds_write(const cpb_ball_rounds *rounds, const cpb_ball_out *out, cpb_ball_report *report) {
  const cpb_best_ball *best = &rounds->best;
  memcpy(out->center, best->center, rounds->d * sizeof *best->center);
  for (size_t k = 0; k < rounds->support_count; k++) {
    if (out->rows != NULL) out->rows[k] = rounds->support_row[k];
    if (out->multipliers != NULL) out->multipliers[k] = rounds->multiplier[k];
  }
  report->radius = best->radius;
  report->lower_bound = best->lower;
  report->gap = best->gap;
  report->converged = best->gap <= rounds->options.gap;
  report->support = rounds->support_count;
  report->iterations = rounds->iterations;
}
