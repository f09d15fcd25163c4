/* Candidates of an engine in the order of their Euclidean distances, with a proof that they are enough. */
#include <math.h>
#include <stdlib.h>

#include "format_names.h"
#include "data_file.h"
#include "json_print.h"
#include "output.h"

typedef struct rescoring {
  const cli_job *job;
  cpb_map *map;
  cli_input queries, ids, embedded, scores;
  size_t n, C, k;
  uint64_t *candidates; /* n x C */
  cpb_hit *hits;        /* n x k */
  uint64_t *needed;     /* n: 0, or how many candidates prove it */
} rescoring;

/* ---- results ---- */

static int write_outputs(const rescoring *r) {
  const cli_options *o = &r->job->options;
  uint64_t rows = r->embedded.info.rows;
  int64_t *nearest = cli_alloc(r->n * r->k, sizeof *nearest);
  double *distances = cli_alloc(r->n * r->k, sizeof *distances);
  for (size_t i = 0; i < r->n * r->k; i++) {
    nearest[i] = (int64_t)r->hits[i].id;
    distances[i] = r->hits[i].value;
  }
  cli_output out = {.job = r->job};
  int result = cli_output_add(&out, o->output, o->to, cli_id_dtype(o->output, o->to, rows), r->k, r->n);
  if (result == CLI_OK)
    result = cli_output_add(&out, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), r->k, r->n);
  if (result == CLI_OK)
    result = cli_output_add(&out, o->certificates, NULL, cli_id_dtype(o->certificates, NULL, rows), 1, r->n);
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(nearest, CPB_I64, r->n, r->k));
  if (result == CLI_OK) result = cli_output_append(&out, 1, cpb_rows(distances, CPB_F64, r->n, r->k));
  if (result == CLI_OK) result = cli_output_append(&out, 2, cpb_rows(r->needed, CPB_I64, r->n, 1));
  result = cli_output_finish(&out, result);
  free(nearest);
  free(distances);
  return result;
}

static int tell(const rescoring *r) {
  const cli_options *o = &r->job->options;
  size_t proven = 0, coarse = 0;
  uint64_t needed = 0;
  for (size_t i = 0; i < r->n; i++) {
    proven += r->needed[i] == 0;
    if (r->needed[i] == r->C)
      coarse++;
    else if (r->needed[i] > needed)
      needed = r->needed[i];
  }
  if (cli_map_options(r->map).whiten != NULL) cli_say(r->job, "the map whitens: distances are |W(x-q)|");
  if (o->certificates != NULL && needed > 0)
    cli_say(r->job, "%zu of %zu queries proven exact; %llu candidates would prove all", proven, r->n,
            (unsigned long long)needed);
  else
    cli_say(r->job, "%zu of %zu queries proven exact", proven, r->n);
  if (coarse > 0)
    cli_say(
        r->job,
        "%zu more would be proven by the rows: the scores do not tell near rows apart; leave --scores out",
        coarse);
  if (!o->json) return CLI_OK;
  json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I}", "ids", o->output, "queries", (json_int_t)r->n, "k",
                             (json_int_t)r->k, "candidates", (json_int_t)r->C, "proven", (json_int_t)proven);
  if (object != NULL && o->certificates != NULL)
    object = cli_json_set(object, "needed", json_integer((json_int_t)needed));
  if (object != NULL && o->scores != NULL)
    object = cli_json_set(object, "unresolved", json_integer((json_int_t)coarse));
  return cli_print_json(r->job, object);
}

/* ---- inputs ---- */

static int read_queries(rescoring *r) {
  const char *path = r->job->operands[0];
  int result = cli_input_read(&r->queries, r->job, path, cli_operand_format(r->job, path));
  if (result != CLI_OK) return result;
  r->n = r->queries.rows.rows;
  return cli_input_check_cols(&r->queries, cli_map_options(r->map).d, "", r->job->options.map,
                              "embeds rows of");
}

/* Row numbers are whole; whether they are those of rows is the library's to say. */
static int take_ids(rescoring *r) {
  size_t count = r->n * r->C;
  double *numbers = cli_alloc(count, sizeof *numbers);
  int result = CLI_OK;
  cpb_view_widen(r->ids.rows, numbers);
  r->candidates = cli_alloc(count, sizeof *r->candidates);
  for (size_t i = 0; i < count && result == CLI_OK; i++) {
    if (numbers[i] >= 0 && numbers[i] < 0x1p63 && numbers[i] == floor(numbers[i]))
      r->candidates[i] = (uint64_t)numbers[i];
    else
      result = cli_fail(r->job, "%s: row %zu names row %.17g, but %s has rows 0 .. %llu", r->ids.info.path,
                        i / r->C, numbers[i], r->job->options.embedded,
                        (unsigned long long)(r->embedded.source.rows - 1));
  }
  free(numbers);
  return result;
}

static int read_ids(rescoring *r) {
  const char *path = r->job->operands[1];
  int result = cli_input_read(&r->ids, r->job, path, cli_operand_format(r->job, path));
  if (result != CLI_OK) return result;
  if (r->ids.rows.rows != r->n)
    return cli_fail(r->job, "%s has %zu row%s of candidates for %zu quer%s", cli_name(path), r->ids.rows.rows,
                    cli_s(r->ids.rows.rows), r->n, r->n == 1 ? "y" : "ies");
  r->C = r->ids.rows.cols;
  if (r->k > r->C)
    return cli_fail(r->job, "%zu neighbours wanted, but %s has %zu candidate%s per query", r->k, path, r->C,
                    cli_s(r->C));
  return take_ids(r);
}

static int read_inputs(rescoring *r, cpb_store *store) {
  const cli_options *o = &r->job->options;
  int result = read_queries(r);
  if (result == CLI_OK) result = cli_input_open(&r->embedded, r->job, o->embedded, NULL);
  if (result == CLI_OK)
    result = cli_input_check_cols(&r->embedded, cli_map_options(r->map).d + 1, "", o->map, "makes rows of");
  if (result == CLI_OK) result = cli_input_store(&r->embedded, store);
  if (result == CLI_OK) result = read_ids(r);
  if (result == CLI_OK && o->scores != NULL) result = cli_input_read(&r->scores, r->job, o->scores, NULL);
  return result;
}

/* The file that a failure is about. */
static int fail(const rescoring *r, cpb_status status, const cpb_error *error) {
  const cli_input *in = &r->embedded;
  if (cli_is_about(error, "scores")) in = &r->scores;
  if (cli_is_about(error, "queries")) in = &r->queries;
  if (cli_is_about(error, "ids")) in = &r->ids;
  if (cli_is_about(error, "map")) return cli_fail(r->job, "%s: %s", r->job->options.map, error->text);
  return cli_fail_input(in, status, error);
}

static int rescore(rescoring *r) {
  const cli_options *o = &r->job->options;
  cpb_rescore_options options;
  cpb_store store;
  cpb_error error;
  cpb_rescore_options_init(&options, sizeof options);
  if (o->neighbours != 0) options.k = (size_t)o->neighbours;
  r->k = options.k;
  int result = read_inputs(r, &store);
  if (result != CLI_OK) return result;
  options.radius = o->radius.value;
  options.scores = r->scores.rows;
  options.score_kind = (cpb_score_kind)o->as.at;
  if (o->score_error.given) options.score_error = o->score_error.value;
  if (o->certificates != NULL) options.all = &r->embedded.source;
  r->hits = cli_alloc(r->n * r->k, sizeof *r->hits);
  r->needed = cli_alloc(r->n, sizeof *r->needed);
  cpb_status status = cpb_rescore(r->map, r->queries.rows, r->candidates, r->C, &store, &options, r->hits,
                                  r->needed, cli_exec(r->job), &error);
  if (status != CPB_OK) return fail(r, status, &error);
  result = write_outputs(r);
  return result == CLI_OK ? tell(r) : result;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->as.given && o->scores == NULL) return cli_misuse(job, "--as says what --scores are");
  if (o->radius.given && (!(o->radius.value >= 0) || isinf(o->radius.value)))
    return cli_misuse(job, "--radius must be a number >= 0, got %g", o->radius.value);
  if (o->score_error.given && !(o->score_error.value >= 0))
    return cli_misuse(job, "--score-error must be a number >= 0, got %g", o->score_error.value);
  int result = cli_check_id_format(job, o->output, o->to, "to");
  if (result == CLI_OK) result = cli_check_distances(job);
  if (result == CLI_OK && o->certificates != NULL)
    result = cli_check_id_format(job, o->certificates, NULL, NULL);
  return result;
}

static int run(cli_job *job) {
  rescoring r = {.job = job};
  cpb_error error;
  int result = check(job);
  if (result != CLI_OK) return result;
  if (cpb_map_load(job->options.map, &r.map, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  result = rescore(&r);
  cpb_map_free(r.map);
  cli_input_close(&r.queries);
  cli_input_close(&r.ids);
  cli_input_close(&r.embedded);
  cli_input_close(&r.scores);
  free(r.candidates);
  free(r.hits);
  free(r.needed);
  return result;
}

static const char *score_name(size_t i) {
  static const char *const names[] = {"ip", "cosine", "cosine-distance"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static CLI_OPTION(embedded, "embedded", 0, CLI_PATH, "EMB", embedded, NULL,
                  "the embedded rows of the index, from `capball embed`");
static CLI_OPTION(scores, "scores", 0, CLI_PATH, "FILE", scores, NULL,
                  "take distances from these numbers of the engine, one per candidate");
static CLI_OPTION(as, "as", 0, CLI_CHOICE, "WHAT", as, score_name,
                  "what --scores are: ip (default), cosine or cosine-distance, 1 - cosine");
static CLI_OPTION(radius, "radius", 0, CLI_NUMBER, "R", radius, NULL,
                  "the radius that the queries had (default: point queries)");
static CLI_OPTION(
    score_error, "score-error", 0, CLI_NUMBER, "E", score_error, NULL,
    "the largest error of the engine's products (default 2(d+4) 2^-24, that of any product or "
    "cosine in f32, and the rounding of f32 or f16 --scores; engines that quantise err by more)");
static CLI_OPTION(
    certificates, "certificates", 0, CLI_WRITTEN, "FILE", certificates, NULL,
    "also write one number per query: 0 where the answer is proven, else how many candidates would prove it");

CLI_OPTIONS(options, &cli_opt_map, &cli_opt_output, &embedded, &cli_opt_neighbours, &cli_opt_distances,
            &cli_opt_distance_dtype, &scores, &as, &radius, &score_error, &certificates, &cli_opt_format,
            &cli_opt_external, &cli_opt_to, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_rescore = {
    .verb = "rescore",
    .operands = "-m MAP.json QUERIES IDS --embedded EMB -o IDS_OUT",
    .summary = "order an engine's candidates by Euclidean distance, and prove that they are enough",
    .formula =
        "|x-q|^2 = (|q|^2+s^2)(|y-S(q)|^2/2)/(1+y0) = r^2 + (2 s^2/(1+y0))(b-<p,y>)/a                T8 T13",
    .text =
        "IDS holds one row of row numbers per query, all of the engine's best by <p,y>; EMB the embedded "
        "rows, by the same MAP.json, which are read where they lie; rows of another map are points of the "
        "sphere, too, and are noticed by --scores alone. Distances come from these rows, or from the "
        "engine's --scores and the last coordinate of the rows. Scores that are not those of the rows are "
        "refused. --radius R says that IDS were found by `capball query --radius R`, or by --knn which "
        "printed R; without it they were found by --point.\n"
        "An answer is proven when the lowest score among the candidates lies below that of every row as "
        "near as the k-th, all roundings counted. Rows whose distances differ by less than EMB resolves "
        "may change places. The proof believes the engine that no other row has a higher score: "
        "approximate engines may have missed one. With --certificates it is counted how many candidates "
        "would prove what is not proven, by a pass over EMB.",
    .example =
        "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
        "printf '0,1\\n5,5\\n' > queries.csv\n"
        "printf '0,3,1\\n1,2,3\\n' > ids.csv\n"
        "capball fit base.csv -o map.json -q\n"
        "capball embed -m map.json base.csv -o sphere.csv\n"
        "capball rescore -m map.json queries.csv ids.csv --embedded sphere.csv -k 2 -o nearest.csv \\\n"
        "  --distances distances.csv --certificates certificates.csv",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 3,
    .run = run};
