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

static bool is_sphere(const cpb_recommend_row *row) { return strcmp(row->transform, "sphere") == 0; }

/* Rows stand before lifts, lifts before the sphere, which needs a fit, and balls, which need a radius, come
 * last. */
static int effort(const cpb_recommend_row *row) {
  static const char *const by_effort[] = {"none", "normalize", "lift-ip", "lift-cosine"};
  int at = 0;
  while (at < 4 && strcmp(row->transform, by_effort[at]) != 0) at++;
  return at + row->ball;
}

static bool is_better(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  if (a->candidates_for_99 != b->candidates_for_99) return a->candidates_for_99 < b->candidates_for_99;
  if (a->recall != b->recall) return a->recall > b->recall;
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  return effort(a) < effort(b);
}

typedef bool choice(const cpb_recommend_row *row);

static bool is_rival(const cpb_recommend_row *row) { return !is_sphere(row); }
static bool takes_cosine(const cpb_recommend_row *row) { return strcmp(row->transform, "lift-ip") != 0; }
static bool takes_long_rows(const cpb_recommend_row *row) {
  return strcmp(row->transform, "lift-cosine") != 0;
}

/* The best row of one index among those the choice allows. */
static const cpb_recommend_row *best_of(const cpb_recommendation *of, cpb_engine engine, choice *allows) {
  const cpb_recommend_row *rows = of->rows + (size_t)engine * PER_INDEX, *best = NULL;
  for (size_t i = 0; i < PER_INDEX; i++)
    if (allows(&rows[i]) && (best == NULL || is_better(&rows[i], best))) best = &rows[i];
  return best;
}

/* ---- what is said of it ---- */

static void name_row(const cpb_recommend_row *row, char *to, size_t room) {
  if (is_sphere(row))
    snprintf(to, room, "the sphere at s = %.6g with %s queries", row->scale, row->ball ? "ball" : "point");
  else
    snprintf(to, room, "%s",
             strcmp(row->transform, "none") == 0        ? "cosine of the raw rows"
             : strcmp(row->transform, "normalize") == 0 ? "centre + normalise"
                                                        : row->transform);
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* "the sphere at s = 2 with ball queries (11 candidates, recall 98.0 %)" */
static void cite(const cpb_recommend_row *row, char *to, size_t room) {
  char name[96];
  name_row(row, name, sizeof name);
  snprintf(to, room, "%s (%llu candidate%s, recall %.1f %%)", name,
           (unsigned long long)row->candidates_for_99, plural(row->candidates_for_99), 100 * row->recall);
}

/* A lift is not for every engine, or not for all rows to come. */
static void limit(const cpb_recommendation *of, const cpb_recommend_row *pick, char *to, size_t room) {
  char other[160];
  *to = 0;
  if (!takes_cosine(pick) && pick->index != CPB_ENGINE_BITS) {
    const cpb_recommend_row *next = best_of(of, pick->index, takes_cosine);
    cite(next, other, sizeof other);
    snprintf(to, room, " Where the engine has only cosine take %s%s.", other,
             takes_long_rows(next) ? "" : ", which cannot take rows longer than the longest now");
  } else if (!takes_long_rows(pick)) {
    cite(best_of(of, pick->index, takes_long_rows), other, sizeof other);
    snprintf(to, room,
             " lift-cosine cannot take rows longer than the longest now; where such rows may come take %s.",
             other);
  }
}

static void compare(const cpb_recommendation *of, const cpb_recommend_row *pick, char *to, size_t room) {
  char other[160];
  cite(best_of(of, pick->index, is_sphere(pick) ? is_rival : is_sphere), other, sizeof other);
  snprintf(to, room,
           is_sphere(pick)      ? "Without the embedding the best is %s."
           : takes_cosine(pick) ? "The embedding does not help here: its best is %s."
                                : "For inner products the embedding does not help: its best is %s.",
           other);
}

/* Where most of what is found is wrong, and re-ranking has to look at very many rows. */
static void caution(const cpb_recommendation *of, const cpb_recommend_row *pick, char *to, size_t room) {
  *to = 0;
  if (pick->recall < 0.5 && pick->candidates_for_99 > 10 * of->k)
    snprintf(to, room, " Caution: even the best is poor here, with %llu of %zu rows to re-rank%s.",
             (unsigned long long)pick->candidates_for_99, of->base_rows,
             pick->index == CPB_ENGINE_FLOAT ? "" : "; an index that keeps more of each number does better");
}

static const char *index_name(cpb_engine engine) {
  if (engine == CPB_ENGINE_BITS) return "an index of sign bits";
  return engine == CPB_ENGINE_INT8 ? "an int8 index" : "a float index";
}

static bool any(const cpb_recommend_row *row) {
  (void)row;
  return true;
}

void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine) {
  const cpb_recommend_row *pick = best_of(of, engine, any);
  char name[96], rival[256], limits[320], poor[192];
  of->pick = (size_t)(pick - of->rows);
  name_row(pick, name, sizeof name);
  compare(of, pick, rival, sizeof rival);
  limit(of, pick, limits, sizeof limits);
  caution(of, pick, poor, sizeof poor);
  snprintf(
      of->text, sizeof of->text,
      "For %s take %s: 99 %% of the true %zu nearest are among its first %llu candidate%s, recall@%zu is "
      "%.1f %%, %zu byte%s per vector. %s%s%s",
      index_name(engine), name, of->k, (unsigned long long)pick->candidates_for_99,
      plural(pick->candidates_for_99), of->k, 100 * pick->recall, pick->bytes, pick->bytes == 1 ? "" : "s",
      rival, limits, poor);
}
