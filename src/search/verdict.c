#include "search/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two rivals, five scales with two query forms each, two lifts. */
enum { RIVALS = 2, SCALES = 5, PER_INDEX = RIVALS + 2 * SCALES + 2 };

cpb_recommend_row *cpb_verdict_row(cpb_recommendation *of, cpb_engine index, size_t recipe, size_t form) {
  size_t at = recipe;
  if (recipe >= RIVALS) at = RIVALS + 2 * (recipe - RIVALS) + form;
  if (recipe >= RIVALS + SCALES) at = recipe + SCALES;
  return &of->rows[(size_t)index * PER_INDEX + at];
}

static int rising(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* How many of the places, in rising order, are below `place`. */
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

void cpb_verdict_measure(cpb_recommend_row *row, uint64_t *ranks, size_t count, size_t k, size_t rows,
                         size_t cols) {
  qsort(ranks, count, sizeof *ranks, rising);
  row->recall = (double)below(ranks, count, k) / (double)count;
  row->candidates_for_99 = ranks[count - count / 100 - 1] + 1;
  row->bytes = bytes_of(row->index, cols);
  uint64_t candidates = k;
  for (size_t i = 0; i < CPB_RECOMMEND_CURVE; i++) {
    row->curve[i] = (double)below(ranks, count, candidates) / (double)count;
    candidates = candidates < rows ? 2 * candidates : candidates;
  }
}

/* ---- the choice ---- */

static bool is_better(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  if (a->candidates_for_99 != b->candidates_for_99) return a->candidates_for_99 < b->candidates_for_99;
  if (a->recall != b->recall) return a->recall > b->recall;
  return a->bytes < b->bytes;
}

/* A family of transforms of one index: PER_INDEX rows, of which [first, end) are its own. */
static const cpb_recommend_row *best_of(const cpb_recommendation *of, cpb_engine engine, size_t first,
                                        size_t end) {
  const cpb_recommend_row *rows = of->rows + (size_t)engine * PER_INDEX, *best = &rows[first];
  for (size_t i = first + 1; i < end; i++)
    if (is_better(&rows[i], best)) best = &rows[i];
  return best;
}

static const char *common_name(const cpb_recommend_row *row) {
  if (strcmp(row->transform, "none") == 0) return "cosine of the raw rows";
  return strcmp(row->transform, "normalize") == 0 ? "centre + normalise" : row->transform;
}

static void name_row(const cpb_recommend_row *row, char *to, size_t room) {
  if (strcmp(row->transform, "sphere") == 0)
    snprintf(to, room, "the sphere at s = %.6g with %s queries", row->scale, row->ball ? "ball" : "point");
  else
    snprintf(to, room, "%s", common_name(row));
}

static void figures(const cpb_recommend_row *row, char *to, size_t room) {
  snprintf(to, room, "%llu candidates, recall %.1f %%", (unsigned long long)row->candidates_for_99,
           100 * row->recall);
}

/* What is said of the others when this family has the pick. */
static void compare_lift(const cpb_recommend_row *pick, const char *sphere, const char *its, char *to,
                         size_t room) {
  bool cosine = strcmp(pick->transform, "lift-cosine") == 0;
  snprintf(to, room, "The exact lift is better than the embedding here: take it %s, else take %s (%s).",
           cosine ? "unless new rows may be longer than the longest now"
                  : "if the engine has inner products of rows of any length",
           sphere, its);
}

void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine) {
  const cpb_recommend_row *pick = best_of(of, engine, 0, PER_INDEX);
  const cpb_recommend_row *rival = best_of(of, engine, 0, RIVALS);
  const cpb_recommend_row *sphere = best_of(of, engine, RIVALS, RIVALS + 2 * SCALES);
  char picked[96], its[64], spherical[96], sphere_figures[64], rival_figures[64], second[320];
  of->pick = (size_t)(pick - of->rows);
  name_row(pick, picked, sizeof picked);
  figures(pick, its, sizeof its);
  name_row(sphere, spherical, sizeof spherical);
  figures(sphere, sphere_figures, sizeof sphere_figures);
  figures(rival, rival_figures, sizeof rival_figures);
  if (pick == rival)
    snprintf(second, sizeof second, "The embedding does not help here: the best it does is %s (%s).",
             spherical, sphere_figures);
  else if (pick == sphere)
    snprintf(second, sizeof second, "Without it %s is the best (%s).", common_name(rival), rival_figures);
  else
    compare_lift(pick, spherical, sphere_figures, second, sizeof second);
  snprintf(of->text, sizeof of->text,
           "For %s take %s: 99 %% of the true %zu nearest are among its first %llu candidates, recall@%zu is "
           "%.1f %%, %zu bytes per vector. %s",
           engine == CPB_ENGINE_FLOAT  ? "a float index"
           : engine == CPB_ENGINE_INT8 ? "an int8 index"
                                       : "an index of sign bits",
           picked, of->k, (unsigned long long)pick->candidates_for_99, of->k, 100 * pick->recall, pick->bytes,
           second);
}
