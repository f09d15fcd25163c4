#include "loops/ruler.h"

#include <math.h>

#include "loops/row_state.h"
#include "base/elementary.h"
#include "loops/vector.h"

/* Sums between these bounds have neither overflowed nor lost significant digits to underflow. */
static bool in_range(double sum) { return sum > 1e-280 && sum < 1e280; }

/* A sum of squares in one double, or, when that leaves its range, recomputed with an exponent. */
typedef struct total {
  bool careful;
  double unit; /* the power of two that multiplies the coordinates, 1 unless recomputed */
  double sum;
  cpb_squares squares;
} total;

static void total_add(total *of, const cpb_loops *loops, const double *z, size_t count) {
  if (!of->careful)
    of->sum += loops->dot(z, z, count);
  else if (!cpb_all_finite(z, count))
    of->sum = NAN;
  else
    for (size_t i = 0; i < count; i++) cpb_squares_add(&of->squares, z[i], 1);
}

static double total_root(const total *of) {
  return of->careful && !isnan(of->sum) ? cpb_squares_root(&of->squares, 0) : sqrt(of->sum);
}

/* unit (x - sign c) for a chunk of the row. */
static void offset_chunk(const cpb_ruler *ruler, size_t row, size_t offset, size_t count, double unit,
                         double *z) {
  double buffer[CPB_CHUNK];
  const double *x = cpb_row_chunk(ruler->loops, ruler->x, row, offset, count, buffer);
  const double *c = ruler->c == NULL ? x : ruler->c + offset;
  ruler->loops->axpby(unit, x, ruler->c == NULL ? 0 : -ruler->sign * unit, c, z, count);
}

/* The sum of <x,with>, |x-with|^2 or |x+with|^2 over the chunks of a row; with NULL: x itself. */
static double row_sum(const cpb_ruler *ruler, double (*of)(const double *, const double *, size_t),
                      size_t row, const double *with) {
  double sum = 0, buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < ruler->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(ruler->x.cols, offset);
    const double *x = cpb_row_chunk(ruler->loops, ruler->x, row, offset, count, buffer);
    sum += of(x, with == NULL ? x : with + offset, count);
  }
  return sum;
}

static double round_length(const cpb_ruler *ruler, size_t row) {
  const cpb_loops *loops = ruler->loops;
  return sqrt(row_sum(ruler,
                      ruler->c == NULL  ? loops->dot
                      : ruler->sign > 0 ? loops->dist2
                                        : loops->sum2,
                      row, ruler->c));
}

/* A term of <n,x>, or without n of |x - sign c|^2. */
static cpb_wide wide_term(const cpb_ruler *ruler, const double *n, double x, size_t at) {
  cpb_wide z = cpb_wide_of(x, 0);
  if (n != NULL) return cpb_wide_times(z, cpb_wide_of(n[at], 0));
  if (ruler->c != NULL) z = cpb_wide_plus(z, cpb_wide_of(-ruler->sign * ruler->c[at], 0));
  return cpb_wide_times(z, z);
}

/* Of a finite row: the sum of the loops, in the same order, with unbounded exponents. */
static cpb_wide wide_sum(const cpb_ruler *ruler, const double *n, size_t row) {
  const cpb_wide none = cpb_wide_of(0, 0);
  cpb_wide sum = none, lane[CPB_LANES];
  double buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < ruler->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(ruler->x.cols, offset);
    const double *x = cpb_row_chunk(ruler->loops, ruler->x, row, offset, count, buffer);
    for (size_t j = 0; j < CPB_LANES; j++) lane[j] = none;
    for (size_t i = 0; i < count; i++)
      lane[i % CPB_LANES] = cpb_wide_plus(lane[i % CPB_LANES], wide_term(ruler, n, x[i], offset + i));
    for (size_t width = CPB_LANES / 2; width > 0; width /= 2)
      for (size_t j = 0; j < width; j++) lane[j] = cpb_wide_plus(lane[j], lane[j + width]);
    sum = cpb_wide_plus(sum, lane[0]);
  }
  return sum;
}

/* The hypotenuse of |z - k axis| and stretch k, k = <z,axis>: no difference of squares, so that thin
 * and long ellipsoids keep their digits. */
static double stretched_length(const cpb_ruler *ruler, size_t row, total across) {
  double k = 0, z[CPB_CHUNK];
  const cpb_loops *loops = ruler->loops;
  for (size_t offset = 0; offset < ruler->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(ruler->x.cols, offset);
    offset_chunk(ruler, row, offset, count, across.unit, z);
    k += loops->dot(z, ruler->axis + offset, count);
  }
  for (size_t offset = 0; offset < ruler->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(ruler->x.cols, offset);
    offset_chunk(ruler, row, offset, count, across.unit, z);
    loops->axpby(1, z, -k, ruler->axis + offset, z, count);
    total_add(&across, loops, z, count);
  }
  return cpb_hypot(total_root(&across), ruler->stretch * k);
}

/* |W z|, with a chunk of z and a chunk of W z on the stack at a time. */
static double whitened_length(const cpb_ruler *ruler, size_t row, total length) {
  size_t d = ruler->x.cols;
  double z[CPB_CHUNK], y[CPB_CHUNK];
  for (size_t first = 0; first < d; first += CPB_CHUNK) {
    size_t rows = cpb_chunk_count(d, first);
    for (size_t i = 0; i < rows; i++) y[i] = 0;
    for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
      size_t count = cpb_chunk_count(d, offset);
      offset_chunk(ruler, row, offset, count, length.unit, z);
      for (size_t i = 0; i < rows; i++)
        y[i] += ruler->loops->dot(ruler->W + (first + i) * d + offset, z, count);
    }
    total_add(&length, ruler->loops, y, rows);
  }
  return total_root(&length);
}

static double length_in(const cpb_ruler *ruler, size_t row, bool careful, int exponent) {
  total none = {.careful = careful, .unit = ldexp(1, -exponent), .squares = cpb_squares_none()};
  return ruler->W != NULL ? whitened_length(ruler, row, none) : stretched_length(ruler, row, none);
}

static bool is_round(const cpb_ruler *ruler) { return ruler->W == NULL && ruler->axis == NULL; }

/* The exponent of the largest coordinate of x and c, clamped so that 2^-exponent is a double. */
static int row_exponent(const cpb_ruler *ruler, size_t row) {
  enum { LEAST = -1000, MOST = 1000 };
  double buffer[CPB_CHUNK];
  int exponent = LEAST;
  for (size_t offset = 0; offset < ruler->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(ruler->x.cols, offset);
    const double *x = cpb_row_chunk(ruler->loops, ruler->x, row, offset, count, buffer);
    exponent = cpb_largest_exponent(x, count, exponent);
  }
  if (ruler->c != NULL) exponent = cpb_largest_exponent(ruler->c, ruler->x.cols, exponent);
  return exponent < MOST ? exponent : MOST;
}

void cpb_ruler_lengths(const cpb_ruler *ruler, size_t first, size_t count, double *lengths) {
  cpb_view x = ruler->x;
  if (is_round(ruler) && ruler->c != NULL && ruler->sign > 0 && ruler->loops->rows_dist2[x.dtype] != NULL) {
    const char *start = (const char *)x.data + first * x.stride * cpb_dtype_size(x.dtype);
    ruler->loops->rows_dist2[x.dtype](start, x.stride, count, x.cols, ruler->c,
                                      lengths); /* same bits as by chunks */
    for (size_t i = 0; i < count; i++) lengths[i] = sqrt(lengths[i]);
    return;
  }
  for (size_t i = 0; i < count; i++)
    lengths[i] = is_round(ruler) ? round_length(ruler, first + i) : length_in(ruler, first + i, false, 0);
}

int cpb_ruler_length(const cpb_ruler *ruler, size_t row, double *length) {
  double known;
  cpb_ruler_lengths(ruler, row, 1, &known);
  return cpb_ruler_length_known(ruler, row, known, length);
}

int cpb_ruler_length_known(const cpb_ruler *ruler, size_t row, double known, double *length) {
  *length = known;
  if (in_range(*length * *length)) return 0;
  int fault = cpb_row_fault(ruler->loops, ruler->x, row);
  if (fault != 0) return fault;
  int exponent = is_round(ruler) ? 0 : row_exponent(ruler, row);
  *length = is_round(ruler) ? cpb_wide_round(cpb_wide_root(wide_sum(ruler, NULL, row)))
                            : ldexp(length_in(ruler, row, true, exponent), exponent);
  return isfinite(*length) ? 0 : CPB_FAULT_RANGE;
}

int cpb_ruler_wide_length(const cpb_ruler *ruler, size_t row, cpb_wide *length) {
  double known = round_length(ruler, row);
  bool careful = !in_range(known * known);
  int fault = careful ? cpb_row_fault(ruler->loops, ruler->x, row) : 0;
  if (fault == 0) *length = careful ? cpb_wide_root(wide_sum(ruler, NULL, row)) : cpb_wide_of(known, 0);
  return fault;
}

int cpb_ruler_product(const cpb_ruler *ruler, const double *n, size_t row, double *value, bool *below) {
  *value = row_sum(ruler, ruler->loops->dot, row, n);
  *below = *value < 0;
  if (in_range(fabs(*value))) return 0;
  int fault = cpb_row_fault(ruler->loops, ruler->x, row);
  if (fault != 0) return fault;
  cpb_wide sum = wide_sum(ruler, n, row);
  *value = cpb_wide_round(sum);
  *below = sum.m < 0;
  return isfinite(*value) ? 0 : CPB_FAULT_RANGE;
}

int cpb_ruler_cosine(const cpb_ruler *ruler, const double *n, size_t row, double *value) {
  double product = row_sum(ruler, ruler->loops->dot, row, n), length = round_length(ruler, row);
  *value = product / length;
  if (in_range(fabs(product)) && in_range(length * length)) return 0;
  int fault = cpb_row_fault(ruler->loops, ruler->x, row);
  if (fault == 0) *value = cpb_wide_ratio(wide_sum(ruler, n, row), cpb_wide_root(wide_sum(ruler, NULL, row)));
  return fault;
}
