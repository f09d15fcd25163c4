/* Mergeable statistics of a source. */
#ifndef CPB_STATISTICS_STATISTICS_FIT_H
#define CPB_STATISTICS_STATISTICS_FIT_H

#include "capball/advanced/statistics.h"
#include "statistics/passes.h"

/* Mergeable statistics of a source, gathered by all threads: one piece per block; the merged result does not
 * depend on the order. */

/* Pass 1 over the rows, the same and pass 2, or pass 1 over the rows divided by their norms. */
typedef enum cpb_gathering { CPB_GATHER_COLUMNS, CPB_GATHER_NORMS, CPB_GATHER_DIRECTIONS } cpb_gathering;

/* As part of a longer fit; sets *statistics, and the results so far. EINVAL when no row is left. */
cpb_status cpb_gather(cpb_passes *passes, const cpb_statistics_fit_options *options, cpb_gathering what,
                      cpb_statistics **statistics, cpb_statistics_result *facts, cpb_error *error);

/* EINVAL when statistics hold no row; else their results. */
cpb_status cpb_gathered(cpb_statistics *statistics, cpb_statistics_result *facts, cpb_error *error);

#endif
