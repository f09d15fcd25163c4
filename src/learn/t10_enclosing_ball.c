/* T10: rounds of one read of the data and one exact solution on a working set. */
#include "capball/ball.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/ball_stream.h"
#include "learn/core_parts.h"
#include "learn/own_rounds.h"
#include "learn/share.h"
#include "learn/svdd_fail.h"
#include "parallel/tell.h"

static const cpb_ball_options defaults = {.size = sizeof(cpb_ball_options), .gap = 1e-9, .max_passes = 200};

void cpb_ball_options_init(cpb_ball_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cpb_status check_options(const cpb_ball_options *options, cpb_error *error) {
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail_domain(error, "gap", options->gap, "gap must be >= 0 and finite");
  if (options->max_passes == 0) return cpb_fail_count(error, "max_passes", 0, "max_passes must be >= 1");
  if (options->method != CPB_BALL_ACTIVE_SET && options->method != CPB_BALL_CAPS)
    return cpb_fail_domain(error, "method", (double)options->method,
                           "method must be CPB_BALL_ACTIVE_SET or CPB_BALL_CAPS");
  return CPB_OK;
}

cpb_status cpb_core_new(size_t d, const cpb_ball_options *given, cpb_core **core, cpb_error *error) {
  cpb_ball_options taken = defaults, *options = &taken;
  if (core == NULL) return cpb_fail_missing(error, "core");
  *core = NULL;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_ball_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if (status != CPB_OK) return status;
  cpb_core *made = calloc(1, sizeof *made);
  if (made != NULL) {
    *made = (cpb_core){
        .loops = cpb_loops_here(), .d = d, .options = *options, .set.d = d, .staged.d = d, .sample_rank = -1};
    made->origin = d > SIZE_MAX / sizeof(double) / 6 ? NULL : calloc(6 * d, sizeof *made->origin);
    if (made->origin != NULL && cpb_hull_init(&made->hull, made->loops, d, 1) == CPB_OK) {
      made->point = made->origin + d;
      made->center = made->origin + 2 * d;
      made->low = made->origin + 3 * d;
      made->high = made->origin + 4 * d;
      made->best = (cpb_best_ball){.center = made->origin + 5 * d, .radius = INFINITY};
      *core = made;
      return CPB_OK;
    }
  }
  cpb_core_free(made);
  return cpb_fail_memory(error, "a core-set of dimension %zu", d);
}

void cpb_core_free(cpb_core *core) {
  if (core == NULL) return;
  cpb_working_set_free(&core->set);
  cpb_working_set_free(&core->staged);
  cpb_hull_free(&core->hull);
  free(core->origin);
  free(core->multiplier);
  free(core->support_row);
  free(core);
}

typedef struct reading {
  cpb_core *core;
  cpb_source *source;
  const cpb_exec *exec;
  size_t passes;
  uint64_t rows; /* of the last pass */
  bool out_of_range;
} reading;

/* What a pass does with a block, whose first row is r->rows. */
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
  return cpb_core_update(r->core, block, r->rows, r->exec, error);
}

static uint64_t told_rows(const cpb_source *source) {
  return source->view.rows > 0 ? source->view.rows : source->rows;
}

static cpb_status sample(reading *r, cpb_view block, cpb_error *error) {
  uint64_t rows = told_rows(r->source);
  cpb_status status = cpb_check_view(block, "x", r->core->d, error);
  if (status != CPB_OK) return status;
  status = rows == CPB_ROWS_UNKNOWN ? cpb_core_sample(r->core, block, (cpb_row_ids){NULL, r->rows})
                                    : cpb_core_sample_of(r->core, block, r->rows, rows);
  return status == CPB_OK ? CPB_OK : cpb_fail_memory(error, "a sample of rows");
}

static cpb_status read_about(reading *r, cpb_view block, cpb_error *error) {
  bool out_of_range = false;
  cpb_status status = r->out_of_range ? CPB_OK : cpb_check_view(block, "x", r->core->d, error);
  if (status == CPB_OK && !r->out_of_range)
    status = cpb_core_read(r->core, block, (cpb_row_ids){NULL, r->rows}, &out_of_range, r->exec, error);
  r->out_of_range |= out_of_range;
  r->core->rows_seen += block.rows;
  return status;
}

/* Round 1 after a look at a sample alone, where squares of the data are safe: the columns need not be read. */
static cpb_status begin(reading *r, bool *begun, cpb_error *error) {
  r->passes += r->source->view.rows == 0;
  cpb_status status = read_pass(r, sample, error);
  uint64_t rows = r->rows, told = told_rows(r->source);
  if (status == CPB_OK && rows == 0) return cpb_fail_no_ball(error, 0, r->core->d);
  if (status == CPB_OK) status = cpb_core_start(r->core, 0, rows, error);
  if (status == CPB_OK) status = read_pass(r, read_about, error);
  if (status != CPB_OK) return status;
  bool sampled = r->rows == rows && (told == CPB_ROWS_UNKNOWN || told == rows);
  *begun = cpb_core_may_stand(r->core, r->out_of_range || !sampled);
  r->passes += !*begun;
  return CPB_OK;
}

static cpb_status iterate(reading *r, cpb_error *error) {
  cpb_core *core = r->core;
  double told = 0;
  bool done = false, read = false;
  cpb_status status = cpb_exec_tell(r->exec, 0, error);
  if (status == CPB_OK) status = begin(r, &read, error);
  for (; status == CPB_OK && !done; r->passes++) {
    if (!read) status = read_pass(r, update, error);
    if (status == CPB_OK && core->rows_seen == 0) return cpb_fail_no_ball(error, 0, core->d);
    if (status == CPB_OK) status = cpb_core_solve(core, &done, error);
    if (core->best.radius < INFINITY) told = fmax(told, cpb_share_of_gap(core->best.gap, core->options.gap));
    if (status == CPB_OK) status = cpb_exec_tell(r->exec, told, error);
    read = false;
  }
  return status;
}

cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error) {
  double began = seconds_now();
  cpb_ball_report ours = {0};
  cpb_core *core = NULL;
  if (out == NULL || out->center == NULL) return cpb_fail_missing(error, out == NULL ? "out" : "out->center");
  cpb_status status = cpb_check_source(source, error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status == CPB_OK) status = cpb_core_new(source->cols, options, &core, error);
  if (status != CPB_OK) return status;
  reading r = {.core = core, .source = source, .exec = exec};
  status = iterate(&r, error);
  if (status == CPB_OK) {
    ours.passes = r.passes;
    cpb_core_write(core, out, &ours);
    ours.seconds = seconds_now() - began;
    cpb_sized_give(report, &ours, sizeof ours);
  }
  cpb_core_free(core);
  return status;
}

cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                              cpb_ball_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  cpb_source source = cpb_source_from_view(x);
  return cpb_enclosing_ball_stream(&source, options, out, report, exec, error);
}
