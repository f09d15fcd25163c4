/* Squared distances of rows to a centre, for rows of any dtype and any size. */
#ifndef CPB_LOOPS_DISTANCES_H
#define CPB_LOOPS_DISTANCES_H

#include "loops/chunk.h"

/* dist2[i] = |2^-exponent x_(first+i) - c|^2; an exponent is for data whose squares leave the range of double. */
void cpb_dist2_of_rows(const cpb_loops *loops, cpb_view x, int exponent, size_t first, size_t count,
                       const double *c, double *dist2);

/* row = 2^-exponent x_i */
void cpb_scaled_row(const cpb_loops *loops, cpb_view x, int exponent, size_t i, double *row);

/* The double nearest to x that is also a double in the unit of the data. */
double cpb_in_data_unit(double x, int exponent);

/* x 2^-exponent where 2^-exponent itself may overflow. */
double cpb_scaled(double x, int exponent);

/* row = 2^-exponent x_i - c; c NULL = 0 */
void cpb_row_about(const cpb_loops *loops, cpb_view x, int exponent, size_t i, const double *c, double *row);

/* sum += weight (x_i - c); c NULL = 0. Inline: most rows are short. */
static inline void cpb_add_row(const cpb_loops *loops, cpb_view x, size_t i, double weight, const double *c,
                               double *sum) {
  double buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    const double *chunk = cpb_row_chunk(loops, x, i, offset, count, buffer);
    if (c == NULL)
      for (size_t j = 0; j < count; j++) sum[offset + j] += weight * chunk[j];
    else
      for (size_t j = 0; j < count; j++) sum[offset + j] += weight * (chunk[j] - c[offset + j]);
  }
}

/* center = origin + point, d doubles that are also doubles in the unit of the data. */
void cpb_set_center(const double *origin, const double *point, int exponent, size_t d, double *center);

/* A lower bound x 2^exponent, rounded down where it is subnormal; NaN on overflow. */
double cpb_lower_in_unit(double x, int exponent);

#endif
