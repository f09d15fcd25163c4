/* One ball or several? By what rows tell that are left out, without labels. */
#ifndef CPB_BALL_CHOOSE_BALLS_H
#define CPB_BALL_CHOOSE_BALLS_H

#include "base/json_text.h"
#include "capball/ball.h"

/* Half of the rows (of a sample of 8192) are grouped into 8, and once taken together. The other half, and the same rows with the
 * numbers of each column shuffled, are scored by the nearest of the means. Shuffled rows have the columns of the others, and nothing of
 * how these go together: where 8 means tell rows from shuffled ones in more pairs than one does, by LEAST_GAIN of all pairs, the rows lie in
 * clouds, and 16 balls are taken; else one, as with fewer than 20 rows a ball.
 *  y        whitened rows, doubles without gaps
 *  weight   of each row; those of 0 are not read
 *  options  the seed is read
 *  notes    gets a sentence with the choice and its reason */
cpb_status cpb_choose_balls(cpb_view y, const double *weight, const cpb_model_fit_options *options,
                            size_t *balls, cpb_text *notes, const cpb_exec *exec, cpb_error *error);

#endif
