/* T14: whether codes and rows belong together. */
#include <math.h>
#include <string.h>

#include "capball/advanced/estimator.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "loops/table.h"
#include "sketch/t14_sketch.h"
#include "sphere/embedded_distance.h"
#include "sphere/map_object.h"

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
