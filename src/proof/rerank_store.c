/* T13 T14: ranks candidates by rows in a store, and checks codes against rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/candidates.h"
#include "capball/query.h"
#include "capball/sketch.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "loop/table.h"
#include "proof/certificate.h"
#include "proof/rerank_rows.h"

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The distinct ids of all candidates, ascending; returns their number. */
static size_t list_ids(const cpb_hit *candidates, size_t all, uint64_t *ids) {
  size_t count = 0;
  for (size_t i = 0; i < all; i++) ids[i] = candidates[i].id;
  qsort(ids, all, sizeof *ids, ascending);
  for (size_t i = 0; i < all; i++)
    if (i == 0 || ids[i] != ids[i - 1]) ids[count++] = ids[i];
  return count;
}

/* Ranking uses positions among the rows read as ids; both orders are the same, so ties are resolved correctly. */
static void renumber(const uint64_t *ids, size_t count, const cpb_hit *candidates, size_t all,
                     cpb_hit *local) {
  for (size_t i = 0; i < all; i++) {
    const uint64_t *at = bsearch(&candidates[i].id, ids, count, sizeof *ids, ascending);
    local[i] = (cpb_hit){(uint64_t)(at - ids), candidates[i].value};
  }
}

typedef struct reranking {
  const cpb_store *base;
  const cpb_map *map;
  cpb_view queries;
  const cpb_hit *candidates;
  size_t count, k;
  cpb_hit *hits;
} reranking;

static cpb_status rank_rows(const reranking *r, cpb_view rows, const cpb_hit *candidates,
                            const cpb_exec *exec, cpb_error *error) {
  return r->map == NULL ? cpb_rerank(rows, r->queries, candidates, r->count, r->k, r->hits, exec, error)
                        : cpb_rerank_embedded(r->map, rows, r->queries, candidates, r->count, r->k, r->hits,
                                              exec, error);
}

static cpb_status read_and_rank(const reranking *r, uint64_t *ids, cpb_hit *local, const cpb_exec *exec,
                                cpb_error *error) {
  const cpb_store *base = r->base;
  size_t all = r->queries.rows * r->count, found = list_ids(r->candidates, all, ids);
  void *data = malloc((found + 1) * base->cols * cpb_dtype_size(base->dtype));
  if (data == NULL) return cpb_fail_memory(error, "%zu rows of %zu columns", found, base->cols);
  cpb_status status = base->get(base, ids, found, data, error);
  renumber(ids, found, r->candidates, all, local);
  if (status == CPB_OK) {
    status = rank_rows(r, cpb_rows(data, base->dtype, found, base->cols), local, exec, error);
    if (status == CPB_EROW && error != NULL && error->row >= 0)
      status = cpb_fail_later(error, ids[error->row] - (uint64_t)error->row);
  }
  for (size_t i = 0; i < r->queries.rows * r->k && status == CPB_OK; i++) r->hits[i].id = ids[r->hits[i].id];
  free(data);
  return status;
}

static const cpb_rerank_options defaults = {.size = sizeof defaults, .k = 10};

void cpb_rerank_options_init(cpb_rerank_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

cpb_status cpb_rerank_store(const cpb_store *base, cpb_view queries, const cpb_hit *candidates, size_t count,
                            const cpb_rerank_options *options, cpb_hit *hits, const cpb_exec *exec,
                            cpb_error *error) {
  cpb_rerank_options o = defaults;
  if (base == NULL || base->get == NULL) return cpb_fail_missing(error, "base");
  if (candidates == NULL || hits == NULL)
    return cpb_fail_missing(error, candidates == NULL ? "candidates" : "hits");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_rerank_options", error);
  if (status != CPB_OK) return status;
  reranking r = {base, o.map, queries, candidates, count, o.k, hits};
  if (base->get == cpb_view_get) return rank_rows(&r, base->view, candidates, exec, error);
  size_t all = queries.rows * count;
  uint64_t *ids = malloc((all + 1) * sizeof *ids);
  cpb_hit *local = malloc((all + 1) * sizeof *local);
  status = ids == NULL || local == NULL ? cpb_fail_memory(error, "%zu candidates", all)
                                        : read_and_rank(&r, ids, local, exec, error);
  free(ids);
  free(local);
  return status;
}

/* ---- whether codes and rows belong together ---- */

typedef struct checking {
  const cpb_sketch *sketch;
  cpb_sketch_options of;
  const cpb_store *rows;
  double room; /* tolerance for images near a boundary: their rounding */
  void *row;
  double *y;
  uint8_t *own;
} checking;

/* Whether each bit is the side of its boundary on which the image is; images nearer to a boundary than the rounding
 * error of the narrowest type are not checked. The highest bit of a level is its sign. */
static bool are_sides(const checking *c, const uint8_t *code) {
  size_t cols = c->of.d + 1, bits_per = c->of.bits_per;
  cpb_view_widen(cpb_rows(c->row, c->rows->dtype, 1, cols), c->y);
  for (size_t i = bits_per - 1; i < c->of.bits; i += bits_per) {
    double side = cpb_loops_here()->dot(c->of.normals + i / bits_per * cols, c->y, cols);
    if (fabs(side) > c->room && (side >= 0) != (code[i / 8] >> i % 8 & 1)) return false;
  }
  return true;
}

/* A row that cannot be encoded passes here; the ranking reports it. */
static bool is_code(const checking *c, const uint8_t *code) {
  cpb_view row = cpb_rows(c->row, c->rows->dtype, 1, c->rows->cols);
  return cpb_sketch_encode(c->sketch, row, c->own, NULL, NULL) != CPB_OK ||
         memcmp(c->own, code, c->of.code_bytes) == 0;
}

static cpb_status check_one(const checking *c, cpb_view codes, uint64_t id, cpb_error *error) {
  const uint8_t *code = (const uint8_t *)codes.data + (size_t)id * codes.stride;
  cpb_status status = c->rows->get(c->rows, &id, 1, c->row, error);
  if (status != CPB_OK) return status;
  bool embedded = c->rows->cols == c->of.d + 1;
  if (embedded ? are_sides(c, code) : is_code(c, code)) return CPB_OK;
  return cpb_fail_row(error, CPB_WHY_CODE_OF_ROW, "codes", id, "is not the code of %srow %llu",
                      embedded ? "embedded " : "", (unsigned long long)id);
}

static cpb_status check_some(checking *c, cpb_view codes, const cpb_hit *found, size_t count,
                             cpb_error *error) {
  enum { LOOK = 64 };
  size_t look = count < LOOK ? count : LOOK;
  cpb_status status = CPB_OK;
  c->row = malloc(c->rows->cols * sizeof(double));
  c->y = malloc(c->rows->cols * sizeof *c->y);
  c->own = malloc(c->of.code_bytes);
  if (c->row == NULL || c->y == NULL || c->own == NULL)
    status = cpb_fail_memory(error, "a row of %zu columns", c->rows->cols);
  for (size_t at = 0; at < look && status == CPB_OK; at++)
    status = check_one(c, codes, found[at * count / look].id, error);
  free(c->row);
  free(c->y);
  free(c->own);
  return status;
}

cpb_status cpb_sketch_map(const cpb_sketch *sketch, cpb_map **map, cpb_error *error) {
  cpb_sketch_options of = {.size = sizeof of};
  cpb_map_options options;
  cpb_sketch_describe(sketch, &of);
  cpb_map_options_init(&options, sizeof options);
  options.d = of.d;
  options.s = of.s;
  options.center = of.center;
  return cpb_map_new(&options, map, error);
}

cpb_status cpb_sketch_check(const cpb_sketch *sketch, cpb_view codes, const cpb_store *rows,
                            const cpb_hit *found, size_t count, cpb_error *error) {
  checking c = {.sketch = sketch, .of = {.size = sizeof c.of}, .rows = rows};
  cpb_map *map = NULL;
  if (sketch == NULL || rows == NULL) return cpb_fail_missing(error, sketch == NULL ? "sketch" : "rows");
  if (found == NULL && count > 0) return cpb_fail_missing(error, "found");
  cpb_sketch_describe(sketch, &c.of);
  if (rows->rows != codes.rows)
    return cpb_fail(error, CPB_WHY_ROWS, "codes", "there are %llu rows, but %zu codes",
                    (unsigned long long)rows->rows, codes.rows);
  cpb_status status = cpb_sketch_map(sketch, &map, error);
  if (status != CPB_OK) return status;
  c.room = cpb_query_row_error(map, CPB_F16);
  cpb_map_free(map);
  return check_some(&c, codes, found, count, error);
}
