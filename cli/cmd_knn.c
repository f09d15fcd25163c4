/* The k nearest rows of a base, exactly. */
#include <stdlib.h>

#include "format_names.h"
#include "output.h"
#include "search_job.h"

typedef struct outputs {
  cli_output files; /* row numbers, distances */
  const cpb_reader *base;
  int64_t *id;
  double *distance;
} outputs;

static cpb_status take(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  outputs *o = context;
  (void)query;
  if (o->id == NULL) { /* the first of all; k is not more than the number of rows */
    o->id = cli_alloc(count, sizeof *o->id);
    o->distance = cli_alloc(count, sizeof *o->distance);
  }
  for (size_t i = 0; i < count; i++) {
    o->id[i] = (int64_t)cpb_reader_row(o->base, hits[i].id);
    o->distance[i] = hits[i].value;
  }
  cpb_status status = cpb_writer_append(o->files.writers[0], cpb_rows(o->id, CPB_I64, 1, count), error);
  if (status != CPB_OK || o->files.writers[1] == NULL) return status;
  return cpb_writer_append(o->files.writers[1], cpb_rows(o->distance, CPB_F64, 1, count), error);
}

static int search_and_write(cli_search_job *search) {
  const cli_options *o = &search->job->options;
  size_t k = search->k, queries = search->queries.rows.rows;
  outputs out = {.files = {.job = search->job, .rows = &search->queries}, .base = search->base.reader};
  int result = cli_output_add_ids(&out.files, o->output, o->to, &search->base, k, queries, "neighbour");
  if (result == CLI_OK)
    result = cli_output_add(&out.files, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), k,
                            queries, cli_value_word(search->metric));
  if (result == CLI_OK) result = cli_search_run(search, take, &out);
  result = cli_output_finish(&out.files, result);
  free(out.id);
  free(out.distance);
  return result;
}

static int run(cli_job *job) {
  cli_search_job search = {.job = job};
  int result = cli_check_id_format(job, job->options.output, job->options.to, "to");
  if (result == CLI_OK) result = cli_check_distances(job);
  if (result != CLI_OK) return result;
  result = cli_search_open(&search, job);
  search.k = (size_t)job->options.neighbours.value;
  if (result == CLI_OK) result = search_and_write(&search);
  cli_search_close(&search);
  return result;
}

static CLI_OPTION(distances, "distances", 0, CLI_WRITTEN, "FILE", distances,
                  "also write the distances |x-q|; with ip the products <x,q>, with cosine the cosines");

CLI_OPTIONS(options, &cli_opt_output, &cli_opt_neighbours, &cli_opt_metric, &distances,
            &cli_opt_distance_dtype, &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_knn = {
    .verb = "knn",
    .operands = "BASE QUERIES -o IDS",
    .summary = "the k nearest rows of a base for each query, exactly",
    .formula = "l2      |x-q|, the smallest first                                   T13\nip      <x,q>, the "
               "largest first\ncosine  <x,q>/(|x||q|), the largest first",
    .text = "Writes one row of k row numbers per query, the nearest first; ties are ordered by row number. "
            "They are i32, or i64 if the base has more rows. In csv and tsv, names of rows replace their "
            "numbers if BASE or QUERIES have names (--id-column); --bare writes the numbers. --format "
            "applies to the operand \"-\", or to BASE. The base may be larger than memory: it is read once "
            "for every 16384 queries. The answer is that of double arithmetic over all rows; no index is "
            "built and nothing is approximate.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball knn base.csv queries.csv -k 2 -o ids.csv --distances distances.csv\n"
               "paste ids.csv distances.csv",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 1,
    .run = run};
