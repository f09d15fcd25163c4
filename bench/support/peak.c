#include "support/peak.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "capball/status.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { CHAINS = 24, STEPS = 2000000 };

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

static double lanes(void) {
  return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 0;
}

double peak_operations(void) { return 2 * lanes() * CHAINS * STEPS; }

void peak_run(void *arg) {
  if (__builtin_cpu_supports("avx512f"))
    *(float *)arg = run_512(STEPS);
  else if (__builtin_cpu_supports("fma"))
    *(float *)arg = run_256(STEPS);
}

/* ---- bytes ---- */

enum { LANE_BYTES = 64, TILE = 16, TILES = 4, TILE_STEPS = 200000 };

__attribute__((target("avx512f,avx512vnni"))) static int bytes_512(void) {
  __m512i sum[CHAINS], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
#pragma GCC unroll 24
  for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_set1_epi32((int)i);
  for (size_t k = 0; k < STEPS; k++)
#pragma GCC unroll 24
    for (size_t i = 0; i < CHAINS; i++) sum[i] = _mm512_dpbusd_epi32(sum[i], a, b);
  for (size_t i = 1; i < CHAINS; i++) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  return _mm512_reduce_add_epi32(sum[0]);
}

__attribute__((target("amx-tile,amx-int8"))) static int bytes_tiles(void) {
  struct {
    uint8_t palette, first, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shape = {.palette = 1};
  static int32_t value[TILE][TILE];
  for (size_t i = 0; i < 8; i++) shape.row_bytes[i] = LANE_BYTES, shape.rows[i] = TILE;
  _tile_loadconfig(&shape);
  for (size_t k = 0; k < TILE_STEPS; k++) {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
  _tile_stored(0, value, LANE_BYTES);
  _tile_release();
  return value[0][0];
}

static bool takes(const char *isa) { return strcmp(cpb_isa_name(), isa) == 0; }

double peak_bytes_operations(void) {
  if (takes("amx")) return 2. * TILE * TILE * LANE_BYTES * TILES * TILE_STEPS;
  return takes("avx512vnni") ? 2. * LANE_BYTES * CHAINS * STEPS : 0;
}

void peak_bytes_run(void *arg) {
  if (takes("amx"))
    *(float *)arg = (float)bytes_tiles();
  else if (takes("avx512vnni"))
    *(float *)arg = (float)bytes_512();
}

const char *peak_bytes_unit(void) { return takes("amx") ? "AMX" : takes("avx512vnni") ? "VNNI" : "no unit"; }
#else
double peak_operations(void) { return 0; }
void peak_run(void *arg) { (void)arg; }
double peak_bytes_operations(void) { return 0; }
void peak_bytes_run(void *arg) { (void)arg; }
const char *peak_bytes_unit(void) { return "no unit"; }
#endif
