/* Many queries against a base of any size: the base is read once per batch of queries. */
#ifndef CLI_BASE_SEARCH_H
#define CLI_BASE_SEARCH_H

#include "cli.h"

typedef struct cli_base_search {
  const cli_job *job;
  const char *base, *queries; /* paths */
  cpb_metric metric;
  size_t k;     /* nearest rows, or 0: .. */
  double limit; /* .. all rows within this */
  void *arg;
  /* Before the first batch: how many queries there are, and rows of the base (0: not known yet). */
  int (*begin)(void *arg, size_t queries, uint64_t base);
  /* The rows of one query, in the order of the queries. Anything but CLI_OK ends the work. */
  int (*take)(void *arg, size_t query, const cpb_hit *hits, size_t count);
} cli_base_search;

/* CLI_OK, or an exit code after a sentence. */
int cli_base_search_run(const cli_base_search *search);

/* Offers every row of the reader, from the first, to the search. */
int cli_search_feed(const cli_job *job, cpb_reader *base, cpb_search *search);

/* The metric of --metric, L2 without it, and what stands for a value in files: for cosines 1 - value. */
cpb_metric cli_metric(const cli_job *job);
double cli_distance(cpb_metric metric, double value);

#endif
