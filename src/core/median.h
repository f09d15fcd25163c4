/* The usual median. */
#ifndef CPB_CORE_MEDIAN_H
#define CPB_CORE_MEDIAN_H

#include <stddef.h>

/* The middle of n >= 1 numbers, of an even number the mean of the two in the middle. Leaves them in order. */
double cpb_median(double *numbers, size_t n);

#endif
