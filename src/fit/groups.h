/* Rows in groups of rows that are near each other: k-means. */
#ifndef CPB_FIT_GROUPS_H
#define CPB_FIT_GROUPS_H

#include "capball/exec.h"
#include "capball/status.h"
#include "capball/view.h"

/* Puts each of n rows of d into one of `groups` groups: k-means++ seeds (several tries for each), then Lloyd's steps until
 * no row changes its group, 100 at most; of 8 starts the one with the least sum of squared distances. A group may end
 * empty.
 *  x       n * d finite numbers
 *  weights n numbers >= 0: 2 is a row that is there twice; NULL: all 1
 *  group   n numbers, 0 .. groups-1
 * The same bits for any number of threads. */
cpb_status cpb_groups(const double *x, const double *weights, size_t n, size_t d, size_t groups,
                      uint64_t seed, size_t *group, const cpb_exec *exec, cpb_error *error);

#endif
