#include "learn/working_set.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "learn/piece_rounds.h"

enum { ENTRIES = 8 };

void cpb_working_set_free(cpb_working_set *set) {
  free(set->rows);
  free(set->tag);
  free(set->dist2);
  free(set->set_aside);
  *set = (cpb_working_set){.d = set->d};
}

cpb_status cpb_working_set_reserve(cpb_working_set *set, size_t count) {
  if (count <= set->room) return CPB_OK;
  size_t room = 2 * set->room + 64 > count ? 2 * set->room + 64 : count;
  if (room > SIZE_MAX / sizeof(double) / set->d ||
      !cpb_resize(&set->rows, room * set->d, sizeof *set->rows) ||
      !cpb_resize(&set->dist2, room, sizeof *set->dist2) || !cpb_resize(&set->tag, room, sizeof *set->tag) ||
      !cpb_resize(&set->set_aside, room, sizeof *set->set_aside))
    return CPB_ENOMEM;
  set->room = room;
  return CPB_OK;
}

cpb_status cpb_working_set_add(cpb_working_set *set, const double *row, uint64_t tag, double dist2) {
  cpb_status status = cpb_working_set_reserve(set, set->count + 1);
  if (status != CPB_OK) return status;
  memcpy(set->rows + set->count * set->d, row, set->d * sizeof *row);
  set->tag[set->count] = tag;
  set->dist2[set->count] = dist2;
  set->set_aside[set->count++] = false;
  return CPB_OK;
}

static int by_tag(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

cpb_status cpb_working_set_join(cpb_working_set *set, const cpb_working_set *more, size_t *count) {
  size_t known = set->count;
  uint64_t *tags = malloc((known + 1) * sizeof *tags);
  cpb_status status = tags == NULL ? CPB_ENOMEM : CPB_OK;
  *count = 0;
  if (status == CPB_OK && known > 0) {
    memcpy(tags, set->tag, known * sizeof *tags);
    qsort(tags, known, sizeof *tags, by_tag);
  }
  for (size_t i = 0; status == CPB_OK && i < more->count; i++) {
    if (known > 0 && bsearch(&more->tag[i], tags, known, sizeof *tags, by_tag) != NULL) continue;
    status = cpb_working_set_add(set, more->rows + i * set->d, more->tag[i], more->dist2[i]);
    ++*count;
  }
  free(tags);
  return status;
}

static int first_place_first(const void *a, const void *b) {
  const cpb_far_row *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

static cpb_far_row *places_of(const cpb_working_set *set) {
  cpb_far_row *places = malloc((set->count + 1) * sizeof *places);
  for (size_t i = 0; places != NULL && i < set->count; i++)
    places[i] = (cpb_far_row){set->dist2[i], set->tag[i], i};
  return places;
}

static void move_row(cpb_working_set *set, size_t from, size_t to) {
  if (from == to) return;
  memmove(set->rows + to * set->d, set->rows + from * set->d, set->d * sizeof *set->rows);
  set->dist2[to] = set->dist2[from];
  set->tag[to] = set->tag[from];
  set->set_aside[to] = set->set_aside[from];
}

cpb_status cpb_working_set_keep(cpb_working_set *set, size_t most) {
  if (set->count <= most) return CPB_OK;
  cpb_far_row *places = places_of(set);
  if (places == NULL) return CPB_ENOMEM;
  qsort(places, set->count, sizeof *places, cpb_farthest_first);
  qsort(places, most, sizeof *places, first_place_first);
  for (size_t k = 0; k < most; k++) move_row(set, places[k].at, k);
  set->count = most;
  free(places);
  return CPB_OK;
}

static bool is_sorted(const cpb_working_set *set) {
  for (size_t i = 1; i < set->count; i++) {
    cpb_far_row before = {set->dist2[i - 1], set->tag[i - 1], 0}, here = {set->dist2[i], set->tag[i], 0};
    if (!cpb_is_farther(before, here)) return false;
  }
  return true;
}

cpb_status cpb_working_set_sort(cpb_working_set *set) {
  if (is_sorted(set)) return CPB_OK;
  cpb_far_row *places = places_of(set);
  double *rows = malloc((set->count * set->d + 1) * sizeof *rows);
  if (places == NULL || rows == NULL) {
    free(places);
    free(rows);
    return CPB_ENOMEM;
  }
  if (set->count > 0) memcpy(rows, set->rows, set->count * set->d * sizeof *rows);
  qsort(places, set->count, sizeof *places, cpb_farthest_first);
  size_t kept = 0;
  for (size_t k = 0; k < set->count; k++) {
    if (k > 0 && places[k].id == places[k - 1].id) continue;
    memcpy(set->rows + kept * set->d, rows + places[k].at * set->d, set->d * sizeof *rows);
    set->dist2[kept] = places[k].dist2;
    set->tag[kept] = places[k].id;
    set->set_aside[kept++] = false;
  }
  set->count = kept;
  free(places);
  free(rows);
  return CPB_OK;
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
