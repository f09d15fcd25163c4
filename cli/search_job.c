#include "search_job.h"

#include <stdlib.h>

double cli_distance(cpb_metric metric, double value) { return metric == CPB_COSINE ? 1 - value : value; }

int cli_search_open(cli_search_job *search, const cli_job *job) {
  const char *base = job->operands[0], *queries = job->operands[1];
  *search = (cli_search_job){.job = job, .metric = (cpb_metric)job->options.metric.at};
  int result = cli_input_open(&search->base, job, base, cli_operand_format(job, base));
  if (result == CLI_OK)
    result = cli_input_read(&search->queries, job, queries, cli_operand_format(job, queries));
  if (result == CLI_OK)
    result = cli_input_check_cols(&search->queries, search->base.info.cols, "", cli_name(base), "has");
  return result;
}

void cli_search_close(cli_search_job *search) {
  cli_input_close(&search->base);
  cli_input_close(&search->queries);
}

int cli_search_run(cli_search_job *search, cpb_search_take *take, void *context) {
  cpb_view queries = search->queries.rows;
  cpb_search_options options;
  cpb_error error;
  double *limits = cli_alloc(queries.rows, sizeof *limits);
  for (size_t i = 0; i < queries.rows; i++) limits[i] = search->limit;
  cpb_search_options_init(&options, sizeof options);
  options.metric = search->metric;
  options.k = search->k;
  options.limits = search->k == 0 ? limits : NULL;
  cpb_status status =
      cpb_search_run(&search->base.source, queries, &options, take, context, cli_exec(search->job), &error);
  free(limits);
  cli_tell_bad(&search->base);
  cli_tell_bad(&search->queries);
  if (status == CPB_OK) return CLI_OK;
  return cli_fail_input(cli_is_about(&error, "queries") ? &search->queries : &search->base, status, &error);
}
