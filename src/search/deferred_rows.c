/* Candidates of exact search, which are filtered further and measured only when necessary. */
#include "search/t13_search.h"

#include <math.h>

#include "search/measure.h"

static size_t query_at(const cpb_search_group *g, size_t column) {
  return g->search->order[g->first + column];
}

double cpb_search_key(const cpb_search *search, double value) {
  return search->float_filter.metric == CPB_L2 ? value : -value;
}

/* ---- bounds ---- */

static double bound_for(const cpb_search_group *g, size_t column, double value) {
  const cpb_search *search = g->search;
  if (g->bytes) return cpb_byte_filter_bound(&search->byte_filter, g->first + column, value);
  const cpb_query_scale *query_scale = &search->query_scale[query_at(g, column)];
  return -(double)cpb_float_filter_threshold(&search->float_filter, value, query_scale);
}

static void set_bound(cpb_search_group *g, size_t column, double bound) {
  g->bound[column] = bound;
  if (!g->bytes)
    g->threshold[column] = (float)-bound;
  else if (g->run != NULL)
    cpb_byte_filter_thresholds(&g->search->byte_filter, g->run, g->panel, column, 1, g->bound,
                               g->byte_threshold);
}

static void lower_bound(cpb_search_group *g, size_t column, double bound) {
  if (bound < g->bound[column]) set_bound(g, column, bound);
}

void cpb_group_renew_bounds(cpb_search_group *g) {
  const cpb_search *search = g->search;
  for (size_t column = 0; column < g->count; column++) {
    const cpb_best *best = &g->best[column];
    double bound = INFINITY;
    if (search->limits != NULL)
      bound = bound_for(g, column, search->limits[query_at(g, column)]);
    else if (best->count == best->k)
      bound = bound_for(g, column, cpb_search_key(search, best->entry[0].key));
    g->noted[column] = 0;
    set_bound(g, column, bound);
  }
}

/* ---- measuring ---- */

static void offer_nearest(cpb_search_group *g, size_t column, double key, uint64_t id) {
  cpb_best *best = &g->best[column];
  g->wasted += best->count == best->k && key > best->entry[0].key;
  cpb_best_offer(best, key, id);
  if (best->count == best->k)
    lower_bound(g, column, bound_for(g, column, cpb_search_key(g->search, best->entry[0].key)));
}

static void offer_within(cpb_search_group *g, size_t column, double key, uint64_t id) {
  cpb_search *search = g->search;
  if (!(key <= cpb_search_key(search, search->limits[query_at(g, column)])))
    g->wasted++;
  else if (cpb_best_grow(&g->best[column]))
    g->best[column].entry[g->best[column].count++] = (cpb_ranked){key, id}; /* all of them, in any order */
  else
    atomic_store(&search->out_of_memory, true);
}

static void measure_row(cpb_search_group *g, size_t column, size_t row) {
  cpb_search *search = g->search;
  double value;
  const double *q = search->queries + query_at(g, column) * search->float_filter.d;
  int fault = cpb_measure(search->float_filter.loops, search->float_filter.metric, search->fed, row, q,
                          search->center, &value); /* 0 but for l2, which does not need it */
  uint64_t id = search->ids != NULL ? search->ids[row] : search->first_id + row;
  g->measured++;
  if (fault != 0)
    cpb_record_fault(&search->fault, row, fault);
  else if (search->limits == NULL)
    offer_nearest(g, column, cpb_search_key(search, value), id);
  else
    offer_within(g, column, cpb_search_key(search, value), id);
}

/* ---- order ---- */

/* At least k of the numbers are <= the result, and only slightly more; bisection without data-dependent branches. */
static float kth_smallest(const float *x, size_t count, size_t k) {
  enum { HALVINGS = 12 };
  const float edge = 1e38f;
  float low = edge, high = -edge;
  unsigned finite = 0;
  for (size_t i = 0; i < count; i++) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    finite += x[i] <= edge;
  }
  if (finite < k) return INFINITY;
  low = low > -edge ? low : -edge;
  high = high < edge ? high : edge;
  for (int step = 0; step < HALVINGS; step++) {
    float middle = low / 2 + high / 2;
    unsigned below = 0;
    for (size_t i = 0; i < count; i++) below += x[i] <= middle;
    low = below >= k ? low : middle;
    high = below >= k ? middle : high;
  }
  return high;
}

/* ---- the k smallest upper bounds ---- */

static void sink_farthest(float *heap, size_t count, float sinking) {
  size_t at = 0;
  for (size_t child = 1; child < count; child = 2 * at + 1) {
    child += child + 1 < count && heap[child + 1] > heap[child];
    if (!(heap[child] > sinking)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = sinking;
}

static void lift_farthest(float *heap, size_t count, float rising) {
  size_t at = count;
  for (; at > 0 && rising > heap[(at - 1) / 2]; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = rising;
}

/* No row beyond the upper bounds of k others is an answer: the largest of the k is the bound. */
static void note_farthest(cpb_search_group *g, size_t column, float farthest) {
  size_t k = g->search->k, noted = g->noted[column];
  float *heap = g->among + column * k;
  if (noted < k)
    lift_farthest(heap, g->noted[column]++, farthest);
  else if (farthest < heap[0])
    sink_farthest(heap, k, farthest);
  else
    return;
  if (g->noted[column] == k) lower_bound(g, column, (double)heap[0]);
}

/* ---- deferred rows ---- */

typedef struct deferred_rows {
  float *nearest;
  size_t *row;
} deferred_rows;

static deferred_rows rows_of(const cpb_search_group *g, size_t column) {
  size_t at = column * g->search->room;
  return (deferred_rows){g->nearest + at, g->row + at};
}

/* Drops the deferred rows that can no longer be answers, without measuring them. */
static void prune(cpb_search_group *g, size_t column) {
  deferred_rows w = rows_of(g, column);
  size_t count = g->deferred[column], kept = 0;
  for (size_t i = 0; i < count; i++) {
    w.nearest[kept] = w.nearest[i], w.row[kept] = w.row[i];
    kept += (double)w.nearest[i] <= g->bound[column];
  }
  g->deferred[column] = kept;
}

/* Measures the rows whose lower bound is at most `edge`; the others stay deferred. */
static void measure_within(cpb_search_group *g, size_t column, float edge) {
  deferred_rows w = rows_of(g, column);
  size_t count = g->deferred[column], kept = 0;
  for (size_t i = 0; i < count; i++)
    if (w.nearest[i] <= edge) cpb_fetch_row(g->search->fed, w.row[i]);
  for (size_t i = 0; i < count; i++) {
    if ((double)w.nearest[i] > g->bound[column]) continue;
    if (w.nearest[i] <= edge) {
      measure_row(g, column, w.row[i]);
      continue;
    }
    w.nearest[kept] = w.nearest[i], w.row[kept] = w.row[i];
    kept++;
  }
  g->deferred[column] = kept;
}

/* Measures the most promising rows first: their values exclude others. */
static void settle(cpb_search_group *g, size_t column) {
  const cpb_search *search = g->search;
  prune(g, column);
  size_t count = g->deferred[column];
  if (search->limits == NULL && count > search->k)
    measure_within(g, column, kth_smallest(rows_of(g, column).nearest, count, search->k));
  measure_within(g, column, INFINITY);
}

bool cpb_group_is_first(const cpb_search_group *g) {
  return g->bytes && g->search->offered == 0 && g->search->block_first == 0;
}

/* If k is a large part of the block, nearly every row is among the nearest for a while. */
bool cpb_search_wants_few_rows(const cpb_search *search) {
  return search->limits == NULL && 64 * search->k <= search->block_rows;
}

bool cpb_group_is_hopeless(const cpb_search_group *g) {
  return 2 * g->overflowed_columns > g->count && cpb_group_is_first(g) &&
         cpb_search_wants_few_rows(g->search);
}

void cpb_group_take(cpb_search_group *g, size_t column, size_t row, cpb_byte_filter_span span) {
  size_t room = g->search->room, at = g->deferred[column]++;
  deferred_rows w = rows_of(g, column);
  w.nearest[at] = span.nearest;
  w.row[at] = row;
  if (g->search->limits == NULL) note_farthest(g, column, span.farthest);
  if (g->deferred[column] < room) return;
  prune(g, column);
  if (g->deferred[column] <= room - room / 4) return;
  g->overflowed_columns += g->search->limits == NULL;
  if (cpb_group_is_hopeless(g))
    g->deferred[column] = 0;
  else
    settle(g, column);
}

void cpb_group_measure_deferred(cpb_search_group *g) {
  for (size_t column = 0; column < g->count; column++) settle(g, column);
}
