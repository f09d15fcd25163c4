#ifndef CPB_BASE_MEDIAN_H
#define CPB_BASE_MEDIAN_H

#include <stddef.h>

/* Ascending. */
void cpb_sort_numbers(double *numbers, size_t n);

/* The median of n >= 1 numbers: for even n the mean of the two in the middle. Sorts the numbers. */
double cpb_median(double *numbers, size_t n);

/* Their sum in order, divided by n. */
double cpb_mean(const double *numbers, size_t n);

#endif
