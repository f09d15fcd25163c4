#include "doubles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool takes_format(const cli_job *job, const char *operand) {
  size_t i = 0;
  while (i < job->count && strcmp(job->operands[i], "-") != 0) i++;
  return job->count > 0 && operand == job->operands[i < job->count ? i : 0];
}

const char *cli_operand_format(const cli_job *job, const char *operand) {
  return takes_format(job, operand) ? job->options.format : NULL;
}

int cli_open_reader(const cli_job *job, const char *path, const char *format, cpb_reader **reader) {
  int result = cli_check_format(job, path, format, takes_format(job, path) ? "format" : NULL);
  if (result != CLI_OK) return result;
  cpb_error error;
  if (cpb_reader_open(path, format, reader, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  return CLI_OK;
}

/* The numbers of a file with one row or one column; of a column one more than `most` at most. NULL after
 * a sentence. */
static double *read_line(const cli_job *job, cpb_reader *reader, const char *what, size_t most,
                         size_t *count) {
  cpb_file_info info = cpb_reader_info(reader);
  cpb_view block;
  cpb_error error;
  if (cpb_reader_next(reader, info.cols == 1 ? most + 1 : 2, &block, &error) != CPB_OK) {
    cli_fail(job, "%s", error.text);
    return NULL;
  }
  if (block.rows > 1 && block.cols > 1) {
    cli_fail(job, "%s: the %s must be one row or one column, but here are several of both",
             cli_name(info.path), what);
    return NULL;
  }
  *count = block.rows * block.cols;
  double *numbers = cli_alloc(*count, sizeof *numbers), *row = cli_alloc(block.cols, sizeof *row);
  for (size_t i = 0; i < block.rows; i++)
    memcpy(numbers + i * block.cols, cli_row(block, i, row), block.cols * sizeof *row);
  free(row);
  return numbers;
}

int cli_read_vector(const cli_job *job, const char *path, const char *what, size_t wanted, size_t *count,
                    double **numbers) {
  enum { MOST = 1 << 20 };
  cpb_reader *reader;
  size_t found = 0, most = wanted != 0 ? wanted : MOST;
  *numbers = NULL;
  int result = cli_open_reader(job, path, NULL, &reader);
  if (result != CLI_OK) return result;
  double *line = read_line(job, reader, what, most, &found);
  cpb_reader_free(reader);
  if (line == NULL) return CLI_FAILED;
  if (count != NULL) *count = found;
  if (wanted != 0 ? found == wanted : found > 0 && found <= most) {
    *numbers = line;
    return CLI_OK;
  }
  free(line);
  if (found > most) return cli_fail(job, "%s: the %s has more than %zu numbers", path, what, most);
  return cli_fail(job, "%s: the %s has %zu number%s, wanted %zu", path, what, found, cli_s(found),
                  wanted != 0 ? wanted : 2);
}

int cli_read_pole(const cli_job *job, size_t wanted, size_t *count, double **pole) {
  const char *path = job->options.pole;
  size_t found = 0;
  double *numbers;
  int result = cli_read_vector(job, path, "pole", wanted, &found, &numbers);
  if (result != CLI_OK) return result;
  double length = cli_norm(numbers, found);
  for (size_t k = 0; k < found; k++) numbers[k] /= length;
  if (count != NULL) *count = found;
  *pole = numbers;
  if (found >= 2 && length > 0 && isfinite(length)) return CLI_OK;
  free(numbers);
  *pole = NULL;
  if (found < 2) return cli_fail(job, "%s: the pole has 1 number, wanted at least 2", path);
  return cli_fail(job, "%s: a pole of length %g has no direction", path, length);
}
