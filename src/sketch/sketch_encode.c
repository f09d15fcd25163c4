/* T14: codes of rows. Sketches that estimate have their own file; the bits of earlier kinds are the signs of the ball form in
 * double arithmetic. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/fail.h"
#include "base/rows.h"
#include "loops/row_state.h"
#include "sketch/levels.h"

typedef struct encoding {
  const cpb_sketch *sketch;
  cpb_view x;
  uint8_t *codes;
  atomic_bool out_of_memory;
} encoding;

/* z = unit (x-m), and sigma scaled by the same power of two where numbers are large. False if they are too far apart for double. */
static bool place_row(const cpb_sketch *sketch, cpb_view row, double *z, double *sigma) {
  const cpb_loops *loops = cpb_loops_here();
  double factor = 1;
  cpb_view_widen(row, z);
  loops->axpby(sketch->unit, z, -sketch->unit, sketch->center, z, row.cols);
  *sigma = sketch->sigma;
  if (loops->dot(z, z, row.cols) < 1e300) return true;
  if (!cpb_scale_to_one(z, row.cols, &factor)) return false;
  *sigma *= factor;
  return true;
}

static int encode_row(void *arg, size_t row) {
  encoding *e = arg;
  const cpb_sketch *sketch = e->sketch;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = e->x.cols, bytes = sketch->options.code_bytes;
  double sigma, *z = malloc(d * sizeof *z);
  if (z == NULL) atomic_store(&e->out_of_memory, true);
  if (z == NULL) return 0;
  uint8_t *code = e->codes + row * bytes;
  memset(code, 0, bytes);
  int fault = cpb_row_fault(loops, e->x, row);
  if (fault == 0 && !place_row(sketch, cpb_view_slice(e->x, row, 1), z, &sigma)) fault = CPB_FAULT_RANGE;
  double height = fault == 0 ? sigma * sigma - loops->dot(z, z, d) : 0;
  for (size_t i = 0; fault == 0 && i < sketch->options.bits; i++) {
    const double *normal = sketch->normals + i * (d + 1);
    double side = 2 * sigma * loops->dot(normal, z, d) + normal[d] * height;
    code[i / 8] = (uint8_t)(code[i / 8] | (side >= 0) << i % 8);
  }
  free(z);
  return fault;
}

cpb_status cpb_sketch_encode(const cpb_sketch *sketch, cpb_view x, uint8_t *codes, const cpb_exec *exec,
                             cpb_error *error) {
  if (sketch == NULL || (codes == NULL && x.rows > 0))
    return cpb_fail_missing(error, sketch == NULL ? "sketch" : "codes");
  if (cpb_estimates(sketch)) return cpb_levels_encode(sketch, x, codes, exec, error);
  cpb_status status = cpb_check_view(x, "x", sketch->options.d, error);
  encoding e = {.sketch = sketch, .x = x, .codes = codes};
  if (status == CPB_OK) status = cpb_rows_run(x.rows, sketch->options.d, encode_row, &e, "x", exec, error);
  return atomic_load(&e.out_of_memory) ? cpb_fail_memory(error, "codes of rows") : status;
}
