/* Internals of T13: queries, distances from rows and scores, and what they prove. */
#ifndef CPB_PROOF_PROOF_PARTS_H
#define CPB_PROOF_PROOF_PARTS_H

#include "capball/exec.h"
#include "capball/map.h"
#include "capball/query.h"
#include "capball/transform.h"
#include "capball/view.h"

/* ---- The transform object, and the constants of its lifts. ---- */

struct cpb_transform {
  cpb_transform_options options;
  cpb_transform_facts facts;
  cpb_map *map;    /* of the sphere; NULL for the other kinds */
  double center[]; /* d, if there is one */
};

/* The factor from y', the first d coordinates of a base row, to x-m. */
double cpb_transform_unit(const cpb_transform *transform);

/* h and M of lift-cosine, M of the ip-lifts. */
static const double cpb_lift_h = 0x1.6a09e667f3bcdp+0, cpb_lift_roof = 1.25, cpb_lift_ip_roof = 1.03125;

/* ---- Shared by the queries of T13. ---- */

/* EINVAL unless Euclidean balls are caps under this map: pole e, no reflection. */
cpb_status cpb_check_round(const cpb_map *map, cpb_error *error);

/* EROW unless every number of the row is finite; `name` is the name of the rows in the message. */
cpb_status cpb_check_finite_row(cpb_view view, size_t row, const char *name, cpb_error *error);

/* p(q,r), b and sigma of one query; x: d doubles, finite, cap->p: d+1 doubles. */
cpb_status cpb_question_ask(const cpb_map *map, const double *x, double r, cpb_cap *cap, cpb_error *error);

/* S(q) and 1+q0 of a query, for the distances of rows. */
typedef struct cpb_question_point {
  size_t d;
  double s, rise;
  double *image; /* d+1 */
} cpb_question_point;
cpb_status cpb_question_embed(const cpb_map *map, cpb_view query, cpb_question_point *point,
                              cpb_error *error);

/* |x-q| of an embedded row y of d+1 doubles. */
double cpb_question_distance(const cpb_question_point *point, const double *y);

/* Distances from an engine's rows and scores, on the sphere and under the exact lifts of L2.                 T13
 *
 *   sphere        |x-q|^2 = s^2 |y-S(q)|^2/((1+y0)(1+q0))           scores as in t13_certificate.c
 *   lift-ip       x-m = L y',     <p,y> = (|z|^2 - |x-q|^2/L^2)/2,           z = (q-m)/L
 *   lift-cosine   x-m = L M y',   <p,y> = (|z|^2 - |x-q|^2/L^2)/(2 M sqrt(|z|^2+1/h^2))
 * "norm" is |W(q-m)| on the sphere and |z| under a lift. */

typedef struct cpb_reading {
  const cpb_map *map; /* NULL under a lift */
  const cpb_transform *lift;
  size_t d, cols;
  double r; /* radius of the queries on the sphere; 0: points */
} cpb_reading;

/* EINVAL if rows of this kind do not determine distances. */
cpb_status cpb_reading_of_transform(cpb_reading *reading, const cpb_transform *transform, double r,
                                    cpb_error *error);

/* n norms, and the n x cols numbers p that were sent to the engine. */
cpb_status cpb_reading_prepare(const cpb_reading *reading, cpb_view queries, double *norms, double *p,
                               const cpb_exec *exec, cpb_error *error);

/* |x-q| of every row y. EROW: a row without a distance. */
cpb_status cpb_reading_distances(const cpb_reading *reading, cpb_view query, cpb_view rows, double *distances,
                                 cpb_error *error);

/* |x-q| from a score and the row y of cols doubles; NaN if undefined. */
double cpb_reading_scored(const cpb_reading *reading, double norm, double score, const double *y);

/* Every row within D has a score above this, including all rounding errors. */
double cpb_reading_floor(const cpb_reading *reading, double norm, double D, double row_error,
                         double score_error);

/* The largest distance of a stored row from the image of x, and the distance of y from the surface of the images. */
double cpb_reading_row_error(const cpb_reading *reading, cpb_dtype dtype);
double cpb_reading_off(const cpb_reading *reading, const double *y);

/* The largest product of a query of this norm; errors of scores are proportional to it. */
double cpb_reading_size(const cpb_reading *reading, double norm);

/* T13: distances from scores, and the certificate that no other row is nearer. For the meaning of norm, r, s and D see
 * capball/query.h. */

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

/** sin^2 h, a quarter of the largest |p(q,r)-y|^2 over the rows y of the ball |x-q| <= D: the smallest score
 *  there is 1 - 2 sin^2 h; 1 once the ball holds the antipode of p.                              T13
 *  norm, r, D >= 0, D may be inf; s > 0. NaN outside the domain.
 *  The error of h is below 8u (1 + (norm+r+D)/s), of sin^2 h below 64u of itself for norm, r, D <= s. */
double cpb_query_reach(double norm, double r, double s, double D);

/** The largest distance from S(x) of a row stored in this type by cpb_map_embed. NaN for u8 and i8. */
double cpb_query_row_error(const cpb_map *map, cpb_dtype dtype);

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
