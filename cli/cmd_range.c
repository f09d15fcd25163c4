/* All rows of a base within a radius, exactly. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/flow.h"
#include "show/put_text.h"
#include "search_job.h"

typedef struct lines {
  cpb_metric metric;
  const cli_search_job *search;
  FILE *to;
  size_t found;
} lines;

static cpb_status take(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  lines *l = context;
  (void)error;
  cli_put_hits(l->to, &l->search->queries, query, &l->search->base, hits, count, l->metric);
  fputs("}\n", l->to);
  l->found += count;
  return CPB_OK;
}

static int search_and_write(cli_search_job *search) {
  const cli_job *job = search->job;
  lines l = {.metric = search->metric, .search = search};
  cpb_error error;
  show_text text;
  l.to = show_text_open(&text);
  int result =
      l.to == NULL ? cli_fail(job, "no memory for the rows found") : cli_search_run(search, take, &l);
  if (l.to != NULL && !show_text_close(&text, l.to) && result == CLI_OK)
    result = cli_fail(job, "no memory for the rows found");
  if (result == CLI_OK && cpb_write_whole(job->options.output, text.bytes, text.length, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  if (result == CLI_OK) cli_say(job, "%zu row%s found", l.found, cli_s(l.found));
  free(text.bytes);
  return result;
}

static int run(cli_job *job) {
  cli_search_job search = {.job = job};
  int result = cli_check_radius(job, (cpb_metric)job->options.metric.at);
  if (result == CLI_OK) result = cli_search_open(&search, job);
  search.limit = job->options.radius.value;
  if (result == CLI_OK) result = search_and_write(&search);
  cli_search_close(&search);
  return result;
}

static CLI_OPTION(radius_option, "radius", 0, CLI_NUMBER, "R", radius,
                  "the radius, in the unit of the data, not squared; with ip the least product, with cosine "
                  "the least cosine");

static CLI_OPTION(output, "output", 'o', CLI_WRITTEN, "OUT.jsonl", output,
                  "output file of JSON lines, written atomically");

CLI_OPTIONS(options, &radius_option, &output, &cli_opt_metric, &cli_opt_leave_bad, CLI_OPT_TABLE,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_range = {
    .verb = "range",
    .operands = "BASE QUERIES --radius R -o OUT.jsonl",
    .summary = "all rows of a base within a radius of each query, exactly",
    .formula = "l2      |x-q| <= R                                                  T13\nip      <x,q> >= "
               "R\ncosine  <x,q>/(|x||q|) >= R",
    .text = "Writes one line of JSON per query: {\"query\":0,\"ids\":[..],\"distances\":[..]}, the nearest "
            "rows first; \"products\" with ip, \"cosines\" with cosine, and \"query_name\" and \"names\" if "
            "rows have names. The radius is not squared, and rows at exactly this distance are inside. For "
            "an engine that supports only inner products, `capball query --radius` converts the radius to "
            "one threshold; there, rows at this distance, within rounding, may be inside or outside.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball range base.csv queries.csv --radius 3.5 -o -",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 2,
    .run = run};
