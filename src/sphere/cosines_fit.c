/* T8 T9: cosines of pairs of rows before and after the embedding. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/laws.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/sized.h"
#include "capball/advanced/fitting.h"
#include "statistics/statistics_fit.h"
#include "sphere/t1_embed.h"
#include "loops/table.h"

CPB_DEFAULTS(cpb_cosines_options, .size = sizeof(cpb_cosines_options), .sample = 500)

static void compare(cpb_cosines *c) {
  double a = cpb_mean(c->before, c->pairs), b = cpb_mean(c->after, c->pairs), aa = 0, ab = 0, bb = 0,
         square = 0;
  for (size_t i = 0; i < c->pairs; i++) {
    double x = c->before[i], y = c->after[i];
    aa += (x - a) * (x - a);
    ab += (x - a) * (y - b);
    bb += (y - b) * (y - b);
    square += (y - x) * (y - x);
  }
  c->correlation = ab / sqrt(aa * bb);
  c->slope = ab / aa;
  c->rms = sqrt(square / (double)c->pairs);
}

/* A sample about its mean, and its images. */
typedef struct sample {
  size_t n, d;
  double *rows, *norms, *images;
} sample;

/* Computes all pairs of rows that have a direction. */
static void fill_pairs(const sample *s, cpb_cosines *c) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < s->n; i++)
    for (size_t j = 0; j < i; j++) {
      if (s->norms[i] == 0 || s->norms[j] == 0) continue;
      double product = loops->dot(s->rows + i * s->d, s->rows + j * s->d, s->d);
      c->before[c->pairs] = product / (s->norms[i] * s->norms[j]);
      c->after[c->pairs++] = loops->dot(s->images + i * (s->d + 1), s->images + j * (s->d + 1), s->d + 1);
    }
}

static cpb_status centre_rows(const sample *s, const cpb_statistics_result *facts, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  cpb_status status = CPB_OK;
  cpb_view_widen(facts->sample, s->rows);
  for (size_t i = 0; i < s->n && status == CPB_OK; i++) {
    double *row = s->rows + i * s->d;
    loops->axpby(1, row, -1, facts->mean, row, s->d);
    status = cpb_max_norm(cpb_rows(row, CPB_F64, 1, s->d), NULL, &s->norms[i], NULL, error);
  }
  return status;
}

/* Scales the rows so that products and squares are about 1. */
static void make_unit_size(const sample *s) {
  for (size_t i = 0; i < s->n; i++) {
    double unit = s->norms[i] > 0 ? cpb_unit_power(s->norms[i]) : 1;
    for (size_t j = 0; j < s->d; j++) s->rows[i * s->d + j] *= unit;
    s->norms[i] *= unit;
  }
}

static cpb_status look_at_pairs(const sample *s, const cpb_statistics_result *facts, cpb_cosines *c,
                                cpb_error *error) {
  cpb_status status = centre_rows(s, facts, error);
  if (status != CPB_OK) return status;
  if (c->s == 0) c->s = cpb_mean(s->norms, s->n);
  status = cpb_embed(cpb_rows(s->rows, CPB_F64, s->n, s->d), cpb_rows_out(s->images, CPB_F64, s->n, s->d + 1),
                     c->s, error);
  if (status != CPB_OK) return status;
  make_unit_size(s);
  fill_pairs(s, c);
  if (c->pairs < 2)
    return cpb_fail(error, CPB_WHY_NO_ROWS, "rows", "there are fewer than 2 pairs of rows with a direction");
  compare(c);
  return CPB_OK;
}

static cpb_status find(const cpb_statistics_result *facts, cpb_cosines *c, cpb_error *error) {
  size_t n = facts->sample.rows, d = facts->sample.cols;
  cpb_memory memory = {0};
  sample s = {n, d, cpb_memory_take(&memory, n, d * sizeof(double)),
              cpb_memory_take(&memory, n, sizeof(double)),
              cpb_memory_take(&memory, n, (d + 1) * sizeof(double))};
  c->before = malloc((n * n / 2 + 1) * sizeof *c->before);
  c->after = malloc((n * n / 2 + 1) * sizeof *c->after);
  bool there = !memory.failed && c->before != NULL && c->after != NULL;
  cpb_status status =
      there ? look_at_pairs(&s, facts, c, error) : cpb_fail_memory(error, "the pairs of %zu rows", n);
  cpb_memory_free(&memory);
  return status;
}

cpb_status cpb_cosines_fit(cpb_source *rows, const cpb_cosines_options *options, cpb_cosines *cosines,
                           const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_cosines_options o = defaults;
  cpb_cosines found = {.size = sizeof found};
  cpb_statistics *statistics = NULL;
  cpb_statistics_result facts;
  if (cosines == NULL) return cpb_fail_missing(error, "cosines");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cosines options", error);
  if (status == CPB_OK) status = cpb_passes_init(&passes, rows, 1, exec, error);
  if (status != CPB_OK) return status;
  cpb_statistics_fit_options gathering = {.sample = o.sample, .seed = o.seed, .skip_bad = o.skip_bad};
  found.s = o.s;
  status = cpb_gather(&passes, &gathering, CPB_GATHER_COLUMNS, &statistics, &facts, error);
  if (status == CPB_OK) status = find(&facts, &found, error);
  cpb_statistics_free(statistics);
  if (status == CPB_OK) {
    cpb_sized_give(cosines, &found, sizeof found);
    return CPB_OK;
  }
  free(found.before);
  free(found.after);
  return status;
}
