#include "ball/paper_schemes.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/laws.h"
#include "base/memory.h"
#include "loops/distances.h"
#include "base/blocks.h"
#include "base/tell.h"

/* T10 by caps. About the present centre, with scale s, a row x becomes S(x), and z = S(x)+e = 2s(x,s)/(|x|^2+s^2).
 * The point z* of the hull of all z nearest to 0 is the normal of the hyperplane that separates the rows from -e
 * with the widest margin. P = z* over its squared length and B = 1-P0 are the plane through the support vectors;
 * its cap has a = B+P0 = 1, so by T3 its ball has the centre sP'. With s = the present radius, moving there and
 * repeating converges cubically. */

enum { CAP_STEPS = 64, STEPS_WITHOUT_GAIN = 2 };

typedef struct lifted {
  const cpb_loops *loops;
  size_t count, d; /* rows of d+1 */
  double *z;
  bool *set_aside; /* entering it did not help */
} lifted;

/* z, a row relative to the centre, becomes S(z)+e = 2s(z,s)/(|z|^2+s^2), d+1 numbers; returns |z|^2. */
static double lift_row(const cpb_loops *loops, double *z, size_t d, double s) {
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
    lift_row(loops, z, set->d, s);
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

/* T11, the paper's scheme. Positives S(x_i), one negative -e; z = S(x)+e. A nu-SVM with a hard negative
 * finds the point z* nearest to 0 of the reduced hull {sum a z : a <= C}; its margin plane
 * <z*,z> = rho goes through the row taken in part. With P = z* over rho the plane is <P,S(x)> = B, B = 1-P0,
 * its cap has a = 1 and by T3 the ball c = sP', r^2 = s^2(|P'|^2+1-2B).
 *
 * With one C for all, as in the paper, the multipliers of the positives add up to that of the negative,
 * at most C, so that none of them can reach C: no slack, the hard margin and with it the enclosing ball
 * for every C. The plane through the support vectors is used there, too: with the decision f = 0, half way
 * to -e, every step is twice too long and the centre never converges. */

enum { ROUNDS = 50, BLOCK_ROWS = 4096, SAMPLE = 1024 };

/* The radius of the ball of a plane at distance rho, and how far its centre is, from z* = (side, last). False, and *moved
 * is NaN, for a plane whose region is not a ball. */
static bool ball_of_plane(double side2, double last, double rho, double s, double *radius, double *moved) {
  double rest2 = side2 / (rho * rho), radius2 = rest2 - 1 + 2 * last / rho;
  *moved = NAN;
  if (!(rho > 0 && radius2 > 0)) return false;
  *radius = s * sqrt(radius2);
  *moved = s * sqrt(rest2);
  return true;
}

typedef struct lift_job {
  const cpb_capped_dual *dual;
  double *center; /* origin + point */
  double s;
  double *z;        /* n rows of d+1 */
  double *distance; /* per block: sum of |x-center| */
  double *whole;    /* one C for all rows with a weight; NULL: for all rows */
  double *normal;   /* d+1: of the plane */
} lift_job;

static bool weighs(const cpb_capped_dual *dual, size_t i) { return dual->caps == NULL || dual->caps[i] > 0; }

static void lift_block(void *argument, size_t block, size_t first, size_t count) {
  lift_job *job = argument;
  const cpb_loops *loops = job->dual->loops;
  size_t d = job->dual->x.cols;
  double sum = 0;
  for (size_t i = first; i < first + count; i++) {
    double *z = job->z + i * (d + 1);
    if (!weighs(job->dual, i)) { /* a row of weight 0 */
      memset(z, 0, (d + 1) * sizeof *z);
      continue;
    }
    cpb_row_about(loops, job->dual->x, 0, i, job->center, z);
    sum += sqrt(lift_row(loops, z, d, job->s));
  }
  job->distance[block] = sum;
}

/* Lifts all rows; returns the mean distance from the centre. */
static double lift(lift_job *job) {
  const cpb_capped_dual *dual = job->dual;
  double sum = 0;
  size_t rows = 0;
  for (size_t i = 0; i < dual->x.rows; i++) rows += weighs(dual, i);
  for (size_t j = 0; j < dual->x.cols; j++) job->center[j] = dual->origin[j] + dual->point[j];
  cpb_blocks blocks = {dual->x.rows, BLOCK_ROWS, lift_block, job};
  cpb_blocks_run(&blocks, dual->exec);
  for (size_t i = 0; i < cpb_blocks_count(&blocks); i++) sum += job->distance[i];
  return sum / (double)rows;
}

/* One SVM and the ball of its plane: point moves by sP', *radius is the ball's. */
static cpb_status one_round(lift_job *job, cpb_capped_dual *dual, bool paper, const cpb_exec *exec,
                            double *radius, double *moved) {
  size_t d = dual->x.cols;
  double s = job->s, *normal = job->normal;
  memset(normal, 0, d * sizeof *normal);
  lift(job);
  cpb_capped_dual svm = {.loops = dual->loops,
                         .exec = exec,
                         .caps = paper ? job->whole : dual->caps,
                         .cap = paper ? 1 : dual->cap,
                         .gap = 1e-12,
                         .max_iterations = dual->max_iterations,
                         .multipliers = dual->multipliers,
                         .error = dual->error,
                         .point = normal};
  svm.x = cpb_rows(job->z, CPB_F64, dual->x.rows, d + 1);
  normal[d] = 1;
  cpb_status status = cpb_capped_dual_solve(&svm);
  double rho = (dual->loops->dot(normal, normal, d + 1) - svm.edge) / 2;
  double side2 = dual->loops->dot(normal, normal, d);
  if (status == CPB_OK && ball_of_plane(side2, normal[d], rho, s, radius, moved))
    dual->loops->axpby(s / rho, normal, 1, dual->point, dual->point, d);
  return status;
}

cpb_status cpb_paper_cap_svm(cpb_capped_dual *dual, bool paper, cpb_svdd_report *report) {
  size_t n = dual->x.rows, d = dual->x.cols;
  lift_job job = {.dual = dual, .s = 1};
  cpb_memory memory = {0};
  job.center = cpb_memory_take(&memory, d, sizeof *job.center);
  job.normal = cpb_memory_take(&memory, d + 1, sizeof *job.normal);
  job.z = cpb_memory_take(&memory, n, (d + 1) * sizeof *job.z);
  job.distance = cpb_memory_take(&memory, n / BLOCK_ROWS + 1, sizeof *job.distance);
  if (paper && dual->caps != NULL) job.whole = cpb_memory_take(&memory, n, sizeof *job.whole);
  cpb_status status = memory.failed ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; job.whole != NULL && i < n; i++) job.whole[i] = weighs(dual, i);
  if (status == CPB_OK) job.s = lift(&job);
  for (; status == CPB_OK && job.s > 0 && report->iterations < ROUNDS && !report->converged;
       report->iterations++) {
    double moved = NAN, round = (double)report->iterations;
    const cpb_exec *exec = CPB_EXEC_PART(dual->exec, round / ROUNDS, (round + 1) / ROUNDS);
    status = one_round(&job, dual, paper, exec, &report->radius, &moved);
    if (isnan(moved)) break;
    report->converged = moved <= 1e-9 * report->radius;
    job.s = report->radius;
  }
  if (job.s == 0) report->converged = true; /* all rows are one point */
  cpb_memory_free(&memory);
  return status;
}

/* T11, the paper's scheme where only a Mercer kernel is known. The centre is c = sum b_i phi_i, sum b = 1,
 * and all that is needed of the rows about it is g_ij = <phi_i-c, phi_j-c>. T8 takes it to the sphere,
 * |S_i-S_j|^2, and z = S+e has <z_i,z_j> = rise_i + rise_j - |S_i-S_j|^2/2 with rise_i = 1 + the last
 * coordinate of S_i, 2s^2/(g_ii+s^2). The point z* of the reduced hull nearest to 0, the plane <z*,z> = rho
 * and its ball are as above: z*'s last coordinate is sum a_i rise_i, the rest is
 * sum a_i (rise_i/s) (phi_i-c), and the centre moves by s/rho times that. */

typedef struct embedded_rows {
  cpb_kernel_rows *rows;
  size_t n;
  double s;
  double *center;   /* b */
  double *along;    /* <c, phi_i> */
  double norm2;     /* <c,c> */
  double *dist2;    /* g_ii */
  double *rise;     /* of row i */
  double *diagonal; /* <z_i,z_i> */
  double *cap, *a;  /* of the SVM */
  double gap;       /* of the SVM */
  double *scratch;
  cpb_error *error;
} embedded_rows;

/* Everything that depends on the centre; returns the mean distance from it. */
static double look_from_center(embedded_rows *e) {
  double sum = 0;
  cpb_kernel_rows_combine(e->rows, e->center, e->along, e->scratch);
  e->norm2 = e->rows->loops->dot(e->center, e->along, e->n);
  for (size_t i = 0; i < e->n; i++) {
    e->dist2[i] = fmax(0, (e->rows->diagonal[i] - e->along[i]) + (e->norm2 - e->along[i]));
    sum += sqrt(e->dist2[i]);
  }
  return sum / (double)e->n;
}

static void set_scale(embedded_rows *e, double s) {
  e->s = s;
  for (size_t i = 0; i < e->n; i++) {
    e->rise[i] = 2 * s * s / (e->dist2[i] + s * s);
    e->diagonal[i] = 2 * e->rise[i];
  }
}

/* <z_i,z_j> for all j. */
static void embedded_row(void *context, size_t i, double *to) {
  embedded_rows *e = context;
  cpb_kernel_rows_row(e->rows, i, to);
  for (size_t j = 0; j < e->n; j++) to[j] = (to[j] - e->along[i]) + (e->norm2 - e->along[j]);
  cpb_status status =
      cpb_gram_embed(cpb_rows_out(to, CPB_F64, 1, e->n), (cpb_gram_side){.norm2 = &e->dist2[i]},
                     (cpb_gram_side){.norm2 = e->dist2}, 1, e->s, CPB_DISTANCES2, NULL, NULL);
  assert(status == CPB_OK || status == CPB_EROW); /* EROW: the row is NaN, and the SVM does not move */
  (void)status;
  for (size_t j = 0; j < e->n; j++) to[j] = e->rise[i] + e->rise[j] - to[j] / 2;
}

static cpb_status kernel_round(embedded_rows *e, double round, double *radius, double *moved) {
  cpb_smo svm = {.n = e->n,
                 .row = embedded_row,
                 .context = e,
                 .diagonal = e->diagonal,
                 .cap = e->cap,
                 .gap = e->gap,
                 .exec = CPB_EXEC_PART(e->rows->exec, round / ROUNDS, (round + 1) / ROUNDS),
                 .error = e->error,
                 .a = e->a};
  cpb_status status = cpb_smo_solve(&svm);
  double rho = -svm.edge / 2, last = e->rows->loops->dot(e->a, e->rise, e->n);
  double side2 = fmax(0, svm.norm2 - last * last), stay = 1 - last / rho;
  *moved = NAN;
  if (status != CPB_OK || !ball_of_plane(side2, last, rho, e->s, radius, moved)) return status;
  for (size_t i = 0; i < e->n; i++) e->center[i] = stay * e->center[i] + e->a[i] * e->rise[i] / rho;
  return CPB_OK;
}

/* A converged centre is the mean of the support weighted by a times rise, without rows from earlier steps. */
static void write_center(const embedded_rows *e) {
  double sum = e->rows->loops->dot(e->a, e->rise, e->n);
  for (size_t i = 0; i < e->n; i++) e->center[i] = e->a[i] * e->rise[i] / sum;
}

static void begin(embedded_rows *e, bool paper) {
  size_t step = e->n / SAMPLE + 1, count = (e->n - 1) / step + 1;
  for (size_t i = 0; i < e->n; i++) {
    e->cap[i] = paper ? 1 : e->rows->cap[i];
    e->center[i] = i % step == 0 ? 1 / (double)count : 0;
  }
  cpb_smo_start(e->cap, e->n, e->a);
}

cpb_status cpb_paper_kernel_cap_svm(cpb_kernel_rows *rows, double gap, bool paper, double *a, double *center,
                                    cpb_svdd_report *report, cpb_error *error) {
  embedded_rows e = {.rows = rows, .n = rows->x.rows, .center = center, .a = a, .gap = gap, .error = error};
  double *numbers = malloc(6 * e.n * sizeof *numbers), moved = NAN;
  if (numbers == NULL) return CPB_ENOMEM;
  e.along = numbers;
  e.dist2 = numbers + e.n;
  e.rise = numbers + 2 * e.n;
  e.diagonal = numbers + 3 * e.n;
  e.cap = numbers + 4 * e.n;
  e.scratch = numbers + 5 * e.n;
  begin(&e, paper);
  double s = look_from_center(&e);
  report->converged = s == 0; /* all images are one point */
  cpb_status status = CPB_OK;
  for (; status == CPB_OK && !report->converged && report->iterations < ROUNDS; report->iterations++) {
    set_scale(&e, s);
    status = kernel_round(&e, (double)report->iterations, &report->radius, &moved);
    if (isnan(moved)) break;
    report->converged = moved <= sqrt(gap) * report->radius;
    s = report->radius;
    if (!report->converged) look_from_center(&e);
  }
  if (status == CPB_OK && !isnan(moved)) write_center(&e);
  free(numbers);
  return status;
}
