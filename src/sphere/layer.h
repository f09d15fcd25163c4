/* T12: loops over rows of one type, compiled for every instruction set. All give the same bits. */
#ifndef CPB_SPHERE_LAYER_H
#define CPB_SPHERE_LAYER_H

#include "loops/table.h"

/* The end of a row that is written with non-temporal stores: it is kept until the next row completes its vector; otherwise
 * the last bytes are stored at `out`. */
typedef struct cpb_layer_carry {
  _Alignas(64) char last[64];
  char *out;
  size_t bytes;
} cpb_layer_carry;

/* Rows of T12, all f32 (0) or all f64 (1): one is written while the next of its range is summed, so that reads and
 * writes overlap. */
typedef struct cpb_layer_line {
  const void *row, *g;
  void *out; /* NULL: nothing is written */
  double toward_g, toward_row, last;
  bool has_last;                 /* also writes `last` */
  const void *next_row, *next_g; /* NULL: nothing is summed */
  double sums[3];                /* <row,row>, <row,g>, <g,g> of the next, with the bits of dot */
  /* converted numbers of the row and, CPB_LAYER_KEPT elements later, of its g, which those of the next replace; CPB_LANES
   * elements after them are written */
  double *kept;
  /* non-temporal stores: the end of the row before, which ends where this one begins, or nothing; NULL: ordinary stores */
  cpb_layer_carry *carry;
} cpb_layer_line;

/* out = toward_g g + toward_row row with the bits of axpby, rounded to the type. All lines are written, or none; all are
 * summed, or none; all have a last number, or none. */
typedef void cpb_layer_loop(cpb_layer_line *lines, size_t count, size_t d);

enum { CPB_LAYER_KEPT = 256 };

typedef struct cpb_layer_loops {
  cpb_layer_loop *real[2];
  /* The same for f32 rows of at most CPB_LAYER_KEPT numbers, which are converted once: `kept` is read, row and g are not.
   * NULL: not worth it. */
  cpb_layer_loop *kept;
  void (*fence)(void); /* after non-temporal stores */
} cpb_layer_loops;

/* Those of the instruction set of a table; NULL: none. */
const cpb_layer_loops *cpb_layer_loops_of(const cpb_loops *loops);
extern const cpb_layer_loops cpb_layer_v128, cpb_layer_avx2, cpb_layer_avx512;

#endif
