/* Finds the codes nearest to each query, and sorts them by exact distance if the data or their images are given. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/candidates.h"
#include "format_names.h"
#include "data_file.h"
#include "output.h"

typedef struct search {
  const cli_job *job;
  cli_job asking; /* the job of the queries */
  cpb_sketch *sketch;
  cpb_sketch_options of; /* the sketch */
  cli_input codes, queries, rows;
  size_t k, candidates;
  cpb_hit *found, *hits; /* queries x candidates, queries x k */
} search;

static int load(search *s) {
  const cli_job *job = s->job;
  const char *sketch = job->options.sketch, *codes = job->operands[0], *queries = job->operands[1];
  int result = cli_input_read(&s->codes, job, codes, cli_operand_format(job, codes));
  if (result == CLI_OK) result = cli_input_check_cols(&s->codes, s->of.bits / 8, "codes of ", sketch, "have");
  if (result == CLI_OK && s->codes.rows.dtype != CPB_U8)
    result =
        cli_fail(job, "%s holds %s, but codes are u8", cli_name(codes), cpb_dtype_name(s->codes.info.dtype));
  s->asking = cli_query_job(job);
  if (result == CLI_OK)
    result = cli_input_read(&s->queries, &s->asking, queries, cli_operand_format(job, queries));
  if (result == CLI_OK) result = cli_input_check_cols(&s->queries, s->of.d, "queries of ", sketch, "have");
  size_t count = s->codes.rows.rows;
  if (result == CLI_OK && s->k > count)
    result = cli_fail(job, "%s has %zu row%s, fewer than the %zu neighbours asked for", cli_name(codes),
                      count, cli_s(count), s->k);
  if (s->candidates > count) s->candidates = count;
  return result;
}

static int scan(search *s) {
  size_t n = s->queries.rows.rows, bytes = s->of.bits / 8;
  uint8_t *asked = cli_alloc(n, bytes);
  cpb_error error;
  s->found = cli_alloc(n * s->candidates, sizeof *s->found);
  cpb_status status = cpb_sketch_encode(s->sketch, s->queries.rows, asked, cli_exec(s->job), &error);
  int result = status == CPB_OK ? CLI_OK : cli_fail_input(&s->queries, status, &error);
  if (result == CLI_OK && cpb_hamming_knn(s->codes.rows, cpb_rows(asked, CPB_U8, n, bytes), s->candidates,
                                          s->found, cli_exec(s->job), &error) != CPB_OK)
    result = cli_fail(s->job, "%s", error.text);
  free(asked);
  return result;
}

/* ---- re-ranking: only the rows of candidates are read ---- */

static int check_codes(const search *s, const cpb_store *store) {
  const cli_options *o = &s->job->options;
  cpb_error error;
  cpb_status status = cpb_sketch_check(s->sketch, s->codes.rows, store, s->found,
                                       s->queries.rows.rows * s->candidates, &error);
  if (status == CPB_EROW)
    return cli_fail(s->job, "%s row %lld is not the code of %s%s row %lld under %s",
                    cli_name(s->job->operands[0]), (long long)error.row, o->base != NULL ? "" : "the image ",
                    s->rows.info.path, (long long)error.row, o->sketch);
  return status == CPB_OK ? CLI_OK : cli_fail_input(&s->rows, status, &error);
}

static int rank(search *s, const cpb_store *store) {
  cpb_map *map = NULL;
  cpb_rerank_options options;
  cpb_error error;
  cpb_rerank_options_init(&options, sizeof options);
  options.k = s->k;
  cpb_status status = s->job->options.embedded != NULL ? cpb_sketch_map(s->sketch, &map, &error) : CPB_OK;
  options.map = map;
  if (status == CPB_OK)
    status = cpb_rerank_store(store, s->queries.rows, s->found, s->candidates, &options, s->hits,
                              cli_exec(s->job), &error);
  cpb_map_free(map);
  return status == CPB_OK ? CLI_OK : cli_fail_input(&s->rows, status, &error);
}

static int rerank(search *s) {
  const cli_options *o = &s->job->options;
  cpb_store store;
  int result = cli_input_open(&s->rows, s->job, o->base != NULL ? o->base : o->embedded, NULL);
  if (result == CLI_OK)
    result = cli_input_check_cols(&s->rows, o->base != NULL ? s->of.d : s->of.d + 1,
                                  o->base != NULL ? "rows of " : "embedded rows of ", o->sketch, "have");
  if (result == CLI_OK) result = cli_input_store(&s->rows, &store);
  if (result == CLI_OK) result = check_codes(s, &store);
  return result == CLI_OK ? rank(s, &store) : result;
}

/* ---- output ---- */

static int write_hits(const search *s) {
  const cli_options *o = &s->job->options;
  size_t n = s->queries.rows.rows, all = n * s->k;
  int64_t *ids = cli_alloc(all, sizeof *ids);
  double *values = cli_alloc(all, sizeof *values);
  for (size_t i = 0; i < all; i++) {
    ids[i] = (int64_t)s->hits[i].id;
    values[i] = s->hits[i].value;
  }
  cli_output out = {.job = s->job, .rows = &s->queries};
  const cli_input *base = s->rows.reader != NULL ? &s->rows : &s->codes;
  int result = cli_output_add(&out, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), s->k, n,
                              "distance");
  if (result == CLI_OK) result = cli_output_add_ids(&out, o->output, o->to, base, s->k, n, "neighbour");
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(values, CPB_F64, n, s->k));
  if (result == CLI_OK) result = cli_output_append(&out, 1, cpb_rows(ids, CPB_I64, n, s->k));
  result = cli_output_finish(&out, result);
  free(ids);
  free(values);
  return result;
}

static int run_search(search *s) {
  bool ranks = s->job->options.base != NULL || s->job->options.embedded != NULL;
  int result = load(s);
  if (result == CLI_OK) result = scan(s);
  if (result != CLI_OK) return result;
  s->hits = cli_alloc(s->queries.rows.rows * s->k, sizeof *s->hits);
  if (ranks)
    result = rerank(s);
  else
    memcpy(s->hits, s->found, s->queries.rows.rows * s->k * sizeof *s->hits);
  cli_tell_bad(&s->queries);
  return result == CLI_OK ? write_hits(s) : result;
}

static int check(const search *s) {
  const cli_job *job = s->job;
  const cli_options *o = &job->options;
  if (o->base != NULL && o->embedded != NULL)
    return cli_misuse(job, "--base and --embedded exclude each other");
  if (o->candidates != 0 && o->base == NULL && o->embedded == NULL)
    return cli_misuse(job, "--candidates are re-ranked from --base or --embedded: give one of them");
  if (s->candidates < s->k)
    return cli_misuse(job, "%zu candidate%s cannot contain %zu neighbours", s->candidates,
                      cli_s(s->candidates), s->k);
  int result = cli_check_id_format(job, o->output, o->to, "to");
  return result == CLI_OK ? cli_check_distances(job) : result;
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  bool ranks = o->base != NULL || o->embedded != NULL;
  search s = {.job = job, .of = {.size = sizeof s.of}, .k = o->neighbours == 0 ? 10 : (size_t)o->neighbours};
  s.candidates = !ranks ? s.k : o->candidates != 0 ? (size_t)o->candidates : s.k > 100 ? s.k : 100;
  int result = check(&s);
  cpb_error error;
  if (result != CLI_OK) return result;
  if (cpb_sketch_load(o->sketch, &s.sketch, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  cpb_sketch_describe(s.sketch, &s.of);
  result = run_search(&s);
  cli_input_close(&s.codes);
  cli_input_close(&s.queries);
  cli_input_close(&s.rows);
  free(s.found);
  free(s.hits);
  cpb_sketch_free(s.sketch);
  return result;
}

static CLI_OPTION(candidates_option, "candidates", 0, CLI_POSITIVE_COUNT, "N", candidates, NULL,
                  "codes re-ranked by exact distance (default 100)");
static CLI_OPTION(base, "base", 0, CLI_PATH, "BASE", base, NULL, "the rows that were encoded");
static CLI_OPTION(embedded, "embedded", 0, CLI_PATH, "EMB", embedded, NULL,
                  "their images, from `capball embed`");
static CLI_OPTION(distances, "distances", 0, CLI_WRITTEN, "FILE", distances, NULL,
                  "also write |x-q|, or without --base and --embedded the differing bits");

CLI_OPTIONS(options, &cli_opt_sketch, &cli_opt_output, &cli_opt_neighbours, &candidates_option, &base,
            &embedded, &distances, &cli_opt_distance_dtype, &cli_opt_skip_queries, &cli_opt_format,
            &cli_opt_external, &cli_opt_to, &cli_opt_bare, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_search = {
    .verb = "sketch search",
    .operands = "-m SKETCH.json CODES QUERIES -o IDS",
    .summary = "the codes nearest to each query, re-ranked exactly",
    .formula =
        "bits in which codes differ, then |x-q|, from images by                                  T13 T14\n"
        "|x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0)",
    .text = "QUERIES are rows of the data space. Writes one row of k row numbers per query, the nearest "
            "first; ties are ordered by row number. With --base or --embedded the nearest --candidates codes "
            "are sorted by their exact distances, and only their rows are read; otherwise they are sorted by "
            "the number of differing bits, which are then the --distances.\n"
            "EMB must come from a map with the centre and the scale of the sketch. Codes that do not belong "
            "to the rows, or to their images, are rejected. The codes are loaded into memory; the rows only "
            "if their file has no random access (csv, hdf5 ..).",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64\n"
               "capball sketch encode -m sketch.json points.csv -o codes.u8bin\n"
               "capball convert points.csv queries.csv --rows :3\n"
               "capball sketch search -m sketch.json codes.u8bin queries.csv -k 2 --base points.csv -o "
               "ids.csv\n"
               "cat ids.csv",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 2,
    .run = run};
