/* The class of a row as an SQL expression and as a function of C. */
#include <string.h>

#include "base/fail.h"
#include "capball/advanced/classes.h"
#include "ball/code_text.h"

static cpb_status describe(const cpb_classes *classes, char **text, cpb_classes_options *o,
                           cpb_error *error) {
  if (classes == NULL || text == NULL) return cpb_fail_missing(error, classes == NULL ? "classes" : "text");
  *text = NULL;
  *o = (cpb_classes_options){.size = sizeof *o};
  cpb_classes_describe(classes, o);
  return CPB_OK;
}

/* Whether values of planes are added up: otherwise the plane with the largest value decides. */
static bool adds_up(const cpb_classes_options *o) {
  return o->rule == CPB_CLASS_SOFTMAX && o->planes > o->classes;
}

/* ---- SQL ---- */

static bool is_whole(const char *label) {
  size_t digits = strspn(label + (*label == '-'), "0123456789");
  return digits > 0 && digits <= 18 && label[(*label == '-') + digits] == 0;
}

static bool all_whole(const cpb_classes_options *o) {
  bool whole = true;
  for (size_t i = 0; i < o->classes; i++) whole = whole && is_whole(o->labels[i]);
  return whole;
}

static void put_difference(cpb_text *s, const cpb_classes_options *o, const char *const *columns, size_t j) {
  cpb_text_puts(s, "(CAST(");
  cpb_put_sql_column(s, columns, j);
  cpb_text_puts(s, " AS DOUBLE PRECISION)");
  if (o->center != NULL) {
    cpb_text_puts(s, " - (");
    cpb_put_double(s, o->center[j]);
    cpb_text_puts(s, ")");
  }
  cpb_text_puts(s, ")");
}

static void put_times(cpb_text *s, double factor) {
  cpb_put_double(s, factor);
  cpb_text_puts(s, "*");
}

/* z_i of z = W(x-m), as _zI. */
static void put_coordinate(cpb_text *s, const cpb_classes_options *o, const char *const *columns, size_t i) {
  bool first = true;
  if (o->factors != NULL) put_times(s, o->factors[i]);
  for (size_t j = 0; j < o->d; j++) {
    double entry = o->whiten == NULL ? i == j : o->whiten[i * o->d + j];
    if (entry == 0) continue;
    cpb_text_puts(s, first ? "" : " + ");
    if (o->whiten != NULL) put_times(s, entry);
    put_difference(s, o, columns, j);
    first = false;
  }
  cpb_text_format(s, "%s AS _z%zu", first ? "0e0" : "", i);
}

/* The rows z and q = |z|^2. */
static void put_rows(cpb_text *s, const cpb_classes_options *o, const char *const *columns) {
  cpb_text_puts(s, "(SELECT ");
  for (size_t i = 0; i < o->d; i++) cpb_text_format(s, "_z%zu, ", i);
  for (size_t i = 0; i < o->d; i++) cpb_text_format(s, "%s_z%zu*_z%zu", i == 0 ? "" : " + ", i, i);
  cpb_text_puts(s, " AS _q FROM (SELECT ");
  for (size_t i = 0; i < o->d; i++) {
    cpb_text_puts(s, i == 0 ? "" : ",\n ");
    put_coordinate(s, o, columns, i);
  }
  cpb_text_puts(s, ") AS _x) AS _y");
}

static void put_named(cpb_text *s, double value, const char *name, size_t i) {
  cpb_put_double(s, value);
  cpb_text_format(s, " AS %s%zu, ", name, i);
}

/* A table with a row for each plane: its number, its class, and its numbers; 2 s <w,z> is _a, and w at the pole _p. */
static void put_planes(cpb_text *s, const cpb_classes_options *o) {
  bool whole = all_whole(o);
  for (size_t k = 0; k < o->planes; k++) {
    const double *w = o->w + k * (o->d + 1), owner = (double)o->owners[k];
    cpb_text_format(s, "%sSELECT %.0f AS _i, ", k == 0 ? "(" : "\n UNION ALL ", owner);
    if (whole)
      cpb_text_puts(s, o->labels[o->owners[k]]);
    else
      cpb_put_sql_string(s, o->labels[o->owners[k]]);
    cpb_text_puts(s, " AS class, ");
    for (size_t i = 0; i < o->d; i++) put_named(s, 2 * o->s * w[i], "_a", i);
    put_named(s, w[o->d], "_p", 0);
    cpb_put_double(s, o->w0[k]);
    cpb_text_puts(s, " AS _b");
  }
  cpb_text_puts(s, ") AS _w");
}

/* The value of every plane, f = (2 s <w,z> + w_p (s^2-q))/(s^2+q) + w0. */
static void put_values(cpb_text *s, const cpb_classes_options *o, const char *const *columns) {
  cpb_text_puts(s, "(SELECT _i, class, (");
  for (size_t i = 0; i < o->d; i++) cpb_text_format(s, "_a%zu*_z%zu + ", i, i);
  cpb_text_puts(s, "_p0*(");
  cpb_put_double(s, o->s * o->s);
  cpb_text_puts(s, " - _q))/(");
  cpb_put_double(s, o->s * o->s);
  cpb_text_puts(s, " + _q) + _b AS _f FROM ");
  put_rows(s, o, columns);
  cpb_text_puts(s, "\n CROSS JOIN ");
  put_planes(s, o);
  cpb_text_puts(s, ") AS _v WHERE _f IS NOT NULL");
}

/* Values far below the largest add nothing: exp of them, which is an error in PostgreSQL, is not asked for. */
static void put_sums(cpb_text *s, const cpb_classes_options *o, const char *const *columns) {
  cpb_text_puts(
      s, "(SELECT _i, class, sum(CASE WHEN _f < _top - 700 THEN 0 ELSE exp(_f - _top) END) AS _f FROM\n"
         " (SELECT _i, class, _f, max(_f) OVER () AS _top FROM\n ");
  put_values(s, o, columns);
  cpb_text_puts(s, ") AS _u GROUP BY _i, class) AS _t");
}

cpb_status cpb_classes_to_sql(const cpb_classes *classes, const char *const *columns, char **text,
                              cpb_error *error) {
  cpb_classes_options o;
  cpb_text s = {0};
  cpb_status status = describe(classes, text, &o, error);
  if (status != CPB_OK) return status;
  if (columns == NULL) columns = o.columns;
  cpb_text_puts(&s, "(SELECT class FROM ");
  if (adds_up(&o))
    put_sums(&s, &o, columns);
  else
    put_values(&s, &o, columns);
  cpb_text_puts(&s, "\n ORDER BY _f DESC, _i LIMIT 1)");
  return cpb_code_finish(&s, "an expression in SQL", text, error);
}

/* ---- C ---- */

static void put_head(cpb_text *s, const cpb_classes_options *o, const char *name) {
  cpb_text_puts(s, adds_up(o) ? "#include <math.h>\n\n/* " : "/* ");
  if (o->columns != NULL) {
    cpb_text_puts(s, "columns: ");
    cpb_put_c_names(s, o->columns, o->d);
    cpb_text_puts(s, "; ");
  }
  cpb_text_puts(s, "classes from 0: ");
  cpb_put_c_names(s, o->labels, o->classes);
  cpb_text_format(s, " */\nint %s(const double x[%zu]) {\n", name == NULL ? "class_of" : name, o->d);
}

static void put_tables(cpb_text *s, const cpb_classes_options *o) {
  if (o->center != NULL) cpb_put_c_array(s, "m", o->center, o->d);
  if (o->factors != NULL) cpb_put_c_array(s, "g", o->factors, o->d);
  if (o->whiten != NULL) cpb_put_c_array(s, "W", o->whiten, o->d * o->d);
  cpb_put_c_array(s, "w", o->w, o->planes * (o->d + 1));
  cpb_put_c_array(s, "w0", o->w0, o->planes);
  cpb_text_format(s, "  static const int owner[%zu] = {", o->planes);
  for (size_t k = 0; k < o->planes; k++)
    cpb_text_format(s, "%s%llu", k == 0 ? "" : ", ", (unsigned long long)o->owners[k]);
  cpb_text_puts(s, "};\n");
}

/* y = S(z) and q = |z|^2. */
static void put_image(cpb_text *s, const cpb_classes_options *o) {
  size_t d = o->d;
  const char *m = o->center == NULL ? "" : o->whiten == NULL ? " - m[i]" : " - m[j]";
  cpb_text_format(s, "  double y[%zu], f[%zu], q = 0;\n  int best = 0;\n  for (int i = 0; i < %zu; i++) {\n",
                  d + 1, o->planes, d);
  if (o->whiten != NULL)
    cpb_text_format(
        s, "    y[i] = 0;\n    for (int j = 0; j < %zu; j++) y[i] += W[i * %zu + j] * (x[j]%s);\n", d, d, m);
  else
    cpb_text_format(s, "    y[i] = %s(x[i]%s);\n", o->factors == NULL ? "" : "g[i] * ", m);
  cpb_text_puts(s, "    q += y[i] * y[i];\n  }\n  if (!(q >= 0)) return -1;\n");
  cpb_text_format(s, "  for (int i = 0; i < %zu; i++) y[i] *= ", d);
  cpb_put_double(s, 2 * o->s);
  cpb_text_puts(s, " / (");
  cpb_put_double(s, o->s * o->s);
  cpb_text_format(s, " + q);\n  y[%zu] = (", d);
  cpb_put_double(s, o->s * o->s);
  cpb_text_puts(s, " - q) / (");
  cpb_put_double(s, o->s * o->s);
  cpb_text_puts(s, " + q);\n");
}

static void put_decision(cpb_text *s, const cpb_classes_options *o) {
  size_t n = o->d + 1;
  cpb_text_format(s, "  for (int k = 0; k < %zu; k++) {\n    f[k] = w0[k];\n", o->planes);
  cpb_text_format(s, "    for (int i = 0; i < %zu; i++) f[k] += w[k * %zu + i] * y[i];\n", n, n);
  cpb_text_puts(s, "    if (f[k] > f[best]) best = k;\n  }\n");
  if (!adds_up(o)) {
    cpb_text_puts(s, "  return owner[best];\n}\n");
    return;
  }
  cpb_text_format(s, "  double p[%zu] = {0}, top = f[best];\n", o->classes);
  cpb_text_format(s, "  for (int k = 0; k < %zu; k++) p[owner[k]] += exp(f[k] - top);\n  best = 0;\n",
                  o->planes);
  cpb_text_format(s,
                  "  for (int i = 1; i < %zu; i++)\n    if (p[i] > p[best]) best = i;\n  return best;\n}\n",
                  o->classes);
}

cpb_status cpb_classes_to_c(const cpb_classes *classes, const char *name, char **text, cpb_error *error) {
  cpb_classes_options o;
  cpb_text s = {0};
  cpb_status status = describe(classes, text, &o, error);
  if (status == CPB_OK) status = cpb_check_c_name(name, error);
  if (status != CPB_OK) return status;
  put_head(&s, &o, name);
  put_tables(&s, &o);
  put_image(&s, &o);
  put_decision(&s, &o);
  return cpb_code_finish(&s, "a function of C", text, error);
}
