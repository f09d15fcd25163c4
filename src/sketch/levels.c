#include "sketch/levels.h"

#include <math.h>
#include <string.h>

#include "core/rows.h"

/* ---- levels ---- */

enum { STEPS = 8, LANES = 16 };

/* What levels of one step make of some projections. */
typedef struct agreement {
  float along[LANES], v2[LANES];
} agreement;

static inline float level_of(float c, float per_step, float half, float top) {
  float at = c * per_step + half;
  at = at < 0 ? 0 : at;
  at = at > top ? top : at;
  return (float)(2 * (int)at) - top;
}

static inline void agree(agreement *a, size_t lane, float c, float v) {
  a->along[lane] += c * v;
  a->v2[lane] += v * v;
}

/* <c,v>^2/|v|^2; sums run in fixed lanes, so every compiler gives the same. */
static float agreement_of(const float *c, size_t n, float per_step, size_t bits_per) {
  float top = (float)cpb_level_top(bits_per), half = (top + 1) / 2;
  agreement a = {{0}, {0}};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t lane = 0; lane < LANES; lane++)
      agree(&a, lane, c[i + lane], level_of(c[i + lane], per_step, half, top));
  for (; i < n; i++) agree(&a, i % LANES, c[i], level_of(c[i], per_step, half, top));
  float along = 0, v2 = 0;
  for (size_t lane = 0; lane < LANES; lane++) {
    along += a.along[lane];
    v2 += a.v2[lane];
  }
  return along * along / v2;
}

/* Steps around the one that is best for normally distributed projections of variance 1 (Max, 1960). */
static float best_step(const float *c, size_t n, size_t bits_per) {
  static const float factors[STEPS] = {0.5f, 0.66f, 0.8f, 0.9f, 1, 1.15f, 1.4f, 1.9f};
  float usual = bits_per == 2 ? 0.996f : 0.335f, best = 1, most = -1;
  for (int i = 0; i < STEPS; i++) {
    float per_step = 1 / (usual * factors[i]), now = agreement_of(c, n, per_step, bits_per);
    if (now > most) {
      most = now;
      best = per_step;
    }
  }
  return best;
}

void cpb_levels_choose(const double *c, size_t n, size_t bits_per, float *scratch, double *v) {
  double c2 = cpb_loops_here()->dot(c, c, n);
  if (bits_per == 1 || !(c2 > 0)) {
    for (size_t i = 0; i < n; i++) v[i] = c[i] >= 0 ? 1 : -1;
    return;
  }
  double scale = sqrt((double)n / c2);
  for (size_t i = 0; i < n; i++) scratch[i] = (float)(c[i] * scale);
  float top = (float)cpb_level_top(bits_per), per_step = best_step(scratch, n, bits_per);
  for (size_t i = 0; i < n; i++) v[i] = (double)level_of(scratch[i], per_step, (top + 1) / 2, top);
}

void cpb_levels_pack(const double *v, size_t n, size_t bits_per, uint8_t *code) {
  int top = cpb_level_top(bits_per);
  memset(code, 0, n * bits_per / 8);
  for (size_t i = 0; i < n; i++)
    code[i * bits_per / 8] |= (uint8_t)(((int)v[i] + top) / 2 << i * bits_per % 8);
}

/* ---- factors ---- */

/* f is about |z|/(sqrt(n) top): multiplied by this power of two it has the magnitude of |z|. */
static double scale_of_f(const cpb_sketch_options *o) {
  double top = cpb_level_top(o->bits_per), scale = 1;
  while (scale * scale < (double)cpb_sketch_directions(o) * top * top) scale *= 2;
  return scale;
}

/* The bits of a nonnegative number as f16 or f32, rounded up. */
static uint32_t bits_up(double x, cpb_dtype dtype) {
  float single = (float)x;
  uint32_t bits;
  if ((double)single < x) single = nextafterf(single, INFINITY);
  memcpy(&bits, &single, sizeof bits);
  if (dtype == CPB_F32) return bits;
  if (x > 65504) return 0x7c00;
  if (x < 0x1p-14) return (uint32_t)ceil(x * 0x1p24); /* below the normal numbers of f16 */
  uint32_t half = (bits >> 13) - (112u << 10);
  return half + ((bits & 0x1fff) != 0);
}

static double value_of(uint32_t bits, cpb_dtype dtype) {
  float single;
  if (dtype == CPB_F16) return cpb_half_to_double((uint16_t)bits);
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
  double error = sqrt(error2_of(o, s, f)) * (1 + 0x1p-40);
  size_t bytes = cpb_dtype_size(o->factors);
  put(size2, bytes, at);
  put(rounded, bytes, at + bytes);
  put(bits_up(error <= most ? error : INFINITY, o->factors), bytes, at + 2 * bytes);
}
