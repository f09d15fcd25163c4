/* What loops that take eight rows of doubles at once, or results in double, have in common on AVX-512. */
#ifndef CPB_LOOP_ROWS_EIGHT_AVX512_H
#define CPB_LOOP_ROWS_EIGHT_AVX512_H

#include "loop/lanes_avx512.h"
#include "loop/rows_double_singly.h"

enum { EIGHT = 8, EIGHT_AHEAD = 2048 /* bytes */ };

/* The types of rows and results; not both floats. */
typedef struct eight_types {
  bool in_f32, out_f32;
} eight_types;

static const eight_types doubles_to_doubles = {false, false}, floats_to_doubles = {true, false},
                         doubles_to_floats = {false, true};

static void doubles_singly(const cpb_rows_job *job, eight_types types, size_t first, size_t count) {
  if (types.in_f32)
    (job->embedding ? singly_f32_f64 : singly_back_f32_f64)(job, first, count);
  else if (types.out_f32)
    (job->embedding ? singly_f64_f32 : singly_back_f64_f32)(job, first, count);
  else
    (job->embedding ? singly_f64_f64 : singly_back_f64_f64)(job, first, count);
}

/* What is known when a loop is compiled. */
typedef struct eight_shape {
  bool embedding;
  eight_types types;
  size_t columns; /* that rows have, if they are taken by columns, else 0 */
  bool made;      /* of halves or bytes, to floats, some turns before they are needed */
} eight_shape;

/* Eights of rows that are written together: results in float take two for whole lines of the cache. */
LANE_INLINE size_t eights_together(eight_types types) { return types.out_f32 ? 2 : 1; }

/* Eight numbers. */
LANE_INLINE __m512d eight_at(eight_shape shape, const char *row, size_t i) {
  return shape.types.in_f32 ? _mm512_cvtps_pd(_mm256_loadu_ps((const float *)row + i))
                            : _mm512_loadu_pd((const double *)row + i);
}
LANE_INLINE size_t in_size(eight_shape shape) { return shape.types.in_f32 ? sizeof(float) : sizeof(double); }
LANE_INLINE size_t out_size(eight_shape shape) {
  return shape.types.out_f32 ? sizeof(float) : sizeof(double);
}

typedef struct eight_factors {
  __m512d factor, last;
  bool fine;
} eight_factors;

LANE_INLINE __mmask8 at_least(__m512d x, double least) {
  return _mm512_cmp_pd_mask(x, _mm512_set1_pd(least), _CMP_GE_OQ);
}
LANE_INLINE __mmask8 at_most(__m512d x, double most) {
  return _mm512_cmp_pd_mask(x, _mm512_set1_pd(most), _CMP_LE_OQ);
}

LANE_INLINE bool sums_fine(__m512d q, double s) {
  return s >= SUM_LEAST && (at_least(q, SUM_LEAST) & at_most(q, SUM_MOST)) == 0xff;
}

LANE_INLINE double result_most(eight_shape shape) {
  return shape.types.out_f32 ? RESULT_MOST_F32 : RESULT_MOST_F64;
}

/* embed_double() of double_factor.h for eight rows */
LANE_INLINE eight_factors eight_embed_factors(__m512d n, double s) {
  __m512d s2 = _mm512_set1_pd(s * s), q = _mm512_add_pd(n, s2);
  return (eight_factors){_mm512_div_pd(_mm512_set1_pd(2 * s), q), _mm512_div_pd(_mm512_sub_pd(s2, n), q),
                         sums_fine(q, s)};
}

/* a/b, rounded once, from the rounded 1/b: a/b is off by two units at most, corrected by one of two neighbours, and
 * corrected again (Markstein) rounded to the nearest. What is left over from a product is exact: sums of squares in their
 * range are far from the ends of exponents. */
LANE_INLINE __m512d quotient(__m512d a, __m512d b, __m512d inverse) {
  __m512d q = _mm512_mul_pd(a, inverse);
  q = _mm512_fmadd_pd(_mm512_fnmadd_pd(b, q, a), inverse, q);
  return _mm512_fmadd_pd(_mm512_fnmadd_pd(b, q, a), inverse, q);
}

/* The same with one division: rows of two numbers wait for divisions, longer ones for sums and products. */
LANE_INLINE eight_factors eight_embed_once(__m512d n, double s) {
  __m512d s2 = _mm512_set1_pd(s * s), q = _mm512_add_pd(n, s2), inverse = _mm512_div_pd(_mm512_set1_pd(1), q);
  return (eight_factors){quotient(_mm512_set1_pd(2 * s), q, inverse),
                         quotient(_mm512_sub_pd(s2, n), q, inverse), sums_fine(q, s)};
}

/* unembed_double() of double_factor.h for eight rows */
LANE_INLINE eight_factors eight_unembed_factors(__m512d n, __m512d y0, double s, double most) {
  __m512d length2 = _mm512_add_pd(n, _mm512_mul_pd(y0, y0)), length = _mm512_sqrt_pd(length2);
  __mmask8 north = at_least(y0, 0);
  __m512d over =
      _mm512_mask_mul_pd(_mm512_set1_pd(s), (__mmask8)~north, _mm512_set1_pd(s), _mm512_sub_pd(length, y0));
  __m512d factor = _mm512_div_pd(over, _mm512_mask_add_pd(n, north, length, y0));
  __mmask8 fine =
      at_least(length2, SUM_LEAST) & at_most(length2, SUM_MOST) & (north | at_least(n, NORM_LEAST));
  fine &= at_least(factor, FACTOR_LEAST_F64) & at_most(_mm512_mul_pd(factor, length), most);
  return (eight_factors){factor, _mm512_setzero_pd(), fine == 0xff};
}

/* The roots of eight numbers near 1, where a series gives them: that of 1+e is 1+t, t = e/2 - e^2/8 + e^3/16, but for 2^-73
 * if |e| <= 2^-21. What 1+t is rounded to is the rounded root, unless what rounding took off is as near to half a unit
 * of 1, which is 2^-53, or 2^-54 below 1: `sure` are lanes where it is not, nor near to another power of two. Every double
 * there is was tried. */
LANE_INLINE __m512d eight_roots(__m512d x, __mmask8 *sure) {
  __m512d one = _mm512_set1_pd(1), e = _mm512_sub_pd(x, one);
  __m512d t = _mm512_fmadd_pd(e, _mm512_set1_pd(1. / 16), _mm512_set1_pd(-1. / 8));
  t = _mm512_mul_pd(e, _mm512_fmadd_pd(e, t, _mm512_set1_pd(1. / 2)));
  __m512d root = _mm512_add_pd(one, t), off = _mm512_sub_pd(t, _mm512_sub_pd(root, one));
  __m512i shifted = _mm512_add_epi64(_mm512_castpd_si512(off), _mm512_set1_epi64(1ll << 33));
  *sure = _mm512_mask_test_epi64_mask(at_most(_mm512_abs_pd(e), 0x1p-21), shifted,
                                      _mm512_set1_epi64((1ll << 52) - (1ll << 34)));
  return root;
}

/* The same for rows of floats: most have a length near 1, and n is 0, or not small. Roots take longer than all the rest. */
LANE_INLINE eight_factors eight_unembed_near(__m512d n, __m512d length2, __m512d y0, double s, double most) {
  __mmask8 sure, north = at_least(y0, 0);
  __m512d length = eight_roots(length2, &sure);
  __m512d over =
      _mm512_mask_mul_pd(_mm512_set1_pd(s), (__mmask8)~north, _mm512_set1_pd(s), _mm512_sub_pd(length, y0));
  __m512d factor = _mm512_div_pd(over, _mm512_mask_add_pd(n, north, length, y0));
  sure = _mm512_mask_cmp_pd_mask(sure, factor, _mm512_set1_pd(most / 2), _CMP_LE_OQ);
  if (__builtin_expect(sure == 0xff && s >= 4 * FACTOR_LEAST_F64, 1))
    return (eight_factors){factor, _mm512_setzero_pd(), true};
  return eight_unembed_factors(n, y0, s, most);
}

/* Lanes `own`; past the cache all of them. */
LANE_INLINE void write_eight(bool stream, eight_shape shape, __mmask8 own, __m512d x, char *out) {
  if (shape.types.out_f32 && stream)
    _mm256_stream_ps((float *)out, _mm512_cvtpd_ps(x));
  else if (shape.types.out_f32)
    _mm256_mask_storeu_ps(out, own, _mm512_cvtpd_ps(x));
  else if (stream)
    _mm512_stream_pd((double *)out, x);
  else
    _mm512_mask_storeu_pd(out, own, x);
}

#endif
