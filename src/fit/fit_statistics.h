/* Mergeable statistics of a source, gathered by all threads: one piece per block; the merged result does not
 * depend on the order. */
#ifndef CPB_FIT_STATISTICS_H
#define CPB_FIT_STATISTICS_H

#include "capball/advanced/fitting.h"
#include "fit/passes.h"

/* Pass 1 as part of a longer fit; sets *statistics, and the results so far. EINVAL when no row is left. */
cpb_status cpb_gather_columns(cpb_passes *passes, const cpb_statistics_fit_options *options,
                              cpb_statistics **statistics, cpb_statistics_result *facts, cpb_error *error);

/* Pass 2. */
cpb_status cpb_gather_norms(cpb_passes *passes, cpb_statistics *statistics, cpb_statistics_result *facts,
                            cpb_error *error);

/* EINVAL when statistics hold no row; else their results. */
cpb_status cpb_gathered(cpb_statistics *statistics, cpb_statistics_result *facts, cpb_error *error);

/* EINVAL if a goal needs the norms of all rows, and some are missing. */
cpb_status cpb_check_norms(const cpb_statistics_result *facts, cpb_goal goal, cpb_error *error);

#endif
