#include "fit/fit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ruler.h"
#include "core/elementary.h"
#include "core/fail.h"
#include "core/sized.h"

cpb_status cpb_norm_fit_init(cpb_norm_fit *fit, const double *center, const double *whiten,
                             cpb_error *error) {
  *fit = (cpb_norm_fit){.center = center, .whiten = whiten};
  fit->kept = malloc(CPB_NORMS_KEPT * sizeof *fit->kept);
  if (fit->kept == NULL) return cpb_fail_memory(error, "%d norms", (int)CPB_NORMS_KEPT);
  return cpb_norm_sketch_init(&fit->sketch, error);
}

void cpb_norm_fit_free(cpb_norm_fit *fit) {
  cpb_norm_sketch_free(&fit->sketch);
  free(fit->kept);
  fit->kept = NULL;
}

/* ---- the norms of a block ---- */

typedef struct norm_pass {
  cpb_norm_fit *fit;
  double *norms[CPB_PASS_SLOTS]; /* of a block, the finite ones first */
  size_t good[CPB_PASS_SLOTS];   /* and their number */
  uint64_t nan_rows[CPB_PASS_SLOTS], inf_rows[CPB_PASS_SLOTS], first_bad[CPB_PASS_SLOTS];
  double *scratch[CPB_PASS_SLOTS]; /* with W */
  void (*take)(void *arg, const double *norms, size_t count);
  void *arg;
} norm_pass;

static void count_fault(norm_pass *p, size_t slot, uint64_t row, int fault) {
  if (p->nan_rows[slot] + p->inf_rows[slot] == 0) p->first_bad[slot] = row;
  *(fault == CPB_FAULT_NAN ? &p->nan_rows[slot] : &p->inf_rows[slot]) += 1;
}

static cpb_status look_norms(void *arg, size_t slot, cpb_view rows, uint64_t first, cpb_first_fault *fault,
                             cpb_error *error) {
  (void)error;
  norm_pass *p = arg;
  double *norms = p->norms[slot], length;
  cpb_ruler ruler = {
      .loops = cpb_loops_here(), .x = rows, .c = p->fit->center, .sign = 1, .W = p->fit->whiten};
  p->good[slot] = 0;
  p->nan_rows[slot] = p->inf_rows[slot] = 0;
  if (p->fit->whiten != NULL)
    cpb_whitened_norms(p->fit->whiten, rows, p->fit->center, p->scratch[slot], norms);
  for (size_t i = 0; i < rows.rows; i++) {
    int bad = 0;
    length = norms[i]; /* of a whitened row; exact enough while in range */
    if (p->fit->whiten == NULL || !(length > 1e-140 && length < 1e140))
      bad = cpb_ruler_length(&ruler, i, &length);
    if (bad == 0)
      norms[p->good[slot]++] = length;
    else {
      count_fault(p, slot, first + i, bad);
      cpb_first_fault_meet(fault, (size_t)(first + i), (cpb_fault)bad);
    }
  }
  return CPB_OK;
}

static void keep(cpb_norm_fit *fit, const double *norms, size_t count) {
  size_t room = CPB_NORMS_KEPT - fit->kept_count;
  if (count > room) count = room;
  memcpy(fit->kept + fit->kept_count, norms, count * sizeof *norms);
  fit->kept_count += count;
}

static cpb_status gather_norms(void *arg, size_t slot, size_t rows, cpb_error *error) {
  (void)rows;
  norm_pass *p = arg;
  cpb_norm_fit *fit = p->fit;
  if (p->take != NULL) {
    p->take(p->arg, p->norms[slot], p->good[slot]);
    return CPB_OK;
  }
  if (fit->nan_rows + fit->inf_rows == 0) fit->first_bad = p->first_bad[slot];
  fit->nan_rows += p->nan_rows[slot];
  fit->inf_rows += p->inf_rows[slot];
  keep(fit, p->norms[slot], p->good[slot]);
  return cpb_norm_sketch_add(&fit->sketch, cpb_loops_here(), p->norms[slot], p->good[slot], error);
}

static cpb_status run(norm_pass *p, cpb_passes *passes, cpb_error *error) {
  cpb_pass pass = {.arg = p, .look = look_norms, .gather = gather_norms};
  size_t per_block = cpb_pass_block_rows(passes->source, &pass), d = passes->source->cols;
  size_t scratch = p->fit->whiten == NULL ? 0 : cpb_whitened_scratch(d);
  double *memory = calloc(CPB_PASS_SLOTS * (per_block + scratch), sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "the norms of a block");
  for (size_t slot = 0; slot < CPB_PASS_SLOTS; slot++) {
    p->norms[slot] = memory + slot * (per_block + scratch);
    p->scratch[slot] = p->norms[slot] + per_block;
  }
  cpb_status status = cpb_pass_run(passes, &pass, error);
  free(memory);
  return status;
}

cpb_status cpb_norm_fit_run(cpb_norm_fit *fit, cpb_passes *passes, cpb_error *error) {
  norm_pass p = {.fit = fit};
  cpb_status status = run(&p, passes, error);
  passes->bad_rows = fit->nan_rows + fit->inf_rows;
  return status;
}

/* Whether that needs no pass. */
static bool norm_fit_kept_all(const cpb_norm_fit *fit) { return fit->kept_count == fit->sketch.count; }

cpb_status cpb_norm_fit_again(cpb_norm_fit *fit, cpb_passes *passes,
                              void (*take)(void *arg, const double *norms, size_t count), void *arg,
                              cpb_error *error) {
  norm_pass p = {.fit = fit, .take = take, .arg = arg};
  if (!norm_fit_kept_all(fit)) return run(&p, passes, error);
  take(arg, fit->kept, fit->kept_count);
  return CPB_OK;
}

double cpb_norm_fit_mean(cpb_norm_fit *fit) {
  return fit->sketch.count == 0 ? NAN : cpb_exact_mean(&fit->sketch.moments.sum[0], fit->sketch.count);
}

/* ---- the median ---- */

/* A bin of the sketch is subdivided by the next 17 bits of the mantissa. */
enum { COARSE = 40, FINE = 23, FINE_BINS = 1 << (COARSE - FINE) };

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

cpb_status cpb_fine_median_init(cpb_fine_median *fine, const cpb_norm_fit *fit, cpb_error *error) {
  const cpb_norm_sketch *sketch = &fit->sketch;
  uint64_t rank = (sketch->count - 1) / 2;
  uint32_t bin = cpb_norm_sketch_bin(sketch, &rank);
  *fine = (cpb_fine_median){.prefix = bin,
                            .rank = rank,
                            .bins = calloc(FINE_BINS, sizeof *fine->bins),
                            .low = sketch->moments.low[0],
                            .high = sketch->moments.high[0]};
  return fine->bins != NULL ? CPB_OK : cpb_fail_memory(error, "the median of norms");
}

void cpb_fine_median_free(cpb_fine_median *fine) { free(fine->bins); }

void cpb_fine_median_take(cpb_fine_median *fine, const double *norms, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t bits = bits_of(norms[i] + 0.0);
    if (bits >> COARSE == fine->prefix) fine->bins[bits >> FINE & (FINE_BINS - 1)]++;
  }
}

double cpb_fine_median_value(const cpb_fine_median *fine) {
  uint64_t bin = 0, rank = fine->rank;
  for (; bin + 1 < FINE_BINS && rank >= fine->bins[bin]; bin++) rank -= fine->bins[bin];
  uint64_t bits = ((fine->prefix << (COARSE - FINE) | bin) << FINE) + ((uint64_t)1 << (FINE - 1));
  double middle;
  memcpy(&middle, &bits, sizeof middle);
  /* The extremes are known exactly, and a bin may extend beyond them. */
  return fmin(fmax(middle, fine->low), fine->high);
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
  r->exact = norm_fit_kept_all(norms) || (bars > 0 && passes->source->rewind(passes->source, NULL) == CPB_OK);
  if (r->exact) return count_norms(norms, passes, r, error);
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
  status = cpb_norm_fit_init(&norms, o.center, NULL, error);
  if (status == CPB_OK) status = cpb_norm_fit_run(&norms, &passes, error);
  if (status == CPB_OK) status = describe(&norms, &passes, o.bars, &found, error);
  cpb_norm_fit_free(&norms);
  if (status == CPB_OK) cpb_sized_give(report, &found, sizeof found);
  return status;
}
