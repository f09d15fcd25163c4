/* Rows to the sphere and back, by a map that was fitted before. */
#include "format_names.h"
#include "doubles.h"
#include "embed_transform.h"
#include "stream.h"

static cpb_status embed(const void *map, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_map_embed(map, in, out, exec, error);
}

static cpb_status unembed(const void *map, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_map_unembed(map, in, out, exec, error);
}

/* Coordinates of the sphere lie in [-1,1]: no integer type holds them. */
static bool holds_sphere(cpb_dtype dtype) { return dtype == CPB_F32 || dtype == CPB_F64 || dtype == CPB_F16; }

static int transform(cli_job *job, const cpb_map *map, cpb_reader *reader, bool inverse) {
  const cli_options *options = &job->options;
  cpb_file_info info = cpb_reader_info(reader);
  size_t d = cli_map_options(map).d, wanted = inverse ? d + 1 : d;
  if (info.cols != wanted)
    return cli_fail(job, "%s has %zu column%s, but %s %s rows of %zu", cli_name(info.path), info.cols,
                    cli_s(info.cols), options->map, inverse ? "unembeds" : "embeds", wanted);
  cpb_dtype natural = info.dtype == CPB_F64 ? CPB_F64 : CPB_F32;
  cli_stream stream = {.job = job,
                       .reader = reader,
                       .output = options->output,
                       .to = options->to,
                       .dtype = cli_output_dtype(options->output, options->to, options->dtype, natural),
                       .cols = inverse ? d : d + 1,
                       .last = CPB_ROWS_UNKNOWN,
                       .transform = inverse ? unembed : embed,
                       .arg = map};
  if (!inverse && !holds_sphere(stream.dtype))
    return cli_misuse(job, "points of the sphere have coordinates in [-1,1], which %s cannot hold",
                      cpb_dtype_name(stream.dtype));
  return cli_stream_run(&stream);
}

static int run(cli_job *job, bool inverse) {
  cpb_map *map;
  cpb_error error;
  if (cpb_map_load(job->options.map, &map, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  cpb_reader *reader;
  int result = cli_open_reader(job, job->operands[0], job->options.format, &reader);
  if (result == CLI_OK) {
    result = transform(job, map, reader, inverse);
    cpb_reader_free(reader);
  }
  cpb_map_free(map);
  return result;
}

/* OUT may be the second operand. */
static int run_embed(cli_job *job) {
  cli_options *o = &job->options;
  if ((o->map != NULL) == (o->transform != NULL))
    return cli_misuse(job, "exactly one of --map MAP.json and --transform NAME is wanted");
  if (o->transform == NULL && (o->side != NULL || o->base != NULL))
    return cli_misuse(job, "--as and --base go with --transform");
  if ((o->output != NULL) == (job->count == 2))
    return cli_misuse(job, "the output is wanted once: --output FILE, or as the second operand");
  if (job->count == 2) o->output = job->operands[1];
  return o->transform != NULL ? cli_embed_by_transform(job, o->output) : run(job, false);
}
static int run_unembed(cli_job *job) { return run(job, true); }

#define ACCEPTS                                                                                              \
  (CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_DTYPE) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) |     \
   CLI_BIT(CLI_SKIP_BAD) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP))

const cli_command cli_verb_embed = {
    .verb = "embed",
    .operands = "(-m MAP.json | --transform NAME) DATA -o OUT",
    .summary = "put rows on the sphere, or through another transform",
    .formula = "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)          R^d -> S^d   T1 T2 T6\n"
               "lift-ip       y = (z, -|z|^2/2),  query (z, 1),  z = (x-m)/max|x-m|                 T13\n"
               "lift-cosine   y = (z, -h|z|^2/2, sqrt(M^2-|z|^2-h^2|z|^4/4))/M,  query ~ (z, 1/h, 0)",
    .text = "On the sphere OUT has one column more than DATA; lift-ip, ip-cosine and ip-l2 "
            "add one as well, lift-cosine adds two, none, center and normalize add none. Numbers are f32 "
            "unless DATA is f64 or --dtype says otherwise. A row with "
            "inf goes to -v, the limit; a row with NaN is an error that names it, and nothing is written. "
            "--skip-bad leaves rows with "
            "NaN or inf out instead.\n"
            "--transform puts rows through a rival of the map instead: `capball recommend` tells which one "
            "is best. Base and query rows differ (--as); centre and largest norm are those of --base. "
            "lift-cosine, ip-cosine and ip-l2 know no rows longer than the longest of the base.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json\n"
               "capball embed -m map.json points.csv -o sphere.csv\n"
               "capball embed --transform lift-cosine points.csv -o base.csv\n"
               "capball embed --transform lift-cosine points.csv -o queries.csv --as query --base points.csv",
    .least = 1,
    .most = 2,
    .made = 1,
    .accepts = ACCEPTS | CLI_BIT(CLI_TRANSFORM) | CLI_BIT(CLI_SIDE) | CLI_BIT(CLI_BASE),
    .run = run_embed};

const cli_command cli_verb_unembed = {
    .verb = "unembed",
    .operands = "-m MAP.json DATA -o OUT",
    .summary = "bring rows of the sphere back",
    .formula = "x = m + W^-1 S^-1(y),  S^-1(y) = s y'/(1+y0)                      S^d -> R^d   T1 T2 T6",
    .text = "OUT has one column less than DATA. Rows may have any length but 0. A row without an image (NaN, "
            "inf, 0, the pole -v) is an error that names it, and nothing is written; --skip-bad leaves such "
            "rows out instead.\n"
            "--dtype u8 rounds to the nearest whole number; one outside 0..255 is an error.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json\n"
               "capball embed -m map.json points.csv -o sphere.npy\n"
               "capball unembed -m map.json sphere.npy -o back.csv",
    .least = 1,
    .most = 1,
    .accepts = ACCEPTS,
    .requires = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT),
    .run = run_unembed};
