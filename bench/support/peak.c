#include "support/peak.h"

#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { ROWS = 6, VECTORS = 4, CHAINS = ROWS * VECTORS, STEPS = 2000000, DEPTH = 16 };

__attribute__((target("avx512f"))) static float sum_512(__m512 sum[CHAINS]) {
  for (size_t i = 1; i < CHAINS; i++) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  return _mm512_reduce_add_ps(sum[0]);
}

__attribute__((target("avx512f"))) static float run_512(void) {
  __m512 sum[CHAINS], factor = _mm512_set1_ps(0.999f), step = _mm512_set1_ps(0.001f);
#pragma GCC unroll 24
  for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_set1_ps((float)i);
  for (size_t k = 0; k < STEPS; k++)
#pragma GCC unroll 24
    for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_fmadd_ps(sum[i], factor, step);
  return sum_512(sum);
}

__attribute__((target("avx512f"))) static float loaded_512(const float *a, const float *b) {
  __m512 sum[CHAINS];
#pragma GCC unroll 24
  for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_setzero_ps();
  for (size_t k = 0; k < STEPS; k++) {
    const float *line = b + k % DEPTH * VECTORS * 16, *column = a + k % DEPTH;
    __m512 row[VECTORS];
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) row[v] = _mm512_loadu_ps(line + v * 16);
#pragma GCC unroll 6
    for (size_t i = 0; i < ROWS; i++) {
      __m512 factor = _mm512_set1_ps(column[i * DEPTH]);
#pragma GCC unroll 4
      for (size_t v = 0; v < VECTORS; v++)
        sum[i * VECTORS + v] = _mm512_fmadd_ps(factor, row[v], sum[i * VECTORS + v]);
    }
  }
  return sum_512(sum);
}

__attribute__((target("avx2,fma"))) static float run_256(void) {
  enum { FEW = 12 };
  __m256 sum[FEW], factor = _mm256_set1_ps(0.999f), step = _mm256_set1_ps(0.001f);
  for (size_t i = 0; i < FEW; i++) sum[i] = _mm256_set1_ps((float)i);
  for (size_t k = 0; k < STEPS * CHAINS / FEW; k++)
#pragma GCC unroll 12
    for (size_t i = 0; i < FEW; i++) sum[i] = _mm256_fmadd_ps(sum[i], factor, step);
  for (size_t i = 1; i < FEW; i++) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  return _mm256_cvtss_f32(sum[0]);
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

void peak_loaded_run(void *arg) {
  _Alignas(64) float a[ROWS * DEPTH], b[DEPTH * VECTORS * 16];
  for (size_t i = 0; i < ROWS * DEPTH; i++) a[i] = 0.5f - (float)(i % 7) / 7;
  for (size_t i = 0; i < DEPTH * VECTORS * 16; i++) b[i] = 0.5f - (float)(i % 11) / 11;
  if (__builtin_cpu_supports("avx512f"))
    *(float *)arg = loaded_512(a, b);
  else
    peak_run(arg);
}
#else
double peak_operations(void) { return 0; }
void peak_run(void *arg) { (void)arg; }
void peak_loaded_run(void *arg) { (void)arg; }
#endif
