/* T14: training of principal sketches. */
#ifndef CPB_SKETCH_PRINCIPAL_TRAIN_H
#define CPB_SKETCH_PRINCIPAL_TRAIN_H

#include "capball/sketch.h"

/* cpb_sketch_train for CPB_SKETCH_PRINCIPAL; options and rows have been checked. `turn` trains normals of another kind, for
 * CPB_ROTATION_TURNED. */
typedef cpb_status cpb_sketch_turn(cpb_view sample, const cpb_sketch_training *training, cpb_sketch **sketch,
                                   cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error);

cpb_status cpb_principal_train(cpb_view sample, const cpb_sketch_training *training, cpb_sketch_turn *turn,
                               cpb_sketch **sketch, cpb_sketch_report *report, const cpb_exec *exec,
                               cpb_error *error);

#endif
