/* Sorts the candidates of an engine by Euclidean distance, and proves that no other row is nearer. */
#include <math.h>
#include <stdlib.h>

#include "src/base/choice_names.h"
#include "capball/advanced/seal.h"
#include "capball/advanced/candidates.h"
#include "format_names.h"
#include "data_file.h"
#include "show/put_text.h"
#include "json_print.h"
#include "output.h"
#include "search_job.h"

typedef struct rescoring {
  const cli_job *job;
  cli_job asking; /* the job of the queries */
  cpb_transform *transform;
  double radius; /* of the queries */
  cpb_audit audit;
  cli_input queries, ids, embedded, scores;
  cpb_seal_facts seal; /* of the embedded rows; found: it names this map, and may match */
  cpb_seal_watch *watch;
  bool checked;  /* the rows are known to be this map's: the seal matches, or --base verified it .. */
  int precision; /* .. after rounding to this type */
  cpb_stored_rows stored;
  size_t n, C, k;
  uint64_t *candidates; /* n x C */
  cpb_hit *hits;        /* n x k */
  uint64_t *needed;     /* n: 0, or the number of candidates that would prove it */
} rescoring;

/* ---- results ---- */

static bool is_whole(const rescoring *r) { return r->C == r->embedded.source.rows; }

/* Unless all rows are examined, the result depends on the engine, and the output says so. */
static bool all_rows_examined(const rescoring *r) {
  return r->job->options.certificates != NULL || is_whole(r);
}

/* What an answer depends on, as a JSON name: the engine, the rows, or nothing. */
static const char *condition(const rescoring *r, const char *certain, const char *if_rows,
                             const char *if_best) {
  return !all_rows_examined(r) ? if_best : r->checked ? certain : if_rows;
}

static int write_outputs(const rescoring *r) {
  const cli_options *o = &r->job->options;
  uint64_t rows = r->embedded.info.rows;
  int64_t *nearest = cli_alloc(r->n * r->k, sizeof *nearest);
  double *distances = cli_alloc(r->n * r->k, sizeof *distances);
  for (size_t i = 0; i < r->n * r->k; i++) {
    nearest[i] = (int64_t)r->hits[i].id;
    distances[i] = r->hits[i].value;
  }
  cli_output out = {.job = r->job, .rows = &r->queries};
  int result = cli_output_add_ids(&out, o->output, o->to, &r->embedded, r->k, r->n, "neighbour");
  if (result == CLI_OK)
    result = cli_output_add(&out, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), r->k, r->n,
                            "distance");
  if (result == CLI_OK)
    result = cli_output_add(&out, o->certificates, NULL, cli_id_dtype(o->certificates, NULL, rows), 1, r->n,
                            "needed");
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(nearest, CPB_I64, r->n, r->k));
  if (result == CLI_OK) result = cli_output_append(&out, 1, cpb_rows(distances, CPB_F64, r->n, r->k));
  if (result == CLI_OK) result = cli_output_append(&out, 2, cpb_rows(r->needed, CPB_I64, r->n, 1));
  result = cli_output_finish(&out, result);
  free(nearest);
  free(distances);
  return result;
}

static void tell_audit(const rescoring *r) {
  const cpb_audit *a = &r->audit;
  cli_say(r->job,
          "recall %.1f %% (%.1f .. %.1f with 95 %% confidence), by a random audit: %zu of %zu queries "
          "compared with all %llu rows",
          100 * a->recall, 100 * a->low, 100 * a->high, a->queries, r->n, (unsigned long long)a->rows);
}

/* What the rows themselves show, if there is no seal. */
static void tell_stored(const rescoring *r) {
  const cpb_stored_rows *stored = &r->stored;
  const char *path = r->embedded.info.path;
  cpb_dtype dtype = r->embedded.info.dtype;
  bool rounded = !r->checked && cpb_dtype_size(stored->precision) < cpb_dtype_size(dtype);
  if (stored->unexplained)
    cli_say(r->job,
            "%s: row %llu is %.3g off the sphere, more than %s explains: it was changed after it was "
            "embedded, and proves nothing",
            path, (unsigned long long)stored->row, stored->off, cpb_dtype_name(dtype));
  else if (rounded)
    cli_say(r->job, "%s: its %s numbers look like %s: they are treated as rounded to that", path,
            cpb_dtype_name(dtype), cpb_dtype_name(stored->precision));
}

static void tell_needed(const rescoring *r, size_t proven, uint64_t needed, const char *word) {
  char more[80] = "";
  if (needed > 0 && !r->stored.unexplained)
    snprintf(more, sizeof more, "; %llu candidates would %s all", (unsigned long long)needed,
             r->checked ? "prove" : "be enough for");
  cli_say(r->job, "%zu of %zu queries %s%s", proven, r->n, word, more);
}

static void tell_proof(const rescoring *r, size_t proven, uint64_t needed) {
  const char *embedded = r->embedded.info.path, *map = r->job->options.map;
  char word[512];
  if (!all_rows_examined(r))
    cli_say(r->job, "%zu of %zu queries exact if %s has the engine's true top %zu for these queries%s%s%s%s",
            proven, r->n, cli_name(r->ids.info.path), r->C, r->checked ? "" : ", and ",
            r->checked ? "" : embedded, r->checked ? "" : " the rows of ", r->checked ? "" : map);
  else if (r->checked)
    tell_needed(r, proven, needed, "proven exact");
  else {
    snprintf(word, sizeof word, "exact if %s has the rows of %s", embedded, map);
    tell_needed(r, proven, needed, word);
    cli_say(r->job, "to verify that: --base BASE, or once and for all `capball seal -m %s BASE %s`", map,
            embedded);
  }
}

static int report_result(const rescoring *r) {
  cli_tell_bad(&r->queries);
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
  const cpb_map *map = cpb_transform_map(r->transform);
  if (map != NULL && cli_map_options(map).whiten != NULL)
    cli_say(r->job, "the map whitens: distances are |W(x-q)|");
  if (!o->approximate) tell_stored(r);
  if (o->approximate)
    tell_audit(r);
  else
    tell_proof(r, proven, needed);
  if (coarse > 0 && !o->approximate)
    cli_say(r->job,
            "%zu more would be proven by the rows: the scores do not separate near rows; omit --scores",
            coarse);
  if (!o->json) return CLI_OK;
  cpb_text *object = cli_json("{s:s, s:I, s:I, s:I}", "ids", o->output, "queries", (uint64_t)r->n, "k",
                              (uint64_t)r->k, "candidates", (uint64_t)r->C);
  if (o->approximate)
    object = cpb_json_set(object, "audit",
                          cli_json("{s:f, s:f, s:f, s:I, s:I}", "recall", r->audit.recall, "low",
                                   r->audit.low, "high", r->audit.high, "queries", (uint64_t)r->audit.queries,
                                   "rows", (uint64_t)r->audit.rows));
  else
    object = cpb_json_set(object, condition(r, "proven", "exact_if_rows", "exact_if_best"),
                          cli_json("I", (uint64_t)proven));
  if (object != NULL && !o->approximate)
    object = cpb_json_set(object, "rows_checked", cli_json("b", (int)r->checked));
  if (object != NULL && o->certificates != NULL)
    object = cpb_json_set(object, "needed", cli_json("I", (uint64_t)needed));
  if (object != NULL && o->scores != NULL)
    object = cpb_json_set(object, "unresolved", cli_json("I", (uint64_t)coarse));
  return cli_print_json(r->job, object);
}

/* One line of JSON per query: the rows within the radius, and whether they are complete. */
static int write_ranges(const rescoring *r) {
  const cli_options *o = &r->job->options;
  show_text text;
  FILE *to = show_text_open(&text);
  for (size_t query = 0; to != NULL && query < r->n; query++) {
    const cpb_hit *hits = r->hits + query * r->k;
    size_t count = 0;
    while (count < r->k && hits[count].value <= o->within.value) count++;
    cli_put_hits(to, &r->queries, query, &r->embedded, hits, count, CPB_L2);
    fprintf(to, ",\"%s\":%s}\n", condition(r, "complete", "complete_if_rows", "complete_if_best"),
            r->needed[query] == 0 ? "true" : "false");
  }
  bool whole = to != NULL && show_text_close(&text, to);
  if (!whole) return cli_fail(r->job, "no memory for the answers");
  int result = cli_write_text(r->job, o->output, text.bytes, text.length);
  if (result != CLI_OK || o->certificates == NULL) return result;
  cli_output out = {.job = r->job, .rows = &r->queries};
  result = cli_output_add(&out, o->certificates, NULL,
                          cli_id_dtype(o->certificates, NULL, r->embedded.info.rows), 1, r->n, "needed");
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(r->needed, CPB_I64, r->n, 1));
  return cli_output_finish(&out, result);
}

/* ---- inputs ---- */

static int read_queries(rescoring *r) {
  const char *path = r->job->operands[0];
  cpb_transform_options of = cli_transform_options(r->transform);
  r->asking = cli_query_job(r->job);
  int result = cli_input_open_unmatched(&r->queries, &r->asking, path, cli_operand_format(r->job, path));
  if (result == CLI_OK)
    result = cli_input_match(&r->queries, of.columns, of.d, "", r->job->options.map, "embeds rows of");
  if (result == CLI_OK) result = cli_input_take(&r->queries);
  r->n = r->queries.rows.rows;
  return result;
}

/* Row numbers must be integers; the library checks their range. */
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
  return take_ids(r);
}

/* The radius from the seal of CAPS, if it matches. */
static int find_radius(rescoring *r) {
  const cli_options *o = &r->job->options;
  cpb_error error;
  bool sealed = false;
  double radius;
  char said[CPB_JSON_NUMBER_ROOM], made[CPB_JSON_NUMBER_ROOM];
  if (o->asked == NULL) return CLI_OK;
  if (cpb_seal_check(o->asked, r->transform, CPB_ROLE_QUERY, &sealed, &radius, &error) != CPB_OK)
    return cli_fail(r->job, "%s", error.text);
  if (!sealed)
    return cli_fail(r->job, "%s has no seal that matches its rows: give the --radius of the queries",
                    o->asked);
  if (o->radius.given && o->radius.value != radius)
    return cli_fail(r->job, "--radius is %s, but %s was made with %s", cli_digits(o->radius.value, said),
                    o->asked, cli_digits(radius, made));
  r->radius = radius;
  return CLI_OK;
}

/* A seal that does not match is ignored. */
static void forget_seal(rescoring *r, const char *why) {
  cli_say(r->job, "%s: %s and is ignored", r->embedded.info.path, why);
  r->seal.found = false;
}

static int read_all(rescoring *r) {
  cpb_error error;
  cpb_status status = cpb_seal_watch_all(r->watch, &error);
  if (status != CPB_OK) return cli_fail_input(&r->embedded, status, &error);
  if (!cpb_seal_watch_fits(r->watch, &r->seal)) forget_seal(r, "its seal does not match its rows");
  return CLI_OK;
}

static int use_seal(rescoring *r) {
  cpb_error error;
  cpb_status status = cpb_seal_compare(&r->seal, r->embedded.info.path, r->transform, CPB_ROLE_BASE, &error);
  if (status == CPB_OK) return CLI_OK;
  int result = read_all(r);
  return result == CLI_OK && r->seal.found ? cli_fail(r->job, "%s", error.text) : result;
}

/* The seal of EMB. If it names another map, EMB is rejected only if the seal matches. */
static int find_seal(rescoring *r) {
  cpb_error error;
  cpb_status status = cpb_seal_read(r->embedded.reader, &r->seal, &error);
  if (status == CPB_ENOMEM) return cli_fail(r->job, "%s", error.text);
  if (status != CPB_OK) cli_say(r->job, "%s: this seal is ignored", error.text);
  if (!r->seal.found) return CLI_OK;
  status = cpb_seal_watch_new(&r->embedded.source, &r->watch, &error);
  return status == CPB_OK ? use_seal(r) : cli_fail(r->job, "%s", error.text);
}

/* --base: compares every embedded row with the image of its row of the data. */
static int verify(rescoring *r) {
  const cli_options *o = &r->job->options;
  cpb_transform_options of = cli_transform_options(r->transform);
  cpb_dtype precision;
  cpb_error error;
  cli_input base;
  int result = cli_input_open_unmatched(&base, r->job, o->base, NULL);
  if (result == CLI_OK) result = cli_input_match(&base, of.columns, of.d, "", o->map, "embeds rows of");
  if (result == CLI_OK) {
    cpb_status status = cpb_transform_verify(r->transform, &base.source, &r->embedded.source, &precision,
                                             cli_exec(r->job), &error);
    if (status != CPB_OK)
      result = cli_fail_input(cli_is_about(&error, "embedded") ? &r->embedded : &base, status, &error);
    r->checked = status == CPB_OK;
    r->precision = (int)precision;
  }
  cli_input_close(&base);
  return result;
}

static int read_inputs(rescoring *r, cpb_store *store) {
  const cli_options *o = &r->job->options;
  int result = read_queries(r);
  if (result == CLI_OK) result = cli_input_open(&r->embedded, r->job, o->embedded, NULL);
  if (result == CLI_OK)
    result =
        cli_input_check_cols(&r->embedded, cpb_transform_cols(r->transform), "", o->map, "makes rows of");
  if (result == CLI_OK) result = cli_input_store(&r->embedded, store);
  if (result == CLI_OK) result = read_ids(r);
  if (result == CLI_OK && o->scores != NULL) result = cli_input_read(&r->scores, r->job, o->scores, NULL);
  if (result == CLI_OK) result = find_seal(r);
  if (result == CLI_OK) result = find_radius(r);
  return result == CLI_OK && o->base != NULL ? verify(r) : result;
}

/* The file that a failure is about. */
static int fail(const rescoring *r, cpb_status status, const cpb_error *error) {
  const cli_input *in = &r->embedded;
  if (cli_is_about(error, "scores")) in = &r->scores;
  if (cli_is_about(error, "queries")) in = &r->queries;
  if (cli_is_about(error, "ids") || cli_is_about(error, "k")) in = &r->ids;
  if (cli_is_about(error, "map")) return cli_fail(r->job, "%s: %s", r->job->options.map, error->text);
  return cli_fail_input(in, status, error);
}

static cpb_status audit(rescoring *r, cpb_error *error) {
  cpb_audit_options options;
  cpb_audit_options_init(&options, sizeof options);
  options.k = r->k;
  options.seed = r->job->options.seed.value;
  return cpb_transform_audit(r->transform, r->queries.rows, r->hits, &r->embedded.source, &options, &r->audit,
                             cli_exec(r->job), error);
}

static cpb_status rescore_rows(rescoring *r, const cpb_store *store, cpb_source *all, cpb_error *error) {
  const cli_options *o = &r->job->options;
  cpb_rescore_options options;
  cpb_rescore_options_init(&options, sizeof options);
  options.k = r->k;
  options.radius = r->radius;
  options.unordered = o->approximate;
  options.within = o->within.value;
  options.scores = r->scores.rows;
  options.score_kind = (cpb_score_kind)o->as.at;
  if (o->score_error.given) options.score_error = o->score_error.value;
  if (o->certificates != NULL) options.all = all;
  options.precision = r->precision;
  options.stored = &r->stored;
  return cpb_transform_rescore(r->transform, r->queries.rows, (cpb_candidates){r->candidates, r->C}, store,
                               &options, &(cpb_rescore_out){r->hits, r->needed}, cli_exec(r->job), error);
}

/* Whether the rows are hashed: if all of them are read anyway, or if that costs no more than reading the candidates. */
static bool is_hashed(const rescoring *r) {
  bool held = !r->embedded.info.random_access, cheap = held || r->n * r->C >= r->embedded.source.rows;
  return r->seal.found && (all_rows_examined(r) || cheap);
}

/* Uses the precision of the seal while the rows are hashed in the same pass, or afterwards, so that concurrent changes
 * are detected. Repeats without the seal if it does not match. */
static cpb_status rescore_sealed(rescoring *r, const cpb_store *store, cpb_error *error) {
  bool passes = r->job->options.certificates != NULL && !is_whole(r);
  r->precision = (int)r->seal.precision;
  cpb_status status = rescore_rows(r, store, cpb_seal_watch_source(r->watch), error);
  if (status == CPB_OK && !passes) status = cpb_seal_watch_all(r->watch, error);
  r->checked = status == CPB_OK && cpb_seal_watch_fits(r->watch, &r->seal);
  if (r->checked || status == CPB_ESTOPPED) return status;
  if (status == CPB_OK) forget_seal(r, "its seal does not match its rows");
  r->precision = CPB_PRECISION_UNKNOWN;
  return rescore_rows(r, store, &r->embedded.source, error);
}

static cpb_status rescore_as_known(rescoring *r, const cpb_store *store, cpb_error *error) {
  bool hashes = !r->checked && is_hashed(r);
  return hashes ? rescore_sealed(r, store, error) : rescore_rows(r, store, &r->embedded.source, error);
}

static int rescore(rescoring *r) {
  const cli_options *o = &r->job->options;
  cpb_store store;
  cpb_error error;
  r->k = (size_t)o->neighbours.value;
  r->radius = o->radius.value;
  int result = read_inputs(r, &store);
  if (result != CLI_OK) return result;
  if (o->within.given) r->k = r->C;
  r->hits = cli_alloc(r->n * (r->k < r->C ? r->k : r->C), sizeof *r->hits); /* more are refused */
  r->needed = cli_alloc(r->n, sizeof *r->needed);
  cpb_status status = rescore_as_known(r, &store, &error);
  if (status == CPB_OK && o->approximate) status = audit(r, &error);
  if (status != CPB_OK) return fail(r, status, &error);
  result = o->within.given ? write_ranges(r) : write_outputs(r);
  return result == CLI_OK ? report_result(r) : result;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->as.given && o->scores == NULL) return cli_misuse(job, "--as says what --scores are");
  if (o->approximate && (o->certificates != NULL || o->within.given))
    return cli_misuse(job, "nothing can be proven about an approximate engine's candidates: omit "
                           "--approximate, or --certificates and --within");
  if (o->within.given && (o->distances != NULL || o->neighbours.given))
    return cli_misuse(job,
                      "--within returns all rows of a ball with their distances: omit -k and --distances");
  int result = o->within.given ? CLI_OK : cli_check_id_format(job, o->output, o->to, "to");
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
  r.audit.size = sizeof r.audit;
  r.seal.size = sizeof r.seal;
  r.stored.size = sizeof r.stored;
  r.precision = CPB_PRECISION_UNKNOWN;
  if (cpb_transform_load(job->options.map, &r.transform, &error) != CPB_OK)
    return cli_fail(job, "%s", error.text);
  result = rescore(&r);
  cpb_transform_free(r.transform);
  cpb_seal_watch_free(r.watch);
  cli_input_close(&r.queries);
  cli_input_close(&r.ids);
  cli_input_close(&r.embedded);
  cli_input_close(&r.scores);
  free(r.candidates);
  free(r.hits);
  free(r.needed);
  return result;
}

static CLI_OPTION(embedded, "embedded", 0, CLI_PATH, "EMB", embedded,
                  "the embedded rows of the index, from `capball embed`");
static CLI_OPTION(scores, "scores", 0, CLI_PATH, "FILE", scores,
                  "compute distances from these scores of the engine, one per candidate");
static CLI_OPTION(as, "as", 0, CLI_CHOICE, "WHAT", as,
                  "what --scores are: ip (default), cosine or cosine-distance, 1 - cosine",
                  .list = cpb_score_names);
static CLI_OPTION(radius, "radius", 0, CLI_NUMBER, "R", radius,
                  "the radius of the queries (default: point queries)", .range = ">= 0");
static CLI_OPTION(
    score_error, "score-error", 0, CLI_NUMBER, "E", score_error,
    "the largest error of the engine's products (default 2(d+4) 2^-24, that of any product or cosine in f32, "
    "plus the rounding of f32 or f16 --scores; engines that quantise have larger errors)",
    .range = ">= 0");
static CLI_OPTION(certificates, "certificates", 0, CLI_WRITTEN, "FILE", certificates,
                  "examine all rows of EMB, and write one number per query: 0 if no row of EMB is missing "
                  "from the answer, whatever the engine did, else how many candidates would suffice");
static CLI_OPTION(base, "base", 0, CLI_PATH, "BASE", base,
                  "the original rows of EMB: compare all of EMB with their images under MAP.json");
static CLI_OPTION(asked, "asked", 0, CLI_PATH, "CAPS", asked,
                  "the queries sent to the engine, from `capball query`: their seal contains the radius");
static CLI_OPTION(
    within, "within", 0, CLI_NUMBER, "R", within,
    "all rows within R instead of the k nearest, as lines of JSON like those of `capball range`",
    .range = "> 0");
static CLI_OPTION(approximate, "approximate", 0, CLI_FLAG, NULL, approximate,
                  "the engine may miss rows: nothing is proven, the recall is estimated by a random audit");

CLI_OPTIONS(options, &cli_opt_map, &cli_opt_output, &embedded, &cli_opt_neighbours, &cli_opt_distances,
            &cli_opt_distance_dtype, &scores, &as, &radius, &asked, &score_error, &certificates, &base,
            &within, &approximate, &cli_opt_seed, &cli_opt_skip_queries, &cli_opt_format, &cli_opt_external,
            &cli_opt_to, &cli_opt_bare, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_rescore = {
    .verb = "rescore",
    .operands = "-m MAP.json QUERIES IDS --embedded EMB -o IDS_OUT",
    .summary = "sort an engine's candidates by Euclidean distance, and prove that they suffice",
    .formula = "|x-q|^2 = (|q|^2+s^2)(|y-S(q)|^2/2)/(1+y0)\n"
               "        = r^2 + (2 s^2/(1+y0))(b-<p,y>)/a                                 T8 T13",
    .text = "IDS contains one row of row numbers per query, the engine's best by <p,y>, best first; EMB the "
            "rows embedded by the same MAP.json, which are read from the file as needed. Distances are "
            "computed from these rows, or from the engine's --scores and the last coordinate of the rows. "
            "--radius R: IDS were found by `capball query --radius R`, or by --knn, which printed R; --asked "
            "reads it from CAPS; without either they were found by --point. MAP.json may also be a lift of "
            "`capball fit --transform`.\n"
            "Inconsistent input is rejected: rows or queries of another map (according to their seal), "
            "scores that are not those of the rows, and candidates whose scores do not descend, because map, "
            "radius, queries or rows are not those of the engine, or the order was lost.\n"
            "An answer is exact if the lowest score among the candidates is below that of every row as near "
            "as the k-th, including all rounding errors, assuming that the engine returned its true top "
            "candidates for these queries and that EMB has the rows of MAP.json. --certificates drops the "
            "first assumption: all rows of EMB are examined, and an answer is exact if no other row scores "
            "as high as a nearer row would; else it reports how many candidates would suffice. An answer is "
            "proven if the second assumption is verified too: EMB has a seal of MAP.json that matches its "
            "rows (`capball embed`, `capball seal`), or --base is given. Otherwise rows are treated as "
            "rounded as coarsely as the coarsest of them appears. Rows whose distances differ by less than "
            "the resolution of EMB may be swapped. --within R does the same for all rows within R. For "
            "engines that skip rows, --approximate compares the answers of 100 queries, chosen by --seed, "
            "with all rows, and reports the recall and its error.",
    .example =
        "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
        "printf '0,1\\n5,5\\n' > queries.csv\n"
        "printf '0,3,1\\n2,1,3\\n' > ids.csv\n"
        "capball fit base.csv -o map.json -q\n"
        "capball embed -m map.json base.csv -o sphere.csv\n"
        "capball rescore -m map.json queries.csv ids.csv --embedded sphere.csv -k 2 -o nearest.csv \\\n"
        "  --distances distances.csv --certificates certificates.csv",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 3,
    .run = run};
