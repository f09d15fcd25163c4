#include "sketch/levels.h"

#include <math.h>
#include <string.h>

#include "core/rows.h"

/* ---- levels ---- */

/* Sums run in fixed lanes, so that every compiler gives the same. */
enum { LANES = 16 };

/* How levels are computed: u = floor(c/step + half), within 0 .. top. */
typedef struct ladder {
  float per_step, half, top;
} ladder;

static ladder ladder_of(size_t bits_per, double step) {
  float top = (float)cpb_level_top(bits_per);
  return (ladder){(float)(1 / step), (top + 1) / 2, top};
}

static inline float rung(const ladder *l, float c) {
  float at = c * l->per_step + l->half;
  at = at < 0 ? 0 : at;
  at = at > l->top ? l->top : at;
  return (float)(int)at;
}

/* <c,v>^2/|v|^2: how near the levels of a step come to the direction of c. */
static float agreement_of(const float *c, size_t n, const ladder *l) {
  float along[LANES] = {0}, v2[LANES] = {0}, all = 0, all2 = 0;
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t lane = 0; lane < LANES; lane++) {
      float v = 2 * rung(l, c[i + lane]) - l->top;
      along[lane] += c[i + lane] * v;
      v2[lane] += v * v;
    }
  for (size_t lane = 0; i + lane < n; lane++) {
    float v = 2 * rung(l, c[i + lane]) - l->top;
    along[lane] += c[i + lane] * v;
    v2[lane] += v * v;
  }
  for (size_t lane = 0; lane < LANES; lane++) {
    all += along[lane];
    all2 += v2[lane];
  }
  return all * all / all2;
}

/* From the step that is best for normally distributed projections of this variance (Max, 1960), to larger or smaller ones
 * while levels come nearer. */
static double best_step(const float *c, size_t n, size_t bits_per, double c2) {
  enum { MOST = 8 };
  double step = sqrt(c2 / (double)n) * (bits_per == 2 ? 0.996 : 0.335), factor = 1.15;
  ladder l = ladder_of(bits_per, step);
  float best = agreement_of(c, n, &l);
  for (int tried = 0, failed = 0; tried < MOST && failed < 2; tried++) {
    l = ladder_of(bits_per, step * factor);
    float now = agreement_of(c, n, &l);
    if (now > best) {
      best = now;
      step *= factor;
      failed = 1; /* the other way leads back */
    } else {
      factor = 1 / factor;
      failed++;
    }
  }
  return step;
}

static double add_lanes(const double *lane) {
  double sum = 0;
  for (size_t i = 0; i < LANES; i++) sum += lane[i];
  return sum;
}

/* |c|^2 and the sum of |c_i|, which is <c,v> for one bit. */
static void sum_sizes(const float *c, size_t n, double *square, double *size) {
  double squares[LANES] = {0}, sizes[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t k = 0; k < LANES; k++) {
      double of = (double)c[i + k];
      squares[k] += of * of;
      sizes[k] += fabs(of);
    }
  for (size_t k = 0; i + k < n; k++) {
    double of = (double)c[i + k];
    squares[k] += of * of;
    sizes[k] += fabs(of);
  }
  *square = add_lanes(squares);
  *size = add_lanes(sizes);
}

static double along_of(const float *c, size_t n, const uint8_t *u, int top) {
  double lane[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t k = 0; k < LANES; k++) lane[k] += (double)c[i + k] * (double)(2 * u[i + k] - top);
  for (size_t k = 0; i + k < n; k++) lane[k] += (double)c[i + k] * (double)(2 * u[i + k] - top);
  return add_lanes(lane);
}

static double size_of(const uint8_t *u, size_t n, int top) {
  int64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += (2 * u[i] - top) * (2 * u[i] - top);
  return (double)sum;
}

void cpb_levels_choose(const float *c, size_t n, size_t bits_per, uint8_t *u, cpb_levels_sums *sums) {
  int top = cpb_level_top(bits_per);
  sum_sizes(c, n, &sums->c2, &sums->along);
  if (bits_per == 1 || !(sums->c2 > 0))
    for (size_t i = 0; i < n; i++) u[i] = (uint8_t)(c[i] >= 0 ? (top + 1) / 2 : (top - 1) / 2);
  else {
    ladder l = ladder_of(bits_per, best_step(c, n, bits_per, sums->c2));
    for (size_t i = 0; i < n; i++) u[i] = (uint8_t)rung(&l, c[i]);
  }
  sums->v2 = bits_per == 1 ? (double)n : size_of(u, n, top);
  if (bits_per > 1) sums->along = along_of(c, n, u, top);
}

void cpb_levels_pack(const uint8_t *u, size_t n, size_t bits_per, uint8_t *code) {
  size_t bytes = n * bits_per / 8;
  if (bits_per == 4)
    for (size_t j = 0; j < bytes; j++) code[j] = (uint8_t)(u[2 * j] | u[2 * j + 1] << 4);
  else if (bits_per == 2)
    for (size_t j = 0; j < bytes; j++)
      code[j] = (uint8_t)(u[4 * j] | u[4 * j + 1] << 2 | u[4 * j + 2] << 4 | u[4 * j + 3] << 6);
  else
    for (size_t j = 0; j < bytes; j++) {
      uint64_t eight = 0; /* bytes of 0 or 1: a product moves them to the highest byte */
      for (size_t i = 0; i < 8; i++) eight |= (uint64_t)u[8 * j + i] << 8 * i;
      code[j] = (uint8_t)(eight * 0x0102040810204080u >> 56);
    }
}

/* ---- factors ---- */

/* f is about |z|/(sqrt(n) top): multiplied by this power of two it has the magnitude of |z|. */
static double scale_of_f(const cpb_sketch_options *o) {
  double top = cpb_level_top(o->bits_per);
  return ldexp(1, (ilogb((double)cpb_sketch_directions(o) * top * top) + 1) / 2);
}

/* The bits of a nonnegative number as f16 or f32, rounded up. */
static uint32_t bits_up(double x, cpb_dtype dtype) {
  float single = (float)x;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  bits += (double)single < x;
  if (dtype == CPB_F32) return bits;
  if (x > 65504) return 0x7c00;
  if (x < 0x1p-14) return (uint32_t)(x * 0x1p24) + ((double)(uint32_t)(x * 0x1p24) < x * 0x1p24);
  return (bits >> 13) - (112u << 10) + ((bits & 0x1fff) != 0);
}

static double value_of(uint32_t bits, cpb_dtype dtype) {
  float single;
  if (dtype == CPB_F16 && bits < 0x400) return bits * 0x1p-24; /* below its normal numbers */
  if (dtype == CPB_F16 && bits >= 0x7c00) return cpb_half_to_double((uint16_t)bits);
  if (dtype == CPB_F16) bits = (bits << 13) + (112u << 23);
  memcpy(&single, &bits, sizeof single);
  return (double)single;
}

/* To nearest. Larger numbers have larger bits. */
static uint32_t bits_near(double x, cpb_dtype dtype) {
  uint32_t above = bits_up(x, dtype);
  if (above == 0 || x - value_of(above - 1, dtype) >= value_of(above, dtype) - x) return above;
  return above - 1;
}

static void put(uint32_t bits, size_t bytes, uint8_t *at) {
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(bits >> 8 * i);
}

static double get(const uint8_t *at, cpb_dtype dtype) {
  uint32_t bits = 0;
  for (size_t i = 0; i < cpb_dtype_size(dtype); i++) bits |= (uint32_t)at[i] << 8 * i;
  return value_of(bits, dtype);
}

cpb_row_factors cpb_factors_get(const cpb_sketch_options *o, const uint8_t *at) {
  size_t bytes = cpb_dtype_size(o->factors);
  return (cpb_row_factors){.size2 = get(at, o->factors),
                           .f = get(at + bytes, o->factors) / scale_of_f(o),
                           .e = get(at + 2 * bytes, o->factors)};
}

/* |z - f G^T v|^2 <= |z|^2 - 2 f <c,v> + f^2 |v|^2, plus what rounding and directions that are not quite orthonormal
 * can add. */
static double error2_of(const cpb_sketch_options *o, const cpb_levels_sums *s, double f) {
  double loose = CPB_ISOMETRY_ERROR * (double)(cpb_sketch_directions(o) + o->d) + 0x1p-40;
  double error2 = s->z2 - 2 * f * s->along + f * f * s->v2;
  return fmax(error2, 0) + 2 * f * s->doubt + loose * (s->z2 + f * f * s->v2);
}

void cpb_factors_put(const cpb_sketch_options *o, const cpb_levels_sums *s, uint8_t *at) {
  double most = o->factors == CPB_F16 ? 65504 : 0x1p60, scale = scale_of_f(o);
  double f = s->along > 0 ? s->c2 / s->along : 0;
  if (!(s->z2 <= most) || !(f * scale <= most)) f = 0;
  uint32_t size2 = bits_near(s->z2 <= most ? s->z2 : most, o->factors);
  uint32_t rounded = bits_near(f * scale, o->factors);
  f = value_of(rounded, o->factors) / scale;
  double error = (sqrt(error2_of(o, s, f)) + s->off) * (1 + 0x1p-40);
  size_t bytes = cpb_dtype_size(o->factors);
  put(size2, bytes, at);
  put(rounded, bytes, at + bytes);
  put(bits_up(error <= most ? error : INFINITY, o->factors), bytes, at + 2 * bytes);
}
