/* T13: the certificate that no other row is nearer; for norm, r, s and D see capball/query.h. */
#ifndef CPB_ENGINE_T13_CERTIFICATE_H
#define CPB_ENGINE_T13_CERTIFICATE_H

#include "capball/query.h"

/** sin^2 h, a quarter of the largest |p(q,r)-y|^2 over the rows y of the ball |x-q| <= D: the smallest score
 *  there is 1 - 2 sin^2 h; 1 once the ball holds the antipode of p.                              T13
 *  norm, r, D >= 0, D may be inf; s > 0. NaN outside the domain.
 *  The error of h is below 8u (1 + (norm+r+D)/s), of sin^2 h below 64u of itself for norm, r, D <= s. */
double cpb_query_reach(double norm, double r, double s, double D);

/** The largest error of a score relative to <p,y> for the stored y, if the engine computes in f32, in any order, and
 *  divides by lengths: 2(d+4) 2^-24, plus 4 roundings of scores in f32 or f16. Engines that quantise have larger ones. */
double cpb_query_score_error(size_t d, cpb_dtype scores);

/** The certificate: every row whose x is within D of q has a score above this floor. So if an engine returned its
 *  true top C candidates, D is the k-th distance among them and the C-th score is below the floor, then no other row
 *  is as near as the k-th: the k nearest are among the C.                                        T13
 *  D            a distance from cpb_query_distances; the floor allows for its error
 *  row_error    of the stored rows, score_error of the scores, as above
 *  -inf if nothing can be concluded, NaN outside the domain. */
double cpb_query_floor(const cpb_map *map, double norm, double r, double D, double row_error,
                       double score_error);

/** Whether an engine that keeps its promise has left out no row that scores as high as `least`, the floor: it returned
 *  all the rows it has, or as many as were requested, the lowest of which scores below the floor.
 *  found, count, rows   returned; requested; that it has
 *  lowest               score of a returned row, plus its error; NaN proves nothing */
bool cpb_query_proves(uint64_t found, uint64_t count, uint64_t rows, double lowest, double least);

/** counts[i] += the number of rows with <p_i,y> >= limits[i], products in double: with the floor as limit,
 *  the number of rows that prevent a certificate.
 *  p       n rows of d+1, any dtype; rows any number of rows of d+1
 *  EROW: a row with NaN or inf; the counts are then unchanged. */
cpb_status cpb_query_count(cpb_view p, const double *limits, cpb_view rows, uint64_t *counts,
                           const cpb_exec *exec, cpb_error *error);

#endif
