#include "support/peak.h"

#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { CHAINS = 24, STEPS = 2000000, BURST = 10000 };

__attribute__((target("avx512f"))) static float run_512(size_t steps) {
  __m512 sum[CHAINS], factor = _mm512_set1_ps(0.999f), step = _mm512_set1_ps(0.001f);
#pragma GCC unroll 24
  for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_set1_ps((float)i);
  for (size_t k = 0; k < steps; k++)
#pragma GCC unroll 24
    for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_fmadd_ps(sum[i], factor, step);
  for (size_t i = 1; i < CHAINS; i++) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  return _mm512_reduce_add_ps(sum[0]);
}

__attribute__((target("avx2,fma"))) static float run_256(size_t steps) {
  enum { FEW = 12 };
  __m256 sum[FEW], factor = _mm256_set1_ps(0.999f), step = _mm256_set1_ps(0.001f);
  for (size_t i = 0; i < FEW; i++) sum[i] = _mm256_set1_ps((float)i);
  for (size_t k = 0; k < steps * CHAINS / FEW; k++)
#pragma GCC unroll 12
    for (size_t i = 0; i < FEW; i++) sum[i] = _mm256_fmadd_ps(sum[i], factor, step);
  for (size_t i = 1; i < FEW; i++) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  return _mm256_cvtss_f32(sum[0]);
}

static double operations(size_t steps) {
  double lanes = __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 0;
  return 2 * lanes * CHAINS * (double)steps;
}

static void run(size_t steps, float *result) {
  if (__builtin_cpu_supports("avx512f"))
    *result = run_512(steps);
  else if (__builtin_cpu_supports("fma"))
    *result = run_256(steps);
}

double peak_operations(void) { return operations(STEPS); }
double peak_burst_operations(void) { return operations(BURST); }

void peak_run(void *arg) { run(STEPS, arg); }
void peak_burst(float *result) { run(BURST, result); }
#else
double peak_operations(void) { return 0; }
double peak_burst_operations(void) { return 0; }
void peak_run(void *arg) { (void)arg; }
void peak_burst(float *result) { (void)result; }
#endif
