/* Searches with two operands: queries, and a base of any size. */
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

/* The radius must be possible for the metric. */
int cli_check_radius(const cli_job *job, cpb_metric metric);

/* Opens both files and reads the queries into memory. Close it in any case. */
int cli_search_open(cli_search_job *search, const cli_job *job);
void cli_search_close(cli_search_job *search);

/* Calls `take` for every query, in order; it may fail with an error. */
int cli_search_run(cli_search_job *search, cpb_search_take *take, void *context);

/* Prints the beginning of a JSON object, {"query":0,"ids":[..],"distances":[..], or "products" or "cosines"; with
 * "query_name" and "names" if the rows have ids. */
void cli_put_hits(FILE *to, const cli_input *queries, size_t query, const cli_input *base,
                  const cpb_hit *hits, size_t count, cpb_metric metric);

/* "distances":[..], or "products" or "cosines". */
void cli_put_values(FILE *to, const cpb_hit *hits, size_t count, cpb_metric metric);

/* The name of a value: "distance", "product" or "cosine". */
const char *cli_value_word(cpb_metric metric);

#endif
