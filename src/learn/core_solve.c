/* The ball of the working set, by active sets or by caps, and what it proves. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "learn/core_parts.h"
#include "learn/distances.h"

/* The farthest first, whatever order they came in. */
static cpb_status take_staged(cpb_core *core) {
  cpb_status status = cpb_working_set_sort(&core->staged);
  if (status == CPB_OK && core->set.count > CPB_WORKING_ROWS)
    status = cpb_working_set_keep(&core->set, CPB_WORKING_ROWS / 2);
  if (status == CPB_OK) status = cpb_working_set_join(&core->set, &core->staged, &core->newcomers);
  core->staged.count = 0;
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
static cpb_status keep_support(cpb_core *core, support_row *rows, size_t count) {
  qsort(rows, count, sizeof *rows, by_multiplier_down);
  if (count > core->d + 1) count = core->d + 1;
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
  free(core->multiplier);
  free(core->support_row);
  core->multiplier = multiplier;
  core->support_row = row;
  core->support_count = count;
  return CPB_OK;
}

static cpb_status solve_active_set(cpb_core *core) {
  double tolerance = fmax(core->options.gap / 16, 0x1p-52);
  if (core->hull.count == 0 && core->largest2 > 0) core->hull.unit = sqrt(core->largest2);
  cpb_status status = cpb_working_set_solve(&core->set, &core->hull, tolerance, &core->iterations);
  if (status != CPB_OK) return status;
  support_row *rows = malloc(core->hull.count * sizeof *rows);
  if (rows == NULL) return CPB_ENOMEM;
  for (size_t k = 0; k < core->hull.count; k++)
    rows[k] = (support_row){core->hull.weight[k], core->hull.tag[k]};
  status = keep_support(core, rows, core->hull.count);
  free(rows);
  memcpy(core->point, core->hull.point, core->d * sizeof *core->point);
  core->lower2 = fmax(core->lower2, core->hull.value);
  core->proven2 = fmax(core->proven2, cpb_hull_lower(&core->hull));
  return status;
}

/* Of a mean of squared distances from a mean, as cpb_working_set_dual adds it up. */
static double dual_error(size_t count, size_t d) {
  return (8 * (double)count + 8 * (40 + (double)(d / CPB_CHUNK))) * DBL_EPSILON / 2;
}

static cpb_status solve_by_caps(cpb_core *core) {
  size_t n = core->set.count, count = 0, steps = 0;
  double *multiplier = malloc(n * sizeof *multiplier), lower2 = 0;
  support_row *rows = malloc(n * sizeof *rows);
  cpb_status status = multiplier == NULL || rows == NULL ? CPB_ENOMEM : CPB_OK;
  if (status == CPB_OK)
    status = cpb_working_set_solve_by_caps(&core->set, core->loops, core->point, multiplier, &lower2, &steps);
  if (status == CPB_OK) {
    for (size_t i = 0; i < n; i++)
      if (multiplier[i] > 0) rows[count++] = (support_row){multiplier[i], core->set.tag[i]};
    status = keep_support(core, rows, count);
    core->iterations += steps;
    core->lower2 = fmax(core->lower2, lower2);
    core->proven2 = fmax(core->proven2, lower2 * (1 - dual_error(count, core->d)));
  }
  free(multiplier);
  free(rows);
  return status;
}

cpb_status cpb_core_move(cpb_core *core, cpb_error *error) {
  cpb_status status = take_staged(core);
  if (status == CPB_OK && core->set.count > 0)
    status = core->options.method == CPB_BALL_CAPS ? solve_by_caps(core) : solve_active_set(core);
  if (status != CPB_OK) return cpb_fail_memory(error, "a working set of %zu rows", core->set.count);
  for (size_t j = 0; j < core->d; j++)
    core->center[j] = cpb_in_data_unit(core->origin[j] + core->point[j], core->exponent);
  return CPB_OK;
}

/* A bound is rounded down. */
static double proven_radius(const cpb_core *core) {
  double lower = ldexp(sqrt(fmax(core->proven2, 0)) * (1 - DBL_EPSILON), core->exponent);
  return core->exponent == 0 || lower >= DBL_MIN ? lower : fmax(0, lower - DBL_TRUE_MIN);
}

void cpb_core_keep_best(cpb_core *core) {
  cpb_best_ball *best = &core->best;
  double radius = ldexp(sqrt(core->largest2), core->exponent);
  if (radius < best->radius) {
    best->radius = radius;
    for (size_t j = 0; j < core->d; j++) best->center[j] = ldexp(core->center[j], core->exponent);
  }
  best->lower = fmin(proven_radius(core), best->radius);
  double ratio = best->radius > 0 ? best->lower / best->radius : 1;
  best->gap = (1 - ratio) * (1 + ratio);
}

void cpb_core_write(const cpb_core *core, const cpb_ball_out *out, cpb_ball_report *report) {
  const cpb_best_ball *best = &core->best;
  memcpy(out->center, best->center, core->d * sizeof *best->center);
  for (size_t k = 0; k < core->support_count; k++) {
    if (out->rows != NULL) out->rows[k] = core->support_row[k];
    if (out->multipliers != NULL) out->multipliers[k] = core->multiplier[k];
  }
  report->radius = best->radius;
  report->lower_bound = best->lower;
  report->gap = best->gap;
  report->converged = best->gap <= core->options.gap;
  report->support = core->support_count;
  report->iterations = core->iterations;
}
