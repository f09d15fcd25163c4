#include "ball/choose_balls.h"

#include <stdlib.h>
#include <string.h>

#include "ball/several_balls.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/tell.h"
#include "capball/ball.h"
#include "loops/distances.h"
#include "statistics/row_sample.h"

enum { TRIED = 8, TAKEN = 16, SAMPLE = 8192, ROWS_PER_BALL = 20 };
static const double LEAST_GAIN = 0.1;

typedef struct trial {
  const cpb_model_fit_options *options;
  size_t d, kept, halves[2]; /* rows with a weight; of the two halves of the sample */
  double *x[2], *shuffled;   /* rows of the halves; of the second, shuffled */
  cpb_memory memory;
} trial;

static bool is_drawn(const trial *t, uint64_t hash) {
  return t->kept <= SAMPLE || hash <= (uint64_t)(SAMPLE / (double)t->kept * 0x1p64);
}

/* Rows by a hash of their numbers: whether they are drawn, and for which half. */
static cpb_status take_halves(trial *t, cpb_view y, const double *weight, cpb_error *error) {
  const size_t MOST = 2 * SAMPLE; /* which chance does not reach */
  size_t room = t->kept < MOST ? t->kept : MOST;
  for (int half = 0; half < 2; half++) t->x[half] = cpb_memory_take(&t->memory, room, t->d * sizeof(double));
  t->shuffled = cpb_memory_take(&t->memory, room, t->d * sizeof(double));
  if (t->memory.failed) return cpb_fail_memory(error, "a sample of %zu rows", room);
  for (size_t i = 0; i < y.rows; i++) {
    uint64_t hash = cpb_row_sample_hash(t->options->seed, i);
    size_t half = hash & 1, at = t->halves[half];
    if (!(weight[i] > 0) || !is_drawn(t, hash) || at == room) continue;
    memcpy(t->x[half] + at * t->d, (const double *)y.data + i * t->d, t->d * sizeof(double));
    t->halves[half]++;
  }
  return CPB_OK;
}

/* Each column of the second half in an order of its own. */
static void shuffle(trial *t) {
  cpb_random random = {t->options->seed};
  size_t n = t->halves[1], d = t->d;
  memcpy(t->shuffled, t->x[1], n * d * sizeof(double));
  for (size_t j = 0; j < d; j++)
    for (size_t i = n; i > 1; i--) {
      size_t other = cpb_random_below(&random, i);
      double number = t->shuffled[other * d + j];
      t->shuffled[other * d + j] = t->shuffled[(i - 1) * d + j];
      t->shuffled[(i - 1) * d + j] = number;
    }
}

/* Means of k groups of the first half. */
static cpb_status find_means(const trial *t, size_t k, size_t *group, double *means, const cpb_exec *exec,
                             cpb_error *error) {
  size_t n = t->halves[0], d = t->d, rows[TRIED] = {0};
  cpb_model_fit_options o = *t->options;
  o.balls = k;
  o.weights = NULL;
  memset(means, 0, k * d * sizeof *means);
  memset(group, 0, n * sizeof *group);
  cpb_status status = CPB_OK;
  if (k > 1) status = cpb_group_rows(cpb_rows(t->x[0], CPB_F64, n, d), &o, group, exec, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i < n; i++) {
    rows[group[i]]++;
    for (size_t j = 0; j < d; j++) means[group[i] * d + j] += t->x[0][i * d + j];
  }
  for (size_t g = 0; g < k; g++)
    for (size_t j = 0; j < d && rows[g] > 0; j++) means[g * d + j] /= (double)rows[g];
  return CPB_OK;
}

static void score_rows(const trial *t, const double *x, const double *means, size_t k, double *scores) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < t->halves[1]; i++) {
    scores[i] = -INFINITY;
    for (size_t g = 0; g < k; g++)
      scores[i] = fmax(scores[i], -loops->dist2(x + i * t->d, means + g * t->d, t->d));
  }
}

/* The share of pairs of a row and a shuffled one in which the row is nearer to a mean. */
static cpb_status tell_apart(trial *t, size_t k, double *share, const cpb_exec *exec, cpb_error *error) {
  size_t n = t->halves[1];
  cpb_ranking ranking = {.size = sizeof ranking};
  cpb_memory memory = {0};
  double *means = cpb_memory_take(&memory, k, t->d * sizeof *means);
  double *scores = cpb_memory_take(&memory, n, 2 * sizeof *scores);
  double *labels = cpb_memory_zeros(&memory, n, 2 * sizeof *labels);
  size_t *group = cpb_memory_take(&memory, t->halves[0], sizeof *group);
  cpb_status status = memory.failed ? cpb_fail_memory(error, "the means of %zu groups", k)
                                    : find_means(t, k, group, means, exec, error);
  if (status == CPB_OK) {
    score_rows(t, t->x[1], means, k, scores);
    score_rows(t, t->shuffled, means, k, scores + n);
    for (size_t i = 0; i < n; i++) labels[n + i] = 1;
    status = cpb_score_ranking(scores, labels, 2 * n, &ranking, error);
  }
  *share = ranking.auc;
  cpb_memory_free(&memory);
  return status;
}

cpb_status cpb_choose_balls(cpb_view y, const double *weight, const cpb_model_fit_options *options,
                            size_t *balls, cpb_text *notes, const cpb_exec *exec, cpb_error *error) {
  trial t = {.options = options, .d = y.cols};
  double one = 0, several = 0;
  *balls = 1;
  for (size_t i = 0; i < y.rows; i++) t.kept += weight[i] > 0;
  if (t.kept < TAKEN * ROWS_PER_BALL) {
    cpb_text_format(notes, "one ball: there are fewer than %d ordinary rows for each of %d\n", ROWS_PER_BALL,
                    TAKEN);
    return CPB_OK;
  }
  cpb_status status = take_halves(&t, y, weight, error);
  if (status == CPB_OK) {
    shuffle(&t);
    status = tell_apart(&t, 1, &one, CPB_EXEC_PART(exec, 0, 0), error);
  }
  if (status == CPB_OK) status = tell_apart(&t, TRIED, &several, exec, error);
  cpb_memory_free(&t.memory);
  if (status != CPB_OK) return status;
  bool clouds = several - one >= LEAST_GAIN;
  if (clouds) *balls = TAKEN;
  cpb_text_format(
      notes, "%s: %d groups tell rows from rows of shuffled columns in %.1f %% of pairs, one in %.1f %%\n",
      clouds ? "16 balls" : "one ball", TRIED, 100 * several, 100 * one);
  return CPB_OK;
}
