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
#ifndef CAPBALL_COVARIANCE_H
#define CAPBALL_COVARIANCE_H

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpb_covariance cpb_covariance;

/** Gives *covariance, without rows, to the caller. One thread at a time may use it. Its memory is about
 *  20 d^2 bytes, more where columns have numbers of very different size.
 *  d   columns, 1 .. 65536 */
CPB_API cpb_status cpb_covariance_new(size_t d, cpb_covariance **covariance, cpb_error *error);
CPB_API void cpb_covariance_free(cpb_covariance *covariance);

/** Takes rows in. Rows with NaN or inf are counted (NaN before inf) and otherwise left out.
 *  rows   d columns, any dtype                                         borrowed for the call */
CPB_API cpb_status cpb_covariance_update(cpb_covariance *covariance, cpb_view rows, const cpb_exec *exec,
                                         cpb_error *error);

CPB_API size_t cpb_covariance_cols(const cpb_covariance *covariance);
/** Rows taken in; rows left out. */
CPB_API uint64_t cpb_covariance_rows(const cpb_covariance *covariance);
CPB_API uint64_t cpb_covariance_bad_rows(const cpb_covariance *covariance);

/** Adds the rows of `piece` to `whole`. EINVAL when their columns do not agree; `whole` is unchanged then. */
CPB_API cpb_status cpb_covariance_merge(cpb_covariance *whole, const cpb_covariance *piece,
                                        const cpb_exec *exec, cpb_error *error);

/** The results for the rows so far; more may come after it.
 *  mean     d numbers or NULL: within 1 ulp of the exact mean, with the bits of cpb_statistics_finish
 *  matrix   d*d numbers or NULL: (1/n) sum (x_i-mean_i)(x_j-mean_j) about the exact mean, each within 2 ulp
 *           of the exact one and exactly 0 where that is 0; symmetric
 *  EINVAL: no rows, or an element beyond double (the columns are named). */
CPB_API cpb_status cpb_covariance_finish(cpb_covariance *covariance, double *mean, double *matrix,
                                         const cpb_exec *exec, cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCOVAR", version, d, ..), with a checksum at its end; gives
 *  *bytes to the caller, who frees them with free(). Equal rows, however cut and merged, are equal bytes. */
CPB_API cpb_status cpb_covariance_serialize(cpb_covariance *covariance, void **bytes, size_t *count,
                                            const cpb_exec *exec, cpb_error *error);

/** Reads it back, bit for bit; gives *covariance. Every fault is EFORMAT with a sentence.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_API cpb_status cpb_covariance_deserialize(const void *bytes, size_t count, const char *name,
                                              cpb_covariance **covariance, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
