/* T14: training on a sample, which cpb_sketch_fit draws from a source. */
#ifndef CPB_SKETCH_SKETCH_TRAIN_H
#define CPB_SKETCH_SKETCH_TRAIN_H

#include "capball/sketch.h"

/** Trains a sketch; gives *sketch to the caller.                                                   T14
 *    theta_ij = (2 O_ij/n - 1) pi/2,   u_ij = (c_i <c_i,c_j> - c_j)/|.|
 *    c_i <- normalise(c_i + sum_j tan(scale theta_ij) u_ij)
 *  sample   n >= 2 rows of any dtype, in random order (a hash sample)      borrowed for the call
 *  report   may be NULL
 *  The same seed and rows give the same bits for any number of threads. EROW for a row with NaN or inf;
 *  EINVAL names an option. The random kinds are only drawn, not trained. */
cpb_status cpb_sketch_train(cpb_view sample, const cpb_sketch_training *training, cpb_sketch **sketch,
                            cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error);

/* cpb_sketch_train for CPB_SKETCH_PRINCIPAL; options and rows have been checked. `turn` trains normals of another kind, for
 * CPB_ROTATION_TURNED. */
typedef cpb_status cpb_sketch_turn(cpb_view sample, const cpb_sketch_training *training, cpb_sketch **sketch,
                                   cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error);

cpb_status cpb_principal_train(cpb_view sample, const cpb_sketch_training *training, cpb_sketch_turn *turn,
                               cpb_sketch **sketch, cpb_sketch_report *report, const cpb_exec *exec,
                               cpb_error *error);

#endif
