/* Balls of rows in pieces, wherever they are, in rounds.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ROUNDS_H
#define CAPBALL_ADVANCED_ROUNDS_H

#include <stdbool.h>

#include "capball/ball.h"

CPB_BEGIN

/** The smallest enclosing ball of rows in pieces, wherever they are, in rounds.                  T10
 *
 *    rounds: new                                          the driver's
 *    every round:   piece: restart(rounds), update ..     one per piece, anywhere; or the driver's own
 *                   rounds: merge(piece) ..               in any order
 *                   rounds: solve                         until it says done
 *    cpb_model_from_ball_rounds                           the ball, as a model (fitting.h)
 *
 *  The first round looks at the columns and takes a sample; in each other one the rows farthest from the present
 *  centre come together, the ball of all rows met so far is solved, and what lies outside it is the next round's.
 *  The driver's object and a piece are of the same type and travel as bytes. A row is known by its id: the ball, to
 *  the last bit, does not depend on how the rows are cut into pieces and updates, on their order, the order of
 *  merging or the number of threads; where ids are the numbers of the rows it is that of cpb_enclosing_ball. A row given twice under its id counts once. */
typedef struct cpb_ball_rounds cpb_ball_rounds;

/** Gives *rounds to the caller. d >= 1; options NULL for the defaults. One thread at a time may use it. */
CPB_CALL cpb_status cpb_ball_rounds_new(size_t d, const cpb_ball_options *options, cpb_ball_rounds **rounds,
                                        cpb_error *error);
CPB_API void cpb_ball_rounds_free(cpb_ball_rounds *rounds);

/** Takes rows of these ids, ids[0], ids[1], .., into the present round. EROW as cpb_enclosing_ball, EINVAL for rows that
 *  the first round cannot have seen; the object is unchanged then. */
CPB_CALL cpb_status cpb_ball_rounds_update_ids(cpb_ball_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                               const cpb_exec *exec, cpb_error *error);

/** Adds what `piece` has gathered in the present round. EINVAL when they are not of one round; `rounds` is
 *  unchanged then. */
CPB_CALL cpb_status cpb_ball_rounds_merge(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece,
                                          cpb_error *error);

/** Makes `piece` an empty one of the round that `rounds` is in. */
CPB_CALL cpb_status cpb_ball_rounds_restart(cpb_ball_rounds *piece, const cpb_ball_rounds *rounds,
                                            cpb_error *error);

/** Ends a round that all rows have been given to. *done: the gap is the wanted one, or cannot be made smaller.
 *  EINVAL without rows. */
CPB_CALL cpb_status cpb_ball_rounds_solve(cpb_ball_rounds *rounds, bool *done, cpb_error *error);

/** The state as bytes: little-endian, versioned ("CPBCORES"), with a checksum at its end; gives *bytes to the
 *  caller, who frees them with cpb_free. A piece has what it gathered, the driver's object besides all it knows. */
CPB_CALL cpb_status cpb_ball_rounds_serialize(const cpb_ball_rounds *rounds, void **bytes, size_t *count,
                                              cpb_error *error);

/** Reads it back, bit for bit; gives *rounds. EFORMAT with a sentence for anything else.
 *  name  what the sentence calls the bytes; NULL = "state" */
CPB_CALL cpb_status cpb_ball_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                                cpb_ball_rounds **rounds, cpb_error *error);

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
CPB_CALL cpb_status cpb_svdd_rounds_new(size_t d, const cpb_svdd_options *options, cpb_svdd_rounds **rounds,
                                        cpb_error *error);
CPB_API void cpb_svdd_rounds_free(cpb_svdd_rounds *rounds);

/** Takes rows of these ids, ids[0], ids[1], .., into the present round, with their weights >= 0 (NULL: all 1). EROW and
 *  EINVAL as in cpb_svdd, EINVAL for rows that the first round cannot have seen; the object is unchanged then. */
CPB_CALL cpb_status cpb_svdd_rounds_update_ids(cpb_svdd_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                               const double *weights, const cpb_exec *exec, cpb_error *error);

/** As cpb_ball_rounds_merge, cpb_ball_rounds_restart and cpb_ball_rounds_solve. */
CPB_CALL cpb_status cpb_svdd_rounds_merge(cpb_svdd_rounds *rounds, const cpb_svdd_rounds *piece,
                                          cpb_error *error);
CPB_CALL cpb_status cpb_svdd_rounds_restart(cpb_svdd_rounds *piece, const cpb_svdd_rounds *rounds,
                                            cpb_error *error);
CPB_CALL cpb_status cpb_svdd_rounds_solve(cpb_svdd_rounds *rounds, bool *done, cpb_error *error);

/** As cpb_ball_rounds_serialize and cpb_ball_rounds_deserialize; the mark of the bytes is "CPBTAILS". */
CPB_CALL cpb_status cpb_svdd_rounds_serialize(const cpb_svdd_rounds *rounds, void **bytes, size_t *count,
                                              cpb_error *error);
CPB_CALL cpb_status cpb_svdd_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                                cpb_svdd_rounds **rounds, cpb_error *error);

CPB_END
#endif
