#include "norms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 20, COARSE = 43, FINE = 23 };
#define BINS ((uint64_t)1 << BITS)

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double value_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void cli_norms_new(cli_norms *norms) {
  *norms = (cli_norms){.min = INFINITY, .max = 0, .bins = cli_alloc(BINS, sizeof(uint64_t))};
}

void cli_norms_free(cli_norms *norms) { free(norms->bins); }

void cli_norms_add(cli_norms *norms, const double *values, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = bits_of(values[i] + 0.0);
    sum += values[i];
    if (values[i] < norms->min) norms->min = values[i];
    if (values[i] > norms->max) norms->max = values[i];
    if (!norms->refined)
      norms->bins[bits >> COARSE]++;
    else if (bits >> COARSE == norms->prefix)
      norms->bins[bits >> FINE & (BINS - 1)]++;
  }
  norms->sum += sum;
  norms->count += n;
}

uint64_t cli_norms_bin(const cli_norms *norms, uint64_t rank, uint64_t *rank_inside) {
  uint64_t bin = 0;
  for (; bin + 1 < BINS && rank >= norms->bins[bin]; bin++) rank -= norms->bins[bin];
  if (rank_inside != NULL) *rank_inside = rank;
  return bin;
}

double cli_norms_value(const cli_norms *norms, uint64_t bin) {
  int shift = norms->refined ? FINE : COARSE;
  uint64_t low = norms->refined ? (norms->prefix << BITS | bin) : bin;
  double middle = value_of((low << shift) + ((uint64_t)1 << (shift - 1)));
  /* The extremes are known exactly, and a bin may reach past them. */
  return fmin(fmax(middle, norms->min), norms->max);
}

void cli_norms_refine(cli_norms *norms, uint64_t bin) {
  memset(norms->bins, 0, BINS * sizeof *norms->bins);
  norms->refined = true;
  norms->prefix = bin;
  norms->count = 0;
  norms->sum = 0;
}
