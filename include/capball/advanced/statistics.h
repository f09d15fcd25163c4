/* What a data set is: statistics and covariance, gathered in pieces that can be merged, anywhere and in any order.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_STATISTICS_H
#define CAPBALL_ADVANCED_STATISTICS_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/* What a data set is, gathered in pieces that can be merged in any order.
 *
 * Pass 1 gathers counts, column sums and extremes, and a sample; pass 2 the norms about the mean. Sums are
 * kept exactly and rows enter the sample by a hash of (seed, row id), so any way of cutting the data into
 * pieces, any order of merging them and any number of threads give the same state to the last bit.
 *
 *   piece a: new, update ..        all = merge of the pieces        piece a: restart(all), update ..
 *   piece b: new, update ..   ->   begin_norms(all)            ->   piece b: restart(all), update ..   ->   merge
 *   piece c: ..                                                     piece c: .. */

/** What is gathered. Start from cpb_statistics_options_init; pieces merge only if all of it agrees, but where ids may
 *  repeat in one piece they may in the whole. */
typedef struct cpb_statistics_options {
  size_t size;     /* sizeof(cpb_statistics_options) */
  size_t d;        /* columns, >= 1 */
  cpb_dtype dtype; /* of the rows: f32, f64, f16, u8 or i8 */
  size_t sample;   /* rows in the sample, at most; default 4096 */
  uint64_t seed;   /* of the sample; default 0 */
  bool repeats; /* equal ids are equal rows, not one row given twice: ids of cpb_rows_hash; default false */
} cpb_statistics_options;

CPB_API void cpb_statistics_options_init(cpb_statistics_options *options, size_t size);

typedef struct cpb_statistics cpb_statistics;

/** Gives *statistics, without rows, to the caller. One thread at a time may use it. */
CPB_CALL cpb_status cpb_statistics_new(const cpb_statistics_options *options, cpb_statistics **statistics,
                                       cpb_error *error);
CPB_API void cpb_statistics_free(cpb_statistics *statistics);

/** What it was made with. */
CPB_API void cpb_statistics_describe(const cpb_statistics *statistics, cpb_statistics_options *options);

/** Takes rows first_id, first_id+1, .. of the data in. Rows with NaN or inf are counted (NaN before inf) and
 *  otherwise left out, as are, in pass 2, rows whose norm is beyond double. Every row once: ids tell
 *  rows apart in the sample.
 *  rows    dtype and columns as in the options                         borrowed for the call */
CPB_CALL cpb_status cpb_statistics_update(cpb_statistics *statistics, cpb_view rows, uint64_t first_id,
                                          cpb_error *error);

/** The same for rows whose ids are ids[0], ids[1], ..: one call for a block of rows from anywhere. */
CPB_CALL cpb_status cpb_statistics_update_ids(cpb_statistics *statistics, cpb_view rows, const uint64_t *ids,
                                              cpb_error *error);

/** Ids for rows that have none: a hash below 2^63 of the numbers of each row, the same wherever it lies. Rows of equal bits
 *  have equal ids, so that statistics take them with `repeats`.
 *  ids   rows.rows numbers, caller's */
CPB_CALL cpb_status cpb_rows_hash(cpb_view rows, uint64_t *ids, cpb_error *error);

/** Rows left out so far, NaN and inf together. */
CPB_API uint64_t cpb_statistics_bad_rows(const cpb_statistics *statistics);

/** Adds the rows of `piece` to `whole`; both of pass 1, or both of pass 2 about the same whole. EINVAL names
 *  what does not agree; `whole` is unchanged then.
 *  Without `repeats` a row that was given twice (a piece merged twice, pieces that overlap) is EINVAL, at the latest by finish or
 *  serialize, in these cases: it is in the sample; or ids have no gaps, that is there are at least as many rows
 *  as numbers from the lowest id to the highest; or pass 2 has more rows than pass 1. Otherwise
 *  nothing tells: no state smaller than the ids themselves could, so ids without gaps are the better ones. */
CPB_CALL cpb_status cpb_statistics_merge(cpb_statistics *whole, const cpb_statistics *piece,
                                         cpb_error *error);

/** Empties `piece` for more rows of the same whole, in the pass `whole` is in. In pass 1 it will not
 *  keep rows that cannot reach the whole's sample any more: it is to be merged into this whole. */
CPB_CALL cpb_status cpb_statistics_restart(cpb_statistics *piece, const cpb_statistics *whole,
                                           cpb_error *error);

/** Turns from pass 1 to pass 2: from now on updates gather |x - mean|. EINVAL without rows. */
CPB_CALL cpb_status cpb_statistics_begin_norms(cpb_statistics *statistics, cpb_error *error);

/** The results; pointers are views into the statistics. Set its size. */
typedef struct cpb_statistics_result {
  size_t size;                       /* sizeof(cpb_statistics_result) */
  uint64_t rows, nan_rows, inf_rows; /* taken; left out */
  const double *mean, *low, *high;   /* d each; NULL without rows. mean within 1 ulp of the exact one,
                                        low and high the extremes of each column */
  cpb_view sample;                   /* min(sample, rows) rows, in the order of their hashes */
  const uint64_t *sample_ids;
  bool norms;              /* pass 2 has begun */
  uint64_t norm_rows;      /* rows seen by pass 2 */
  double norm_mean;        /* mean |x-mean|; NaN without rows, as the next three */
  double norm_square_mean; /* mean |x-mean|^2; inf where a square overflows */
  double norm_max;         /* max |x-mean| */
  double norm_median;      /* within 2^-13 of the lower middle |x-mean|, from a histogram of logarithms */
} cpb_statistics_result;

/** Tells what was gathered so far; more may come after it. The views are valid until the next call with these
 *  statistics. EINVAL when a row id was given twice. */
CPB_CALL cpb_status cpb_statistics_finish(cpb_statistics *statistics, cpb_statistics_result *result,
                                          cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBSTATE", version, dtype, d, ..), with a checksum at its
 *  end; gives *bytes to the caller, who takes them to cpb_free. */
CPB_CALL cpb_status cpb_statistics_serialize(cpb_statistics *statistics, void **bytes, size_t *count,
                                             cpb_error *error);

/** Reads it back, bit for bit; gives *statistics. Every fault (foreign bytes or version, truncated, damaged,
 *  numbers that cannot be) is EFORMAT with a sentence.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_statistics_deserialize(const void *bytes, size_t count, const char *name,
                                               cpb_statistics **statistics, cpb_error *error);

/* Mean and covariance of rows, gathered in pieces that can be merged in any order.
 *
 * The sums of x_i and of x_i x_j over the rows are kept without rounding, so that one pass is enough however
 * far the rows lie from 0, and any way of cutting the data into pieces, any order of merging them and any
 * number of threads give the same state and the same results to the last bit.
 *
 *   piece a: new, update ..
 *   piece b: new, update ..   ->   merge   ->   finish                     serialize, deserialize at any point
 *
 * Rows have no ids here: a piece that is merged twice counts twice, and nothing tells. */

typedef struct cpb_covariance cpb_covariance;

/** Gives *covariance, without rows, to the caller. One thread at a time may use it. Its memory is about
 *  20 d^2 bytes, more where columns have numbers of very different size.
 *  d   columns, 1 .. 16384 */
CPB_CALL cpb_status cpb_covariance_new(size_t d, cpb_covariance **covariance, cpb_error *error);
CPB_API void cpb_covariance_free(cpb_covariance *covariance);

/** Takes rows in. Rows with NaN or inf are counted (NaN before inf) and otherwise left out.
 *  rows   d columns, any dtype                                         borrowed for the call */
CPB_CALL cpb_status cpb_covariance_update(cpb_covariance *covariance, cpb_view rows, const cpb_exec *exec,
                                          cpb_error *error);

/** Adds the rows of `piece` to `whole`. EINVAL when their columns do not agree; `whole` is unchanged then. */
CPB_CALL cpb_status cpb_covariance_merge(cpb_covariance *whole, const cpb_covariance *piece,
                                         const cpb_exec *exec, cpb_error *error);

/** The results for the rows so far; more may come after it.
 *  mean     d numbers or NULL: within 1 ulp of the exact mean, with the bits of cpb_statistics_finish
 *  matrix   d*d numbers or NULL: (1/n) sum (x_i-mean_i)(x_j-mean_j) about the exact mean, each within 2 ulp
 *           of the exact one and exactly 0 where that is 0; symmetric
 *  EINVAL: no rows, or an element beyond double (the columns are named). */
CPB_CALL cpb_status cpb_covariance_finish(cpb_covariance *covariance, double *mean, double *matrix,
                                          const cpb_exec *exec, cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCOVAR", version, d, ..), with a checksum at its end; gives
 *  *bytes to the caller, who frees them with free(). Equal rows, however cut and merged, are equal bytes. */
CPB_CALL cpb_status cpb_covariance_serialize(cpb_covariance *covariance, void **bytes, size_t *count,
                                             const cpb_exec *exec, cpb_error *error);

/** Reads it back, bit for bit; gives *covariance. Every fault is EFORMAT with a sentence.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_covariance_deserialize(const void *bytes, size_t count, const char *name,
                                               cpb_covariance **covariance, cpb_error *error);

CPB_END
#endif
