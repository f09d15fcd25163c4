/* T14: whether codes and rows belong together. */
#include <math.h>
#include <string.h>

#include "capball/advanced/estimator.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "loops/table.h"
#include "sketch/levels.h"
#include "sphere/embedded_distance.h"
#include "sphere/map_object.h"

typedef struct checking {
  const cpb_sketch *sketch;
  const cpb_store *rows;
  cpb_map *map;
  double room; /* tolerance for images near a boundary: their rounding */
  double *v;   /* of a joined sketch: what the code says of projections */
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

/* Whether the row of the image is within the bound of a joined code, up to the rounding of the image. */
static bool is_within(const checking *c, const uint8_t *code) {
  const cpb_sketch_options *o = &c->sketch->options;
  const cpb_loops *loops = cpb_loops_here();
  cpb_factor_form form = cpb_factor_form_of(o);
  cpb_row_factors factors = cpb_factors_get(&form, code + o->bits / 8);
  double v2 = cpb_code_values(c->sketch, code, c->v), along = 0;
  cpb_status status = cpb_map_unembed(c->map, cpb_rows(c->row, c->rows->dtype, 1, o->d + 1),
                                      cpb_rows_out(c->y, CPB_F64, 1, o->d), NULL, NULL);
  if (status != CPB_OK) return true; /* the ranking reports it */
  for (size_t k = 0; k < o->d; k++) c->y[k] = (c->y[k] - c->sketch->center[k]) / o->s;
  for (size_t i = 0; i < o->directions; i++)
    along += c->v[i] * loops->dot(c->sketch->normals + i * (o->d + 1), c->y, o->d);
  double z2 = loops->dot(c->y, c->y, o->d);
  double apart = sqrt(fmax(z2 - 2 * factors.f * along + factors.f * factors.f * v2, 0));
  return apart <= factors.e + c->room * (1 + z2);
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
  bool joined = c->sketch->options.kind == CPB_SKETCH_JOINED;
  if (!embedded ? is_code(c, code) : joined ? is_within(c, code) : are_sides(c, code)) return CPB_OK;
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
  c->v = cpb_memory_take(&memory, cpb_sketch_directions(&c->sketch->options), sizeof *c->v);
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
  if (rows == NULL || rows->get == NULL) return cpb_fail_missing(error, "rows");
  if (found == NULL && count > 0) return cpb_fail_missing(error, "found");
  if (rows->rows != codes.rows)
    return cpb_fail(error, CPB_WHY_ROWS, "codes", "there are %llu rows, but %zu codes",
                    (unsigned long long)rows->rows, codes.rows);
  cpb_status status = cpb_sketch_map(sketch, &c.map, error);
  if (status == CPB_OK) status = cpb_check_view(codes, "codes", sketch->options.code_bytes, error);
  if (status == CPB_OK) c.room = cpb_query_row_error(c.map, CPB_F16);
  if (status == CPB_OK) status = check_some(&c, codes, found, count, error);
  cpb_map_free(c.map);
  return status;
}
