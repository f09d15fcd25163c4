/* Each function reduces its argument to a small one, evaluates the Taylor series there, and maps the result back;
 * where rounding errors would add up, a number is a sum hi + lo of two doubles. There are no tables: every
 * constant can be checked by eye. */
#include "base/elementary.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* hi + lo, |lo| <= ulp(hi)/2 or little more. */
typedef struct twofold {
  double hi, lo;
} twofold;

/* a + b exactly, |a| >= |b|. */
static twofold sum_in_order(double a, double b) {
  double hi = a + b;
  return (twofold){hi, b - (hi - a)};
}

static twofold sum_of(double a, double b) {
  double hi = a + b, kept = hi - a;
  return (twofold){hi, (a - (hi - kept)) + (b - kept)};
}

static twofold product_of(double a, double b) {
  double hi = a * b;
  return (twofold){hi, fma(a, b, -hi)};
}

/* x^2 for |x| <= 1, to 2^-78: quicker than fma where that is a call. */
static twofold square_of(double x) {
  double head = (x + 0x1.8p27) - 0x1.8p27, rest = x - head;
  return (twofold){head * head, (x + head) * rest};
}

/* rint(x) for |x| < 2^51, without a call. */
static double nearest_whole(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

static twofold times(twofold a, twofold b) {
  twofold p = product_of(a.hi, b.hi);
  return sum_in_order(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static twofold ratio_of(twofold a, twofold b) {
  double q = a.hi / b.hi, rest = fma(-q, b.hi, a.hi);
  return sum_in_order(q, (rest + (a.lo - q * b.lo)) / b.hi);
}

/* c[0] + c[1] x + .. + c[2n-1] x^(2n-1), as two independent dependency chains. */
static inline double series(const double *c, int n, double x) {
  double z = x * x, even = c[2 * n - 2], odd = c[2 * n - 1];
  for (int i = n - 2; i >= 0; i--) {
    even = even * z + c[2 * i];
    odd = odd * z + c[2 * i + 1];
  }
  return odd * x + even;
}

/* y 2^k, 1/2 <= y < 4. */
static double scaled(double y, int k) {
  if (k < -1021 || k > 1022) return ldexp(y, k);
  uint64_t bits = (uint64_t)(k + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return y * power;
}

/* x = 2^k m, 1/2 <= m < 1, for 0 < x < inf: frexp without a call. */
static double split(double x, int *k) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (bits >> 52 == 0) return frexp(x, k);
  *k = (int)(bits >> 52) - 1022;
  bits = (bits & 0xfffffffffffffu) | (uint64_t)1022 << 52;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The sides are scaled near 1, so that no square is subnormal and loses digits. */
static double hypot_of_units(double x, double y) {
  double h = sqrt(fma(x, x, y * y)), square = h * h, x2 = x * x;
  double excess = fma(-y, y, square - x2) + (fma(h, h, -square) - fma(x, x, -x2));
  return h - excess / (2 * h);
}

double cpb_hypot(double x, double y) {
  double large = fabs(x), small = fabs(y);
  if (isinf(large) || isinf(small)) return INFINITY;
  if (isnan(large) || isnan(small)) return NAN;
  if (large < small) large = fabs(y), small = fabs(x);
  if (small <= large * 0x1p-54) return large + small;
  if (large < 0x1p500 && small > 0x1p-450) return hypot_of_units(large, small);
  int exponent = ilogb(large);
  return ldexp(hypot_of_units(ldexp(large, -exponent), ldexp(small, -exponent)), exponent);
}

/* ln 2 as 42 bits, whose multiples up to 2^11 are exact, and the rest. */
static const double ln2_hi = 0x1.62e42fefa3800p-1, ln2_lo = 0x1.ef35793c76730p-45,
                    per_ln2 = 0x1.71547652b82fep+0;

/* exp(x) = 2^k exp(r), |r| <= ln(2)/2. */
static double exp_of(twofold x) {
  static const double c[] = {1. / 6,        1. / 24,        1. / 120,        1. / 720,
                             1. / 5040,     1. / 40320,     1. / 362880,     1. / 3628800,
                             1. / 39916800, 1. / 479001600, 1. / 6227020800, 1. / 87178291200};
  if (x.hi > 710) return INFINITY;
  if (x.hi < -746) return 0;
  double k = nearest_whole(x.hi * per_ln2);
  twofold r = sum_of(x.hi - k * ln2_hi, x.lo - k * ln2_lo), square = square_of(r.hi);
  twofold linear = sum_in_order(1, r.hi), head = sum_in_order(linear.hi, square.hi / 2);
  double tail = r.hi * (r.hi * r.hi) * series(c, 6, r.hi) + square.lo / 2 + r.lo * linear.hi;
  return scaled(head.hi + (head.lo + (linear.lo + tail)), (int)k);
}

double cpb_exp(double x) { return isnan(x) ? x : exp_of((twofold){x, 0}); }

/* ln x for 0 < x < inf: x = 2^k m, sqrt(1/2) <= m < sqrt(2), and ln m = 2 (s + s^3/3 + s^5/5 + ..) with
 * s = (m-1)/(m+1). The first two terms in twice the precision: the error is below 2^-64 of the result. */
static twofold log_of(double x) {
  static const double c[] = {2. / 5,  2. / 7,  2. / 9,  2. / 11, 2. / 13,
                             2. / 15, 2. / 17, 2. / 19, 2. / 21, 2. / 23};
  static const twofold two_thirds = {2. / 3, 0x1.5555555555555p-55};
  int k;
  double m = split(x, &k);
  if (m < 0x1.6a09e667f3bcdp-1) m *= 2, k--;
  twofold s = ratio_of((twofold){m - 1, 0}, sum_of(1, m));
  twofold z = times(s, s), cubic = times(times(s, z), two_thirds);
  double rest = s.hi * (z.hi * z.hi) * series(c, 5, z.hi);
  twofold first = sum_in_order(k * ln2_hi, 2 * s.hi), second = sum_in_order(first.hi, cubic.hi);
  return sum_in_order(second.hi, second.lo + (first.lo + (2 * s.lo + (cubic.lo + rest) + k * ln2_lo)));
}

/* hi + lo = ln x up to `error`, usually enough to know how log_of rounds, at half its cost: with f = m-1 and h =
 * f^2/2, ln m = f - h + s (h + s^2 2/3 + s^4 2/5 + ..), of which all but the last, t, is exact. t has seven
 * roundings of at most 2^-52 of it; 2^-62 of the whole is left for the series' end and for log_of. */
static twofold quick_log(double x, double *error) {
  static const double c[] = {2. / 3,  2. / 5,  2. / 7,  2. / 9,  2. / 11, 2. / 13,
                             2. / 15, 2. / 17, 2. / 19, 2. / 21, 2. / 23, 2. / 25};
  int k;
  double m = split(x, &k);
  if (m < 0x1.6a09e667f3bcdp-1) m *= 2, k--;
  double f = m - 1, s = f / (2 + f), z = s * s;
  twofold square = square_of(f), first = sum_in_order(k * ln2_hi, f);
  twofold head = sum_in_order(first.hi, -square.hi / 2);
  double t = s * (f * f / 2 + z * series(c, 6, z));
  *error = 0x1p-49 * fabs(t) + 0x1p-62 * fabs(head.hi);
  return (twofold){head.hi, t + (head.lo + (first.lo + (k * ln2_lo - square.lo / 2)))};
}

double cpb_log(double x) {
  if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
  if (isinf(x)) return x;
  double error;
  twofold quick = quick_log(x, &error);
  double least = quick.hi + (quick.lo - error), most = quick.hi + (quick.lo + error);
  if (least == most) return least;
  twofold log = log_of(x);
  return log.hi + log.lo;
}

/* |x|^y where neither is 0, NaN or infinite. */
static double power_of(double x, double y) {
  if (y == 2) return x * x;
  twofold log = log_of(fabs(x)), product = product_of(y, log.hi);
  if (!(fabs(product.hi) < 800)) return product.hi > 0 ? INFINITY : 0;
  return exp_of(sum_in_order(product.hi, product.lo + y * log.lo));
}

static double power_of_extremes(double x, double y) {
  if (isinf(y)) return fabs(x) == 1 ? 1 : (fabs(x) > 1) == (y > 0) ? INFINITY : 0;
  return (x == 0) == (y > 0) ? 0 : INFINITY;
}

double cpb_pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (isnan(x) || isnan(y)) return NAN;
  if (x < 0 && isfinite(x) && isfinite(y) && rint(y) != y) return NAN;
  double size = x == 0 || isinf(x) || isinf(y) ? power_of_extremes(x, y) : power_of(x, y);
  return signbit(x) && isfinite(y) && fabs(fmod(y, 2)) == 1 ? -size : size;
}

/* x = k pi/2 + r, |r| <= pi/4: the multiples of the first two parts of pi/2, 33 bits each, are exact. */
typedef struct quarters {
  int k; /* modulo 4 */
  twofold r;
} quarters;

static quarters quarters_of(double x) {
  double k = nearest_whole(x * 0x1.45f306dc9c883p-1);
  twofold r = sum_of(x - k * 0x1.921fb54400000p+0, -k * 0x1.0b4611a600000p-34);
  r = sum_of(r.hi, r.lo - k * 0x1.3198a2e037073p-69);
  return (quarters){(int)k & 3, r};
}

static twofold sine_of(twofold r) {
  static const double c[] = {-1. / 6,        1. / 120,         -1. / 5040,           1. / 362880.,
                             -1. / 39916800, 1. / 6227020800., -1. / 1307674368000., 1. / 355687428096000.};
  double z = r.hi * r.hi;
  return sum_in_order(r.hi, r.lo * (1 - z / 2) + r.hi * z * series(c, 4, z));
}

static twofold cosine_of(twofold r) {
  static const double c[] = {
      1. / 24,        -1. / 720,          1. / 40320,           -1. / 3628800,
      1. / 479001600, -1. / 87178291200., 1. / 20922789888000., -1. / 6402373705728000.};
  twofold z = product_of(r.hi, r.hi), head = sum_in_order(1, -z.hi / 2);
  return sum_in_order(head.hi, head.lo + (z.hi * z.hi * series(c, 4, z.hi) - (z.lo / 2 + r.hi * r.lo)));
}

static bool outside(double x) { return !(fabs(x) <= 1024); }

/* cos(x) for shift 1, sin(x) for shift 0: sin(x + shift pi/2). */
static double wave(double x, int shift) {
  quarters q = quarters_of(x);
  int k = (q.k + shift) & 3;
  twofold value = k % 2 ? cosine_of(q.r) : sine_of(q.r);
  return k < 2 ? value.hi + value.lo : -(value.hi + value.lo);
}

double cpb_sin(double x) { return outside(x) ? NAN : x == 0 ? x : wave(x, 0); }

double cpb_cos(double x) { return outside(x) ? NAN : wave(x, 1); }

double cpb_tan(double x) {
  if (outside(x)) return NAN;
  if (x == 0) return x;
  quarters q = quarters_of(x);
  twofold sine = sine_of(q.r), cosine = cosine_of(q.r);
  twofold tangent = q.k % 2 ? ratio_of((twofold){-cosine.hi, -cosine.lo}, sine) : ratio_of(sine, cosine);
  return tangent.hi + tangent.lo;
}
