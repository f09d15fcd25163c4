/* T11 in pieces: the end of a round. The rows kept about the edge and the sums of those beyond it make the best
 * filling at the centre and with it both bounds; the rows kept are solved exactly beside the rest; both are
 * columns of a hull, whose point is the next centre. Where the edge was guessed wrong the weights by distance
 * say where it is. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/sized.h"
#include "learn/band.h"
#include "learn/distances.h"
#include "learn/own_rounds.h"
#include "learn/round_fail.h"
#include "learn/share_solver.h"
#include "learn/svdd_fail.h"
#include "learn/tail_parts.h"

enum { STALLS = 4, PER_OCTAVE = 16, HALF = CPB_TAIL_BINS / 2, SAFE_EXPONENT = 250 };

/* ---- round 0 ---- */

static double sum_of(const cpb_exact_sum *sum, uint64_t count) {
  cpb_exact_sum carried = *sum;
  return cpb_exact_mean(&carried, count);
}

static int unit_of_columns(const cpb_tail *tail) {
  double half = 0;
  for (size_t j = 0; j < tail->d; j++) half = fmax(half, tail->got.high[j] / 2 - tail->got.low[j] / 2);
  for (size_t j = 0; half == 0 && j < tail->d; j++) half = fmax(half, tail->got.high[j] - tail->got.low[j]);
  int exponent = half > 0 ? ilogb(half) + 1 : 0;
  return abs(exponent) < SAFE_EXPONENT ? 0 : exponent;
}

static cpb_status begin_rounds(cpb_tail *tail, cpb_error *error) {
  cpb_tail_question *ask = &tail->ask;
  double span2 = 0;
  if (tail->options.nu * (double)tail->got.rows < 1 - 1e-12)
    return cpb_fail_nu_rows(error, tail->options.nu, (size_t)tail->got.rows);
  ask->total = sum_of(&tail->got.sum[tail->d], 1);
  if (!(ask->total < INFINITY))
    return cpb_fail_domain(error, "weights", ask->total, "the sum of weights must be finite");
  ask->exponent = unit_of_columns(tail);
  for (size_t j = 0; j < tail->d; j++) {
    double mean = fmin(fmax(sum_of(&tail->got.sum[j], tail->got.rows), tail->got.low[j]), tail->got.high[j]);
    double span = cpb_scaled(tail->got.high[j], ask->exponent) - cpb_scaled(tail->got.low[j], ask->exponent);
    ask->center[j] = cpb_in_data_unit(cpb_scaled(mean + 0., ask->exponent), ask->exponent);
    tail->known.origin[j] = ask->center[j];
    span2 += span * span;
  }
  ask->octave = span2 > 0 ? ilogb(span2) + 1 : 0;
  ask->edge = 0;
  tail->known.lower = -INFINITY;
  return CPB_OK;
}

/* ---- a round as numbers ---- */

typedef struct sums {
  double weight, dist2; /* times C */
  double *p;            /* d */
} sums;

typedef struct round_sums {
  cpb_tail_rows rows; /* near the edge, the farthest first */
  double C, unit_error;
  sums beyond, upon;
  double *part;    /* of each row, in multipliers */
  double *numbers; /* what all these lie in */
  double *column, *shift;
  cpb_hull hull;
} round_sums;

static void take_sums(const cpb_tail *tail, const cpb_exact_sum *from, double C, sums *to) {
  for (size_t j = 0; j < tail->d; j++) to->p[j] = C * sum_of(&from[j], 1);
  to->weight = C * sum_of(&from[tail->d], 1);
  to->dist2 = C * sum_of(&from[tail->d + 1], 1);
}

static cpb_status round_init(round_sums *r, const cpb_tail *tail) {
  size_t d = tail->d, n = tail->got.near_edge.count;
  *r = (round_sums){.C = 1 / tail->options.nu / tail->ask.total};
  r->unit_error = (2 * (64 + (double)(d / CPB_CHUNK)) + 160 + CPB_TAIL_ROWS) * DBL_EPSILON / 2;
  r->numbers = calloc(5 * d + n + 1, sizeof *r->numbers);
  cpb_status status = cpb_hull_init(&r->hull, tail->loops, d, ldexp(1, tail->ask.octave / 2));
  if (r->numbers == NULL || status != CPB_OK) return CPB_ENOMEM;
  r->beyond.p = r->numbers;
  r->upon.p = r->numbers + d;
  r->column = r->numbers + 2 * d;
  r->shift = r->numbers + 3 * d;
  r->part = r->numbers + 5 * d;
  take_sums(tail, tail->got.sum, r->C, &r->beyond);
  take_sums(tail, tail->got.sum + d + 2, r->C, &r->upon);
  for (size_t j = 0; j < d; j++) r->shift[j] = tail->ask.center[j] - tail->known.origin[j];
  return cpb_tail_sort(&tail->got.near_edge, d, &r->rows);
}

static void round_free(round_sums *r) {
  cpb_tail_rows_free(&r->rows);
  free(r->numbers);
  cpb_hull_free(&r->hull);
}

/* ---- the filling and the upper bound ---- */

typedef enum where { EDGE_BEYOND, EDGE_WITHIN, EDGE_BELOW } where;

/* Parts of the rows kept, in order, until the multipliers add up to 1; *rest is what is missing. */
static where fill(round_sums *r, double *edge, double *rest) {
  double need = 1 - r->beyond.weight;
  for (size_t k = 0; k < r->rows.count; k++) {
    r->part[k] = fmin(fmax(need, 0), r->C * r->rows.weight[k]);
    if (r->part[k] > 0) *edge = r->rows.dist2[k];
    need -= r->part[k];
  }
  *rest = fmax(need, 0);
  if (1 - r->beyond.weight <= 0) return EDGE_BEYOND;
  return need <= 1e-12 || r->upon.weight >= need ? EDGE_WITHIN : EDGE_BELOW;
}

static double parts_value(const round_sums *r) {
  cpb_twofold value = {r->beyond.dist2, 0};
  for (size_t k = 0; k < r->rows.count; k++) cpb_twofold_add(&value, r->part[k] * r->rows.dist2[k]);
  return cpb_twofold_value(value);
}

/* tau + C sum w max(0, dist2 - tau), which is an upper bound for any tau. */
static double bound_at(const cpb_tail *tail, const round_sums *r, where edge) {
  size_t n = r->rows.count;
  double tau = tail->ask.edge, weight = r->beyond.weight, value = parts_value(r);
  if (edge == EDGE_BEYOND) {
    if (n > 0) tau = fmax(tau, r->rows.dist2[0]);
    return tau + (r->beyond.dist2 - tau * weight);
  }
  if (n > 0) tau = fmin(tau, r->rows.dist2[n - 1]);
  for (size_t k = 0; k < n; k++) weight += r->part[k];
  return value + tau * (1 - weight);
}

/* ---- columns ---- */

cpb_status cpb_tail_add_column(cpb_tail *tail, const double *p, double q, double mass) {
  cpb_tail_known *known = &tail->known;
  size_t d = tail->d, n = known->column_count;
  if (n == known->column_room) {
    size_t room = 2 * known->column_room + 8;
    double *more_p = realloc(known->p, room * d * sizeof *more_p);
    if (more_p != NULL) known->p = more_p;
    double *more_q = realloc(known->q, 2 * room * sizeof *more_q);
    if (more_p == NULL || more_q == NULL) {
      if (more_q != NULL) known->q = more_q;
      return CPB_ENOMEM;
    }
    memmove(more_q + room, more_q + known->column_room, n * sizeof *more_q);
    known->q = more_q;
    known->mass = more_q + room;
    known->column_room = room;
  }
  memcpy(known->p + n * d, p, d * sizeof *p);
  known->q[n] = q;
  known->mass[n] = mass;
  known->column_count = n + 1;
  return CPB_OK;
}

/* The column about the centre becomes one about origin and joins the hull. */
static cpb_status enter(cpb_tail *tail, round_sums *r, double q, double sum) {
  const cpb_loops *loops = tail->loops;
  double along = 2 * loops->dot(r->shift, r->column, tail->d),
         norm2 = loops->dot(r->shift, r->shift, tail->d);
  double size = q + 2 * sqrt(norm2 * loops->dot(r->column, r->column, tail->d)) + norm2;
  bool better;
  loops->axpby(1, r->column, 1, r->shift, r->column, tail->d);
  tail->known.doubt = fmax(tail->known.doubt, 2 * r->unit_error * size + fabs(sum - 1) * size);
  cpb_status status = cpb_tail_add_column(tail, r->column, q + along + norm2, 0);
  if (status != CPB_OK) return status;
  size_t k = tail->known.column_count - 1;
  return cpb_hull_enter(&r->hull, tail->known.p + k * tail->d, tail->known.q[k], k, &better);
}

/* beyond, the parts, and of the rows upon the edge what is missing. */
static cpb_status enter_parts(cpb_tail *tail, round_sums *r, double rest) {
  cpb_twofold sum = {r->beyond.weight, 0};
  double q = parts_value(r);
  memcpy(r->column, r->beyond.p, tail->d * sizeof *r->column);
  for (size_t k = 0; k < r->rows.count; k++) {
    if (r->part[k] == 0) continue;
    cpb_twofold_add(&sum, r->part[k]);
    tail->loops->axpby(r->part[k], r->rows.p + k * tail->d, 1, r->column, r->column, tail->d);
  }
  if (rest > 0 && r->upon.weight > 0) {
    double share = fmin(rest / r->upon.weight, 1);
    cpb_twofold_add(&sum, share * r->upon.weight);
    tail->loops->axpby(share, r->upon.p, 1, r->column, r->column, tail->d);
    q += share * r->upon.dist2;
  }
  return enter(tail, r, q, cpb_twofold_value(sum));
}

/* Too much weight beyond: all of it, in less than full, is feasible too. */
static cpb_status enter_beyond(cpb_tail *tail, round_sums *r) {
  for (size_t j = 0; j < tail->d; j++) r->column[j] = r->beyond.p[j] / r->beyond.weight;
  return enter(tail, r, r->beyond.dist2 / r->beyond.weight, 1);
}

static cpb_status enter_band(cpb_tail *tail, round_sums *r) {
  size_t n = r->rows.count, d = tail->d;
  double *numbers = malloc((2 * d + n) * sizeof *numbers), *cap = numbers + 2 * d;
  if (numbers == NULL) return CPB_ENOMEM;
  cpb_band band = {.loops = tail->loops,
                   .d = d,
                   .count = n,
                   .rows = r->rows.p,
                   .cap = cap,
                   .fixed = {numbers, r->beyond.dist2, r->beyond.weight},
                   .tolerance = fmax(tail->options.gap / 16, 0x1p-50),
                   .weight = r->part,
                   .point = numbers + d};
  memcpy(numbers, r->beyond.p, d * sizeof *numbers);
  for (size_t k = 0; k < n; k++) {
    cap[k] = r->C * r->rows.weight[k];
    if (r->part[k] > 0) band.first = k;
  }
  cpb_status status = cpb_band_solve(&band);
  for (size_t k = 0; k < n; k++) r->part[k] = fmin(r->part[k], cap[k]);
  free(numbers);
  return status == CPB_OK ? enter_parts(tail, r, 0) : status;
}

/* The hull of the columns kept, entered in their order. */
static cpb_status remake_hull(const cpb_tail *tail, round_sums *r) {
  cpb_status status = CPB_OK;
  bool better;
  for (size_t k = 0; status == CPB_OK && k < tail->known.column_count; k++)
    status = cpb_hull_enter(&r->hull, tail->known.p + k * tail->d, tail->known.q[k], k, &better);
  return status;
}

static void keep_columns(cpb_tail *tail, const cpb_hull *hull) {
  cpb_tail_known *known = &tail->known;
  size_t kept = 0;
  for (size_t k = 0; k < known->column_count; k++)
    for (size_t h = 0; h < hull->count; h++) {
      if (hull->tag[h] != k) continue;
      memmove(known->p + kept * tail->d, known->p + k * tail->d, tail->d * sizeof *known->p);
      known->q[kept] = known->q[k];
      known->mass[kept++] = hull->weight[h];
      break;
    }
  known->column_count = kept;
}

static double lower_bound(const cpb_tail *tail, const round_sums *r) {
  const cpb_hull *hull = &r->hull;
  if (hull->count == 0) return -INFINITY;
  double sum = hull->value + hull->loops->dot(hull->point, hull->point, hull->dim);
  double lower = cpb_hull_lower(hull) - tail->known.doubt - 4 * r->unit_error * sum;
  return lower * (1 - r->unit_error) - DBL_MIN * (double)(tail->got.rows + tail->d);
}

/* ---- the next question ---- */

/* Where a bin at a distance from the edge begins. */
static double bin_begin(const cpb_tail *tail, int at) {
  return at <= 0 ? 0
                 : ldexp(0.5 + 0.5 * (at % PER_OCTAVE) / PER_OCTAVE, at / PER_OCTAVE - 96 + tail->ask.octave);
}

/* The squared distance beyond which the share nu of the weight lies, as far as the bins tell. */
static double edge_by_bins(const cpb_tail *tail, double share) {
  double total = 0, above = 0;
  for (size_t b = 0; b < CPB_TAIL_BINS; b++) total += (double)tail->got.bins[b];
  for (size_t b = CPB_TAIL_BINS; b-- > 0;) {
    double here = (double)tail->got.bins[b];
    if (above + here < share * total || here == 0) {
      above += here;
      continue;
    }
    int at = b >= HALF ? (int)b - HALF : HALF - 1 - (int)b;
    double from = bin_begin(tail, at), to = bin_begin(tail, at + 1), part = (share * total - above) / here;
    return b >= HALF ? tail->ask.edge + (to - part * (to - from))
                     : tail->ask.edge - (from + part * (to - from));
  }
  return 0;
}

/* The edge of the rows kept as seen from the new centre, if it is still among them. */
static cpb_status edge_of_rows(cpb_tail *tail, const round_sums *r, const double *center, double *edge) {
  size_t n = r->rows.count;
  cpb_scored *order = malloc((n + 1) * sizeof *order);
  double *moved = malloc(tail->d * sizeof *moved), need = 1 - r->beyond.weight;
  if (order == NULL || moved == NULL) {
    free(order);
    free(moved);
    return CPB_ENOMEM;
  }
  tail->loops->axpby(1, center, -1, tail->ask.center, moved, tail->d);
  for (size_t k = 0; k < n; k++)
    order[k] = (cpb_scored){tail->loops->dist2(r->rows.p + k * tail->d, moved, tail->d), k};
  qsort(order, n, sizeof *order, cpb_scored_compare);
  for (size_t k = 0; k < n && need > 0; k++) {
    need -= r->C * r->rows.weight[order[k].row];
    *edge = order[k].score;
  }
  free(order);
  free(moved);
  return CPB_OK;
}

static void next_center(const cpb_tail *tail, const cpb_hull *hull, double *center) {
  for (size_t j = 0; j < tail->d; j++)
    center[j] = cpb_in_data_unit(tail->known.origin[j] + hull->point[j], tail->ask.exponent);
}

static double gap_of(const cpb_tail_known *known) {
  return known->upper > 0 ? (known->upper - fmin(fmax(known->lower, 0), known->upper)) / known->upper : 0;
}

/* The centre of the first round is a mean without weights, and may be far out: from the second on all columns
 * are about the centre of that. */
static void begin_anew(cpb_tail *tail) {
  memcpy(tail->known.origin, tail->ask.center, tail->d * sizeof *tail->known.origin);
  tail->known.column_count = 0;
  tail->known.doubt = 0;
}

static cpb_status ask_next(cpb_tail *tail, const round_sums *r, where at) {
  double *center = r->numbers + 4 * tail->d, edge = tail->ask.edge;
  bool coarse = gap_of(&tail->known) > 1e-3;
  cpb_status status = CPB_OK;
  memcpy(center, tail->ask.center, tail->d * sizeof *center);
  if (at != EDGE_BELOW && r->hull.count > 0) next_center(tail, &r->hull, center);
  if (at == EDGE_WITHIN)
    status = edge_of_rows(tail, r, center, &edge);
  else /* a little low, lest there be no column in the next round */
    edge = fmax(0, edge_by_bins(tail, fmin(1, tail->options.nu * (coarse ? 1.004 : 1))));
  memcpy(tail->ask.center, center, tail->d * sizeof *center);
  tail->ask.edge = edge;
  if (tail->ask.round == 1) begin_anew(tail);
  return status;
}

/* ---- the end of a round ---- */

static void keep_best(cpb_tail *tail, double upper, double edge) {
  if (!(upper < tail->known.upper)) return;
  tail->known.upper = upper;
  tail->known.edge = edge;
  memcpy(tail->known.best, tail->ask.center, tail->d * sizeof *tail->known.best);
}

static cpb_status solve_round(cpb_tail *tail, round_sums *r) {
  cpb_tail_known *known = &tail->known;
  double edge = tail->ask.edge, rest, upper = known->upper, lower = known->lower;
  where at = fill(r, &edge, &rest);
  bool ties = at == EDGE_WITHIN && rest > 1e-12;
  cpb_status status = remake_hull(tail, r);
  keep_best(tail, at == EDGE_WITHIN ? parts_value(r) + rest * tail->ask.edge : bound_at(tail, r, at), edge);
  if (status == CPB_OK && at == EDGE_WITHIN) status = enter_parts(tail, r, rest);
  if (status == CPB_OK && at == EDGE_BEYOND) status = enter_beyond(tail, r);
  if (status == CPB_OK && at == EDGE_WITHIN && !ties && r->rows.count > 0) status = enter_band(tail, r);
  if (status != CPB_OK) return status;
  known->lower = fmax(known->lower, lower_bound(tail, r));
  keep_columns(tail, &r->hull);
  bool better = known->upper < upper || known->lower > lower;
  known->stalls = better || at != EDGE_WITHIN ? 0 : known->stalls + 1;
  known->done = gap_of(known) <= tail->options.gap || known->stalls >= STALLS ||
                tail->ask.round >= tail->options.max_iterations;
  return known->done ? CPB_OK : ask_next(tail, r, at);
}

cpb_status cpb_tail_solve(cpb_tail *tail, bool *done, cpb_error *error) {
  if (tail == NULL || done == NULL) return cpb_fail_missing(error, tail == NULL ? "tail" : "done");
  if (tail->got.rows == 0) return cpb_fail_round_empty(error, tail->ask.round);
  cpb_status status = CPB_OK;
  if (tail->ask.round == 0) {
    status = begin_rounds(tail, error);
    if (status != CPB_OK) return status;
  } else {
    round_sums r;
    status = round_init(&r, tail);
    if (status == CPB_OK) status = solve_round(tail, &r);
    round_free(&r);
    if (status != CPB_OK) return cpb_fail_memory(error, "%d rows", (int)CPB_TAIL_ROWS);
  }
  *done = tail->known.done;
  if (*done) return CPB_OK;
  tail->ask.round++;
  cpb_tail_clear(tail);
  return CPB_OK;
}

cpb_status cpb_tail_ball(const cpb_tail *tail, double *center, cpb_svdd_report *report, cpb_error *error) {
  if (tail == NULL || center == NULL) return cpb_fail_missing(error, tail == NULL ? "tail" : "center");
  const cpb_tail_known *known = &tail->known;
  if (!(known->upper < INFINITY)) return cpb_fail_round_no_ball(error);
  cpb_status status = cpb_sized_check(report, "cpb_svdd_report", error);
  if (status != CPB_OK) return status;
  int exponent = tail->ask.exponent;
  for (size_t j = 0; j < tail->d; j++) center[j] = ldexp(known->best[j], exponent);
  double lower = fmin(fmax(known->lower, 0), known->upper);
  cpb_svdd_report ours = {.gap = gap_of(known),
                          .radius = ldexp(sqrt(known->edge), exponent),
                          .objective = ldexp(known->upper, 2 * exponent),
                          .lower_bound = cpb_svdd_lower_in_unit(lower, 2 * exponent),
                          .iterations = (size_t)tail->ask.round};
  ours.converged = ours.gap <= tail->options.gap;
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
