/* The shell commands that carry out a recommendation. */
#ifndef CLI_RECOMMEND_COMMANDS_H
#define CLI_RECOMMEND_COMMANDS_H

#include "json_print.h"

/* What was recommended. */
typedef struct cli_recommended {
  cpb_transform_kind kind;
  double scale;  /* of the sphere */
  double radius; /* of its ball queries; 0: points */
  bool twice;
  cpb_metric metric; /* of the engine */
  size_t k, candidates;
} cli_recommended;

/* Lines of shell, separated by newlines, that run as they are: with the file names of the job, its engine command, or
 * `capball knn` in place of an engine that is not a command. BASE stands for standard input, and without --queries
 * rows of the base are the queries. The caller frees them; NULL: no memory. */
char *cli_recommend_commands(const cli_job *job, const cli_recommended *of);

/* The same on a terminal, with an explanation, and as an array of JSON. */
void cli_print_commands(const cli_job *job, const char *commands);
cpb_text *cli_json_commands(const char *commands);

/* What the commands need to be explained; a static string. */
const char *cli_commands_note(const cli_job *job);

#endif
