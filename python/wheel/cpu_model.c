/* What __builtin_cpu_supports asks, for compilers that come without it (zig): the two tables that libgcc and compiler-rt
 * fill from cpuid, with the features that src/loops asks for. */
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

struct model {
  unsigned vendor, type, subtype, features[1];
};
struct model __cpu_model;
unsigned __cpu_features2[3];

/* Their numbers, as both libraries have them. */
enum {
  AVX2 = 10,
  FMA = 14,
  AVX512F = 15,
  AVX512VL = 20,
  AVX512BW = 21,
  AVX512DQ = 22,
  VPOPCNTDQ = 30,
  VNNI = 34
};

static void set(int feature, bool is) {
  unsigned *word = feature < 32 ? __cpu_model.features : &__cpu_features2[feature / 32 - 1];
  if (is) *word |= 1U << feature % 32;
}

/* The registers that the system saves. */
static uint32_t saved(void) {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

__attribute__((constructor(101))) static void read_model(void) {
  unsigned a, b, c, d, fma;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return;
  bool ymm = (saved() & 0x06) == 0x06, zmm = (saved() & 0xe6) == 0xe6;
  fma = c & bit_FMA;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
  set(FMA, ymm && fma);
  set(AVX2, ymm && b & bit_AVX2);
  set(AVX512F, zmm && b & bit_AVX512F);
  set(AVX512DQ, zmm && b & bit_AVX512DQ);
  set(AVX512BW, zmm && b & bit_AVX512BW);
  set(AVX512VL, zmm && b & bit_AVX512VL);
  set(VPOPCNTDQ, zmm && c & bit_AVX512VPOPCNTDQ);
  set(VNNI, zmm && c & bit_AVX512VNNI);
}
