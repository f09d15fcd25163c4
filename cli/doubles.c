#include "doubles.h"

#include <math.h>
#include <stdlib.h>

#include "format_names.h"

/* IEEE binary16 by way of binary32: shifting the fields leaves the exponent 112 too small, which one
 * product repairs, for subnormal numbers too. */
static double half(uint16_t bits) {
  if ((bits & 0x7c00) == 0x7c00) return bits & 0x3ff ? NAN : bits & 0x8000 ? -INFINITY : INFINITY;
  union {
    uint32_t bits;
    float value;
  } wide = {(uint32_t)(bits & 0x7fff) << 13};
  double magnitude = (double)wide.value * 0x1p112;
  return bits & 0x8000 ? -magnitude : magnitude;
}

const double *cli_row(cpb_view view, size_t i, double *buffer) {
  size_t at = i * view.stride, d = view.cols;
  switch (view.dtype) {
  case CPB_F64: return (const double *)view.data + at;
  case CPB_F32:
    for (size_t k = 0; k < d; k++) buffer[k] = (double)((const float *)view.data)[at + k];
    break;
  case CPB_F16:
    for (size_t k = 0; k < d; k++) buffer[k] = half(((const uint16_t *)view.data)[at + k]);
    break;
  case CPB_U8:
    for (size_t k = 0; k < d; k++) buffer[k] = ((const uint8_t *)view.data)[at + k];
    break;
  case CPB_I8:
    for (size_t k = 0; k < d; k++) buffer[k] = ((const int8_t *)view.data)[at + k];
    break;
  case CPB_I32:
    for (size_t k = 0; k < d; k++) buffer[k] = ((const int32_t *)view.data)[at + k];
    break;
  case CPB_I64:
    for (size_t k = 0; k < d; k++) buffer[k] = (double)((const int64_t *)view.data)[at + k];
    break;
  }
  return buffer;
}

cpb_view cli_rows_slice(cpb_view view, size_t first, size_t count) {
  view.data = (const char *)view.data + first * view.stride * cpb_dtype_size(view.dtype);
  view.rows = count;
  return view;
}

double cli_dot(const double *x, const double *y, size_t d) {
  double sums[8] = {0};
  size_t k = 0;
  for (; k + 8 <= d; k += 8)
    for (size_t lane = 0; lane < 8; lane++) sums[lane] += x[k + lane] * y[k + lane];
  for (size_t lane = 0; k < d; k++, lane++) sums[lane] += x[k] * y[k];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

double cli_norm(const double *x, size_t d) {
  double square = cli_dot(x, x, d);
  if (square >= 1e-280 && square <= 1e300) return sqrt(square);
  double largest = 0;
  for (size_t k = 0; k < d; k++) {
    if (isnan(x[k])) return NAN;
    if (fabs(x[k]) > largest) largest = fabs(x[k]);
  }
  if (largest == 0 || isinf(largest)) return largest;
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += (x[k] / largest) * (x[k] / largest);
  return largest * sqrt(sum);
}

void cli_subtract(const double *x, const double *center, size_t d, double *z) {
  for (size_t k = 0; k < d; k++) z[k] = center == NULL ? x[k] : x[k] - center[k];
}

int cli_open_reader(const cli_job *job, const char *path, const char *format, cpb_reader **reader) {
  int result = cli_check_format(job, path, format, "format");
  if (result != CLI_OK) return result;
  cpb_error error;
  if (cpb_reader_open(path, format, reader, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  return CLI_OK;
}

double *cli_read_vector(const cli_job *job, const char *path, const char *what, size_t cols,
                        size_t *cols_found) {
  cpb_reader *reader;
  if (cli_open_reader(job, path, NULL, &reader) != CLI_OK) return NULL;
  size_t found = cpb_reader_info(reader).cols;
  double *vector = NULL;
  cpb_view block;
  cpb_error error;
  if (cols != 0 && found != cols)
    cli_fail(job, "%s: the %s has %zu numbers, wanted %zu", path, what, found, cols);
  else if (cpb_reader_next(reader, 2, &block, &error) != CPB_OK)
    cli_fail(job, "%s", error.text);
  else if (block.rows != 1)
    cli_fail(job, "%s: the %s must be one row, found %s", path, what, block.rows == 0 ? "none" : "more");
  else {
    vector = cli_alloc(found, sizeof *vector);
    const double *row = cli_row(block, 0, vector);
    cli_subtract(row, NULL, found, vector);
    if (cols_found != NULL) *cols_found = found;
  }
  cpb_reader_free(reader);
  return vector;
}
