/* The k nearest rows of a base, exactly. */
#include <stdlib.h>

#include "base_search.h"
#include "format_names.h"

typedef struct outputs {
  const cli_job *job;
  size_t k;
  cpb_metric metric;
  cpb_writer *ids, *distances;
  int64_t *id;
  double *distance;
} outputs;

static int open_writer(const outputs *o, const char *path, const char *format, cpb_dtype dtype, size_t rows,
                       cpb_writer **writer) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  cpb_error error;
  options.format = format;
  options.dtype = dtype;
  options.cols = o->k;
  options.rows = rows;
  if (cpb_writer_open(path, &options, writer, &error) == CPB_OK) return CLI_OK;
  return cli_fail(o->job, "%s", error.text);
}

static int begin(void *arg, size_t queries, uint64_t base) {
  outputs *o = arg;
  const cli_options *options = &o->job->options;
  o->id = cli_alloc(o->k, sizeof *o->id);
  o->distance = cli_alloc(o->k, sizeof *o->distance);
  int result = open_writer(o, options->output, options->to, cli_id_dtype(options->output, options->to, base),
                           queries, &o->ids);
  if (result == CLI_OK && options->distances != NULL)
    result = open_writer(o, options->distances, NULL, cli_distance_dtype(options->distances, options->dtype),
                         queries, &o->distances);
  return result;
}

static int take(void *arg, size_t query, const cpb_hit *hits, size_t count) {
  outputs *o = arg;
  cpb_error error;
  (void)query;
  for (size_t i = 0; i < count; i++) {
    o->id[i] = (int64_t)hits[i].id;
    o->distance[i] = cli_distance(o->metric, hits[i].value);
  }
  cpb_status status = cpb_writer_append(o->ids, cpb_rows(o->id, CPB_I64, 1, count), &error);
  if (status == CPB_OK && o->distances != NULL)
    status = cpb_writer_append(o->distances, cpb_rows(o->distance, CPB_F64, 1, count), &error);
  return status == CPB_OK ? CLI_OK : cli_fail(o->job, "%s", error.text);
}

static int commit(const outputs *o) {
  cpb_error error;
  cpb_status status = cpb_writer_commit(o->ids, &error);
  if (status == CPB_OK && o->distances != NULL) status = cpb_writer_commit(o->distances, &error);
  return status == CPB_OK ? CLI_OK : cli_fail(o->job, "%s", error.text);
}

static int run(cli_job *job) {
  size_t k = job->options.neighbours == 0 ? 10 : job->options.neighbours;
  outputs o = {.job = job, .k = k, .metric = cli_metric(job)};
  int result = cli_check_id_format(job, job->options.output, job->options.to, "to");
  if (result == CLI_OK) result = cli_check_distances(job);
  if (result != CLI_OK) return result;
  cli_base_search search = {.job = job,
                            .base = job->operands[0],
                            .queries = job->operands[1],
                            .metric = o.metric,
                            .k = k,
                            .arg = &o,
                            .begin = begin,
                            .take = take};
  result = cli_base_search_run(&search);
  if (result == CLI_OK) result = commit(&o);
  cpb_writer_free(o.ids);
  cpb_writer_free(o.distances);
  free(o.id);
  free(o.distance);
  return result;
}

const cli_command cli_verb_knn = {
    .verb = "knn",
    .operands = "BASE QUERIES -o IDS",
    .summary = "the k nearest rows of a base for each query, exactly",
    .formula =
        "l2: |x-q|, the smallest   ip: <x,q>, the largest   cosine: 1 - <x,q>/(|x||q|), the smallest   T13",
    .text =
        "Writes one row of k row numbers per query, the nearest first; of equal rows the one with the lower "
        "number goes first. They are i32, or i64 where the base has more rows. --format is that of the "
        "operand \"-\", or of BASE. The base may be larger than "
        "memory: it is read once for every 16384 queries. "
        "The answer is that of double arithmetic over all rows; no index is built and nothing is "
        "approximate.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball knn base.csv queries.csv -k 2 -o ids.csv --distances distances.csv\n"
               "paste ids.csv distances.csv",
    .least = 2,
    .most = 2,
    .accepts = CLI_BIT(CLI_NEIGHBOURS) | CLI_BIT(CLI_METRIC) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_DISTANCES) |
               CLI_BIT(CLI_DTYPE) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) | CLI_BIT(CLI_QUIET) |
               CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_OUTPUT),
    .run = run};
