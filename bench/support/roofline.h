/* The fastest copy this machine has: non-temporal stores, four interleaved streams per thread. It is
 * the roofline of everything that reads its input once and writes its output once. With a second source, what
 * reads two inputs meets: both are read, and their bits are joined. */
#ifndef CPB_BENCH_ROOFLINE_H
#define CPB_BENCH_ROOFLINE_H

#include <stddef.h>

#include "capball/exec.h"

typedef struct roofline_copy {
  const void *from; /* aligned to 64 */
  void *to;
  size_t bytes;
  const cpb_exec *exec;
  const void *also; /* the second source, or NULL */
} roofline_copy;

/* Copies roofline->bytes, rounded down to whole lines; a bench_rival's run. */
void roofline_run(void *roofline);

#endif
