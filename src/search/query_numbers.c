#include "search/query_numbers.h"

#include <stdlib.h>

#include "batch/ruler.h"

/* q/|q|, which takes the place of q under COSINE. */
static void take_direction(double *q, size_t d, const cpb_asked *asked, cpb_wide length) {
  if (asked->unit == 1)
    for (size_t k = 0; k < d; k++) q[k] /= asked->length;
  else
    for (size_t k = 0; k < d; k++) q[k] = cpb_wide_ratio(cpb_wide_of(q[k], 0), length);
}

/* |q|, where it is used. */
static int take_length(cpb_metric metric, const cpb_ruler *ruler, size_t query, double *q, cpb_asked *asked) {
  enum { USUAL = 460, MOST = 1000 }; /* exponents of lengths whose squares are doubles, and of units */
  cpb_wide length;
  asked->length = asked->unit = 1;
  int fault = cpb_ruler_wide_length(ruler, query, &length);
  if (fault != 0 || metric == CPB_L2) return fault;
  if (length.m == 0) return metric == CPB_COSINE ? CPB_FAULT_ZERO : 0;
  int exponent = length.e < -MOST ? -MOST : length.e > MOST ? MOST : abs(length.e) < USUAL ? 0 : length.e;
  asked->unit = ldexp(1, -exponent);
  asked->length = ldexp(length.m, length.e - exponent);
  if (metric == CPB_IP) return 0;
  take_direction(q, ruler->x.cols, asked, length);
  asked->length = asked->unit = 1;
  return 0;
}

cpb_status cpb_asked_take(cpb_metric metric, cpb_view queries, double *q, cpb_asked *asked,
                          cpb_error *error) {
  size_t d = queries.cols;
  cpb_ruler ruler = {.loops = cpb_loops_here(), .x = queries, .sign = 1};
  cpb_first_fault first;
  cpb_first_fault_init(&first);
  for (size_t i = 0; i < queries.rows; i++) {
    const char *row = (const char *)queries.data + i * queries.stride * cpb_dtype_size(queries.dtype);
    ruler.loops->widen[queries.dtype](row, d, q + i * d);
    int fault = take_length(metric, &ruler, i, q + i * d, &asked[i]);
    if (fault != 0) cpb_first_fault_meet(&first, i, (cpb_fault)fault);
  }
  return cpb_first_fault_report(&first, "query", error);
}

double cpb_asked_reach(const cpb_asked *asked, const double *q, const double *center, size_t d) {
  return cpb_screen_reach(q, center, d) * asked->unit / asked->length;
}
