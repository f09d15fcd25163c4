#include "search/screen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "batch/metric.h"
#include "batch/row_state.h"

/* u' = d+4 roundings (the chain, both factors, the start) with a tenth to spare for their products. */
static double sum_error(size_t d) { return 1.1 * ((double)d + 4) * 0x1p-24; }

/* What d terms lose to underflow, factors being below 8. */
static double lost_below(size_t d) { return (double)d * 0x1p-142; }

static void find_mean(const double *queries, size_t n, size_t d, double unit, double *mean) {
  for (size_t k = 0; k < d; k++) mean[k] = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++) mean[k] += unit * queries[i * d + k];
  for (size_t k = 0; k < d; k++) mean[k] = mean[k] / (double)n / unit;
}

void cpb_screen_init(cpb_screen *screen, cpb_likeness likeness, const double *queries, size_t n, size_t d,
                     double *center) {
  enum { LEAST = -1000, MOST = 1000 };
  double largest = 0;
  for (size_t i = 0; i < n * d; i++) largest = fmax(largest, fabs(queries[i]));
  int exponent = largest > 0 ? -ilogb(largest) : 0;
  exponent = exponent < LEAST ? LEAST : exponent > MOST ? MOST : exponent;
  *screen = (cpb_screen){cpb_loops_here(), likeness, d, ldexp(1, exponent), center, sum_error(d)};
  if (likeness == CPB_L2)
    find_mean(queries, n, d, screen->unit, center);
  else
    memset(center, 0, d * sizeof *center);
}

/* z = unit (x - center), and the sum of its squares. */
static double spread_row(const cpb_screen *screen, cpb_view rows, size_t row, double unit, float *factors) {
  double size2 = 0, buffer[CPB_CHUNK], z[CPB_CHUNK];
  for (size_t offset = 0; offset < screen->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(screen->d, offset);
    const double *x = cpb_row_chunk(screen->loops, rows, row, offset, count, buffer);
    screen->loops->axpby(unit, x, -unit, screen->center + offset, z, count);
    screen->loops->narrow(z, count, factors + offset);
    size2 += screen->loops->dot(z, z, count);
  }
  return size2;
}

static float rounded_up(double x) { return nextafterf((float)x, INFINITY); }

static float rounded_down(double x) { return x < -FLT_MAX ? -INFINITY : nextafterf((float)x, -INFINITY); }

int cpb_screen_row(const cpb_screen *screen, cpb_view rows, size_t row, float *factors, float *start) {
  double unit = screen->unit;
  if (screen->likeness == CPB_COSINE) {
    double length;
    cpb_metric metric = {.loops = screen->loops, .x = rows, .sign = 1};
    int fault = cpb_metric_length(&metric, row, &length);
    if (fault != 0) return fault;
    if (length == 0) return CPB_FAULT_ZERO;
    unit = 1 / length;
  }
  double size2 = spread_row(screen, rows, row, unit, factors);
  if (!(size2 < 1e30)) { /* sums of single precision might overflow */
    memset(factors, 0, screen->d * sizeof *factors);
    *start = INFINITY;
    return cpb_row_fault(screen->loops, rows, row);
  }
  double from = screen->likeness == CPB_L2 ? screen->error * size2 - size2 / 2 : screen->error * sqrt(size2);
  *start = rounded_up(from + lost_below(screen->d));
  return 0;
}

double cpb_screen_query(const cpb_screen *screen, const double *query, double length, float *factors,
                        size_t stride) {
  double size2 = 0, by = length > 0 ? length : 1;
  for (size_t k = 0; k < screen->d; k++) {
    double z = screen->likeness == CPB_L2 ? screen->unit * (query[k] - screen->center[k]) : query[k] / by;
    factors[k * stride] = (float)z;
    size2 += z * z;
  }
  return size2;
}

float cpb_screen_threshold(const cpb_screen *screen, double value, double length, double size2) {
  double key = value, size = 1;
  if (screen->likeness == CPB_L2) {
    double distance2 = screen->unit * value * (screen->unit * value);
    key = (size2 - distance2) / 2 - screen->error * size2 / 2;
    size = size2 + distance2;
  } else if (screen->likeness == CPB_IP) {
    key = length > 0 ? screen->unit * (value / length) : 0;
    size = fabs(key);
  }
  return rounded_down(key - ((double)screen->d + 32) * DBL_EPSILON * size);
}
