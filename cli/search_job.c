#include "capball/advanced/flow.h"
#include "search_job.h"

#include <math.h>
#include <stdlib.h>

#include "json_print.h"

const char *cli_value_word(cpb_metric metric) {
  return metric == CPB_IP ? "product" : metric == CPB_COSINE ? "cosine" : "distance";
}

int cli_check_radius(const cli_job *job, cpb_metric metric) {
  double radius = job->options.radius.value;
  if (metric == CPB_L2 && radius < 0)
    return cli_misuse(job, "--radius must be a number >= 0, got %g", radius);
  if (metric == CPB_COSINE && fabs(radius) > 1)
    return cli_misuse(job, "--radius is the least cosine, -1 .. 1, got %g", radius);
  return CLI_OK;
}

int cli_search_open(cli_search_job *search, const cli_job *job) {
  const char *base = job->operands[0], *queries = job->operands[1];
  *search = (cli_search_job){.job = job, .metric = (cpb_metric)job->options.metric.at};
  int result = cli_input_open(&search->base, job, base, cli_operand_format(job, base));
  if (result == CLI_OK)
    result = cli_input_open_unmatched(&search->queries, job, queries, cli_operand_format(job, queries));
  if (result == CLI_OK)
    result = cli_input_match(&search->queries, search->base.source.names, search->base.info.cols, "",
                             cli_name(base), "has");
  return result == CLI_OK ? cli_input_take(&search->queries) : result;
}

static void put_name(FILE *to, const cli_input *in, uint64_t row) {
  char *text = cli_json_text(cli_json("s", cpb_reader_id(in->reader, row)));
  fputs(text != NULL ? text : "null", to);
  free(text);
}

void cli_put_values(FILE *to, const cpb_hit *hits, size_t count, cpb_metric metric) {
  fprintf(to, "\"%ss\":[", cli_value_word(metric));
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fputc(',', to);
    if (isinf(hits[i].value))
      fputs(hits[i].value > 0 ? "1e999" : "-1e999", to); /* JSON has no inf */
    else
      cli_put_number(to, hits[i].value);
  }
  fputc(']', to);
}

void cli_put_hits(FILE *to, const cli_input *queries, size_t query, const cli_input *base,
                  const cpb_hit *hits, size_t count, cpb_metric metric) {
  fprintf(to, "{\"query\":%llu,", (unsigned long long)cpb_reader_row(queries->reader, query));
  if (queries->info.ids) {
    fputs("\"query_name\":", to);
    put_name(to, queries, query);
    fputc(',', to);
  }
  fputs("\"ids\":[", to);
  for (size_t i = 0; i < count; i++)
    fprintf(to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)cpb_reader_row(base->reader, hits[i].id));
  if (base->info.ids) fputs("],\"names\":[", to);
  for (size_t i = 0; i < count && base->info.ids; i++) {
    if (i > 0) fputc(',', to);
    put_name(to, base, hits[i].id);
  }
  fputs("],", to);
  cli_put_values(to, hits, count, metric);
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
