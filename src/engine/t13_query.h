/* T13: queries as caps, and distances from the scores of their rows. */
#ifndef CPB_ENGINE_T13_QUERY_H
#define CPB_ENGINE_T13_QUERY_H

#include "capball/query.h"

/* p(q,r), b and sigma of one query; x: d doubles, finite, cap->p: d+1 doubles. */
cpb_status cpb_query_cap(const cpb_map *map, const double *x, double r, cpb_cap *cap, cpb_error *error);

/** norms[i] = |W(q_i-m)|, called `norm` below. EROW: a row with NaN or inf. */
cpb_status cpb_query_norms(const cpb_map *map, cpb_view queries, double *norms, const cpb_exec *exec,
                           cpb_error *error);

/** cpb_query_caps for balls of one radius. */
cpb_status cpb_query_balls(const cpb_map *map, cpb_view queries, double r, cpb_out p, const cpb_exec *exec,
                           cpb_error *error);

/** |x-q| from the score of p(q,r): |x-q|^2 = r^2 + (2 s^2/rise) (b-score)/a, never below 0.      T4 T13
 *  score  <p,y>; a cosine is the same, a cosine distance is 1-score
 *  rise   1+y0 of the row, by cpb_rise
 *  An error e of the score is one of 2 s^2 e/(rise a) in the square. NaN outside the domain. */
double cpb_query_distance(double norm, double r, double s, double score, double rise);

#endif
