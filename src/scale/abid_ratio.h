/* From F = |Y^T Y|_F^2 to ABID. */
#ifndef CPB_SCALE_ABID_RATIO_H
#define CPB_SCALE_ABID_RATIO_H

#include "capball/advanced/abid.h"

/* EINVAL for an unknown kind of pairs, or when n rows have no pair of it. */
cpb_status cpb_check_pairs(size_t n, cpb_pairs pairs, cpb_error *error);

/* n^2/F or n(n-1)/(F-n), T9. */
double cpb_abid_of(double F, size_t n, cpb_pairs pairs);

/* dABID/dlog s from ABID and F' = dF/dlog s. */
double cpb_abid_slope(double abid, double F, double F_slope, size_t n, cpb_pairs pairs);

#endif
