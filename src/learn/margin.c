#include "learn/margin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 8 };

typedef enum place { EMPTY, FULL, IN_PART } place;

typedef struct solver {
  cpb_margin *margin;
  cpb_hull hull;
  place *where;
  bool *set_aside; /* entering it did not help; cleared when something else does */
  double *norm2;
  double *score; /* |p_i - point|^2 */
  double edge;   /* common to the rows in part */
} solver;

/* A column left the hull: the tag is the row. */
static void row_left(void *context, uint64_t tag, bool full) {
  solver *s = context;
  s->where[tag] = full ? FULL : EMPTY;
}

static const double *row_at(const solver *s, size_t i) { return s->margin->rows + i * s->margin->d; }

static cpb_status enter(solver *s, size_t i) {
  const cpb_margin *margin = s->margin;
  bool better;
  cpb_hull_column column = {.p = row_at(s, i),
                            .q = s->norm2[i],
                            .cap = margin->cap[i],
                            .weight = i == margin->first && s->hull.count == 0 ? margin->weight[i]
                                      : s->where[i] == FULL                    ? margin->cap[i]
                                                                               : 0,
                            .tag = i};
  s->where[i] = IN_PART;
  cpb_status status = cpb_hull_enter_capped(&s->hull, column, &better);
  if (better)
    memset(s->set_aside, 0, margin->count * sizeof *s->set_aside);
  else
    s->set_aside[i] = true;
  return status;
}

/* Scores at the hull's point, and the edge: the common score of the rows in part. */
static void look(solver *s) {
  const cpb_margin *margin = s->margin;
  double sum = 0;
  margin->loops->rows_dist2[CPB_F64](margin->rows, margin->d, margin->count, margin->d, s->hull.point,
                                     s->score);
  for (size_t k = 0; k < s->hull.count; k++) sum += s->score[s->hull.tag[k]];
  s->edge = sum / (double)s->hull.count;
}

/* How far a row is on the wrong side of the edge, > 0 if it is. */
static double wrong_by(const solver *s, size_t i, double score) {
  return s->where[i] == EMPTY ? score - s->edge : s->where[i] == FULL ? s->edge - score : -1;
}

/* The rows that violate the edge most, worst first; returns how many. */
static size_t most_wrong(const solver *s, double least, size_t rows[ENTRIES]) {
  double wrong[ENTRIES];
  size_t count = 0;
  for (size_t i = 0; i < s->margin->count; i++) {
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

/* One pass over all rows serves several entries: checking whether a row still violates the edge is cheap. */
static bool still_wrong(solver *s, size_t i, double least) {
  const cpb_loops *loops = s->margin->loops;
  double sum = 0;
  for (size_t k = 0; k < s->hull.count; k++)
    sum += loops->dist2(s->hull.p + k * s->margin->d, s->hull.point, s->margin->d);
  s->edge = sum / (double)s->hull.count;
  return wrong_by(s, i, loops->dist2(row_at(s, i), s->hull.point, s->margin->d)) > least;
}

static cpb_status iterate(solver *s) {
  size_t rows[ENTRIES], count = 1, entered = 0, limit = 64 * (s->margin->count + s->margin->d) + 1024;
  cpb_status status = enter(s, s->margin->first);
  s->set_aside[s->margin->first] = false;
  while (status == CPB_OK && count > 0 && entered < limit) {
    look(s);
    double least = s->margin->tolerance * s->edge;
    count = most_wrong(s, least, rows);
    for (size_t k = 0; status == CPB_OK && k < count; k++, entered++)
      if (k == 0 || still_wrong(s, rows[k], least)) status = enter(s, rows[k]);
  }
  return status;
}

static cpb_status begin(solver *s, cpb_margin *margin) {
  size_t n = margin->count;
  *s = (solver){.margin = margin};
  s->where = malloc(n * sizeof *s->where);
  s->set_aside = calloc(n, sizeof *s->set_aside);
  s->norm2 = malloc(2 * n * sizeof *s->norm2);
  cpb_status status = cpb_hull_init(&s->hull, margin->loops, margin->d, 1);
  if (s->where == NULL || s->set_aside == NULL || s->norm2 == NULL) return CPB_ENOMEM;
  s->score = s->norm2 + n;
  s->hull.full = margin->fixed;
  s->hull.left = row_left;
  s->hull.context = s;
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    s->norm2[i] = margin->loops->dot(row_at(s, i), row_at(s, i), margin->d);
    s->where[i] = i != margin->first && margin->weight[i] > 0 ? FULL : EMPTY;
    largest = fmax(largest, s->norm2[i]);
    if (s->where[i] != FULL) continue;
    s->hull.full.weight += margin->cap[i];
    s->hull.full.height += margin->cap[i] * s->norm2[i];
    margin->loops->axpby(margin->cap[i], row_at(s, i), 1, s->hull.full.point, s->hull.full.point, margin->d);
  }
  if (largest > 0) s->hull.unit = sqrt(largest);
  return status;
}

static void write_answer(const solver *s) {
  cpb_margin *margin = s->margin;
  for (size_t i = 0; i < margin->count; i++) margin->weight[i] = s->where[i] == FULL ? margin->cap[i] : 0;
  for (size_t k = 0; k < s->hull.count; k++) margin->weight[s->hull.tag[k]] = s->hull.weight[k];
  memcpy(margin->point, s->hull.point, margin->d * sizeof *margin->point);
}

cpb_status cpb_margin_solve(cpb_margin *margin) {
  solver s;
  cpb_status status = begin(&s, margin);
  if (status == CPB_OK) status = iterate(&s);
  if (status == CPB_OK) write_answer(&s);
  free(s.where);
  free(s.set_aside);
  free(s.norm2);
  cpb_hull_free(&s.hull);
  return status;
}
