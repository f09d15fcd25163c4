/* Files of classes: the class of a row, and how probable each one is. */
#include <string.h>

#include "capball/advanced/classes.h"
#include "web.h"

WEB(classes_free) void web_classes_free(cpb_classes *classes) { cpb_classes_free(classes); }

WEB(classes_parse) cpb_classes *web_classes_parse(const char *text, const char *name) {
  cpb_classes *classes = NULL;
  return cpb_classes_from_json(text, strlen(text), name, &classes, &web_error) == CPB_OK ? classes : NULL;
}

WEB(classes_file) char *web_classes_file(const cpb_classes *classes) {
  char *text = NULL;
  return cpb_classes_to_json(classes, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(classes_sql) char *web_classes_sql(const cpb_classes *classes) {
  char *text = NULL;
  return cpb_classes_to_sql(classes, NULL, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(classes_json) char *web_classes_json(const cpb_classes *classes) {
  cpb_classes_options o = {.size = sizeof o};
  cpb_classes_describe(classes, &o);
  return web_text(CPB_OK, web_new("{s:I, s:f, s:o, s:s, s:I, s:I, s:o}", "d", (uint64_t)o.d, "s", o.s,
                                  "labels", web_names(o.labels, o.classes), "rule",
                                  cpb_class_rule_name(o.rule), "planes", (uint64_t)o.planes, "rows",
                                  (uint64_t)o.rows, "columns", web_names(o.columns, o.d)));
}

static size_t count_of(const cpb_classes *classes) {
  cpb_classes_options o = {.size = sizeof o};
  cpb_classes_describe(classes, &o);
  return o.classes;
}

WEB(classes_scores) int web_classes_scores(const cpb_classes *classes, const web_rows *x, double *scores) {
  cpb_out out = cpb_rows_out(scores, CPB_F64, x->view.rows, count_of(classes));
  return cpb_classes_scores(classes, x->view, out, web_exec(), &web_error) == CPB_OK ? 0 : -1;
}

WEB(classes_probabilities)
int web_classes_probabilities(const cpb_classes *classes, double *scores, size_t rows) {
  return cpb_classes_probabilities(classes, scores, rows, &web_error) == CPB_OK ? 0 : -1;
}

/* found: the class of each row from 0, the number of classes for rows with NaN */
WEB(classes_verdicts)
void web_classes_verdicts(const cpb_classes *classes, const double *scores, size_t rows, uint32_t *found) {
  size_t count = count_of(classes);
  for (size_t i = 0; i < rows; i++) found[i] = (uint32_t)cpb_classes_verdict(classes, scores + i * count);
}
