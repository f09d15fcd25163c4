#include "capball/advanced/rounds.h"
#include "strange.h"

#include <math.h>
#include <stdlib.h>

#include "put_text.h"

typedef struct scored {
  double score;
  size_t row;
} scored;

static int stranger_first(const void *a, const void *b) {
  const scored *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static const double LEAST = 0.005; /* share that would be shown as 0 % is no reason */

/* Puts a reason among the largest so far. */
static void offer_reason(show_strange *s, show_reason reason) {
  size_t at = s->reason_count;
  while (at > 0 && s->reasons[at - 1].share < reason.share) at--;
  if (at == SHOW_REASONS) return;
  if (s->reason_count < SHOW_REASONS) s->reason_count++;
  for (size_t k = s->reason_count - 1; k > at; k--) s->reasons[k] = s->reasons[k - 1];
  s->reasons[at] = reason;
}

static void find_reasons(const cpb_model *model, const cpb_model_options *o, cpb_view rows, show_strange *s) {
  double *x = show_alloc(4 * o->d, sizeof *x), *parts = x + o->d, whole = 0;
  double *least = parts + o->d, *most = least + o->d;
  cpb_view row = rows;
  row.data = (const char *)rows.data + s->row * rows.stride * cpb_dtype_size(rows.dtype);
  row.rows = 1;
  cpb_view_widen(row, x);
  const double *center;
  if (cpb_model_parts(model, x, parts, &center, NULL) == CPB_OK &&
      cpb_model_ranges(model, x, least, most, NULL) == CPB_OK) {
    for (size_t k = 0; k < o->d; k++) whole += parts[k];
    for (size_t k = 0; k < o->d; k++)
      if (parts[k] > 0 && parts[k] >= LEAST * whole)
        offer_reason(s, (show_reason){k, x[k], center[k], parts[k] / whole, least[k], most[k]});
  }
  free(x);
}

void show_strange_find(const cpb_model *model, cpb_view rows, const double *scores, size_t n, size_t count,
                       show_strange *strange) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  scored *order = show_alloc(n, sizeof *order);
  for (size_t i = 0; i < n; i++) order[i] = (scored){scores[i], i};
  qsort(order, n, sizeof *order, stranger_first);
  for (size_t i = 0; i < count; i++) {
    strange[i] = (show_strange){
        .row = order[i].row,
        .score = order[i].score,
        .rank = cpb_model_rank(model, order[i].score),
        .outlier = cpb_model_is_outlier(model, order[i].score),
    };
    if (rows.data != NULL && o.center != NULL) find_reasons(model, &o, rows, &strange[i]);
  }
  free(order);
}

double show_edge(const cpb_model_options *model) {
  return model->nu <= 0.5 || model->threshold != 0 ? model->threshold : NAN;
}

double show_hundredth(const cpb_model_options *model) {
  return model->quantile_count > 100 ? model->quantiles[(model->quantile_count - 1) / 100] : NAN;
}

const char *show_column_name(const cpb_model_options *model, size_t column, char *to, size_t room) {
  if (model->columns != NULL && model->columns[column][0] != 0) return model->columns[column];
  snprintf(to, room, "x%zu", column);
  return to;
}

int show_digits(double value) {
  double size = fabs(value);
  return size >= 1e4 && size < 1e9 ? (int)log10(size) + 1 : 4;
}

void show_range(const show_reason *reason, FILE *to) {
  double least = reason->least, most = reason->most;
  if (least < most)
    fprintf(to, "ordinary %.*g to %.*g", show_digits(least), least, show_digits(most), most);
  else
    fprintf(to, "nearest %.*g", show_digits(least), least);
}

void show_reasons(const cpb_model_options *model, const show_strange *strange, FILE *to) {
  char buffer[32];
  for (size_t k = 0; k < strange->reason_count; k++) {
    const show_reason *r = &strange->reasons[k];
    fputs(k == 0 ? "" : ", ", to);
    show_put_text(to, show_column_name(model, r->column, buffer, sizeof buffer));
    fprintf(to, " %c%.0f %%", r->value < r->center ? '-' : '+', 100 * r->share);
    if (k > 0) continue;
    fprintf(to, " (%.*g; ", show_digits(r->value), r->value);
    show_range(r, to);
    fputc(')', to);
  }
}
