/* T13: compares embedded rows with the images of the data, row by row. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/candidates.h"
#include "core/fail.h"
#include "core/rows.h"
#include "loop/table.h"
#include "parallel/tell.h"
#include "proof/reading.h"

enum { AT_ONCE = 1024 };

/* Two sources read in parallel, whose blocks need not have the same sizes. */
typedef struct verifying {
  cpb_reading reading;
  const cpb_transform *transform;
  cpb_source *base, *embedded;
  cpb_view rows, images; /* the rest of the current blocks */
  uint64_t row;          /* the number of their first row */
  double *made;          /* AT_ONCE computed images, and one stored row */
  double bound[3];       /* largest distance of a row of f64, f32, f16 from the image in double */
  double worst;
} verifying;

static const cpb_dtype finest_first[] = {CPB_F64, CPB_F32, CPB_F16};

/* Every precision already includes the error of the image in double. */
static void set_bounds(verifying *v) {
  double of_double = cpb_reading_row_error(&v->reading, CPB_F64);
  for (size_t i = 0; i < 3; i++)
    v->bound[i] = cpb_reading_row_error(&v->reading, finest_first[i]) - of_double;
}

static cpb_status fill(cpb_source *source, cpb_view *left, size_t cols, const char *name, cpb_error *error) {
  if (left->rows > 0) return CPB_OK;
  cpb_status status = source->next(source, left, error);
  return status == CPB_OK ? cpb_check_view(*left, name, cols, error) : status;
}

static double distance_of(const verifying *v, size_t i) {
  size_t cols = v->reading.cols;
  double *stored = v->made + AT_ONCE * cols;
  cpb_view row = cpb_view_slice(v->images, i, 1);
  cpb_loops_here()->widen[row.dtype](row.data, cols, stored);
  return sqrt(cpb_loops_here()->dist2(stored, v->made + i * cols, cols)) * (1 + 0x1p-30);
}

static cpb_status verify_rows(verifying *v, size_t count, const cpb_exec *exec, cpb_error *error) {
  cpb_out made = cpb_rows_out(v->made, CPB_F64, count, v->reading.cols);
  cpb_status status =
      cpb_transform_apply(v->transform, CPB_ROLE_BASE, cpb_view_slice(v->rows, 0, count), made, exec, error);
  if (status == CPB_EROW) return cpb_fail_later(error, v->row);
  for (size_t i = 0; i < count && status == CPB_OK; i++) {
    double off = distance_of(v, i);
    if (!(off <= v->bound[2]))
      return cpb_fail_row(error, CPB_WHY_NOT_THE_IMAGE, "embedded", v->row + i,
                          "is %.3g from the image of this row of the data, but rounding to f16 explains only "
                          "%.3g: it was computed by another map, or from other data",
                          off, v->bound[2]);
    v->worst = fmax(v->worst, off);
  }
  return status;
}

static cpb_status verify_next(verifying *v, bool *whole, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = fill(v->base, &v->rows, v->reading.d, "base", error);
  if (status == CPB_OK) status = fill(v->embedded, &v->images, v->reading.cols, "embedded", error);
  if (status != CPB_OK) return status;
  size_t count = v->rows.rows < v->images.rows ? v->rows.rows : v->images.rows;
  if (count > AT_ONCE) count = AT_ONCE;
  *whole = v->rows.rows == 0 && v->images.rows == 0;
  if (count == 0 && !*whole)
    return cpb_fail(error, CPB_WHY_ROWS, v->rows.rows == 0 ? "base" : "embedded",
                    "there are %s rows of the data than embedded ones, which end at row %llu",
                    v->rows.rows == 0 ? "fewer" : "more", (unsigned long long)v->row);
  status = count > 0 ? verify_rows(v, count, exec, error) : CPB_OK;
  v->rows = cpb_view_slice(v->rows, count, v->rows.rows - count);
  v->images = cpb_view_slice(v->images, count, v->images.rows - count);
  v->row += count;
  return status;
}

static cpb_status verify_all(verifying *v, const cpb_exec *exec, cpb_error *error) {
  bool whole = false;
  cpb_exec inner;
  cpb_status status = v->base->rewind(v->base, error);
  cpb_exec_init(&inner, sizeof inner);
  if (exec != NULL) inner = *exec;
  inner.progress = NULL; /* of a block */
  if (status == CPB_OK) status = v->embedded->rewind(v->embedded, error);
  while (status == CPB_OK && !whole) {
    status = verify_next(v, &whole, &inner, error);
    bool known = v->base->rows != CPB_ROWS_UNKNOWN && v->base->rows > 0;
    if (status == CPB_OK)
      status = cpb_exec_tell(exec, known ? fmin(1, (double)v->row / (double)v->base->rows) : 0, error);
  }
  return status;
}

cpb_status cpb_transform_verify(const cpb_transform *transform, cpb_source *base, cpb_source *embedded,
                                cpb_dtype *precision, const cpb_exec *exec, cpb_error *error) {
  verifying v = {.transform = transform, .base = base, .embedded = embedded};
  if (precision == NULL) return cpb_fail_missing(error, "precision");
  cpb_status status = cpb_reading_of_transform(&v.reading, transform, 0, error);
  if (status == CPB_OK) status = cpb_check_source(base, error);
  if (status == CPB_OK) status = cpb_check_source(embedded, error);
  if (status != CPB_OK) return status;
  set_bounds(&v);
  v.made = malloc((AT_ONCE + 1) * v.reading.cols * sizeof *v.made);
  if (v.made == NULL) return cpb_fail_memory(error, "%d rows of %zu columns", AT_ONCE, v.reading.cols);
  status = verify_all(&v, exec, error);
  free(v.made);
  size_t at = 0;
  while (at < 2 && v.worst > v.bound[at]) at++;
  *precision = finest_first[at];
  return status;
}
