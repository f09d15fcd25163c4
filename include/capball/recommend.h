/* What to do to rows before they go into an index: every transform measured on a sample of the data.     T13
 *
 *   transform     none (raw rows by cosine), normalize (centre + normalise), sphere (S at the scale of the
 *                 largest spread, and at 1, 2, 4, 8 times the mean norm, about the mean), and the exact lifts
 *                 lift-ip (by inner product) and lift-cosine
 *   index         float (f32 rows, all of them compared: the ceiling of any float index), int8 (coordinates
 *                 times 127/max|coordinate|, rounded, rows and queries each by one factor), bits (signs of
 *                 the coordinates, compared by Hamming distance)
 *   query form    point (the transformed query) and, on the sphere, ball: the centre p(q,r) of the cap of
 *                 the ball (q,r), r the median distance of the k-th neighbours
 * Each combination is one row: how many of the true k nearest neighbours by L2 it finds, and how many of its
 * first candidates must be re-ranked to find 99 % of them. */
#ifndef CAPBALL_RECOMMEND_H
#define CAPBALL_RECOMMEND_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an index stores. Pinned, append only. */
typedef enum cpb_engine {
  CPB_ENGINE_FLOAT = 0,
  CPB_ENGINE_INT8 = 1,
  CPB_ENGINE_BITS = 2,
} cpb_engine;
enum { CPB_ENGINES = 3 };

/** "float", "int8", "bits"; a view, never NULL. */
CPB_API const char *cpb_engine_name(cpb_engine engine);

/** What is asked. Start from cpb_recommend_options_default(). */
typedef struct cpb_recommend_options {
  size_t size; /* sizeof(cpb_recommend_options) */
  size_t k;    /* neighbours, default 10 */
  cpb_engine engine;
  size_t sample;  /* base rows that are measured, at most, chosen by a hash of their number; default 100000 */
  size_t queries; /* queries, at most, chosen in the same way; default 1000 */
  uint64_t seed;  /* of the hashes; default 0 */
  /* Told of the share of the work that is done, 0 .. 1, on any thread; false ends the work. NULL: nobody is.
   */
  bool (*progress)(void *context, double share);
  void *context;
} cpb_recommend_options;

CPB_API cpb_recommend_options cpb_recommend_options_default(void);

enum { CPB_RECOMMEND_ROWS = 42, CPB_RECOMMEND_CURVE = 64 };

/** One combination. */
typedef struct cpb_recommend_row {
  const char *transform; /* a static name: "none", "normalize", "sphere", "lift-ip", "lift-cosine" */
  double scale;          /* s of the sphere; NaN for the others */
  cpb_engine index;
  bool ball;                  /* the query form */
  double recall;              /* share of the true k nearest among its first k; as near as the k-th is true */
  uint64_t candidates_for_99; /* the smallest C whose first C hold 99 % of the true ones, over all queries */
  size_t bytes;               /* per vector */
  double curve[CPB_RECOMMEND_CURVE]; /* share of the true ones among its first `candidates` */
} cpb_recommend_row;

/** The measurement and what follows from it. */
typedef struct cpb_recommendation {
  size_t k, base_rows, queries;             /* that were measured */
  double norm_mean;                         /* of the base about its mean */
  double radius;                            /* r of the ball queries */
  uint64_t candidates[CPB_RECOMMEND_CURVE]; /* k times powers of the third root of 2, at most base_rows */
  size_t count;
  cpb_recommend_row rows[CPB_RECOMMEND_ROWS]; /* by index, then in the order of the list above */
  size_t pick;     /* the best row for the engine of the options: fewest candidates,
                      then recall, then bytes, then the simpler: none, normalize, lift-ip,
                      lift-cosine, sphere with point queries, with ball queries; then the earlier */
  char text[1024]; /* which, and why, with the numbers; where the embedding does not help, where a
                      lift cannot be used, and where even the best is poor, it says so */
} cpb_recommendation;

/** Measures every combination and picks one.                                                            T13
 *  base      n > k rows of d, any dtype                                 borrowed for the call
 *  queries   rows of d, or no rows: rows of the base ask, and do not find themselves
 *  Scores of equal size are ordered by row, the lower first. A row without a direction (0, under none and
 *  normalize) scores 0. Up to k rows beyond the k-th that are just as near count as true neighbours.
 *  The answer depends on data, seed and sizes alone, not on threads or instruction set.
 *  EROW names a row with NaN or inf; EINVAL for k = 0, k >= n, all rows equal, and a stop by `progress`. */
CPB_API cpb_status cpb_recommend(cpb_view base, cpb_view queries, const cpb_recommend_options *options,
                                 cpb_recommendation *recommendation, const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
