#include "search/verdict.h"

#include <math.h>
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

void cpb_verdict_begin(cpb_recommendation *of) {
  static const double steps[] = {1, 0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp+0}; /* powers of 2^(1/3) */
  for (size_t i = 0; i < CPB_RECOMMEND_CURVE; i++) {
    double candidates = ceil(ldexp((double)of->k * steps[i % 3], (int)(i / 3)));
    of->candidates[i] = candidates < (double)of->base_rows ? (uint64_t)candidates : of->base_rows;
  }
}

void cpb_verdict_measure(const cpb_recommendation *of, cpb_recommend_row *row, uint64_t *ranks, size_t count,
                         size_t cols) {
  qsort(ranks, count, sizeof *ranks, rising);
  row->recall = (double)below(ranks, count, of->k) / (double)count;
  row->candidates_for_99 = ranks[count - count / 100 - 1] + 1;
  row->bytes = bytes_of(row->index, cols);
  for (size_t i = 0; i < CPB_RECOMMEND_CURVE; i++)
    row->curve[i] = (double)below(ranks, count, of->candidates[i]) / (double)count;
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

/* Lifts keep the order but for rounding; which of them an engine takes is another matter. */
static void advise_lift(const cpb_recommend_row *sphere, const cpb_recommend_row *cosine, char *to,
                        size_t room) {
  char name[96], its[64], other[64];
  name_row(sphere, name, sizeof name);
  figures(sphere, its, sizeof its);
  figures(cosine, other, sizeof other);
  snprintf(
      to, room,
      "The exact lift is better than the embedding, whose best is %s (%s): take lift-ip if the engine has "
      "inner products, lift-cosine (%s) if it has only cosine and new rows will not be longer than the "
      "longest now.",
      name, its, other);
}

static void compare(const cpb_recommend_row *pick, const cpb_recommend_row *rival,
                    const cpb_recommend_row *sphere, const cpb_recommend_row *cosine, char *to, size_t room) {
  char name[96], its[64];
  name_row(pick == rival ? sphere : rival, name, sizeof name);
  figures(pick == rival ? sphere : rival, its, sizeof its);
  if (pick == rival)
    snprintf(to, room, "The embedding does not help here: its best is %s (%s).", name, its);
  else if (pick == sphere)
    snprintf(to, room, "Without the embedding the best is %s (%s).", name, its);
  else
    advise_lift(sphere, cosine, to, room);
}

static const char *index_name(cpb_engine engine) {
  if (engine == CPB_ENGINE_BITS) return "an index of sign bits";
  return engine == CPB_ENGINE_INT8 ? "an int8 index" : "a float index";
}

void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine) {
  enum { LIFTS = RIVALS + 2 * SCALES };
  const cpb_recommend_row *pick = best_of(of, engine, 0, PER_INDEX);
  char name[96], why[512];
  of->pick = (size_t)(pick - of->rows);
  name_row(pick, name, sizeof name);
  compare(pick, best_of(of, engine, 0, RIVALS), best_of(of, engine, RIVALS, LIFTS),
          best_of(of, engine, LIFTS + 1, PER_INDEX), why, sizeof why);
  snprintf(of->text, sizeof of->text,
           "For %s take %s: 99 %% of the true %zu nearest are among its first %llu candidates, recall@%zu is "
           "%.1f %%, %zu byte%s per vector. %s",
           index_name(engine), name, of->k, (unsigned long long)pick->candidates_for_99, of->k,
           100 * pick->recall, pick->bytes, pick->bytes == 1 ? "" : "s", why);
}
