/* The fastest copy this machine has: non-temporal stores, four interleaved streams per thread. It is
 * the roofline of everything that reads its input once and writes its output once. */
#ifndef CPB_BENCH_ROOFLINE_H
#define CPB_BENCH_ROOFLINE_H

#include <stddef.h>

#include "capball/exec.h"

typedef struct roofline_copy {
  const void *from; /* aligned to 64 */
  void *to;
  size_t bytes;
  const cpb_exec *exec;
} roofline_copy;

/* Copies roofline->bytes, rounded down to whole lines; a bench_rival's run. */
void roofline_run(void *roofline);

#endif
