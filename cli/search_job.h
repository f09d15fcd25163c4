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

/* The beginning of a line of JSON, {"query":0,"ids":[..],"distances":[..] without its end, or "products" or
 * "cosines"; with "query_name" and "names" where the rows have ids. */
void cli_put_hits(FILE *to, const cli_input *queries, size_t query, const cli_input *base,
                  const cpb_hit *hits, size_t count, cpb_metric metric);

/* What a value is called: "distance", "product" or "cosine". */
const char *cli_value_word(cpb_metric metric);

#endif
