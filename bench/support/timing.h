/* Timing for shared, noisy machines: rivals take turns, and each keeps its best round. */
#ifndef CPB_BENCH_TIMING_H
#define CPB_BENCH_TIMING_H

#include <stddef.h>

typedef struct bench_rival {
  const char *name;
  void (*run)(void *arg);
  void *arg;
  double best; /* seconds, filled by bench_rounds */
} bench_rival;

/* Seconds on the wall. With BENCH_CPU in the environment those that this process had of the processors, which is
 * all that can be compared on a machine others work on. */
double bench_now(void);

/* `rounds` rounds; in each, every rival runs once, and each round begins with the next one. */
void bench_rounds(bench_rival *rivals, size_t count, int rounds);

/* One line: processor, cores, instruction set, compiler. */
void bench_print_machine(void);

/* Of the largest cache of this machine, 0 where the system does not say. */
size_t bench_cache_bytes(void);

/* Zeroed memory on huge pages where the system has them, touched; exits when there is none. */
void *bench_memory(size_t bytes);
void bench_release(void *memory, size_t bytes);

#endif
