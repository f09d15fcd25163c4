#include "learn/working_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { ENTRIES = 8 };

int cpb_farthest_first(const void *a, const void *b) {
  const cpb_far_row *x = a, *y = b;
  return cpb_is_farther(*x, *y) ? -1 : cpb_is_farther(*y, *x);
}

void cpb_working_set_free(cpb_working_set *set) {
  free(set->rows);
  free(set->tag);
  free(set->dist2);
  free(set->weight);
  free(set->set_aside);
  free(set->places);
  *set = (cpb_working_set){.d = set->d};
}

void cpb_working_set_clear(cpb_working_set *set) {
  set->count = 0;
  set->bounded = false;
}

cpb_status cpb_working_set_reserve(cpb_working_set *set, size_t count) {
  if (count <= set->room) return CPB_OK;
  size_t room = 2 * set->room + 64 > count ? 2 * set->room + 64 : count;
  if (room > SIZE_MAX / sizeof(double) / set->d ||
      !cpb_resize(&set->rows, room * set->d, sizeof *set->rows) ||
      !cpb_resize(&set->dist2, room, sizeof *set->dist2) || !cpb_resize(&set->tag, room, sizeof *set->tag) ||
      !cpb_resize(&set->weight, room, sizeof *set->weight) ||
      !cpb_resize(&set->set_aside, room, sizeof *set->set_aside) ||
      !cpb_resize(&set->places, room, sizeof *set->places))
    return CPB_ENOMEM;
  set->room = room;
  return CPB_OK;
}

cpb_status cpb_working_set_add(cpb_working_set *set, const double *row, uint64_t tag, double dist2,
                               double weight) {
  cpb_status status = cpb_working_set_reserve(set, set->count + 1);
  if (status != CPB_OK) return status;
  memcpy(set->rows + set->count * set->d, row, set->d * sizeof *row);
  set->tag[set->count] = tag;
  set->dist2[set->count] = dist2;
  set->weight[set->count] = weight;
  set->set_aside[set->count++] = false;
  return CPB_OK;
}

void cpb_working_set_move(cpb_working_set *set, size_t from, size_t to) {
  if (from == to) return;
  memcpy(set->rows + to * set->d, set->rows + from * set->d, set->d * sizeof *set->rows);
  set->dist2[to] = set->dist2[from];
  set->tag[to] = set->tag[from];
  set->weight[to] = set->weight[from];
  set->set_aside[to] = set->set_aside[from];
}

cpb_far_row *cpb_working_set_ranked(const cpb_working_set *set, const double *edge) {
  for (size_t i = 0; i < set->count; i++) {
    double rank = edge == NULL ? set->dist2[i] : -fabs(set->dist2[i] - *edge);
    set->places[i] = (cpb_far_row){rank, set->tag[i], i};
  }
  if (set->count > 0) qsort(set->places, set->count, sizeof *set->places, cpb_farthest_first);
  return set->places;
}

static int first_place_first(const void *a, const void *b) {
  const cpb_far_row *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

void cpb_working_set_take(cpb_working_set *set, cpb_far_row *places, size_t most) {
  set->bounded = true;
  set->bound = places[most - 1];
  qsort(places, most, sizeof *places, first_place_first);
  for (size_t k = 0; k < most; k++) cpb_working_set_move(set, places[k].at, k);
  set->count = most;
}

void cpb_working_set_keep(cpb_working_set *set, size_t most) {
  if (set->count > most) cpb_working_set_take(set, cpb_working_set_ranked(set, NULL), most);
}

static int by_tag(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

cpb_status cpb_working_set_join(cpb_working_set *set, const cpb_working_set *more, bool repeats) {
  size_t known = set->count;
  uint64_t *tags = malloc((known + 1) * sizeof *tags);
  if (tags == NULL || cpb_working_set_reserve(set, known + more->count) != CPB_OK) {
    free(tags);
    return CPB_ENOMEM;
  }
  if (known > 0) memcpy(tags, set->tag, known * sizeof *tags);
  qsort(tags, known, sizeof *tags, by_tag);
  const cpb_far_row *places = cpb_working_set_ranked(more, NULL);
  for (size_t k = 0; k < more->count; k++) {
    size_t i = places[k].at;
    bool again = k > 0 && places[k].id == places[k - 1].id;
    if (!repeats && (again || bsearch(&more->tag[i], tags, known, sizeof *tags, by_tag) != NULL)) continue;
    cpb_working_set_add(set, more->rows + i * set->d, more->tag[i], more->dist2[i], more->weight[i]);
  }
  free(tags);
  return CPB_OK;
}

void cpb_working_set_carry(cpb_state *s, cpb_working_set *set, const cpb_state_member *table,
                           size_t members) {
  size_t count = cpb_state_count(s, set->count, (set->d + members - 1) * 8);
  if (s->reading && cpb_working_set_reserve(set, count) != CPB_OK) cpb_state_no_memory(s, "rows", count);
  cpb_state_carry_records(s, set, table, members, set->d, count);
  if (!s->reading || s->status != CPB_OK || count == 0) return;
  memset(set->set_aside, 0, count * sizeof *set->set_aside);
  set->count = count;
}

static void distances(cpb_working_set *set, const cpb_loops *loops, const double *center) {
  loops->rows_dist2[CPB_F64](set->rows, set->d, set->count, set->d, center, set->dist2);
}

/* The farthest rows beyond `cut` that are not set aside, the farthest first; returns how many. */
static size_t farthest(const cpb_working_set *set, double cut, size_t rows[ENTRIES]) {
  size_t count = 0;
  for (size_t i = 0; i < set->count; i++) {
    if (set->set_aside[i] || !(set->dist2[i] > cut)) continue;
    if (count == ENTRIES && !(set->dist2[i] > set->dist2[rows[ENTRIES - 1]])) continue;
    size_t at = count < ENTRIES ? count++ : ENTRIES - 1;
    for (; at > 0 && set->dist2[i] > set->dist2[rows[at - 1]]; at--) rows[at] = rows[at - 1];
    rows[at] = i;
  }
  return count;
}

static void take_all_back(cpb_working_set *set) {
  memset(set->set_aside, 0, set->count * sizeof *set->set_aside);
}

/* Enters a row of the set and records whether that helped. */
static cpb_status enter(cpb_working_set *set, cpb_hull *hull, size_t i, double height) {
  bool better;
  cpb_status status = cpb_hull_enter(hull, set->rows + i * set->d, height, set->tag[i], &better);
  if (better)
    take_all_back(set);
  else
    set->set_aside[i] = true;
  return status;
}

/* Exact arithmetic needs no limit; with rounding, a limit far above any observed count. */
static size_t entry_limit(const cpb_working_set *set) { return 64 * (set->count + set->d) + 1024; }

/* Rows beyond this are worth entering; before the first column all are. */
static double cut_of(const cpb_hull *hull, double tolerance) {
  return hull->count == 0 ? -1 : (1 + tolerance) * hull->value;
}

cpb_status cpb_working_set_solve(cpb_working_set *set, cpb_hull *hull, double tolerance, size_t *entered) {
  size_t limit = *entered + entry_limit(set), rows[ENTRIES], count = 1;
  cpb_status status = CPB_OK;
  take_all_back(set);
  while (status == CPB_OK && *entered < limit && count > 0) {
    distances(set, hull->loops, hull->point);
    count = farthest(set, cut_of(hull, tolerance), rows);
    /* One pass over the set serves several entries: checking whether a row is still outside is cheap. */
    for (size_t k = 0; status == CPB_OK && k < count; k++) {
      const double *row = set->rows + rows[k] * set->d;
      if (k > 0 && !(hull->loops->dist2(row, hull->point, set->d) > cut_of(hull, tolerance))) continue;
      status = enter(set, hull, rows[k], hull->loops->dot(row, row, set->d));
      ++*entered;
    }
  }
  return status;
}

double cpb_working_set_dual(const cpb_working_set *set, const cpb_loops *loops, const double *multiplier,
                            double *mean) {
  double value = 0;
  memset(mean, 0, set->d * sizeof *mean);
  for (size_t i = 0; i < set->count; i++)
    if (multiplier[i] > 0) loops->axpby(multiplier[i], set->rows + i * set->d, 1, mean, mean, set->d);
  for (size_t i = 0; i < set->count; i++)
    if (multiplier[i] > 0) value += multiplier[i] * loops->dist2(set->rows + i * set->d, mean, set->d);
  return value;
}
