#include "sketch/levels.h"

#include <math.h>
#include <string.h>

#include "core/rows.h"

cpb_factor_form cpb_factor_form_of(const cpb_sketch_options *o) {
  double top = cpb_level_top(o->bits_per), n = (double)cpb_sketch_directions(o);
  double scale = ldexp(1, (ilogb(n * top * top) + 1) / 2);
  return (cpb_factor_form){.dtype = o->factors,
                           .bytes = cpb_dtype_size(o->factors),
                           .most = o->factors == CPB_F16 ? 65504 : 0x1p60,
                           .scale = scale,
                           .unscale = 1 / scale,
                           .loose = CPB_ISOMETRY_ERROR * (n + (double)o->d) + 0x1p-40};
}

/* ---- the bits of nonnegative numbers as f16 or f32: larger numbers have larger bits ---- */

/* The exponents of f16 and double differ by this, above the 10 bits of a fraction. */
static const uint64_t HALF_BIAS = (uint64_t)(1023 - 15) << 10;
static const double HALF_NORMAL = 0x1p-14;

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* f16 of a normal number; `add` of the 42 bits that are dropped decides how it is rounded. */
static uint32_t half_of(double x, uint64_t add) {
  return (uint32_t)((bits_of(x) + add) >> 42) - (uint32_t)HALF_BIAS;
}

/* Rounded up; inf above the largest finite number. */
static uint32_t bits_up(double x, cpb_dtype dtype) {
  if (dtype == CPB_F16 && x > 65504) return 0x7c00;
  if (dtype == CPB_F16 && x < HALF_NORMAL) return (uint32_t)ceil(x * 0x1p24);
  if (dtype == CPB_F16) return half_of(x, ((uint64_t)1 << 42) - 1);
  float single = (float)x;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return bits + ((double)single < x);
}

/* To nearest, of numbers that are not above the largest finite one. */
static uint32_t bits_near(double x, cpb_dtype dtype) {
  if (dtype == CPB_F16 && x < HALF_NORMAL) return (uint32_t)(x * 0x1p24 + 0.5);
  if (dtype == CPB_F16) return half_of(x, (uint64_t)1 << 41);
  float single = (float)x;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return bits;
}

static double value_of(uint32_t bits, cpb_dtype dtype) {
  if (dtype == CPB_F16 && bits < 0x400) return bits * 0x1p-24;
  if (dtype == CPB_F16 && bits >= 0x7c00) return cpb_half_to_double((uint16_t)bits);
  if (dtype == CPB_F16) {
    uint64_t wide = ((uint64_t)bits + HALF_BIAS) << 42;
    double value;
    memcpy(&value, &wide, sizeof value);
    return value;
  }
  float single;
  memcpy(&single, &bits, sizeof single);
  return (double)single;
}

/* ---- factors ---- */

static void put(uint32_t bits, size_t bytes, uint8_t *at) {
  at[0] = (uint8_t)bits;
  at[1] = (uint8_t)(bits >> 8);
  for (size_t i = 2; i < bytes; i++) at[i] = (uint8_t)(bits >> 8 * i);
}

static double get(const uint8_t *at, const cpb_factor_form *form) {
  uint32_t bits = 0;
  for (size_t i = 0; i < form->bytes; i++) bits |= (uint32_t)at[i] << 8 * i;
  return value_of(bits, form->dtype);
}

cpb_row_factors cpb_factors_get(const cpb_factor_form *form, const uint8_t *at) {
  return (cpb_row_factors){.size2 = get(at, form),
                           .f = get(at + form->bytes, form) * form->unscale,
                           .e = get(at + 2 * form->bytes, form)};
}

/* |z - f G^T v|^2 <= |z|^2 - 2 f <c,v> + f^2 |v|^2, plus errors */
static double error2_of(const cpb_factor_form *form, const cpb_levels_sums *s, double f) {
  double error2 = s->z2 - 2 * f * s->along + f * f * s->v2;
  return (error2 > 0 ? error2 : 0) + 2 * f * s->doubt + form->loose * (s->z2 + f * f * s->v2);
}

void cpb_factors_put(const cpb_factor_form *form, const cpb_levels_sums *s, uint8_t *at) {
  double f = s->along > 0 ? s->c2 / s->along : 0, most = form->most;
  if (!(s->z2 <= most) || !(f * form->scale <= most)) f = 0;
  uint32_t size2 = bits_near(s->z2 <= most ? s->z2 : most, form->dtype);
  uint32_t rounded = bits_near(f * form->scale, form->dtype);
  f = value_of(rounded, form->dtype) * form->unscale;
  double error = (sqrt(error2_of(form, s, f)) + s->off) * (1 + 0x1p-40);
  put(size2, form->bytes, at);
  put(rounded, form->bytes, at + form->bytes);
  put(bits_up(error <= most ? error : INFINITY, form->dtype), form->bytes, at + 2 * form->bytes);
}
