/* The calls that search an index: by codes, in floats if codes do not separate the rows, or the rows of a list of ids. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/feed.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "search/index_blocks.h"
#include "search/index_scratch.h"
#include "search/index_seek.h"
#include "base/tell.h"
#include "search/query_numbers.h"

enum { BLOCK = CPB_INDEX_BLOCK };

/* Receives the results, nearest first. */
typedef struct receiver {
  cpb_hit *hits; /* k for each query */
  size_t *counts;
  size_t k;
  cpb_search_take *take; /* unless NULL: called for each query, instead of filling hits */
  void *context;
} receiver;

static cpb_status receive(const receiver *to, size_t query, const cpb_hit *hits, size_t count,
                          cpb_error *error) {
  if (to->take != NULL) return to->take(to->context, query, hits, count, error);
  cpb_hit *place = to->hits + query * to->k;
  if (count > 0) memmove(place, hits, count * sizeof *place);
  for (size_t i = count; i < to->k; i++) place[i] = (cpb_hit){UINT64_MAX, NAN};
  if (to->counts != NULL) to->counts[query] = count;
  return CPB_OK;
}

/* Sorts the entries and converts them to hits in place. */
static cpb_status receive_ranked(const cpb_index *index, const receiver *to, size_t query, cpb_best *rows,
                                 cpb_error *error) {
  _Static_assert(sizeof(cpb_hit) == sizeof(cpb_ranked), "hits overwrite entries");
  cpb_ranked_sort(rows->entry, rows->count);
  for (size_t i = 0; i < rows->count; i++) {
    cpb_hit hit = {rows->entry[i].id, cpb_seek_key(index, rows->entry[i].key)};
    memcpy(&rows->entry[i], &hit, sizeof hit);
  }
  return receive(to, query, (const cpb_hit *)(const void *)rows->entry, rows->count, error);
}

/* ---- by floats ---- */

/* Rows that may be found, collected for a search. */
typedef struct gathering {
  char *rows;
  uint64_t *ids;
  size_t count;
} gathering;

static cpb_status feed_gathered(const cpb_scan_args *asked, cpb_search *search, gathering *g,
                                cpb_error *error) {
  const cpb_index *index = asked->index;
  cpb_view rows = cpb_rows(g->rows, index->options.dtype, g->count, index->options.cols);
  g->count = 0;
  return cpb_search_feed_ids(search, rows, g->ids, NULL, error);
}

static cpb_status feed_allowed(const cpb_scan_args *asked, size_t query, cpb_search *search, gathering *g,
                               cpb_error *error) {
  const cpb_index *index = asked->index;
  cpb_row_buffer buffer;
  cpb_status status = CPB_OK;
  for (size_t slot = 0; status == CPB_OK && slot < index->slots; slot++) {
    uint64_t id = cpb_id_map_id(&index->ids, slot);
    if (cpb_index_is_removed(index, slot) || !cpb_seek_allows(asked->filter, query, id)) continue;
    memcpy(g->rows + g->count * index->row_bytes, cpb_slot_row(index, slot, &buffer), index->row_bytes);
    g->ids[g->count++] = id;
    if (g->count == 8 * BLOCK) status = feed_gathered(asked, search, g, error);
  }
  return status == CPB_OK && g->count > 0 ? feed_gathered(asked, search, g, error) : status;
}

static cpb_status new_search(const cpb_scan_args *asked, size_t first, size_t count, cpb_search **search,
                             cpb_error *error) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = asked->index->options.metric;
  options.k = asked->limits != NULL ? 0 : asked->k;
  options.limits = asked->limits != NULL ? asked->limits + first : NULL;
  return cpb_search_new(cpb_view_slice(asked->queries, first, count), &options, search, error);
}

/* Queries [first, first+count), which have the same filter. */
static cpb_status search_by_floats(const cpb_scan_args *asked, size_t first, size_t count, const receiver *to,
                                   cpb_error *error) {
  const cpb_index *index = asked->index;
  gathering g = {malloc(8 * BLOCK * index->row_bytes), malloc(8 * BLOCK * sizeof *g.ids), 0};
  cpb_search *search = NULL;
  cpb_status status = g.rows == NULL || g.ids == NULL ? cpb_fail_memory(error, "a block of rows")
                                                      : new_search(asked, first, count, &search, error);
  if (status == CPB_OK) status = feed_allowed(asked, first, search, &g, error);
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    const cpb_hit *hits;
    size_t found;
    status = cpb_search_hits(search, i, &hits, &found, error);
    if (status == CPB_OK) status = receive(to, first + i, hits, found, error);
  }
  cpb_search_report report = {.size = sizeof report};
  if (search != NULL) cpb_search_describe(search, &report);
  atomic_fetch_add(&index->shared->measured, report.measured);
  atomic_fetch_add(&index->shared->by_floats, count);
  cpb_search_free(search);
  free(g.rows);
  free(g.ids);
  return status;
}

static bool is_alike(const cpb_index_filter *filter) {
  return filter == NULL || (filter->allow == NULL && filter->stride == 0);
}

static cpb_status search_all_by_floats(const cpb_scan_args *asked, const receiver *to, cpb_error *error) {
  size_t n = asked->queries.rows, together = is_alike(asked->filter) ? n : 1;
  cpb_status status = CPB_OK;
  for (size_t first = 0; status == CPB_OK && first < n; first += together)
    status = search_by_floats(asked, first, together, to, error);
  return status;
}

/* ---- by codes ---- */

static cpb_status receive_answers(const cpb_scan_args *asked, cpb_seek_answer *answers, const receiver *to,
                                  cpb_error *error) {
  cpb_status status = CPB_OK;
  uint64_t measured = 0;
  for (size_t i = 0; i < asked->queries.rows; i++) {
    measured += answers[i].measured;
    if (status == CPB_OK && answers[i].undecided)
      status = search_by_floats(asked, i, 1, to, error);
    else if (status == CPB_OK)
      status = receive_ranked(asked->index, to, i, &answers[i].rows, error);
    if (asked->limits != NULL) free(answers[i].rows.entry);
  }
  atomic_fetch_add(&asked->index->shared->measured, measured);
  return status;
}

static cpb_status search_by_codes(const cpb_scan_args *asked, const receiver *to, cpb_error *error) {
  cpb_index_scratch *scratch = cpb_scratch_take(asked->index);
  if (scratch == NULL) return cpb_fail_memory(error, "a search");
  cpb_seek_answer *answers;
  cpb_status status = cpb_seek_codes(asked, scratch, &answers, error);
  if (status == CPB_OK) status = receive_answers(asked, answers, to, error);
  cpb_scratch_give(asked->index, scratch);
  return status;
}

/* ---- the rows of a list ---- */

typedef struct list {
  const cpb_scan_args *asked;
  double *q;
  cpb_ranked *found; /* for the current query */
  size_t *slots;
} list;

static int compare_slots(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* Each live slot once. */
static size_t slots_of(const cpb_index *index, const uint64_t *ids, size_t count, size_t *slots) {
  size_t found = 0, kept = 0;
  for (size_t i = 0; i < count; i++) {
    size_t slot = cpb_id_map_find(&index->ids, ids[i], index->removed_bits);
    if (slot != CPB_NO_SLOT) slots[found++] = slot;
  }
  qsort(slots, found, sizeof *slots, compare_slots);
  for (size_t i = 0; i < found; i++)
    if (i == 0 || slots[i] != slots[kept - 1]) slots[kept++] = slots[i];
  return kept;
}

static cpb_status search_list(list *l, size_t query, const receiver *to, cpb_error *error) {
  const cpb_index *index = l->asked->index;
  const cpb_index_filter *filter = l->asked->filter;
  size_t from = filter->offsets != NULL ? filter->offsets[query] : 0;
  size_t count = filter->offsets != NULL ? filter->offsets[query + 1] - from : filter->count;
  size_t slots = slots_of(index, filter->ids + from, count, l->slots);
  cpb_best best = {.k = slots, .entry = l->found};
  for (size_t i = 0; i < slots; i++) {
    double value;
    if (!cpb_seek_measure(index, l->slots[i], l->q + query * index->options.cols, &value))
      return cpb_seek_fail_read(error);
    double key = cpb_seek_key(index, value);
    if (l->asked->limits != NULL && !(key <= cpb_seek_key(index, l->asked->limits[query]))) continue;
    best.entry[best.count++] = (cpb_ranked){key, cpb_id_map_id(&index->ids, l->slots[i])};
  }
  atomic_fetch_add(&index->shared->measured, slots);
  cpb_ranked_sort(best.entry, best.count);
  if (l->asked->limits == NULL && best.count > l->asked->k) best.count = l->asked->k;
  return receive_ranked(index, to, query, &best, error);
}

static size_t longest_list(const cpb_index_filter *filter, size_t n) {
  size_t longest = filter->offsets == NULL ? filter->count : 0;
  for (size_t i = 0; filter->offsets != NULL && i < n; i++)
    if (filter->offsets[i + 1] - filter->offsets[i] > longest)
      longest = filter->offsets[i + 1] - filter->offsets[i];
  return longest;
}

static cpb_status search_lists(const cpb_scan_args *asked, const receiver *to, cpb_error *error) {
  size_t n = asked->queries.rows, d = asked->queries.cols, most = longest_list(asked->filter, n) + 1;
  list l = {asked, malloc(n * d * sizeof *l.q), malloc(most * sizeof *l.found),
            malloc(most * sizeof *l.slots)};
  cpb_query_scale *known = malloc(n * sizeof *known);
  cpb_status status = l.q == NULL || l.found == NULL || l.slots == NULL || known == NULL
                          ? cpb_fail_memory(error, "%zu queries", n)
                          : cpb_query_take(asked->index->options.metric, asked->queries, l.q, known, error);
  for (size_t i = 0; status == CPB_OK && i < n; i++) status = search_list(&l, i, to, error);
  free(l.q);
  free(l.found);
  free(l.slots);
  free(known);
  return status;
}

/* ---- other filters, as `allow` ---- */

enum { MANY = 4096 /* ids of a list, of which not all are measured */ };

typedef struct asking {
  const cpb_index *index;
  cpb_index_filter given;
  uint64_t *sorted; /* ids of a long list */
} asking;

static bool is_in_range(void *context, size_t query, uint64_t id) {
  const cpb_index_filter *given = &((const asking *)context)->given;
  (void)query;
  return id >= given->first && id < given->end;
}

static bool has_key(void *context, size_t query, uint64_t id) {
  const asking *a = context;
  size_t bytes;
  const char *key = cpb_index_key_of(a->index, id, &bytes);
  return a->given.allow_key(a->given.context, query, key, bytes);
}

static int compare_ids(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool is_listed(void *context, size_t query, uint64_t id) {
  const asking *a = context;
  (void)query;
  return bsearch(&id, a->sorted, a->given.count, sizeof id, compare_ids) != NULL;
}

static cpb_status sort_list(asking *a, cpb_error *error) {
  size_t bytes = a->given.count * sizeof *a->sorted;
  a->sorted = malloc(bytes);
  if (a->sorted == NULL) return cpb_fail_memory(error, "%zu ids", a->given.count);
  memcpy(a->sorted, a->given.ids, bytes);
  qsort(a->sorted, a->given.count, sizeof *a->sorted, compare_ids);
  return CPB_OK;
}

/* *filter is changed to one that searches know. */
static cpb_status adapt(asking *a, cpb_index_filter *filter, cpb_error *error) {
  bool is_long = filter->ids != NULL && filter->offsets == NULL && filter->count > MANY;
  a->given = *filter;
  if (filter->end == 0 && filter->allow_key == NULL && !is_long) return CPB_OK;
  filter->allow = filter->end > 0 ? is_in_range : is_long ? is_listed : has_key;
  filter->context = a;
  filter->ids = NULL;
  return is_long ? sort_list(a, error) : CPB_OK;
}

/* ---- calls ---- */

static cpb_status check_filter(const cpb_index *index, const cpb_index_filter *filter, size_t n,
                               cpb_error *error) {
  int given = (filter->allow != NULL) + (filter->bitmap != NULL) + (filter->ids != NULL) +
              (filter->allow_key != NULL) + (filter->end > 0);
  if (given != 1)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "filter",
                    "set one of allow, allow_key, bitmap, ids and end, got %d", given);
  if (filter->allow_key != NULL && !index->options.keys)
    return cpb_fail(error, CPB_WHY_CALL_ORDER, "filter", "the index has ids and no text keys");
  for (size_t i = 0; filter->ids != NULL && filter->offsets != NULL && i < n; i++)
    if (filter->offsets[i] > filter->offsets[i + 1])
      return cpb_fail_count(error, "offsets", filter->offsets[i + 1], "offsets must not decrease");
  return CPB_OK;
}

static cpb_status check_question(const cpb_scan_args *asked, cpb_error *error) {
  cpb_view queries = asked->queries;
  if (asked->index == NULL) return cpb_fail_missing(error, "index");
  if (queries.rows == 0)
    return cpb_fail(error, CPB_WHY_NO_QUERIES, "queries", "a search needs queries, got %zu of %zu columns",
                    queries.rows, queries.cols);
  cpb_status status = asked->limits == NULL ? CPB_OK
                                            : cpb_check_limits(asked->index->options.metric, asked->limits,
                                                               queries.rows, error);
  return status == CPB_OK ? cpb_check_view(queries, "queries", asked->index->options.cols, error) : status;
}

/* Called with the lock held. */
static cpb_status check_k(const cpb_index *index, size_t k, cpb_error *error) {
  cpb_status status = cpb_index_check_open(index, error);
  return status == CPB_OK ? cpb_check_k(k, index->slots - index->removed, "k", "rows of the index", error)
                          : status;
}

cpb_status cpb_index_check_k(const cpb_index *index, size_t k, cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_status status = cpb_index_lock_current(index, error);
  if (status == CPB_OK) status = check_k(index, k, error);
  cpb_index_unlock(index);
  return status;
}

static cpb_status search_locked(const cpb_scan_args *asked, const receiver *to, cpb_error *error) {
  if (asked->filter != NULL && asked->filter->ids != NULL) return search_lists(asked, to, error);
  if (!asked->index->bytes || asked->index->slots == 0) return search_all_by_floats(asked, to, error);
  return search_by_codes(asked, to, error);
}

static cpb_status search_index(const cpb_scan_args *asked, const receiver *to, cpb_error *error) {
  const cpb_index *index = asked->index;
  cpb_status status = cpb_index_lock_current(index, error);
  if (status == CPB_OK && asked->limits == NULL) status = check_k(index, asked->k, error);
  if (status == CPB_OK) status = search_locked(asked, to, error);
  cpb_index_unlock(index);
  if (status == CPB_OK) atomic_fetch_add(&index->shared->queries, asked->queries.rows);
  return status;
}

static cpb_status search(cpb_scan_args *asked, const receiver *to, cpb_error *error) {
  cpb_index_filter filter = {.size = sizeof filter};
  asking a = {.index = asked->index};
  cpb_status status = check_question(asked, error);
  if (status != CPB_OK || asked->filter == NULL)
    return status == CPB_OK ? search_index(asked, to, error) : status;
  status = cpb_sized_take(&filter, sizeof filter, asked->filter, "cpb_index_filter", error);
  if (status == CPB_OK) status = check_filter(asked->index, &filter, asked->queries.rows, error);
  if (status == CPB_OK) status = adapt(&a, &filter, error);
  asked->filter = &filter;
  if (status == CPB_OK) status = search_index(asked, to, error);
  free(a.sorted);
  return status;
}

cpb_status cpb_index_search(const cpb_index *index, cpb_view queries, size_t k,
                            const cpb_index_filter *filter, cpb_hit *hits, size_t *counts,
                            const cpb_exec *exec, cpb_error *error) {
  if (hits == NULL) return cpb_fail_missing(error, "hits");
  receiver to = {.hits = hits, .counts = counts, .k = k};
  cpb_scan_args asked = {.index = index, .queries = queries, .k = k, .filter = filter, .exec = exec};
  return search(&asked, &to, error);
}

cpb_status cpb_index_range(const cpb_index *index, cpb_view queries, const double *limits,
                           const cpb_index_filter *filter, cpb_search_take *take, void *context,
                           const cpb_exec *exec, cpb_error *error) {
  if (limits == NULL) return cpb_fail_missing(error, "limits");
  if (take == NULL) return cpb_fail_missing(error, "take");
  receiver to = {.take = take, .context = context};
  cpb_scan_args asked = {
      .index = index, .queries = queries, .limits = limits, .filter = filter, .exec = exec};
  return search(&asked, &to, error);
}
