/* Rows to the sphere and back, by a map that was fitted before. */
#include "format_names.h"
#include "doubles.h"
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
  size_t d = cpb_map_describe(map).d, wanted = inverse ? d + 1 : d;
  if (info.cols != wanted)
    return cli_fail(job, "%s has %zu columns, but %s %s rows of %zu", info.path, info.cols, options->map,
                    inverse ? "unembeds" : "embeds", wanted);
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

static int run_embed(cli_job *job) { return run(job, false); }
static int run_unembed(cli_job *job) { return run(job, true); }

#define ACCEPTS                                                                                              \
  (CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_DTYPE) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) |     \
   CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP))

const cli_command cli_verb_embed = {
    .verb = "embed",
    .operands = "-m MAP.json DATA -o OUT",
    .summary = "put rows on the sphere",
    .formula = "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)          R^d -> S^d   T1 T2 T6",
    .text = "OUT has one column more than DATA, f32 unless DATA is f64 or --dtype says otherwise. A row with "
            "inf goes to -v, the limit; a row with NaN is an error that names it, and nothing is written.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json\n"
               "capball embed -m map.json points.csv -o sphere.csv",
    .least = 1,
    .most = 1,
    .accepts = ACCEPTS,
    .requires = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT),
    .run = run_embed};

const cli_command cli_verb_unembed = {
    .verb = "unembed",
    .operands = "-m MAP.json DATA -o OUT",
    .summary = "bring rows of the sphere back",
    .formula = "x = m + W^-1 S^-1(y),  S^-1(y) = s y'/(1+y0)                      S^d -> R^d   T1 T2 T6",
    .text = "OUT has one column less than DATA. Rows may have any length but 0. A row without an image (NaN, "
            "inf, 0, the pole -v) is an error that names it, and nothing is written.\n"
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
