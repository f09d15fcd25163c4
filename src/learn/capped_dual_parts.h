/* Internals of cpb_capped_dual_solve: scores and the best filling (capped_dual_fill.c), rows near the edge
 * (capped_dual_margin.c), rows that are decided (capped_dual_rows.c), the iteration and its bounds (capped_dual.c). */
#ifndef CPB_LEARN_CAPPED_DUAL_PARTS_H
#define CPB_LEARN_CAPPED_DUAL_PARTS_H

#include "learn/capped_dual.h"
#include "learn/twofold.h"

enum { CPB_CAPPED_BLOCK = 4096, CPB_MARGIN_MOST = 4096 };

typedef struct cpb_scored {
  double score;
  size_t row;
} cpb_scored;

/* A sum of caps: a count where all are equal. */
typedef struct cpb_cap_sum {
  size_t rows;
  cpb_twofold sum;
} cpb_cap_sum;

/* Feasible multipliers: rows with a bit are full, `parts` lists the others. */
typedef struct cpb_filling {
  uint64_t tag;
  uint64_t *bits;
  size_t part_count;
  cpb_scored *parts; /* a row and, as its score, its multiplier */
} cpb_filling;

/* The column of the best filling at a point. */
typedef struct cpb_best_filling {
  size_t edge; /* the row taken in part */
  double edge_weight, edge_score;
  double value;   /* sum of multiplier times score */
  double height;  /* sum of multiplier times |p|^2 */
  double size;    /* magnitude of the numbers that were added, to which rounding errors are relative */
  double *column; /* sum of multiplier times p */
  uint64_t *bits;
} cpb_best_filling;

/* Rows known to be full: their caps, and the sums of caps times p and |p|^2. */
typedef struct cpb_full_rows {
  cpb_cap_sum cap;
  double squares;
  double *column;
  uint64_t *bits; /* over all rows */
} cpb_full_rows;

/* A decision holds for points within half its slack. */
typedef struct cpb_decision {
  double *point, slack;
} cpb_decision;

typedef struct cpb_capped_solver {
  cpb_capped_dual *dual;
  size_t n, d, blocks; /* n rows are undecided */
  cpb_view x;          /* the undecided rows: the caller's, or copies */
  double *copies;
  size_t *name; /* their numbers in the data; NULL: all rows */
  double *caps; /* their caps, once rows with individual caps were copied */
  cpb_full_rows full;
  cpb_decision *decisions;
  size_t decision_count;
  double *score;
  cpb_scored *candidates;
  double *center;  /* origin + point, where the scores were computed */
  double *partial; /* per block: twice d sums */
  double *sums;    /* per block: sum of cap times score */
  cpb_hull hull;
  cpb_filling *fillings;
  size_t filling_count, filling_room;
  uint64_t filling_tag; /* of the next */
  cpb_best_filling now;
  double moved; /* |point - the previous point|, to bracket the edge */
  double last_edge;
  size_t margin_rows; /* number of rows to use in the next margin */
  double unit_error;  /* of one sum over the rows, relative to its size */
  double doubt;       /* bound of what rounding can have added to the value of a column */
} cpb_capped_solver;

static inline double cpb_capped_cap(const cpb_capped_solver *s, size_t i) {
  const double *caps = s->caps != NULL ? s->caps : s->dual->caps;
  return caps == NULL ? s->dual->cap : caps[i];
}

static inline size_t cpb_capped_name(const cpb_capped_solver *s, size_t i) {
  return s->name == NULL ? i : s->name[i];
}

static inline void cpb_cap_sum_add(const cpb_capped_solver *s, cpb_cap_sum *to, size_t i) {
  if (s->dual->caps == NULL)
    to->rows++;
  else
    cpb_twofold_add(&to->sum, cpb_capped_cap(s, i));
}

static inline double cpb_cap_sum_value(const cpb_capped_solver *s, cpb_cap_sum of) {
  return (double)of.rows * s->dual->cap + cpb_twofold_value(of.sum);
}

/* a before b: the order in which a filling takes them. */
static inline bool cpb_scored_before(cpb_scored a, cpb_scored b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

/* Whether the present filling takes row i in full. */
static inline bool cpb_capped_is_full(const cpb_capped_solver *s, size_t i) {
  return cpb_scored_before((cpb_scored){s->score[i], i}, (cpb_scored){s->now.edge_score, s->now.edge});
}

/* to += from, then from = 0: rows are summed in groups, which keeps the error of long sums small. */
void cpb_capped_move_sum(double *from, double *to, size_t d);

/* sum += weight p_i */
void cpb_capped_add_row(const cpb_capped_solver *s, size_t row, double weight, double *sum);

/* Moves the first `count` rows of the order to the front, in any order. */
void cpb_scored_select(cpb_scored *rows, size_t n, size_t count);

/* Scores of all rows at point, which is replaced by the nearest point whose centre is a double. */
void cpb_capped_score(cpb_capped_solver *s, double *point);

/* Computes the best filling at the scores' point into s->now; marks its rows in s->now.bits. */
void cpb_capped_fill(cpb_capped_solver *s, const double *point);

/* For qsort: in that order. */
int cpb_scored_compare(const void *a, const void *b);

/* The multipliers of the hull: a mixture of its fillings, one number per row of the data. */
void cpb_capped_multipliers(const cpb_capped_solver *s, double *a);

/* A column of the hull that is not a filling; size as in cpb_best_filling. */
typedef struct cpb_margin_column {
  double *p; /* d, the caller's */
  double q, size;
} cpb_margin_column;

/* Multipliers better than the hull's, using the rows near the edge of s->now: stores them in `made`, which owns
 * them, and their column. */
cpb_status cpb_capped_improve(cpb_capped_solver *s, cpb_filling *made, cpb_margin_column *column);

/* Copies the undecided rows to replace all rows once they are fewer than half. Without memory nothing changes. */
void cpb_capped_leave_decided(cpb_capped_solver *s, const double *point);

/* Whether all decisions hold at the point. */
bool cpb_capped_decisions_hold(const cpb_capped_solver *s, const double *point);

/* Makes all rows undecided again. */
void cpb_capped_take_all_back(cpb_capped_solver *s);

#endif
