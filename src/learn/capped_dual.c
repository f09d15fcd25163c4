/* The iteration, and the error of its bounds.
 *
 * Every sum over the rows is accurate to unit_error times its size, which follows from the lengths of its chains of
 * additions. A column's height and point are two such sums, so that the hull's value is that of feasible multipliers
 * up to `doubt`; subtracting it makes `lower` a bound of the exact maximum. Sizes stay small because origin is the
 * mean of the rows: it and every mean of a filling are within sqrt(maximum) of the best point. */
#include "learn/capped_dual_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "parallel/tell.h"

enum { STALLS = 3, MARGIN_FROM = 12, MARGIN_ROWS = 512 };

typedef cpb_capped_solver solver;

/* ---- the multipliers of the result ---- */

static bool in_hull(const cpb_hull *hull, uint64_t tag) {
  for (size_t k = 0; k < hull->count; k++)
    if (hull->tag[k] == tag) return true;
  return false;
}

static cpb_status room_for_filling(solver *s) {
  if (s->filling_count < s->filling_room) return CPB_OK;
  size_t room = 2 * s->filling_room + 8;
  cpb_filling *more = realloc(s->fillings, room * sizeof *more);
  if (more == NULL) return CPB_ENOMEM;
  s->fillings = more;
  s->filling_room = room;
  return CPB_OK;
}

static void filling_free(cpb_filling *one) {
  free(one->bits);
  free(one->parts);
}

static void forget_unused(solver *s) {
  size_t kept = 0;
  for (size_t k = 0; k < s->filling_count; k++)
    if (in_hull(&s->hull, s->fillings[k].tag))
      s->fillings[kept++] = s->fillings[k];
    else
      filling_free(&s->fillings[k]);
  s->filling_count = kept;
}

/* ---- bounds ---- */

static double lower_bound(const solver *s) {
  if (!s->dual->squares) return s->hull.value;
  return cpb_hull_proven(&s->hull, s->doubt, s->unit_error, s->dual->x.rows);
}

/* Enters a column into the hull; its multipliers are stored as long as it is there. */
static cpb_status enter(solver *s, cpb_filling made, cpb_margin_column column, bool *better) {
  cpb_capped_dual *dual = s->dual;
  cpb_status status = room_for_filling(s);
  if (status != CPB_OK) {
    filling_free(&made);
    return status;
  }
  made.tag = s->filling_tag++;
  s->fillings[s->filling_count++] = made;
  s->doubt = fmax(s->doubt, 2 * s->unit_error * column.size);
  status = cpb_hull_enter(&s->hull, column.p, column.q, made.tag, better);
  dual->lower = fmax(dual->lower, lower_bound(s));
  forget_unused(s);
  return status;
}

/* A copy of the present filling, including its bits. */
static cpb_status keep_filling(const solver *s, cpb_filling *made) {
  size_t words = (s->dual->x.rows + 63) / 64;
  *made = (cpb_filling){.bits = malloc(words * sizeof *made->bits), .parts = malloc(sizeof *made->parts)};
  if (made->bits == NULL || made->parts == NULL) {
    filling_free(made);
    return CPB_ENOMEM;
  }
  memcpy(made->bits, s->now.bits, words * sizeof *made->bits);
  made->part_count = 1;
  made->parts[0] = (cpb_scored){s->now.edge_weight, cpb_capped_name(s, s->now.edge)};
  return CPB_OK;
}

/* ---- the iteration ---- */

static cpb_status solver_init(solver *s, cpb_capped_dual *dual) {
  size_t n = dual->x.rows, d = dual->x.cols, blocks = n / CPB_CAPPED_BLOCK + 1;
  *s = (solver){.dual = dual, .n = n, .d = d, .x = dual->x, .last_edge = NAN};
  s->unit_error = cpb_sum_error(d, n / CPB_CAPPED_BLOCK);
  s->margin_rows = MARGIN_ROWS + 4 * d;
  s->score = malloc(n * sizeof *s->score);
  s->candidates = malloc(n * sizeof *s->candidates);
  s->center = malloc(4 * d * sizeof *s->center);
  s->partial = malloc(blocks * 2 * d * sizeof *s->partial);
  s->sums = malloc(blocks * sizeof *s->sums);
  s->now.bits = malloc((n + 63) / 64 * sizeof *s->now.bits);
  s->blocks = n / CPB_CAPPED_BLOCK + (n % CPB_CAPPED_BLOCK != 0);
  bool whole = s->score != NULL && s->candidates != NULL && s->center != NULL && s->partial != NULL &&
               s->sums != NULL && s->now.bits != NULL;
  if (whole) s->now.column = s->center + d;
  cpb_status status = cpb_hull_init(&s->hull, dual->loops, d, 1);
  return whole ? status : CPB_ENOMEM;
}

static void solver_free(solver *s) {
  for (size_t k = 0; k < s->filling_count; k++) filling_free(&s->fillings[k]);
  for (size_t k = 0; k < s->decision_count; k++) free(s->decisions[k].point);
  free(s->decisions);
  free(s->fillings);
  free(s->copies);
  free(s->caps);
  free(s->name);
  free(s->full.column);
  free(s->full.bits);
  free(s->score);
  free(s->candidates);
  free(s->center);
  free(s->partial);
  free(s->sums);
  free(s->now.bits);
  cpb_hull_free(&s->hull);
}

static void keep_best(solver *s, const double *point) {
  cpb_capped_dual *dual = s->dual;
  dual->upper = s->now.value;
  dual->edge = s->now.edge_score;
  memcpy(dual->point, point, s->d * sizeof *point);
  if (dual->center != NULL) memcpy(dual->center, s->center, s->d * sizeof *s->center);
}

static bool close_enough(const cpb_capped_dual *dual) {
  double size = dual->squares ? dual->upper : fabs(dual->lower);
  return dual->upper - dual->lower <= dual->gap * size;
}

/* A start that is farther from the mean than the rows are does not help, and its numbers are large. */
static bool begin_at_mean(const solver *s, double *point) {
  double norm2 = s->dual->loops->dot(point, point, s->d);
  if (!s->dual->squares || s->hull.count > 0 || norm2 <= s->now.value / 2) return false;
  memset(point, 0, s->d * sizeof *point);
  return true;
}

static bool time_for_margin(const solver *s) {
  return s->dual->squares && s->hull.count > 0 && s->dual->iterations >= MARGIN_FROM;
}

static cpb_status improve(solver *s, bool *better) {
  cpb_filling made;
  bool improved = false;
  cpb_margin_column column = {.p = s->center + 3 * s->d};
  cpb_status status = cpb_capped_improve(s, &made, &column);
  if (status != CPB_OK) {
    filling_free(&made);
    return status;
  }
  status = enter(s, made, column, &improved);
  *better = *better || improved;
  return status;
}

static cpb_status enter_filling(solver *s, bool *better) {
  bool improved = false;
  cpb_filling made;
  cpb_margin_column column = {s->now.column, s->now.height, s->now.size};
  cpb_status status = keep_filling(s, &made);
  if (status == CPB_OK) status = enter(s, made, column, &improved);
  *better = *better || improved;
  return status;
}

/* Scores at `point`, updates the bounds, and enters the new column into the hull. */
static cpb_status iterate(solver *s, double *point, bool *done, bool *better) {
  cpb_capped_dual *dual = s->dual;
  cpb_capped_score(s, point);
  cpb_capped_fill(s, point);
  dual->iterations++;
  bool best = s->now.value < dual->upper;
  if (best) keep_best(s, point);
  *done = s->hull.count > 0 && close_enough(dual);
  if (*done || begin_at_mean(s, point)) return CPB_OK;
  if (s->hull.count == 0 && dual->squares && s->now.value > 0) s->hull.unit = sqrt(s->now.value);
  *better = false;
  cpb_status status = time_for_margin(s) ? improve(s, better) : CPB_OK;
  if (status == CPB_OK) status = enter_filling(s, better);
  if (status != CPB_OK) return status;
  if (dual->squares && s->hull.count > 0 && best) cpb_capped_leave_decided(s, point);
  s->moved = sqrt(dual->loops->dist2(point, s->hull.point, s->d)) * (1 + 1e-9);
  memcpy(point, s->hull.point, s->d * sizeof *point);
  return CPB_OK;
}

/* The best point must be checked against all rows if those left out may matter there. */
static bool must_look_again(solver *s, double *point) {
  if (cpb_capped_decisions_hold(s, s->dual->point)) return false;
  cpb_capped_take_all_back(s);
  s->dual->upper = INFINITY;
  memcpy(point, s->dual->point, s->d * sizeof *point);
  return true;
}

double cpb_gap_progress(double gap, double wanted) {
  if (!(gap < 1)) return 0;
  wanted = fmax(wanted, 1e-15);
  return gap <= wanted ? 1 : cpb_log(gap) / cpb_log(wanted);
}

static cpb_status run(solver *s) {
  cpb_capped_dual *dual = s->dual;
  double *point = s->center + 2 * s->d;
  bool done = false, better;
  int stalls = 0;
  double told = 0;
  cpb_status status = CPB_OK;
  memcpy(point, dual->point, s->d * sizeof *point);
  while (status == CPB_OK) {
    bool over = done || dual->iterations >= dual->max_iterations || stalls >= STALLS;
    if (over && !must_look_again(s, point)) break;
    better = true;
    told = fmax(told, cpb_gap_progress((dual->upper - dual->lower) / dual->upper, dual->gap));
    status = cpb_exec_tell(dual->exec, told, dual->error);
    if (status == CPB_OK) status = iterate(s, point, &done, &better);
    stalls = better ? 0 : stalls + 1;
  }
  if (status == CPB_OK && dual->multipliers != NULL) cpb_capped_multipliers(s, dual->multipliers);
  return status;
}

cpb_status cpb_capped_dual_solve(cpb_capped_dual *dual) {
  solver s;
  cpb_status status = solver_init(&s, dual);
  dual->upper = INFINITY;
  dual->lower = -INFINITY;
  dual->iterations = 0;
  if (status == CPB_OK) status = run(&s);
  solver_free(&s);
  return status;
}
