/* T1 for rows of d <= CPB_SHORT_MOST floats: the factor of a row in pairs of floats, included once per REAL.
 *
 * A pair is an unevaluated sum h + l, good to about 2^-45: nearly what doubles do, but without widening the
 * numbers, and its division is that of floats. The text serves one row (in every instruction set) and sixteen
 * rows at once; REAL is the type, REAL_FMA, REAL_ABS, REAL_MAX, REAL_MIN and REAL_SAME what it has beside
 * arithmetic, REAL_BELOW(x, most) whether all of it is <= most (NaN is not), SHORT(name) the names. They are
 * undefined at the end. */

typedef struct SHORT(pair) {
  REAL h, l;
} SHORT(pair);

typedef struct SHORT(factors) {
  REAL factor, last; /* as in row_factor */
  bool fine;         /* all of them */
} SHORT(factors);

static inline SHORT(pair) SHORT(same)(short_number x) {
  return (SHORT(pair)){REAL_SAME(x.h), REAL_SAME(x.l)};
}

static inline SHORT(pair) SHORT(square)(REAL x) {
  REAL h = x * x;
  return (SHORT(pair)){h, REAL_FMA(x, x, -h)};
}

/* of two that are not negative */
static inline SHORT(pair) SHORT(sum)(SHORT(pair) a, SHORT(pair) b) {
  REAL h = a.h + b.h, lost = REAL_MIN(a.h, b.h) - (h - REAL_MAX(a.h, b.h));
  return (SHORT(pair)){h, lost + (a.l + b.l)};
}

static inline SHORT(pair) SHORT(norm)(const REAL *x, size_t d) {
  SHORT(pair) n = SHORT(square)(x[0]);
  for (size_t j = 1; j < d; j++) n = SHORT(sum)(n, SHORT(square)(x[j]));
  return n;
}

static inline SHORT(pair) SHORT(inverse)(SHORT(pair) x) {
  REAL h = REAL_SAME(1) / x.h;
  return (SHORT(pair)){h, h * REAL_FMA(-x.l, h, REAL_FMA(-x.h, h, REAL_SAME(1)))};
}

/* a b - c as one number; c is 0, or 1 for a product up to 2: then below 1/2 the difference is rounded too */
static inline REAL SHORT(product_less)(SHORT(pair) a, SHORT(pair) b, REAL c) {
  REAL h = a.h * b.h;
  return (h - c) + REAL_FMA(a.h, b.l, REAL_FMA(a.l, b.h, REAL_FMA(a.h, b.h, -h)));
}

/* y = (2s x, s^2-n)/(n+s^2); the last is 2s^2/(n+s^2) - 1 */
static inline SHORT(factors) SHORT(embed)(const REAL *x, size_t d, const short_scale *s) {
  SHORT(pair) q = SHORT(sum)(SHORT(norm)(x, d), SHORT(same)(s->square)), inverse = SHORT(inverse)(q);
  return (SHORT(factors)){SHORT(product_less)(SHORT(same)(s->twice), inverse, REAL_SAME(0)),
                          SHORT(product_less)(SHORT(same)(s->twice_square), inverse, REAL_SAME(1)),
                          REAL_BELOW(q.h, s->most)};
}

/* x = 2s y'/|y+e|^2 for |y| = 1; y0 = y[d] */
static inline SHORT(factors) SHORT(unembed)(const REAL *y, size_t d, const short_scale *s) {
  REAL rise = REAL_SAME(1) + y[d], lost = y[d] - (rise - REAL_SAME(1));
  SHORT(pair) square = SHORT(square)(rise);
  square.l = REAL_FMA(rise + rise, lost, square.l);
  SHORT(pair) gap = SHORT(sum)(SHORT(norm)(y, d), square), inverse = SHORT(inverse)(gap);
  REAL excess = gap.h - (rise + rise); /* |y|^2 - 1 */
  bool unit = REAL_BELOW(REAL_ABS(excess), (float)UNIT_SLACK);
  return (SHORT(factors)){SHORT(product_less)(SHORT(same)(s->twice), inverse, REAL_SAME(0)), REAL_SAME(0),
                          unit & REAL_BELOW(inverse.h, s->most)};
}

#undef REAL
#undef REAL_FMA
#undef REAL_ABS
#undef REAL_MAX
#undef REAL_MIN
#undef REAL_SAME
#undef REAL_BELOW
#undef SHORT
