/* T13: exact search. Blocks of base rows become factors of single precision (screen.h), the panel loop names
 * the rows that might be answers, and only those are measured in double. */
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ruler.h"
#include "batch/row_state.h"
#include "capball/search.h"
#include "core/best.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"
#include "search/screen.h"

enum {
  PANEL = CPB_PANEL_COLS,
  FLOATS_AT_ONCE = 1 << 18, /* factors of base rows, 1 MiB: with the panels they stay in the second cache */
  ROWS_PER_TASK = 16 * CPB_PANEL_ROWS,
  GROUPS_WANTED = 16, /* so many tasks keep any usual number of threads busy */
};

/* What is known of a query in advance. */
typedef struct asked {
  double length; /* |q| */
  double size2;  /* |q'|^2 of its factors */
} asked;

/* Up to PANEL queries, and the share of the rows that one task looks at for them. */
typedef struct group {
  cpb_search *search;
  size_t first, count; /* queries */
  size_t from;         /* first row of the share in the block under way */
  float threshold[PANEL];
  cpb_best best[PANEL];  /* with limits k grows as rows are found */
  size_t waiting[PANEL]; /* rows that might be answers, .. */
  float *sum;            /* .. PANEL x room: their sums, */
  size_t *row;           /* .. and rows of the block under way */
} group;

struct cpb_search {
  cpb_screen screen;
  size_t n, k;
  double *queries; /* n x d; of unit length under COSINE */
  double *limits;  /* n or NULL */
  double *center;
  float *center_f32; /* NULL for queries of double */
  asked *asked;

  size_t panel_count, group_count; /* a group for each panel and part of the rows */
  float *panels;                   /* of d x PANEL factors */
  group *groups;                   /* parts x panels */
  size_t room;                     /* for waiting rows of a query, .. */
  float *sums;                     /* .. and their place, groups x PANEL x room */
  size_t *rows;
  cpb_ranked *entries; /* groups x PANEL x k, without limits */
  cpb_hit *answer;
  uint64_t offered;

  /* the block under way */
  float *factors, *start;
  double raise; /* of the starts, over all blocks fed */
  size_t block_rows;
  size_t block_first, block_count; /* its rows among those fed */
  cpb_view fed;
  const uint64_t *ids; /* of the rows fed; NULL: first_id, first_id+1, .. */
  uint64_t first_id;
  cpb_first_fault fault;
  atomic_bool out_of_memory;
  bool spoilt;
};

const char *cpb_metric_name(cpb_metric metric) {
  static const char *const names[CPB_METRICS] = {"l2", "ip", "cosine"};
  return (unsigned)metric < CPB_METRICS ? names[metric] : "?";
}

static const cpb_search_options defaults = {.size = sizeof(cpb_search_options)};

void cpb_search_options_init(cpb_search_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

/* ---- measuring candidates ---- */

static int measure(const cpb_search *search, size_t row, size_t query, double *value) {
  const double *q = search->queries + query * search->screen.d;
  cpb_ruler metric = {.loops = search->screen.loops, .x = search->fed, .sign = 1};
  bool below;
  if (search->screen.metric == CPB_L2) {
    metric.c = q;
    return cpb_ruler_length(&metric, row, value);
  }
  int fault = cpb_ruler_product(&metric, q, row, value, &below);
  if (fault != 0 || search->screen.metric == CPB_IP) return fault;
  double length;
  fault = cpb_ruler_length(&metric, row, &length);
  *value = fmax(-1, fmin(1, *value / length));
  return fault;
}

static bool larger_is_nearer(const cpb_search *search) { return search->screen.metric != CPB_L2; }

/* Keys of a cpb_best: smaller is nearer. The same both ways. */
static double key_of(const cpb_search *search, double value) {
  return larger_is_nearer(search) ? -value : value;
}

static float threshold_for(const cpb_search *search, size_t query, double value) {
  return cpb_screen_threshold(&search->screen, value, search->asked[query].length,
                              search->asked[query].size2);
}

static bool make_room(cpb_best *best) {
  if (best->count < best->k) return true;
  size_t larger = 2 * best->k + 16;
  cpb_ranked *entry = realloc(best->entry, larger * sizeof *entry);
  if (entry == NULL) return false;
  best->entry = entry;
  best->k = larger;
  return true;
}

static void raise_threshold(group *g, size_t column, float threshold) {
  if (threshold > g->threshold[column]) g->threshold[column] = threshold;
}

static void consider(group *g, size_t column, size_t row) {
  cpb_search *search = g->search;
  cpb_best *best = &g->best[column];
  size_t query = g->first + column;
  double value;
  int fault = measure(search, row, query, &value);
  if (fault != 0) {
    cpb_first_fault_meet(&search->fault, row, (cpb_fault)fault);
    return;
  }
  double key = key_of(search, value);
  uint64_t id = search->ids != NULL ? search->ids[row] : search->first_id + row;
  if (search->limits == NULL) {
    cpb_best_offer(best, key, id);
    if (best->count == best->k)
      raise_threshold(g, column, threshold_for(search, query, key_of(search, best->entry[0].key)));
  } else if (key <= key_of(search, search->limits[query])) {
    if (make_room(best))
      cpb_best_offer(best, key, id);
    else
      atomic_store(&search->out_of_memory, true);
  }
}

/* At least k of the sums are as large as this, and hardly more: halving, without a branch on the data. */
static float least_of_k(const float *sum, size_t count, size_t k) {
  enum { HALVINGS = 12 };
  float low = sum[0], high = sum[0];
  for (size_t i = 1; i < count; i++) {
    low = sum[i] < low ? sum[i] : low;
    high = sum[i] > high ? sum[i] : high;
  }
  for (int step = 0; step < HALVINGS; step++) {
    float middle = low + (high - low) / 2;
    unsigned above = 0;
    for (size_t i = 0; i < count; i++) above += sum[i] >= middle;
    low = above >= k ? middle : low;
    high = above >= k ? high : middle;
  }
  return low;
}

static void fetch_row(cpb_view rows, size_t row) {
  size_t bytes = cpb_dtype_size(rows.dtype), length = rows.cols * bytes;
  const char *first = (const char *)rows.data + row * rows.stride * bytes;
  for (size_t at = 0; at < length && at < 1024; at += 64) __builtin_prefetch(first + at);
}

/* Says without measuring which of the waiting rows have no chance, and leaves them out. */
static void prune(group *g, size_t column) {
  const cpb_search *search = g->search;
  float *sum = g->sum + column * search->room;
  size_t *row = g->row + column * search->room, count = g->waiting[column], kept = 0;
  if (search->limits == NULL && count >= search->k) {
    float least = least_of_k(sum, count, search->k);
    double size2 = search->asked[g->first + column].size2;
    if (least < INFINITY)
      raise_threshold(g, column, cpb_screen_among(&search->screen, least, search->raise, size2));
  }
  for (size_t i = 0; i < count; i++) {
    sum[kept] = sum[i], row[kept] = row[i];
    kept += sum[i] > g->threshold[column];
  }
  g->waiting[column] = kept;
}

/* Measures the rows that wait for a query. */
static void settle(group *g, size_t column) {
  prune(g, column);
  size_t *row = g->row + column * g->search->room, count = g->waiting[column];
  for (size_t i = 0; i < count; i++) fetch_row(g->search->fed, row[i]);
  for (size_t i = 0; i < count; i++) consider(g, column, row[i]);
  g->waiting[column] = 0;
}

static void found(void *context, size_t row, uint64_t columns, const float *values) {
  group *g = context;
  size_t room = g->search->room;
  for (; columns != 0; columns &= columns - 1) {
    size_t column = (size_t)__builtin_ctzll(columns);
    size_t at = column * room + g->waiting[column]++;
    g->sum[at] = values[column];
    g->row[at] = g->search->block_first + g->from + row;
    if (g->waiting[column] < room) continue;
    prune(g, column);
    if (g->waiting[column] > room - room / 8) settle(g, column);
  }
}

/* ---- a block of rows ---- */

static void screen_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  cpb_search *search = arg;
  for (size_t row = first; row < first + count; row += CPB_PANEL_ROWS) {
    size_t here = first + count - row < CPB_PANEL_ROWS ? first + count - row : CPB_PANEL_ROWS;
    int fault[CPB_PANEL_ROWS];
    cpb_screen_rows(&search->screen, search->fed, search->block_first + row, here,
                    search->factors + cpb_panel_at(search->screen.d, row, 0), search->start + row, fault);
    for (size_t i = 0; i < here; i++)
      if (fault[i] != 0)
        cpb_first_fault_meet(&search->fault, search->block_first + row + i, (cpb_fault)fault[i]);
  }
}

static void look(void *arg, size_t task) {
  cpb_search *search = arg;
  group *g = &search->groups[task];
  size_t panel_at = task % search->panel_count, part = task / search->panel_count;
  size_t parts = search->group_count / search->panel_count, rows = search->block_count;
  size_t share = (rows / parts / CPB_PANEL_ROWS + 1) * CPB_PANEL_ROWS;
  g->from = part * share;
  if (g->from >= rows) return;
  cpb_panel panel = {.rows = rows - g->from < share ? rows - g->from : share,
                     .k = search->screen.d,
                     .columns = g->count,
                     .a = search->factors + cpb_panel_at(search->screen.d, g->from, 0),
                     .start = search->start + g->from,
                     .b = search->panels + panel_at * search->screen.d * PANEL,
                     .threshold = g->threshold,
                     .found = found,
                     .context = g};
  search->screen.loops->panel(&panel);
}

static void settle_all(void *arg, size_t task) {
  cpb_search *search = arg;
  group *g = &search->groups[task];
  for (size_t column = 0; column < g->count; column++) settle(g, column);
}

static cpb_status outcome(const cpb_search *search, cpb_error *error) {
  if (atomic_load(&search->out_of_memory)) return cpb_fail_memory(error, "the rows found");
  return cpb_first_fault_report(&search->fault, "base", error);
}

static cpb_status look_at_block(cpb_search *search, const cpb_exec *exec, cpb_error *error) {
  cpb_blocks_run(&(cpb_blocks){search->block_count, ROWS_PER_TASK, screen_block, search}, exec);
  double raise = cpb_screen_raise(&search->screen, search->start, search->block_count);
  search->raise = fmax(search->raise, raise);
  cpb_status status = outcome(search, error);
  if (status == CPB_OK) cpb_exec_run(exec, search->group_count, look, search);
  return status == CPB_OK ? outcome(search, error) : status;
}

/* Rows are measured at the end, when thresholds are at their highest and few are left to measure. */
static cpb_status look_at_all(cpb_search *search, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t first = 0; status == CPB_OK && first < search->fed.rows; first += search->block_rows) {
    size_t left = search->fed.rows - first;
    search->block_first = first;
    search->block_count = left < search->block_rows ? left : search->block_rows;
    status = look_at_block(search, exec, error);
  }
  if (status != CPB_OK) return status;
  cpb_exec_run(exec, search->group_count, settle_all, search);
  return outcome(search, error);
}

static cpb_status feed(cpb_search *search, cpb_view rows, uint64_t first_id, const uint64_t *ids,
                       const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(rows, "base", search->screen.d, error);
  if (status != CPB_OK) return status;
  if (search->spoilt)
    return cpb_fail(error, CPB_WHY_SEARCH_VOID, "search",
                    "a search whose feed has failed takes no more rows");
  search->fed = rows;
  search->first_id = first_id;
  search->ids = ids;
  status = look_at_all(search, exec, error);
  search->spoilt = status != CPB_OK;
  if (status == CPB_OK) search->offered += rows.rows;
  return status;
}

cpb_status cpb_search_feed(cpb_search *search, cpb_view rows, uint64_t first_id, const cpb_exec *exec,
                           cpb_error *error) {
  return feed(search, rows, first_id, NULL, exec, error);
}

cpb_status cpb_search_feed_ids(cpb_search *search, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                               cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return feed(search, rows, 0, ids, exec, error);
}

uint64_t cpb_search_rows(const cpb_search *search) { return search->offered; }

/* ---- the object ---- */

static void *zeros(size_t count, size_t size) {
  if (count > SIZE_MAX / 2 / size) return NULL;
  size_t bytes = (count * size + 63) / 64 * 64 + 64;
  void *memory = aligned_alloc(64, bytes);
  if (memory != NULL) memset(memory, 0, bytes);
  return memory;
}

static bool allocate(cpb_search *search, bool limited, bool wide) {
  size_t n = search->n, d = search->screen.d, cells = search->group_count * PANEL;
  size_t groups = 1 + FLOATS_AT_ONCE / cpb_panel_group(d);
  search->block_rows = groups * CPB_PANEL_ROWS;
  search->room = limited ? PANEL : search->k + search->k / 4 + 8;
  if (n > SIZE_MAX / PANEL / d || search->room > SIZE_MAX / 64 / cells) return false;
  search->queries = zeros(n * d, sizeof *search->queries);
  search->center = zeros(d, sizeof *search->center);
  if (!wide) search->center_f32 = zeros(d, sizeof *search->center_f32);
  search->asked = zeros(n, sizeof *search->asked);
  search->panels = zeros(search->panel_count * d, PANEL * sizeof *search->panels);
  search->groups = zeros(search->group_count, sizeof *search->groups);
  search->sums = zeros(cells * search->room, sizeof *search->sums);
  search->rows = zeros(cells * search->room, sizeof *search->rows);
  search->factors = zeros(groups * cpb_panel_group(d), sizeof *search->factors);
  search->start = zeros(search->block_rows, sizeof *search->start);
  if (limited)
    search->limits = zeros(n, sizeof *search->limits);
  else
    search->entries = zeros(cells * search->k, sizeof *search->entries);
  return search->queries != NULL && search->center != NULL && (wide || search->center_f32 != NULL) &&
         search->asked != NULL && search->panels != NULL && search->groups != NULL && search->sums != NULL &&
         search->rows != NULL && search->factors != NULL && search->start != NULL &&
         (limited ? search->limits != NULL : search->entries != NULL);
}

void cpb_search_free(cpb_search *search) {
  if (search == NULL) return;
  if (search->limits != NULL && search->groups != NULL)
    for (size_t g = 0; g < search->group_count; g++)
      for (size_t column = 0; column < PANEL; column++) free(search->groups[g].best[column].entry);
  void *memory[] = {search->queries, search->center,  search->center_f32, search->asked, search->panels,
                    search->groups,  search->sums,    search->rows,       search->start, search->factors,
                    search->limits,  search->entries, search->answer};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
  free(search);
}

static void place_group(cpb_search *search, size_t index) {
  group *g = &search->groups[index];
  size_t panel = index % search->panel_count, cell = index * PANEL;
  g->search = search;
  g->first = panel * PANEL;
  g->count = search->n - g->first < PANEL ? search->n - g->first : PANEL;
  g->sum = search->sums + cell * search->room;
  g->row = search->rows + cell * search->room;
  for (size_t column = 0; column < PANEL; column++) {
    g->threshold[column] = -INFINITY;
    if (column >= g->count) continue;
    if (search->limits == NULL)
      g->best[column] = (cpb_best){search->k, 0, search->entries + (cell + column) * search->k};
    else
      g->threshold[column] = threshold_for(search, g->first + column, search->limits[g->first + column]);
  }
}

static cpb_status take_queries(cpb_search *search, cpb_view queries, cpb_error *error) {
  size_t d = queries.cols;
  cpb_ruler metric = {.loops = cpb_loops_here(), .x = queries, .sign = 1};
  cpb_first_fault first;
  cpb_first_fault_init(&first);
  for (size_t i = 0; i < queries.rows; i++) {
    double *q = search->queries + i * d, *length = &search->asked[i].length;
    metric.loops->widen[queries.dtype](
        (const char *)queries.data + i * queries.stride * cpb_dtype_size(queries.dtype), d, q);
    int fault = cpb_ruler_length(&metric, i, length);
    if (fault == 0 && *length == 0 && search->screen.metric == CPB_COSINE) fault = CPB_FAULT_ZERO;
    if (fault != 0) cpb_first_fault_meet(&first, i, (cpb_fault)fault);
    if (search->screen.metric == CPB_COSINE)
      for (size_t k = 0; k < d; k++) q[k] /= *length;
  }
  return cpb_first_fault_report(&first, "query", error);
}

static void pack_queries(cpb_search *search) {
  size_t d = search->screen.d;
  cpb_screen_init(&search->screen, search->screen.metric, search->queries, search->n, d, search->center,
                  search->center_f32);
  for (size_t i = 0; i < search->n; i++) {
    bool unit = search->screen.metric == CPB_COSINE;
    float *column = search->panels + i / PANEL * d * PANEL + i % PANEL;
    search->asked[i].size2 = cpb_screen_query(&search->screen, search->queries + i * d,
                                              unit ? 1 : search->asked[i].length, column, PANEL);
  }
}

static cpb_status check_options(cpb_view queries, const cpb_search_options *options, cpb_error *error) {
  if ((unsigned)options->metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", (int)options->metric);
  if ((options->k == 0) == (options->limits == NULL))
    return cpb_fail(error, CPB_WHY_K_OR_LIMITS, "k",
                    "either k >= 1 or limits must be given, got k = %zu and %s limits", options->k,
                    options->limits == NULL ? "no" : "also");
  if (queries.rows == 0 || queries.cols == 0)
    return cpb_fail(error, CPB_WHY_NO_QUERIES, "queries", "a search needs queries, got %zu of %zu columns",
                    queries.rows, queries.cols);
  for (size_t i = 0; options->limits != NULL && i < queries.rows; i++)
    if (isnan(options->limits[i]) || (options->metric == CPB_L2 && options->limits[i] < 0))
      return cpb_fail_domain(error, "limits", options->limits[i], "limits[%zu] must be a number%s", i,
                             options->metric == CPB_L2 ? " >= 0" : "");
  return cpb_check_view(queries, "queries", queries.cols, error);
}

static cpb_status fill(cpb_search *search, cpb_view queries, const cpb_search_options *options,
                       cpb_error *error) {
  if (!allocate(search, options->limits != NULL, queries.dtype == CPB_F64))
    return cpb_fail_memory(error, "%zu queries of %zu columns", queries.rows, queries.cols);
  cpb_status status = take_queries(search, queries, error);
  if (status != CPB_OK) return status;
  if (options->limits != NULL) memcpy(search->limits, options->limits, search->n * sizeof *search->limits);
  pack_queries(search);
  for (size_t g = 0; g < search->group_count; g++) place_group(search, g);
  return CPB_OK;
}

cpb_status cpb_search_new(cpb_view queries, const cpb_search_options *given, cpb_search **search,
                          cpb_error *error) {
  *search = NULL;
  cpb_search_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_search_options", error);
  if (status == CPB_OK) status = check_options(queries, options, error);
  if (status != CPB_OK) return status;
  cpb_search *made = calloc(1, sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "a search");
  made->screen.metric = options->metric;
  made->screen.d = queries.cols;
  made->n = queries.rows;
  made->k = options->k;
  made->panel_count = (made->n + PANEL - 1) / PANEL;
  made->group_count = (GROUPS_WANTED + made->panel_count - 1) / made->panel_count * made->panel_count;
  cpb_first_fault_init(&made->fault);
  status = fill(made, queries, options, error);
  if (status == CPB_OK)
    *search = made;
  else
    cpb_search_free(made);
  return status;
}

/* ---- answers ---- */

static cpb_ranked *gather(const cpb_search *search, size_t query, size_t *count) {
  size_t column = query % PANEL;
  *count = 0;
  for (size_t g = query / PANEL; g < search->group_count; g += search->panel_count)
    *count += search->groups[g].best[column].count;
  cpb_ranked *all = malloc((*count + 1) * sizeof *all), *at = all;
  for (size_t g = query / PANEL; all != NULL && g < search->group_count; g += search->panel_count) {
    const cpb_best *best = &search->groups[g].best[column];
    if (best->count > 0) memcpy(at, best->entry, best->count * sizeof *at);
    at += best->count;
  }
  return all;
}

cpb_status cpb_search_hits(cpb_search *search, size_t query, const cpb_hit **hits, size_t *count,
                           cpb_error *error) {
  if (query >= search->n)
    return cpb_fail(error, CPB_WHY_NO_SUCH_QUERY, "query", "there is no query %zu among %zu", query,
                    search->n);
  cpb_ranked *all = gather(search, query, count);
  cpb_hit *answer = all == NULL ? NULL : realloc(search->answer, (*count + 1) * sizeof *answer);
  if (answer == NULL) {
    free(all);
    return cpb_fail_memory(error, "%zu rows found", *count);
  }
  qsort(all, *count, sizeof *all, cpb_ranked_compare);
  if (search->limits == NULL && *count > search->k) *count = search->k;
  for (size_t i = 0; i < *count; i++) answer[i] = (cpb_hit){all[i].id, key_of(search, all[i].key)};
  free(all);
  *hits = search->answer = answer;
  return CPB_OK;
}

static cpb_status collect(cpb_search *search, cpb_hit *hits, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < search->n; i++) {
    const cpb_hit *found_rows;
    size_t count;
    status = cpb_search_hits(search, i, &found_rows, &count, error);
    if (status == CPB_OK) memcpy(hits + i * search->k, found_rows, count * sizeof *hits);
  }
  return status;
}

cpb_status cpb_knn(cpb_view base, cpb_view queries, size_t k, cpb_metric metric, cpb_hit *hits,
                   const cpb_exec *exec, cpb_error *error) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.k = k;
  options.metric = metric;
  if (k > base.rows)
    return cpb_fail(error, CPB_WHY_NEIGHBOURS, "k", "%zu neighbours asked of a base of %zu rows", k,
                    base.rows);
  cpb_search *search;
  cpb_status status = cpb_search_new(queries, &options, &search, error);
  if (status != CPB_OK) return status;
  status = cpb_search_feed(search, base, 0, exec, error);
  if (status == CPB_OK) status = collect(search, hits, error);
  cpb_search_free(search);
  return status;
}
