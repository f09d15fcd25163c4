/* Properties of a data set: statistics and covariance, gathered in pieces that can be merged in any order.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_STATISTICS_H
#define CAPBALL_ADVANCED_STATISTICS_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/* Statistics, gathered in pieces that can be merged in any order.
 *
 * Pass 1 gathers counts, column sums and extremes, and a sample; pass 2 the norms about the mean. Sums are
 * exact and rows are sampled by a hash of (seed, row id), so the state is identical to the last bit for any
 * division of the data into pieces, any order of merging and any number of threads.
 *
 *   piece a: new, update ..        all = merge of the pieces        piece a: restart(all), update ..
 *   piece b: new, update ..   ->   begin_norms(all)            ->   piece b: restart(all), update ..   ->   merge
 *   piece c: ..                                                     piece c: .. */

/** What to gather. Start from cpb_statistics_options_init; pieces can be merged only if all options agree, except that
 *  the result has `repeats` if any piece has. */
typedef struct cpb_statistics_options {
  size_t size;     /* sizeof(cpb_statistics_options) */
  size_t d;        /* columns, >= 1 */
  cpb_dtype dtype; /* of the rows: f32, f64, f16, u8 or i8 */
  size_t sample;   /* rows in the sample, at most; default 4096 */
  uint64_t seed;   /* of the sample; default 0 */
  bool repeats; /* equal ids are equal rows, not one row passed twice: ids of cpb_rows_hash; default false */
} cpb_statistics_options;
CPB_API void cpb_statistics_options_init(cpb_statistics_options *options, size_t size);

typedef struct cpb_statistics cpb_statistics;

/** Creates empty *statistics, owned by the caller. Use it from one thread at a time. */
CPB_CALL cpb_status cpb_statistics_new(const cpb_statistics_options *options, cpb_statistics **statistics,
                                       cpb_error *error);
CPB_API void cpb_statistics_free(cpb_statistics *statistics);

/** The options of the statistics. */
CPB_API void cpb_statistics_describe(const cpb_statistics *statistics, cpb_statistics_options *options);

/** Adds rows first_id, first_id+1, .. of the data. Rows with NaN or inf are counted (NaN before inf) and
 *  otherwise skipped, as are, in pass 2, rows whose norm is beyond double. Every row must be added once: ids
 *  identify rows in the sample.
 *  rows    dtype and columns as in the options                         borrowed for the call */
CPB_CALL cpb_status cpb_statistics_update(cpb_statistics *statistics, cpb_view rows, uint64_t first_id,
                                          cpb_error *error);

/** The same for rows with ids ids[0], ids[1], .. */
CPB_CALL cpb_status cpb_statistics_update_ids(cpb_statistics *statistics, cpb_view rows, const uint64_t *ids,
                                              cpb_error *error);

/** Ids for rows that have none: a hash below 2^63 of the numbers of each row. Equal rows have equal ids, so
 *  statistics need `repeats` for them.
 *  ids   rows.rows numbers, caller's */
CPB_CALL cpb_status cpb_rows_hash(cpb_view rows, uint64_t *ids, cpb_error *error);

/** Number of rows skipped so far, NaN and inf together. */
CPB_API uint64_t cpb_statistics_bad_rows(const cpb_statistics *statistics);

/** Adds the rows of `piece` to `whole`; both in pass 1, or both in pass 2 about the same whole. EINVAL names
 *  what does not agree; `whole` is then unchanged.
 *  Without `repeats` a row that was added twice (a piece merged twice, overlapping pieces) gives EINVAL, at the latest
 *  in finish or serialize, in these cases: it is in the sample; ids have no gaps, that is there are at least as many
 *  rows as numbers from the lowest id to the highest; or pass 2 has more rows than pass 1. Other cases are not
 *  detected, which would need all ids to be stored; so prefer ids without gaps. */
CPB_CALL cpb_status cpb_statistics_merge(cpb_statistics *whole, const cpb_statistics *piece,
                                         cpb_error *error);

/** Empties `piece` for more rows of the same whole, in the current pass of `whole`. In pass 1 it will skip
 *  rows that cannot enter the sample of the whole any more, so it must be merged into this whole. */
CPB_CALL cpb_status cpb_statistics_restart(cpb_statistics *piece, const cpb_statistics *whole,
                                           cpb_error *error);

/** Switches from pass 1 to pass 2: from now on updates gather |x - mean|. EINVAL without rows. */
CPB_CALL cpb_status cpb_statistics_begin_norms(cpb_statistics *statistics, cpb_error *error);

/** The results; pointers are views into the statistics. Set its size. */
typedef struct cpb_statistics_result {
  size_t size;                       /* sizeof(cpb_statistics_result) */
  uint64_t rows, nan_rows, inf_rows; /* used; skipped */
  const double *mean, *low, *high;   /* d each; NULL without rows. mean within 1 ulp of the exact mean,
                                        low and high the extremes of each column */
  cpb_view sample;                   /* min(sample, rows) rows, in the order of their hashes */
  const uint64_t *sample_ids;
  bool norms;              /* pass 2 has started */
  uint64_t norm_rows;      /* rows of pass 2 */
  double norm_mean;        /* mean |x-mean|; NaN without rows, as the next three */
  double norm_square_mean; /* mean |x-mean|^2; inf where a square overflows */
  double norm_max;         /* max |x-mean| */
  double norm_median;      /* lower median of |x-mean|, within 2^-13, from a histogram of logarithms */
} cpb_statistics_result;

/** The results so far; more rows can be added afterwards. The views are valid until the next call with these
 *  statistics. EINVAL if a row id was added twice. */
CPB_CALL cpb_status cpb_statistics_finish(cpb_statistics *statistics, cpb_statistics_result *result,
                                          cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBSTATE", version, dtype, d, ..), with a checksum at the
 *  end; free *bytes with cpb_free. */
CPB_CALL cpb_status cpb_statistics_serialize(cpb_statistics *statistics, void **bytes, size_t *count,
                                             cpb_error *error);

/** Reads it back, bit for bit, into new *statistics. Any defect (unknown bytes or version, truncated, corrupt,
 *  impossible numbers) gives EFORMAT with a message.
 *  name  how messages refer to the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_statistics_deserialize(const void *bytes, size_t count, const char *name,
                                               cpb_statistics **statistics, cpb_error *error);

/* Mean and covariance, gathered in pieces that can be merged in any order.
 *
 * The sums of x_i and of x_i x_j over the rows are exact, so one pass is enough for rows at any distance from 0,
 * and state and results are identical to the last bit for any division of the data into pieces, any order of
 * merging and any number of threads.
 *
 *   piece a: new, update ..
 *   piece b: new, update ..   ->   merge   ->   finish                     serialize, deserialize at any point
 *
 * Rows have no ids here: a piece that is merged twice counts twice, which is not detected. */

typedef struct cpb_covariance cpb_covariance;

/** Creates empty *covariance, owned by the caller. Use it from one thread at a time. It needs about 20 d^2
 *  bytes, more for columns with numbers of very different magnitude.
 *  d   columns, 1 .. 16384 */
CPB_CALL cpb_status cpb_covariance_new(size_t d, cpb_covariance **covariance, cpb_error *error);
CPB_API void cpb_covariance_free(cpb_covariance *covariance);

/** Adds rows. Rows with NaN or inf are counted (NaN before inf) and otherwise skipped.
 *  rows   d columns, any dtype                                         borrowed for the call */
CPB_CALL cpb_status cpb_covariance_update(cpb_covariance *covariance, cpb_view rows, const cpb_exec *exec,
                                          cpb_error *error);

/** Adds the rows of `piece` to `whole`. EINVAL if their columns differ; `whole` is then unchanged. */
CPB_CALL cpb_status cpb_covariance_merge(cpb_covariance *whole, const cpb_covariance *piece,
                                         const cpb_exec *exec, cpb_error *error);

/** The results so far; more rows can be added afterwards.
 *  mean     d numbers or NULL: within 1 ulp of the exact mean, identical to that of cpb_statistics_finish
 *  matrix   d*d numbers or NULL: (1/n) sum (x_i-mean_i)(x_j-mean_j) about the exact mean, each within 2 ulp
 *           of the exact value and exactly 0 if that is 0; symmetric
 *  EINVAL: no rows, or an element beyond double (the columns are named). */
CPB_CALL cpb_status cpb_covariance_finish(cpb_covariance *covariance, double *mean, double *matrix,
                                          const cpb_exec *exec, cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCOVAR", version, d, ..), with a checksum at the end; free *bytes
 *  with cpb_free. The same rows give the same bytes, however divided and merged. */
CPB_CALL cpb_status cpb_covariance_serialize(cpb_covariance *covariance, void **bytes, size_t *count,
                                             const cpb_exec *exec, cpb_error *error);

/** Reads it back, bit for bit, into a new *covariance. Any defect gives EFORMAT with a message.
 *  name  how messages refer to the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_covariance_deserialize(const void *bytes, size_t count, const char *name,
                                               cpb_covariance **covariance, cpb_error *error);

/** Arrays for the results of each column: cols numbers each, or NULL. */
typedef struct cpb_column_facts {
  double *mean, *median, *deviation; /* the deviation with 1/n; NaN for a column without finite numbers */
} cpb_column_facts;

/** Mean, median and standard deviation of the finite numbers of every column. The rows are held in memory. */
CPB_CALL cpb_status cpb_columns_fit(cpb_source *rows, const cpb_column_facts *facts, const cpb_exec *exec,
                                    cpb_error *error);

/** How statistics are gathered. Start from cpb_statistics_fit_options_init. */
typedef struct cpb_statistics_fit_options {
  size_t size;
  size_t sample;     /* rows of the sample, at most; default 4096 */
  uint64_t seed;     /* of the sample; default 0 */
  uint64_t first_id; /* number of the first row, if the source is a part of the data; default 0 */
  bool skip_bad;     /* skip rows with NaN or inf; default false */
} cpb_statistics_fit_options;
CPB_API void cpb_statistics_fit_options_init(cpb_statistics_fit_options *options, size_t size);

/** Pass 1 over the source; the caller owns *statistics. 32- and 64-bit integers are gathered as f64. */
CPB_CALL cpb_status cpb_statistics_fit(cpb_source *rows, const cpb_statistics_fit_options *options,
                                       cpb_statistics **statistics, const cpb_exec *exec, cpb_error *error);

/** Pass 2: adds the norms of the source's rows about the mean; starts pass 2 if it has not started. Rows that
 *  pass 1 skipped are skipped. */
CPB_CALL cpb_status cpb_statistics_fit_norms(cpb_statistics *statistics, cpb_source *rows,
                                             const cpb_exec *exec, cpb_error *error);

/** How to measure norms. Start from cpb_norms_fit_options_init. */
typedef struct cpb_norms_fit_options {
  size_t size;
  const double *center; /* d coordinates; NULL = 0 */
  size_t bars;          /* of the histogram, at most 64; 0 (the default): none, and no second pass */
} cpb_norms_fit_options;
CPB_API void cpb_norms_fit_options_init(cpb_norms_fit_options *options, size_t size);

/** The norms |x-c| of all rows except those with NaN or inf. */
typedef struct cpb_norms_report {
  size_t size;
  uint64_t rows;                 /* all */
  uint64_t nan_rows, inf_rows;   /* excluded; inf: or a norm beyond double */
  uint64_t first_bad;            /* the first of them */
  double min, mean, median, max; /* NaN without norms; the median is the lower one */
  bool exact;  /* median and histogram are from the norms themselves (the median within 2^-30), not from bins
                  of relative width 2^-12, which is all that one pass over more than 2^20 rows gives */
  size_t bars; /* as requested, but 1 if all norms are equal */
  double edges[65];    /* bars+1: of equal width, or of equal ratio if max > 20 median */
  uint64_t counts[64]; /* norms with edges[i] <= norm < edges[i+1]; the last bar includes its end */
} cpb_norms_report;

/** Measures the norms; a second pass is made only for bars of more than 2^20 rows, and if the source can be
 *  rewound. Rows with NaN or inf are counted. */
CPB_CALL cpb_status cpb_norms_fit(cpb_source *rows, const cpb_norms_fit_options *options,
                                  cpb_norms_report *report, const cpb_exec *exec, cpb_error *error);

CPB_END
#endif
