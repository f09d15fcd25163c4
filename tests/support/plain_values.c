#include "support/plain_values.h"

#include <math.h>
#include <stdbool.h>

#include <mpfr.h>

#include "support/check.h"

enum { LANES = 16, BITS = 53 };

typedef struct sums {
  mpfr_t lane[LANES], term, sum, length;
} sums;

static sums *room(void) {
  static sums s;
  static bool made;
  if (made) return &s;
  for (size_t j = 0; j < LANES; j++) mpfr_init2(s.lane[j], BITS);
  mpfr_inits2(BITS, s.term, s.sum, s.length, (mpfr_ptr)0);
  made = true;
  return &s;
}

/* sum = <x,y>, or |x-y|^2 */
static void add_up(sums *s, const double *x, const double *y, size_t d, bool squares) {
  assert_true(d <= PLAIN_COLS);
  for (size_t j = 0; j < LANES; j++) mpfr_set_zero(s->lane[j], 1);
  for (size_t i = 0; i < d; i++) {
    mpfr_set_d(s->term, x[i], MPFR_RNDN);
    if (squares) {
      mpfr_sub_d(s->term, s->term, y[i], MPFR_RNDN);
      mpfr_sqr(s->term, s->term, MPFR_RNDN);
    } else
      mpfr_mul_d(s->term, s->term, y[i], MPFR_RNDN);
    mpfr_add(s->lane[i % LANES], s->lane[i % LANES], s->term, MPFR_RNDN);
  }
  for (size_t width = LANES / 2; width > 0; width /= 2)
    for (size_t j = 0; j < width; j++) mpfr_add(s->lane[j], s->lane[j], s->lane[j + width], MPFR_RNDN);
  mpfr_set(s->sum, s->lane[0], MPFR_RNDN);
}

void plain_direction(const double *q, size_t d, double *unit) {
  sums *s = room();
  add_up(s, q, q, d, false);
  mpfr_sqrt(s->length, s->sum, MPFR_RNDN);
  double usual = mpfr_get_d(s->length, MPFR_RNDN);
  for (size_t k = 0; k < d; k++) {
    mpfr_set_d(s->term, q[k], MPFR_RNDN);
    mpfr_div(s->term, s->term, s->length, MPFR_RNDN);
    unit[k] = usual > 1e-100 && usual < 1e100 ? q[k] / usual : mpfr_get_d(s->term, MPFR_RNDN);
  }
}

double plain_value(cpb_metric metric, const double *x, const double *q, size_t d) {
  static const double zero[PLAIN_COLS];
  sums *s = room();
  if (metric == CPB_COSINE) {
    add_up(s, x, zero, d, true);
    mpfr_sqrt(s->length, s->sum, MPFR_RNDN);
  }
  add_up(s, x, q, d, metric == CPB_L2);
  if (metric == CPB_L2) mpfr_sqrt(s->sum, s->sum, MPFR_RNDN);
  if (metric == CPB_COSINE) mpfr_div(s->sum, s->sum, s->length, MPFR_RNDN);
  double value = mpfr_get_d(s->sum, MPFR_RNDN);
  return metric == CPB_COSINE ? fmax(-1, fmin(1, value)) : value;
}

double plain_key(cpb_metric metric, double value) { return metric == CPB_L2 ? value : -value; }
