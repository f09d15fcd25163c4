/* T10: rounds in which nothing depends on how the rows are cut. What is gathered are extremes of columns, a sample, a
 * largest distance and the farthest rows by (distance, id); these come in that order into what is solved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/core_parts.h"
#include "learn/distances.h"
#include "learn/own_rounds.h"
#include "learn/round_fail.h"

/* ---- round 0: the columns ---- */

static cpb_status fault_at(size_t row, int fault, cpb_error *error) {
  cpb_first_fault first;
  cpb_first_fault_init(&first);
  cpb_first_fault_meet(&first, row, (cpb_fault)fault);
  return cpb_first_fault_report(&first, "x", error);
}

static void widen_span(cpb_core *core, const double *low, const double *high) {
  for (size_t j = 0; j < core->d; j++) {
    core->low[j] = core->rows_seen == 0 ? low[j] : fmin(core->low[j], low[j]);
    core->high[j] = core->rows_seen == 0 ? high[j] : fmax(core->high[j], high[j]);
  }
}

static cpb_status span_columns(cpb_core *core, cpb_view x, double *low, double *high, cpb_error *error) {
  double buffer[CPB_CHUNK];
  for (size_t j = 0; j < core->d; j++) {
    low[j] = INFINITY;
    high[j] = -INFINITY;
  }
  for (size_t i = 0; i < x.rows; i++) {
    bool finite = true;
    for (size_t offset = 0; offset < core->d; offset += CPB_CHUNK) {
      size_t count = cpb_chunk_count(core->d, offset);
      const double *chunk = cpb_row_chunk(core->loops, x, i, offset, count, buffer);
      finite = core->loops->span(chunk, count, low + offset, high + offset) && finite;
    }
    if (!finite) return fault_at(i, cpb_row_fault(core->loops, x, i), error);
  }
  return CPB_OK;
}

static cpb_status look_at_columns(cpb_core *core, cpb_view x, cpb_row_ids ids, cpb_error *error) {
  double *low = malloc(2 * core->d * sizeof *low), *high = low + core->d;
  if (low == NULL) return cpb_fail_memory(error, "%zu columns", core->d);
  cpb_status status = span_columns(core, x, low, high, error);
  if (status == CPB_OK && cpb_core_sample(core, x, ids) != CPB_OK)
    status = cpb_fail_memory(error, "a sample of rows");
  if (status == CPB_OK) {
    widen_span(core, low, high);
    core->rows_seen += x.rows;
  }
  free(low);
  return status;
}

/* A unit in which squares of all differences are safe. */
static int unit_of_columns(const cpb_core *core) {
  double half = 0;
  for (size_t j = 0; j < core->d; j++) half = fmax(half, core->high[j] / 2 - core->low[j] / 2);
  for (size_t j = 0; half == 0 && j < core->d; j++) half = fmax(half, core->high[j] - core->low[j]);
  int exponent = half > 0 ? ilogb(half) + 1 : 0;
  return abs(exponent) < CPB_SAFE_EXPONENT ? 0 : exponent;
}

/* A new core again. */
static void begin_anew(cpb_core *core) {
  core->round = 0;
  core->exponent = 0;
  core->lower2 = core->proven2 = 0;
  core->set.count = core->hull.count = core->support_count = 0;
  core->iterations = 0;
  core->sample_rank = -1;
  memset(core->hull.point, 0, core->d * sizeof *core->hull.point);
  memset(core->origin, 0, 3 * core->d * sizeof *core->origin); /* with point and center */
  cpb_core_begin_pass(core);
}

/* Rows whose largest distance is within these need no other unit, whatever their columns are. */
static bool needs_no_unit(double largest2) { return largest2 > 0x1p-400 && largest2 < 0x1p480; }

bool cpb_core_may_stand(cpb_core *core, bool out_of_range) {
  bool stands = !out_of_range && needs_no_unit(core->largest2);
  if (!stands) begin_anew(core);
  return stands;
}

/* ---- the other rounds ---- */

static cpb_status gather(cpb_core *core, cpb_view x, cpb_row_ids ids, const cpb_exec *exec,
                         cpb_error *error) {
  bool out_of_range;
  double largest2 = core->largest2;
  cpb_status status = cpb_core_read(core, x, ids, &out_of_range, exec, error);
  if (status == CPB_OK && out_of_range) {
    core->largest2 = largest2;
    return cpb_fail_round_unseen(error);
  }
  if (status == CPB_OK) core->rows_seen += x.rows;
  return status;
}

static cpb_status update(cpb_core *core, cpb_view x, cpb_row_ids ids, const cpb_exec *exec,
                         cpb_error *error) {
  if (core == NULL) return cpb_fail_missing(error, "core");
  cpb_status status = cpb_check_view(x, "x", core->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  return core->round == 0 ? look_at_columns(core, x, ids, error) : gather(core, x, ids, exec, error);
}

cpb_status cpb_core_update(cpb_core *core, cpb_view rows, uint64_t first_id, const cpb_exec *exec,
                           cpb_error *error) {
  return update(core, rows, (cpb_row_ids){NULL, first_id}, exec, error);
}

cpb_status cpb_core_update_ids(cpb_core *core, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                               cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return update(core, rows, (cpb_row_ids){ids, 0}, exec, error);
}

static bool same_numbers(const double *a, const double *b, size_t n) {
  return memcmp(a, b, n * sizeof *a) == 0;
}

static cpb_status check_alike(const cpb_core *a, const cpb_core *b, cpb_error *error) {
  if (a == NULL || b == NULL) return cpb_fail_missing(error, a == NULL ? "core" : "piece");
  cpb_round ours = {.d = a->d, .round = a->round}, theirs = {.d = b->d, .round = b->round};
  theirs.same_options = a->options.method == b->options.method && a->options.gap == b->options.gap;
  theirs.same_center = a->round == 0 || (a->exponent == b->exponent && a->d == b->d &&
                                         same_numbers(a->center, b->center, a->d));
  return cpb_round_check(a, b, ours, theirs, error);
}

cpb_status cpb_core_merge(cpb_core *core, const cpb_core *piece, cpb_error *error) {
  cpb_status status = check_alike(core, piece, error);
  if (status != CPB_OK || piece->rows_seen == 0) return status;
  if (core->round == 0) {
    if (cpb_core_sample_join(core, piece) != CPB_OK) return cpb_fail_memory(error, "a sample of rows");
    widen_span(core, piece->low, piece->high);
    core->rows_seen += piece->rows_seen;
    return CPB_OK;
  }
  size_t before = core->staged.count, added;
  status = cpb_working_set_join(&core->staged, &piece->staged, &added);
  if (status == CPB_OK) status = cpb_core_keep_far(core);
  if (status != CPB_OK) {
    core->staged.count = before;
    return cpb_fail_memory(error, "%zu rows", piece->staged.count);
  }
  core->largest2 = fmax(core->largest2, piece->largest2);
  core->rows_seen += piece->rows_seen;
  return CPB_OK;
}

cpb_status cpb_core_restart(cpb_core *piece, const cpb_core *core, cpb_error *error) {
  if (piece == NULL || core == NULL) return cpb_fail_missing(error, piece == NULL ? "piece" : "core");
  if (piece == core) return cpb_fail_round_itself(error);
  if (piece->d != core->d) return cpb_fail_round_dimensions(error, piece->d, core->d);
  piece->options = core->options;
  piece->round = core->round;
  piece->exponent = core->exponent;
  piece->rows = core->rows;
  piece->done = core->done;
  piece->lower2 = core->lower2;
  piece->proven2 = core->proven2;
  memcpy(piece->origin, core->origin, 3 * core->d * sizeof *piece->origin); /* with point and center */
  piece->sample_rank = -1;
  piece->set.count = piece->hull.count = 0;
  piece->support_count = 0;
  piece->best.radius = INFINITY;
  cpb_core_begin_pass(piece);
  return CPB_OK;
}

cpb_status cpb_core_solve(cpb_core *core, bool *done, cpb_error *error) {
  if (core == NULL || done == NULL) return cpb_fail_missing(error, core == NULL ? "core" : "done");
  if (core->rows_seen == 0) return cpb_fail_round_empty(error, core->round);
  cpb_status status = CPB_OK;
  *done = false;
  if (core->round == 0) return cpb_core_start(core, unit_of_columns(core), core->rows_seen, error);
  bool solved = core->support_count > 0;
  if (solved) cpb_core_keep_best(core);
  core->done = solved && (core->best.gap <= core->options.gap || core->round >= core->options.max_passes);
  if (!core->done) status = cpb_core_move(core, error);
  if (status != CPB_OK) return status;
  if (solved && core->newcomers == 0) core->done = true;
  if (!core->done) {
    core->round++;
    cpb_core_begin_pass(core);
  }
  *done = core->done;
  return CPB_OK;
}

cpb_status cpb_core_ball(const cpb_core *core, const cpb_ball_out *out, cpb_ball_report *report,
                         cpb_error *error) {
  if (core == NULL || out == NULL || out->center == NULL)
    return cpb_fail_missing(error, core == NULL ? "core" : out == NULL ? "out" : "out->center");
  if (!(core->best.radius < INFINITY)) return cpb_fail_round_no_ball(error);
  cpb_status status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status != CPB_OK) return status;
  cpb_ball_report ours = {.passes = (size_t)core->round};
  cpb_core_write(core, out, &ours);
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
