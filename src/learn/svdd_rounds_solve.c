/* T11 in pieces: the end of a round. The rows stored near the edge and the sums of those beyond it give the best
 * filling at the centre and with it both bounds; the stored rows are solved exactly, with the rest fixed; both are
 * columns of a hull, whose point is the next centre. If the guess of the edge was wrong, the histogram of weights
 * by distance locates it. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/sized.h"
#include "learn/margin.h"
#include "learn/distances.h"
#include "learn/own_rounds.h"
#include "learn/piece_rounds.h"
#include "learn/capped_dual_parts.h"
#include "learn/svdd_fail.h"
#include "learn/svdd_rounds_parts.h"

enum { STALLS = 4, PER_OCTAVE = 16, HALF = CPB_SVDD_ROUNDS_BINS / 2 };

/* ---- round 0 ---- */

static double sum_of(const cpb_exact_sum *sum, uint64_t count) {
  cpb_exact_sum carried = *sum;
  return cpb_exact_mean(&carried, count);
}

static cpb_status begin_rounds(cpb_svdd_rounds *rounds, cpb_error *error) {
  cpb_svdd_rounds_question *ask = &rounds->ask;
  double span2 = 0;
  if (rounds->options.nu * (double)rounds->got.rows < 1 - 1e-12)
    return cpb_fail_nu_rows(error, rounds->options.nu, (size_t)rounds->got.rows);
  ask->total = sum_of(&rounds->got.sum[rounds->d], 1);
  if (!(ask->total < INFINITY))
    return cpb_fail_domain(error, "weights", ask->total, "the sum of weights must be finite");
  ask->exponent = cpb_columns_exponent(rounds->got.low, rounds->got.high, rounds->d);
  for (size_t j = 0; j < rounds->d; j++) {
    double mean =
        fmin(fmax(sum_of(&rounds->got.sum[j], rounds->got.rows), rounds->got.low[j]), rounds->got.high[j]);
    double span =
        cpb_scaled(rounds->got.high[j], ask->exponent) - cpb_scaled(rounds->got.low[j], ask->exponent);
    ask->center[j] = cpb_in_data_unit(cpb_scaled(mean + 0., ask->exponent), ask->exponent);
    rounds->known.origin[j] = ask->center[j];
    span2 += span * span;
  }
  ask->octave = span2 > 0 ? ilogb(span2) + 1 : 0;
  ask->edge = 0;
  rounds->known.lower = -INFINITY;
  return CPB_OK;
}

/* ---- a round as numbers ---- */

typedef struct sums {
  double weight, dist2; /* times C */
  double *p;            /* d */
} sums;

typedef struct round_sums {
  cpb_svdd_rounds_rows rows; /* near the edge, the farthest first */
  double C, unit_error;
  sums beyond, upon;
  double *part;    /* of each row, in multipliers */
  double *numbers; /* the memory of all of these */
  double *column, *shift;
  cpb_hull hull;
} round_sums;

static void take_sums(const cpb_svdd_rounds *rounds, const cpb_exact_sum *from, double C, sums *to) {
  for (size_t j = 0; j < rounds->d; j++) to->p[j] = C * sum_of(&from[j], 1);
  to->weight = C * sum_of(&from[rounds->d], 1);
  to->dist2 = C * sum_of(&from[rounds->d + 1], 1);
}

static cpb_status round_init(round_sums *r, const cpb_svdd_rounds *rounds) {
  size_t d = rounds->d, n = rounds->got.near_edge.count;
  *r = (round_sums){.C = 1 / rounds->options.nu / rounds->ask.total};
  r->unit_error = cpb_sum_error(d, CPB_SVDD_ROUNDS_ROWS);
  r->numbers = calloc(5 * d + n + 1, sizeof *r->numbers);
  cpb_status status = cpb_hull_init(&r->hull, rounds->loops, d, ldexp(1, rounds->ask.octave / 2));
  if (r->numbers == NULL || status != CPB_OK) return CPB_ENOMEM;
  r->beyond.p = r->numbers;
  r->upon.p = r->numbers + d;
  r->column = r->numbers + 2 * d;
  r->shift = r->numbers + 3 * d;
  r->part = r->numbers + 5 * d;
  take_sums(rounds, rounds->got.sum, r->C, &r->beyond);
  take_sums(rounds, rounds->got.sum + d + 2, r->C, &r->upon);
  for (size_t j = 0; j < d; j++) r->shift[j] = rounds->ask.center[j] - rounds->known.origin[j];
  return cpb_svdd_rounds_sort(&rounds->got.near_edge, d, &r->rows);
}

static void round_free(round_sums *r) {
  cpb_svdd_rounds_rows_free(&r->rows);
  free(r->numbers);
  cpb_hull_free(&r->hull);
}

/* ---- the filling and the upper bound ---- */

typedef enum where { EDGE_BEYOND, EDGE_WITHIN, EDGE_BELOW } where;

/* Fills the stored rows in order until the multipliers add up to 1; *rest is what is missing. */
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
static double bound_at(const cpb_svdd_rounds *rounds, const round_sums *r, where edge) {
  size_t n = r->rows.count;
  double tau = rounds->ask.edge, weight = r->beyond.weight, value = parts_value(r);
  if (edge == EDGE_BEYOND) {
    if (n > 0) tau = fmax(tau, r->rows.dist2[0]);
    return tau + (r->beyond.dist2 - tau * weight);
  }
  if (n > 0) tau = fmin(tau, r->rows.dist2[n - 1]);
  for (size_t k = 0; k < n; k++) weight += r->part[k];
  return value + tau * (1 - weight);
}

/* ---- columns ---- */

cpb_status cpb_svdd_rounds_columns_room(cpb_svdd_rounds *rounds, size_t count) {
  cpb_svdd_rounds_known *known = &rounds->known;
  size_t d = rounds->d, n = known->column_count, room = 2 * known->column_room + 8;
  if (count <= known->column_room) return CPB_OK;
  if (room < count) room = count;
  double *p = realloc(known->p, room * d * sizeof *p);
  if (p != NULL) known->p = p;
  double *q = realloc(known->q, 2 * room * sizeof *q);
  if (q != NULL) known->q = q;
  if (p == NULL || q == NULL) return CPB_ENOMEM;
  memmove(q + room, q + known->column_room, n * sizeof *q);
  known->mass = q + room;
  known->column_room = room;
  return CPB_OK;
}

static cpb_status add_column(cpb_svdd_rounds *rounds, const double *p, double q) {
  cpb_svdd_rounds_known *known = &rounds->known;
  cpb_status status = cpb_svdd_rounds_columns_room(rounds, known->column_count + 1);
  if (status != CPB_OK) return status;
  size_t n = known->column_count++;
  memcpy(known->p + n * rounds->d, p, rounds->d * sizeof *p);
  known->q[n] = q;
  known->mass[n] = 0;
  return CPB_OK;
}

/* Converts the column from about the centre to about origin and enters it into the hull. */
static cpb_status enter(cpb_svdd_rounds *rounds, round_sums *r, double q, double sum) {
  const cpb_loops *loops = rounds->loops;
  double along = 2 * loops->dot(r->shift, r->column, rounds->d),
         norm2 = loops->dot(r->shift, r->shift, rounds->d);
  double size = q + 2 * sqrt(norm2 * loops->dot(r->column, r->column, rounds->d)) + norm2;
  bool better;
  loops->axpby(1, r->column, 1, r->shift, r->column, rounds->d);
  rounds->known.doubt = fmax(rounds->known.doubt, 2 * r->unit_error * size + fabs(sum - 1) * size);
  cpb_status status = add_column(rounds, r->column, q + along + norm2);
  if (status != CPB_OK) return status;
  size_t k = rounds->known.column_count - 1;
  return cpb_hull_enter(&r->hull, rounds->known.p + k * rounds->d, rounds->known.q[k], k, &better);
}

/* The rows beyond the edge, the parts, and the missing weight from the rows on the edge. */
static cpb_status enter_parts(cpb_svdd_rounds *rounds, round_sums *r, double rest) {
  cpb_twofold sum = {r->beyond.weight, 0};
  double q = parts_value(r);
  memcpy(r->column, r->beyond.p, rounds->d * sizeof *r->column);
  for (size_t k = 0; k < r->rows.count; k++) {
    if (r->part[k] == 0) continue;
    cpb_twofold_add(&sum, r->part[k]);
    rounds->loops->axpby(r->part[k], r->rows.p + k * rounds->d, 1, r->column, r->column, rounds->d);
  }
  if (rest > 0 && r->upon.weight > 0) {
    double share = fmin(rest / r->upon.weight, 1);
    cpb_twofold_add(&sum, share * r->upon.weight);
    rounds->loops->axpby(share, r->upon.p, 1, r->column, r->column, rounds->d);
    q += share * r->upon.dist2;
  }
  return enter(rounds, r, q, cpb_twofold_value(sum));
}

/* Too much weight beyond the edge: all of it, at less than full weight, is feasible, too. */
static cpb_status enter_beyond(cpb_svdd_rounds *rounds, round_sums *r) {
  for (size_t j = 0; j < rounds->d; j++) r->column[j] = r->beyond.p[j] / r->beyond.weight;
  return enter(rounds, r, r->beyond.dist2 / r->beyond.weight, 1);
}

static cpb_status enter_margin(cpb_svdd_rounds *rounds, round_sums *r) {
  size_t n = r->rows.count, d = rounds->d;
  double *numbers = malloc((2 * d + n) * sizeof *numbers), *cap = numbers + 2 * d;
  if (numbers == NULL) return CPB_ENOMEM;
  cpb_margin margin = {.loops = rounds->loops,
                       .d = d,
                       .count = n,
                       .rows = r->rows.p,
                       .cap = cap,
                       .fixed = {numbers, r->beyond.dist2, r->beyond.weight},
                       .tolerance = fmax(rounds->options.gap / 16, 0x1p-50),
                       .weight = r->part,
                       .point = numbers + d};
  memcpy(numbers, r->beyond.p, d * sizeof *numbers);
  for (size_t k = 0; k < n; k++) {
    cap[k] = r->C * r->rows.weight[k];
    if (r->part[k] > 0) margin.first = k;
  }
  cpb_status status = cpb_margin_solve(&margin);
  for (size_t k = 0; k < n; k++) r->part[k] = fmin(r->part[k], cap[k]);
  free(numbers);
  return status == CPB_OK ? enter_parts(rounds, r, 0) : status;
}

/* The hull of the stored columns, entered in their order. */
static cpb_status remake_hull(const cpb_svdd_rounds *rounds, round_sums *r) {
  cpb_status status = CPB_OK;
  bool better;
  for (size_t k = 0; status == CPB_OK && k < rounds->known.column_count; k++)
    status = cpb_hull_enter(&r->hull, rounds->known.p + k * rounds->d, rounds->known.q[k], k, &better);
  return status;
}

static void keep_columns(cpb_svdd_rounds *rounds, const cpb_hull *hull) {
  cpb_svdd_rounds_known *known = &rounds->known;
  size_t kept = 0;
  for (size_t k = 0; k < known->column_count; k++)
    for (size_t h = 0; h < hull->count; h++) {
      if (hull->tag[h] != k) continue;
      memmove(known->p + kept * rounds->d, known->p + k * rounds->d, rounds->d * sizeof *known->p);
      known->q[kept] = known->q[k];
      known->mass[kept++] = hull->weight[h];
      break;
    }
  known->column_count = kept;
}

static double lower_bound(const cpb_svdd_rounds *rounds, const round_sums *r) {
  if (r->hull.count == 0) return -INFINITY;
  return cpb_hull_proven(&r->hull, rounds->known.doubt, r->unit_error, rounds->got.rows);
}

/* ---- the next question ---- */

/* Where the bin at a given distance from the edge begins. */
static double bin_begin(const cpb_svdd_rounds *rounds, int at) {
  return at <= 0
             ? 0
             : ldexp(0.5 + 0.5 * (at % PER_OCTAVE) / PER_OCTAVE, at / PER_OCTAVE - 96 + rounds->ask.octave);
}

/* The squared distance beyond which the share nu of the weight lies, within the resolution of the bins. */
static double edge_by_bins(const cpb_svdd_rounds *rounds, double share) {
  double total = 0, above = 0;
  for (size_t b = 0; b < CPB_SVDD_ROUNDS_BINS; b++) total += (double)rounds->got.bins[b];
  for (size_t b = CPB_SVDD_ROUNDS_BINS; b-- > 0;) {
    double here = (double)rounds->got.bins[b];
    if (above + here < share * total || here == 0) {
      above += here;
      continue;
    }
    int at = b >= HALF ? (int)b - HALF : HALF - 1 - (int)b;
    double from = bin_begin(rounds, at), to = bin_begin(rounds, at + 1),
           part = (share * total - above) / here;
    return b >= HALF ? rounds->ask.edge + (to - part * (to - from))
                     : rounds->ask.edge - (from + part * (to - from));
  }
  return 0;
}

/* The edge of the stored rows as seen from the new centre, if it is still among them. */
static cpb_status edge_of_rows(cpb_svdd_rounds *rounds, const round_sums *r, const double *center,
                               double *edge) {
  size_t n = r->rows.count;
  cpb_scored *order = malloc((n + 1) * sizeof *order);
  double *moved = malloc(rounds->d * sizeof *moved), need = 1 - r->beyond.weight;
  if (order == NULL || moved == NULL) {
    free(order);
    free(moved);
    return CPB_ENOMEM;
  }
  rounds->loops->axpby(1, center, -1, rounds->ask.center, moved, rounds->d);
  for (size_t k = 0; k < n; k++)
    order[k] = (cpb_scored){rounds->loops->dist2(r->rows.p + k * rounds->d, moved, rounds->d), k};
  qsort(order, n, sizeof *order, cpb_scored_compare);
  for (size_t k = 0; k < n && need > 0; k++) {
    need -= r->C * r->rows.weight[order[k].row];
    *edge = order[k].score;
  }
  free(order);
  free(moved);
  return CPB_OK;
}

static void next_center(const cpb_svdd_rounds *rounds, const cpb_hull *hull, double *center) {
  for (size_t j = 0; j < rounds->d; j++)
    center[j] = cpb_in_data_unit(rounds->known.origin[j] + hull->point[j], rounds->ask.exponent);
}

static double gap_of(const cpb_svdd_rounds_known *known) {
  return known->upper > 0 ? (known->upper - fmin(fmax(known->lower, 0), known->upper)) / known->upper : 0;
}

/* The centre of the first round is an unweighted mean, and may be far out: from the second round on all columns
 * are relative to that round's centre. */
static void begin_anew(cpb_svdd_rounds *rounds) {
  memcpy(rounds->known.origin, rounds->ask.center, rounds->d * sizeof *rounds->known.origin);
  rounds->known.column_count = 0;
  rounds->known.doubt = 0;
}

static cpb_status ask_next(cpb_svdd_rounds *rounds, const round_sums *r, where at) {
  double *center = r->numbers + 4 * rounds->d, edge = rounds->ask.edge;
  bool coarse = gap_of(&rounds->known) > 1e-3;
  cpb_status status = CPB_OK;
  memcpy(center, rounds->ask.center, rounds->d * sizeof *center);
  if (at != EDGE_BELOW && r->hull.count > 0) next_center(rounds, &r->hull, center);
  if (at == EDGE_WITHIN)
    status = edge_of_rows(rounds, r, center, &edge);
  else /* a little low, so that the next round has a column */
    edge = fmax(0, edge_by_bins(rounds, fmin(1, rounds->options.nu * (coarse ? 1.004 : 1))));
  memcpy(rounds->ask.center, center, rounds->d * sizeof *center);
  rounds->ask.edge = edge;
  if (rounds->ask.round == 1) begin_anew(rounds);
  return status;
}

/* ---- the end of a round ---- */

static void keep_best(cpb_svdd_rounds *rounds, double upper, double edge) {
  if (!(upper < rounds->known.upper)) return;
  rounds->known.upper = upper;
  rounds->known.edge = edge;
  memcpy(rounds->known.best, rounds->ask.center, rounds->d * sizeof *rounds->known.best);
}

static cpb_status solve_round(cpb_svdd_rounds *rounds, round_sums *r) {
  cpb_svdd_rounds_known *known = &rounds->known;
  double edge = rounds->ask.edge, rest, upper = known->upper, lower = known->lower;
  where at = fill(r, &edge, &rest);
  bool ties = at == EDGE_WITHIN && rest > 1e-12;
  cpb_status status = remake_hull(rounds, r);
  keep_best(rounds, at == EDGE_WITHIN ? parts_value(r) + rest * rounds->ask.edge : bound_at(rounds, r, at),
            edge);
  if (status == CPB_OK && at == EDGE_WITHIN) status = enter_parts(rounds, r, rest);
  if (status == CPB_OK && at == EDGE_BEYOND) status = enter_beyond(rounds, r);
  if (status == CPB_OK && at == EDGE_WITHIN && !ties && r->rows.count > 0) status = enter_margin(rounds, r);
  if (status != CPB_OK) return status;
  known->lower = fmax(known->lower, lower_bound(rounds, r));
  keep_columns(rounds, &r->hull);
  bool better = known->upper < upper || known->lower > lower;
  known->stalls = better || at != EDGE_WITHIN ? 0 : known->stalls + 1;
  known->done = gap_of(known) <= rounds->options.gap || known->stalls >= STALLS ||
                rounds->ask.round >= rounds->options.max_iterations;
  return known->done ? CPB_OK : ask_next(rounds, r, at);
}

cpb_status cpb_svdd_rounds_solve(cpb_svdd_rounds *rounds, bool *done, cpb_error *error) {
  if (rounds == NULL || done == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "done");
  if (rounds->got.rows == 0) return cpb_fail_round_empty(error, rounds->ask.round);
  cpb_status status = CPB_OK;
  if (rounds->ask.round == 0) {
    status = begin_rounds(rounds, error);
    if (status != CPB_OK) return status;
  } else {
    round_sums r;
    status = round_init(&r, rounds);
    if (status == CPB_OK) status = solve_round(rounds, &r);
    round_free(&r);
    if (status != CPB_OK) return cpb_fail_memory(error, "%d rows", (int)CPB_SVDD_ROUNDS_ROWS);
  }
  *done = rounds->known.done;
  if (*done) return CPB_OK;
  rounds->ask.round++;
  cpb_svdd_rounds_clear(rounds);
  return CPB_OK;
}

cpb_status cpb_svdd_rounds_ball(const cpb_svdd_rounds *rounds, double *center, cpb_svdd_report *report,
                                cpb_error *error) {
  if (rounds == NULL || center == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "center");
  const cpb_svdd_rounds_known *known = &rounds->known;
  if (!(known->upper < INFINITY)) return cpb_fail_round_no_ball(error);
  cpb_status status = cpb_sized_check(report, "cpb_svdd_report", error);
  if (status != CPB_OK) return status;
  int exponent = rounds->ask.exponent;
  for (size_t j = 0; j < rounds->d; j++) center[j] = ldexp(known->best[j], exponent);
  double lower = fmin(fmax(known->lower, 0), known->upper);
  cpb_svdd_report ours = {.gap = gap_of(known),
                          .radius = ldexp(sqrt(known->edge), exponent),
                          .objective = ldexp(known->upper, 2 * exponent),
                          .lower_bound = cpb_svdd_lower_in_unit(lower, 2 * exponent),
                          .iterations = (size_t)rounds->ask.round};
  ours.converged = ours.gap <= rounds->options.gap;
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
