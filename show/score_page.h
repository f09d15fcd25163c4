/* Scores for people: the strangest rows as a table on a terminal, or a page with how all rows score. */
#ifndef SHOW_SCORE_PAGE_H
#define SHOW_SCORE_PAGE_H

#include "capball/advanced/rounds.h"
#include "capball/file.h"
#include "strange.h"

typedef struct show_scores {
  const char *data, *model; /* what the files are called */
  const char *again;        /* the command that wrote the page */
  const cpb_model *scored_by;
  const cpb_model_options *facts; /* of that model */
  const double *scores, *labels;  /* labels: not 0 for an outlier; NULL: none */
  size_t count, inside;
  const cpb_ranking *ranking; /* NULL: none */
  const show_strange *strange;
  size_t top;
  const cpb_reader *reader; /* knows the ids of rows, and their numbers in the file */
} show_scores;

void show_score_table(const show_scores *s, FILE *to);

/* The page in memory of the caller's, or NULL. */
char *show_score_page(const show_scores *s, size_t *length);

#endif
