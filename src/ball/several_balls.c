#include "ball/several_balls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/random.h"
#include "loops/chunk.h"
#include "loops/distances.h"
#include "base/tell.h"
#include "statistics/row_sample.h"

enum { STARTS = 8, STEPS = 100, FIRST_STEPS = 5, TRIES = 4, USUAL_STEPS = 20, STILL = 200 };
static const double SEEDED = 0.2; /* of one start, when it has its seeds */

typedef struct grouping {
  const double *x, *weights;
  size_t n, d, groups, *group;
  double *centers, *nearest; /* nearest: dist2 of each row to the nearest centre */
  double *trial;             /* the same if a further centre were added: .. */
  const double *added;       /* .. this one */
  double *share;             /* of each group: the weight of its rows */
  size_t *next;              /* of each row: the nearest centre; NULL: not needed */
  size_t still;              /* steps end where no more rows than these change their group */
  const cpb_exec *exec;
} grouping;

static double weight_of(const grouping *g, size_t i) { return g->weights != NULL ? g->weights[i] : 1; }

static const double *row_of(const grouping *g, size_t i) { return g->x + i * g->d; }

/* ---- seeds ---- */

static void add_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  const grouping *g = arg;
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = first; i < first + count; i++)
    g->trial[i] = fmin(g->nearest[i], loops->dist2(row_of(g, i), g->added, g->d));
}

static double sum_of(const grouping *g, const double *dist2) {
  double sum = 0;
  for (size_t i = 0; i < g->n; i++) sum += weight_of(g, i) * dist2[i];
  return sum;
}

/* trial = the distances with this row added as a centre; gives their sum. */
static cpb_status try_center(grouping *g, size_t row, double *sum, cpb_error *error) {
  g->added = row_of(g, row);
  cpb_blocks_run(&(cpb_blocks){g->n, cpb_blocks_rows(g->d), add_block, g}, g->exec);
  *sum = sum_of(g, g->trial);
  return cpb_exec_tell(g->exec, 0, error);
}

/* Any row with a weight. */
static size_t draw_any(const grouping *g, cpb_random *random) {
  size_t row = cpb_random_below(random, g->n);
  for (size_t i = 0; i < g->n && !(weight_of(g, row) > 0); i++) row = row + 1 < g->n ? row + 1 : 0;
  return row;
}

/* A row with a probability that is proportional to its distance. */
static size_t draw_row(const grouping *g, double sum, cpb_random *random) {
  double left = sum * cpb_random_uniform(random);
  for (size_t i = 0; i < g->n; i++) {
    double part = weight_of(g, i) * g->nearest[i];
    left -= part;
    if (left <= 0 && part > 0) return i;
  }
  return draw_any(g, random);
}

/* The best of some rows as centre k; sum: of the distances, without it and with it. */
static cpb_status choose_seed(grouping *g, size_t k, double *sum, cpb_random *random, cpb_error *error) {
  double least = INFINITY, with;
  size_t best = 0;
  cpb_status status = CPB_OK;
  for (size_t t = 0; t < (k == 0 ? 1 : TRIES) && status == CPB_OK; t++) {
    size_t row = k == 0 ? draw_any(g, random) : draw_row(g, *sum, random);
    status = try_center(g, row, &with, error);
    if (t > 0 && !(with < least)) continue;
    least = with;
    best = row;
  }
  if (status == CPB_OK) status = try_center(g, best, sum, error);
  memcpy(g->nearest, g->trial, g->n * sizeof *g->nearest);
  memcpy(g->centers + k * g->d, row_of(g, best), g->d * sizeof *g->centers);
  return status;
}

static cpb_status choose_seeds(grouping *g, cpb_random *random, cpb_error *error) {
  const cpb_exec *whole = g->exec;
  cpb_status status = CPB_OK;
  double sum = 0;
  for (size_t i = 0; i < g->n; i++) g->nearest[i] = INFINITY;
  for (size_t k = 0; k < g->groups && status == CPB_OK; k++) {
    double share = SEEDED * (double)k / (double)g->groups;
    g->exec = CPB_EXEC_PART(whole, share, share);
    status = choose_seed(g, k, &sum, random, error);
  }
  g->exec = whole;
  return status;
}

/* ---- Lloyd's steps ---- */

static void assign_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  const cpb_loops *loops = cpb_loops_here();
  const grouping *g = arg;
  for (size_t i = first; i < first + count; i++) {
    g->nearest[i] = INFINITY;
    for (size_t k = 0; k < g->groups; k++) {
      double dist2 = loops->dist2(row_of(g, i), g->centers + k * g->d, g->d);
      if (!(dist2 < g->nearest[i])) continue;
      g->nearest[i] = dist2;
      if (g->next != NULL) g->next[i] = k;
    }
  }
}

/* The squared distance of each row to the nearest centre, and which it is. */
static cpb_status find_nearest(grouping *g, const cpb_exec *exec, cpb_error *error) {
  return cpb_blocks_run_told(&(cpb_blocks){g->n, cpb_blocks_rows(g->groups * g->d), assign_block, g}, exec,
                             error);
}

/* changed: whether more than g->still rows have another group than before */
static cpb_status assign(grouping *g, int step, bool *changed, cpb_error *error) {
  double share = SEEDED + (1 - SEEDED) * step / (step + USUAL_STEPS);
  cpb_status status = find_nearest(g, CPB_EXEC_PART(g->exec, share, share), error);
  if (status != CPB_OK) return status;
  size_t moved = 0;
  for (size_t i = 0; i < g->n; i++) moved += g->next[i] != g->group[i];
  *changed = moved > g->still;
  memcpy(g->group, g->next, g->n * sizeof *g->next);
  return CPB_OK;
}

/* Adds the rows of each group by their weights, and the weights. */
static void sum_groups(const double *x, const double *weights, const size_t *group, size_t n, size_t d,
                       double *sums, double *share) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < n; i++) {
    double weight = weights != NULL ? weights[i] : 1, *sum = sums + group[i] * d;
    if (!(weight > 0)) continue; /* such a row may hold anything */
    loops->axpby(weight, x + i * d, 1, sum, sum, d);
    share[group[i]] += weight;
  }
}

/* Centres are the means of their groups; that of an empty one stays. */
static void take_means(grouping *g, double *sums) {
  memset(sums, 0, g->groups * g->d * sizeof *sums);
  memset(g->share, 0, g->groups * sizeof *g->share);
  sum_groups(g->x, g->weights, g->group, g->n, g->d, sums, g->share);
  for (size_t k = 0; k < g->groups; k++)
    for (size_t j = 0; j < g->d && g->share[k] > 0; j++)
      g->centers[k * g->d + j] = sums[k * g->d + j] / g->share[k];
}

/* At most so many steps from the centres that g has. */
static cpb_status step_on(grouping *g, int steps, double *sums, cpb_error *error) {
  cpb_status status = CPB_OK;
  bool changed = true;
  memset(g->group, 0xff, g->n * sizeof *g->group);
  for (int step = 0; step < steps && changed && status == CPB_OK; step++) {
    status = assign(g, step, &changed, error);
    if (status == CPB_OK && changed) take_means(g, sums);
  }
  return status;
}

/* The best of all starts, each of at most so many steps. */
static cpb_status group_best(grouping *g, int steps, double *sums, cpb_random *random, size_t *group,
                             cpb_error *error) {
  const cpb_exec *whole = g->exec;
  double least = INFINITY;
  cpb_status status = CPB_OK;
  for (int start = 0; start < STARTS && status == CPB_OK; start++) {
    g->exec = CPB_EXEC_PART(whole, (double)start / STARTS, (start + 1.) / STARTS);
    status = choose_seeds(g, random, error);
    if (status == CPB_OK) status = step_on(g, steps, sums, error);
    double sum = sum_of(g, g->nearest);
    if (status != CPB_OK || (start > 0 && !(sum < least))) continue;
    least = sum;
    memcpy(group, g->group, g->n * sizeof *group);
  }
  g->exec = whole;
  return status;
}

static cpb_status grouping_init(grouping *g, cpb_memory *memory, const double *x, const double *weights,
                                size_t n, size_t d, size_t groups, cpb_error *error) {
  *g = (grouping){.x = x, .weights = weights, .n = n, .d = d, .groups = groups};
  g->group = cpb_memory_take(memory, n, sizeof *g->group);
  g->centers = cpb_memory_take(memory, groups, d * sizeof *g->centers);
  g->nearest = cpb_memory_take(memory, n, sizeof *g->nearest);
  g->trial = cpb_memory_take(memory, n, sizeof *g->trial);
  g->share = cpb_memory_take(memory, groups, sizeof *g->share);
  g->next = cpb_memory_zeros(memory, n, sizeof *g->next);
  return memory->failed ? cpb_fail_memory(error, "%zu groups of %zu rows", groups, n) : CPB_OK;
}

/* Groups of a sample of the rows, by the start that is best after a few steps; their means become the centres of g. */
static cpb_status start_from_sample(grouping *g, size_t most, uint64_t seed, double *sums, cpb_memory *memory,
                                    cpb_error *error) {
  cpb_row_sample sample = {0};
  cpb_view chosen;
  grouping few;
  cpb_random random = {seed};
  cpb_status status =
      cpb_row_sample_draw(&sample, cpb_rows(g->x, CPB_F64, g->n, g->d), most, seed, &chosen, error);
  double *weights = g->weights != NULL ? cpb_memory_take(memory, most, sizeof *weights) : NULL;
  for (size_t i = 0; status == CPB_OK && weights != NULL && i < chosen.rows; i++)
    weights[i] = g->weights[sample.ids[i]];
  if (status == CPB_OK)
    status = grouping_init(&few, memory, chosen.data, weights, chosen.rows, g->d, g->groups, error);
  if (status == CPB_OK) {
    size_t *best = cpb_memory_take(memory, chosen.rows, sizeof *best);
    few.exec = g->exec;
    few.still = chosen.rows / STILL;
    status = memory->failed ? cpb_fail_memory(error, "a sample of %zu rows", most)
                            : group_best(&few, FIRST_STEPS, sums, &random, best, error);
    if (status == CPB_OK) {
      memcpy(few.group, best, chosen.rows * sizeof *best);
      take_means(&few, sums);
      status = step_on(&few, STEPS, sums, error);
    }
    if (status == CPB_OK) take_means(&few, sums);
    if (status == CPB_OK) memcpy(g->centers, few.centers, g->groups * g->d * sizeof *g->centers);
  }
  cpb_row_sample_free(&sample);
  return status;
}

/* k-means++ seeds (several tries for each), then Lloyd's steps until no row changes its group, 100 at most; of 8 starts
 * the one with the least sum of squared distances. Of more than twice 8192 + 64 k rows a sample of so many is grouped, from the
 * start that is best after 5 steps, and all rows from its means in 5 steps at most; then steps end where one row of 200 moves. A group may end empty. The same bits for any number of threads. */
cpb_status cpb_group_rows(cpb_view y, const cpb_model_fit_options *o, size_t *group, const cpb_exec *exec,
                          cpb_error *error) {
  enum { SAMPLE = 8192, PER_GROUP = 64 };
  const double STARTED = 0.6; /* when a sample is grouped */
  size_t n = y.rows, d = y.cols, k = o->balls, most = SAMPLE + PER_GROUP * k;
  if (k > n) return cpb_fail(error, CPB_WHY_ROWS, "balls", "there are %zu rows for %zu balls", n, k);
  cpb_status status = cpb_check_finite(y, "rows", d, exec, error);
  if (status != CPB_OK) return status;
  cpb_memory memory = {0};
  grouping g;
  cpb_random random = {o->seed};
  double *sums = cpb_memory_take(&memory, k, d * sizeof *sums);
  bool many = n / 2 > most;
  status = grouping_init(&g, &memory, y.data, o->weights, n, d, k, error);
  g.exec = many ? CPB_EXEC_PART(exec, 0, STARTED) : exec;
  if (status == CPB_OK)
    status = many ? start_from_sample(&g, most, o->seed, sums, &memory, error)
                  : group_best(&g, STEPS, sums, &random, group, error);
  g.exec = CPB_EXEC_PART(exec, STARTED, 1);
  if (status == CPB_OK && many) {
    g.still = n / STILL;
    status = step_on(&g, FIRST_STEPS, sums, error);
    memcpy(group, g.group, n * sizeof *group);
  }
  cpb_memory_free(&memory);
  return status;
}

cpb_status cpb_group_residuals(cpb_view rows, const cpb_model_fit_options *o, const size_t *group,
                               double *residuals, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = rows.cols;
  double *sums = calloc(o->balls * (d + 1), sizeof *sums), *share = sums + o->balls * d;
  if (sums == NULL) return cpb_fail_memory(error, "%zu means of %zu columns", o->balls, d);
  cpb_view_widen(rows, residuals);
  sum_groups(residuals, o->weights, group, rows.rows, d, sums, share);
  for (size_t i = 0; i < rows.rows; i++)
    if (share[group[i]] > 0)
      loops->axpby(1, residuals + i * d, -1 / share[group[i]], sums + group[i] * d, residuals + i * d, d);
  free(sums);
  return CPB_OK;
}

enum { EVEN_SHARES = 8 }; /* a group below this part of its even share of the rows gets no ball */

typedef struct grouped {
  const cpb_model_fit_options *o;
  size_t n, d;
  cpb_view y;
  double *some;                 /* the rows of a group, .. */
  double *weights;              /* .. and their weights, NULL without */
  double *dist2;                /* of each row to the nearest centre */
  const double *radius_weights; /* of each row, for the radius; NULL: all 1 */
  const size_t *group;          /* of each row */
  size_t *rows, used;           /* of each group, and of all, those with a weight */
  size_t *order;                /* groups, the one of the most rows first */
  cpb_balls *balls;
  const cpb_exec *exec; /* of the ball that is being fitted */
} grouped;

static bool counts(const grouped *g, size_t row) { return g->o->weights == NULL || g->o->weights[row] > 0; }

/* By the number of their rows; of equal ones the one that was found first. */
static void order_groups(grouped *g) {
  for (size_t j = 0; j < g->o->balls; j++) {
    size_t at = j;
    for (; at > 0 && g->rows[g->order[at - 1]] < g->rows[j]; at--) g->order[at] = g->order[at - 1];
    g->order[at] = j;
  }
}

static cpb_status allocate(grouped *g, cpb_memory *memory, cpb_error *error) {
  size_t k = g->o->balls, row = g->d * sizeof(double);
  cpb_memory *own = &g->balls->memory;
  g->rows = cpb_memory_zeros(memory, k, sizeof *g->rows);
  g->order = cpb_memory_take(memory, k, sizeof *g->order);
  g->dist2 = cpb_memory_take(memory, g->n, sizeof *g->dist2);
  if (memory->failed) return cpb_fail_memory(error, "%zu balls", k);
  for (size_t i = 0; i < g->n; i++) g->rows[g->group[i]] += counts(g, i);
  for (size_t j = 0; j < k; j++) g->used += g->rows[j];
  order_groups(g);
  g->some = cpb_memory_take(memory, g->rows[g->order[0]], row);
  if (g->o->weights != NULL) g->weights = cpb_memory_take(memory, g->rows[g->order[0]], sizeof *g->weights);
  g->balls->centers = cpb_memory_zeros(own, k, row);
  g->balls->radii = cpb_memory_zeros(own, k, sizeof(double));
  g->balls->gaps = cpb_memory_zeros(own, k, sizeof(double));
  g->balls->rows = cpb_memory_zeros(own, k, sizeof(uint64_t));
  if (!memory->failed && !own->failed) return CPB_OK;
  return cpb_fail_memory(error, "%zu balls of %zu rows and %zu columns", k, g->n, g->d);
}

/* The rows of a group in the order they came in. */
static void take_rows(const grouped *g, size_t group) {
  size_t at = 0;
  for (size_t i = 0; i < g->n; i++) {
    if (g->group[i] != group || !counts(g, i)) continue;
    memcpy(g->some + at * g->d, (const double *)g->y.data + i * g->d, g->d * sizeof *g->some);
    if (g->weights != NULL) g->weights[at] = g->o->weights[i];
    at++;
  }
}

/* ---- one ball ---- */

static cpb_status enclose(const grouped *g, cpb_view rows, double *center, cpb_svdd_report *found,
                          cpb_error *error) {
  cpb_ball_options options;
  cpb_ball_report report = {.size = sizeof report};
  cpb_ball_options_init(&options, sizeof options);
  options.gap = g->o->gap;
  cpb_ball_out out = {center, NULL, NULL};
  cpb_status status = cpb_enclosing_ball(rows, &options, &out, &report, g->exec, error);
  *found = cpb_report_of_ball(&report);
  return status;
}

static cpb_status describe(const grouped *g, cpb_view rows, const double *weights, double *center,
                           cpb_svdd_report *found, cpb_error *error) {
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = weights == NULL ? fmax(g->o->nu, 1 / (double)rows.rows) : g->o->nu;
  options.gap = g->o->gap;
  options.method = g->o->method;
  options.weights = weights;
  double *a = calloc(rows.rows, sizeof *a);
  if (a == NULL) return cpb_fail_memory(error, "%zu multipliers", rows.rows);
  cpb_status status = cpb_svdd(rows, &options, center, a, found, g->exec, error);
  free(a);
  return status;
}

static cpb_status fit_group(const grouped *g, size_t group, cpb_error *error) {
  cpb_balls *balls = g->balls;
  size_t at = balls->count;
  cpb_view rows = cpb_rows(g->some, CPB_F64, g->rows[group], g->d);
  const double *weights = g->weights;
  take_rows(g, group);
  double *center = balls->centers + at * g->d;
  cpb_svdd_report f = {.size = sizeof f}, *all = &balls->report;
  cpb_status status =
      g->o->nu > 0 ? describe(g, rows, weights, center, &f, error) : enclose(g, rows, center, &f, error);
  if (status != CPB_OK) return status;
  if (at == 0) *all = (cpb_svdd_report){.lower_bound = f.lower_bound, .gap = f.gap, .converged = true};
  balls->radii[at] = f.radius;
  balls->gaps[at] = f.gap;
  balls->rows[at] = rows.rows;
  all->support += f.support;
  all->iterations += f.iterations;
  all->seconds += f.seconds;
  all->converged = all->converged && f.converged;
  balls->count++;
  return CPB_OK;
}

static cpb_status fit_groups(grouped *g, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  double fitted = 0, n = (double)g->used;
  for (size_t k = 0; k < g->o->balls && status == CPB_OK; k++) {
    double rows = (double)g->rows[g->order[k]];
    bool enough = rows > 0 && rows * EVEN_SHARES * (double)g->o->balls >= n;
    g->exec = CPB_EXEC_PART(exec, fitted / n, (fitted + rows) / n);
    if (enough) status = fit_group(g, g->order[k], error);
    fitted += rows;
  }
  return status;
}

/* ---- the common radius ---- */

/* The least square > 0; 0 without one. */
static double least_square(const cpb_ranked *rows, size_t n) {
  double least = INFINITY;
  for (size_t i = 0; i < n; i++)
    if (rows[i].key > 0) least = fmin(least, rows[i].key);
  return least < INFINITY ? least : 0;
}

/* The distance of the row at which the share nu is used up, from the farthest on; of rows on a centre the nearest that
 * is not on one. Orders the squares, of rows that have their weight at `id`. */
static double radius_of(cpb_ranked *rows, size_t n, const double *weights, double nu) {
  if (weights == NULL) {
    size_t outside = (size_t)fmin(fmax(ceil(nu * (double)n), 1), (double)n);
    double dist2 = cpb_ranked_select(rows, n, n - outside).key;
    return sqrt(dist2 > 0 ? dist2 : least_square(rows, n));
  }
  cpb_ranked_sort(rows, n);
  double all = 0, outside = 0, dist2 = rows[n - 1].key;
  for (size_t i = 0; i < n; i++) all += weights[rows[i].id];
  for (size_t i = n; i-- > 0 && outside < nu * all && rows[i].key > 0;) {
    outside += weights[rows[i].id];
    dist2 = rows[i].key;
  }
  return sqrt(dist2);
}

static cpb_status find_radius(grouped *g, const cpb_exec *exec, cpb_error *error) {
  grouping all = {.x = g->y.data,
                  .n = g->n,
                  .d = g->d,
                  .groups = g->balls->count,
                  .centers = g->balls->centers,
                  .nearest = g->dist2};
  cpb_status status = find_nearest(&all, exec, error);
  if (status != CPB_OK) return status;
  cpb_ranked *rows = calloc(g->n, sizeof *rows);
  if (rows == NULL) return cpb_fail_memory(error, "%zu distances", g->n);
  for (size_t i = 0; i < g->n; i++) rows[i] = (cpb_ranked){g->dist2[i], i};
  g->balls->report.radius = radius_of(rows, g->n, g->radius_weights, g->o->nu);
  free(rows);
  return CPB_OK;
}

cpb_status cpb_radius_of_share(cpb_view y, const double *center, const double *weights, double nu,
                               double *radius, cpb_error *error) {
  size_t used = 0;
  cpb_ranked *rows = calloc(y.rows, sizeof *rows);
  if (rows == NULL) return cpb_fail_memory(error, "%zu distances", y.rows);
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < y.rows; i++) {
    if (weights != NULL && !(weights[i] > 0)) continue;
    rows[used].id = i;
    cpb_dist2_of_rows(loops, y, 0, i, 1, center, &rows[used++].key);
  }
  *radius = radius_of(rows, used, weights, nu);
  free(rows);
  return CPB_OK;
}

cpb_status cpb_fit_balls(cpb_view y, const cpb_model_fit_options *options, const double *radius_weights,
                         const size_t *group, cpb_balls *balls, const cpb_exec *exec, cpb_error *error) {
  const double FITTED = 0.9;
  grouped g = {.o = options,
               .radius_weights = radius_weights,
               .y = y,
               .n = y.rows,
               .d = y.cols,
               .group = group,
               .balls = balls};
  balls->d = y.cols;
  cpb_memory memory = {0};
  cpb_status status = allocate(&g, &memory, error);
  if (status == CPB_OK) status = fit_groups(&g, CPB_EXEC_PART(exec, 0, FITTED), error);
  if (status == CPB_OK) status = find_radius(&g, CPB_EXEC_PART(exec, FITTED, 1), error);
  cpb_memory_free(&memory);
  return status;
}
