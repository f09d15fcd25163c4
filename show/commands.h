/* Commands that are shown to people: every line that is to be run is written here, and quoted for the shell. */
#ifndef SHOW_COMMANDS_H
#define SHOW_COMMANDS_H

#include <stdio.h>

#include "capball/transform.h"

/* --name value; value NULL: a flag */
typedef struct show_option {
  const char *name, *value;
} show_option;

/* A file of rows, and the options that it is read with. */
typedef struct show_file {
  const char *path; /* NULL: none */
  const show_option *options;
  size_t count;
} show_file;

/* What was recommended, and the names in the commands. */
typedef struct show_recommended {
  cpb_transform_kind kind;
  double scale;  /* of the sphere */
  double radius; /* of its ball queries; 0: points */
  bool twice;
  cpb_metric metric; /* of the engine */
  size_t k, candidates;
  show_file base, queries;    /* no queries: rows of the base take their place */
  const char *engine_command; /* NULL: `capball knn` takes the place of the engine */
} show_recommended;

/* The pick; names are left NULL. */
show_recommended show_recommended_of(const cpb_recommendation_facts *r);

/* Commands, one per line, that run as they are. The map is fitted to the file of the base, whose names of columns it keeps; for
 * the others a file that is read with options is converted once. The caller frees them; NULL if out of memory. */
char *show_commands(const show_recommended *of);

/* Parts of a line, each with a blank before it: a word, quoted for the shell; a file, which is no option though its name
 * begins with a dash ("-" is standard input); an option. */
void show_put_word(FILE *to, const char *word);
void show_put_operand(FILE *to, const char *path);
void show_put_option(FILE *to, const show_option *option);

#endif
