#include "support/mp.h"

#include <assert.h>
#include <stdlib.h>

enum { ARENA = 1 << 17, BITS = 512 };
static mpfr_t *arena;
static size_t used, ready;

static mp fresh(void) {
  if (arena == NULL) arena = malloc(ARENA * sizeof *arena);
  assert(arena != NULL && used < ARENA);
  if (used == ready) mpfr_init2(arena[ready++], BITS);
  return arena[used++];
}

size_t mp_mark(void) { return used; }
void mp_release(size_t mark) { used = mark; }
void mp_done(void) {
  for (size_t i = 0; i < ready; i++) mpfr_clear(arena[i]);
  free(arena);
  mpfr_free_cache();
  arena = NULL;
  used = ready = 0;
}

mp mp_of(double value) {
  mp r = fresh();
  mpfr_set_d(r, value, MPFR_RNDN);
  return r;
}
mp mp_add(mp a, mp b) {
  mp r = fresh();
  mpfr_add(r, a, b, MPFR_RNDN);
  return r;
}
mp mp_sub(mp a, mp b) {
  mp r = fresh();
  mpfr_sub(r, a, b, MPFR_RNDN);
  return r;
}
mp mp_mul(mp a, mp b) {
  mp r = fresh();
  mpfr_mul(r, a, b, MPFR_RNDN);
  return r;
}
mp mp_div(mp a, mp b) {
  mp r = fresh();
  mpfr_div(r, a, b, MPFR_RNDN);
  return r;
}
mp mp_sqrt(mp a) {
  mp r = fresh();
  mpfr_sqrt(r, a, MPFR_RNDN);
  return r;
}
mp mp_abs(mp a) {
  mp r = fresh();
  mpfr_abs(r, a, MPFR_RNDN);
  return r;
}
mp mp_scale2(mp a, long power) {
  mp r = fresh();
  mpfr_mul_2si(r, a, power, MPFR_RNDN);
  return r;
}
mp mp_dot(const mp *a, const mp *b, size_t n) {
  mp r = mp_of(0);
  for (size_t i = 0; i < n; i++) mpfr_fma(r, a[i], b[i], r, MPFR_RNDN);
  return r;
}
double mp_get(mp a) { return mpfr_get_d(a, MPFR_RNDN); }

double mp_error(double value, mp exact, mp scale, double unit) {
  size_t mark = mp_mark();
  mp gap = mp_abs(mp_sub(mp_of(value), exact));
  double error = mpfr_zero_p(gap) ? 0 : mp_get(mp_div(gap, mp_mul(mp_abs(scale), mp_of(unit))));
  mp_release(mark);
  return error;
}
