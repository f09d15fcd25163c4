/* Bytes decide which rows cannot be answers. Rows and queries, as the screen has them (screen.h), are taken
 * about a centre and rounded to grids, with the length of what rounding left kept for each:
 *
 *   x' - m = h i + e,  |e| <= E          i whole numbers -127..127, h the step of a run of rows of like reach
 *   q' - p = g j + f,  |f| <= F          j the same, g the step of a panel of queries of like reach
 *   p = i j                              exact, by the loop for bytes
 *
 *   L2, COSINE   m = p   | |x'-q'| - |h i - g j| | <= E + F            |h i - g j|^2 = h^2 ii + g^2 jj - 2hg p
 *   IP                   | <x',q'> - hg p - <x'-m,p> - <m,q'> | <= E |q'-p| + F |h i|
 * (the cosine is that of rows of length 1: |x'-q'|^2 = 2 - 2 cos.) Rows of bytes are whole numbers already, but
 * for the cosine: h = 1, E = 0, and queries of bytes have F = 0. Whatever single precision rounds is in E.
 *
 * A bound is how far away a row may be to matter, in the unit of the screen: |x'-q'|, or -<x',q'>. */
#ifndef CPB_SEARCH_SIEVE_H
#define CPB_SEARCH_SIEVE_H

#include <stdbool.h>

#include "search/screen.h"

/* What the centre and the grids depend on; NONE: not made yet. */
typedef enum cpb_sieve_kind {
  CPB_SIEVE_NONE = 0,
  CPB_SIEVE_FLOATS = 1,
  CPB_SIEVE_U8 = 2,
  CPB_SIEVE_I8 = 3,
} cpb_sieve_kind;

/* Queries of a panel. */
typedef struct cpb_sieve_panel {
  double step;                     /* g */
  double square[CPB_BYTES_COLS];   /* g^2 jj */
  double rest[CPB_BYTES_COLS];     /* F; L2: and the grain of the query */
  double length[CPB_BYTES_COLS];   /* IP: |q'-p|, and a little of |q'| for what is measured in double */
  double constant[CPB_BYTES_COLS]; /* IP: <m,q'> */
  double loose[CPB_BYTES_COLS];    /* IP: what that may be off, and the grain */
  cpb_asked asked[CPB_BYTES_COLS]; /* of a bound */
} cpb_sieve_panel;

/* Rows of one step. */
typedef struct cpb_sieve_run {
  size_t first, count;
  double step;         /* h */
  double rest, length; /* the largest of its rows, those too far out aside */
} cpb_sieve_run;

/* A row, in the order of the runs. */
typedef struct cpb_sieve_row {
  size_t row;      /* which of the block */
  double square;   /* h^2 ii */
  double rest;     /* E; inf for a row too far out for single precision: nobody overlooks it */
  double length;   /* |h i| */
  double constant; /* IP: <x'-m,p> */
  double loose;    /* IP: what that may be off */
} cpb_sieve_row;

typedef struct cpb_sieve {
  const cpb_screen *screen;
  size_t words, panel_count;
  cpb_sieve_kind kind;
  bool fails;         /* by a sample, bytes will not tell the nearest rows from others: there are no grids */
  double error;       /* of values measured in double, relative */
  double usual_reach; /* of rows about the centre */
  float *center;      /* m */
  double *opposite;   /* p */
  double center_size, opposite_size;
  uint8_t *codes_of_queries;
  cpb_sieve_panel *panels;

  /* a block of rows */
  size_t run_rows, run_count;
  float *numbers; /* x'-m, whole lines to a row; the caller's, who may use them again once rows are codes */
  float *reach;   /* largest number; inf for rows too far out */
  float *rounded; /* what single precision may have taken from a row */
  int8_t *codes;
  cpb_sieve_row *rows;
  float *part;    /* of the start, of which 1/g is taken: -h ii / 2, or <x'-m,p> / h */
  int32_t *whole; /* of the start */
  cpb_sieve_run *runs;
} cpb_sieve;

/* The queries in the order of the panels. */
typedef struct cpb_sieve_queries {
  size_t n;
  const double *q; /* n x d */
  const cpb_asked *asked;
  const size_t *order; /* at slot i is query order[i] */
  size_t k;            /* rows are wanted for each, 0: grids are made in any case; .. */
  size_t room;         /* .. of a block of block_rows so many may wait to be measured */
  size_t block_rows;
} cpb_sieve_queries;

/* For so many queries; false without memory. */
bool cpb_sieve_new(cpb_sieve *sieve, const cpb_screen *screen, size_t queries);
void cpb_sieve_free(cpb_sieve *sieve);

/* Before rows are looked at: chooses their centre and puts the queries on grids, unless that has been done for
 * rows like these. Unless `fails`, there is room for a block from then on. False without memory. */
bool cpb_sieve_prepare(cpb_sieve *sieve, cpb_view rows, const cpb_sieve_queries *queries);

/* The same for rows that are kept (src/index): the centre is chosen by a sample of them, without queries, whose own
 * centre is 0 under IP. False without memory. */
bool cpb_sieve_prepare_rows(cpb_sieve *sieve, cpb_view sample);

/* The same centres again, from `center` and what was chosen with it. */
void cpb_sieve_restore(cpb_sieve *sieve, cpb_sieve_kind kind, double usual_reach);

/* Room for blocks of rows and their numbers, in runs of run_rows; false without memory. */
bool cpb_sieve_room(cpb_sieve *sieve, size_t block_rows, size_t run_rows);

/* A step for the queries of a panel, and these on the grid of a step. */
double cpb_sieve_step(const cpb_sieve *sieve, const cpb_sieve_queries *queries, size_t panel);
void cpb_sieve_grid(cpb_sieve *sieve, const cpb_sieve_queries *queries, size_t panel, double step);

/* A block of rows, block.rows of them, in three steps: rows [first, first+count) as numbers, in any parts; the
 * order of the runs; runs as codes, in any order. fault[i] is 0 or the fault of a row. */
void cpb_sieve_numbers(cpb_sieve *sieve, cpb_view block, size_t first, size_t count, int *fault);
void cpb_sieve_order(cpb_sieve *sieve, size_t count);
void cpb_sieve_codes(cpb_sieve *sieve, cpb_view block, size_t run);

/* The bound of rows that, as measured in double, are at least as near as `value`. */
double cpb_sieve_bound(const cpb_sieve *sieve, size_t slot, double value);

/* What a row adds to its sums for a panel of 1/step `per_step`; too high, never too low. */
static inline int32_t cpb_sieve_rise(float part, float per_step) {
  const float most = 0x1p28f;
  float rise = part * per_step;
  rise += fabsf(rise) * 0x1p-21f + 1;
  rise = rise > -most ? rise : -most;
  rise = rise < most ? rise : 0x1p30f;
  return (int32_t)rise;
}

/* Where the sums of a run's rows start for a panel, and above what they are within bounds. */
void cpb_sieve_starts(const cpb_sieve *sieve, const cpb_sieve_run *run, size_t panel, int32_t *start);
void cpb_sieve_thresholds(const cpb_sieve *sieve, const cpb_sieve_run *run, size_t panel, size_t first,
                          size_t count, const double *bound, int32_t *threshold);

/* Between which bounds a row of the block's order lies that has this product i j + 128 sum of i. */
typedef struct cpb_sieve_span {
  float nearest, farthest;
} cpb_sieve_span;
cpb_sieve_span cpb_sieve_look(const cpb_sieve *sieve, double step, size_t at, size_t slot, int32_t product);

/* The same for any row, of the product i j. */
cpb_sieve_span cpb_sieve_look_at(const cpb_sieve *sieve, double step, const cpb_sieve_row *row, size_t slot,
                                 double product);

#endif
