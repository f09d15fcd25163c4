/* Scores of rows that a fit has not seen, for p-values of new rows (split conformal prediction, with cross-fitting). */
#ifndef CPB_BALL_CALIBRATION_H
#define CPB_BALL_CALIBRATION_H

#include "base/memory.h"
#include "capball/ball.h"

/* cpb_model_fit, which calls this. */
typedef cpb_status (*cpb_model_fitter)(cpb_source *rows, const cpb_model_fit_options *options,
                                       cpb_model **model, cpb_model_fit_report *report, const cpb_exec *exec,
                                       cpb_error *error);

/* Fits as `options` say to rows without a part of them, and scores that part: up to 500 rows ten parts of equal size in turn, up to 2000 five,
 * of more one part, 10000 rows or a third, by a fit to at most 20000 others. Parts are drawn by the seed. Rows of weight 0 are left out.
 *  fit      cpb_model_fit
 *  model    fitted to all rows; its r^2 minus squared distances are stored, as calibration_ranks.h says
 *  stored   memory of *memory; NULL, and *n = 0, where there are fewer than 4 rows, or a part leaves rows without a ball */
cpb_status cpb_calibrate(cpb_view rows, cpb_model_fitter fit, const cpb_model_fit_options *options,
                         const cpb_model *model, cpb_memory *memory, double **stored, uint64_t *n,
                         const cpb_exec *exec, cpb_error *error);

#endif
