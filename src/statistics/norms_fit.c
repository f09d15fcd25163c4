#include "statistics/norms_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/ruler.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/sized.h"
#include "loops/whitened.h"

typedef void take_norms(void *arg, const double *norms, size_t count);

void cpb_norm_fit_free(cpb_norm_fit *fit) {
  cpb_norm_sketch_free(&fit->sketch);
  free(fit->kept);
}

/* ---- the norms of all rows ---- */

typedef struct norm_pass {
  cpb_norm_fit *fit;
  take_norms *take; /* NULL: the sketch, the counts and the first norms are made */
  void *arg;
} norm_pass;

/* A row without a norm has NaN or inf in its place. */
static cpb_status look_norms(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error) {
  (void)error;
  const cpb_norm_fit *fit = ((const norm_pass *)arg)->fit;
  double *norms = slot->room;
  size_t n = slot->rows.rows;
  cpb_ruler ruler = {
      .loops = cpb_loops_here(), .x = slot->rows, .c = fit->center, .sign = 1, .W = fit->whiten};
  if (fit->whiten != NULL) cpb_whitened_norms(fit->whiten, slot->rows, fit->center, norms + n, norms);
  for (size_t i = 0; i < n; i++) {
    bool known =
        fit->whiten != NULL && norms[i] > 1e-140 && norms[i] < 1e140; /* exact enough in this range */
    int bad = known ? 0 : cpb_ruler_length(&ruler, i, &norms[i]);
    if (bad == 0) continue;
    norms[i] = bad == CPB_FAULT_NAN ? NAN : INFINITY;
    cpb_record_fault(fault, (size_t)(slot->first + i), bad);
  }
  return CPB_OK;
}

static cpb_status gather_norms(void *arg, const cpb_slot *slot, cpb_error *error) {
  const norm_pass *p = arg;
  cpb_norm_fit *fit = p->fit;
  double *norms = slot->room;
  size_t good = 0, left = CPB_NORMS_KEPT - fit->kept_count;
  for (size_t i = 0; i < slot->rows.rows; i++)
    if (isfinite(norms[i]))
      norms[good++] = norms[i];
    else if (p->take == NULL) {
      if (fit->nan_rows + fit->inf_rows == 0) fit->first_bad = slot->first + i;
      *(isnan(norms[i]) ? &fit->nan_rows : &fit->inf_rows) += 1;
    }
  if (p->take != NULL) {
    p->take(p->arg, norms, good);
    return CPB_OK;
  }
  size_t kept = good < left ? good : left;
  memcpy(fit->kept + fit->kept_count, norms, kept * sizeof *norms);
  fit->kept_count += kept;
  return cpb_norm_sketch_add(&fit->sketch, cpb_loops_here(), norms, good, error);
}

static cpb_status run(norm_pass *p, cpb_passes *passes, cpb_error *error) {
  size_t scratch = p->fit->whiten == NULL ? 0 : cpb_whitened_scratch(passes->source->cols);
  cpb_pass pass = {.arg = p, .per_row = 1, .more = scratch, .look = look_norms, .gather = gather_norms};
  return cpb_pass_run(passes, &pass, error);
}

cpb_status cpb_norm_fit_run(cpb_norm_fit *fit, const double *center, const double *whiten, cpb_passes *passes,
                            cpb_error *error) {
  norm_pass p = {.fit = fit};
  *fit = (cpb_norm_fit){.center = center, .whiten = whiten};
  fit->kept = malloc(CPB_NORMS_KEPT * sizeof *fit->kept);
  if (fit->kept == NULL) return cpb_fail_memory(error, "%d norms", (int)CPB_NORMS_KEPT);
  cpb_status status = cpb_norm_sketch_init(&fit->sketch, error);
  return status == CPB_OK ? run(&p, passes, error) : status;
}

/* Whether all norms are stored, so that another look at them needs no pass. */
static bool kept_all(const cpb_norm_fit *fit) { return fit->kept_count == fit->sketch.count; }

double cpb_norm_fit_mean(cpb_norm_fit *fit) {
  return fit->sketch.count == 0 ? NAN : cpb_exact_mean(&fit->sketch.moments.sum[0], fit->sketch.count);
}

/* ---- the median ---- */

/* A bin of the sketch is subdivided by the next 17 bits of the mantissa. */
enum { COARSE = 40, FINE = 23, FINE_BINS = 1 << (COARSE - FINE) };

typedef struct fine_median {
  uint64_t prefix; /* bits of the bin that holds the median */
  uint64_t *bins;
  cpb_norms_report *report; /* whose bars are counted, too; NULL: none */
} fine_median;

static uint64_t *bar_of(cpb_norms_report *r, double norm) {
  size_t bar = 0;
  while (bar + 1 < r->bars && norm >= r->edges[bar + 1]) bar++;
  return &r->counts[bar];
}

static void take_fine(void *arg, const double *norms, size_t count) {
  const fine_median *fine = arg;
  for (size_t i = 0; i < count; i++) {
    double norm = norms[i] + 0.0;
    uint64_t bits;
    memcpy(&bits, &norm, sizeof bits);
    if (bits >> COARSE == fine->prefix) fine->bins[bits >> FINE & (FINE_BINS - 1)]++;
    if (fine->report != NULL) *bar_of(fine->report, norms[i]) += 1;
  }
}

cpb_status cpb_norm_fit_median(cpb_norm_fit *fit, cpb_passes *passes, cpb_norms_report *report,
                               double *median, cpb_error *error) {
  uint64_t rank = (fit->sketch.count - 1) / 2, bin = 0, bits;
  fine_median fine = {.prefix = cpb_norm_sketch_bin(&fit->sketch, &rank),
                      .bins = calloc(FINE_BINS, sizeof *fine.bins),
                      .report = report};
  norm_pass p = {.fit = fit, .take = take_fine, .arg = &fine};
  if (fine.bins == NULL) return cpb_fail_memory(error, "the median of norms");
  cpb_status status = kept_all(fit) ? CPB_OK : run(&p, passes, error);
  if (kept_all(fit)) take_fine(&fine, fit->kept, fit->kept_count);
  for (; bin + 1 < FINE_BINS && rank >= fine.bins[bin]; bin++) rank -= fine.bins[bin];
  bits = ((fine.prefix << (COARSE - FINE) | bin) << FINE) + ((uint64_t)1 << (FINE - 1));
  memcpy(median, &bits, sizeof bits);
  /* The extremes are known exactly, and a bin may extend beyond them. */
  *median = fmin(fmax(*median, fit->sketch.moments.low[0]), fit->sketch.moments.high[0]);
  free(fine.bins);
  return status;
}

/* The distribution of row norms: extremes, mean, median, a histogram. */

CPB_DEFAULTS(cpb_norms_fit_options, .size = 0)

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

/* From one pass: bins are assigned to bars by their middles. */
static void count_bin(void *arg, double middle, uint64_t count) {
  cpb_norms_report *r = arg;
  *bar_of(r, fmin(fmax(middle, r->min), r->max)) += count;
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
  r->exact = kept_all(norms) || (bars > 0 && passes->source->rewind(passes->source, NULL) == CPB_OK);
  if (r->exact) return cpb_norm_fit_median(norms, passes, r, &r->median, error);
  cpb_norm_sketch_each(sketch, count_bin, r);
  return CPB_OK;
}

cpb_status cpb_norms_fit(cpb_source *rows, const cpb_norms_fit_options *options, cpb_norms_report *report,
                         const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_norm_fit norms;
  cpb_norms_fit_options o = defaults;
  cpb_norms_report found = {.size = sizeof found, .min = NAN, .mean = NAN, .median = NAN, .max = NAN};
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "norms fit options", error);
  if (status == CPB_OK) status = cpb_passes_init(&passes, rows, 1, exec, error);
  if (status != CPB_OK) return status;
  if (o.bars >= sizeof found.edges / sizeof *found.edges)
    return cpb_fail_count(error, "bars", o.bars, "bars must be at most %zu",
                          sizeof found.counts / sizeof *found.counts);
  passes.skip_bad = true;
  status = cpb_norm_fit_run(&norms, o.center, NULL, &passes, error);
  if (status == CPB_OK) status = describe(&norms, &passes, o.bars, &found, error);
  cpb_norm_fit_free(&norms);
  if (status == CPB_OK) cpb_sized_give(report, &found, sizeof found);
  return status;
}
