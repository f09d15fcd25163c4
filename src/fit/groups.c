#include "fit/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/random.h"
#include "loop/table.h"
#include "parallel/blocks.h"

enum { STARTS = 8, STEPS = 100, TRIES = 4 };

typedef struct grouping {
  const double *x, *weights;
  size_t n, d, groups, *group;
  double *centers, *nearest; /* nearest: dist2 of each row to the nearest centre */
  double *trial;             /* the same if a further centre were added */
  double *share;             /* of each group: the weight of its rows */
  size_t *next;              /* of each group; of each row the group of the next step */
  const cpb_exec *exec;
} grouping;

static double weight_of(const grouping *g, size_t i) { return g->weights != NULL ? g->weights[i] : 1; }

static const double *row_of(const grouping *g, size_t i) { return g->x + i * g->d; }

/* ---- seeds ---- */

typedef struct adding {
  const grouping *g;
  const double *center;
} adding;

static void add_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  const adding *a = arg;
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = first; i < first + count; i++)
    a->g->trial[i] = fmin(a->g->nearest[i], loops->dist2(row_of(a->g, i), a->center, a->g->d));
}

/* trial = the distances with this centre added; gives their sum. */
static double try_center(const grouping *g, const double *center) {
  adding a = {g, center};
  cpb_blocks blocks = {g->n, cpb_blocks_rows(g->d), add_block, &a};
  cpb_blocks_run(&blocks, g->exec);
  double sum = 0;
  for (size_t i = 0; i < g->n; i++) sum += weight_of(g, i) * g->trial[i];
  return sum;
}

/* A row with a probability that is proportional to its distance. */
static size_t draw_row(const grouping *g, double sum, cpb_random *random) {
  double left = sum * cpb_random_uniform(random);
  for (size_t i = 0; i < g->n; i++) {
    double part = weight_of(g, i) * g->nearest[i];
    left -= part;
    if (left <= 0 && part > 0) return i;
  }
  return cpb_random_below(random, g->n);
}

static void take_trial(grouping *g) {
  double *taken = g->trial;
  g->trial = g->nearest;
  g->nearest = taken;
}

static void choose_seeds(grouping *g, cpb_random *random) {
  double sum = 0;
  for (size_t i = 0; i < g->n; i++) g->nearest[i] = INFINITY;
  for (size_t k = 0; k < g->groups; k++) {
    size_t best = k == 0 ? cpb_random_below(random, g->n) : draw_row(g, sum, random);
    double least = try_center(g, row_of(g, best));
    for (size_t t = 1; k > 0 && t < TRIES; t++) {
      size_t row = draw_row(g, sum, random);
      double with = try_center(g, row_of(g, row));
      if (with < least) {
        least = with;
        best = row;
      }
    }
    sum = try_center(g, row_of(g, best));
    take_trial(g);
    memcpy(g->centers + k * g->d, row_of(g, best), g->d * sizeof *g->centers);
  }
}

/* ---- Lloyd's steps ---- */

static void assign_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  const grouping *g = arg;
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = first; i < first + count; i++) {
    double least = INFINITY;
    for (size_t k = 0; k < g->groups; k++) {
      double dist2 = loops->dist2(row_of(g, i), g->centers + k * g->d, g->d);
      if (dist2 < least) {
        least = dist2;
        g->next[i] = k;
      }
    }
    g->nearest[i] = least;
  }
}

/* Whether some row has changed its group. */
static bool assign(grouping *g) {
  cpb_blocks blocks = {g->n, cpb_blocks_rows(g->groups * g->d), assign_block, g};
  cpb_blocks_run(&blocks, g->exec);
  bool changed = memcmp(g->next, g->group, g->n * sizeof *g->next) != 0;
  memcpy(g->group, g->next, g->n * sizeof *g->next);
  return changed;
}

/* Centres are the means of their groups; that of an empty one stays. */
static void take_means(grouping *g, double *sums) {
  const cpb_loops *loops = cpb_loops_here();
  memset(sums, 0, g->groups * g->d * sizeof *sums);
  memset(g->share, 0, g->groups * sizeof *g->share);
  for (size_t i = 0; i < g->n; i++) {
    double *sum = sums + g->group[i] * g->d;
    loops->axpby(weight_of(g, i), row_of(g, i), 1, sum, sum, g->d);
    g->share[g->group[i]] += weight_of(g, i);
  }
  for (size_t k = 0; k < g->groups; k++)
    for (size_t j = 0; j < g->d && g->share[k] > 0; j++)
      g->centers[k * g->d + j] = sums[k * g->d + j] / g->share[k];
}

/* Groups from one start; the sum of the squared distances to the centres. */
static double group_once(grouping *g, double *sums, cpb_random *random) {
  memset(g->group, 0xff, g->n * sizeof *g->group);
  choose_seeds(g, random);
  for (int step = 0; step < STEPS && assign(g); step++) take_means(g, sums);
  double sum = 0;
  for (size_t i = 0; i < g->n; i++) sum += weight_of(g, i) * g->nearest[i];
  return sum;
}

cpb_status cpb_groups(const double *x, const double *weights, size_t n, size_t d, size_t groups,
                      uint64_t seed, size_t *group, const cpb_exec *exec, cpb_error *error) {
  size_t centers = groups * d;
  double *memory = calloc(2 * centers + 2 * n + groups + 1, sizeof *memory), least = INFINITY;
  size_t *numbers = calloc(2 * n + 1, sizeof *numbers);
  grouping g = {
      .x = x, .weights = weights, .n = n, .d = d, .groups = groups, .centers = memory, .exec = exec};
  cpb_random random = {seed};
  bool room = memory != NULL && numbers != NULL;
  for (int start = 0; start < STARTS && room; start++) {
    g.nearest = memory + 2 * centers;
    g.trial = g.nearest + n;
    g.share = g.trial + n;
    g.next = numbers;
    g.group = g.next + n;
    double sum = group_once(&g, memory + centers, &random);
    if (start > 0 && !(sum < least)) continue;
    least = sum;
    memcpy(group, g.group, n * sizeof *group);
  }
  free(memory);
  free(numbers);
  return room ? CPB_OK : cpb_fail_memory(error, "%zu groups of %zu rows", groups, n);
}
