/* T13: converts base rows of a transform back to the data: x = m + unit y', y' the first d coordinates. */
#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "loop/chunk.h"
#include "loop/table.h"
#include "parallel/blocks.h"
#include "proof/transform_object.h"

static double unit_of(const cpb_transform *transform) {
  double L = transform->options.max_norm;
  switch (transform->options.kind) {
  case CPB_TRANSFORM_LIFT_IP: return L;
  case CPB_TRANSFORM_LIFT_COSINE: return L * cpb_lift_roof;
  case CPB_TRANSFORM_IP_COSINE: return L * cpb_lift_ip_roof;
  default: return 1;
  }
}

typedef struct inversion {
  const cpb_loops *loops;
  const double *center;
  double unit;
  cpb_view y;
  cpb_out x;
  cpb_first_fault fault;
} inversion;

/* False if a coordinate is out of range for x's type. */
static bool bring_back(const inversion *job, size_t row) {
  double buffer[CPB_CHUNK], limit = cpb_out_limit(job->x.dtype);
  bool fits = true;
  for (size_t offset = 0; offset < job->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(job->x.cols, offset);
    const double *y = cpb_row_chunk(job->loops, job->y, row, offset, count, buffer);
    for (size_t i = 0; i < count; i++)
      buffer[i] = y[i] * job->unit + (job->center != NULL ? job->center[offset + i] : 0);
    fits &= cpb_chunk_fits(buffer, count, limit);
    cpb_row_store(job->loops, job->x, row, offset, count, buffer);
  }
  return fits;
}

static void bring_back_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  inversion *job = arg;
  for (size_t row = first; row < first + count; row++) {
    int fault = cpb_row_fault(job->loops, job->y, row);
    if (fault == 0 && !bring_back(job, row)) fault = CPB_FAULT_RANGE;
    if (fault == 0) continue;
    cpb_row_spoil(job->x, row);
    cpb_first_fault_meet(&job->fault, row, (cpb_fault)fault);
  }
}

cpb_status cpb_transform_unapply(const cpb_transform *transform, cpb_view y, cpb_out x, const cpb_exec *exec,
                                 cpb_error *error) {
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  if (transform->map != NULL) return cpb_map_unembed(transform->map, y, x, exec, error);
  if (transform->options.kind == CPB_TRANSFORM_NORMALIZE)
    return cpb_fail_count(
        error, "transform", transform->options.kind,
        "transform normalize keeps only directions and has no inverse: the kind must be different");
  cpb_status status = cpb_check_view(y, "y", cpb_transform_cols(transform), error);
  if (status == CPB_OK) status = cpb_check_out(x, "x", y.rows, transform->options.d, error);
  if (status == CPB_OK) status = cpb_check_apart(y, "y", x, "x", error);
  if (status != CPB_OK) return status;
  inversion job = {.loops = cpb_loops_here(),
                   .center = transform->options.center,
                   .unit = unit_of(transform),
                   .y = y,
                   .x = x};
  cpb_first_fault_init(&job.fault);
  cpb_blocks blocks = {y.rows, cpb_blocks_rows(y.cols), bring_back_block, &job};
  cpb_blocks_run(&blocks, exec);
  return cpb_first_fault_report(&job.fault, "y", error);
}
