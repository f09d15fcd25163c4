/* The levels of a fold after the first: codes of a row in whole cache lines, and how queries are compared with them.
 *
 * A level adds numbers y to those of the level before, and replaces its rho. Level 0 is coded as byte_filter.h says; here a row has
 * a step h of its own:
 *
 *   y = h i + e,    |numbers up to this level - coded ones| <= E        i integers -127..127; rho is a float
 *
 * A query has steps of its own, too, and finer codes where it is compared with one row at a time:
 *
 *   y_q = g j + f,  |numbers of the query - coded ones| <= F
 *
 * With s the squared distance of coded numbers, or minus their product, a row is not an answer if
 *
 *   L2, COSINE   sqrt(s) > bound + E + F
 *   IP           s > bound + E |q'| + F |coded row| */
#ifndef CPB_SEARCH_T15_RECORD_H
#define CPB_SEARCH_T15_RECORD_H

#include "search/byte_filter.h"
#include "search/t15_fold.h"

/* What a record begins with; its codes follow, padded with zeros. */
typedef struct cpb_record {
  float rho, step; /* h */
  float rest;      /* E; inf for a row that must always be measured */
  int32_t squares; /* ii * 256, plus the code of the rho of level 0, plus 128 */
} cpb_record;

enum { CPB_RECORD_LINE = 64 };

static inline size_t cpb_record_bytes(const cpb_fold *fold, size_t level) {
  size_t bytes = sizeof(cpb_record) + cpb_fold_count(fold, level);
  return (bytes + CPB_RECORD_LINE - 1) / CPB_RECORD_LINE * CPB_RECORD_LINE;
}

/* The codes of a row at level 0: the length of their rounding residual, and the code of rho. */
typedef struct cpb_record_before {
  double rest;
  int rho;
} cpb_record_before;

/* Writes the record of a level >= 1, given all numbers of the row, and adds its rounding to `before`. */
void cpb_record_write(const cpb_fold *fold, size_t level, const float *numbers, const float *error,
                      cpb_record_before *before, void *record);

/* A query at a level. */
typedef struct cpb_record_query {
  double step, square; /* g, g^2 jj */
  double rest;         /* F, and under L2 the grain of the query */
  double length;       /* IP: |q'|, plus a part for the error of values in double */
  double rho;
  int16_t *codes; /* of level >= 1, as many as a record has room for */
} cpb_record_query;

/* All levels of a query. */
typedef struct cpb_fold_asked {
  const cpb_fold *fold;
  cpb_record_query level[CPB_FOLD_LEVELS];
  int8_t first[CPB_BYTES_LINE]; /* codes of level 0, .. */
  int32_t start;                /* .. and -128 times their sum */
  int rho;                      /* its code of rho, */
  double center, first_rho;     /* the centre of rho, and rho about it */
  double constant, loose;       /* IP: <m,q'>, and the error bound of all that is not coded */
} cpb_fold_asked;

/* Numbers of int16_t that the codes of a query take, which follow each other. */
size_t cpb_fold_asked_codes(const cpb_fold *fold);
/* Of the numbers of the query, with the centre of level 0. */
void cpb_fold_ask(const cpb_fold *fold, const cpb_byte_filter *filter, const float *numbers,
                  const float *error, double grain, int16_t *codes, cpb_fold_asked *asked);

/* A row that is compared level by level. */
typedef struct cpb_fold_passed {
  double s;      /* of the level so far, then a lower bound of the distance, or of minus the product */
  double slack;  /* by how much s may be too large */
  double length; /* at least |coded row| */
  size_t at;
} cpb_fold_passed;

/* The factors by which products of codes and terms become keys, which differ from s by a constant. */
void cpb_fold_key_factors(const cpb_fold_asked *asked, const cpb_byte_filter_run *run, float *of_sum,
                          float *of_term);
/* What a row of a key must have passed; the largest key of rows of a run that may be within a bound. */
void cpb_fold_begin(const cpb_fold_asked *asked, const cpb_byte_filter_run *run, float key,
                    cpb_fold_passed *row);
float cpb_fold_most(const cpb_fold_asked *asked, const cpb_byte_filter_run *run, double bound);

/* Rows whose records are compared at once. */
enum { CPB_FOLD_ROWS_AT_ONCE = 16 };

/* Compares rows at a level >= 1, given their records and the steps of their runs at level 0. Those that are within the bound are
 * moved to the front; returns how many they are. */
size_t cpb_fold_pass(const cpb_fold_asked *asked, size_t level, const void *const *records,
                     const double *steps, double bound, cpb_fold_passed *rows, size_t count);
/* The lower bound of a row that has passed a level: >= 1, its record; 0, the residual of its run. */
double cpb_fold_nearest(const cpb_fold_asked *asked, size_t level, double rest, const void *record,
                        const cpb_fold_passed *row);

#endif
