/* All rows of a base within a radius, exactly. */
#include <math.h>
#include <stdlib.h>

#include "base_search.h"
#include "json_print.h"
#include "growing_text.h"

typedef struct lines {
  const cli_job *job;
  cpb_metric metric;
  FILE *to;
  size_t found;
} lines;

static int begin(void *arg, size_t queries, uint64_t base) {
  (void)arg;
  (void)queries;
  (void)base;
  return CLI_OK;
}

static int take(void *arg, size_t query, const cpb_hit *hits, size_t count) {
  lines *l = arg;
  fprintf(l->to, "{\"query\":%zu,\"ids\":[", query);
  for (size_t i = 0; i < count; i++)
    fprintf(l->to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)hits[i].id);
  fputs("],\"distances\":[", l->to);
  for (size_t i = 0; i < count; i++)
    fprintf(l->to, "%s%.17g", i == 0 ? "" : ",", cli_distance(l->metric, hits[i].value));
  fputs("]}\n", l->to);
  l->found += count;
  return ferror(l->to) ? cli_fail(l->job, "no memory for the rows found") : CLI_OK;
}

/* cosine distances 1-c <= R are cosines >= 1-R */
static int limit_of(const cli_job *job, cpb_metric metric, double *limit) {
  *limit = cli_distance(metric, job->options.radius.value);
  if (isnan(*limit) || (metric != CPB_IP && job->options.radius.value < 0))
    return cli_misuse(job, "--radius must be a number >= 0, got %g", job->options.radius.value);
  return CLI_OK;
}

static int run(cli_job *job) {
  lines l = {.job = job, .metric = cli_metric(job)};
  cli_base_search search = {.job = job,
                            .base = job->operands[0],
                            .queries = job->operands[1],
                            .metric = l.metric,
                            .arg = &l,
                            .begin = begin,
                            .take = take};
  int result = limit_of(job, l.metric, &search.limit);
  if (result != CLI_OK) return result;
  cpb_error error;
  cli_text text;
  l.to = cli_text_open(&text);
  result = l.to == NULL ? cli_fail(job, "no memory for the rows found") : cli_base_search_run(&search);
  if (l.to != NULL && !cli_text_close(&text, l.to) && result == CLI_OK)
    result = cli_fail(job, "no memory for the rows found");
  if (result == CLI_OK && cpb_write_whole(job->options.output, text.bytes, text.length, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  if (result == CLI_OK) cli_say(job, "%zu row%s found", l.found, cli_s(l.found));
  free(text.bytes);
  return result;
}

const cli_command cli_verb_range = {
    .verb = "range",
    .operands = "BASE QUERIES --radius R -o OUT.jsonl",
    .summary = "all rows of a base within a radius of each query, exactly",
    .formula =
        "l2: |x-q| <= R    ip: <x,q> >= R    cosine: 1 - <x,q>/(|x||q|) <= R                       T13",
    .text = "Writes one line of JSON per query: {\"query\":0,\"ids\":[..],\"distances\":[..]}, the nearest "
            "rows first. "
            "The radius is not squared, and rows at exactly this distance are inside. For an engine that has "
            "only "
            "inner products `capball query --radius` gives the rows within by one threshold. It means |x-q| "
            "< R, and "
            "rows as far as R, or so near to it that rounded rows cannot tell, fall on either side.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball range base.csv queries.csv --radius 3.5 -o -",
    .least = 2,
    .most = 2,
    .accepts = CLI_BIT(CLI_RADIUS) | CLI_BIT(CLI_METRIC) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_FORMAT) |
               CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_RADIUS) | CLI_BIT(CLI_OUTPUT),
    .run = run};
