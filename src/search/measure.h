/* Inline: the value of a row for a query; shared by search and re-ranking, so that both return the same number. */
#ifndef CPB_SEARCH_MEASURE_H
#define CPB_SEARCH_MEASURE_H

#include "loops/ruler.h"
#include "capball/search.h"

/* Stores the value of rows[row] in *value and returns 0, or returns the fault of the row. q: rows.cols doubles, of unit
 * length under COSINE; zero: as many zeros. A value beyond the largest double is inf, which is not a fault. */
static inline int cpb_measure(const cpb_loops *loops, cpb_metric metric, cpb_view rows, size_t row,
                              const double *q, const double *zero, double *value) {
  cpb_ruler ruler = {.loops = loops, .x = rows, .sign = 1, .c = metric == CPB_L2 ? q : zero};
  bool below;
  int fault = metric == CPB_L2   ? cpb_ruler_length(&ruler, row, value)
              : metric == CPB_IP ? cpb_ruler_product(&ruler, q, row, value, &below)
                                 : cpb_ruler_cosine(&ruler, q, row, value);
  if (metric == CPB_COSINE) *value = fmax(-1, fmin(1, *value));
  return fault == CPB_FAULT_RANGE ? 0 : fault;
}

#endif
