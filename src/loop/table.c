#include "loop/table.h"

#include <stdlib.h>
#include <string.h>

#include "capball/status.h"

extern const cpb_loops cpb_loops_plain;
#if defined(__x86_64__)
#include <cpuid.h>

extern const cpb_loops cpb_loops_avx2, cpb_loops_avx512;

/* __builtin_cpu_supports("f16c") does not compile with clang 14. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

size_t cpb_loops_all(const cpb_loops *tables[4]) {
  size_t count = 0;
  tables[count++] = &cpb_loops_plain;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) {
    tables[count++] = &cpb_loops_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      tables[count++] = &cpb_loops_avx512;
  }
#endif
  return count;
}

const cpb_loops *cpb_loops_here(void) {
  const cpb_loops *tables[4];
  size_t count = cpb_loops_all(tables);
  const char *wanted = getenv("CPB_ISA");
  if (wanted != NULL)
    for (size_t i = 0; i < count; i++)
      if (strcmp(wanted, tables[i]->name) == 0) return tables[i];
  return tables[count - 1];
}

const char *cpb_isa_name(void) { return cpb_loops_here()->name; }
