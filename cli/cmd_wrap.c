/* Euclidean search through an engine in one command: transform, query, rescore. */
#include <math.h>
#include <stdlib.h>

#include "engine_job.h"
#include "format_names.h"
#include "json_print.h"
#include "output.h"

typedef struct wrapping {
  const cli_job *job;
  cli_input base, queries;
  cpb_transform *transform;
  double radius;
  size_t k, candidates;
  cpb_hit *hits;
} wrapping;

/* The map or transform of --map; else --transform, fitted to the base. */
static int get_transform(wrapping *w) {
  const cli_options *o = &w->job->options;
  cpb_error error;
  if (o->map != NULL) {
    if (cpb_transform_load(o->map, &w->transform, &error) != CPB_OK)
      return cli_fail(w->job, "%s", error.text);
    return cli_input_check_cols(&w->base, cli_transform_options(w->transform).d, "", o->map,
                                "embeds rows of");
  }
  cpb_transform_kind kind = o->transform.given ? (cpb_transform_kind)o->transform.at : CPB_TRANSFORM_SPHERE;
  cpb_status status =
      cpb_transform_fit(&w->base.source, kind, false, &w->transform, cli_exec(w->job), &error);
  return status == CPB_OK ? CLI_OK : cli_fail_input(&w->base, status, &error);
}

/* Balls of the median k-th distance, unless points or another radius are requested. */
static int find_radius(wrapping *w) {
  const cli_options *o = &w->job->options;
  const cpb_map *map = cpb_transform_map(w->transform);
  cpb_error error;
  w->radius = o->radius.value;
  if (map == NULL && o->radius.given && o->radius.value != 0)
    return cli_misuse(w->job, "only maps of the sphere have balls: omit --radius");
  if (map == NULL && o->twice) return cli_misuse(w->job, "only maps of the sphere have balls: omit --twice");
  if (map == NULL || o->radius.given || o->point) return CLI_OK;
  cpb_status status =
      cpb_radius_fit(map, &w->queries.source, &w->base.source, w->k, &w->radius, cli_exec(w->job), &error);
  return status == CPB_OK
             ? CLI_OK
             : cli_fail_input(cli_is_about(&error, "queries") ? &w->queries : &w->base, status, &error);
}

static int write_answers(const wrapping *w) {
  const cli_options *o = &w->job->options;
  size_t n = w->queries.rows.rows;
  int64_t *ids = cli_alloc(n * w->k, sizeof *ids);
  double *distances = cli_alloc(n * w->k, sizeof *distances);
  for (size_t i = 0; i < n * w->k; i++) {
    ids[i] = (int64_t)cpb_reader_row(w->base.reader, w->hits[i].id);
    distances[i] = w->hits[i].value;
  }
  cli_output out = {.job = w->job, .rows = &w->queries};
  int result = cli_output_add_ids(&out, o->output, o->to, &w->base, w->k, n, "neighbour");
  if (result == CLI_OK)
    result = cli_output_add(&out, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), w->k, n,
                            "distance");
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(ids, CPB_I64, n, w->k));
  if (result == CLI_OK) result = cli_output_append(&out, 1, cpb_rows(distances, CPB_F64, n, w->k));
  result = cli_output_finish(&out, result);
  free(ids);
  free(distances);
  return result;
}

static int report_result(const wrapping *w) {
  cli_tell_bad(&w->base);
  cli_tell_bad(&w->queries);
  const char *name = cpb_transform_about(cli_transform_options(w->transform).kind).name;
  size_t n = w->queries.rows.rows;
  cli_say(w->job, "%zu quer%s through %s, %zu candidates each, sorted by exact distance", n,
          n == 1 ? "y" : "ies", name, w->candidates);
  if (!w->job->options.json) return CLI_OK;
  return cli_print_json(w->job, cli_json("{s:s, s:s, s:I, s:I, s:I, s:f}", "ids", w->job->options.output,
                                         "transform", name, "queries", (uint64_t)n, "k", (uint64_t)w->k,
                                         "candidates", (uint64_t)w->candidates, "radius", w->radius));
}

static int ask(wrapping *w) {
  const cli_options *o = &w->job->options;
  cpb_engine_command command;
  cpb_engine_calls engine;
  cpb_error error;
  int result = cli_open_engine(w->job, &command, &engine);
  if (result == CLI_OK) result = get_transform(w);
  if (result == CLI_OK) result = find_radius(w);
  if (result != CLI_OK) return result;
  size_t most = w->k < w->candidates ? w->k : w->candidates; /* more are refused */
  w->hits = cli_alloc(w->queries.rows.rows * most, sizeof *w->hits);
  cpb_wrap_options options;
  cpb_wrap_options_init(&options, sizeof options);
  options.k = w->k;
  options.candidates = w->candidates;
  options.radius = w->radius;
  options.twice = o->twice;
  options.metric = cli_engine_metric(w->job);
  options.seed = o->seed.value;
  cpb_status status = cpb_engine_wrap(w->base.rows, w->queries.rows, w->transform, &engine, &options, w->hits,
                                      cli_exec(w->job), &error);
  if (status != CPB_OK) return cli_fail_engine(&w->base, &w->queries, status, &error);
  result = write_answers(w);
  return result == CLI_OK ? report_result(w) : result;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->map != NULL && o->transform.given)
    return cli_misuse(job, "--map and --transform exclude each other");
  if (o->radius.given && o->point) return cli_misuse(job, "--radius and --point exclude each other");
  int result = cli_check_id_format(job, o->output, o->to, "to");
  return result == CLI_OK ? cli_check_distances(job) : result;
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  wrapping w = {.job = job, .k = (size_t)o->neighbours.value};
  int result = check(job);
  if (result != CLI_OK) return result;
  result = cli_input_read(&w.base, job, job->operands[0], o->format);
  if (result == CLI_OK) result = cli_input_read(&w.queries, job, job->operands[1], NULL);
  if (result == CLI_OK)
    result = cli_input_check_cols(&w.queries, w.base.info.cols, "", cli_name(w.base.info.path), "has");
  w.candidates = o->candidates.given ? (size_t)o->candidates.value : w.k > 10 ? 10 * w.k : 100;
  if (w.candidates > w.base.rows.rows) w.candidates = w.base.rows.rows;
  if (result == CLI_OK) result = ask(&w);
  cli_input_close(&w.base);
  cli_input_close(&w.queries);
  cpb_transform_free(w.transform);
  free(w.hits);
  return result;
}

static CLI_OPTION(radius, "radius", 0, CLI_NUMBER, "R", radius,
                  "of the ball queries on the sphere (default: the median distance of neighbour K)",
                  .range = ">= 0");
static CLI_OPTION(point, "point", 0, CLI_FLAG, NULL, point, "point queries on the sphere");
static CLI_OPTION(twice, "twice", 0, CLI_FLAG, NULL, twice,
                  "query again, with a ball per query: the distance of its neighbour K so far");

CLI_OPTIONS(options, &cli_opt_engine_command, &cli_opt_output, &cli_opt_map, &cli_opt_transform,
            &cli_opt_engine_metric, &cli_opt_candidates, &cli_opt_neighbours, &cli_opt_distances,
            &cli_opt_distance_dtype, &radius, &point, &twice, &cli_opt_timeout, &cli_opt_seed,
            &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare, &cli_opt_json, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_wrap = {
    .verb = "wrap",
    .operands = "BASE QUERIES --engine-command CMD -o IDS",
    .summary = "Euclidean neighbours from any engine: transform, query, rescore",
    .formula = "the nearest |x-q| among the engine's best C by <p(q,r),S(x)>, or a lift   T13",
    .text =
        "BASE is transformed by the map or transform (--map FILE of `capball fit`, or --transform fitted "
        "here; default: the sphere about the mean at the mean norm), QUERIES are converted to points or "
        "balls, CMD is run with {base}, {queries}, {k}, {ids} and optionally {metric}, {seed}, {times} in it "
        "(see `capball help recommend`), and the rows it finds are sorted by exact distance. --twice queries "
        "again, with balls of the distance of neighbour K found for each query: the first K of a ball of the "
        "K-th distance are exactly the K nearest, assuming that the engine returns its true top candidates. "
        "An engine that fails, takes longer than --timeout or returns rows that do not exist is an error, "
        "and nothing is written. In csv and tsv, names of rows replace their numbers if BASE or QUERIES have "
        "names. `capball recommend --engine-command` finds the best transform for the engine.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball wrap base.csv queries.csv -k 2 -o nearest.csv \\\n"
               "  --engine-command 'capball knn {base} {queries} --metric cosine -k {k} -o {ids}'",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 2,
    .run = run};
