/* T10: each round reads the data once and solves a working set exactly. */
#include <math.h>

#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "learn/piece_rounds.h"
#include "learn/capped_dual.h"
#include "parallel/tell.h"

typedef struct reading {
  cpb_ball_rounds *rounds;
  cpb_source *source;
  const cpb_exec *exec;
  size_t passes;
  uint64_t rows; /* of the last pass */
  bool out_of_range;
} reading;

/* Processes one block of a pass, whose first row is r->rows. */
typedef cpb_status take_block(reading *r, cpb_view block, cpb_error *error);

static cpb_status read_pass(reading *r, take_block *take, cpb_error *error) {
  cpb_source *source = r->source;
  r->rows = 0;
  if (source->view.rows > 0) {
    cpb_status status = take(r, source->view, error);
    r->rows = source->view.rows;
    return status;
  }
  cpb_status status = source->rewind(source, error);
  for (cpb_view block = {0}; status == CPB_OK; r->rows += block.rows) {
    status = source->next(source, &block, error);
    if (status != CPB_OK || block.rows == 0) return status;
    status = take(r, block, error);
    if (status == CPB_EROW) return cpb_fail_later(error, r->rows);
  }
  return status;
}

static cpb_status update(reading *r, cpb_view block, cpb_error *error) {
  return cpb_ball_rounds_update(r->rounds, block, (cpb_row_ids){NULL, r->rows}, r->exec, error);
}

static cpb_status sample(reading *r, cpb_view block, cpb_error *error) {
  cpb_status status = cpb_check_view(block, "x", r->rounds->d, error);
  if (status != CPB_OK) return status;
  status = cpb_ball_rounds_sample(r->rounds, block, (cpb_row_ids){NULL, r->rows});
  return status == CPB_OK ? CPB_OK : cpb_fail_memory(error, "a sample of rows");
}

static cpb_status read_about(reading *r, cpb_view block, cpb_error *error) {
  cpb_row_ids ids = {NULL, r->rows};
  cpb_status status = r->out_of_range ? CPB_OK : cpb_check_view(block, "x", r->rounds->d, error);
  if (status == CPB_OK && !r->out_of_range)
    status = cpb_ball_rounds_read(r->rounds, block, ids, &r->out_of_range, r->exec, error);
  r->rounds->rows_seen += block.rows;
  return status;
}

/* Starts round 1 from a sample alone if squares of the data are safe: the columns need not be read. */
static cpb_status begin(reading *r, bool *begun, cpb_error *error) {
  uint64_t told = r->source->view.rows > 0 ? r->source->view.rows : r->source->rows;
  if (told != CPB_ROWS_UNKNOWN) cpb_ball_rounds_expect(r->rounds, told);
  r->passes += r->source->view.rows == 0;
  cpb_status status = read_pass(r, sample, error);
  uint64_t rows = r->rows;
  if (status == CPB_OK && rows == 0) return cpb_fail_no_ball(error, 0, r->rounds->d);
  if (status == CPB_OK) status = cpb_ball_rounds_start(r->rounds, 0, rows, error);
  if (status == CPB_OK) status = read_pass(r, read_about, error);
  if (status != CPB_OK) return status;
  bool sampled = r->rows == rows && (told == CPB_ROWS_UNKNOWN || told == rows);
  *begun = cpb_ball_rounds_may_stand(r->rounds, r->out_of_range || !sampled);
  r->passes += !*begun;
  return CPB_OK;
}

static cpb_status iterate(reading *r, cpb_error *error) {
  cpb_ball_rounds *rounds = r->rounds;
  double told = 0;
  bool done = false, read = false;
  cpb_status status = cpb_exec_tell(r->exec, 0, error);
  if (status == CPB_OK) status = begin(r, &read, error);
  for (; status == CPB_OK && !done; r->passes++) {
    if (!read) status = read_pass(r, update, error);
    if (status == CPB_OK && rounds->rows_seen == 0) return cpb_fail_no_ball(error, 0, rounds->d);
    if (status == CPB_OK) status = cpb_ball_rounds_solve(rounds, &done, error);
    if (rounds->best.radius < INFINITY)
      told = fmax(told, cpb_gap_progress(rounds->best.gap, rounds->options.gap));
    if (status == CPB_OK) status = cpb_exec_tell(r->exec, told, error);
    read = false;
  }
  return status;
}

cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error) {
  double began = cpb_seconds_now();
  cpb_ball_report ours = {0};
  cpb_ball_rounds *rounds = NULL;
  if (out == NULL || out->center == NULL) return cpb_fail_missing(error, out == NULL ? "out" : "out->center");
  cpb_status status = cpb_check_source(source, error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status == CPB_OK) status = cpb_ball_rounds_new(source->cols, options, &rounds, error);
  if (status != CPB_OK) return status;
  reading r = {.rounds = rounds, .source = source, .exec = exec};
  status = iterate(&r, error);
  if (status == CPB_OK) {
    ours.passes = r.passes;
    cpb_ball_rounds_write(rounds, out, &ours);
    ours.seconds = cpb_seconds_now() - began;
    cpb_sized_give(report, &ours, sizeof ours);
  }
  cpb_ball_rounds_free(rounds);
  return status;
}

cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                              cpb_ball_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  cpb_source source = cpb_source_from_view(x);
  return cpb_enclosing_ball_stream(&source, options, out, report, exec, error);
}
