/* The condition of a model as SQL and as a function of C. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "capball/ball.h"
#include "ball/code_text.h"

static size_t balls_of(const cpb_model_options *o) { return o->balls > 1 ? o->balls : 1; }

static const double *center_of(const cpb_model_options *o, size_t k) {
  return o->balls > 1 ? o->centers + k * o->d : o->center;
}

static const char *comparison(const cpb_model_options *o) { return o->kind == CPB_BALL ? "<=" : ">="; }

/* What |W(x-c)|^2 or <n,x> is compared with: a row is no outlier where its score is not below the threshold. */
static double limit_of(const cpb_model_options *o) {
  if (o->kind == CPB_HALFSPACE) return o->radius + o->threshold;
  double square = o->radius * o->radius;
  return o->kind == CPB_COMPLEMENT ? square + o->threshold : square - o->threshold;
}

static cpb_status describe(const cpb_model *model, char **text, cpb_model_options *o, cpb_error *error) {
  if (model == NULL || text == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "text");
  *text = NULL;
  *o = (cpb_model_options){.size = sizeof *o};
  cpb_model_describe(model, o);
  if (o->kernel.kind == CPB_KERNEL_LINEAR) return CPB_OK;
  return cpb_fail(error, CPB_WHY_NOT_WITH_KERNEL, "model", "a model with a kernel has no short condition");
}

/* ---- SQL ---- */

/* Row i of W (x-c). */
static void put_entry(cpb_text *s, const cpb_model_options *o, const double *center,
                      const char *const *columns, size_t i) {
  bool first = true;
  if (o->whiten == NULL) {
    cpb_put_sql_shifted(s, columns, i, center[i]);
    return;
  }
  cpb_text_puts(s, "(");
  for (size_t j = 0; j < o->d; j++) {
    if (o->whiten[i * o->d + j] == 0) continue;
    cpb_text_puts(s, first ? "" : " + ");
    cpb_put_fewest(s, o->whiten[i * o->d + j]);
    cpb_text_puts(s, "*");
    cpb_put_sql_shifted(s, columns, j, center[j]);
    first = false;
  }
  cpb_text_puts(s, first ? "0)" : ")");
}

static void put_term(cpb_text *s, const cpb_model_options *o, const double *center,
                     const char *const *columns, size_t i) {
  if (o->kind == CPB_HALFSPACE) {
    cpb_put_fewest(s, center[i]);
    cpb_text_puts(s, "*");
    cpb_put_sql_column(s, columns, i);
    return;
  }
  put_entry(s, o, center, columns, i);
  cpb_text_puts(s, "*");
  put_entry(s, o, center, columns, i);
}

/* A row of zeros in W adds nothing. */
static bool is_empty_row(const cpb_model_options *o, size_t i) {
  bool zero = o->whiten != NULL;
  for (size_t j = 0; zero && j < o->d; j++) zero = o->whiten[i * o->d + j] == 0;
  return zero && i > 0;
}

cpb_status cpb_model_to_sql(const cpb_model *model, const char *const *columns, char **text,
                            cpb_error *error) {
  cpb_model_options o;
  cpb_text s = {0};
  cpb_status status = describe(model, text, &o, error);
  if (status != CPB_OK) return status;
  if (columns == NULL) columns = o.columns;
  for (size_t k = 0; k < balls_of(&o); k++) {
    cpb_text_puts(&s, k == 0 ? "" : "\n OR ");
    for (size_t i = 0; i < o.d; i++) {
      if (is_empty_row(&o, i)) continue;
      cpb_text_puts(&s, i == 0 ? "" : " + ");
      put_term(&s, &o, center_of(&o, k), columns, i);
    }
    cpb_text_format(&s, " %s ", comparison(&o));
    cpb_put_fewest(&s, limit_of(&o));
  }
  return cpb_code_finish(&s, "a condition in SQL", text, error);
}

/* ---- C ---- */

static void put_head(cpb_text *s, const cpb_model_options *o, const char *name) {
  cpb_text_puts(s, "/* ");
  if (o->columns != NULL) {
    cpb_put_c_names(s, o->columns, o->d);
    cpb_text_puts(s, ": ");
  }
  cpb_text_puts(s, o->kind == CPB_HALFSPACE    ? "1 where <n,x> >= h"
                   : o->kind == CPB_COMPLEMENT ? "1 where |W(x-c)| >= r"
                   : o->balls > 1              ? "1 where |W(x-c)| <= r for one of the centres c"
                                               : "1 where |W(x-c)| <= r");
  cpb_text_format(s, ", else 0 */\nint %s(const double x[%zu]) {\n", name == NULL ? "inside" : name, o->d);
}

static bool put_diagonal(cpb_text *s, const double *W, size_t d) {
  double *diagonal = NULL;
  cpb_memory memory = {0};
  if (!cpb_is_diagonal(W, d) || (diagonal = cpb_memory_take(&memory, d, sizeof *diagonal)) == NULL)
    return false;
  for (size_t i = 0; i < d; i++) diagonal[i] = W[i * (d + 1)];
  cpb_put_c_array(s, "w", diagonal, d);
  cpb_memory_free(&memory);
  return true;
}

/* x - c of one column, for the ball of centre c + k*d. */
static void put_c_shifted(cpb_text *s, const cpb_model_options *o, char column) {
  if (o->balls > 1)
    cpb_text_format(s, "(x[%c] - c[k * %zu + %c])", column, o->d, column);
  else
    cpb_text_format(s, "(x[%c] - c[%c])", column, column);
}

/* The squares of the coordinates of W(x-c). */
static void put_squares(cpb_text *s, const cpb_model_options *o, bool diagonal) {
  size_t d = o->d;
  cpb_text_format(s, "    for (int i = 0; i < %zu; i++) {\n", d);
  if (o->whiten != NULL && !diagonal) {
    cpb_text_format(s, "      double z = 0;\n      for (int j = 0; j < %zu; j++) z += w[i * %zu + j] * ", d,
                    d);
    put_c_shifted(s, o, 'j');
  } else {
    cpb_text_format(s, "      double z = %s", diagonal ? "w[i] * " : "");
    put_c_shifted(s, o, 'i');
  }
  cpb_text_puts(s, ";\n      sum += z * z;\n    }\n");
}

static void put_balls(cpb_text *s, const cpb_model_options *o) {
  size_t balls = balls_of(o);
  bool diagonal = o->whiten != NULL && put_diagonal(s, o->whiten, o->d);
  if (o->whiten != NULL && !diagonal) cpb_put_c_array(s, "w", o->whiten, o->d * o->d);
  cpb_put_c_array(s, "c", center_of(o, 0), balls * o->d);
  cpb_text_format(s, "  for (int k = 0; k < %zu; k++) {\n    double sum = 0;\n", balls);
  put_squares(s, o, diagonal);
  cpb_text_format(s, "    if (sum %s ", comparison(o));
  cpb_put_double(s, limit_of(o));
  cpb_text_puts(s, ") return 1;\n  }\n  return 0;\n}\n");
}

static void put_plane(cpb_text *s, const cpb_model_options *o) {
  cpb_put_c_array(s, "n", o->center, o->d);
  cpb_text_format(
      s, "  double sum = 0;\n  for (int i = 0; i < %zu; i++) sum += n[i] * x[i];\n  return sum >= ", o->d);
  cpb_put_double(s, limit_of(o));
  cpb_text_puts(s, ";\n}\n");
}

cpb_status cpb_model_to_c(const cpb_model *model, const char *name, char **text, cpb_error *error) {
  cpb_model_options o;
  cpb_text s = {0};
  cpb_status status = describe(model, text, &o, error);
  if (status == CPB_OK) status = cpb_check_c_name(name, error);
  if (status != CPB_OK) return status;
  put_head(&s, &o, name);
  if (o.kind == CPB_HALFSPACE)
    put_plane(&s, &o);
  else
    put_balls(&s, &o);
  return cpb_code_finish(&s, "a function of C", text, error);
}
