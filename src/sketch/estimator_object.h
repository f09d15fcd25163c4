/* T14: codes of principal sketches in blocks, queries in tables, and what both say about distances. Lengths are in units of
 * the sketch's s. */
#ifndef CPB_SKETCH_ESTIMATOR_OBJECT_H
#define CPB_SKETCH_ESTIMATOR_OBJECT_H

#include "capball/advanced/estimator.h"
#include "core/best.h"
#include "core/memory.h"
#include "sketch/sketch_loops.h"
#include "sketch/sketch_object.h"

struct cpb_estimator {
  const cpb_sketch *sketch;
  size_t rows, blocks;
  size_t n, bytes; /* directions; bytes of the bits of a code */
  uint8_t *codes;  /* in the layout of the scan; the rest of the last block is 0 .. */
  float *factors;  /* .. and has the estimate FLT_MAX */
  float *error;    /* e of each row */
  float *v2;       /* |v|^2 of each row, exact */
  cpb_memory memory;
};

/* A query, w = (q-m)/s. */
typedef struct cpb_estimator_query {
  double *along; /* n: G w */
  double size2;  /* |w|^2 */
  double beside; /* |w|^2 - |G w|^2 >= 0, outside of the directions */
  bool far;      /* so far away that estimates say nothing: all rows are at the distance |w| */
  uint8_t *tables;
  float scale, start;
  double doubt; /* the tables' error of <v, G w>, at most */
} cpb_estimator_query;

/* The query in a row of a view: w, d doubles. 0 or a fault. */
int cpb_estimator_place(cpb_estimator_query *asked, const cpb_estimator *e, cpb_view queries, size_t row,
                        double *w);
/* Prepares queries that have been placed; their along and tables have been allocated (n doubles, 32 bytes per byte of a
 * code). w: count x d */
void cpb_estimator_ask(cpb_estimator_query *asked, size_t count, const cpb_estimator *e, const double *w,
                       const cpb_exec *exec);

/* The k smallest estimates of each query, sorted; count queries, entries count x k. False if out of memory. */
bool cpb_estimator_nearest(const cpb_estimator *e, const cpb_estimator_query *asked, size_t count, size_t k,
                           cpb_ranked *entries, const cpb_exec *exec);

/* The estimates of all rows from the tables: without |w|^2, squared. */
void cpb_estimator_all(const cpb_estimator *e, const cpb_estimator_query *asked, float *estimates);

/* What is known about |z-w|. */
typedef struct cpb_known {
  double estimate; /* squared, may be negative */
  double low, high;
} cpb_known;

/* From <v, G w>, of which `doubt` may be wrong. share: 1 for the certain bound, else the part of the error bound that errors
 * are likely to take. */
cpb_known cpb_estimator_known(const cpb_estimator *e, const cpb_estimator_query *asked, size_t row,
                              double along, double doubt, double share);

/* <v, G w> in double. */
double cpb_estimator_along(const cpb_estimator *e, const cpb_estimator_query *asked, size_t row);

/* The same from an estimate of cpb_estimator_all, with its error. */
cpb_known cpb_estimator_guess(const cpb_estimator *e, const cpb_estimator_query *asked, size_t row,
                              float estimate, double share);

#endif
