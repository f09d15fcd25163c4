/* Converts balls around queries to vectors for an inner-product engine. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/seal.h"
#include "format_names.h"
#include "data_file.h"
#include "json_print.h"
#include "output.h"

typedef struct asking {
  const cli_job *job;
  cpb_transform *transform;
  const cpb_map *map; /* NULL: a lift, which has point queries only */
  cli_input queries;
  size_t d, cols;
  double radius; /* 0: point queries */
  cpb_dtype dtype;
  cli_output out;                /* caps, thresholds */
  double *p, *b, *sigma, *radii; /* of a block */
  size_t room;                   /* capacity in rows */
  uint64_t rows, unresolved;
} asking;

/* A typical radius. */
static int find_radius(asking *a) {
  const cli_options *o = &a->job->options;
  cli_input base;
  cpb_error error;
  int result = cli_input_open_unmatched(&base, a->job, o->base, NULL);
  if (result == CLI_OK)
    result = cli_input_match(&base, cli_transform_options(a->transform).columns, a->d, "", o->map,
                             "embeds rows of");
  if (result == CLI_OK) {
    cpb_status status = cpb_radius_fit(a->map, &a->queries.source, &base.source, (size_t)o->knn.value,
                                       &a->radius, cli_exec(a->job), &error);
    if (status != CPB_OK)
      result = cli_fail_input(cli_is_about(&error, "queries") ? &a->queries : &base, status, &error);
  }
  cli_input_close(&base);
  return result;
}

/* The fraction of the radius that is lost when (p,b) is rounded to the type of the file. */
static double share_lost(cpb_dtype dtype, double sigma) {
  double u = dtype == CPB_F64 ? 0x1p-53 : dtype == CPB_F32 ? 0x1p-24 : 0x1p-11;
  return u / (sigma * sigma);
}

/* A small cap that rounding destroys may exclude its own centre, or include rows many radii away. */
static int check_resolved(asking *a, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    double lost = share_lost(a->dtype, a->sigma[i]);
    if (lost > 1 && a->b[i] > 0)
      return cli_fail(a->job, "radius %.9g is lost for query %llu: rounding to %s is %.2g times as large; %s",
                      a->radius, (unsigned long long)(a->rows + i), cpb_dtype_name(a->dtype), lost,
                      a->dtype == CPB_F64 ? "fit a map with a smaller --scale, or use `capball range`"
                                          : "use --dtype f64");
    a->unresolved += lost > 1e-3;
  }
  return CLI_OK;
}

/* Allocates the caps of this many rows. */
static void make_room(asking *a, size_t rows) {
  if (rows <= a->room) return;
  free(a->p);
  free(a->b);
  a->p = cli_alloc(rows * a->cols, sizeof *a->p);
  a->b = cli_alloc(3 * rows, sizeof *a->b);
  a->sigma = a->b + rows;
  a->radii = a->b + 2 * rows;
  a->room = rows;
  for (size_t i = 0; i < rows; i++) a->radii[i] = a->radius;
}

static int write_block(asking *a, cpb_view block) {
  cpb_error error;
  make_room(a, block.rows);
  cpb_out p = cpb_rows_out(a->p, CPB_F64, block.rows, a->cols);
  cpb_exec exec = *cli_exec(a->job);
  exec.progress = NULL; /* of a block */
  cpb_status status = a->map != NULL
                          ? cpb_query_caps(a->map, block, a->radii, p, a->b, a->sigma, &exec, &error)
                          : cpb_transform_apply(a->transform, CPB_ROLE_QUERY, block, p, &exec, &error);
  if (status == CPB_EROW) return cli_fail_row(a->job, a->job->operands[0], a->rows, &error);
  if (status != CPB_OK) return cli_fail(a->job, "%s", error.text);
  int result = a->job->options.radius.given ? check_resolved(a, block.rows) : CLI_OK;
  if (result == CLI_OK) result = cli_output_append(&a->out, 0, cpb_rows(a->p, CPB_F64, block.rows, a->cols));
  if (result == CLI_OK) result = cli_output_append(&a->out, 1, cpb_rows(a->b, CPB_F64, block.rows, 1));
  a->rows += block.rows;
  bool known = a->queries.info.rows != CPB_ROWS_UNKNOWN;
  cli_bar_tell(a->job->bar, known ? (double)a->rows / (double)a->queries.info.rows : 0);
  return result;
}

static int write_blocks(asking *a) {
  cpb_source *source = &a->queries.source;
  cpb_error error;
  if (source->rewind(source, &error) != CPB_OK) return cli_fail(a->job, "%s", error.text);
  for (int result = CLI_OK; result == CLI_OK;) {
    cpb_view block;
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (source->next(source, &block, &error) != CPB_OK) return cli_fail(a->job, "%s", error.text);
    if (block.rows == 0) return CLI_OK;
    result = write_block(a, block);
    if (result != CLI_OK) return result;
  }
  return CLI_OK;
}

static int write_caps(asking *a) {
  const cli_options *o = &a->job->options;
  uint64_t rows = a->queries.info.rows;
  cpb_dtype b =
      o->thresholds != NULL ? cli_output_dtype(o->thresholds, NULL, (cli_choice){0}, CPB_F64) : CPB_F64;
  cpb_error error;
  cpb_seal *seal;
  if (cpb_seal_new(a->transform, CPB_ROLE_QUERY, a->radius, &seal, &error) != CPB_OK)
    return cli_fail(a->job, "%s", error.text);
  a->out.seal = seal;
  int result = cli_output_add(&a->out, o->output, o->to, a->dtype, a->cols, rows, "p");
  if (result == CLI_OK) result = cli_output_add(&a->out, o->thresholds, NULL, b, 1, rows, "b");
  if (result == CLI_OK) result = write_blocks(a);
  result = cli_output_finish(&a->out, result);
  cpb_seal_free(seal);
  return result;
}

static int report_result(const asking *a) {
  const cli_options *o = &a->job->options;
  unsigned long long rows = a->rows;
  char radius[CPB_JSON_NUMBER_ROOM];
  if (o->knn.given)
    cli_say(a->job, "radius %s, the median distance to neighbour %llu", cli_digits(a->radius, radius),
            (unsigned long long)o->knn.value);
  if (a->map != NULL && cli_map_options(a->map).whiten != NULL)
    cli_say(a->job, "the map whitens: distances are |W(x-q)|");
  if (o->knn.given && a->radius == 0)
    cli_say(a->job,
            "radius 0 gives point queries: if the queries are rows of %s they find themselves, and --knn "
            "%llu is their neighbour %llu",
            o->base, (unsigned long long)o->knn.value + 1, (unsigned long long)o->knn.value);
  if (a->unresolved > 0)
    cli_say(a->job, "radius %.9g is too small for %s: %llu of %llu queries lose more than a thousandth of it",
            a->radius, cpb_dtype_name(a->dtype), (unsigned long long)a->unresolved, rows);
  if (!o->json) return CLI_OK;
  const char *kind = o->point ? "point" : o->knn.given ? "knn" : "range";
  return cli_print_json(a->job, cli_json("{s:s, s:s, s:I, s:f, s:I}", "caps", o->output, "kind", kind,
                                         "queries", (uint64_t)a->rows, "radius", a->radius, "unresolved",
                                         (uint64_t)a->unresolved));
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->radius.given + o->knn.given + o->point != 1)
    return cli_misuse(job, "give exactly one of --radius, --knn and --point");
  if ((o->base != NULL) != o->knn.given) return cli_misuse(job, "--knn and --base go together");
  if (o->thresholds != NULL && !o->radius.given) return cli_misuse(job, "--thresholds are those of --radius");
  int result = cli_check_typed(job, o->output, o->to, "to");
  if (result == CLI_OK && o->thresholds != NULL) result = cli_check_format(job, o->thresholds, NULL, NULL);
  return result;
}

static int ask(asking *a) {
  const cli_options *o = &a->job->options;
  a->map = cpb_transform_map(a->transform);
  a->d = cli_transform_options(a->transform).d;
  a->cols = cpb_transform_cols(a->transform);
  if (a->map == NULL && !o->point)
    return cli_misuse(a->job, "%s is not a map of the sphere: it has only point queries, --point", o->map);
  a->radius = o->radius.value;
  a->dtype = cli_output_dtype(o->output, o->to, o->dtype, CPB_F32);
  if (a->dtype > CPB_F16)
    return cli_misuse(a->job, "points of the sphere have coordinates in [-1,1], which %s cannot hold",
                      cpb_dtype_name(a->dtype));
  int result = cli_input_match(&a->queries, cli_transform_options(a->transform).columns, a->d, "", o->map,
                               "embeds rows of");
  if (result == CLI_OK && o->knn.given) result = find_radius(a);
  if (result == CLI_OK) result = write_caps(a);
  return result == CLI_OK ? report_result(a) : result;
}

static int run(cli_job *job) {
  asking a = {.job = job, .out = {.job = job}};
  a.out.rows = &a.queries;
  cpb_error error;
  int result = check(job);
  if (result != CLI_OK) return result;
  if (cpb_transform_load(job->options.map, &a.transform, &error) != CPB_OK)
    return cli_fail(job, "%s", error.text);
  result = cli_input_open_unmatched(&a.queries, job, job->operands[0], job->options.format);
  if (result == CLI_OK) result = ask(&a);
  cli_input_close(&a.queries);
  cpb_transform_free(a.transform);
  free(a.p);
  free(a.b);
  return result;
}

static CLI_OPTION(radius_option, "radius", 0, CLI_NUMBER, "R", radius,
                  "range queries of this radius, in the unit of the data, not squared", .range = "> 0");
static CLI_OPTION(thresholds, "thresholds", 0, CLI_WRITTEN, "FILE", thresholds,
                  "also write b, one number per query: the ball is <p,y> >= b");
static CLI_OPTION(knn, "knn", 0, CLI_COUNT, "K", knn,
                  "ball queries for K neighbours: the radius is the median K-th distance to --base");
static CLI_OPTION(base_option, "base", 0, CLI_PATH, "BASE", base, "the rows of the index, not embedded");
static CLI_OPTION(
    point, "point", 0, CLI_FLAG, NULL, point,
    "point queries, the embedded queries themselves; the only form for transforms other than the sphere");

CLI_OPTIONS(options, &cli_opt_map, &cli_opt_output, &radius_option, &thresholds, &knn, &base_option, &point,
            &cli_opt_dtype, &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare, &cli_opt_json,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_query = {
    .verb = "query",
    .operands = "-m MAP.json QUERIES (--radius R | --knn K --base BASE | --point) -o CAPS",
    .summary = "Euclidean queries for an engine that supports only inner products or cosines",
    .formula = "|x-q| <= r  <=>  <p,y> >= b,  y = S(x)                          T3 T13\n(p,b) the cap of the "
               "ball (q,r)",
    .text =
        "CAPS has one row p of d+1 numbers per query, f32 unless --dtype or the format determines another "
        "type.\n"
        "--radius R with --thresholds: range search with one threshold b per query. The cap is open, |x-q| < "
        "R, whereas `capball range` uses |x-q| <= R; rows at distance R, within the rounding of p and y, may "
        "be inside or outside. --knn: the rows with the largest <p,y> are nearly the nearest, more nearly "
        "than with --point, S(q) itself; `capball rescore` sorts candidates by distance and proves whether "
        "they are sufficient: it reads the radius from the seal of CAPS (--asked). Maps that whiten measure "
        "|W(x-q)|; maps with a pole or fitted with --spherical have no Euclidean balls.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball fit base.csv -o map.json -q\n"
               "capball embed -m map.json base.csv -o sphere.csv\n"
               "capball query -m map.json queries.csv --radius 3.5 -o caps.csv --thresholds b.csv\n"
               "capball query -m map.json queries.csv --knn 2 --base base.csv -o balls.csv",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 2,
    .run = run};
