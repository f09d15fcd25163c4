/* Distances from embedded rows, audits of the results of an engine, transforms for longer rows.        T13
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_CANDIDATES_H
#define CAPBALL_ADVANCED_CANDIDATES_H

#include "capball/advanced/estimator.h"
#include "capball/advanced/feed.h"
#include "capball/query.h"

CPB_BEGIN

/** |x_i-q| from embedded rows only: |x-q|^2 = s^2 |y-S(q)|^2/((1+y0)(1+q0)), in double.        T8 T13
 *  query      1 row of d, any dtype
 *  rows       n rows of d+1, any dtype, of unit length                 borrowed for the call
 *  distances  n numbers; inf for -e, the image of infinity
 *  EROW: a row with NaN, or a query with NaN or inf. Thread-safe. */
CPB_CALL cpb_status cpb_query_distances(const cpb_map *map, cpb_view query, cpb_view rows, double *distances,
                                        cpb_error *error);

/** The result of a random audit. */
typedef struct cpb_audit {
  size_t size;      /* sizeof(cpb_audit) */
  size_t queries;   /* audited, chosen by a hash of their number */
  uint64_t rows;    /* that each of them was compared with: all rows */
  double recall;    /* fraction of their true k nearest in the results */
  double low, high; /* 95 % confidence interval of the recall over all queries (Wilson's interval; the sample
                       is of queries, as the neighbours of one query are not independent) */
} cpb_audit;

/** What to audit. Start from cpb_audit_options_init. */
typedef struct cpb_audit_options {
  size_t size;
  size_t k;      /* results per query; default 10 */
  size_t most;   /* number of queries to audit, at most; default 100 */
  uint64_t seed; /* of their selection */
} cpb_audit_options;
CPB_API void cpb_audit_options_init(cpb_audit_options *options, size_t size);

/** How many of the true k nearest an approximate engine found: some queries are compared with all rows.
 *  queries, hits   n rows and n x k results of cpb_transform_rescore
 *  all             all embedded rows
 *  Rows whose distance equals the k-th within one millionth count as found.                             T13 */
CPB_CALL cpb_status cpb_transform_audit(const cpb_transform *transform, cpb_view queries, const cpb_hit *hits,
                                        cpb_source *all, const cpb_audit_options *options, cpb_audit *audit,
                                        const cpb_exec *exec, cpb_error *error);

/** Checks that all rows are the images of the data under a transform (sphere, lift-ip or lift-cosine).              T13
 *  base       the data, d columns; embedded   the same number of rows of cpb_transform_cols
 *  precision  the finest of f64, f32, f16 whose rounding explains every row: a value for cpb_rescore_options
 *  EROW names the first row farther from its image than f16 explains. ESHAPE if the numbers of rows differ. */
CPB_CALL cpb_status cpb_transform_verify(const cpb_transform *transform, cpb_source *base,
                                         cpb_source *embedded, cpb_dtype *precision, const cpb_exec *exec,
                                         cpb_error *error);

/** The same transform for rows `factor` >= 1 times as long about the centre: L is multiplied by it. A transform
 *  that accepts rows of any length is copied. The caller owns *grown.                                    T13 */
CPB_CALL cpb_status cpb_transform_grow(const cpb_transform *transform, double factor, cpb_transform **grown,
                                       cpb_error *error);

CPB_END
#endif
