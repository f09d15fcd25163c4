/* What a data set is, gathered in pieces that can be merged in any order.
 *
 * Pass 1 gathers counts, column sums and extremes, and a sample; pass 2 the norms about the mean. Sums are
 * kept exactly and rows enter the sample by a hash of (seed, row id), so any way of cutting the data into
 * pieces, any order of merging them and any number of threads give the same state to the last bit.
 *
 *   piece a: new, update ..          all = merge of the pieces      piece a: restart(all), update ..
 *   piece b: new, update ..    ->    begin_norms(all)         ->    piece b: restart(all), update ..   ->
 * merge */
#ifndef CAPBALL_STATISTICS_H
#define CAPBALL_STATISTICS_H

#include <stdbool.h>

#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is gathered. Start from cpb_statistics_options_default(); pieces merge only if all of it agrees. */
typedef struct cpb_statistics_options {
  size_t size;     /* sizeof(cpb_statistics_options) */
  size_t d;        /* columns, >= 1 */
  cpb_dtype dtype; /* of the rows: f32, f64, f16, u8 or i8 */
  size_t sample;   /* rows in the sample, at most; default 4096 */
  uint64_t seed;   /* of the sample; default 0 */
} cpb_statistics_options;

CPB_API cpb_statistics_options cpb_statistics_options_default(void);

typedef struct cpb_statistics cpb_statistics;

/** Gives *statistics, without rows, to the caller. One thread at a time may use it. */
CPB_API cpb_status cpb_statistics_new(const cpb_statistics_options *options, cpb_statistics **statistics,
                                      cpb_error *error);
CPB_API void cpb_statistics_free(cpb_statistics *statistics);

/** What it was made with. */
CPB_API cpb_statistics_options cpb_statistics_describe(const cpb_statistics *statistics);

/** Takes rows first_id, first_id+1, .. of the data in. Rows with NaN or inf are counted (NaN before inf) and
 *  otherwise left out, as are, in pass 2, rows whose norm is beyond double. Every row once: ids tell
 *  rows apart in the sample.
 *  rows    dtype and columns as in the options                         borrowed for the call */
CPB_API cpb_status cpb_statistics_update(cpb_statistics *statistics, cpb_view rows, uint64_t first_id,
                                         cpb_error *error);

/** Rows left out so far, NaN and inf together. */
CPB_API uint64_t cpb_statistics_bad_rows(const cpb_statistics *statistics);

/** Adds the rows of `piece` to `whole`; both of pass 1, or both of pass 2 about the same whole. EINVAL names
 *  what does not agree; `whole` is unchanged then. Pieces that overlap are EINVAL when the sample is next
 *  put in order, at the latest by finish or serialize. */
CPB_API cpb_status cpb_statistics_merge(cpb_statistics *whole, cpb_statistics *piece, cpb_error *error);

/** Empties `piece` for more rows of the same whole, in the pass `whole` is in. In pass 1 it will not
 *  keep rows that cannot reach the whole's sample any more: it is to be merged into this whole. */
CPB_API cpb_status cpb_statistics_restart(cpb_statistics *piece, cpb_statistics *whole, cpb_error *error);

/** Turns from pass 1 to pass 2: from now on updates gather |x - mean|. EINVAL without rows. */
CPB_API cpb_status cpb_statistics_begin_norms(cpb_statistics *statistics, cpb_error *error);

/** The results; pointers are views into the statistics. */
typedef struct cpb_statistics_result {
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
CPB_API cpb_status cpb_statistics_finish(cpb_statistics *statistics, cpb_statistics_result *result,
                                         cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBSTATE", version, dtype, d, ..), with a checksum at its
 *  end; gives *bytes to the caller, who frees them with free(). */
CPB_API cpb_status cpb_statistics_serialize(cpb_statistics *statistics, void **bytes, size_t *count,
                                            cpb_error *error);

/** Reads it back, bit for bit; gives *statistics. Every fault (foreign bytes or version, truncated, damaged,
 *  numbers that cannot be) is EFORMAT with a sentence.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_API cpb_status cpb_statistics_deserialize(const void *bytes, size_t count, const char *name,
                                              cpb_statistics **statistics, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
