#include "recommend/recommend_parts.h"

#include <math.h>
#include <stdlib.h>

#include "core/best.h"

cpb_recommend_row *cpb_verdict_row(cpb_recommendation *of, cpb_engine index, size_t recipe, size_t form) {
  return &of->row[(size_t)index * of->per_index + of->first_of[recipe] + form];
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

void cpb_verdict_begin(cpb_recommendation *of, const size_t measured[CPB_RECIPES]) {
  static const double steps[] = {1, 0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp+0}; /* powers of 2^(1/3) */
  cpb_recommendation_facts *facts = &of->facts;
  for (size_t i = 0; i < CPB_VERDICT_CURVE; i++) {
    double candidates = ceil(ldexp((double)facts->k * steps[i % 3], (int)(i / 3)));
    of->candidates[i] = candidates < (double)facts->base_rows ? (uint64_t)candidates : facts->base_rows;
  }
  of->per_index = 0;
  for (size_t i = 0; i < CPB_RECIPES; i++) {
    of->first_of[i] = of->per_index;
    of->per_index += measured[i];
  }
  for (size_t i = 0; i < CPB_VERDICT_ROWS; i++) {
    of->rows[i] = &of->row[i];
    of->row[i] = (cpb_recommend_row){.size = sizeof of->row[i], .curve = of->curves[i]};
  }
  facts->curve_count = CPB_VERDICT_CURVE;
  facts->candidates = of->candidates;
  facts->count = CPB_ENGINES * of->per_index;
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
  qsort(ranks, count, sizeof *ranks, cpb_compare_ids);
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

static bool is_simpler(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  return effort(a) != effort(b) ? effort(a) < effort(b) : is_better(a, b);
}

/* The criterion is the fewest candidates for 99 %. Within its noise the higher recall wins, and within the noise of that
 * the simplest. */
static size_t best_of(const cpb_recommendation *of, cpb_engine engine, choice *allows) {
  const cpb_recommend_row *rows = of->row + (size_t)engine * of->per_index, *end = rows + of->per_index;
  const cpb_recommend_row *best = NULL, *pick = NULL;
  for (const cpb_recommend_row *row = rows; row < end; row++)
    if (allows(row) && (best == NULL || is_better(row, best))) best = row;
  uint64_t most = best->candidates_most;
  for (const cpb_recommend_row *row = rows; row < end; row++)
    if (allows(row) && row->candidates_for_99 <= most && (pick == NULL || row->recall > pick->recall))
      pick = row;
  double least = pick->recall - pick->recall_error;
  for (const cpb_recommend_row *row = rows; row < end; row++)
    if (allows(row) && row->candidates_for_99 <= most && row->recall >= least && is_simpler(row, pick))
      pick = row;
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
