/* Search among the codes of a principal sketch: estimates of |x-q| with bounds.                              T14
 *
 * A row x is approximated by x' = m + s f G^T v, where v are its levels and f one of its factors, and |x-x'| <= s e. The query
 * keeps its real projections G(q-m):
 *
 *   estimate^2 = |x-m|^2 + |q-m|^2 - 2 s f <v, G(q-m)>            for ranking
 *   certain      |x'-q| - s e <= |x-q| <= |x'-q| + s e            never wrong: e is rounded up, with every error of its
 *                                                                 computation
 *   probable     an interval about the estimate that 99.9 % of neighbours were in when the sketch was trained; nothing is proven
 *
 * The normals of a principal sketch are the directions g_i, rows of G, with c0 = 0: orthonormal, or with orthonormal columns
 * if there are more than d. A code has the levels, bits_per bits each from bit i*bits_per, and then the factors |x-m|^2/s^2, f
 * times a power of two, and e, little-endian. Levels are odd integers between -2^bits_per and 2^bits_per.
 *
 * Ranking uses tables of 8 bits or less per four bits of a code; rows that bounds must decide on use double.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ESTIMATOR_H
#define CAPBALL_ADVANCED_ESTIMATOR_H

#include <stdbool.h>

#include "capball/advanced/statistics.h"
#include "capball/search.h"
#include "capball/sketch.h"

CPB_BEGIN

/** Codes prepared for search: copied, in blocks for the scan. */
typedef struct cpb_estimator cpb_estimator;

/** Prepares codes; the caller owns *estimator.
 *  sketch   principal, as EINVAL says otherwise; used by the estimator as long as that exists
 *  codes    u8 rows of code_bytes, of cpb_sketch_encode; copied
 *  EROW: a code whose factors are NaN, negative or inf. */
CPB_CALL cpb_status cpb_estimator_new(const cpb_sketch *sketch, cpb_view codes, cpb_estimator **estimator,
                                      cpb_error *error);
CPB_API void cpb_estimator_free(cpb_estimator *estimator);

/** When a search stops reading rows. Values are fixed. */
typedef enum cpb_bound {
  CPB_BOUND_NONE = 0, /* after a number of candidates */
  CPB_BOUND_CERTAIN =
      1, /* when no other row can be nearer: the hits are those of cpb_knn, value, id and order */
  CPB_BOUND_PROBABLE = 2, /* when no other row is likely to be nearer */
} cpb_bound;

/** How to search. Start from cpb_estimator_options_init. */
typedef struct cpb_estimator_options {
  size_t size;       /* sizeof(cpb_estimator_options) */
  size_t k;          /* neighbours; default 10 */
  size_t candidates; /* without a bound: rows that are read; 0 (the default): 100, or k if that is larger */
  cpb_bound bound;   /* default NONE */
  double confidence; /* for PROBABLE: in [0.5,1), default 0.999 */
  const cpb_store
      *rows; /* the rows that were encoded, read by number; NULL (the default): none are read, and hits
                            are ordered by estimates. Bounds need them */
} cpb_estimator_options;
CPB_API void cpb_estimator_options_init(cpb_estimator_options *options, size_t size);

/** What a search did. Set its size. */
typedef struct cpb_estimator_report {
  size_t size;        /* sizeof(cpb_estimator_report) */
  uint64_t queries;   /* answered */
  uint64_t rows_read; /* for all of them: distances that were computed */
  bool proven;        /* the hits are the k nearest rows, by the certain bound */
} cpb_estimator_report;

/** The k nearest codes of each query.
 *  queries  n >= 0 rows of d, any dtype
 *  hits     n x k, caller's, nearest first, ties by lower id; value is |x-q|, without rows its estimate
 *  report   may be NULL
 *  EINVAL if k is 0 or larger than the number of codes. EROW: a query with NaN or inf, or a row of the store (the error's
 *  argument says which). The same for every instruction set and number of threads. */
CPB_CALL cpb_status cpb_estimator_search(const cpb_estimator *estimator, cpb_view queries,
                                         const cpb_estimator_options *options, cpb_hit *hits,
                                         cpb_estimator_report *report, const cpb_exec *exec,
                                         cpb_error *error);

/** Estimate and bounds of |x-q| for every code, in double.
 *  query     1 row of d
 *  estimate, low, high   as many numbers as codes, caller's, each may be NULL
 *  bound     CERTAIN, or PROBABLE with this confidence; high is that of the certain bound */
CPB_CALL cpb_status cpb_estimator_bounds(const cpb_estimator *estimator, cpb_view query, cpb_bound bound,
                                         double confidence, double *estimate, double *low, double *high,
                                         cpb_error *error);

/** The name of a form of joined codes: "chosen", "principal", "columns", "signs", "turned"; a view, never NULL. */
CPB_API const char *cpb_estimator_form_name(cpb_sketch_form form);

/** The map whose images the hyperplanes divide: centre and scale of the sketch. The caller owns *map. */
CPB_CALL cpb_status cpb_sketch_map(const cpb_sketch *sketch, cpb_map **map, cpb_error *error);

/** Checks that codes and rows belong together, on at most 64 of the rows in `found`, spread over all of them.
 *  codes   u8 rows of code_bytes
 *  rows    the data, d columns, or their images, d+1
 *  EROW names a row with another code; images within the rounding of f16 of a boundary are accepted. */
CPB_CALL cpb_status cpb_sketch_check(const cpb_sketch *sketch, cpb_view codes, const cpb_store *rows,
                                     const cpb_hit *found, size_t count, cpb_error *error);

/** A sketch from gathered statistics, as cpb_sketch_fit, trained on their sample; the options `sample` and
 *  `skip_bad` are ignored. The goals mean, median and hemisphere need pass 2 over all rows. */
CPB_CALL cpb_status cpb_sketch_from_statistics(cpb_statistics *statistics,
                                               const cpb_sketch_fit_options *options, cpb_sketch **sketch,
                                               cpb_sketch_fit_report *report, const cpb_exec *exec,
                                               cpb_error *error);

CPB_END
#endif
