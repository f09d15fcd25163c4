#include "core/best.h"

#include <stdbool.h>

static bool worse(cpb_ranked a, cpb_ranked b) { return a.key > b.key || (a.key == b.key && a.id > b.id); }

int cpb_ranked_compare(const void *a, const void *b) {
  const cpb_ranked *x = a, *y = b;
  return worse(*x, *y) - worse(*y, *x);
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

void cpb_best_offer(cpb_best *best, double key, uint64_t id) {
  cpb_ranked offered = {key, id};
  if (best->count < best->k)
    lift_last(best, offered);
  else if (best->k > 0 && worse(best->entry[0], offered))
    sink_root(best, offered);
}
