/* `capball score` by a file of classes: the class of every row, and how probable each one is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/classes.h"
#include "format_names.h"
#include "json_print.h"
#include "output.h"
#include "score_classes.h"

typedef struct class_scores {
  const cli_job *job;
  cli_input *in;
  const cpb_classes *classes;
  cpb_classes_options facts;
  double *scores; /* a row for each row: probabilities, or scores where the rule has none */
  size_t *found;  /* the class of each row */
  size_t *counts; /* rows of each class */
} class_scores;

/* "class,p of a,p of b", commas in labels as blanks. */
static char *header_of(const class_scores *s) {
  size_t room = sizeof "class";
  const char *word = s->facts.rule == CPB_CLASS_LARGEST ? ",score of " : ",p of ";
  for (size_t i = 0; i < s->facts.classes; i++) room += strlen(word) + strlen(s->facts.labels[i]);
  char *header = cli_alloc(room, 1), *to = header + strlen(strcpy(header, "class"));
  for (size_t i = 0; i < s->facts.classes; i++) {
    to += strlen(strcpy(to, word));
    for (const char *p = s->facts.labels[i]; *p != 0; p++) *to++ = *p;
    for (char *p = to - strlen(s->facts.labels[i]); p < to; p++)
      if (*p == ',') *p = ' ';
    *to = 0;
  }
  return header;
}

static int write_rows(const class_scores *s) {
  const cli_options *o = &s->job->options;
  size_t rows = s->in->rows.rows, k = s->facts.classes, cols = o->predict ? 1 : 1 + k;
  double *values = cli_alloc(rows * cols, sizeof *values);
  for (size_t i = 0; i < rows; i++) {
    values[i * cols] = (double)s->found[i];
    if (!o->predict) memcpy(values + i * cols + 1, s->scores + i * k, k * sizeof *values);
  }
  char *header = header_of(s);
  cli_output out = {.job = s->job, .rows = s->in};
  int result = cli_output_add(&out, o->output, o->to, cli_output_dtype(o->output, o->to, o->dtype, CPB_F64),
                              cols, rows, o->predict ? "class" : header);
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(values, CPB_F64, rows, cols));
  free(header);
  free(values);
  return cli_output_finish(&out, result);
}

static int tell_json(const class_scores *s) {
  cpb_text *list = cli_json("[]");
  for (size_t i = 0; i < s->facts.classes; i++)
    list = cpb_json_append(list, cli_json("{s:I, s:s, s:I}", "class", (uint64_t)i, "label",
                                          s->facts.labels[i], "rows", (uint64_t)s->counts[i]));
  return cli_print_json(s->job, cli_json("{s:s, s:I, s:o}", "scores", s->job->options.output, "rows",
                                         (uint64_t)s->in->rows.rows, "classes", list));
}

static int tell(const class_scores *s) {
  size_t rows = s->in->rows.rows;
  cli_say(s->job, "%zu row%s, %zu classes", rows, cli_s(rows), s->facts.classes);
  if (s->job->options.json) return tell_json(s);
  if (s->job->options.output != NULL) return CLI_OK;
  printf("class       rows  label\n");
  for (size_t i = 0; i < s->facts.classes; i++) {
    printf("%5zu %10zu  ", i, s->counts[i]);
    show_put_text(stdout, s->facts.labels[i]);
    putchar('\n');
  }
  return CLI_OK;
}

static int score_rows(class_scores *s) {
  size_t rows = s->in->rows.rows, k = s->facts.classes;
  cpb_error error;
  s->scores = cli_alloc(rows * k, sizeof *s->scores);
  s->found = cli_alloc(rows, sizeof *s->found);
  s->counts = cli_alloc(k + 1, sizeof *s->counts);
  cpb_status status = cpb_classes_scores(s->classes, s->in->rows, cpb_rows_out(s->scores, CPB_F64, rows, k),
                                         cli_exec(s->job), &error);
  for (size_t i = 0; i < rows && status == CPB_OK; i++) {
    s->found[i] = cpb_classes_verdict(s->classes, s->scores + i * k);
    s->counts[s->found[i]]++;
  }
  if (status == CPB_OK && s->facts.rule != CPB_CLASS_LARGEST)
    status = cpb_classes_probabilities(s->classes, s->scores, rows, &error);
  return status == CPB_OK ? CLI_OK : cli_fail_input(s->in, status, &error);
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  const char *wrong = o->ranks                  ? "--ranks"
                      : o->alpha.given          ? "--alpha"
                      : o->fdr.given            ? "--fdr"
                      : o->top.given            ? "--top"
                      : o->html != NULL         ? "--html"
                      : o->plot != NULL         ? "--plot"
                      : o->labels != NULL       ? "--labels"
                      : o->label_column != NULL ? "--label-column"
                                                : NULL;
  return wrong == NULL ? CLI_OK : cli_misuse(job, "%s is for a ball, and %s holds classes", wrong, o->model);
}

int cli_score_classes(cli_input *in, const cpb_classes *classes) {
  class_scores s = {.job = in->job, .in = in, .classes = classes, .facts = {.size = sizeof s.facts}};
  cpb_classes_describe(classes, &s.facts);
  int result = check(in->job);
  if (result == CLI_OK)
    result = cli_input_match(in, s.facts.columns, s.facts.d, "", in->job->options.model, "scores rows of");
  if (result == CLI_OK) result = cli_input_hold(in);
  if (result == CLI_OK && in->rows.rows == 0)
    result = cli_fail(in->job, "%s has no rows", cli_name(in->info.path));
  if (result == CLI_OK) result = score_rows(&s);
  if (result == CLI_OK && in->job->options.output != NULL) result = write_rows(&s);
  if (result == CLI_OK) cli_tell_bad(in);
  if (result == CLI_OK) result = tell(&s);
  free(s.scores);
  free(s.found);
  free(s.counts);
  return result;
}
