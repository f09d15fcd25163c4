#include "base/best.h"

#include <stdlib.h>

#include "base/memory.h"

/* The outcome is unpredictable, so both comparisons are always evaluated and no branch depends on either. */
static bool worse(cpb_ranked a, cpb_ranked b) {
  return (bool)((a.key > b.key) | ((a.key == b.key) & (a.id > b.id)));
}

static void sink_root(cpb_best *best, cpb_ranked sinking) {
  size_t at = 0;
  for (size_t child = 1; child < best->count; child = 2 * at + 1) {
    if (child + 1 < best->count && worse(best->entry[child + 1], best->entry[child])) child++;
    if (!worse(best->entry[child], sinking)) break;
    best->entry[at] = best->entry[child];
    at = child;
  }
  best->entry[at] = sinking;
}

static void lift_last(cpb_best *best, cpb_ranked rising) {
  size_t at = best->count++;
  for (; at > 0 && worse(rising, best->entry[(at - 1) / 2]); at = (at - 1) / 2)
    best->entry[at] = best->entry[(at - 1) / 2];
  best->entry[at] = rising;
}

/* ---- sorting ---- */

static int compare(const void *a, const void *b) {
  const cpb_ranked *x = a, *y = b;
  return worse(*x, *y) - worse(*y, *x);
}

static void swap(cpb_ranked *a, cpb_ranked *b) {
  cpb_ranked kept = *a;
  *a = *b;
  *b = kept;
}

/* Partitions around the last entry and returns the final position of that entry. */
static size_t divide(cpb_ranked *entry, size_t count) {
  cpb_ranked pivot = entry[count - 1];
  size_t before = 0;
  for (size_t i = 0; i + 1 < count; i++) {
    cpb_ranked here = entry[i];
    entry[i] = entry[before];
    entry[before] = here;
    before += worse(pivot, here);
  }
  swap(&entry[before], &entry[count - 1]);
  return before;
}

static void insert_each(cpb_ranked *entry, size_t count) {
  for (size_t i = 1; i < count; i++) {
    cpb_ranked moving = entry[i];
    size_t at = i;
    for (; at > 0 && worse(entry[at - 1], moving); at--) entry[at] = entry[at - 1];
    entry[at] = moving;
  }
}

enum { FEW = 12, DIVISIONS = 48 };

/* Falls back to qsort when this many partitions have not sorted the entries. */
static void sort_parts(cpb_ranked *entry, size_t count, int divisions) {
  for (; count > FEW && divisions > 0; divisions--) {
    swap(&entry[count / 2], &entry[count - 1]); /* the pivot */
    size_t before = divide(entry, count), after = count - before - 1;
    cpb_ranked *rest = entry + before + 1;
    sort_parts(before < after ? entry : rest, before < after ? before : after, divisions - 1);
    entry = before < after ? rest : entry;
    count = before < after ? after : before;
  }
  if (count > FEW)
    qsort(entry, count, sizeof *entry, compare);
  else
    insert_each(entry, count);
}

void cpb_ranked_sort(cpb_ranked *entry, size_t count) { sort_parts(entry, count, DIVISIONS); }

/* Entries before *begin are among the first, those from *end on are not. */
static void narrow(cpb_ranked *entry, size_t first, size_t *begin, size_t *end) {
  for (int i = 0; i < DIVISIONS && first<*end && * end - *begin> FEW; i++) {
    swap(&entry[(*begin + *end) / 2], &entry[*end - 1]); /* the pivot */
    size_t before = *begin + divide(entry + *begin, *end - *begin);
    if (before < first)
      *begin = before + 1;
    else
      *end = before;
  }
}

void cpb_ranked_sort_first(cpb_ranked *entry, size_t count, size_t first) {
  size_t begin = 0, end = count;
  narrow(entry, first, &begin, &end);
  cpb_ranked_sort(entry, end);
}

cpb_ranked cpb_ranked_select(cpb_ranked *entry, size_t count, size_t at) {
  size_t begin = 0, end = count;
  narrow(entry, at + 1, &begin, &end);
  cpb_ranked_sort(entry + begin, end - begin);
  return entry[at];
}

void cpb_best_offer(cpb_best *best, double key, uint64_t id) {
  cpb_ranked offered = {key, id};
  if (best->count < best->k)
    lift_last(best, offered);
  else if (best->k > 0 && worse(best->entry[0], offered))
    sink_root(best, offered);
}

bool cpb_best_grow(cpb_best *best) {
  if (best->count < best->k) return true;
  if (!cpb_resize(&best->entry, 2 * best->k + 16, sizeof *best->entry)) return false;
  best->k = 2 * best->k + 16;
  return true;
}

void cpb_keep_smallest(double *smallest, size_t count, double x) {
  if (!(x < smallest[count - 1])) return;
  size_t at = count - 1;
  for (; at > 0 && x < smallest[at - 1]; at--) smallest[at] = smallest[at - 1];
  smallest[at] = x;
}

int cpb_compare_ids(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}
