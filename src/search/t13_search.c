/* T13: exact search. Blocks of base rows are converted to bytes on a grid (byte_filter.h) or to single-precision
 * factors (float_filter.h), the panel loops report the rows that may be answers, and only those are measured in double
 * (deferred_rows.c). */

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/tell.h"
#include "search/query_numbers.h"
#include "search/t13_search.h"

enum {
  PANEL = CPB_SEARCH_PANEL,
  NUMBERS_AT_ONCE = 1 << 19, /* in base rows converted to bytes, .. */
  FLOATS_AT_ONCE = 1 << 18,  /* .. and to factors, 1 MiB: fits in the L2 cache with the panels */
  ROWS_PER_TASK = 16 * CPB_PANEL_ROWS,
  GROUPS_WANTED = 16, /* enough tasks for any usual number of threads */
  SPARE = 48,         /* rows deferred beyond one and a half times k */
  FEW_QUERIES = 8,    /* too few to repay the conversion of rows to bytes, .. */
  FEW_COLUMNS = 32,   /* .. and rows too short: products are a small part of their work */
};

typedef cpb_search_group group;

CPB_DEFAULTS(cpb_search_options, .size = sizeof(cpb_search_options))

/* ---- a block of rows ---- */

static cpb_view block_of(const cpb_search *search) {
  return cpb_view_slice(search->fed, search->block_first, search->block_count);
}

/* Row and column factors of a panel of floats. */
static void factor_rows(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  cpb_search *search = arg;
  cpb_view rows = block_of(search);
  for (size_t at = first; at < first + count; at++) {
    size_t row = search->block_order[at], ahead = at + CPB_PANEL_ROWS;
    if (ahead < first + count) cpb_fetch_row(rows, search->block_order[ahead]);
    int fault =
        cpb_float_filter_row(&search->float_filter, rows, row, at, search->factors, search->start + at);
    cpb_record_fault(&search->fault, search->block_first + row, fault);
  }
}

static void found_by_floats(void *context, size_t row, uint64_t columns, const float *values) {
  group *g = context;
  const cpb_search *search = g->search;
  for (; columns != 0; columns &= columns - 1) {
    size_t column = (size_t)__builtin_ctzll(columns);
    float among = cpb_float_filter_among(values[column], g->blur[column]);
    cpb_group_take(g, column, search->block_first + search->block_order[g->from + row],
                   (cpb_byte_filter_span){-values[column], values[column] < INFINITY ? -among : INFINITY});
  }
}

static void look_by_floats(group *g) {
  const cpb_search *search = g->search;
  if (g->from >= g->end) return;
  for (size_t column = 0; column < g->count; column++)
    g->blur[column] = 2 * (search->raise + search->query_scale[search->order[g->first + column]].margin);
  cpb_panel panel = {.rows = g->end - g->from,
                     .k = search->float_filter.d,
                     .columns = g->count,
                     .a = search->factors + cpb_panel_at(search->float_filter.d, g->from, 0),
                     .start = search->start + g->from,
                     .b = search->panels + g->panel * search->float_filter.d * PANEL,
                     .threshold = g->threshold,
                     .found = found_by_floats,
                     .context = g};
  search->float_filter.loops->panel(&panel);
  g->from = g->end;
}

static void number_rows(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  cpb_search *search = arg;
  int fault[ROWS_PER_TASK];
  cpb_byte_filter_numbers(&search->byte_filter, block_of(search), first, count, fault);
  for (size_t i = 0; i < count; i++)
    cpb_record_fault(&search->fault, search->block_first + first + i, fault[i]);
}

static void code_rows(void *arg, size_t run) {
  cpb_search *search = arg;
  cpb_byte_filter_codes(&search->byte_filter, block_of(search), run, search->byte_filter.runs[run].first);
  cpb_byte_filter_describe(&search->byte_filter, block_of(search), run);
}

static void found_by_bytes(void *context, size_t row, uint64_t columns, const int32_t *values) {
  group *g = context;
  const cpb_byte_filter *byte_filter = &g->search->byte_filter;
  size_t at = g->run->first + row;
  if (cpb_group_is_hopeless(g)) return;
  for (; columns != 0; columns &= columns - 1) {
    size_t column = (size_t)__builtin_ctzll(columns);
    double product = (double)(values[column] - g->start[row]) + byte_filter->whole[at];
    cpb_byte_filter_span span = cpb_byte_filter_look_at(byte_filter, g->run->step, &byte_filter->rows[at],
                                                        g->first + column, product);
    if ((double)span.nearest <= g->bound[column])
      cpb_group_take(g, column, g->search->block_first + g->search->block_order[at], span);
  }
}

static void look_at_run(group *g, const cpb_byte_filter_run *run) {
  const cpb_byte_filter *byte_filter = &g->search->byte_filter;
  g->run = run;
  cpb_byte_filter_starts(byte_filter, run, g->panel, g->start);
  cpb_byte_filter_thresholds(byte_filter, run, g->panel, 0, g->count, g->bound, g->byte_threshold);
  cpb_panel_bytes panel = {.rows = run->count,
                           .words = byte_filter->words,
                           .columns = g->count,
                           .a = byte_filter->codes + cpb_bytes_at(byte_filter->words, run->first, 0),
                           .start = g->start,
                           .b =
                               byte_filter->codes_of_queries + g->panel * cpb_bytes_panel(byte_filter->words),
                           .threshold = g->byte_threshold,
                           .found = found_by_bytes,
                           .context = g};
  g->search->float_filter.loops->panel_bytes(&panel);
  g->compared += run->count * g->count;
}

/* Bytes save three quarters of a product of d multiply-adds, 32 at a time; a row measured unnecessarily costs about a
 * hundred such steps. Up to a quarter of the saving may be spent on them. */
static bool bytes_pay(const group *g) {
  enum { FREE_OF_CHARGE = 4 };
  double d = (double)g->search->float_filter.d, saved = d * (1. / 32 - 1. / 128), spent = 150 + d / 2;
  if (cpb_group_is_hopeless(g)) return false;
  double allowed = (double)(FREE_OF_CHARGE * g->count) + (double)g->compared * saved / spent / 4;
  return (double)g->wasted <= allowed;
}

static void settle_group(void *groups, size_t task) { cpb_group_measure_deferred((group *)groups + task); }

/* Every part begins at a run, or at a group of rows of floats. */
static void share_block(cpb_search *search) {
  size_t parts = search->group_count / search->panel_count, rows = search->block_count;
  size_t step = search->bytes ? search->byte_filter.run_rows : CPB_PANEL_ROWS;
  size_t share = (rows / parts / step + 1) * step;
  for (size_t i = 0; i < search->group_count; i++) {
    group *g = &search->groups[i];
    g->from = g->begin = g->part * share < rows ? g->part * share : rows;
    g->end = rows - g->from < share ? rows : g->from + share;
  }
}

static cpb_status outcome(const cpb_search *search, cpb_error *error) {
  if (atomic_load(&search->out_of_memory)) return cpb_fail_memory(error, "the rows found");
  return cpb_first_fault_report(&search->fault, "base", error);
}

static bool any_group(const cpb_search *search, bool (*has)(const group *)) {
  for (size_t i = 0; i < search->group_count; i++)
    if (has(&search->groups[i])) return true;
  return false;
}

static bool takes_bytes(const group *g) { return g->bytes; }
static bool takes_floats(const group *g) { return !g->bytes; }
static bool has_rows_left(const group *g) { return g->from < g->end; }

static cpb_status make_codes(cpb_search *search, const cpb_exec *exec, cpb_error *error) {
  cpb_byte_filter *byte_filter = &search->byte_filter;
  cpb_blocks_run(&(cpb_blocks){search->block_count, ROWS_PER_TASK, number_rows, search}, exec);
  cpb_status status = outcome(search, error);
  if (status != CPB_OK) return status;
  cpb_byte_filter_order(byte_filter, search->block_count);
  for (size_t i = 0; i < search->block_count; i++) search->block_order[i] = byte_filter->order[i];
  cpb_exec_run(exec, byte_filter->run_count, code_rows, search);
  return CPB_OK;
}

/* Overwrites the numbers, which are not needed once the codes exist. */
static cpb_status make_factors(cpb_search *search, const cpb_exec *exec, cpb_error *error) {
  cpb_blocks_run(&(cpb_blocks){search->block_count, ROWS_PER_TASK, factor_rows, search}, exec);
  double raise = cpb_float_filter_raise(&search->float_filter, search->start, search->block_count);
  search->raise = fmax(search->raise, raise);
  return outcome(search, error);
}

static void look(void *groups, size_t task) {
  group *g = (group *)groups + task;
  const cpb_byte_filter *byte_filter = &g->search->byte_filter;
  if (!g->bytes) look_by_floats(g);
  for (; g->bytes && !g->fails && g->from < g->end; g->from += g->run->count) {
    look_at_run(g, &byte_filter->runs[g->from / byte_filter->run_rows]);
    g->fails = !bytes_pay(g);
  }
}

/* Where bytes fail for one part of the rows, the panel goes on with floats. If few panels are left for bytes, so do
 * they: a block is not worth converting twice. True if a panel changes over. */
static bool move_failing_panels_to_floats(cpb_search *search) {
  size_t floats = 0, failed = 0;
  for (size_t i = 0; i < search->group_count; i++)
    search->groups[i % search->panel_count].fails |= search->groups[i].fails;
  for (size_t panel = 0; panel < search->panel_count; panel++) {
    floats += !search->groups[panel].bytes;
    failed += search->groups[panel].bytes && search->groups[panel].fails;
  }
  for (size_t panel = 0; 4 * (floats + failed) > search->panel_count && panel < search->panel_count; panel++)
    search->groups[panel].fails = true;
  return failed > 0;
}

/* Bounds of bytes and of floats are not comparable, so deferred rows are measured. If bytes fail in the very first
 * block, for which no bounds are known, floats compare it instead, and bytes are tried once more with the bounds it
 * gives; otherwise floats are used for good. */
static void change_to_floats(void *groups, size_t task) {
  group *g = (group *)groups + task;
  if (!g->bytes || !g->search->groups[g->panel].fails) return;
  g->retry_bytes = cpb_group_is_first(g);
  for (size_t column = 0; g->retry_bytes && column < g->count; column++)
    g->deferred[column] = g->best[column].count = 0;
  if (g->retry_bytes) {
    g->compared = g->measured = g->wasted = 0;
    g->from = g->begin;
  } else
    cpb_group_measure_deferred(g);
  g->bytes = false;
  cpb_group_renew_bounds(g);
}

static void return_to_bytes(void *groups, size_t task) {
  group *g = (group *)groups + task;
  if (!g->retry_bytes) return;
  cpb_group_measure_deferred(g);
  g->wasted = 0;
  g->fails = g->retry_bytes = false;
  g->bytes = true;
  cpb_group_renew_bounds(g);
}

static cpb_status look_at_block(cpb_search *search, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  bool floats = any_group(search, takes_floats);
  share_block(search);
  for (size_t i = 0; i < search->block_count; i++) search->block_order[i] = i;
  if (any_group(search, takes_bytes)) status = make_codes(search, exec, error);
  if (status == CPB_OK && floats) status = make_factors(search, exec, error);
  if (status != CPB_OK) return status;
  cpb_exec_run(exec, search->group_count, look, search->groups);
  if (!move_failing_panels_to_floats(search)) return outcome(search, error);
  cpb_exec_run(exec, search->group_count, change_to_floats, search->groups);
  if (!floats && any_group(search, has_rows_left)) status = make_factors(search, exec, error);
  if (status != CPB_OK) return status;
  cpb_exec_run(exec, search->group_count, look, search->groups);
  if (any_group(search, takes_bytes))
    cpb_exec_run(exec, search->group_count, return_to_bytes, search->groups);
  return outcome(search, error);
}

/* Rows are measured at the end, when bounds are tightest and the fewest rows remain. */
static cpb_status look_at_all(cpb_search *search, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t first = 0; status == CPB_OK && first < search->fed.rows; first += search->block_count) {
    size_t left = search->fed.rows - first;
    size_t most = any_group(search, takes_bytes) ? search->block_rows : search->float_rows;
    search->block_first = first;
    search->block_count = left < most ? left : most;
    status = look_at_block(search, exec, error);
    double done = (double)(first + search->block_count) / (double)search->fed.rows;
    if (status == CPB_OK) status = cpb_exec_tell(exec, done, error);
  }
  if (status != CPB_OK) return status;
  cpb_exec_run(exec, search->group_count, settle_group, search->groups);
  return outcome(search, error);
}

/* For factors or, in blocks of more rows, for the numbers of bytes. */
static bool make_room(cpb_search *search) {
  bool bytes = search->bytes && !search->byte_filter.fails;
  if ((bytes ? search->byte_filter.numbers : search->factors) != NULL) return true;
  size_t groups = (bytes ? search->block_rows : search->float_rows) / CPB_PANEL_ROWS;
  free(search->factors);
  search->factors = cpb_zero_lines(groups * cpb_panel_group(search->float_filter.d), sizeof(float));
  if (bytes) search->byte_filter.numbers = search->factors;
  return search->factors != NULL;
}

/* Puts the queries on grids for rows of this kind; bounds of other grids are not comparable and are recomputed. If a
 * sample shows that bytes would fail, they are not used. */
static bool prepare(cpb_search *search) {
  bool trial = search->offered == 0 && cpb_search_wants_few_rows(search);
  cpb_byte_filter_queries queries = {search->n,         search->queries,       search->query_scale,
                                     search->order,     trial ? search->k : 0, search->room,
                                     search->block_rows};
  cpb_byte_filter_kind before = search->byte_filter.kind;
  if (search->bytes && !cpb_byte_filter_prepare(&search->byte_filter, search->fed, &queries)) return false;
  if (!make_room(search)) return false;
  for (size_t i = 0; search->byte_filter.kind != before && i < search->group_count; i++) {
    group *g = &search->groups[i];
    bool bytes = g->bytes;
    g->bytes = bytes && !search->byte_filter.fails;
    if (bytes) cpb_group_renew_bounds(g);
  }
  return true;
}

/* noinline: inlining into both callers would double the code size for no speed. */
static __attribute__((noinline)) cpb_status feed(cpb_search *search, cpb_view rows, uint64_t first_id,
                                                 const uint64_t *ids, const cpb_exec *exec,
                                                 cpb_error *error) {
  if (search == NULL) return cpb_fail_missing(error, "search");
  cpb_status status = cpb_check_view(rows, "base", search->float_filter.d, error);
  if (status != CPB_OK) return status;
  if (search->failed)
    return cpb_fail(error, CPB_WHY_CALL_ORDER, "search",
                    "a search whose feed has failed accepts no more rows");
  search->fed = rows;
  search->first_id = first_id;
  search->ids = ids;
  status =
      prepare(search) ? look_at_all(search, exec, error) : cpb_fail_memory(error, "a sample of the base");
  search->failed = status != CPB_OK;
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

void cpb_search_describe(const cpb_search *search, cpb_search_report *report) {
  cpb_search_report ours = {.size = sizeof ours, .rows = search == NULL ? 0 : search->offered};
  for (size_t i = 0; search != NULL && i < search->group_count; i++) {
    ours.bytes += search->groups[i].compared;
    ours.measured += search->groups[i].measured;
  }
  cpb_sized_give(report, &ours, sizeof ours);
}

/* ---- the object ---- */

static bool allocate(cpb_search *search, bool limited, bool wide) {
  size_t n = search->n, d = search->float_filter.d, cells = search->group_count * PANEL;
  size_t floats = 1 + FLOATS_AT_ONCE / cpb_panel_group(d), numbers = 1 + NUMBERS_AT_ONCE / cpb_panel_group(d);
  size_t groups = search->bytes ? numbers : floats;
  search->block_rows = groups * CPB_PANEL_ROWS;
  search->float_rows = floats * CPB_PANEL_ROWS;
  /* a larger buffer defers more rows until the bound has dropped, so fewer are measured unnecessarily */
  search->room = limited                    ? PANEL
                 : search->k > SIZE_MAX / 4 ? SIZE_MAX / 2
                                            : search->k + search->k / 2 + SPARE;
  if (n > SIZE_MAX / PANEL / d || search->room > SIZE_MAX / 64 / cells) return false;
  cpb_memory *memory = &search->memory;
  search->queries = cpb_memory_lines(memory, n, d * sizeof *search->queries);
  search->center = cpb_memory_lines(memory, d, sizeof *search->center);
  if (!wide) search->center_f32 = cpb_memory_lines(memory, d, sizeof *search->center_f32);
  search->query_scale = cpb_memory_lines(memory, n, sizeof *search->query_scale);
  search->order = cpb_memory_lines(memory, n, sizeof *search->order);
  search->slot = cpb_memory_lines(memory, n, sizeof *search->slot);
  search->panels = cpb_memory_lines(memory, search->panel_count * d, PANEL * sizeof *search->panels);
  search->groups = cpb_memory_lines(memory, search->group_count, sizeof *search->groups);
  search->spans = cpb_memory_zeros(memory, cells, (search->room + search->k) * sizeof *search->spans);
  search->rows = cpb_memory_zeros(memory, cells, search->room * sizeof *search->rows);
  search->start = cpb_memory_lines(memory, search->block_rows, sizeof *search->start);
  search->block_order = cpb_memory_zeros(memory, search->block_rows, sizeof *search->block_order);
  if (limited)
    search->limits = cpb_memory_lines(memory, n, sizeof *search->limits);
  else
    search->entries = cpb_memory_lines(memory, cells, search->k * sizeof *search->entries);
  bool made = !search->bytes || cpb_byte_filter_new(&search->byte_filter, &search->float_filter, n);
  if (search->bytes)
    search->starts =
        cpb_memory_lines(memory, search->group_count, search->byte_filter.run_rows * sizeof *search->starts);
  return made && !memory->failed;
}

void cpb_search_free(cpb_search *search) {
  if (search == NULL) return;
  if (search->limits != NULL && search->groups != NULL)
    for (size_t g = 0; g < search->group_count; g++)
      for (size_t column = 0; column < PANEL; column++) free(search->groups[g].best[column].entry);
  free(search->answer); /* in reverse order, so that malloc can keep what the next search needs */
  free(search->factors);
  if (search->bytes) cpb_byte_filter_free(&search->byte_filter);
  cpb_memory_free(&search->memory);
  free(search);
}

static void place_group(cpb_search *search, size_t index) {
  group *g = &search->groups[index];
  size_t cells = index * PANEL, room = search->room;
  g->search = search;
  g->panel = index % search->panel_count;
  g->part = index / search->panel_count;
  g->first = g->panel * PANEL;
  g->count = search->n - g->first < PANEL ? search->n - g->first : PANEL;
  g->bytes = search->bytes;
  g->nearest = search->spans + cells * (room + search->k);
  g->among = g->nearest + PANEL * room;
  g->row = search->rows + cells * room;
  if (g->bytes) g->start = search->starts + index * search->byte_filter.run_rows;
  for (size_t column = 0; column < PANEL; column++) {
    g->threshold[column] = INFINITY;
    g->byte_threshold[column] = INT32_MAX;
    if (search->limits == NULL)
      g->best[column] = (cpb_best){search->k, 0, search->entries + (cells + column) * search->k};
  }
  if (!g->bytes) cpb_group_renew_bounds(g); /* bounds of bytes are set when rows arrive */
}

static bool pack_queries(cpb_search *search) {
  size_t d = search->float_filter.d;
  cpb_ranked *room = malloc(search->n * sizeof *room);
  if (room == NULL) return false;
  cpb_float_filter_init(&search->float_filter, search->float_filter.metric,
                        cpb_rows(search->queries, CPB_F64, search->n, d), search->center, search->center_f32);
  cpb_query_order(search->query_scale, search->queries, search->center, search->n, d, room, search->order);
  free(room);
  for (size_t i = 0; i < search->n; i++) {
    size_t query = search->order[i];
    float *column = search->panels + i / PANEL * d * PANEL + i % PANEL;
    search->slot[query] = i;
    cpb_float_filter_query(&search->float_filter, search->queries + query * d, &search->query_scale[query],
                           column, PANEL);
  }
  return true;
}

static cpb_status check_options(cpb_view queries, const cpb_search_options *options, cpb_error *error) {
  if ((unsigned)options->metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", (int)options->metric);
  if ((options->k == 0) == (options->limits == NULL))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "k",
                    "either k >= 1 or limits must be given, got k = %zu and %s limits", options->k,
                    options->limits == NULL ? "no" : "also");
  if (queries.rows == 0 || queries.cols == 0)
    return cpb_fail(error, CPB_WHY_NO_QUERIES, "queries", "a search needs queries, got %zu of %zu columns",
                    queries.rows, queries.cols);
  cpb_status status = options->limits == NULL
                          ? CPB_OK
                          : cpb_check_limits(options->metric, options->limits, queries.rows, error);
  return status == CPB_OK ? cpb_check_view(queries, "queries", queries.cols, error) : status;
}

static cpb_status fill(cpb_search *search, cpb_view queries, const cpb_search_options *options,
                       cpb_error *error) {
  if (!allocate(search, options->limits != NULL, queries.dtype == CPB_F64))
    return cpb_fail_memory(error, "%zu queries of %zu columns", queries.rows, queries.cols);
  cpb_status status =
      cpb_query_take(search->float_filter.metric, queries, search->queries, search->query_scale, error);
  if (status != CPB_OK) return status;
  if (options->limits != NULL) memcpy(search->limits, options->limits, search->n * sizeof *search->limits);
  if (!pack_queries(search)) return cpb_fail_memory(error, "%zu queries", search->n);
  for (size_t g = 0; g < search->group_count; g++) place_group(search, g);
  return CPB_OK;
}

cpb_status cpb_search_new(cpb_view queries, const cpb_search_options *given, cpb_search **search,
                          cpb_error *error) {
  if (search == NULL) return cpb_fail_missing(error, "search");
  *search = NULL;
  cpb_search_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_search_options", error);
  if (status == CPB_OK) status = check_options(queries, options, error);
  if (status != CPB_OK) return status;
  cpb_search *made = calloc(1, sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "a search");
  made->float_filter.metric = options->metric;
  made->float_filter.loops = cpb_loops_here();
  made->float_filter.d = queries.cols;
  made->n = queries.rows;
  made->k = options->k;
  made->bytes = made->float_filter.loops->panel_bytes != NULL && queries.cols >= FEW_COLUMNS &&
                queries.cols <= CPB_GRID_MOST && queries.rows >= FEW_QUERIES;
  made->panel_count = (made->n + PANEL - 1) / PANEL;
  made->group_count = (GROUPS_WANTED + made->panel_count - 1) / made->panel_count * made->panel_count;
  status = fill(made, queries, options, error);
  if (status == CPB_OK)
    *search = made;
  else
    cpb_search_free(made);
  return status;
}

/* ---- answers ---- */

static cpb_ranked *gather(const cpb_search *search, size_t query, size_t *count) {
  size_t column = search->slot[query] % PANEL, panel = search->slot[query] / PANEL;
  *count = 0;
  for (size_t g = panel; g < search->group_count; g += search->panel_count)
    *count += search->groups[g].best[column].count;
  cpb_ranked *all = malloc((*count + 1) * sizeof *all), *at = all;
  for (size_t g = panel; all != NULL && g < search->group_count; g += search->panel_count) {
    const cpb_best *best = &search->groups[g].best[column];
    if (best->count > 0) memcpy(at, best->entry, best->count * sizeof *at);
    at += best->count;
  }
  return all;
}

cpb_status cpb_search_hits(cpb_search *search, size_t query, const cpb_hit **hits, size_t *count,
                           cpb_error *error) {
  if (search == NULL) return cpb_fail_missing(error, "search");
  if (hits == NULL || count == NULL) return cpb_fail_missing(error, hits == NULL ? "hits" : "count");
  if (query >= search->n)
    return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "query", "there is no query %zu among %zu", query, search->n);
  cpb_ranked *all = gather(search, query, count);
  cpb_hit *answer = all == NULL ? NULL : realloc(search->answer, (*count + 1) * sizeof *answer);
  if (answer == NULL) {
    free(all);
    return cpb_fail_memory(error, "%zu rows found", *count);
  }
  cpb_ranked_sort(all, *count);
  if (search->limits == NULL && *count > search->k) *count = search->k;
  for (size_t i = 0; i < *count; i++) answer[i] = (cpb_hit){all[i].id, cpb_search_key(search, all[i].key)};
  free(all);
  *hits = search->answer = answer;
  return CPB_OK;
}

/* `first` is the number of the first query. */
static cpb_status take_all(cpb_search *search, size_t first, cpb_search_take *take, void *context,
                           cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < search->n && status == CPB_OK; i++) {
    const cpb_hit *hits;
    size_t count;
    status = cpb_search_hits(search, i, &hits, &count, error);
    if (status == CPB_OK) status = take(context, first + i, hits, count, error);
  }
  return status;
}

static cpb_status copy_hits(void *to, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  (void)error;
  memcpy((cpb_hit *)to + query * count, hits, count * sizeof *hits); /* k of them */
  return CPB_OK;
}

cpb_status cpb_knn(cpb_view base, cpb_view queries, size_t k, cpb_metric metric, cpb_hit *hits,
                   const cpb_exec *exec, cpb_error *error) {
  cpb_search_options options = defaults;
  options.k = k;
  options.metric = metric;
  if (hits == NULL && queries.rows > 0) return cpb_fail_missing(error, "hits");
  cpb_search *search;
  cpb_status status = cpb_check_k(k, base.rows, "k", "rows", error);
  if (status == CPB_OK) status = cpb_search_new(queries, &options, &search, error);
  if (status != CPB_OK) return status;
  status = cpb_search_feed(search, base, 0, exec, error);
  if (status == CPB_OK) status = take_all(search, 0, copy_hits, hits, error);
  cpb_search_free(search);
  return status;
}

/* T13: exact search in a base of any size, read block by block. */

enum {
  BATCH = 16384, /* queries whose answers are in memory at once */
  MANY = 256     /* a search for more neighbours is not begun before so many rows have been seen */
};

static cpb_status check_k(size_t k, uint64_t rows, cpb_error *error) {
  if (rows == 0) return cpb_fail(error, CPB_WHY_NO_ROWS, "base", "the base has no rows");
  return k == 0 ? CPB_OK : cpb_check_k(k, rows, "base", "rows", error); /* 0: limits are given */
}

/* The first k rows, or a few more, of a source that does not say how many it has; the caller frees them. */
static cpb_status hold_rows(cpb_source *base, size_t k, cpb_view *held, cpb_error *error) {
  size_t bytes = base->cols * cpb_dtype_size(base->dtype);
  cpb_view block = {0};
  cpb_status status = base->rewind(base, error);
  *held = cpb_rows(NULL, base->dtype, 0, base->cols);
  while (status == CPB_OK && held->rows < k) {
    status = base->next(base, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    size_t rows = held->rows + block.rows;
    char *grown = rows > SIZE_MAX / (bytes + 1) ? NULL : realloc((char *)(uintptr_t)held->data, rows * bytes);
    if (grown == NULL) return cpb_fail_memory(error, "the first %zu rows of the base", rows);
    for (size_t i = 0; i < block.rows; i++)
      memcpy(grown + (held->rows + i) * bytes, cpb_view_slice(block, i, 1).data, bytes);
    *held = cpb_rows(grown, base->dtype, rows, base->cols);
  }
  return status == CPB_OK ? check_k(k, held->rows, error) : status;
}

/* Offers all rows of a source to every query, those held first; ids and error->row (EROW) count from 0. */
static cpb_status search_feed_source(cpb_search *search, cpb_source *base, cpb_view held,
                                     const cpb_exec *exec, cpb_error *error) {
  double all = base->rows == CPB_ROWS_UNKNOWN || base->rows == 0 ? INFINITY : (double)base->rows;
  cpb_status status =
      held.rows > 0 ? cpb_search_feed(search, held, 0, exec, error) : base->rewind(base, error);
  cpb_view block;
  for (uint64_t first = held.rows; status == CPB_OK; first += block.rows) {
    status = base->next(base, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    double from = fmin(1, (double)first / all), to = fmin(1, (double)(first + block.rows) / all);
    cpb_exec_part part;
    status = cpb_search_feed(search, block, first, cpb_exec_part_of(&part, exec, from, to), error);
    if (status == CPB_EROW) status = cpb_fail_later(error, first);
  }
  return status;
}

/* ---- any number of queries ---- */

static cpb_status run_batch(cpb_source *base, cpb_view queries, size_t first,
                            const cpb_search_options *options, cpb_search_take *take, void *context,
                            const cpb_exec *exec, cpb_error *error) {
  cpb_search *search = NULL;
  cpb_view held = {0};
  cpb_status status = CPB_OK;
  if (base->rows == CPB_ROWS_UNKNOWN && options->k > MANY) status = hold_rows(base, options->k, &held, error);
  if (status == CPB_OK) status = cpb_search_new(queries, options, &search, error);
  if (status == CPB_EROW) status = cpb_fail_later(error, first);
  if (status == CPB_OK) status = search_feed_source(search, base, held, exec, error);
  free((char *)(uintptr_t)held.data);
  if (status == CPB_OK) status = check_k(options->k, cpb_search_rows(search), error);
  if (status == CPB_OK) status = take_all(search, first, take, context, error);
  cpb_search_free(search);
  return status;
}

cpb_status cpb_search_run(cpb_source *base, cpb_view queries, const cpb_search_options *options,
                          cpb_search_take *take, void *context, const cpb_exec *exec, cpb_error *error) {
  cpb_search_options o = defaults;
  if (take == NULL) return cpb_fail_missing(error, "take");
  cpb_status status = cpb_check_readable(base, "base", error);
  if (status == CPB_OK) status = cpb_sized_take(&o, sizeof o, options, "search options", error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base->cols, error);
  if (status == CPB_OK && base->rows != CPB_ROWS_UNKNOWN) status = check_k(o.k, base->rows, error);
  const double *limits = o.limits;
  for (size_t first = 0; first < queries.rows && status == CPB_OK; first += BATCH) {
    size_t left = queries.rows - first, count = left < BATCH ? left : BATCH;
    cpb_exec_part part;
    const cpb_exec *of_batch = cpb_exec_part_of(&part, exec, (double)first / (double)queries.rows,
                                                (double)(first + count) / (double)queries.rows);
    if (limits != NULL) o.limits = limits + first;
    status =
        run_batch(base, cpb_view_slice(queries, first, count), first, &o, take, context, of_batch, error);
  }
  return status;
}
