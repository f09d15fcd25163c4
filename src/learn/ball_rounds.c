/* T10: rounds whose results do not depend on how the rows are divided. A round gathers column extremes, a sample,
 * a largest distance and the farthest rows by (distance, id), which enter the solver in that order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/ball_rounds_parts.h"
#include "learn/distances.h"
#include "learn/own_rounds.h"
#include "learn/piece_rounds.h"

/* ---- round 0: the columns ---- */

static cpb_status span_columns(cpb_ball_rounds *rounds, cpb_view x, double *low, double *high,
                               cpb_error *error) {
  double buffer[CPB_CHUNK];
  for (size_t j = 0; j < rounds->d; j++) {
    low[j] = INFINITY;
    high[j] = -INFINITY;
  }
  for (size_t i = 0; i < x.rows; i++) {
    bool finite = true;
    for (size_t offset = 0; offset < rounds->d; offset += CPB_CHUNK) {
      size_t count = cpb_chunk_count(rounds->d, offset);
      const double *chunk = cpb_row_chunk(rounds->loops, x, i, offset, count, buffer);
      finite = rounds->loops->span(chunk, count, low + offset, high + offset) && finite;
    }
    if (!finite) return cpb_fault_report(i, cpb_row_fault(rounds->loops, x, i), "x", error);
  }
  return CPB_OK;
}

static cpb_status look_at_columns(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, cpb_error *error) {
  double *low = malloc(2 * rounds->d * sizeof *low), *high = low + rounds->d;
  if (low == NULL) return cpb_fail_memory(error, "%zu columns", rounds->d);
  cpb_status status = span_columns(rounds, x, low, high, error);
  if (status == CPB_OK && cpb_ball_rounds_sample(rounds, x, ids) != CPB_OK)
    status = cpb_fail_memory(error, "a sample of rows");
  if (status == CPB_OK) {
    cpb_columns_widen(rounds->low, rounds->high, rounds->rows_seen == 0, low, high, rounds->d);
    rounds->rows_seen += x.rows;
  }
  free(low);
  return status;
}

/* Resets to the state after cpb_ball_rounds_new. */
static void begin_anew(cpb_ball_rounds *rounds) {
  rounds->round = 0;
  rounds->exponent = 0;
  rounds->lower2 = rounds->proven2 = 0;
  rounds->set.count = rounds->hull.count = rounds->support_count = 0;
  rounds->iterations = 0;
  rounds->sample_rank = -1;
  memset(rounds->hull.point, 0, rounds->d * sizeof *rounds->hull.point);
  memset(rounds->origin, 0, 3 * rounds->d * sizeof *rounds->origin); /* and point and center */
  cpb_ball_rounds_begin_pass(rounds);
}

/* If the largest squared distance is within these bounds no other unit is needed, whatever the columns are. */
static bool needs_no_unit(double largest2) { return largest2 > 0x1p-400 && largest2 < 0x1p480; }

bool cpb_ball_rounds_may_stand(cpb_ball_rounds *rounds, bool out_of_range) {
  bool stands = !out_of_range && needs_no_unit(rounds->largest2);
  if (!stands) begin_anew(rounds);
  return stands;
}

/* ---- the other rounds ---- */

static cpb_status gather(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, const cpb_exec *exec,
                         cpb_error *error) {
  bool out_of_range;
  double largest2 = rounds->largest2;
  cpb_status status = cpb_ball_rounds_read(rounds, x, ids, &out_of_range, exec, error);
  if (status == CPB_OK && out_of_range) {
    rounds->largest2 = largest2;
    return cpb_fail_round_unseen(error);
  }
  if (status == CPB_OK) rounds->rows_seen += x.rows;
  return status;
}

static cpb_status update(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, const cpb_exec *exec,
                         cpb_error *error) {
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  cpb_status status = cpb_check_view(x, "x", rounds->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  return rounds->round == 0 ? look_at_columns(rounds, x, ids, error) : gather(rounds, x, ids, exec, error);
}

cpb_status cpb_ball_rounds_update(cpb_ball_rounds *rounds, cpb_view rows, uint64_t first_id,
                                  const cpb_exec *exec, cpb_error *error) {
  return update(rounds, rows, (cpb_row_ids){NULL, first_id}, exec, error);
}

cpb_status cpb_ball_rounds_update_ids(cpb_ball_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                      const cpb_exec *exec, cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return update(rounds, rows, (cpb_row_ids){ids, 0}, exec, error);
}

static bool same_numbers(const double *a, const double *b, size_t n) {
  return memcmp(a, b, n * sizeof *a) == 0;
}

static cpb_status check_alike(const cpb_ball_rounds *a, const cpb_ball_rounds *b, cpb_error *error) {
  if (a == NULL || b == NULL) return cpb_fail_missing(error, a == NULL ? "rounds" : "piece");
  cpb_round ours = {.d = a->d, .round = a->round}, theirs = {.d = b->d, .round = b->round};
  theirs.same_options = a->options.method == b->options.method && a->options.gap == b->options.gap;
  theirs.same_center = a->round == 0 || (a->exponent == b->exponent && a->d == b->d &&
                                         same_numbers(a->center, b->center, a->d));
  return cpb_round_check(a, b, ours, theirs, error);
}

cpb_status cpb_ball_rounds_merge(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece, cpb_error *error) {
  cpb_status status = check_alike(rounds, piece, error);
  if (status != CPB_OK || piece->rows_seen == 0) return status;
  if (rounds->round == 0) {
    if (cpb_ball_rounds_sample_join(rounds, piece) != CPB_OK)
      return cpb_fail_memory(error, "a sample of rows");
    cpb_columns_widen(rounds->low, rounds->high, rounds->rows_seen == 0, piece->low, piece->high, rounds->d);
    rounds->rows_seen += piece->rows_seen;
    return CPB_OK;
  }
  size_t before = rounds->staged.count, added;
  status = cpb_working_set_join(&rounds->staged, &piece->staged, &added);
  if (status == CPB_OK) status = cpb_ball_rounds_keep_far(rounds);
  if (status != CPB_OK) {
    rounds->staged.count = before;
    return cpb_fail_memory(error, "%zu rows", piece->staged.count);
  }
  rounds->largest2 = fmax(rounds->largest2, piece->largest2);
  rounds->rows_seen += piece->rows_seen;
  return CPB_OK;
}

cpb_status cpb_ball_rounds_restart(cpb_ball_rounds *piece, const cpb_ball_rounds *rounds, cpb_error *error) {
  if (piece == NULL || rounds == NULL) return cpb_fail_missing(error, piece == NULL ? "piece" : "rounds");
  cpb_status status = cpb_round_check_restart(piece, rounds, piece->d, rounds->d, error);
  if (status != CPB_OK) return status;
  piece->options = rounds->options;
  piece->round = rounds->round;
  piece->exponent = rounds->exponent;
  piece->rows = rounds->rows;
  piece->done = rounds->done;
  piece->lower2 = rounds->lower2;
  piece->proven2 = rounds->proven2;
  memcpy(piece->origin, rounds->origin, 3 * rounds->d * sizeof *piece->origin); /* and point and center */
  piece->sample_rank = -1;
  piece->set.count = piece->hull.count = 0;
  piece->support_count = 0;
  piece->best.radius = INFINITY;
  cpb_ball_rounds_begin_pass(piece);
  return CPB_OK;
}

cpb_status cpb_ball_rounds_solve(cpb_ball_rounds *rounds, bool *done, cpb_error *error) {
  if (rounds == NULL || done == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "done");
  if (rounds->rows_seen == 0) return cpb_fail_round_empty(error, rounds->round);
  cpb_status status = CPB_OK;
  *done = false;
  if (rounds->round == 0)
    return cpb_ball_rounds_start(rounds, cpb_columns_exponent(rounds->low, rounds->high, rounds->d),
                                 rounds->rows_seen, error);
  bool solved = rounds->support_count > 0;
  if (solved) cpb_ball_rounds_keep_best(rounds);
  rounds->done =
      solved && (rounds->best.gap <= rounds->options.gap || rounds->round >= rounds->options.max_passes);
  if (!rounds->done) status = cpb_ball_rounds_move(rounds, error);
  if (status != CPB_OK) return status;
  if (solved && rounds->newcomers == 0) rounds->done = true;
  if (!rounds->done) {
    rounds->round++;
    cpb_ball_rounds_begin_pass(rounds);
  }
  *done = rounds->done;
  return CPB_OK;
}

cpb_status cpb_ball_rounds_ball(const cpb_ball_rounds *rounds, const cpb_ball_out *out,
                                cpb_ball_report *report, cpb_error *error) {
  if (rounds == NULL || out == NULL || out->center == NULL)
    return cpb_fail_missing(error, rounds == NULL ? "rounds" : out == NULL ? "out" : "out->center");
  if (!(rounds->best.radius < INFINITY)) return cpb_fail_round_no_ball(error);
  cpb_status status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status != CPB_OK) return status;
  cpb_ball_report ours = {.passes = (size_t)rounds->round};
  cpb_ball_rounds_write(rounds, out, &ours);
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
