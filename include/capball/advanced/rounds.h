/* Balls of rows in pieces, wherever they are, in rounds; and what scores say about columns and outliers.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ROUNDS_H
#define CAPBALL_ADVANCED_ROUNDS_H

#include <stdbool.h>

#include "capball/ball.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The smallest enclosing ball of rows in pieces, wherever they are, in rounds.                  T10
 *
 *    core: new                                          the driver's
 *    every round:   piece: restart(core), update ..     one per piece, anywhere; or the core itself
 *                   core: merge(piece) ..               in any order
 *                   core: solve                         until it says done
 *    core: ball
 *
 *  The first round looks at the columns and takes a sample; in each other one the rows farthest from the present
 *  centre come together, the ball of all rows met so far is solved, and what lies outside it is the next round's.
 *  A core and a piece are the same kind of object and travel as bytes. A row is known by its id: the ball, to
 *  the last bit, does not depend on how the rows are cut into pieces and updates, on their order, the order of
 *  merging or the number of threads; where ids are the numbers of the rows it is that of
 *  cpb_enclosing_ball. A row given twice under its id counts once. */
typedef struct cpb_core cpb_core;

/** Gives *core to the caller. d >= 1; options NULL for the defaults. One thread at a time may use it. */
CPB_CALL cpb_status cpb_core_new(size_t d, const cpb_ball_options *options, cpb_core **core,
                                 cpb_error *error);
CPB_API void cpb_core_free(cpb_core *core);

/** Takes rows first_id, first_id+1, .. into the present round. EROW as above, EINVAL for rows that the first
 *  round cannot have seen; the core is unchanged then. */
CPB_CALL cpb_status cpb_core_update(cpb_core *core, cpb_view rows, uint64_t first_id, const cpb_exec *exec,
                                    cpb_error *error);

/** The same for rows whose ids are ids[0], ids[1], .. */
CPB_CALL cpb_status cpb_core_update_ids(cpb_core *core, cpb_view rows, const uint64_t *ids,
                                        const cpb_exec *exec, cpb_error *error);

/** Adds what `piece` has gathered in the present round. EINVAL when they are not of one round; `core` is
 *  unchanged then. */
CPB_CALL cpb_status cpb_core_merge(cpb_core *core, const cpb_core *piece, cpb_error *error);

/** Makes `piece` an empty one of the round that `core` is in. */
CPB_CALL cpb_status cpb_core_restart(cpb_core *piece, const cpb_core *core, cpb_error *error);

/** Ends a round that all rows have been given to. *done: the gap is the wanted one, or cannot be made smaller.
 *  EINVAL without rows. */
CPB_CALL cpb_status cpb_core_solve(cpb_core *core, bool *done, cpb_error *error);

/** The best ball so far, with ids as the rows of its support. report->passes counts rounds; its seconds are
 *  0. EINVAL before the second round has ended. */
CPB_CALL cpb_status cpb_core_ball(const cpb_core *core, const cpb_ball_out *out, cpb_ball_report *report,
                                  cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCORES"), with a checksum at its end; gives *bytes to the
 *  caller, who frees them with cpb_free. A piece has what it gathered, a core besides all it knows. */
CPB_CALL cpb_status cpb_core_serialize(const cpb_core *core, void **bytes, size_t *count, cpb_error *error);

/** Reads it back, bit for bit; gives *core. EFORMAT with a sentence for anything else.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_core_deserialize(const void *bytes, size_t count, const char *name, cpb_core **core,
                                         cpb_error *error);

/** SVDD of rows in pieces, wherever they are, in rounds.                                       T11
 *
 *    tail: new                                          the driver's
 *    every round:   piece: restart(tail), update ..     one per piece, anywhere; or the tail itself
 *                   tail: merge(piece) ..               in any order
 *                   tail: solve                         until it says done
 *    tail: ball
 *
 *  The first round looks at the columns alone. Every other one asks about a centre and a guess of the edge, the
 *  distance beyond which the share nu of the weight lies: a piece answers with the sums of its rows beyond it,
 *  kept without rounding, and the rows nearest to it, 2048 in all. With them the driver has both bounds at the
 *  centre (the mean of the worst share, and the dual), solves the rows about the edge exactly and moves. The
 *  answer, to the last bit, does not depend on how the rows are cut into pieces and updates, on their order, the
 *  order of merging or the number of threads; ids tell rows apart where distances are equal. Every row once. */
typedef struct cpb_tail cpb_tail;

/** Gives *tail to the caller. d >= 1; options: nu, gap, and max_iterations as rounds; NULL for the defaults.
 *  One thread at a time may use it. */
CPB_CALL cpb_status cpb_tail_new(size_t d, const cpb_svdd_options *options, cpb_tail **tail,
                                 cpb_error *error);
CPB_API void cpb_tail_free(cpb_tail *tail);

/** Takes rows first_id, first_id+1, .. into the present round, with their weights >= 0 (NULL: all 1). EROW and
 *  EINVAL as in cpb_svdd, EINVAL for rows that the first round cannot have seen; the tail is unchanged then. */
CPB_CALL cpb_status cpb_tail_update(cpb_tail *tail, cpb_view rows, uint64_t first_id, const double *weights,
                                    const cpb_exec *exec, cpb_error *error);

/** The same for rows whose ids are ids[0], ids[1], .. */
CPB_CALL cpb_status cpb_tail_update_ids(cpb_tail *tail, cpb_view rows, const uint64_t *ids,
                                        const double *weights, const cpb_exec *exec, cpb_error *error);

/** Adds what `piece` has gathered in the present round. EINVAL when they are not of one round; `tail` is
 *  unchanged then. */
CPB_CALL cpb_status cpb_tail_merge(cpb_tail *tail, const cpb_tail *piece, cpb_error *error);

/** Makes `piece` an empty one of the round that `tail` is in. */
CPB_CALL cpb_status cpb_tail_restart(cpb_tail *piece, const cpb_tail *tail, cpb_error *error);

/** Ends a round that all rows have been given to. *done: the gap is the wanted one, or cannot be made smaller.
 *  EINVAL without rows. */
CPB_CALL cpb_status cpb_tail_solve(cpb_tail *tail, bool *done, cpb_error *error);

/** The best ball so far and its bounds; seconds and support are 0, iterations are rounds. EINVAL before the
 *  second round has ended.
 *  center   d coordinates, the caller's */
CPB_CALL cpb_status cpb_tail_ball(const cpb_tail *tail, double *center, cpb_svdd_report *report,
                                  cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBTAILS"), with a checksum at its end; gives *bytes to the
 *  caller, who frees them with cpb_free. */
CPB_CALL cpb_status cpb_tail_serialize(const cpb_tail *tail, void **bytes, size_t *count, cpb_error *error);

/** Reads it back, bit for bit; gives *tail. EFORMAT with a sentence for anything else.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_tail_deserialize(const void *bytes, size_t count, const char *name, cpb_tail **tail,
                                         cpb_error *error);

/** parts_j = (x-c)_j (W^T W (x-c))_j: what each column adds to |W(x-c)|^2, and so takes from the score; without W, and
 *  where W is diagonal, none is < 0. Of several balls c is the nearest centre.
 *  x, parts   d numbers each, the caller's
 *  center     the centre that was taken, a view into the model; or NULL
 *  EINVAL with a kernel. Thread-safe. */
CPB_CALL cpb_status cpb_model_parts(const cpb_model *model, const double *x, double *parts,
                                    const double **center, cpb_error *error);

/** How well low scores tell outliers. */
typedef struct cpb_ranking {
  size_t size;
  size_t outliers;
  double auc; /* the share of pairs in which the outlier scores lower, ties count half */
  double
      precision; /* average precision: the mean of the precision over the outliers, lowest scores first, ties
                       taken together */
} cpb_ranking;

/** Judges n scores by labels, not 0 for an outlier. EINVAL where all labels are of one kind.
 *  ranking   set its size */
CPB_CALL cpb_status cpb_score_ranking(const double *scores, const double *labels, size_t n,
                                      cpb_ranking *ranking, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
