#include "base/median.h"

#include <stdlib.h>

static int rising(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void cpb_sort_numbers(double *numbers, size_t n) { qsort(numbers, n, sizeof *numbers, rising); }

/* Halves each number first: the sum of two large numbers may overflow. */
double cpb_median(double *numbers, size_t n) {
  cpb_sort_numbers(numbers, n);
  double low = numbers[(n - 1) / 2], high = numbers[n / 2];
  return low == high ? low : low / 2 + high / 2;
}

double cpb_mean(const double *numbers, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += numbers[i];
  return sum / (double)n;
}
