/* The shell commands that carry out a recommendation. */
#ifndef SHOW_COMMANDS_H
#define SHOW_COMMANDS_H

#include <stdio.h>

#include "capball/transform.h"

/* What was recommended, and the names in the commands. */
typedef struct show_recommended {
  cpb_transform_kind kind;
  double scale;  /* of the sphere */
  double radius; /* of its ball queries; 0: points */
  bool twice;
  cpb_metric metric; /* of the engine */
  size_t k, candidates;
  const char *base, *queries; /* files */
  const char *engine_command; /* NULL: `capball knn` takes the place of the engine */
  const char *first;          /* commands that create these files; NULL: none */
} show_recommended;

/* The pick; names are left NULL. */
show_recommended show_recommended_of(const cpb_recommendation_facts *r);

/* Commands, one per line, that run as they are. The caller frees them; NULL if out of memory. */
char *show_commands(const show_recommended *of);

/* A word, quoted for the shell. */
void show_put_word(FILE *to, const char *word);

#endif
