#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "support/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "capball/status.h"

double bench_now(void) {
  static int clock = -1;
  if (clock < 0) clock = getenv("BENCH_CPU") != NULL ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_rounds(bench_rival *rivals, size_t count, int rounds) {
  for (size_t i = 0; i < count; i++) rivals[i].best = 1e300;
  for (int round = 0; round < rounds; round++)
    for (size_t turn = 0; turn < count; turn++) {
      size_t i = (turn + (size_t)round) % count; /* caches and heap are as the one before left them */
      double start = bench_now();
      rivals[i].run(rivals[i].arg);
      double seconds = bench_now() - start;
      if (seconds < rivals[i].best) rivals[i].best = seconds;
    }
}

void bench_print_machine(void) {
  char line[256], model[256] = "unknown processor";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "model name", 10) == 0) {
      char *colon = strchr(line, ':');
      if (colon != NULL) snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
      break;
    }
  if (file != NULL) fclose(file);
  printf("# %s, %ld cores, %s loops, capball %s, %s%s\n", model, sysconf(_SC_NPROCESSORS_ONLN),
         cpb_isa_name(), cpb_version(), __VERSION__, getenv("BENCH_CPU") != NULL ? ", CPU time" : "");
}

size_t bench_cache_bytes(void) {
  long most = 0;
#ifdef _SC_LEVEL4_CACHE_SIZE
  const int levels[] = {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (sysconf(levels[i]) > most) most = sysconf(levels[i]);
#endif
  return (size_t)most;
}

void *bench_memory(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return memory;
}

void bench_release(void *memory, size_t bytes) { munmap(memory, bytes); }
