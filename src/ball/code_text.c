/* SQL and C, piece by piece. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ball/code_text.h"

enum { PER_LINE = 6 };

void cpb_put_fewest(cpb_text *t, double value) {
  char digits[CPB_JSON_NUMBER_ROOM];
  cpb_text_put(t, digits, cpb_print_fewest(digits, value));
}

void cpb_put_double(cpb_text *t, double value) {
  char digits[CPB_JSON_NUMBER_ROOM];
  size_t length = cpb_print_fewest(digits, value);
  cpb_text_put(t, digits, length);
  if (memchr(digits, 'e', length) == NULL) cpb_text_puts(t, "e0");
}

static void put_doubled(cpb_text *t, const char *text, char quote) {
  cpb_text_format(t, "%c", quote);
  for (const char *p = text; *p != 0; p++) {
    if (*p == quote) cpb_text_put(t, p, 1);
    cpb_text_put(t, p, 1);
  }
  cpb_text_format(t, "%c", quote);
}

void cpb_put_sql_column(cpb_text *t, const char *const *columns, size_t j) {
  if (columns != NULL && columns[j][0] != 0)
    put_doubled(t, columns[j], '"');
  else
    cpb_text_format(t, "x%zu", j);
}

void cpb_put_sql_shifted(cpb_text *t, const char *const *columns, size_t j, double c) {
  cpb_text_puts(t, "(");
  cpb_put_sql_column(t, columns, j);
  cpb_text_format(t, " %c ", c < 0 ? '+' : '-');
  cpb_put_fewest(t, fabs(c));
  cpb_text_puts(t, ")");
}

void cpb_put_sql_string(cpb_text *t, const char *text) { put_doubled(t, text, '\''); }

void cpb_put_c_array(cpb_text *t, const char *name, const double *numbers, size_t count) {
  cpb_text_format(t, "  static const double %s[%zu] = {", name, count);
  for (size_t i = 0; i < count; i++) {
    cpb_text_puts(t, i == 0 ? "" : i % PER_LINE == 0 ? ",\n    " : ", ");
    cpb_put_double(t, numbers[i]);
  }
  cpb_text_puts(t, "};\n");
}

void cpb_put_c_names(cpb_text *t, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    cpb_text_puts(t, i == 0 ? "" : ", ");
    for (const char *p = names[i]; *p != 0; p++)
      cpb_text_format(t, "%c",
                      iscntrl((unsigned char)*p) || (*p == '/' && p > names[i] && p[-1] == '*') ? ' ' : *p);
  }
}

cpb_status cpb_check_c_name(const char *name, cpb_error *error) {
  bool good = name == NULL || isalpha((unsigned char)*name) || *name == '_';
  for (const char *p = name; p != NULL && *p != 0; p++)
    good = good && (isalnum((unsigned char)*p) || *p == '_');
  if (good) return CPB_OK;
  return cpb_fail(error, CPB_WHY_DOMAIN, "name", "name must be an identifier of C, got \"%.40s\"", name);
}

cpb_status cpb_code_finish(cpb_text *t, const char *what, char **text, cpb_error *error) {
  *text = t->failure == CPB_JSON_WHOLE ? t->bytes : NULL;
  if (*text != NULL) return CPB_OK;
  free(t->bytes);
  return cpb_fail_memory(error, "%s", what);
}

bool cpb_is_diagonal(const double *W, size_t d) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      if (i != j && W[i * d + j] != 0) return false;
  return true;
}
