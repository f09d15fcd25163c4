/* A double rounded to f32 and back. */
#ifndef CPB_TEST_ROUND_H
#define CPB_TEST_ROUND_H

/* gcc 12.2 at -O2 drops (double)(float)x on two neighbours that it vectorises; it must round a volatile float. */
static inline double test_round_f32(double value) {
  volatile float rounded = (float)value;
  return (double)rounded;
}

#endif
