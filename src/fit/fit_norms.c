#include "fit/fit_norms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ruler.h"
#include "core/fail.h"
#include "fit/whitening.h"

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

bool cpb_norm_fit_kept_all(const cpb_norm_fit *fit) { return fit->kept_count == fit->sketch.count; }

cpb_status cpb_norm_fit_again(cpb_norm_fit *fit, cpb_passes *passes,
                              void (*take)(void *arg, const double *norms, size_t count), void *arg,
                              cpb_error *error) {
  norm_pass p = {.fit = fit, .take = take, .arg = arg};
  if (!cpb_norm_fit_kept_all(fit)) return run(&p, passes, error);
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
