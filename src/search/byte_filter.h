/* The candidate filter in bytes. It excludes rows that cannot be answers: the scaled rows and queries of
 * float_filter.h are centred and rounded to integer grids, and the length of each rounding residual is stored:
 *
 *   x' - m = h i + e,  |e| <= E          i integers -127..127, h the step of a run of rows of similar reach
 *   q' - p = g j + f,  |f| <= F          j likewise, g the step of a panel of queries of similar reach
 *   p = i j                              exact, by the loop for bytes
 *
 *   L2, COSINE   m = p   | |x'-q'| - |h i - g j| | <= E + F            |h i - g j|^2 = h^2 ii + g^2 jj - 2hg p
 *   IP                   | <x',q'> - hg p - <x'-m,p> - <m,q'> | <= E |q'-p| + F |h i|
 * (Cosines use rows of length 1: |x'-q'|^2 = 2 - 2 cos.) Rows of bytes are integers already, except for the cosine:
 * h = 1, E = 0, and queries of bytes have F = 0. E includes the rounding errors of single precision.
 *
 * A bound is the largest distance at which a row can matter, in the unit of float_filter.h: |x'-q'|, or -<x',q'>. */
#ifndef CPB_SEARCH_BYTE_FILTER_H
#define CPB_SEARCH_BYTE_FILTER_H

#include <stdbool.h>

#include "base/memory.h"
#include "search/float_filter.h"

/* What the centre and the grids depend on; NONE: not computed yet. */
typedef enum cpb_byte_filter_kind {
  CPB_BYTE_FILTER_NONE = 0,
  CPB_BYTE_FILTER_FLOATS = 1,
  CPB_BYTE_FILTER_U8 = 2,
  CPB_BYTE_FILTER_I8 = 3,
} cpb_byte_filter_kind;

/* The queries of a panel. */
typedef struct cpb_byte_filter_panel {
  double step;                     /* g */
  double square[CPB_BYTES_COLS];   /* g^2 jj */
  double rest[CPB_BYTES_COLS];     /* F; L2: plus the grain of the query */
  double length[CPB_BYTES_COLS];   /* IP: |q'-p|, plus a part of |q'| for the error of values in double */
  double constant[CPB_BYTES_COLS]; /* IP: <m,q'> */
  double loose[CPB_BYTES_COLS];    /* IP: error bound of `constant`, plus the grain */
  cpb_query_scale query_scale[CPB_BYTES_COLS]; /* converts values to bounds */
  bool exact[CPB_BYTES_COLS];                  /* of rows of bytes: the query is on their grid, too */
} cpb_byte_filter_panel;

/* Rows that share a step. */
typedef struct cpb_byte_filter_run {
  size_t first, count;
  double step;         /* h */
  double rest, length; /* the largest of its rows, ignoring those out of range */
} cpb_byte_filter_run;

/* A row, in run order. */
typedef struct cpb_byte_filter_row {
  double square;   /* h^2 ii */
  double rest;     /* E; inf for a row out of range for single precision, which always passes */
  double length;   /* IP: |h i| */
  double constant; /* IP: <x'-m,p> */
  double loose;    /* IP: error bound of `constant` */
} cpb_byte_filter_row;

typedef struct cpb_byte_filter {
  const cpb_float_filter *float_filter;
  size_t words, panel_count;
  cpb_byte_filter_kind kind;
  bool fails;         /* a sample shows that bytes cannot separate the nearest rows: no grids are built */
  double error;       /* relative error of values that are measured in double */
  double root;        /* of the number of columns */
  double usual_reach; /* typical reach of rows about the centre */
  float *center;      /* m, and as many zeros */
  double *opposite;   /* p */
  double center_size, opposite_size, product; /* |m|, |p|, <m,p> */
  uint8_t *codes_of_queries;
  cpb_byte_filter_panel *panels;

  /* the current block of rows */
  size_t run_rows, run_count;
  cpb_view next;   /* rows of floats that are prefetched while the codes are computed; may be none */
  size_t group;    /* rows whose codes are interleaved by lines: CPB_BYTES_GROUP, or more than a run */
  float *numbers;  /* x' of rows that are not floats, in whole lines; reusable once rows are described */
  float *reach;    /* largest component; inf for rows out of range */
  float *rounded;  /* bound on the single-precision rounding of a row */
  uint32_t *order; /* row order[i] of the block is at position i of the runs */
  int8_t *codes;
  cpb_gridded *gridded;
  cpb_byte_filter_row *rows;
  float *part;    /* the part of the start that is divided by g: -h ii / 2, or <x'-m,p> / h */
  int32_t *whole; /* the integer part of the start */
  cpb_byte_filter_run *runs;
  cpb_memory memory; /* of the arrays above, except the numbers of a search */
} cpb_byte_filter;

/* The queries, in panel order. */
typedef struct cpb_byte_filter_queries {
  size_t n;
  const double *q; /* n x d */
  const cpb_query_scale *query_scale;
  const size_t *order; /* query order[i] is in slot i */
  size_t k;            /* rows wanted per query; 0: build the grids in any case */
  size_t room;         /* how many rows of a block of block_rows can be deferred */
  size_t block_rows;
} cpb_byte_filter_queries;

/* For this many queries; false if out of memory. */
bool cpb_byte_filter_new(cpb_byte_filter *filter, const cpb_float_filter *float_filter, size_t queries);
void cpb_byte_filter_free(cpb_byte_filter *filter);

/* Call before comparing rows: chooses the centre of the rows and puts the queries on grids, unless that has been done
 * for rows of this kind. Unless `fails`, space for a block is then allocated. False if out of memory. */
bool cpb_byte_filter_prepare(cpb_byte_filter *filter, cpb_view rows, const cpb_byte_filter_queries *queries);

/* The same for rows that are kept (search/index_object.h): the centre is chosen by a sample of them, without queries, whose own
 * centre is 0 under IP. False without memory. */
bool cpb_byte_filter_prepare_rows(cpb_byte_filter *filter, cpb_view sample);

/* The same centres again, from `center` and what was chosen with it. */
void cpb_byte_filter_restore(cpb_byte_filter *filter, cpb_byte_filter_kind kind, double usual_reach);

/* Gives the copy of a filter, which shares its centres, memory of its own: for blocks of rows of a type and their
 * numbers if they are stored, in runs of run_rows, and for the codes of one run. False without memory. */
bool cpb_byte_filter_room(cpb_byte_filter *filter, cpb_dtype dtype, size_t block_rows, size_t run_rows);

/* A step for the queries of a panel, and these on the grid of a step. */
double cpb_byte_filter_step(const cpb_byte_filter *filter, const cpb_byte_filter_queries *queries,
                            size_t panel);
void cpb_byte_filter_grid(cpb_byte_filter *filter, const cpb_byte_filter_queries *queries, size_t panel,
                          double step);

/* A block of rows, block.rows of them, in three steps: rows [first, first+count) as numbers, in any parts; the
 * order of the runs; runs as codes, in any order, those of a run from row `place` of `codes` on, where a group begins.
 * fault[i] is 0 or the fault of a row. */
void cpb_byte_filter_numbers(cpb_byte_filter *filter, cpb_view block, size_t first, size_t count, int *fault);
void cpb_byte_filter_order(cpb_byte_filter *filter, size_t count);
void cpb_byte_filter_codes(cpb_byte_filter *filter, cpb_view block, size_t run, size_t place);

/* What bounds need, of the rows of a run that has codes. */
void cpb_byte_filter_describe(cpb_byte_filter *filter, cpb_view block, size_t run);

/* The bound of rows whose value, measured in double with this relative error, is at least as near as `value`. */
double cpb_bound_of_value(cpb_metric metric, double error, const cpb_query_scale *query_scale, double value);

/* The relative error of values of rows of d columns. */
static inline double cpb_value_error(size_t d) { return ((double)d + 32) * 0x1p-51; }

/* The same for a slot. */
double cpb_byte_filter_bound(const cpb_byte_filter *filter, size_t slot, double value);

/* Where the sums of a run's rows start for a panel, and above what they are within bounds. */
void cpb_byte_filter_starts(const cpb_byte_filter *filter, const cpb_byte_filter_run *run, size_t panel,
                            int32_t *start);
void cpb_byte_filter_thresholds(const cpb_byte_filter *filter, const cpb_byte_filter_run *run, size_t panel,
                                size_t first, size_t count, const double *bound, int32_t *threshold);

/* Lower and upper bound of a row, given its product i j. */
typedef struct cpb_byte_filter_span {
  float nearest, farthest;
} cpb_byte_filter_span;
cpb_byte_filter_span cpb_byte_filter_look_at(const cpb_byte_filter *filter, double step,
                                             const cpb_byte_filter_row *row, size_t slot, double product);

/* The value of such a row for a query that is exact. */
double cpb_byte_filter_value(const cpb_byte_filter *filter, const cpb_byte_filter_row *row, size_t slot,
                             double product);

#endif
