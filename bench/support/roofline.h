/* The fastest copy this machine has: non-temporal stores, four interleaved streams per thread. It is the roofline of
 * everything that reads its input once and writes its output once, and reads and writes as many bytes as that does:
 * memory gives what is read and takes what is written at different speeds. */
#ifndef CPB_BENCH_ROOFLINE_H
#define CPB_BENCH_ROOFLINE_H

#include <stddef.h>

#include "capball/exec.h"

typedef struct roofline_copy {
  const void *from; /* aligned to 64, like `to` */
  void *to;
  size_t read,
      written; /* bytes; of more that are read the bits are joined, of fewer lines are written again */
  const cpb_exec *exec;
} roofline_copy;

/* Copies, both numbers rounded down to whole lines; a bench_rival's run. */
void roofline_run(void *roofline);

#endif
