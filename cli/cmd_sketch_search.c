/* Finds the codes nearest to each query, by estimates or by differing bits, and sorts them by exact distance if the data or
 * their images are given. */
#include <stdlib.h>
#include <string.h>

#include "src/base/choice_names.h"
#include "capball/advanced/candidates.h"
#include "capball/advanced/estimator.h"
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
  if (result == CLI_OK)
    result = cli_input_check_cols(&s->codes, s->of.code_bytes, "codes of ", sketch, "have");
  if (result == CLI_OK && s->codes.rows.dtype != CPB_U8)
    result =
        cli_fail(job, "%s holds %s, but codes are u8", cli_name(codes), cpb_dtype_name(s->codes.info.dtype));
  s->asking = cli_query_job(job);
  if (result == CLI_OK)
    result = cli_input_read(&s->queries, &s->asking, queries, cli_operand_format(job, queries));
  if (result == CLI_OK) result = cli_input_check_cols(&s->queries, s->of.d, "queries of ", sketch, "have");
  size_t count = s->codes.rows.rows;
  if (s->candidates > count) s->candidates = s->k > count ? s->k : count; /* which is refused */
  return result;
}

/* For each query: memory for more neighbours than there are codes is not taken. */
static cpb_hit *hits_room(const search *s, size_t each) {
  size_t count = s->codes.rows.rows;
  return cli_alloc(s->queries.rows.rows * (each < count ? each : count), sizeof(cpb_hit));
}

static bool estimates(const search *s) {
  return s->of.kind >= CPB_SKETCH_PRINCIPAL && !s->job->options.by_bits;
}

/* The codes that differ in the fewest bits; numbers that follow the bits are not compared. */
static int scan_bits(search *s) {
  size_t n = s->queries.rows.rows, bytes = s->of.bits / 8, stride = s->of.code_bytes;
  uint8_t *asked = cli_alloc(n, stride);
  cpb_error error;
  cpb_status status = cpb_sketch_encode(s->sketch, s->queries.rows, asked, cli_exec(s->job), &error);
  int result = status == CPB_OK ? CLI_OK : cli_fail_input(&s->queries, status, &error);
  cpb_view codes = s->codes.rows, queries = cpb_rows(asked, CPB_U8, n, stride);
  codes.cols = queries.cols = bytes;
  if (result == CLI_OK &&
      cpb_hamming_knn(codes, queries, s->candidates, s->found, cli_exec(s->job), &error) != CPB_OK)
    result = cli_fail_input(&s->codes, CPB_EINVAL, &error);
  free(asked);
  return result;
}

/* options.rows: NULL to search by estimates alone */
static int scan_estimates(search *s, const cpb_estimator_options *options, cpb_hit *hits,
                          cpb_estimator_report *report) {
  cpb_estimator *estimator = NULL;
  cpb_error error;
  cpb_status status = cpb_estimator_new(s->sketch, s->codes.rows, &estimator, &error);
  if (status != CPB_OK) return cli_fail_input(&s->codes, status, &error);
  status = cpb_estimator_search(estimator, s->queries.rows, options, hits, report, cli_exec(s->job), &error);
  cpb_estimator_free(estimator);
  if (status == CPB_OK) return CLI_OK;
  bool about_queries = options->rows == NULL || cli_is_about(&error, "queries");
  return cli_fail_input(cli_is_about(&error, "k") ? &s->codes
                        : about_queries           ? &s->queries
                                                  : &s->rows,
                        status, &error);
}

static int scan(search *s) {
  cpb_estimator_options options;
  cpb_estimator_options_init(&options, sizeof options);
  options.k = s->candidates;
  s->found = hits_room(s, s->candidates);
  return estimates(s) ? scan_estimates(s, &options, s->found, NULL) : scan_bits(s);
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

/* Opens the rows or their images. */
static int open_rows(search *s, cpb_store *store) {
  const cli_options *o = &s->job->options;
  int result = cli_input_open(&s->rows, s->job, o->base != NULL ? o->base : o->embedded, NULL);
  if (result == CLI_OK)
    result = cli_input_check_cols(&s->rows, o->base != NULL ? s->of.d : s->of.d + 1,
                                  o->base != NULL ? "rows of " : "embedded rows of ", o->sketch, "have");
  return result == CLI_OK ? cli_input_store(&s->rows, store) : result;
}

static int rerank(search *s) {
  cpb_store store;
  int result = open_rows(s, &store);
  if (result == CLI_OK) result = check_codes(s, &store);
  return result == CLI_OK ? rank(s, &store) : result;
}

/* Reads rows until the bound says that no other one is nearer. */
static int search_until(search *s) {
  const cli_options *o = &s->job->options;
  cpb_store store;
  cpb_estimator_options options;
  cpb_estimator_report report = {.size = sizeof report};
  cpb_estimator_options_init(&options, sizeof options);
  options.k = s->k;
  options.bound = (cpb_bound)(o->bound.at + 1);
  if (o->confidence.given) options.confidence = o->confidence.value;
  options.rows = &store;
  int result = open_rows(s, &store);
  s->candidates = s->k;
  s->found = hits_room(s, s->k);
  if (result == CLI_OK && store.rows != s->codes.rows.rows) return check_codes(s, &store);
  if (result == CLI_OK) result = scan_estimates(s, &options, s->hits, &report);
  if (result != CLI_OK) return result;
  memcpy(s->found, s->hits, s->queries.rows.rows * s->k * sizeof *s->hits);
  double each = (double)report.rows_read / (double)report.queries;
  cli_say(s->job, "%.1f rows read per query, %.2f %% of all%s", each, 100 * each / (double)s->codes.rows.rows,
          report.proven ? "; proven: no other row is nearer" : "");
  return check_codes(s, &store);
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
  const cli_options *o = &s->job->options;
  bool ranks = o->base != NULL || o->embedded != NULL, until = o->bound.given;
  int result = load(s);
  if (result == CLI_OK && !until) result = scan(s);
  if (result != CLI_OK) return result;
  s->hits = hits_room(s, s->k);
  if (until)
    result = search_until(s);
  else if (ranks)
    result = rerank(s);
  else
    memcpy(s->hits, s->found, s->queries.rows.rows * s->k * sizeof *s->hits);
  cli_tell_bad(&s->queries);
  return result == CLI_OK ? write_hits(s) : result;
}

static int check_bound(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->bound.given && o->base == NULL) return cli_misuse(job, "--bound reads rows of --base: give it");
  if (o->bound.given && (o->candidates.given || o->by_bits))
    return cli_misuse(job, "--bound and --%s exclude each other", o->by_bits ? "by-bits" : "candidates");
  bool probable = o->bound.given && o->bound.at + 1 == CPB_BOUND_PROBABLE;
  if (o->confidence.given && !probable) return cli_misuse(job, "--confidence is for --bound probable");
  return CLI_OK;
}

/* What the sketch must be for these options. */
static int check_sketch(const search *s) {
  const cli_options *o = &s->job->options;
  if (o->bound.given && s->of.kind == CPB_SKETCH_JOINED && s->of.numbers == 0)
    return cli_fail(s->job,
                    "--bound needs bounds in the codes, and those of %s have none: train it with --certain",
                    o->sketch);
  if (o->bound.given && s->of.kind < CPB_SKETCH_PRINCIPAL)
    return cli_fail(s->job, "--bound needs estimates, and %s is %s: train another sketch", o->sketch,
                    cpb_sketch_kind_name(s->of.kind));
  if (o->by_bits && (s->of.kind == CPB_SKETCH_JOINED || s->of.bits_per != 1))
    return cli_fail(s->job, "--by-bits needs one bit per direction, and %s is %s", o->sketch,
                    s->of.kind == CPB_SKETCH_JOINED ? "joined" : "of several");
  return CLI_OK;
}

static int check(const search *s) {
  const cli_job *job = s->job;
  const cli_options *o = &job->options;
  if (o->base != NULL && o->embedded != NULL)
    return cli_misuse(job, "--base and --embedded exclude each other");
  if (o->candidates.given && o->base == NULL && o->embedded == NULL)
    return cli_misuse(job, "--candidates are re-ranked from --base or --embedded: give one of them");
  if (s->candidates < s->k)
    return cli_misuse(job, "%zu candidate%s cannot contain %zu neighbours", s->candidates,
                      cli_s(s->candidates), s->k);
  int result = check_bound(job);
  if (result == CLI_OK) result = cli_check_id_format(job, o->output, o->to, "to");
  return result == CLI_OK ? cli_check_distances(job) : result;
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  bool ranks = o->base != NULL || o->embedded != NULL;
  search s = {.job = job, .of = {.size = sizeof s.of}, .k = (size_t)o->neighbours.value};
  s.candidates = !ranks ? s.k : o->candidates.given ? (size_t)o->candidates.value : s.k > 100 ? s.k : 100;
  int result = check(&s);
  cpb_error error;
  if (result != CLI_OK) return result;
  if (cpb_sketch_load(o->sketch, &s.sketch, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  cpb_sketch_describe(s.sketch, &s.of);
  result = check_sketch(&s);
  if (result == CLI_OK) result = run_search(&s);
  cli_input_close(&s.codes);
  cli_input_close(&s.queries);
  cli_input_close(&s.rows);
  free(s.found);
  free(s.hits);
  cpb_sketch_free(s.sketch);
  return result;
}

static CLI_OPTION(candidates_option, "candidates", 0, CLI_COUNT, "N", candidates,
                  "codes re-ranked by exact distance", .fallback = "100");
static CLI_OPTION(bound, "bound", 0, CLI_CHOICE, "BOUND", bound,
                  "instead of a number of candidates, read rows of --base until no other one can be nearer "
                  "(certain), or is likely to be (probable)",
                  .list = cpb_bound_names + 1);
static CLI_OPTION(confidence, "confidence", 0, CLI_NUMBER, "P", confidence, "of --bound probable",
                  .range = "in [0.5,1)", .fallback = "0.999");
static CLI_OPTION(by_bits, "by-bits", 0, CLI_FLAG, NULL, by_bits,
                  "compare codes of principal sketches by differing bits, too: faster, and finds less");
static CLI_OPTION(base, "base", 0, CLI_PATH, "BASE", base, "the rows that were encoded");
static CLI_OPTION(embedded, "embedded", 0, CLI_PATH, "EMB", embedded, "their images, from `capball embed`");
static CLI_OPTION(distances, "distances", 0, CLI_WRITTEN, "FILE", distances,
                  "also write |x-q|, or without --base and --embedded its estimate or the differing bits");

CLI_OPTIONS(options, &cli_opt_sketch, &cli_opt_output, &cli_opt_neighbours, &candidates_option, &bound,
            &confidence, &by_bits, &base, &embedded, &distances, &cli_opt_distance_dtype,
            &cli_opt_skip_queries, &cli_opt_format, &cli_opt_external, &cli_opt_to, &cli_opt_bare,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_search = {
    .verb = "sketch search",
    .operands = "-m SKETCH.json CODES QUERIES -o IDS",
    .summary = "the codes nearest to each query, re-ranked exactly",
    .formula =
        "|x-q|^2 ~ |x-m|^2 + |q-m|^2 - 2 s f <v, G(q-m)>,   | |x-q| - |x'-q| | <= s e             T13 T14\n"
        "or bits in which codes differ; then |x-q|, from images by |x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / "
        "(1+x0)",
    .text = "QUERIES are rows of the data space. Writes one row of k row numbers per query, the nearest "
            "first; ties are ordered by row number. Codes of principal sketches are compared by estimates of "
            "their "
            "distances to the query, others by the number of differing bits. With --base or --embedded the "
            "nearest "
            "--candidates codes are sorted by their exact distances, and only their rows are read; otherwise "
            "--distances are the estimates or the numbers of differing bits.\n"
            "--bound certain reads rows in the order of their lower bounds until the next one is farther "
            "than the k-th "
            "neighbour: the result is that of `capball knn`, proven, and the number of rows read is "
            "reported. The "
            "certain bound is never wrong, and wide for one bit per direction: most rows are read. --bound "
            "probable "
            "stops earlier and proves nothing; 99.9 % of the errors measured in training are within it.\n"
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
