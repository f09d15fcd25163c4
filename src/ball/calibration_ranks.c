#include "ball/calibration_ranks.h"

#include <math.h>

uint64_t cpb_calibration_next(uint64_t rank, uint64_t n) {
  enum { EXACT = 200 };
  const double STEP = 1.005;
  uint64_t next = rank < EXACT ? rank + 1 : (uint64_t)ceil((double)rank * STEP);
  return rank < n && next > n ? n : next;
}

size_t cpb_calibration_count(uint64_t n) {
  size_t count = 0;
  for (uint64_t rank = 1; rank <= n; rank = cpb_calibration_next(rank, n)) count++;
  return count;
}

double cpb_calibration_p(const double *stored, uint64_t n, double score) {
  uint64_t rank = 1;
  if (isnan(score)) return NAN;
  for (size_t k = 0; rank <= n && !(stored[k] > score); k++) rank = cpb_calibration_next(rank, n);
  return (double)(rank <= n ? rank : n + 1) / (double)(n + 1);
}
