#include "loops/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/status.h"

extern const cpb_loops cpb_loops_plain, cpb_loops_v128;
#if defined(CPB_WIDE_LOOPS)
extern const cpb_loops cpb_loops_avx2, cpb_loops_avx512, cpb_loops_avx512vnni, cpb_loops_amx;
bool cpb_has_amx(void);

/* Every processor with AVX2 and FMA has F16C, which clang 14 cannot test for; executing cpuid takes microseconds
 * under a hypervisor, and this runs once per call. */
static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_vnni(void) { return __builtin_cpu_supports("avx512vnni"); }
#endif

size_t cpb_loops_all(const cpb_loops *tables[CPB_TABLES]) {
  size_t count = 0;
  tables[count++] = &cpb_loops_plain;
#if defined(CPB_V128_LOOPS)
  tables[count++] = &cpb_loops_v128;
#endif
#if defined(CPB_WIDE_LOOPS)
  if (has_avx2()) tables[count++] = &cpb_loops_avx2;
  if (has_avx2() && has_avx512()) tables[count++] = &cpb_loops_avx512;
  if (has_avx2() && has_avx512() && has_vnni()) tables[count++] = &cpb_loops_avx512vnni;
  if (has_avx2() && has_avx512() && has_vnni() && cpb_has_amx()) tables[count++] = &cpb_loops_amx;
#endif
  return count;
}

const cpb_loops *cpb_loops_here(void) {
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  const char *wanted = getenv("CPB_ISA");
  if (wanted != NULL)
    for (size_t i = 0; i < count; i++)
      if (strcmp(wanted, tables[i]->name) == 0) return tables[i];
  return tables[count - 1];
}

static bool rows_in_floats(const cpb_rows_job *job) {
  return job->out_type == CPB_F32 && (job->embedding ? job->in_type != CPB_F64 : job->in_type == CPB_F32);
}

/* The inverse has loops for floats and doubles only. */
static cpb_rows_loop *rule_loop(const cpb_rows_rule *rule, const cpb_rows_job *job) {
  bool fits = (rule->in >> job->in_type & rule->out >> job->out_type & 1) != 0;
  if (!fits || job->d < rule->least || job->d > rule->most) return NULL;
  return job->embedding ? rule->embed : job->in_type <= CPB_F64 ? rule->unembed : NULL;
}

cpb_rows_loop *cpb_rows_of(const cpb_loops *loops, const cpb_rows_job *job) {
  const cpb_rows_rule *const *rules = loops->rows[rows_in_floats(job) ? 0 : 1];
  for (const cpb_rows_rule *rule = rules == NULL ? NULL : *rules; rule != NULL && rule->walk != NULL; rule++)
    if (rule_loop(rule, job) != NULL) return rule_loop(rule, job);
  return cpb_rows_plain;
}

static const char *types_name(unsigned types) {
  return types == CPB_RULE_F32     ? "f32"
         : types == CPB_RULE_F64   ? "f64"
         : types == CPB_RULE_SMALL ? "f16 u8 i8"
                                   : "any";
}

static void print_rule(const cpb_rows_rule *rule, const char *arithmetic, char *text, size_t size) {
  char most[24] = "";
  if (rule->most < SIZE_MAX) snprintf(most, sizeof most, "%zu", rule->most);
  snprintf(text, size, "%-9s -> %s  d = %zu..%-3s %-7s %s; any stride; src/loops/%s, %s",
           types_name(rule->in), types_name(rule->out), rule->least, most, rule->walk->name,
           rule->unembed != NULL ? "embed, unembed" : "embed", rule->walk->file, arithmetic);
}

bool cpb_isa_plan(size_t line, char *text, size_t size) {
  const cpb_loops *loops = cpb_loops_here();
  if (text == NULL) return false;
  for (size_t part = 0; part < 2; part++)
    for (const cpb_rows_rule *rule = loops->rows[part] == NULL ? NULL : *loops->rows[part];
         rule != NULL && rule->walk != NULL; rule++)
      if (line-- == 0) {
        print_rule(rule, part == 0 ? "rows_float.h" : "rows_double.h", text, size);
        return true;
      }
  if (line == 0) snprintf(text, size, "all others: plain; src/loops/rows_plain.h");
  return line == 0;
}

const char *cpb_isa_name(void) { return cpb_loops_here()->name; }
