#include "learn/band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 8 };

typedef enum place { EMPTY, FULL, IN_PART } place;

typedef struct solver {
  cpb_band *band;
  cpb_hull hull;
  place *where;
  bool *set_aside; /* entering it did not help; cleared when something else does */
  double *norm2;
  double *score; /* |p_i - point|^2 */
  double edge;   /* of the rows in part */
} solver;

/* A column left the hull: the tag is the row. */
static void row_left(void *context, uint64_t tag, bool full) {
  solver *s = context;
  s->where[tag] = full ? FULL : EMPTY;
}

static const double *row_at(const solver *s, size_t i) { return s->band->rows + i * s->band->d; }

static cpb_status enter(solver *s, size_t i) {
  const cpb_band *band = s->band;
  bool better;
  cpb_hull_column column = {.p = row_at(s, i),
                            .q = s->norm2[i],
                            .cap = band->cap[i],
                            .weight = i == band->first && s->hull.count == 0 ? band->weight[i]
                                      : s->where[i] == FULL                  ? band->cap[i]
                                                                             : 0,
                            .tag = i};
  s->where[i] = IN_PART;
  cpb_status status = cpb_hull_enter_capped(&s->hull, column, &better);
  if (better)
    memset(s->set_aside, 0, band->count * sizeof *s->set_aside);
  else
    s->set_aside[i] = true;
  return status;
}

/* Scores at the hull's point, and the edge: what the rows in part have in common. */
static void look(solver *s) {
  const cpb_band *band = s->band;
  double sum = 0;
  band->loops->rows_dist2[CPB_F64](band->rows, band->d, band->count, band->d, s->hull.point, s->score);
  for (size_t k = 0; k < s->hull.count; k++) sum += s->score[s->hull.tag[k]];
  s->edge = sum / (double)s->hull.count;
}

/* By how much a row is on the wrong side of the edge, > 0 for those that are. */
static double wrong_by(const solver *s, size_t i, double score) {
  return s->where[i] == EMPTY ? score - s->edge : s->where[i] == FULL ? s->edge - score : -1;
}

/* The rows that are most wrong, the worst first; returns how many. */
static size_t most_wrong(const solver *s, double least, size_t rows[ENTRIES]) {
  double wrong[ENTRIES];
  size_t count = 0;
  for (size_t i = 0; i < s->band->count; i++) {
    double by = wrong_by(s, i, s->score[i]);
    if (s->set_aside[i] || !(by > least) || (count == ENTRIES && !(by > wrong[ENTRIES - 1]))) continue;
    size_t at = count < ENTRIES ? count++ : ENTRIES - 1;
    for (; at > 0 && by > wrong[at - 1]; at--) {
      rows[at] = rows[at - 1];
      wrong[at] = wrong[at - 1];
    }
    rows[at] = i;
    wrong[at] = by;
  }
  return count;
}

/* One look at all rows serves several entries: whether a row is still wrong costs little to ask. */
static bool still_wrong(solver *s, size_t i, double least) {
  const cpb_loops *loops = s->band->loops;
  double sum = 0;
  for (size_t k = 0; k < s->hull.count; k++)
    sum += loops->dist2(s->hull.p + k * s->band->d, s->hull.point, s->band->d);
  s->edge = sum / (double)s->hull.count;
  return wrong_by(s, i, loops->dist2(row_at(s, i), s->hull.point, s->band->d)) > least;
}

static cpb_status iterate(solver *s) {
  size_t rows[ENTRIES], count = 1, entered = 0, limit = 64 * (s->band->count + s->band->d) + 1024;
  cpb_status status = enter(s, s->band->first);
  s->set_aside[s->band->first] = false;
  while (status == CPB_OK && count > 0 && entered < limit) {
    look(s);
    double least = s->band->tolerance * s->edge;
    count = most_wrong(s, least, rows);
    for (size_t k = 0; status == CPB_OK && k < count; k++, entered++)
      if (k == 0 || still_wrong(s, rows[k], least)) status = enter(s, rows[k]);
  }
  return status;
}

static cpb_status begin(solver *s, cpb_band *band) {
  size_t n = band->count;
  *s = (solver){.band = band};
  s->where = malloc(n * sizeof *s->where);
  s->set_aside = calloc(n, sizeof *s->set_aside);
  s->norm2 = malloc(2 * n * sizeof *s->norm2);
  cpb_status status = cpb_hull_init(&s->hull, band->loops, band->d, 1);
  if (s->where == NULL || s->set_aside == NULL || s->norm2 == NULL) return CPB_ENOMEM;
  s->score = s->norm2 + n;
  s->hull.full = band->fixed;
  s->hull.left = row_left;
  s->hull.context = s;
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    s->norm2[i] = band->loops->dot(row_at(s, i), row_at(s, i), band->d);
    s->where[i] = i != band->first && band->weight[i] > 0 ? FULL : EMPTY;
    largest = fmax(largest, s->norm2[i]);
    if (s->where[i] != FULL) continue;
    s->hull.full.weight += band->cap[i];
    s->hull.full.height += band->cap[i] * s->norm2[i];
    band->loops->axpby(band->cap[i], row_at(s, i), 1, s->hull.full.point, s->hull.full.point, band->d);
  }
  if (largest > 0) s->hull.unit = sqrt(largest);
  return status;
}

static void write_answer(const solver *s) {
  cpb_band *band = s->band;
  for (size_t i = 0; i < band->count; i++) band->weight[i] = s->where[i] == FULL ? band->cap[i] : 0;
  for (size_t k = 0; k < s->hull.count; k++) band->weight[s->hull.tag[k]] = s->hull.weight[k];
  memcpy(band->point, s->hull.point, band->d * sizeof *band->point);
}

cpb_status cpb_band_solve(cpb_band *band) {
  solver s;
  cpb_status status = begin(&s, band);
  if (status == CPB_OK) status = iterate(&s);
  if (status == CPB_OK) write_answer(&s);
  free(s.where);
  free(s.set_aside);
  free(s.norm2);
  cpb_hull_free(&s.hull);
  return status;
}
