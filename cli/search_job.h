/* Queries against a base of any size, as two operands of a job. */
#ifndef CLI_SEARCH_JOB_H
#define CLI_SEARCH_JOB_H

#include "data_file.h"

typedef struct cli_search_job {
  const cli_job *job;
  cli_input base, queries;
  cpb_metric metric;
  size_t k;     /* nearest rows, or 0: .. */
  double limit; /* .. all rows within this */
} cli_search_job;

/* Opens the two; the queries are held. Close it in any case. */
int cli_search_open(cli_search_job *search, const cli_job *job);
void cli_search_close(cli_search_job *search);

/* `take` for every query, in order; it may say why not by error. */
int cli_search_run(cli_search_job *search, cpb_search_take *take, void *context);

/* What stands for a value in files: for cosines 1 - value. */
double cli_distance(cpb_metric metric, double value);

#endif
