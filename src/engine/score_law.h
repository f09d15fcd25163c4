/* Distances from an engine's rows and scores, on the sphere and under the exact lifts of L2. */
#ifndef CPB_ENGINE_SCORE_LAW_H
#define CPB_ENGINE_SCORE_LAW_H

#include "capball/transform.h"
#include "capball/view.h"

/* Distances from an engine's rows and scores, on the sphere and under the exact lifts of L2.                 T13
 *
 *   sphere        |x-q|^2 = s^2 |y-S(q)|^2/((1+y0)(1+q0))           scores as in t13_certificate.c
 *   lift-ip       x-m = L y',     <p,y> = (|z|^2 - |x-q|^2/L^2)/2,           z = (q-m)/L
 *   lift-cosine   x-m = L M y',   <p,y> = (|z|^2 - |x-q|^2/L^2)/(2 M sqrt(|z|^2+1/h^2))
 * "norm" is |W(q-m)| on the sphere and |z| under a lift. */

typedef struct cpb_score_law {
  const cpb_map *map; /* NULL under a lift */
  const cpb_transform *lift;
  size_t d, cols;
  double r; /* radius of the queries on the sphere; 0: points */
} cpb_score_law;

/* EINVAL if rows of this kind do not determine distances. */
cpb_status cpb_score_law_of_transform(cpb_score_law *law, const cpb_transform *transform, double r,
                                      cpb_error *error);

/* n norms, and the n x cols numbers p that were sent to the engine. */
cpb_status cpb_score_law_prepare(const cpb_score_law *law, cpb_view queries, double *norms, double *p,
                                 const cpb_exec *exec, cpb_error *error);

/* |x-q| of every row y. EROW: a row without a distance. */
cpb_status cpb_score_law_distances(const cpb_score_law *law, cpb_view query, cpb_view rows, double *distances,
                                   cpb_error *error);

/* |x-q| from a score and the row y of cols doubles; NaN if undefined. */
double cpb_score_law_scored(const cpb_score_law *law, double norm, double score, const double *y);

/* Every row within D has a score above this, including all rounding errors. */
double cpb_score_law_floor(const cpb_score_law *law, double norm, double D, double row_error,
                           double score_error);

/* The largest distance of a stored row from the image of x, and the distance of y from the surface of the images. */
double cpb_score_law_row_error(const cpb_score_law *law, cpb_dtype dtype);
double cpb_score_law_off(const cpb_score_law *law, const double *y);

/* The largest product of a query of this norm; errors of scores are proportional to it. */
double cpb_score_law_size(const cpb_score_law *law, double norm);

#endif
