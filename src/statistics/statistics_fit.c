#include "statistics/statistics_fit.h"

#include <math.h>
#include <stdlib.h>

#include "loops/ruler.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/rows.h"
#include "base/sized.h"

CPB_DEFAULTS(cpb_statistics_fit_options, .sample = 4096)

typedef struct gathering {
  cpb_gathering what;
  uint64_t first_id;
  cpb_statistics *whole;
  cpb_statistics *piece[CPB_PASS_SLOTS];
} gathering;

/* The rows divided by their norms; those without a direction are reported and left out. */
static cpb_view directions_of(const cpb_slot *slot, cpb_first_fault *fault) {
  cpb_ruler ruler = {.loops = cpb_loops_here(), .x = slot->rows, .sign = 1};
  size_t good = 0, d = slot->rows.cols;
  for (size_t i = 0; i < slot->rows.rows; i++) {
    double norm, *u = slot->room + good * d;
    int bad = cpb_ruler_length(&ruler, i, &norm);
    if (bad == 0 && norm == 0) bad = CPB_FAULT_ZERO;
    cpb_record_fault(fault, (size_t)(slot->first + i), bad);
    if (bad != 0) continue;
    for (size_t k = 0; k < d; k++) u[k] = cpb_view_at(slot->rows, i, k) / norm;
    good++;
  }
  return cpb_rows(slot->room, CPB_F64, good, d);
}

static cpb_status look(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error) {
  const gathering *g = arg;
  cpb_statistics *piece = g->piece[slot->number];
  cpb_view rows = g->what == CPB_GATHER_DIRECTIONS ? directions_of(slot, fault) : slot->rows;
  cpb_status status = cpb_statistics_update(piece, rows, g->first_id + slot->first, error);
  if (status != CPB_OK || cpb_statistics_bad_rows(piece) == 0) return status;
  return cpb_record_faults(NULL, slot, fault, error);
}

static cpb_status gather(void *arg, const cpb_slot *slot, cpb_error *error) {
  const gathering *g = arg;
  cpb_statistics *piece = g->piece[slot->number];
  cpb_status status = cpb_statistics_merge(g->whole, piece, error);
  return status == CPB_OK ? cpb_statistics_restart(piece, g->whole, error) : status;
}

static cpb_status make_pieces(gathering *g, cpb_error *error) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_statistics_describe(g->whole, &options);
  cpb_status status = CPB_OK;
  for (size_t slot = 0; slot < CPB_PASS_SLOTS && status == CPB_OK; slot++) {
    status = cpb_statistics_new(&options, &g->piece[slot], error);
    if (status == CPB_OK) status = cpb_statistics_restart(g->piece[slot], g->whole, error);
  }
  return status;
}

static cpb_status run(cpb_passes *passes, cpb_statistics *whole, uint64_t first_id, cpb_gathering what,
                      cpb_error *error) {
  gathering g = {.what = what, .first_id = first_id, .whole = whole};
  cpb_pass pass = {.arg = &g, .block_bytes = (size_t)1 << 20, .look = look, .gather = gather};
  if (what == CPB_GATHER_DIRECTIONS) pass.per_row = passes->source->cols;
  cpb_status status = make_pieces(&g, error);
  if (status == CPB_OK) status = cpb_pass_run(passes, &pass, error);
  for (size_t slot = 0; slot < CPB_PASS_SLOTS; slot++) cpb_statistics_free(g.piece[slot]);
  return status;
}

cpb_status cpb_gathered(cpb_statistics *statistics, cpb_statistics_result *facts, cpb_error *error) {
  *facts = (cpb_statistics_result){.size = sizeof *facts};
  cpb_status status = cpb_statistics_finish(statistics, facts, error);
  if (status == CPB_OK && facts->rows == 0) return cpb_fail_no_rows(error);
  return status;
}

static cpb_status gather_columns(cpb_passes *passes, const cpb_statistics_fit_options *options,
                                 cpb_gathering what, cpb_statistics **statistics, cpb_error *error) {
  cpb_statistics_options of;
  cpb_statistics_options_init(&of, sizeof of);
  of.d = passes->source->cols;
  of.dtype = what == CPB_GATHER_DIRECTIONS ? CPB_F64 : cpb_pass_dtype(passes->source);
  of.seed = options->seed;
  of.sample = options->sample;
  cpb_status status = cpb_statistics_new(&of, statistics, error);
  if (status != CPB_OK) return status;
  passes->skip_bad = options->skip_bad;
  status = run(passes, *statistics, options->first_id, what, error);
  if (status == CPB_OK) return CPB_OK;
  cpb_statistics_free(*statistics);
  *statistics = NULL;
  return status;
}

static cpb_status gather_norms(cpb_passes *passes, cpb_statistics *statistics, cpb_statistics_result *facts,
                               cpb_error *error) {
  cpb_status status = cpb_gathered(statistics, facts, error);
  if (status == CPB_OK && !facts->norms) status = cpb_statistics_begin_norms(statistics, error);
  if (status == CPB_OK) status = run(passes, statistics, 0, CPB_GATHER_NORMS, error);
  return status == CPB_OK ? cpb_gathered(statistics, facts, error) : status;
}

cpb_status cpb_gather(cpb_passes *passes, const cpb_statistics_fit_options *options, cpb_gathering what,
                      cpb_statistics **statistics, cpb_statistics_result *facts, cpb_error *error) {
  cpb_status status = gather_columns(passes, options, what, statistics, error);
  if (status != CPB_OK) return status;
  return what == CPB_GATHER_NORMS ? gather_norms(passes, *statistics, facts, error)
                                  : cpb_gathered(*statistics, facts, error);
}

cpb_status cpb_statistics_fit(cpb_source *rows, const cpb_statistics_fit_options *options,
                              cpb_statistics **statistics, const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_statistics_fit_options o = defaults;
  if (statistics == NULL) return cpb_fail_missing(error, "statistics");
  *statistics = NULL;
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "statistics fit options", error);
  if (status == CPB_OK) status = cpb_passes_init(&passes, rows, 1, exec, error);
  return status == CPB_OK ? gather_columns(&passes, &o, CPB_GATHER_COLUMNS, statistics, error) : status;
}

cpb_status cpb_statistics_fit_norms(cpb_statistics *statistics, cpb_source *rows, const cpb_exec *exec,
                                    cpb_error *error) {
  cpb_passes passes;
  cpb_statistics_result facts;
  cpb_statistics_options of;
  if (statistics == NULL) return cpb_fail_missing(error, "statistics");
  cpb_status status = cpb_passes_init(&passes, rows, 1, exec, error);
  if (status != CPB_OK) return status;
  cpb_statistics_options_init(&of, sizeof of);
  cpb_statistics_describe(statistics, &of);
  status = cpb_check_source_cols(rows, "rows", of.d, error);
  if (status != CPB_OK) return status;
  return gather_norms(&passes, statistics, &facts, error);
}

/* Statistics of each column of a source. */

/* Copies the finite numbers of a column, in row order. */
static size_t finite_numbers(cpb_view rows, size_t column, double *numbers) {
  size_t count = 0;
  for (size_t i = 0; i < rows.rows; i++) {
    numbers[count] = cpb_view_at(rows, i, column);
    count += isfinite(numbers[count]) ? 1 : 0;
  }
  return count;
}

static double deviation_of(const double *numbers, size_t count, double mean) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (numbers[i] - mean) * (numbers[i] - mean);
  return sqrt(sum / (double)count);
}

static void describe(cpb_view rows, size_t column, double *numbers, const cpb_column_facts *facts) {
  size_t count = finite_numbers(rows, column, numbers);
  double mean = count == 0 ? NAN : cpb_mean(numbers, count);
  if (facts->mean != NULL) facts->mean[column] = mean;
  if (facts->deviation != NULL)
    facts->deviation[column] = count == 0 ? NAN : deviation_of(numbers, count, mean);
  if (facts->median != NULL) facts->median[column] = count == 0 ? NAN : cpb_median(numbers, count);
}

cpb_status cpb_columns_fit(cpb_source *rows, const cpb_column_facts *facts, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_view held;
  if (facts == NULL) return cpb_fail_missing(error, "facts");
  cpb_status status = cpb_source_hold(rows, &held, exec, error);
  if (status != CPB_OK) return status;
  double *numbers = calloc(held.rows + 1, sizeof *numbers);
  if (numbers == NULL)
    status = cpb_fail_memory(error, "a column of %zu rows", held.rows);
  else
    for (size_t k = 0; k < held.cols; k++) describe(held, k, numbers, facts);
  free(numbers);
  cpb_free((void *)(uintptr_t)held.data);
  return status;
}
