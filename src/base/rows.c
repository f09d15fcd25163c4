#include "base/rows.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

static const struct {
  const char *name;
  size_t size;
} dtypes[] = {[CPB_F32] = {"f32", 4}, [CPB_F64] = {"f64", 8}, [CPB_F16] = {"f16", 2}, [CPB_U8] = {"u8", 1},
              [CPB_I8] = {"i8", 1},   [CPB_I32] = {"i32", 4}, [CPB_I64] = {"i64", 8}};

size_t cpb_dtype_size(cpb_dtype dtype) { return (unsigned)dtype <= CPB_I64 ? dtypes[dtype].size : 0; }

const char *cpb_dtype_name(cpb_dtype dtype) {
  return (unsigned)dtype <= CPB_I64 ? dtypes[dtype].name : "unknown";
}

cpb_status cpb_fail_dtype(cpb_error *error, const char *argument, cpb_dtype dtype) {
  return cpb_fail(error, CPB_WHY_DTYPE_IN, argument, "%s is %s, wanted f32, f64, f16, u8 or i8", argument,
                  cpb_dtype_name(dtype));
}

cpb_status cpb_fail_unknown_dtype(cpb_error *error, const char *argument, cpb_dtype dtype) {
  return cpb_fail(error, CPB_WHY_UNKNOWN_DTYPE, argument, "%s has unknown dtype %d", argument, (int)dtype);
}

cpb_status cpb_check_layout(cpb_view view, const char *name, size_t cols, cpb_error *error) {
  size_t element = cpb_dtype_size(view.dtype), rows = view.rows;
  if (element == 0) return cpb_fail_unknown_dtype(error, name, view.dtype);
  if (view.cols != cols)
    return cpb_fail(error, CPB_WHY_COLUMNS, name, "%s has %zu columns, wanted %zu", name, view.cols, cols);
  if (view.stride < cols)
    return cpb_fail(error, CPB_WHY_STRIDE, name, "%s has stride %zu, smaller than its %zu columns", name,
                    view.stride, cols);
  if (rows != 0 && view.stride > SIZE_MAX / element / rows)
    return cpb_fail(error, CPB_WHY_TOO_MANY_ROWS, name,
                    "%s has %zu rows of stride %zu, more than memory can hold", name, rows, view.stride);
  if (rows != 0 && view.data == NULL)
    return cpb_fail(error, CPB_WHY_MISSING, name, "%s has %zu rows but no data", name, rows);
  if (rows != 0 && (uintptr_t)view.data % element != 0)
    return cpb_fail(error, CPB_WHY_ALIGNMENT, name, "%s is not aligned to its %zu-byte elements", name,
                    element);
  return CPB_OK;
}

cpb_status cpb_check_view(cpb_view view, const char *name, size_t cols, cpb_error *error) {
  if (view.dtype > CPB_I8 && view.dtype <= CPB_I64) return cpb_fail_dtype(error, name, view.dtype);
  return cpb_check_layout(view, name, cols, error);
}

cpb_status cpb_check_out(cpb_out out, const char *name, size_t rows, size_t cols, cpb_error *error) {
  if (out.dtype != CPB_F32 && out.dtype != CPB_F64)
    return cpb_fail(error, CPB_WHY_DTYPE_OUT, name, "%s must be f32 or f64, got %s", name,
                    cpb_dtype_name(out.dtype));
  if (out.rows != rows) return cpb_fail_rows(error, name, out.rows, rows);
  return cpb_check_layout(cpb_view_of(out), name, cols, error);
}

static size_t extent(cpb_view rows) {
  return rows.rows == 0 ? 0 : ((rows.rows - 1) * rows.stride + rows.cols) * cpb_dtype_size(rows.dtype);
}

cpb_status cpb_check_apart(cpb_view in, const char *in_name, cpb_out out, const char *out_name,
                           cpb_error *error) {
  uintptr_t a = (uintptr_t)in.data, b = (uintptr_t)out.data;
  size_t a_bytes = extent(in), b_bytes = extent(cpb_view_of(out));
  if (a_bytes == 0 || b_bytes == 0 || a + a_bytes <= b || b + b_bytes <= a) return CPB_OK;
  return cpb_fail(error, CPB_WHY_OVERLAP, out_name, "%s and %s overlap in memory", in_name, out_name);
}

double cpb_half_to_double(uint16_t half) {
  int exponent = half >> 10 & 31, mantissa = half & 1023;
  double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                     : exponent == 0 ? ldexp(mantissa, -24)
                                     : ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

/* Elements first .. first+count-1; inline, so that a single one needs no loop. */
static inline void widen(const void *from, cpb_dtype dtype, size_t first, size_t count, double *to) {
  const size_t end = first + count;
  switch (dtype) {
  case CPB_F32:
    for (size_t i = first; i < end; i++) *to++ = (double)((const float *)from)[i];
    break;
  case CPB_F64: memcpy(to, (const double *)from + first, count * sizeof *to); break;
  case CPB_F16:
    for (size_t i = first; i < end; i++) *to++ = cpb_half_to_double(((const uint16_t *)from)[i]);
    break;
  case CPB_U8:
    for (size_t i = first; i < end; i++) *to++ = ((const uint8_t *)from)[i];
    break;
  case CPB_I8:
    for (size_t i = first; i < end; i++) *to++ = ((const int8_t *)from)[i];
    break;
  case CPB_I32:
    for (size_t i = first; i < end; i++) *to++ = ((const int32_t *)from)[i];
    break;
  case CPB_I64:
    for (size_t i = first; i < end; i++) *to++ = (double)((const int64_t *)from)[i];
    break;
  }
}

double cpb_view_at(cpb_view view, size_t row, size_t column) {
  double number = NAN;
  widen(view.data, view.dtype, row * view.stride + column, 1, &number);
  return number;
}

void cpb_view_widen(cpb_view view, double *to) {
  if (view.data == NULL || to == NULL) return;
  for (size_t row = 0; row < view.rows; row++, to += view.cols)
    widen(view.data, view.dtype, row * view.stride, view.cols, to);
}

bool cpb_row_is_finite(cpb_view view, size_t row) {
  for (size_t k = 0; k < view.cols; k++)
    if (!isfinite(cpb_view_at(view, row, k))) return false;
  return true;
}

void cpb_out_set(cpb_out out, size_t row, size_t column, double value) {
  size_t i = row * out.stride + column;
  if (out.dtype == CPB_F32)
    ((float *)out.data)[i] = (float)value;
  else
    ((double *)out.data)[i] = value;
}

cpb_view cpb_view_slice(cpb_view view, size_t first, size_t count) {
  size_t offset = first * view.stride * cpb_dtype_size(view.dtype);
  if (offset != 0) view.data = (const char *)view.data + offset; /* without rows, data may be NULL */
  view.rows = count;
  return view;
}

cpb_out cpb_out_slice(cpb_out out, size_t first, size_t count) {
  out.data = (char *)out.data + first * out.stride * cpb_dtype_size(out.dtype);
  out.rows = count;
  return out;
}

cpb_view cpb_view_of(cpb_out out) { return (cpb_view){out.data, out.dtype, out.rows, out.cols, out.stride}; }

cpb_status cpb_check_readable(const cpb_source *source, const char *name, cpb_error *error) {
  if (source == NULL) return cpb_fail_missing(error, name);
  if (source->next != NULL && source->rewind != NULL) return CPB_OK;
  return cpb_fail(error, CPB_WHY_MISSING, name, "%s->%s must not be NULL", name,
                  source->next == NULL ? "next" : "rewind");
}

cpb_status cpb_check_source(const cpb_source *source, cpb_error *error) {
  cpb_status status = cpb_check_readable(source, "source", error);
  if (status != CPB_OK) return status;
  if (source->size != sizeof *source)
    return cpb_fail(error, CPB_WHY_SIZE_NONE, "source", "source has size %zu, wanted %zu", source->size,
                    sizeof *source);
  if (source->cols == 0) return cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  return source->view.rows == 0 ? CPB_OK : cpb_check_view(source->view, "x", source->cols, error);
}

cpb_status cpb_view_next(cpb_source *source, cpb_view *block, cpb_error *error) {
  /* about 4 Mi elements: enough work for all threads, little enough to report progress in between */
  enum { ELEMENTS = 1 << 22, STEP = 4096 };
  if (source == NULL || block == NULL) return cpb_fail_missing(error, source == NULL ? "source" : "block");
  size_t steps = ELEMENTS / (source->cols == 0 ? 1 : source->cols) / STEP;
  size_t left = source->view.rows - source->at, most = steps == 0 ? STEP : steps * STEP;
  *block = cpb_view_slice(source->view, source->at, left < most ? left : most);
  source->at += block->rows;
  return CPB_OK;
}

cpb_status cpb_view_rewind(cpb_source *source, cpb_error *error) {
  if (source == NULL) return cpb_fail_missing(error, "source");
  source->at = 0;
  return CPB_OK;
}

cpb_status cpb_view_get(const cpb_store *store, const uint64_t *ids, size_t count, void *rows,
                        cpb_error *error) {
  if (store == NULL) return cpb_fail_missing(error, "store");
  if ((ids == NULL || rows == NULL) && count > 0)
    return cpb_fail_missing(error, ids == NULL ? "ids" : "rows");
  cpb_view view = store->view;
  size_t size = cpb_dtype_size(view.dtype), bytes = view.cols * size;
  for (size_t i = 0; i < count; i++) {
    if (ids[i] >= view.rows)
      return cpb_fail(error, CPB_WHY_ROWS_BEYOND, "ids", "row %llu is requested, but there are only %zu rows",
                      (unsigned long long)ids[i], view.rows);
    memcpy((char *)rows + i * bytes, (const char *)view.data + (size_t)ids[i] * view.stride * size, bytes);
  }
  return CPB_OK;
}
