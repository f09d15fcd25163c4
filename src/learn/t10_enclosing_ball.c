/* T10: rounds of one read of the data and one exact solution on a working set. */
#include "capball/ball.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/core_parts.h"
#include "learn/share.h"
#include "learn/svdd_fail.h"
#include "parallel/tell.h"

static const cpb_ball_options defaults = {.size = sizeof(cpb_ball_options), .gap = 1e-9, .max_passes = 200};

void cpb_ball_options_init(cpb_ball_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

void cpb_ball_report_init(cpb_ball_report *report, size_t size) {
  cpb_sized_init(report, size, &(cpb_ball_report){0}, sizeof(cpb_ball_report));
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

static cpb_status read_pass(cpb_core *core, cpb_source *source, const cpb_exec *exec, cpb_error *error) {
  if (source->view.rows > 0) return cpb_core_update(core, source->view, 0, exec, error);
  cpb_status status = source->rewind(source, error);
  for (uint64_t before = 0; status == CPB_OK; before = core->rows_seen) {
    cpb_view block = {0};
    status = source->next(source, &block, error);
    if (status != CPB_OK || block.rows == 0) return status;
    status = cpb_core_update(core, block, before, exec, error);
    if (status == CPB_EROW) return cpb_fail_later(error, before);
  }
  return status;
}

/* Rows in memory spare the round that looks at the columns. */
static cpb_status begin(cpb_core *core, cpb_source *source, bool *read, const cpb_exec *exec,
                        cpb_error *error) {
  *read = false;
  return source->view.rows > 0 ? cpb_core_begin_whole(core, source->view, read, exec, error) : CPB_OK;
}

static cpb_status iterate(cpb_core *core, cpb_source *source, size_t *passes, const cpb_exec *exec,
                          cpb_error *error) {
  double told = 0;
  bool done = false, read;
  cpb_status status = cpb_exec_tell(exec, 0, error);
  if (status == CPB_OK) status = begin(core, source, &read, exec, error);
  for (*passes = 0; status == CPB_OK && !done; ++*passes) {
    if (!read) status = read_pass(core, source, exec, error);
    if (status == CPB_OK && core->rows_seen == 0) return cpb_fail_no_ball(error, 0, core->d);
    if (status == CPB_OK) status = cpb_core_solve(core, &done, error);
    if (core->best.radius < INFINITY) told = fmax(told, cpb_share_of_gap(core->best.gap, core->options.gap));
    if (status == CPB_OK) status = cpb_exec_tell(exec, told, error);
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
  status = iterate(core, source, &ours.passes, exec, error);
  if (status == CPB_OK) {
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
