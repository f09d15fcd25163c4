/* The paper's own schemes: the cap iteration for the enclosing ball (T10), the cap SVM for SVDD (T11), and the cap
 * SVM where only a Mercer kernel is known. All embed the rows about the present centre, find a plane that
 * separates them from -e, move to the centre of the ball that corresponds to the plane, and repeat. */
#ifndef CPB_BALL_PAPER_SCHEMES_H
#define CPB_BALL_PAPER_SCHEMES_H

#include "ball/capped_dual.h"
#include "ball/smo.h"
#include "ball/working_set.h"

/* One step: embeds the rows about `center` at scale s, finds the cap whose plane goes through the support vectors of the
 * widest margin to -e, and moves `center` to the centre of its ball (T3). With s = the present radius the distance to
 * the true centre falls cubically. multiplier: one number per row, sum 1. T10 */
cpb_status cpb_paper_cap_step(const cpb_working_set *set, const cpb_loops *loops, double s, double *center,
                              double *multiplier);

/* The ball of a working set. center: a start, then the answer; multiplier: one number per row, sum 1; lower2: their
 * dual value. *steps counts cap steps. */
cpb_status cpb_paper_cap_iteration(const cpb_working_set *set, const cpb_loops *loops, double *center,
                                   double *multiplier, double *lower2, size_t *steps);

/* SVDD. dual->point: a start, then the centre; paper: one C for all. In the report: radius, iterations (rounds), and
 * converged (within 50 rounds). */
cpb_status cpb_paper_cap_svm(cpb_capped_dual *dual, bool paper, cpb_svdd_report *report);

/* The same in the feature space, on Gram rows embedded by T8; gap: of each SVM.
 *  a        n multipliers of the last SVM
 *  center   n coefficients >= 0 of sum 1: c = sum center_i phi(x_i) */
cpb_status cpb_paper_kernel_cap_svm(cpb_kernel_rows *rows, double gap, bool paper, double *a, double *center,
                                    cpb_svdd_report *report, cpb_error *error);

#endif
