#include "scale/directions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ruler.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/zero_lines.h"
#include "geometry/vector.h"
#include "loop/chunk.h"
#include "loop/block_product.h"

typedef struct direction_job {
  cpb_directions *to;
  cpb_ruler metric;
} direction_job;

/* unit = (x-c)/length. Lengths whose reciprocal is not a normal number are scaled near 1 first. */
static void set_unit(const direction_job *job, size_t row, double length, double *unit) {
  const cpb_ruler *m = &job->metric;
  bool plain = length >= 0x1p-1000 && length <= 0x1p1000;
  int shift = plain ? 0 : -ilogb(length);
  double size = plain ? length : ldexp(length, shift), buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < m->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(m->x.cols, offset);
    const double *x = cpb_row_chunk(m->loops, m->x, row, offset, count, buffer);
    for (size_t i = 0; i < count; i++) {
      double z = m->c == NULL ? x[i] : x[i] - m->c[offset + i];
      unit[offset + i] = (plain ? z : ldexp(z, shift)) / size;
    }
  }
}

static int set_direction(void *argument, size_t row) {
  const direction_job *job = argument;
  double length;
  int fault = cpb_ruler_length(&job->metric, row, &length);
  if (fault != 0) return fault;
  job->to->norm[row] = length;
  if (length > 0) set_unit(job, row, length, job->to->unit + row * job->to->stride);
  return 0;
}

cpb_status cpb_directions_new(cpb_directions *directions, cpb_view x, const double *center,
                              const cpb_exec *exec, cpb_error *error) {
  *directions = (cpb_directions){.n = x.rows, .d = x.cols};
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.cols == 0) return cpb_fail_no_columns(error, "x");
  if (center != NULL && !cpb_all_finite(center, x.cols))
    return cpb_fail_not_finite(error, "center", "center");
  directions->rows = cpb_round_up(x.rows, CPB_DIRECTIONS_BLOCK);
  directions->stride = cpb_round_up(x.cols, CPB_TILE_COLS);
  if (directions->rows < SIZE_MAX / sizeof(double) / directions->stride)
    directions->unit = cpb_zero_lines(directions->rows * directions->stride, sizeof(double));
  directions->norm = cpb_zero_lines(directions->rows, sizeof(double));
  if (directions->unit == NULL || directions->norm == NULL)
    return cpb_fail_memory(error, "%zu rows of %zu numbers", x.rows, x.cols);
  direction_job job = {directions, {.loops = cpb_loops_here(), .x = x, .c = center, .sign = 1}};
  return cpb_rows_run(x.rows, x.cols, set_direction, &job, "x", exec, error);
}

void cpb_directions_free(cpb_directions *directions) {
  free(directions->unit);
  free(directions->norm);
  *directions = (cpb_directions){0};
}
