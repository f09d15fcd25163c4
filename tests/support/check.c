#include "support/check.h"

/* CPB_TESTS='*threads*' runs only the tests with such a name, '-slow*' all the others. */
__attribute__((constructor)) static void take_filter(void) {
  const char *wanted = getenv("CPB_TESTS");
  if (wanted != NULL && wanted[0] == '-')
    cmocka_set_skip_filter(wanted + 1);
  else if (wanted != NULL)
    cmocka_set_test_filter(wanted);
}

uint64_t test_bits(test_rng *rng) {
  uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

double test_uniform(test_rng *rng) { return (double)(test_bits(rng) >> 11) * 0x1p-53; }

double test_gauss(test_rng *rng) {
  double radius = sqrt(-2 * log(1 - test_uniform(rng)));
  return radius * cos(6.283185307179586 * test_uniform(rng));
}

double test_log_uniform(test_rng *rng, double low, double high) {
  return exp(log(low) + (log(high) - log(low)) * test_uniform(rng));
}

size_t test_below(test_rng *rng, size_t n) { return (size_t)(test_bits(rng) % n); }

void test_direction(test_rng *rng, size_t n, double *unit) {
  double norm2 = 0;
  while (!(norm2 > 1e-6)) {
    norm2 = 0;
    for (size_t i = 0; i < n; i++) {
      unit[i] = test_gauss(rng);
      norm2 += unit[i] * unit[i];
    }
  }
  for (size_t i = 0; i < n; i++) unit[i] /= sqrt(norm2);
}

void law_holds(const char *law, const char *what, const char *real, double worst, double bound) {
  const char *path = getenv("CPB_NUMERICS");
  FILE *file = path == NULL ? NULL : fopen(path, "a");
  if (file != NULL) {
    fprintf(file, "%s\t%s\t%s\t%g\t%.2f\n", law, what, real, bound, worst);
    fclose(file);
  }
  if (!(worst <= bound)) fail_msg("%s %s (%s): worst error %g u, bound %g u", law, what, real, worst, bound);
}

void test_worst(double *worst, double error) {
  if (error > *worst || error != error) *worst = error;
}

void test_status(int status, int wanted, const char *sentence) {
  if (status != wanted) fail_msg("status %d instead of %d: %s", status, wanted, sentence);
}

uint16_t test_half(double x) {
  int exponent;
  double m = frexp(fmin(fabs(x), 65504), &exponent); /* 2^-14 has the exponent -13 */
  int code = exponent < -13 ? (int)rint(ldexp(m, exponent + 24))
                            : ((exponent + 14) << 10) + (int)rint(ldexp(m, 11)) - 1024;
  return (uint16_t)(code | (signbit(x) ? 0x8000 : 0));
}
