/* Every hot loop, listed once. One table per instruction set; all tables give the same bits.
 *
 * That is by construction: sums run in 16 virtual lanes that are added as a fixed tree, nothing is
 * contracted to fused multiply-adds except where the product is exact, and every division and root
 * is the IEEE one. loop_plain.c is the reference; the others are judged by it. */
#ifndef CPB_LOOP_TABLE_H
#define CPB_LOOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "capball/view.h"

enum { CPB_LANES = 16, CPB_CHUNK = 256 };

/* n rows through T1 (pole e), f32 results. `in` is f32, u8, i8 or f16 for embed, f32 for unembed.
 * Strides in elements. in == out (in place) is allowed when both are f32 with the same stride.
 * A row whose numbers leave the range where single-precision factors are safe, or that is not a
 * plain finite (for unembed: unit) row, is not written: careful(context, row) is called instead. */
typedef struct cpb_rows_job {
  size_t n, d;
  const void *in;
  size_t in_stride;
  float *out;
  size_t out_stride;
  double s;
  bool stream; /* the output is large and not read again soon: bypass the cache */
  void (*careful)(void *context, size_t row);
  void *context;
} cpb_rows_job;

typedef void cpb_rows_loop(const cpb_rows_job *job);

typedef struct cpb_loops {
  const char *name;

  /* n elements of the dtype (table index) to double, exactly. */
  void (*widen[5])(const void *from, size_t n, double *to);
  /* n doubles rounded to nearest f32. */
  void (*narrow)(const double *from, size_t n, float *to);

  /* Sums over any n: 16 lanes within chunks of CPB_CHUNK, chunks in order. */
  double (*dot)(const double *x, const double *y, size_t n);
  double (*dist2)(const double *x, const double *y, size_t n); /* sum (x-y)^2 */
  double (*sum2)(const double *x, const double *y, size_t n);  /* sum (x+y)^2 */

  /* z = alpha x + beta y, two products and a sum per element; z may be x or y. */
  void (*axpby)(double alpha, const double *x, double beta, const double *y, double *z, size_t n);

  /* dist2[i] = |x_i-c|^2 of n rows of d elements, with the bits of dist2; by dtype, NULL where rows
   * are widened first. */
  void (*rows_dist2[5])(const void *x, size_t stride, size_t n, size_t d, const double *c, double *dist2);

  cpb_rows_loop *embed[5]; /* by dtype of the input; NULL: no special loop, take the general way */
  cpb_rows_loop *unembed;  /* f32 */
} cpb_loops;

/* The table this machine runs best, or the one CPB_ISA=plain|avx2|avx512 asks for if the machine
 * has it. Look it up once per call, not per row. */
const cpb_loops *cpb_loops_here(void);

/* All tables this machine can run, plain first; for tests and benchmarks. */
size_t cpb_loops_all(const cpb_loops *tables[4]);

#endif
