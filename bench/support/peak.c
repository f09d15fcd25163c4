#include "support/peak.h"

#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { CHAINS = 12, STEPS = 4000000 };

__attribute__((target("avx512f"))) static float run_512(void) {
  __m512 sum[CHAINS], factor = _mm512_set1_ps(0.999f), step = _mm512_set1_ps(0.001f), all;
  for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_set1_ps((float)i);
  for (size_t k = 0; k < STEPS; k++)
#pragma GCC unroll 12
    for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_fmadd_ps(sum[i], factor, step);
  all = sum[0];
  for (size_t i = 1; i < CHAINS; i++) all = _mm512_add_ps(all, sum[i]);
  return _mm512_reduce_add_ps(all);
}

__attribute__((target("avx2,fma"))) static float run_256(void) {
  __m256 sum[CHAINS], factor = _mm256_set1_ps(0.999f), step = _mm256_set1_ps(0.001f), all;
  for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm256_set1_ps((float)i);
  for (size_t k = 0; k < STEPS; k++)
#pragma GCC unroll 12
    for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm256_fmadd_ps(sum[i], factor, step);
  all = sum[0];
  for (size_t i = 1; i < CHAINS; i++) all = _mm256_add_ps(all, sum[i]);
  return _mm256_cvtss_f32(all);
}

double peak_operations(void) {
  double lanes = __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 0;
  return 2 * lanes * CHAINS * STEPS;
}

void peak_run(void *arg) {
  float *result = arg;
  if (__builtin_cpu_supports("avx512f"))
    *result = run_512();
  else if (__builtin_cpu_supports("fma"))
    *result = run_256();
}
#else
double peak_operations(void) { return 0; }
void peak_run(void *arg) { (void)arg; }
#endif
