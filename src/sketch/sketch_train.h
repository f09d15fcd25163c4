/* T14: training on a sample, which cpb_sketch_fit draws from a source. */
#ifndef CPB_SKETCH_SKETCH_TRAIN_H
#define CPB_SKETCH_SKETCH_TRAIN_H

#include "capball/sketch.h"

/** Trains a joined sketch; gives *sketch to the caller.                                            T14
 *  sample   n >= 2 rows of any dtype, in random order (a hash sample)      borrowed for the call
 *  report   may be NULL
 *  The same seed and rows give the same bits for any number of threads. EROW for a row with NaN or inf;
 *  EINVAL names an option. */
cpb_status cpb_sketch_train(cpb_view sample, const cpb_sketch_training *training, cpb_sketch **sketch,
                            cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error);

#endif
