/* T11 in pieces: what a round gathers; nothing depends on the order. */
#include "ball/piece_rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/fail.h"
#include "base/sized.h"
#include "loops/distances.h"

enum { BLOCK_ROWS = 4096, PER_OCTAVE = 16, HALF = CPB_EDGE_BINS / 2, STALLS = 4 };

/* ---- rows near the edge ---- */

/* Drops a row: it is added to the sums if it is beyond or on the edge. */
static void let_go(cpb_svdd_rounds *rounds, double weight, double dist2, const double *p) {
  if (dist2 < rounds->ask.edge) return;
  cpb_exact_sum *sum = rounds->got.sum + (dist2 > rounds->ask.edge ? 0 : rounds->d + 2);
  for (size_t j = 0; j < rounds->d; j++) cpb_exact_add(&sum[j], weight * p[j]);
  cpb_exact_add(&sum[rounds->d], weight);
  cpb_exact_add(&sum[rounds->d + 1], weight * dist2);
}

/* Makes space for `more` rows: then keep_row cannot fail. */
static cpb_status reserve_rows(cpb_svdd_rounds *rounds, size_t more) {
  cpb_working_set *rows = &rounds->got.near_edge;
  size_t most = 2 * CPB_EDGE_ROWS, wanted = more < most - rows->count ? rows->count + more : most;
  return cpb_working_set_reserve(rows, rounds->ask.round == 0 ? 0 : wanted);
}

static void drop_row(void *context, size_t i) {
  cpb_svdd_rounds *rounds = context;
  const cpb_working_set *rows = &rounds->got.near_edge;
  let_go(rounds, rows->weight[i], rows->dist2[i], rows->rows + i * rounds->d);
}

static void keep_row(cpb_svdd_rounds *rounds, uint64_t id, double weight, double dist2, const double *p) {
  cpb_working_set *rows = &rounds->got.near_edge;
  if (!cpb_working_set_wants(rows, dist2, id)) {
    let_go(rounds, weight, dist2, p);
    return;
  }
  if (rows->count == rows->room) cpb_working_set_keep(rows, CPB_EDGE_ROWS);
  cpb_working_set_add(rows, p, id, dist2, weight);
}

static bool allocate(cpb_svdd_rounds *rounds) {
  size_t d = rounds->d;
  cpb_memory *m = &rounds->memory;
  if (d > SIZE_MAX / sizeof(cpb_exact_sum) / 4) return false;
  double *numbers = cpb_memory_zeros(m, 5 * d, sizeof *numbers);
  rounds->got.sum = cpb_memory_zeros(m, cpb_svdd_sums(rounds), sizeof *rounds->got.sum);
  rounds->got.bins = cpb_memory_zeros(m, CPB_EDGE_BINS, sizeof *rounds->got.bins);
  if (m->failed) return false;
  rounds->ask.center = numbers;
  rounds->got.low = numbers + d;
  rounds->got.high = numbers + 2 * d;
  rounds->known.origin = numbers + 3 * d;
  rounds->known.best = numbers + 4 * d;
  return true;
}

static void clear(cpb_svdd_rounds *rounds) {
  cpb_svdd_gathered *got = &rounds->got;
  got->rows = 0;
  cpb_working_set_clear(&got->near_edge);
  for (size_t k = 0; k < cpb_svdd_sums(rounds); k++) cpb_exact_clear(&got->sum[k]);
  memset(got->bins, 0, CPB_EDGE_BINS * sizeof *got->bins);
}

cpb_status cpb_svdd_rounds_new(size_t d, const cpb_svdd_options *given, cpb_svdd_rounds **rounds,
                               cpb_error *error) {
  cpb_svdd_options options;
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  *rounds = NULL;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_svdd_options", error);
  if (status == CPB_OK) status = cpb_svdd_check_options(&options, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if (status != CPB_OK) return status;
  options.weights = options.start = NULL;
  cpb_svdd_rounds *made = calloc(1, sizeof *made);
  if (made != NULL)
    *made = (cpb_svdd_rounds){
        .loops = cpb_loops_here(), .d = d, .options = options, .known = {.columns.d = d, .upper = INFINITY}};
  if (made == NULL || !allocate(made)) {
    cpb_svdd_rounds_free(made);
    return cpb_fail_memory(error, "SVDD rounds of dimension %zu", d);
  }
  made->got.near_edge = (cpb_working_set){.d = d, .edge = &made->ask.edge, .drop = drop_row, .context = made};
  clear(made);
  *rounds = made;
  return CPB_OK;
}

void cpb_svdd_rounds_free(cpb_svdd_rounds *rounds) {
  if (rounds == NULL) return;
  cpb_memory_free(&rounds->memory);
  cpb_working_set_free(&rounds->got.near_edge);
  cpb_working_set_free(&rounds->known.columns);
  free(rounds);
}

static double weight_at(const double *weights, size_t i) { return weights == NULL ? 1 : weights[i]; }

static size_t bin_of(const cpb_svdd_rounds *rounds, double dist2) {
  double v = fabs(dist2 - rounds->ask.edge);
  int at = 0;
  if (v > 0) {
    int octave;
    double part = frexp(v, &octave); /* 1/2 .. 1 */
    at = (octave - rounds->ask.octave + 96) * PER_OCTAVE + (int)((part - 0.5) * 2 * PER_OCTAVE);
    at = at < 0 ? 0 : at >= HALF ? HALF - 1 : at;
  }
  return dist2 > rounds->ask.edge ? (size_t)(HALF + at) : (size_t)(HALF - 1 - at);
}

typedef struct dist2_job {
  const cpb_svdd_rounds *rounds;
  cpb_view x;
  double *dist2;
} dist2_job;

static void dist2_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  dist2_job *job = argument;
  cpb_dist2_of_rows(job->rounds->loops, job->x, job->rounds->ask.exponent, first, count,
                    job->rounds->ask.center, job->dist2 + first);
}

static void gather(cpb_svdd_rounds *rounds, cpb_view x, cpb_row_ids ids, const double *weights,
                   const double *dist2, double *p) {
  const cpb_working_set *rows = &rounds->got.near_edge;
  double unit = 0x1p62 / rounds->ask.total;
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(weights, i);
    uint64_t id = cpb_row_id(ids, i);
    if (!(weight > 0)) continue;
    rounds->got.rows++;
    rounds->got.bins[bin_of(rounds, dist2[i])] += (uint64_t)(weight * unit);
    if (dist2[i] < rounds->ask.edge && !cpb_working_set_wants(rows, dist2[i], id)) continue;
    cpb_row_about(rounds->loops, x, rounds->ask.exponent, i, rounds->ask.center, p);
    keep_row(rounds, id, weight, dist2[i], p);
  }
  cpb_working_set_keep(&rounds->got.near_edge, CPB_EDGE_ROWS);
}

static void look_at_columns(cpb_svdd_rounds *rounds, cpb_view x, const double *weights, double *row) {
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(weights, i);
    if (!(weight > 0)) continue;
    cpb_scaled_row(rounds->loops, x, 0, i, row);
    cpb_columns_widen(rounds->got.low, rounds->got.high, rounds->got.rows == 0, row, row, rounds->d);
    for (size_t j = 0; j < rounds->d; j++) cpb_exact_add(&rounds->got.sum[j], row[j]);
    cpb_exact_add(&rounds->got.sum[rounds->d], weight);
    rounds->got.rows++;
  }
}

/* All errors are detected before anything is gathered. */
static cpb_status check_block(const cpb_svdd_rounds *rounds, cpb_view x, const double *weights,
                              const double *dist2, cpb_error *error) {
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(weights, i);
    if (!(weight >= 0 && weight < INFINITY)) return cpb_fail_weight(error, i, weight);
    if (weight == 0 || (rounds->ask.round > 0 && dist2[i] < INFINITY)) continue;
    int fault = cpb_row_fault(rounds->loops, x, i);
    if (fault != 0) return cpb_fault_report(i, fault, "x", error);
    if (rounds->ask.round > 0) return cpb_fail_round_unseen(error);
  }
  return CPB_OK;
}

cpb_status cpb_svdd_rounds_update(cpb_svdd_rounds *rounds, cpb_view x, cpb_row_ids ids, const double *weights,
                                  const cpb_exec *exec, cpb_error *error) {
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  cpb_status status = cpb_check_view(x, "x", rounds->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  double *numbers = malloc((x.rows + rounds->d) * sizeof *numbers), *dist2 = numbers;
  if (numbers == NULL || reserve_rows(rounds, x.rows) != CPB_OK) {
    free(numbers);
    return cpb_fail_memory(error, "%zu rows", x.rows);
  }
  if (rounds->ask.round > 0) {
    dist2_job job = {rounds, x, dist2};
    cpb_blocks_run(&(cpb_blocks){x.rows, BLOCK_ROWS, dist2_block, &job}, exec);
  }
  status = check_block(rounds, x, weights, dist2, error);
  if (status == CPB_OK && rounds->ask.round == 0) look_at_columns(rounds, x, weights, numbers + x.rows);
  if (status == CPB_OK && rounds->ask.round > 0) gather(rounds, x, ids, weights, dist2, numbers + x.rows);
  free(numbers);
  return status;
}

cpb_status cpb_svdd_rounds_update_ids(cpb_svdd_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                      const double *weights, const cpb_exec *exec, cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return cpb_svdd_rounds_update(rounds, rows, (cpb_row_ids){ids, 0}, weights, exec, error);
}

static cpb_round round_of(const cpb_svdd_rounds *rounds) {
  const cpb_svdd_question *ask = &rounds->ask;
  return (cpb_round){.object = rounds,
                     .d = rounds->d,
                     .round = ask->round,
                     .option = {rounds->options.nu, rounds->options.gap},
                     .question = {ask->exponent, ask->edge, ask->total},
                     .center = ask->center};
}

cpb_status cpb_svdd_rounds_merge(cpb_svdd_rounds *rounds, const cpb_svdd_rounds *piece, cpb_error *error) {
  if (rounds == NULL || piece == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "piece");
  cpb_status status = cpb_round_check(round_of(rounds), round_of(piece), error);
  if (status != CPB_OK) return status;
  const cpb_svdd_gathered *from = &piece->got;
  const cpb_working_set *rows = &from->near_edge;
  if (reserve_rows(rounds, rows->count) != CPB_OK) return cpb_fail_memory(error, "%zu rows", rows->count);
  if (rounds->ask.round == 0 && from->rows > 0)
    cpb_columns_widen(rounds->got.low, rounds->got.high, rounds->got.rows == 0, from->low, from->high,
                      rounds->d);
  for (size_t k = 0; k < cpb_svdd_sums(rounds); k++) cpb_exact_merge(&rounds->got.sum[k], &from->sum[k]);
  for (size_t k = 0; k < CPB_EDGE_BINS; k++) rounds->got.bins[k] += from->bins[k];
  rounds->got.rows += from->rows;
  for (size_t i = 0; i < rows->count; i++)
    keep_row(rounds, rows->tag[i], rows->weight[i], rows->dist2[i], rows->rows + i * rounds->d);
  cpb_working_set_keep(&rounds->got.near_edge, CPB_EDGE_ROWS);
  return CPB_OK;
}

cpb_status cpb_svdd_rounds_restart(cpb_svdd_rounds *piece, const cpb_svdd_rounds *rounds, cpb_error *error) {
  if (piece == NULL || rounds == NULL) return cpb_fail_missing(error, piece == NULL ? "piece" : "rounds");
  cpb_status status = cpb_round_check_restart(round_of(piece), round_of(rounds), error);
  if (status != CPB_OK) return status;
  double *center = piece->ask.center;
  memcpy(center, rounds->ask.center, rounds->d * sizeof *center);
  piece->options = rounds->options;
  piece->ask = rounds->ask;
  piece->ask.center = center;
  piece->known.columns.count = 0;
  piece->known.upper = INFINITY;
  piece->known.done = rounds->known.done;
  clear(piece);
  return CPB_OK;
}

/* T11 in pieces: the end of a round. The rows stored near the edge and the sums of those beyond it give the best
 * filling at the centre and with it both bounds; the stored rows are solved exactly, with the rest fixed; both are
 * columns of a hull, whose point is the next centre. If the guess of the edge was wrong, the histogram of weights
 * by distance locates it. */

static cpb_status begin_rounds(cpb_svdd_rounds *rounds, cpb_error *error) {
  cpb_svdd_question *ask = &rounds->ask;
  cpb_svdd_gathered *got = &rounds->got;
  double span2 = 0;
  cpb_status status = cpb_svdd_check_share(&rounds->options, (size_t)got->rows, error);
  if (status != CPB_OK) return status;
  ask->total = cpb_exact_mean(&got->sum[rounds->d], 1);
  if (!(ask->total < INFINITY))
    return cpb_fail_domain(error, "weights", ask->total, "the sum of weights must be finite");
  ask->exponent = cpb_columns_exponent(got->low, got->high, rounds->d);
  for (size_t j = 0; j < rounds->d; j++) {
    double mean = fmin(fmax(cpb_exact_mean(&got->sum[j], got->rows), got->low[j]), got->high[j]);
    double span = cpb_scaled(got->high[j], ask->exponent) - cpb_scaled(got->low[j], ask->exponent);
    ask->center[j] = cpb_in_data_unit(cpb_scaled(mean + 0., ask->exponent), ask->exponent);
    rounds->known.origin[j] = ask->center[j];
    span2 += span * span;
  }
  ask->octave = span2 > 0 ? ilogb(span2) + 1 : 0;
  ask->edge = 0;
  rounds->known.lower = -INFINITY;
  return CPB_OK;
}

typedef struct round_sums {
  cpb_working_set rows; /* near the edge, the farthest first; their weights times C */
  double unit_error;
  cpb_hull_full beyond, upon; /* the sums of weight times C, and of those times p and squared distances */
  double *part;               /* of each row, in multipliers */
  double *numbers;            /* the memory of all of these */
  double *column, *shift;
  cpb_hull hull;
} round_sums;

static void take_sums(size_t d, cpb_exact_sum *from, double C, cpb_hull_full *to) {
  for (size_t j = 0; j < d; j++) to->point[j] = C * cpb_exact_mean(&from[j], 1);
  to->weight = C * cpb_exact_mean(&from[d], 1);
  to->height = C * cpb_exact_mean(&from[d + 1], 1);
}

static cpb_status round_init(round_sums *r, const cpb_svdd_rounds *rounds) {
  size_t d = rounds->d, n = rounds->got.near_edge.count;
  double C = 1 / rounds->options.nu / rounds->ask.total;
  *r = (round_sums){.rows.d = d};
  r->unit_error = cpb_sum_error(d, CPB_EDGE_ROWS);
  r->numbers = calloc(5 * d + n + 1, sizeof *r->numbers);
  cpb_status status = cpb_hull_init(&r->hull, rounds->loops, d, ldexp(1, rounds->ask.octave / 2));
  if (r->numbers == NULL || status != CPB_OK) return CPB_ENOMEM;
  r->beyond.point = r->numbers;
  r->upon.point = r->numbers + d;
  r->column = r->numbers + 2 * d;
  r->shift = r->numbers + 3 * d;
  r->part = r->numbers + 5 * d;
  take_sums(d, rounds->got.sum, C, &r->beyond);
  take_sums(d, rounds->got.sum + d + 2, C, &r->upon);
  for (size_t j = 0; j < d; j++) r->shift[j] = rounds->ask.center[j] - rounds->known.origin[j];
  status = cpb_working_set_join(&r->rows, &rounds->got.near_edge, true);
  for (size_t k = 0; k < r->rows.count; k++) r->rows.weight[k] *= C;
  return status;
}

/* ---- the filling and the upper bound ---- */

typedef enum where { EDGE_BEYOND, EDGE_WITHIN, EDGE_BELOW } where;

/* Fills the stored rows in order until the multipliers add up to 1; *rest is what is missing. */
static where fill(round_sums *r, double *edge, double *rest) {
  double need = 1 - r->beyond.weight;
  for (size_t k = 0; k < r->rows.count; k++) {
    r->part[k] = fmin(fmax(need, 0), r->rows.weight[k]);
    if (r->part[k] > 0) *edge = r->rows.dist2[k];
    need -= r->part[k];
  }
  *rest = fmax(need, 0);
  if (1 - r->beyond.weight <= 0) return EDGE_BEYOND;
  return need <= 1e-12 || r->upon.weight >= need ? EDGE_WITHIN : EDGE_BELOW;
}

static double parts_value(const round_sums *r) {
  cpb_twofold value = {r->beyond.height, 0};
  for (size_t k = 0; k < r->rows.count; k++) cpb_twofold_add(&value, r->part[k] * r->rows.dist2[k]);
  return cpb_twofold_value(value);
}

/* tau + C sum w max(0, dist2 - tau), which is an upper bound for any tau. */
static double bound_at(const cpb_svdd_rounds *rounds, const round_sums *r, where edge) {
  size_t n = r->rows.count;
  double tau = rounds->ask.edge, weight = r->beyond.weight, value = parts_value(r);
  if (edge == EDGE_BEYOND) {
    if (n > 0) tau = fmax(tau, r->rows.dist2[0]);
    return tau + (r->beyond.height - tau * weight);
  }
  if (n > 0) tau = fmin(tau, r->rows.dist2[n - 1]);
  for (size_t k = 0; k < n; k++) weight += r->part[k];
  return value + tau * (1 - weight);
}

/* Converts the column from about the centre to about origin and enters it into the hull. */
static cpb_status enter(cpb_svdd_rounds *rounds, round_sums *r, double q, double sum) {
  const cpb_loops *loops = rounds->loops;
  double along = 2 * loops->dot(r->shift, r->column, rounds->d),
         norm2 = loops->dot(r->shift, r->shift, rounds->d);
  double size = q + 2 * sqrt(norm2 * loops->dot(r->column, r->column, rounds->d)) + norm2;
  bool better;
  loops->axpby(1, r->column, 1, r->shift, r->column, rounds->d);
  rounds->known.rounding_bound =
      fmax(rounds->known.rounding_bound, 2 * r->unit_error * size + fabs(sum - 1) * size);
  size_t k = rounds->known.columns.count;
  cpb_status status = cpb_working_set_add(&rounds->known.columns, r->column, 0, q + along + norm2, 0);
  return status == CPB_OK ? cpb_hull_enter(&r->hull, r->column, q + along + norm2, k, &better) : status;
}

/* The rows beyond the edge, the parts, and the missing weight from the rows on the edge. */
static cpb_status enter_parts(cpb_svdd_rounds *rounds, round_sums *r, double rest) {
  cpb_twofold sum = {r->beyond.weight, 0};
  double q = parts_value(r);
  memcpy(r->column, r->beyond.point, rounds->d * sizeof *r->column);
  for (size_t k = 0; k < r->rows.count; k++) {
    if (r->part[k] == 0) continue;
    cpb_twofold_add(&sum, r->part[k]);
    rounds->loops->axpby(r->part[k], r->rows.rows + k * rounds->d, 1, r->column, r->column, rounds->d);
  }
  if (rest > 0 && r->upon.weight > 0) {
    double share = fmin(rest / r->upon.weight, 1);
    cpb_twofold_add(&sum, share * r->upon.weight);
    rounds->loops->axpby(share, r->upon.point, 1, r->column, r->column, rounds->d);
    q += share * r->upon.height;
  }
  return enter(rounds, r, q, cpb_twofold_value(sum));
}

/* Too much weight beyond the edge: all of it, at less than full weight, is feasible, too. */
static cpb_status enter_beyond(cpb_svdd_rounds *rounds, round_sums *r) {
  for (size_t j = 0; j < rounds->d; j++) r->column[j] = r->beyond.point[j] / r->beyond.weight;
  return enter(rounds, r, r->beyond.height / r->beyond.weight, 1);
}

static cpb_status enter_margin(cpb_svdd_rounds *rounds, round_sums *r) {
  double *fixed = r->column;
  cpb_margin margin = {.loops = rounds->loops,
                       .set = &r->rows,
                       .fixed = {fixed, r->beyond.height, r->beyond.weight},
                       .tolerance = fmax(rounds->options.gap / 16, 0x1p-50),
                       .weight = r->part};
  memcpy(fixed, r->beyond.point, rounds->d * sizeof *fixed);
  for (size_t k = 0; k < r->rows.count; k++)
    if (r->part[k] > 0) margin.first = k;
  cpb_status status = cpb_margin_solve(&margin);
  return status == CPB_OK ? enter_parts(rounds, r, 0) : status;
}

/* The hull of the stored columns, entered in their order. */
static cpb_status remake_hull(const cpb_svdd_rounds *rounds, round_sums *r) {
  const cpb_working_set *columns = &rounds->known.columns;
  cpb_status status = CPB_OK;
  bool better;
  for (size_t k = 0; status == CPB_OK && k < columns->count; k++)
    status = cpb_hull_enter(&r->hull, columns->rows + k * rounds->d, columns->dist2[k], k, &better);
  return status;
}

static void keep_columns(cpb_svdd_rounds *rounds, const cpb_hull *hull) {
  cpb_working_set *columns = &rounds->known.columns;
  size_t kept = 0;
  for (size_t k = 0; k < columns->count; k++)
    for (size_t h = 0; h < hull->count; h++) {
      if (hull->column[h].tag != k) continue;
      cpb_working_set_move(columns, k, kept);
      columns->weight[kept++] = hull->column[h].weight;
      break;
    }
  columns->count = kept;
}

/* ---- the next question ---- */

/* Where the bin at a given distance from the edge begins. */
static double bin_begin(const cpb_svdd_rounds *rounds, int at) {
  if (at <= 0) return 0;
  return ldexp(0.5 + 0.5 * (at % PER_OCTAVE) / PER_OCTAVE, at / PER_OCTAVE - 96 + rounds->ask.octave);
}

/* The squared distance beyond which the share nu of the weight lies, within the resolution of the bins. */
static double edge_by_bins(const cpb_svdd_rounds *rounds, double share) {
  double total = 0, above = 0;
  for (size_t b = 0; b < CPB_EDGE_BINS; b++) total += (double)rounds->got.bins[b];
  for (size_t b = CPB_EDGE_BINS; b-- > 0;) {
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
  cpb_ranked *order = malloc((n + 1) * sizeof *order);
  double *moved = r->column, need = 1 - r->beyond.weight;
  if (order == NULL) return CPB_ENOMEM;
  rounds->loops->axpby(1, center, -1, rounds->ask.center, moved, rounds->d);
  for (size_t k = 0; k < n; k++)
    order[k] = (cpb_ranked){-rounds->loops->dist2(r->rows.rows + k * rounds->d, moved, rounds->d), k};
  cpb_ranked_sort(order, n);
  for (size_t k = 0; k < n && need > 0; k++) {
    need -= r->rows.weight[order[k].id];
    *edge = -order[k].key;
  }
  free(order);
  return CPB_OK;
}

static double gap_of(const cpb_svdd_known *known) {
  double lower = known->lower;
  return cpb_svdd_gap(known->upper, &lower);
}

static cpb_status ask_next(cpb_svdd_rounds *rounds, const round_sums *r, where at) {
  double *center = r->numbers + 4 * rounds->d, edge = rounds->ask.edge;
  bool coarse = gap_of(&rounds->known) > 1e-3;
  cpb_status status = CPB_OK;
  memcpy(center, rounds->ask.center, rounds->d * sizeof *center);
  if (at != EDGE_BELOW && r->hull.count > 0)
    cpb_set_center(rounds->known.origin, r->hull.point, rounds->ask.exponent, rounds->d, center);
  if (at == EDGE_WITHIN)
    status = edge_of_rows(rounds, r, center, &edge);
  else /* a little low, so that the next round has a column */
    edge = fmax(0, edge_by_bins(rounds, fmin(1, rounds->options.nu * (coarse ? 1.004 : 1))));
  memcpy(rounds->ask.center, center, rounds->d * sizeof *center);
  rounds->ask.edge = edge;
  if (rounds->ask.round != 1) return status;
  /* the centre of the first round is an unweighted mean, and may be far out: from the second round on all columns are
   * relative to that round's centre */
  memcpy(rounds->known.origin, center, rounds->d * sizeof *center);
  rounds->known.columns.count = 0;
  rounds->known.rounding_bound = 0;
  return status;
}

static cpb_status solve_round(cpb_svdd_rounds *rounds, round_sums *r) {
  cpb_svdd_known *known = &rounds->known;
  double edge = rounds->ask.edge, rest, upper = known->upper, lower = known->lower;
  where at = fill(r, &edge, &rest);
  bool ties = at == EDGE_WITHIN && rest > 1e-12;
  cpb_status status = remake_hull(rounds, r);
  double value = at == EDGE_WITHIN ? parts_value(r) + rest * rounds->ask.edge : bound_at(rounds, r, at);
  if (value < upper) {
    known->upper = value;
    known->edge = edge;
    memcpy(known->best, rounds->ask.center, rounds->d * sizeof *known->best);
  }
  if (status == CPB_OK && at == EDGE_WITHIN) status = enter_parts(rounds, r, rest);
  if (status == CPB_OK && at == EDGE_BEYOND) status = enter_beyond(rounds, r);
  if (status == CPB_OK && at == EDGE_WITHIN && !ties && r->rows.count > 0) status = enter_margin(rounds, r);
  if (status != CPB_OK) return status;
  if (r->hull.count > 0)
    known->lower =
        fmax(known->lower, cpb_hull_proven(&r->hull, known->rounding_bound, r->unit_error, rounds->got.rows));
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
  } else {
    round_sums r;
    status = round_init(&r, rounds);
    if (status == CPB_OK) status = solve_round(rounds, &r);
    cpb_working_set_free(&r.rows);
    free(r.numbers);
    cpb_hull_free(&r.hull);
    if (status != CPB_OK) status = cpb_fail_memory(error, "%d rows", (int)CPB_EDGE_ROWS);
  }
  if (status != CPB_OK) return status;
  *done = rounds->known.done;
  if (*done) return CPB_OK;
  rounds->ask.round++;
  clear(rounds);
  return CPB_OK;
}

cpb_status cpb_svdd_rounds_ball(const cpb_svdd_rounds *rounds, double *center, cpb_svdd_report *report,
                                cpb_error *error) {
  if (rounds == NULL || center == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "center");
  const cpb_svdd_known *known = &rounds->known;
  if (!(known->upper < INFINITY)) return cpb_fail_round_no_ball(error);
  cpb_status status = cpb_sized_check(report, "cpb_svdd_report", error);
  if (status != CPB_OK) return status;
  int exponent = rounds->ask.exponent;
  for (size_t j = 0; j < rounds->d; j++) center[j] = ldexp(known->best[j], exponent);
  double lower = known->lower, gap = cpb_svdd_gap(known->upper, &lower);
  cpb_svdd_report ours = {.gap = gap,
                          .radius = ldexp(sqrt(known->edge), exponent),
                          .objective = ldexp(known->upper, 2 * exponent),
                          .lower_bound = cpb_lower_in_unit(lower, 2 * exponent),
                          .iterations = (size_t)rounds->ask.round};
  ours.converged = gap <= rounds->options.gap;
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
