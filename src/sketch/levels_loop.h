/* T14, principal sketches: the loop that chooses the levels of a row. */
#ifndef CPB_SKETCH_LEVELS_LOOP_H
#define CPB_SKETCH_LEVELS_LOOP_H

#include <stddef.h>
#include <stdint.h>

/* Projections are padded with zeros to a multiple of this. */
enum { CPB_LEVELS_LANES = 16 };

static inline size_t cpb_levels_padded(size_t n) {
  return (n + CPB_LEVELS_LANES - 1) / CPB_LEVELS_LANES * CPB_LEVELS_LANES;
}

/* |c|^2 in single precision, <c,v> with the error of a sum of doubles, and |v|^2 exactly. */
typedef struct cpb_levels_chosen {
  double c2, along, v2;
} cpb_levels_chosen;

typedef struct cpb_levels_job {
  const float *c; /* rows of n numbers and zeros */
  size_t rows, n, stride, bits_per;
  uint8_t *codes;
  size_t code_stride;
  cpb_levels_chosen *chosen; /* of each row */
} cpb_levels_job;

/* Chooses the levels v of each row whose direction is nearest to that of c among a few steps, and writes them as bits.
 * Every loop gives the same bits: sums run in sixteen lanes, which are added as a fixed tree. */
typedef void cpb_levels_loop(const cpb_levels_job *job);

cpb_levels_loop *cpb_levels_loop_here(void);

#endif
