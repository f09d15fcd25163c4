/* T10 by caps. About the present centre, with scale s, a row x becomes S(x), and z = S(x)+e = 2s(x,s)/(|x|^2+s^2).
 * The point z* of the hull of all z nearest to 0 is the normal of the hyperplane that separates the rows from -e
 * with the widest margin. P = z* over its squared length and B = 1-P0 are the plane through the support vectors;
 * its cap has a = B+P0 = 1, so by T3 its ball has the centre sP'. With s = the present radius, moving there and
 * repeating converges cubically. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "learn/paper_schemes.h"

enum { CAP_STEPS = 64, STEPS_WITHOUT_GAIN = 2 };

typedef struct lifted {
  const cpb_loops *loops;
  size_t count, d; /* rows of d+1 */
  double *z;
  bool *set_aside; /* entering it did not help */
} lifted;

double cpb_paper_lift(const cpb_loops *loops, double *z, size_t d, double s) {
  double norm2 = loops->dot(z, z, d), factor = 2 * s / (norm2 + s * s);
  for (size_t j = 0; j < d; j++) z[j] *= factor;
  z[d] = factor * s;
  return norm2;
}

static size_t lowest(const lifted *all, const double *normal, double *product) {
  size_t best = all->count;
  for (size_t i = 0; i < all->count; i++) {
    if (all->set_aside[i]) continue;
    double along = all->loops->dot(all->z + i * (all->d + 1), normal, all->d + 1);
    if (best == all->count || along < *product) {
      best = i;
      *product = along;
    }
  }
  return best;
}

/* Moves the hull's point to the point of conv(z) nearest to 0. */
static cpb_status nearest_point(const lifted *all, cpb_hull *hull) {
  size_t limit = 64 * (all->count + all->d) + 1024;
  memset(all->set_aside, 0, all->count * sizeof *all->set_aside);
  for (size_t entered = 0; entered < limit; entered++) {
    double product = 0;
    bool better;
    size_t best = lowest(all, hull->point, &product);
    if (best == all->count || (hull->count > 0 && product >= -hull->value * (1 - 4 * DBL_EPSILON))) break;
    cpb_status status = cpb_hull_enter(hull, all->z + best * (all->d + 1), 0, (uint64_t)best, &better);
    if (status != CPB_OK) return status;
    if (better)
      memset(all->set_aside, 0, all->count * sizeof *all->set_aside);
    else
      all->set_aside[best] = true;
  }
  return CPB_OK;
}

static double radius_about(const cpb_working_set *set, const cpb_loops *loops, const double *center) {
  double largest = 0;
  loops->rows_dist2[CPB_F64](set->rows, set->d, set->count, set->d, center, set->dist2);
  for (size_t i = 0; i < set->count; i++) largest = fmax(largest, set->dist2[i]);
  return sqrt(largest);
}

/* Multipliers of the lifted rows are those of the rows times |x-c|^2+s^2; at the fixpoint this factor is the same
 * for all, before that the quotient follows from z* = sum w z. */
static void multipliers_of(const cpb_hull *hull, double s, double *multiplier, size_t count) {
  double sum = 0;
  memset(multiplier, 0, count * sizeof *multiplier);
  for (size_t k = 0; k < hull->count; k++) {
    double height = hull->p[k * hull->dim + hull->dim - 1]; /* 2s^2/(|x|^2+s^2) */
    multiplier[hull->column[k].tag] += hull->column[k].weight * height / s;
    sum += hull->column[k].weight * height / s;
  }
  for (size_t i = 0; i < count; i++) multiplier[i] /= sum;
}

cpb_status cpb_paper_cap_step(const cpb_working_set *set, const cpb_loops *loops, double s, double *center,
                              double *multiplier) {
  cpb_hull hull;
  cpb_memory memory = {0};
  lifted all = {.loops = loops,
                .count = set->count,
                .d = set->d,
                .z = cpb_memory_take(&memory, set->count, (set->d + 1) * sizeof(double)),
                .set_aside = cpb_memory_take(&memory, set->count, sizeof(bool))};
  cpb_status status = cpb_hull_init(&hull, loops, set->d + 1, 1);
  if (memory.failed) status = CPB_ENOMEM;
  for (size_t i = 0; i < set->count && status == CPB_OK; i++) {
    double *z = all.z + i * (set->d + 1);
    loops->axpby(1, set->rows + i * set->d, -1, center, z, set->d);
    cpb_paper_lift(loops, z, set->d, s);
  }
  if (status == CPB_OK) status = nearest_point(&all, &hull);
  if (status == CPB_OK) {
    double norm2 = loops->dot(hull.point, hull.point, hull.dim);
    loops->axpby(s / norm2, hull.point, 1, center, center, set->d); /* + sP' */
    multipliers_of(&hull, s, multiplier, set->count);
  }
  cpb_hull_free(&hull);
  cpb_memory_free(&memory);
  return status;
}

/* sum a|x|^2 - |sum a x|^2 about the mean, a lower bound of R^2 for any multipliers. */
static double dual_value(const cpb_working_set *set, const cpb_loops *loops, const double *multiplier,
                         double *mean) {
  double value = 0;
  memset(mean, 0, set->d * sizeof *mean);
  for (size_t i = 0; i < set->count; i++)
    if (multiplier[i] > 0) loops->axpby(multiplier[i], set->rows + i * set->d, 1, mean, mean, set->d);
  for (size_t i = 0; i < set->count; i++)
    if (multiplier[i] > 0) value += multiplier[i] * loops->dist2(set->rows + i * set->d, mean, set->d);
  return value;
}

cpb_status cpb_paper_cap_iteration(const cpb_working_set *set, const cpb_loops *loops, double *center,
                                   double *multiplier, double *lower2, size_t *steps) {
  cpb_memory memory = {0};
  double *trial = cpb_memory_take(&memory, set->d, sizeof *trial);
  double *mean = cpb_memory_take(&memory, set->d, sizeof *mean);
  double *trial_multiplier = cpb_memory_take(&memory, set->count, sizeof *trial_multiplier);
  cpb_status status = memory.failed ? CPB_ENOMEM : CPB_OK;
  double radius = radius_about(set, loops, center);
  *lower2 = -1;
  int idle = 0;
  if (status == CPB_OK) memcpy(trial, center, set->d * sizeof *trial);
  for (double s = radius; status == CPB_OK && s > 0 && idle < STEPS_WITHOUT_GAIN && *steps < CAP_STEPS;
       ++*steps) {
    status = cpb_paper_cap_step(set, loops, s, trial, trial_multiplier);
    if (status != CPB_OK) break;
    s = radius_about(set, loops, trial);
    double dual = dual_value(set, loops, trial_multiplier, mean);
    idle = s < radius ? 0 : idle + 1;
    if (s < radius) {
      radius = s;
      memcpy(center, trial, set->d * sizeof *trial);
    }
    if (dual > *lower2) {
      *lower2 = dual;
      memcpy(multiplier, trial_multiplier, set->count * sizeof *multiplier);
    }
  }
  if (*lower2 < 0) { /* all rows are one point */
    *lower2 = 0;
    for (size_t i = 0; i < set->count; i++) multiplier[i] = i == 0;
  }
  cpb_memory_free(&memory);
  return status;
}
