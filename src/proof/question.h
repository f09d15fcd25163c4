/* Shared by the queries of T13. */
#ifndef CPB_PROOF_QUESTION_H
#define CPB_PROOF_QUESTION_H

#include "capball/map.h"
#include "capball/view.h"

/* EINVAL unless Euclidean balls are caps under this map: pole e, no reflection. */
cpb_status cpb_check_round(const cpb_map *map, cpb_error *error);

/* EROW unless every number of the row is finite; `name` is the name of the rows in the message. */
cpb_status cpb_check_finite_row(cpb_view view, size_t row, const char *name, cpb_error *error);

/* p(q,r), b and sigma of one query; x: d doubles, finite, p: d+1 doubles. */
typedef struct cpb_question_cap {
  double b, sigma;
} cpb_question_cap;
cpb_status cpb_question_ask(const cpb_map *map, const double *x, double r, double *p, cpb_question_cap *cap,
                            cpb_error *error);

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

#endif
