/* The distribution of row norms: extremes, mean, median, a histogram. */
#include <math.h>
#include <string.h>

#include "capball/advanced/fitting.h"
#include "core/elementary.h"
#include "core/fail.h"
#include "core/sized.h"
#include "fit/fit_norms.h"

void cpb_norms_fit_options_init(cpb_norms_fit_options *options, size_t size) {
  cpb_norms_fit_options defaults = {.size = 0};
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

/* Bars of equal width, or of equal width in the logarithm if a few very large norms would put all others into one
 * bar. */
static void set_edges(cpb_norms_report *r, size_t bars) {
  double low = r->min, high = r->max;
  bool logarithmic = low > 0 && high > 20 * r->median;
  r->bars = high > low ? bars : 1;
  for (size_t i = 0; i < r->bars; i++) {
    double share = (double)i / (double)bars;
    double power = isfinite(high / low) ? low * cpb_pow(high / low, share)
                                        : cpb_pow(low, 1 - share) * cpb_pow(high, share);
    r->edges[i] = logarithmic ? power : low + (high - low) * share;
  }
  r->edges[r->bars] = high;
}

static uint64_t *bar_of(cpb_norms_report *r, double norm) {
  size_t bar = 0;
  while (bar + 1 < r->bars && norm >= r->edges[bar + 1]) bar++;
  return &r->counts[bar];
}

/* From one pass: bins are assigned to bars by their middles. */
static void count_bin(void *arg, double middle, uint64_t count) {
  cpb_norms_report *r = arg;
  *bar_of(r, fmin(fmax(middle, r->min), r->max)) += count;
}

typedef struct second_look {
  cpb_norms_report *report;
  cpb_fine_median fine;
} second_look;

static void look_again(void *arg, const double *norms, size_t count) {
  second_look *look = arg;
  for (size_t i = 0; i < count; i++) *bar_of(look->report, norms[i]) += 1;
  cpb_fine_median_take(&look->fine, norms, count);
}

/* Bars and the last digits of the median, from the norms themselves. */
static cpb_status count_norms(cpb_norm_fit *norms, cpb_passes *passes, cpb_norms_report *r,
                              cpb_error *error) {
  second_look look = {.report = r};
  cpb_status status = cpb_fine_median_init(&look.fine, norms, error);
  if (status == CPB_OK) status = cpb_norm_fit_again(norms, passes, look_again, &look, error);
  if (status == CPB_OK) r->median = cpb_fine_median_value(&look.fine);
  cpb_fine_median_free(&look.fine);
  return status;
}

static cpb_status describe(cpb_norm_fit *norms, cpb_passes *passes, size_t bars, cpb_norms_report *r,
                           cpb_error *error) {
  cpb_norm_sketch *sketch = &norms->sketch;
  r->rows = passes->rows;
  r->nan_rows = norms->nan_rows;
  r->inf_rows = norms->inf_rows;
  r->first_bad = norms->first_bad;
  if (sketch->count == 0) return CPB_OK;
  r->min = sketch->moments.low[0];
  r->max = sketch->moments.high[0];
  r->mean = cpb_norm_fit_mean(norms);
  r->median = fmin(fmax(cpb_norm_sketch_rank(sketch, (sketch->count - 1) / 2), r->min), r->max);
  set_edges(r, bars == 0 ? 1 : bars);
  r->exact =
      cpb_norm_fit_kept_all(norms) || (bars > 0 && passes->source->rewind(passes->source, NULL) == CPB_OK);
  if (r->exact) return count_norms(norms, passes, r, error);
  cpb_norm_sketch_each(sketch, count_bin, r);
  return CPB_OK;
}

cpb_status cpb_norms_fit(cpb_source *rows, const cpb_norms_fit_options *options, cpb_norms_report *report,
                         const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_norm_fit norms;
  cpb_norms_fit_options o;
  cpb_norms_report found = {.size = sizeof found, .min = NAN, .mean = NAN, .median = NAN, .max = NAN};
  cpb_norms_fit_options_init(&o, sizeof o);
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "norms fit options", error);
  if (status == CPB_OK) status = cpb_passes_init(&passes, rows, 1, exec, error);
  if (status != CPB_OK) return status;
  if (o.bars >= sizeof found.edges / sizeof *found.edges)
    return cpb_fail_count(error, "bars", o.bars, "bars must be at most %zu",
                          sizeof found.counts / sizeof *found.counts);
  passes.skip_bad = true;
  status = cpb_norm_fit_init(&norms, o.center, NULL, error);
  if (status == CPB_OK) status = cpb_norm_fit_run(&norms, &passes, error);
  if (status == CPB_OK) status = describe(&norms, &passes, o.bars, &found, error);
  cpb_norm_fit_free(&norms);
  if (status == CPB_OK) cpb_sized_give(report, &found, sizeof found);
  return status;
}
