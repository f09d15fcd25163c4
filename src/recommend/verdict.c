#include "recommend/verdict.h"

#include <math.h>
#include <stdlib.h>

enum { RIVALS = 2, SCALES = 5, PER_INDEX = RIVALS + 2 * SCALES + 2 };

cpb_recommend_row *cpb_verdict_row(cpb_recommendation *of, cpb_engine index, size_t recipe, size_t form) {
  size_t at = recipe;
  if (recipe >= RIVALS) at = RIVALS + 2 * (recipe - RIVALS) + form;
  if (recipe >= RIVALS + SCALES) at = recipe + SCALES;
  return &of->row[(size_t)index * PER_INDEX + at];
}

static int rising(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* How many of the ascending ranks are below `place`. */
static size_t below(const uint64_t *ranks, size_t count, uint64_t place) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ranks[middle] < place)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static size_t bytes_of(cpb_engine index, size_t cols) {
  if (index == CPB_ENGINE_BITS) return (cols + 7) / 8;
  return index == CPB_ENGINE_INT8 ? cols : 4 * cols;
}

void cpb_verdict_begin(cpb_recommendation *of) {
  static const double steps[] = {1, 0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp+0}; /* powers of 2^(1/3) */
  cpb_recommendation_facts *facts = &of->facts;
  for (size_t i = 0; i < CPB_VERDICT_CURVE; i++) {
    double candidates = ceil(ldexp((double)facts->k * steps[i % 3], (int)(i / 3)));
    of->candidates[i] = candidates < (double)facts->base_rows ? (uint64_t)candidates : facts->base_rows;
  }
  for (size_t i = 0; i < CPB_VERDICT_ROWS; i++) {
    of->rows[i] = &of->row[i];
    of->row[i] = (cpb_recommend_row){.size = sizeof of->row[i], .curve = of->curves[i]};
  }
  facts->curve_count = CPB_VERDICT_CURVE;
  facts->candidates = of->candidates;
  facts->count = CPB_VERDICT_ROWS;
  facts->rows = of->rows;
}

/* Neighbours of one query are correlated: the queries are the sample. */
static void set_errors(cpb_recommend_row *row, const uint64_t *ranks, size_t count, double queries) {
  double share = fmin(1, 0.99 + sqrt(0.99 * 0.01 / queries));
  size_t at = (size_t)ceil(share * (double)count);
  row->candidates_most = ranks[at < 1 ? 0 : at > count ? count - 1 : at - 1] + 1;
  if (row->candidates_most < row->candidates_for_99) row->candidates_most = row->candidates_for_99;
  row->recall_error = sqrt(row->recall * (1 - row->recall) / queries);
}

void cpb_verdict_measure(cpb_recommendation *of, cpb_recommend_row *row, uint64_t *ranks, size_t count,
                         size_t cols) {
  double *curve = of->curves[row - of->row];
  qsort(ranks, count, sizeof *ranks, rising);
  row->recall = (double)below(ranks, count, of->facts.k) / (double)count;
  row->candidates_for_99 = ranks[count - count / 100 - 1] + 1;
  set_errors(row, ranks, count, (double)of->facts.queries);
  row->bytes = bytes_of(row->index, cols);
  for (size_t i = 0; i < CPB_VERDICT_CURVE; i++)
    curve[i] = (double)below(ranks, count, of->candidates[i]) / (double)count;
}

/* ---- the choice ---- */

/* Simplest first: rows, then lifts, then the sphere, which needs a fit, then balls, which also need a radius. */
static int effort(const cpb_recommend_row *row) { return row->sphere ? 100 + row->ball : (int)row->kind; }

static bool is_better(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  if (a->candidates_for_99 != b->candidates_for_99) return a->candidates_for_99 < b->candidates_for_99;
  if (a->recall != b->recall) return a->recall > b->recall;
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  return effort(a) < effort(b);
}

typedef bool choice(const cpb_recommend_row *row);

static bool any(const cpb_recommend_row *row) { return row != NULL; }
static bool is_sphere(const cpb_recommend_row *row) { return row->sphere; }
static bool is_rival(const cpb_recommend_row *row) { return !row->sphere; }
static bool takes_cosine(const cpb_recommend_row *row) {
  return row->sphere || row->kind != CPB_TRANSFORM_LIFT_IP;
}
static bool takes_long_rows(const cpb_recommend_row *row) {
  return row->sphere || row->kind != CPB_TRANSFORM_LIFT_COSINE;
}

static bool is_as_good(const cpb_recommend_row *a, const cpb_recommend_row *best) {
  return a->candidates_for_99 <= best->candidates_most && a->recall >= best->recall - best->recall_error;
}

static bool is_simpler(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  return effort(a) != effort(b) ? effort(a) < effort(b) : is_better(a, b);
}

/* The best row of one index among the allowed ones; a simpler one if the sample is too small to distinguish them. */
static size_t best_of(const cpb_recommendation *of, cpb_engine engine, choice *allows) {
  const cpb_recommend_row *rows = of->row + (size_t)engine * PER_INDEX, *best = NULL;
  for (size_t i = 0; i < PER_INDEX; i++)
    if (allows(&rows[i]) && (best == NULL || is_better(&rows[i], best))) best = &rows[i];
  const cpb_recommend_row *pick = best;
  for (size_t i = 0; i < PER_INDEX; i++)
    if (allows(&rows[i]) && is_as_good(&rows[i], best) && is_simpler(&rows[i], pick)) pick = &rows[i];
  return (size_t)(pick - of->row);
}

void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine) {
  cpb_recommendation_facts *facts = &of->facts;
  facts->pick = best_of(of, engine, any);
  const cpb_recommend_row *pick = &of->row[facts->pick];
  facts->rival = best_of(of, engine, pick->sphere ? is_rival : is_sphere);
  facts->for_cosine = best_of(of, engine, takes_cosine);
  facts->for_growing = best_of(of, engine, takes_long_rows);
  facts->poor = pick->recall < 0.5 && pick->candidates_for_99 > 10 * facts->k;
}
