#include "ball/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/best.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/tell.h"
#include "ball/calibration_ranks.h"
#include "statistics/row_sample.h"

/* ---- fits to a part of the rows ---- */

enum { MOST_HELD_OUT = 10000, MOST_FITTED = 20000 };

typedef struct crossing {
  cpb_view rows;
  cpb_model_fitter fit;
  const cpb_model_fit_options *options;
  double radius2;    /* of the fit to all rows */
  cpb_ranked *order; /* rows with a weight, in the order of a hash; `used` of them */
  size_t used, d, row_bytes;
  char *fitted, *held;      /* rows of a part */
  double *weights, *scores; /* of the fitted; of the held */
  double *all;              /* what is found */
  size_t count;
} crossing;

static void put_row(const crossing *c, char *to, size_t at, size_t row) {
  size_t step = c->rows.stride * cpb_dtype_size(c->rows.dtype);
  memcpy(to + at * c->row_bytes, (const char *)c->rows.data + row * step, c->row_bytes);
}

/* Rows [first, first+held) in the order are held out, at most MOST_FITTED others fitted. */
static cpb_status cross(crossing *c, size_t first, size_t held, bool *none, const cpb_exec *exec,
                        cpb_error *error) {
  size_t fitted = 0;
  cpb_model *model = NULL;
  cpb_model_options o = {.size = sizeof o};
  cpb_error why = {0};
  cpb_model_fit_options wish = *c->options;
  for (size_t i = 0; i < c->used; i++) {
    size_t row = (size_t)c->order[i].id;
    if (i >= first && i < first + held)
      put_row(c, c->held, i - first, row);
    else if (fitted < MOST_FITTED) {
      if (wish.weights != NULL) c->weights[fitted] = wish.weights[row];
      put_row(c, c->fitted, fitted++, row);
    }
  }
  wish.calibrate = false;
  wish.contamination = 0;
  wish.columns = NULL;
  wish.fill = NULL;
  if (wish.weights != NULL) wish.weights = c->weights;
  if (wish.weights != NULL) wish.weight_count = fitted;
  if (wish.nu > 0) wish.nu = fmax(wish.nu, 1 / (double)fitted);
  cpb_source source = cpb_source_from_view(cpb_rows(c->fitted, c->rows.dtype, fitted, c->d));
  cpb_status status = c->fit(&source, &wish, &model, NULL, exec, &why);
  *none = status == CPB_EINVAL || status == CPB_ESHAPE; /* these rows have no ball */
  if (status == CPB_OK)
    status = cpb_model_scores(model, cpb_rows(c->held, c->rows.dtype, held, c->d),
                              cpb_rows_out(c->scores, CPB_F64, held, 1), CPB_EXEC_PART(exec, 1, 1), &why);
  cpb_model_describe(model, &o);
  for (size_t i = 0; i < held && status == CPB_OK; i++)
    c->all[c->count++] = c->scores[i] - o.radius * o.radius + c->radius2;
  cpb_model_free(model);
  return status == CPB_OK || *none ? CPB_OK : cpb_fail_again(error, &why);
}

static cpb_status cross_parts(crossing *c, bool *none, const cpb_exec *exec, cpb_error *error) {
  enum { TEN = 500, FIVE = 2000 };
  size_t parts = c->used <= TEN ? 10 : c->used <= FIVE ? 5 : 1, n = c->used;
  size_t third = n / 3 < MOST_HELD_OUT ? n / 3 : MOST_HELD_OUT;
  cpb_status status = CPB_OK;
  if (parts > n) parts = n;
  for (size_t k = 0; k < parts && status == CPB_OK && !*none; k++) {
    size_t first = k * n / parts, held = parts == 1 ? third : (k + 1) * n / parts - first;
    status = cross(c, first, held, none,
                   CPB_EXEC_PART(exec, (double)k / (double)parts, (double)(k + 1) / (double)parts), error);
  }
  return status;
}

/* Rows with a weight, in an order that the seed draws. */
static void draw_order(crossing *c) {
  for (size_t i = 0; i < c->rows.rows; i++) {
    if (c->options->weights != NULL && !(c->options->weights[i] > 0)) continue;
    double key = (double)(cpb_row_sample_hash(c->options->seed, i) >> 11);
    c->order[c->used++] = (cpb_ranked){key, i};
  }
  cpb_ranked_sort(c->order, c->used);
}

static cpb_status store(const crossing *c, cpb_memory *memory, double **stored, uint64_t *n,
                        cpb_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (!isfinite(c->all[i])) return CPB_OK;
  cpb_sort_numbers(c->all, c->count);
  *stored = cpb_memory_take(memory, cpb_calibration_count(c->count), sizeof **stored);
  if (*stored == NULL) return cpb_fail_memory(error, "%zu scores", c->count);
  *n = c->count;
  for (uint64_t rank = 1, k = 0; rank <= *n; rank = cpb_calibration_next(rank, *n))
    (*stored)[k++] = c->all[rank - 1];
  return CPB_OK;
}

cpb_status cpb_calibrate(cpb_view rows, cpb_model_fitter fit, const cpb_model_fit_options *options,
                         const cpb_model *model, cpb_memory *memory, double **stored, uint64_t *n,
                         const cpb_exec *exec, cpb_error *error) {
  enum { LEAST = 4 };
  cpb_memory own = {0};
  cpb_model_options o = {.size = sizeof o};
  size_t held = rows.rows < MOST_HELD_OUT ? rows.rows : MOST_HELD_OUT;
  size_t fitted = rows.rows < MOST_FITTED ? rows.rows : MOST_FITTED;
  bool none = false;
  *stored = NULL;
  *n = 0;
  cpb_model_describe(model, &o);
  crossing c = {.rows = rows,
                .fit = fit,
                .options = options,
                .radius2 = o.radius * o.radius,
                .d = rows.cols,
                .row_bytes = rows.cols * cpb_dtype_size(rows.dtype),
                .order = cpb_memory_take(&own, rows.rows, sizeof *c.order)};
  c.fitted = cpb_memory_take(&own, fitted, c.row_bytes);
  c.held = cpb_memory_take(&own, held, c.row_bytes);
  c.weights = cpb_memory_take(&own, fitted, sizeof *c.weights);
  c.scores = cpb_memory_take(&own, held, sizeof *c.scores);
  c.all = cpb_memory_take(&own, held, sizeof *c.all);
  if (own.failed)
    return cpb_memory_free(&own), cpb_fail_memory(error, "the calibration of %zu rows", rows.rows);
  draw_order(&c);
  cpb_status status = c.used < LEAST ? CPB_OK : cross_parts(&c, &none, exec, error);
  if (status == CPB_OK && !none && c.count > 0) status = store(&c, memory, stored, n, error);
  cpb_memory_free(&own);
  return status;
}
