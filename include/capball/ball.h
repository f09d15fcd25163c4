/* T10: the smallest ball around points, with a proof of how small it is.
 *
 *   R^2 = min_c max_i |x_i-c|^2 = max { sum a_i|x_i|^2 - |sum a_i x_i|^2 : a >= 0, sum a = 1 }
 *
 * Any centre gives an upper bound of R and any multipliers a lower one; what is returned is both, and
 * the gap between them. A round reads the data once: the rows farthest from the present centre join a
 * working set, on which the ball is solved exactly. Two to four rounds are usual, for any number of
 * rows. Cospherical, collinear, repeated points, d >> n and a single row are nothing special; rows may
 * have any size that |x-c| itself can have. */
#ifndef CAPBALL_BALL_H
#define CAPBALL_BALL_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the ball of the working set is found. Both end at the same ball. */
typedef enum cpb_ball_method {
  CPB_BALL_ACTIVE_SET = 0, /* Wolfe's method on the dual */
  CPB_BALL_CAPS = 1,       /* the cap iteration: embed about the present centre with s = R, take the point
                              of the hull nearest to the pole, go to the centre of its cap's ball; cubic */
} cpb_ball_method;

/** Start from cpb_ball_options_init. */
typedef struct cpb_ball_options {
  size_t size;       /* sizeof(cpb_ball_options) */
  double gap;        /* wanted (R^2 - lower^2)/R^2, >= 0; default 1e-9. The relative error of the radius is
                        at most half of it */
  size_t max_passes; /* rounds over the data before giving up, >= 1; default 200 */
  cpb_ball_method method;
} cpb_ball_options;

CPB_API void cpb_ball_options_init(cpb_ball_options *options, size_t size);

/** How good the ball is. The call has done its work even where the gap is not what was wanted, as for
 *  data so far from 0 that no double is near enough to the centre. Start from cpb_ball_report_init. */
typedef struct cpb_ball_report {
  size_t size;        /* sizeof(cpb_ball_report) */
  bool converged;     /* gap <= the wanted gap */
  double gap;         /* (radius^2 - lower_bound^2)/radius^2, 0 for radius 0 */
  double radius;      /* the largest |x_i - center|, center as returned */
  double lower_bound; /* no ball around these rows has a smaller radius */
  size_t support;     /* rows with a multiplier > 0; at most d+1 */
  size_t iterations;  /* columns entered, or cap steps */
  size_t passes;      /* reads of the data */
  double seconds;
} cpb_ball_report;

CPB_API void cpb_ball_report_init(cpb_ball_report *report, size_t size);

/** Where an answer goes: the caller's arrays. */
typedef struct cpb_ball_out {
  double *center;      /* d coordinates */
  uint64_t *rows;      /* d+1 row numbers of the support, the largest multiplier first; or NULL */
  double *multipliers; /* d+1: theirs; or NULL */
} cpb_ball_out;

/** The smallest enclosing ball of n >= 1 rows.                                                 T10
 *  x        n rows of d, any dtype                                          borrowed for the call
 *  options  NULL for the defaults
 *  out      out->center is written, the rest where it is not NULL
 *  EROW for the first row with NaN or inf; EINVAL for no rows. Nothing is written then.
 *  Thread-safe; the same bits for any number of threads. Allocates about 4096 rows of doubles. */
CPB_API cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                                      cpb_ball_report *report, const cpb_exec *exec, cpb_error *error);

/** One step of the cap iteration: the rows about `center` at scale s, the cap whose plane goes through the
 *  support vectors of the widest margin to -e, and the centre of its ball (T3) as the new `center`.
 *  With s = the present radius the distance to the true centre falls cubically.                  T10
 *  x   n >= 1 finite rows of d, copied and lifted: n(2d+1) doubles are allocated */
CPB_API cpb_status cpb_ball_cap_step(cpb_view x, double s, double *center, cpb_error *error);

/** The same, to the last bit, for rows that do not fit in memory: the source is read once per pass, and once before
 *  where its rows are not in memory.                                                            T10 */
CPB_API cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                             const cpb_ball_out *out, cpb_ball_report *report,
                                             const cpb_exec *exec, cpb_error *error);

/** The smallest enclosing ball of rows in pieces, wherever they are, in rounds.                  T10
 *
 *    rounds: new                                          the driver's
 *    every round:   piece: restart(rounds), update ..     one per piece, anywhere; or the driver's own
 *                   rounds: merge(piece) ..               in any order
 *                   rounds: solve                         until it says done
 *    rounds: ball
 *
 *  The first round looks at the columns and takes a sample; in each other one the rows farthest from the present
 *  centre come together, the ball of all rows met so far is solved, and what lies outside it is the next round's.
 *  The driver's object and a piece are of the same type and travel as bytes. A row is known by its id: the ball, to
 *  the last bit, does not depend on how the rows are cut into pieces and updates, on their order, the order of
 *  merging or the number of threads; where ids are the numbers of the rows it is that of cpb_enclosing_ball and of
 *  cpb_enclosing_ball_stream. A row given twice under its id counts once. */
typedef struct cpb_ball_rounds cpb_ball_rounds;

/** Gives *rounds to the caller. d >= 1; options NULL for the defaults. One thread at a time may use it. */
CPB_API cpb_status cpb_ball_rounds_new(size_t d, const cpb_ball_options *options, cpb_ball_rounds **rounds,
                                       cpb_error *error);
CPB_API void cpb_ball_rounds_free(cpb_ball_rounds *rounds);

/** Takes rows first_id, first_id+1, .. into the present round. EROW as above, EINVAL for rows that the first
 *  round cannot have seen; the object is unchanged then. */
CPB_API cpb_status cpb_ball_rounds_update(cpb_ball_rounds *rounds, cpb_view rows, uint64_t first_id,
                                          const cpb_exec *exec, cpb_error *error);

/** The same for rows whose ids are ids[0], ids[1], .. */
CPB_API cpb_status cpb_ball_rounds_update_ids(cpb_ball_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                              const cpb_exec *exec, cpb_error *error);

/** Adds what `piece` has gathered in the present round. EINVAL when they are not of one round; `rounds` is
 *  unchanged then. */
CPB_API cpb_status cpb_ball_rounds_merge(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece,
                                         cpb_error *error);

/** Makes `piece` an empty one of the round that `rounds` is in. */
CPB_API cpb_status cpb_ball_rounds_restart(cpb_ball_rounds *piece, const cpb_ball_rounds *rounds,
                                           cpb_error *error);

/** Ends a round that all rows have been given to. *done: the gap is the wanted one, or cannot be made smaller.
 *  EINVAL without rows. */
CPB_API cpb_status cpb_ball_rounds_solve(cpb_ball_rounds *rounds, bool *done, cpb_error *error);

/** The best ball so far, with ids as the rows of its support. report->passes counts rounds; its seconds are
 *  0. EINVAL before the second round has ended. */
CPB_API cpb_status cpb_ball_rounds_ball(const cpb_ball_rounds *rounds, const cpb_ball_out *out,
                                        cpb_ball_report *report, cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCORES"), with a checksum at its end; gives *bytes to the
 *  caller, who frees them with cpb_free. A piece has what it gathered, the driver's object besides all it knows. */
CPB_API cpb_status cpb_ball_rounds_serialize(const cpb_ball_rounds *rounds, void **bytes, size_t *count,
                                             cpb_error *error);

/** Reads it back, bit for bit; gives *rounds. EFORMAT with a sentence for anything else.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_API cpb_status cpb_ball_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                               cpb_ball_rounds **rounds, cpb_error *error);

/* T11: support vector data description, a ball with a soft margin.
 *
 *   min_{c,R}  R^2 + C sum_i w_i max(0, |x_i-c|^2 - R^2),    C = 1/(nu sum w)
 *   = min_c    the mean of the worst share nu of |x_i-c|^2
 *   = max      sum a_i|x_i|^2 - |sum a_i x_i|^2,             0 <= a_i <= C w_i, sum a = 1
 *
 * The share nu of the weight may lie outside. nu = 1/n is the enclosing ball (T10). Every answer comes
 * with its gap between the second and the third line. */

typedef enum cpb_svdd_method {
  CPB_SVDD_EXACT = 0,
  CPB_SVDD_CAP_SVM = 1,       /* embed, a linear nu-SVM against the one hard negative -e, go to the ball of
                                 its margin plane, again: SVDD but for the weights of the slacks */
  CPB_SVDD_CAP_SVM_PAPER = 2, /* the paper's: one C for all. The positives never get slack, so nu has no
                                 effect and the enclosing ball comes out; kept to repeat its figure */
} cpb_svdd_method;

/** Start from cpb_svdd_options_init. */
typedef struct cpb_svdd_options {
  size_t size;           /* sizeof(cpb_svdd_options) */
  double nu;             /* the share that may lie outside, 0 < nu <= 1, nu n >= 1 unweighted; default 0.1 */
  double gap;            /* wanted (upper-lower)/upper of the objective, >= 0; default 1e-9 */
  size_t max_iterations; /* reads of the data before giving up, >= 1; default 1000 */
  cpb_svdd_method method;
  const double *weights; /* n sample weights >= 0, some > 0; NULL: all 1 */
  const double *start;   /* d coordinates of a centre to start from; NULL: the mean */
} cpb_svdd_options;

CPB_API void cpb_svdd_options_init(cpb_svdd_options *options, size_t size);

/** How good the answer is; the objective is the mean of the worst share, in squared units. Start
 *  from cpb_svdd_report_init. */
typedef struct cpb_svdd_report {
  size_t size;      /* sizeof(cpb_svdd_report) */
  bool converged;   /* gap <= the wanted gap; for the cap methods: the centre came to rest */
  double gap;       /* (objective - lower_bound)/objective; for the cap methods that of their ball as SVDD */
  double radius;    /* R: the distance of the row at which the share nu is used up; where that is the end of a
                         row, every R down to the next row is as good, and this is the largest */
  double objective; /* R^2 + C sum w max(0,..) at the centre returned */
  double lower_bound; /* of the objective, by the dual */
  size_t support;     /* rows with a multiplier > 0 (0 when multipliers were not asked for) */
  size_t iterations;  /* reads of the data; rounds of the SVM for the cap methods */
  double seconds;
} cpb_svdd_report;

CPB_API void cpb_svdd_report_init(cpb_svdd_report *report, size_t size);

/** SVDD of n >= 1 rows.                                                                          T11
 *  x            n rows of d, any dtype                                      borrowed for the call
 *  center       d coordinates, the caller's
 *  multipliers  n numbers a_i, the caller's, or NULL; of the cap methods those of their last SVM
 *  EROW for the first row with NaN or inf; EINVAL names nu, a weight or an option. Nothing is written
 *  then. Thread-safe; the same bits for any number of threads. Time n d per iteration; allocates n
 *  doubles, n(d+1) more for the cap methods and n d for rows whose squares leave the range of double: rows of
 *  any size are right, but objective and lower_bound, which are squares, are then inf, DBL_MAX or 0. Rows of
 *  weight 0 are not there. exec->progress is told the digits of the gap. */
CPB_API cpb_status cpb_svdd(cpb_view x, const cpb_svdd_options *options, double *center, double *multipliers,
                            cpb_svdd_report *report, const cpb_exec *exec, cpb_error *error);

/** SVDD of rows in pieces, wherever they are, in rounds.                                       T11
 *
 *  The calls follow each other as those of cpb_ball_rounds. The first round looks at the columns alone. Every other
 *  one asks about a centre and a guess of the edge, the distance beyond which the share nu of the weight lies: a
 *  piece answers with the sums of its rows beyond it, kept without rounding, and the rows nearest to it, 2048 in
 *  all. With them the driver has both bounds at the centre (the mean of the worst share, and the dual), solves the
 *  rows about the edge exactly and moves. The answer, to the last bit, does not depend on how the rows are cut into
 *  pieces and updates, on their order, the order of merging or the number of threads; ids tell rows apart where
 *  distances are equal. Every row once. */
typedef struct cpb_svdd_rounds cpb_svdd_rounds;

/** Gives *rounds to the caller. d >= 1; options: nu, gap, and max_iterations as rounds; NULL for the defaults.
 *  One thread at a time may use it. */
CPB_API cpb_status cpb_svdd_rounds_new(size_t d, const cpb_svdd_options *options, cpb_svdd_rounds **rounds,
                                       cpb_error *error);
CPB_API void cpb_svdd_rounds_free(cpb_svdd_rounds *rounds);

/** Takes rows first_id, first_id+1, .. into the present round, with their weights >= 0 (NULL: all 1). EROW and
 *  EINVAL as in cpb_svdd, EINVAL for rows that the first round cannot have seen; the object is unchanged then. */
CPB_API cpb_status cpb_svdd_rounds_update(cpb_svdd_rounds *rounds, cpb_view rows, uint64_t first_id,
                                          const double *weights, const cpb_exec *exec, cpb_error *error);

/** The same for rows whose ids are ids[0], ids[1], .. */
CPB_API cpb_status cpb_svdd_rounds_update_ids(cpb_svdd_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                              const double *weights, const cpb_exec *exec, cpb_error *error);

/** As cpb_ball_rounds_merge, cpb_ball_rounds_restart and cpb_ball_rounds_solve. */
CPB_API cpb_status cpb_svdd_rounds_merge(cpb_svdd_rounds *rounds, const cpb_svdd_rounds *piece,
                                         cpb_error *error);
CPB_API cpb_status cpb_svdd_rounds_restart(cpb_svdd_rounds *piece, const cpb_svdd_rounds *rounds,
                                           cpb_error *error);
CPB_API cpb_status cpb_svdd_rounds_solve(cpb_svdd_rounds *rounds, bool *done, cpb_error *error);

/** The best ball so far and its bounds; seconds and support are 0, iterations are rounds. EINVAL before the
 *  second round has ended.
 *  center   d coordinates, the caller's */
CPB_API cpb_status cpb_svdd_rounds_ball(const cpb_svdd_rounds *rounds, double *center,
                                        cpb_svdd_report *report, cpb_error *error);

/** As cpb_ball_rounds_serialize and cpb_ball_rounds_deserialize; the mark of the bytes is "CPBTAILS". */
CPB_API cpb_status cpb_svdd_rounds_serialize(const cpb_svdd_rounds *rounds, void **bytes, size_t *count,
                                             cpb_error *error);
CPB_API cpb_status cpb_svdd_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                               cpb_svdd_rounds **rounds, cpb_error *error);

/** A Mercer kernel k(x,y); SVDD with one is SVDD of the rows' images in its feature space. */
typedef enum cpb_kernel_kind {
  CPB_KERNEL_LINEAR = 0,     /* <x,y> */
  CPB_KERNEL_RBF = 1,        /* exp(-gamma |x-y|^2) */
  CPB_KERNEL_POLYNOMIAL = 2, /* (gamma <x,y> + offset)^degree */
} cpb_kernel_kind;

typedef struct cpb_kernel {
  cpb_kernel_kind kind;
  double gamma;    /* > 0; not used by the linear kernel */
  double offset;   /* >= 0; polynomial */
  unsigned degree; /* >= 1; polynomial */
} cpb_kernel;

/** z_j = k(x_i, y_j) for one row i of x and all rows of y, by <x,x>, <x,y> and <y,y> alone (T8).
 *  z   y.rows numbers, the caller's. EINVAL names a parameter outside its domain. Thread-safe. */
CPB_API cpb_status cpb_kernel_row(const cpb_kernel *kernel, cpb_view x, size_t i, cpb_view y, double *z,
                                  cpb_error *error);

/** SVDD in the feature space of a kernel, for n up to some ten thousand.                       T8, T11
 *  Exact: the dual by steps along the pair of multipliers that gains most, with k alone. The cap methods:
 *  the rows' images about the present centre go to the sphere by their Gram rows (cpb_gram_embed), the SVM
 *  against -e is solved by the same steps, and the centre moves as in cpb_svdd. Rows of the matrix are kept
 *  as far as 256 MB go. Options are as above, start and max_iterations unused.
 *  multipliers  n numbers a_i >= 0 of sum 1, the caller's: the centre is sum a_i phi(x_i), by any method
 *  norm2        |c|^2 = sum a_i a_j k(x_i,x_j), 1 number: with it the score of a point is
 *               R^2 - (k(x,x) - 2 sum a_i k(x_i,x) + norm2)
 *  report       as above, in squared units of the feature space; iterations are steps, or rounds of the SVM
 *  EROW besides for a row whose k(x,x) is no double. */
CPB_API cpb_status cpb_kernel_svdd(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *options,
                                   double *multipliers, double *norm2, cpb_svdd_report *report,
                                   const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
