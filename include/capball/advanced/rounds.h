/* Balls of rows that are distributed over pieces, computed in rounds.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ROUNDS_H
#define CAPBALL_ADVANCED_ROUNDS_H

#include <stdbool.h>

#include "capball/ball.h"

CPB_BEGIN

/** The smallest enclosing ball of distributed rows, in rounds.                                   T10
 *
 *    rounds: new                                          in the driver
 *    every round:   piece: restart(rounds), update ..     one per piece, on any machine
 *                   rounds: merge(piece) ..               in any order
 *                   rounds: solve                         until done
 *    cpb_model_from_ball_rounds                           the ball, as a model (fitting.h)
 *
 *  The first round gathers the range of the columns and a sample; each later one collects the rows farthest from the
 *  current centre, computes the ball of all rows collected so far, and leaves the rows outside it to the next round.
 *  The driver's object and a piece have the same type and can be serialized; the driver may also update its own. Rows
 *  are identified by their ids: the ball, to the last bit, does not depend on how the rows are divided into pieces and
 *  updates, on their order, the order of merging or the number of threads; if ids are row numbers it is that of
 *  cpb_enclosing_ball. A row passed twice with the same id counts once. */
typedef struct cpb_ball_rounds cpb_ball_rounds;

/** Creates *rounds, owned by the caller. d >= 1; options NULL for the defaults. Use it from one thread at a time. */
CPB_CALL cpb_status cpb_ball_rounds_new(size_t d, const cpb_ball_options *options, cpb_ball_rounds **rounds,
                                        cpb_error *error);
CPB_API void cpb_ball_rounds_free(cpb_ball_rounds *rounds);

/** Adds rows with ids ids[0], ids[1], .. to the current round. EROW as in cpb_enclosing_ball, EINVAL for rows that
 *  the first round cannot have seen; the object is then unchanged. */
CPB_CALL cpb_status cpb_ball_rounds_update_ids(cpb_ball_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                               const cpb_exec *exec, cpb_error *error);

/** Adds what `piece` has gathered in the current round. EINVAL if they are in different rounds; `rounds` is
 *  then unchanged. */
CPB_CALL cpb_status cpb_ball_rounds_merge(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece,
                                          cpb_error *error);

/** Empties `piece` for the round that `rounds` is in. */
CPB_CALL cpb_status cpb_ball_rounds_restart(cpb_ball_rounds *piece, const cpb_ball_rounds *rounds,
                                            cpb_error *error);

/** Ends a round in which all rows have been added. *done: the gap is as requested, or cannot be reduced further.
 *  EINVAL without rows. */
CPB_CALL cpb_status cpb_ball_rounds_solve(cpb_ball_rounds *rounds, bool *done, cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCORES"), with a checksum at the end; free *bytes with cpb_free.
 *  A piece contains what it gathered, the driver's object also the state of the computation. */
CPB_CALL cpb_status cpb_ball_rounds_serialize(const cpb_ball_rounds *rounds, void **bytes, size_t *count,
                                              cpb_error *error);

/** Reads it back, bit for bit, into a new *rounds. Any defect gives EFORMAT with a message.
 *  name  how messages refer to the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_ball_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                                cpb_ball_rounds **rounds, cpb_error *error);

/** SVDD of distributed rows, in rounds.                                                        T11
 *
 *  The calls are those of cpb_ball_rounds. The first round only gathers the range of the columns. Every later round has
 *  a centre and an estimate of the edge, the distance beyond which the fraction nu of the weight is: a piece returns
 *  the exact sums of its rows beyond the edge, and the rows nearest to it, 2048 in total. From them the driver
 *  computes both bounds at the centre (the mean over the worst fraction, and the dual), solves exactly for the rows
 *  near the edge and moves the centre. The result, to the last bit, does not depend on how the rows are divided into
 *  pieces and updates, on their order, the order of merging or the number of threads; ids break ties of equal
 *  distances. Every row must be passed once. */
typedef struct cpb_svdd_rounds cpb_svdd_rounds;

/** Creates *rounds, owned by the caller. d >= 1; options: nu, gap, and max_iterations as rounds; NULL for the defaults.
 *  Use it from one thread at a time. */
CPB_CALL cpb_status cpb_svdd_rounds_new(size_t d, const cpb_svdd_options *options, cpb_svdd_rounds **rounds,
                                        cpb_error *error);
CPB_API void cpb_svdd_rounds_free(cpb_svdd_rounds *rounds);

/** Adds rows with ids ids[0], ids[1], .. to the current round, with weights >= 0 (NULL: all 1). EROW and EINVAL as
 *  in cpb_svdd, EINVAL for rows that the first round cannot have seen; the object is then unchanged. */
CPB_CALL cpb_status cpb_svdd_rounds_update_ids(cpb_svdd_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                               const double *weights, const cpb_exec *exec, cpb_error *error);

/** As cpb_ball_rounds_merge, cpb_ball_rounds_restart and cpb_ball_rounds_solve. */
CPB_CALL cpb_status cpb_svdd_rounds_merge(cpb_svdd_rounds *rounds, const cpb_svdd_rounds *piece,
                                          cpb_error *error);
CPB_CALL cpb_status cpb_svdd_rounds_restart(cpb_svdd_rounds *piece, const cpb_svdd_rounds *rounds,
                                            cpb_error *error);
CPB_CALL cpb_status cpb_svdd_rounds_solve(cpb_svdd_rounds *rounds, bool *done, cpb_error *error);

/** As cpb_ball_rounds_serialize and cpb_ball_rounds_deserialize; the bytes start with "CPBTAILS". */
CPB_CALL cpb_status cpb_svdd_rounds_serialize(const cpb_svdd_rounds *rounds, void **bytes, size_t *count,
                                              cpb_error *error);
CPB_CALL cpb_status cpb_svdd_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                                cpb_svdd_rounds **rounds, cpb_error *error);

/** A model from completed rounds over pieces, as cpb_model_fit: the ball of cpb_ball_rounds, or of cpb_svdd_rounds
 *  (which list no support vectors).
 *  rows     the total number of rows
 *  scores   cpb_model_scores of all rows or of a sample, for the quantiles; sorted in place. NULL, 0: no quantiles */
CPB_CALL cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                               size_t count, cpb_model **model, cpb_error *error);
CPB_CALL cpb_status cpb_model_from_svdd_rounds(const cpb_svdd_rounds *from, uint64_t rows, double *scores,
                                               size_t count, cpb_model **model, cpb_error *error);

/** cpb_model_scores of all rows of a source: *count numbers; free *scores with cpb_free.
 *  EROW names the first row without a score. */
CPB_CALL cpb_status cpb_model_score_source(const cpb_model *model, cpb_source *rows, double **scores,
                                           size_t *count, const cpb_exec *exec, cpb_error *error);

/** Which of n p-values are discoveries with a false-discovery rate of at most `rate` (Benjamini and Hochberg): those up to
 *  *most, the largest p_(k) <= rate k/n of the p-values in order; 0: none. NaN is none. EINVAL unless 0 < rate < 1. */
CPB_CALL cpb_status cpb_discoveries(const double *p, size_t n, double rate, double *most, cpb_error *error);

CPB_END
#endif
