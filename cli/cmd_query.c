/* Balls around queries as vectors for an engine of inner products. */
#include <math.h>
#include <stdlib.h>

#include "doubles.h"
#include "format_names.h"
#include "json_print.h"

enum { BLOCK_ROWS = 4096 };

typedef struct asking {
  const cli_job *job;
  cpb_map *map;
  cpb_reader *queries;
  size_t d;
  double radius; /* 0: point queries */
  cpb_dtype dtype;
  cpb_writer *caps, *thresholds;
  double *p, *b, *sigma, *radii; /* of a block */
  uint64_t rows, unresolved;
} asking;

/* ---- a usual radius ---- */

static int offer_queries(const asking *a, cpb_radius_sample *sample) {
  cpb_view block;
  cpb_error error;
  for (uint64_t first = 0;; first += block.rows) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(a->queries, BLOCK_ROWS, &block, &error) != CPB_OK)
      return cli_fail(a->job, "%s", error.text);
    if (block.rows == 0) break;
    if (cpb_radius_sample_queries(sample, block, first, &error) != CPB_OK)
      return cli_fail_row(a->job, a->job->operands[0], first, &error);
  }
  return cpb_reader_rewind(a->queries, &error) == CPB_OK ? CLI_OK : cli_fail(a->job, "%s", error.text);
}

static int offer_base(const asking *a, cpb_reader *base, cpb_radius_sample *sample) {
  const char *path = a->job->options.base;
  cpb_view block;
  cpb_error error;
  size_t cols = cpb_reader_info(base).cols;
  if (cols != a->d)
    return cli_fail(a->job, "%s has %zu column%s, but %s embeds rows of %zu", path, cols, cli_s(cols),
                    a->job->options.map, a->d);
  for (uint64_t first = 0;; first += block.rows) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(base, BLOCK_ROWS, &block, &error) != CPB_OK)
      return cli_fail(a->job, "%s", error.text);
    if (block.rows == 0) return CLI_OK;
    if (cpb_radius_sample_base(sample, block, cpb_pool_exec(a->job->pool), &error) != CPB_OK)
      return cli_fail_row(a->job, path, first, &error);
  }
}

static int find_radius(asking *a) {
  const cli_options *o = &a->job->options;
  cpb_radius_sample *sample = NULL;
  cpb_reader *base;
  cpb_error error;
  int result = cli_open_reader(a->job, o->base, NULL, &base);
  if (result != CLI_OK) return result;
  if (cpb_radius_sample_new(a->map, (size_t)o->knn, 0, &sample, &error) != CPB_OK)
    result = cli_fail(a->job, "%s: %s", o->map, error.text);
  if (result == CLI_OK) result = offer_queries(a, sample);
  if (result == CLI_OK) result = offer_base(a, base, sample);
  if (result == CLI_OK && cpb_radius_sample_median(sample, &a->radius, &error) != CPB_OK)
    result = cli_fail(a->job, "%s: %s", o->base, error.text);
  cpb_radius_sample_free(sample);
  cpb_reader_free(base);
  return result;
}

/* ---- the caps ---- */

/* The share of the radius that is lost when (p,b) is rounded to the type of the file. */
static double share_lost(cpb_dtype dtype, double sigma) {
  double u = dtype == CPB_F64 ? 0x1p-53 : dtype == CPB_F32 ? 0x1p-24 : 0x1p-11;
  return u / (sigma * sigma);
}

/* A small cap of which nothing is left may miss its own centre, or hold rows many radii away. */
static int check_resolved(asking *a, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    double lost = share_lost(a->dtype, a->sigma[i]);
    if (lost > 1 && a->b[i] > 0)
      return cli_fail(a->job, "radius %.9g is lost for query %llu: rounding to %s is %.2g times as large; %s",
                      a->radius, (unsigned long long)(a->rows + i), cpb_dtype_name(a->dtype), lost,
                      a->dtype == CPB_F64 ? "fit a map with a smaller --scale, or take `capball range`"
                                          : "take --dtype f64");
    a->unresolved += lost > 1e-3;
  }
  return CLI_OK;
}

static int write_block(asking *a, cpb_view block) {
  cpb_error error;
  bool ranges = a->job->options.radius.given;
  cpb_status status =
      cpb_query_caps(a->map, block, a->radii, cpb_rows_out(a->p, CPB_F64, block.rows, a->d + 1), a->b,
                     a->sigma, cpb_pool_exec(a->job->pool), &error);
  if (status == CPB_EROW) return cli_fail_row(a->job, a->job->operands[0], a->rows, &error);
  if (status == CPB_OK && ranges && check_resolved(a, block.rows) != CLI_OK) return CLI_FAILED;
  if (status == CPB_OK)
    status = cpb_writer_append(a->caps, cpb_rows(a->p, CPB_F64, block.rows, a->d + 1), &error);
  if (status == CPB_OK && a->thresholds != NULL)
    status = cpb_writer_append(a->thresholds, cpb_rows(a->b, CPB_F64, block.rows, 1), &error);
  if (status != CPB_OK) return cli_fail(a->job, "%s", error.text);
  a->rows += block.rows;
  return CLI_OK;
}

static int open_writers(asking *a) {
  const cli_options *o = &a->job->options;
  cpb_error error;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = o->to;
  options.dtype = a->dtype;
  options.cols = a->d + 1;
  options.rows = cpb_reader_info(a->queries).rows;
  cpb_status status = cpb_writer_open(o->output, &options, &a->caps, &error);
  if (status == CPB_OK && o->thresholds != NULL) {
    options.format = NULL;
    options.dtype = cli_output_dtype(o->thresholds, NULL, NULL, CPB_F64);
    options.cols = 1;
    status = cpb_writer_open(o->thresholds, &options, &a->thresholds, &error);
  }
  return status == CPB_OK ? CLI_OK : cli_fail(a->job, "%s", error.text);
}

static int write_caps(asking *a) {
  cpb_error error;
  cpb_view block;
  int result = open_writers(a);
  a->p = cli_alloc(BLOCK_ROWS * (a->d + 1), sizeof *a->p);
  a->b = cli_alloc(3 * BLOCK_ROWS, sizeof *a->b);
  a->sigma = a->b + BLOCK_ROWS;
  a->radii = a->b + 2 * BLOCK_ROWS;
  for (size_t i = 0; i < BLOCK_ROWS; i++) a->radii[i] = a->radius;
  while (result == CLI_OK) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(a->queries, BLOCK_ROWS, &block, &error) != CPB_OK)
      return cli_fail(a->job, "%s", error.text);
    if (block.rows == 0) break;
    result = write_block(a, block);
  }
  if (result != CLI_OK) return result;
  cpb_status status = cpb_writer_commit(a->caps, &error);
  if (status == CPB_OK && a->thresholds != NULL) status = cpb_writer_commit(a->thresholds, &error);
  return status == CPB_OK ? CLI_OK : cli_fail(a->job, "%s", error.text);
}

static int tell(const asking *a) {
  const cli_options *o = &a->job->options;
  unsigned long long rows = a->rows;
  if (o->knn != 0)
    cli_say(a->job, "radius %.17g, the median distance to neighbour %llu", a->radius,
            (unsigned long long)o->knn);
  if (cli_map_options(a->map).whiten != NULL) cli_say(a->job, "the map whitens: distances are |W(x-q)|");
  if (o->knn != 0 && a->radius == 0)
    cli_say(
        a->job,
        "radius 0 makes point queries: where the queries are rows of %s they find themselves, and --knn %llu "
        "is their neighbour %llu",
        o->base, (unsigned long long)o->knn + 1, (unsigned long long)o->knn);
  if (a->unresolved > 0)
    cli_say(a->job, "radius %.9g is too small for %s: %llu of %llu queries lose more than a thousandth of it",
            a->radius, cpb_dtype_name(a->dtype), (unsigned long long)a->unresolved, rows);
  if (!o->json) return CLI_OK;
  const char *kind = o->point ? "point" : o->knn != 0 ? "knn" : "range";
  return cli_print_json(a->job, json_pack("{s:s, s:s, s:I, s:f, s:I}", "caps", o->output, "kind", kind,
                                          "queries", (json_int_t)a->rows, "radius", a->radius, "unresolved",
                                          (json_int_t)a->unresolved));
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->radius.given + (o->knn != 0) + o->point != 1)
    return cli_misuse(job, "exactly one of --radius, --knn and --point is wanted");
  if (o->radius.given && (!(o->radius.value > 0) || isinf(o->radius.value)))
    return cli_misuse(job, "--radius must be a number > 0, got %g", o->radius.value);
  if ((o->base != NULL) != (o->knn != 0)) return cli_misuse(job, "--knn and --base go together");
  if (o->thresholds != NULL && !o->radius.given) return cli_misuse(job, "--thresholds are those of --radius");
  int result = cli_check_typed(job, o->output, o->to, "to");
  if (result == CLI_OK && o->thresholds != NULL) result = cli_check_format(job, o->thresholds, NULL, NULL);
  return result;
}

static int ask(asking *a) {
  const cli_options *o = &a->job->options;
  cpb_file_info info = cpb_reader_info(a->queries);
  a->d = cli_map_options(a->map).d;
  a->radius = o->radius.given ? o->radius.value : 0;
  a->dtype = cli_output_dtype(o->output, o->to, o->dtype, CPB_F32);
  if (a->dtype > CPB_F16)
    return cli_misuse(a->job, "points of the sphere have coordinates in [-1,1], which %s cannot hold",
                      cpb_dtype_name(a->dtype));
  if (info.cols != a->d)
    return cli_fail(a->job, "%s has %zu column%s, but %s embeds rows of %zu", cli_name(info.path), info.cols,
                    cli_s(info.cols), o->map, a->d);
  int result = o->knn != 0 ? find_radius(a) : CLI_OK;
  if (result == CLI_OK) result = write_caps(a);
  return result == CLI_OK ? tell(a) : result;
}

static int run(cli_job *job) {
  asking a = {.job = job};
  cpb_error error;
  int result = check(job);
  if (result != CLI_OK) return result;
  if (cpb_map_load(job->options.map, &a.map, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  result = cli_open_reader(job, job->operands[0], job->options.format, &a.queries);
  if (result == CLI_OK) {
    result = ask(&a);
    cpb_reader_free(a.queries);
  }
  cpb_writer_free(a.caps);
  cpb_writer_free(a.thresholds);
  cpb_map_free(a.map);
  free(a.p);
  free(a.b);
  return result;
}

const cli_command cli_verb_query = {
    .verb = "query",
    .operands = "-m MAP.json QUERIES (--radius R | --knn K --base BASE | --point) -o CAPS",
    .summary = "Euclidean queries for an engine that knows only inner products or cosines",
    .formula =
        "|x-q| <= r  <=>  <p,y> >= b,  y = S(x),  (p,b) the cap of the ball (q,r)                 T3 T13",
    .text = "CAPS has one row p of d+1 numbers per query, f32 unless --dtype or the format says otherwise.\n"
            "--radius R with --thresholds: range search by one threshold b per query. The cap is open, |x-q| "
            "< R, where "
            "`capball range` takes |x-q| <= R; rows as far as R, within the rounding of p and y, fall on "
            "either side. --knn: the rows "
            "of the largest <p,y> are nearly the nearest, better than those of --point, S(q) itself; "
            "`capball rescore` brings candidates into the order of their distances and proves whether they "
            "are enough. Maps that whiten measure |W(x-q)|; maps with a pole or fitted with --spherical have "
            "no Euclidean balls.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball fit base.csv -o map.json -q\n"
               "capball embed -m map.json base.csv -o sphere.csv\n"
               "capball query -m map.json queries.csv --radius 3.5 -o caps.csv --thresholds b.csv\n"
               "capball query -m map.json queries.csv --knn 2 --base base.csv -o balls.csv",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_RADIUS) | CLI_BIT(CLI_THRESHOLDS) |
               CLI_BIT(CLI_KNN) | CLI_BIT(CLI_BASE) | CLI_BIT(CLI_POINT) | CLI_BIT(CLI_DTYPE) |
               CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) |
               CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT),
    .run = run};
