/* T13: sorts candidates by exact distance, computed from the rows or from their images alone. */
#include "proof/proof_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "capball/advanced/candidates.h"
#include "core/best.h"
#include "core/fail.h"
#include "core/id_set.h"
#include "core/memory.h"
#include "core/rows.h"
#include "core/sized.h"
#include "loop/table.h"
#include "parallel/blocks.h"
#include "search/measure.h"
#include "sketch/sketch_object.h"
#include "batch/map_object.h"

typedef struct ranking {
  const cpb_loops *loops;
  cpb_view base, queries;
  const cpb_map *map; /* of embedded rows; NULL: the base is the data */
  const cpb_hit *candidates;
  size_t count, k;
  cpb_hit *hits;
} ranking;

/* One query, and the scratch space of its task. */
typedef struct asked {
  cpb_question_point point; /* its image, or without a map the query itself in point.image */
  double *row;              /* base.cols */
  cpb_ranked *entries;      /* k */
  cpb_id_set met;
} asked;

static int distance(const ranking *r, const asked *a, size_t row, double *value) {
  if (r->map == NULL) return cpb_measure(r->loops, CPB_L2, r->base, row, a->point.image, NULL, value);
  cpb_row_widen(r->base, row, a->row);
  *value = cpb_question_distance(&a->point, a->row);
  return isnan(*value) ? CPB_FAULT_NAN : 0;
}

static cpb_status rank_query(const ranking *r, size_t query, asked *a, cpb_error *error) {
  cpb_best best = {r->k, 0, a->entries};
  cpb_status status = CPB_OK;
  if (r->map == NULL)
    cpb_row_widen(r->queries, query, a->point.image);
  else
    status = cpb_question_embed(r->map, cpb_view_slice(r->queries, query, 1), &a->point, error);
  if (status != CPB_OK) return status;
  cpb_id_set_empty(&a->met);
  for (size_t i = 0; i < r->count; i++) {
    uint64_t id = r->candidates[query * r->count + i].id;
    double value;
    if (id >= r->base.rows)
      return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "candidates",
                      "candidate %lld is not one of the %zu rows of the base", (long long)id, r->base.rows);
    if (!cpb_id_set_add(&a->met, id))
      return cpb_fail(error, CPB_WHY_ROW_TWICE, "candidates", "query %zu has a candidate twice", query);
    int fault = distance(r, a, (size_t)id, &value);
    if (fault != 0) return cpb_fault_report((size_t)id, fault, "base", error);
    cpb_best_offer(&best, value, id);
  }
  cpb_ranked_sort(a->entries, best.count);
  for (size_t i = 0; i < r->k; i++)
    r->hits[query * r->k + i] = (cpb_hit){a->entries[i].id, a->entries[i].key};
  return CPB_OK;
}

enum { QUERIES_PER_TASK = 8 };

static cpb_status rank_queries(void *arg, size_t task, cpb_error *error) {
  const ranking *r = arg;
  size_t query = task * QUERIES_PER_TASK, end = query + QUERIES_PER_TASK;
  cpb_memory memory = {0};
  asked a = {.met = cpb_id_set_take(&memory, r->count)};
  a.entries = cpb_memory_take(&memory, r->k, sizeof *a.entries);
  a.row = cpb_memory_take(&memory, r->base.cols, sizeof *a.row);
  a.point.image = cpb_memory_take(&memory, r->base.cols, sizeof *a.row);
  cpb_status status = memory.failed ? cpb_fail_memory(error, "%zu neighbours", r->k) : CPB_OK;
  for (; query < end && query < r->queries.rows && status == CPB_OK; query++)
    status = rank_query(r, query, &a, error);
  cpb_memory_free(&memory);
  return status;
}

static cpb_status check(const ranking *r, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = r->map != NULL ? cpb_check_round(r->map, error) : CPB_OK;
  if (status != CPB_OK) return status;
  size_t d = r->map != NULL ? r->map->options.d : r->base.cols;
  status = r->map != NULL ? cpb_check_view(r->base, "embedded", d + 1, error)
                          : cpb_check_view(r->base, "base", d, error);
  if (status == CPB_OK) status = cpb_check_finite(r->queries, "queries", d, exec, error);
  if (status != CPB_OK) return status;
  if (r->queries.rows > 0 && (r->candidates == NULL || r->hits == NULL))
    return cpb_fail_missing(error, r->candidates == NULL ? "candidates" : "hits");
  return cpb_check_k(r->k, r->count, "k", "candidates", error);
}

static cpb_status rank(ranking *r, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = check(r, exec, error);
  if (status != CPB_OK) return status;
  r->loops = cpb_loops_here();
  size_t tasks = (r->queries.rows + QUERIES_PER_TASK - 1) / QUERIES_PER_TASK;
  return cpb_exec_try(exec, tasks, rank_queries, r, error);
}

cpb_status cpb_rerank(cpb_view base, cpb_view queries, const cpb_hit *candidates, size_t count, size_t k,
                      cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  ranking r = {
      .base = base, .queries = queries, .candidates = candidates, .count = count, .k = k, .hits = hits};
  return rank(&r, exec, error);
}

/* T13 T14: ranks candidates by rows in a store, and checks codes against rows. */

/* The distinct ids of all candidates, ascending; returns their number. */
static size_t list_ids(const cpb_hit *candidates, size_t all, uint64_t *ids) {
  size_t count = 0;
  for (size_t i = 0; i < all; i++) ids[i] = candidates[i].id;
  qsort(ids, all, sizeof *ids, cpb_compare_ids);
  for (size_t i = 0; i < all; i++)
    if (i == 0 || ids[i] != ids[i - 1]) ids[count++] = ids[i];
  return count;
}

/* Reads every candidate once, in the order of the ids. */
static cpb_status read_and_rank(ranking *r, const cpb_store *base, uint64_t *ids, cpb_hit *local,
                                const cpb_exec *exec, cpb_error *error) {
  size_t all = r->queries.rows * r->count, found = list_ids(r->candidates, all, ids);
  void *data = malloc((found + 1) * base->cols * cpb_dtype_size(base->dtype));
  if (data == NULL) return cpb_fail_memory(error, "%zu rows of %zu columns", found, base->cols);
  cpb_status status = base->get(base, ids, found, data, error);
  /* ranking uses positions among the rows read as ids; both orders are the same, so ties are resolved correctly */
  for (size_t i = 0; i < all; i++) {
    const uint64_t *at = bsearch(&r->candidates[i].id, ids, found, sizeof *ids, cpb_compare_ids);
    local[i] = (cpb_hit){(uint64_t)(at - ids), r->candidates[i].value};
  }
  r->base = cpb_rows(data, base->dtype, found, base->cols);
  r->candidates = local;
  if (status == CPB_OK) {
    status = rank(r, exec, error);
    if (status == CPB_EROW && error != NULL && error->row >= 0)
      status = cpb_fail_later(error, ids[error->row] - (uint64_t)error->row);
  }
  for (size_t i = 0; i < r->queries.rows * r->k && status == CPB_OK; i++) r->hits[i].id = ids[r->hits[i].id];
  free(data);
  return status;
}

CPB_DEFAULTS(cpb_rerank_options, .size = sizeof(cpb_rerank_options), .k = 10)

cpb_status cpb_rerank_store(const cpb_store *base, cpb_view queries, const cpb_hit *candidates, size_t count,
                            const cpb_rerank_options *options, cpb_hit *hits, const cpb_exec *exec,
                            cpb_error *error) {
  cpb_rerank_options o = defaults;
  if (base == NULL || base->get == NULL) return cpb_fail_missing(error, "base");
  if (candidates == NULL || hits == NULL)
    return cpb_fail_missing(error, candidates == NULL ? "candidates" : "hits");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_rerank_options", error);
  if (status != CPB_OK) return status;
  ranking r = {.base = base->view,
               .queries = queries,
               .map = o.map,
               .candidates = candidates,
               .count = count,
               .k = o.k,
               .hits = hits};
  if (base->get == cpb_view_get) return rank(&r, exec, error);
  size_t all = queries.rows * count;
  cpb_memory memory = {0};
  uint64_t *ids = cpb_memory_take(&memory, all, sizeof *ids);
  cpb_hit *local = cpb_memory_take(&memory, all, sizeof *local);
  status = memory.failed ? cpb_fail_memory(error, "%zu candidates", all)
                         : read_and_rank(&r, base, ids, local, exec, error);
  cpb_memory_free(&memory);
  return status;
}

/* ---- whether codes and rows belong together ---- */

typedef struct checking {
  const cpb_sketch *sketch;
  const cpb_store *rows;
  double room; /* tolerance for images near a boundary: their rounding */
  void *row;
  double *y;
  uint8_t *own;
} checking;

/* Whether each bit is the side of its boundary on which the image is; images nearer to a boundary than the rounding
 * error of the narrowest type are not checked. The highest bit of a level is its sign. */
static bool are_sides(const checking *c, const uint8_t *code) {
  size_t cols = c->sketch->options.d + 1, bits_per = c->sketch->options.bits_per;
  cpb_view_widen(cpb_rows(c->row, c->rows->dtype, 1, cols), c->y);
  for (size_t i = bits_per - 1; i < c->sketch->options.bits; i += bits_per) {
    double side = cpb_loops_here()->dot(c->sketch->options.normals + i / bits_per * cols, c->y, cols);
    if (fabs(side) > c->room && (side >= 0) != (code[i / 8] >> i % 8 & 1)) return false;
  }
  return true;
}

/* A row that cannot be encoded passes here; the ranking reports it. */
static bool is_code(const checking *c, const uint8_t *code) {
  cpb_view row = cpb_rows(c->row, c->rows->dtype, 1, c->rows->cols);
  return cpb_sketch_encode(c->sketch, row, c->own, NULL, NULL) != CPB_OK ||
         memcmp(c->own, code, c->sketch->options.code_bytes) == 0;
}

static cpb_status check_one(const checking *c, cpb_view codes, uint64_t id, cpb_error *error) {
  const uint8_t *code = (const uint8_t *)codes.data + (size_t)id * codes.stride;
  cpb_status status = c->rows->get(c->rows, &id, 1, c->row, error);
  if (status != CPB_OK) return status;
  bool embedded = c->rows->cols == c->sketch->options.d + 1;
  if (embedded ? are_sides(c, code) : is_code(c, code)) return CPB_OK;
  return cpb_fail_row(error, CPB_WHY_CODE_OF_ROW, "codes", id, "is not the code of %srow %llu",
                      embedded ? "embedded " : "", (unsigned long long)id);
}

static cpb_status check_some(checking *c, cpb_view codes, const cpb_hit *found, size_t count,
                             cpb_error *error) {
  enum { LOOK = 64 };
  size_t look = count < LOOK ? count : LOOK;
  cpb_memory memory = {0};
  c->row = cpb_memory_take(&memory, c->rows->cols, sizeof(double));
  c->y = cpb_memory_take(&memory, c->rows->cols, sizeof *c->y);
  c->own = cpb_memory_take(&memory, c->sketch->options.code_bytes, 1);
  cpb_status status = memory.failed ? cpb_fail_memory(error, "a row of %zu columns", c->rows->cols) : CPB_OK;
  for (size_t at = 0; at < look && status == CPB_OK; at++)
    status = check_one(c, codes, found[at * count / look].id, error);
  cpb_memory_free(&memory);
  return status;
}

cpb_status cpb_sketch_map(const cpb_sketch *sketch, cpb_map **map, cpb_error *error) {
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  return cpb_map_plain(sketch->options.d, sketch->options.s, sketch->options.center, map, error);
}

cpb_status cpb_sketch_check(const cpb_sketch *sketch, cpb_view codes, const cpb_store *rows,
                            const cpb_hit *found, size_t count, cpb_error *error) {
  checking c = {.sketch = sketch, .rows = rows};
  cpb_map *map = NULL;
  if (rows == NULL || rows->get == NULL) return cpb_fail_missing(error, "rows");
  if (found == NULL && count > 0) return cpb_fail_missing(error, "found");
  if (rows->rows != codes.rows)
    return cpb_fail(error, CPB_WHY_ROWS, "codes", "there are %llu rows, but %zu codes",
                    (unsigned long long)rows->rows, codes.rows);
  cpb_status status = cpb_sketch_map(sketch, &map, error);
  if (status == CPB_OK) status = cpb_check_view(codes, "codes", sketch->options.code_bytes, error);
  if (status != CPB_OK) return status;
  c.room = cpb_query_row_error(map, CPB_F16);
  cpb_map_free(map);
  return check_some(&c, codes, found, count, error);
}
