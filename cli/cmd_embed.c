/* Rows to the sphere and back by a map that was fitted before, or through a transform that is fitted here. */
#include <string.h>

#include "format_names.h"
#include "data_file.h"
#include "output.h"

/* What is done to rows. */
typedef struct way {
  cpb_status (*apply)(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error);
  const void *arg;
  size_t cols;      /* of what it makes */
  bool fractions;   /* which whole numbers cannot hold .. */
  const char *made; /* .. where it makes these */
} way;

static int flow(cli_input *in, const way *w) {
  const cli_options *o = &in->job->options;
  cpb_flow_options options;
  cpb_dtype natural = in->info.dtype == CPB_F64 ? CPB_F64 : CPB_F32;
  cpb_dtype dtype = cli_output_dtype(o->output, o->to, o->dtype, natural);
  if (w->fractions && dtype > CPB_F16)
    return cli_misuse(in->job, "%s, which %s cannot hold", w->made, cpb_dtype_name(dtype));
  cpb_flow_options_init(&options, sizeof options);
  options.transform = w->apply;
  options.arg = w->arg;
  options.cols = w->cols;
  return cli_flow(in, &options, o->output, dtype);
}

/* ---- by a map ---- */

static cpb_status embed(const void *map, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_map_embed(map, in, out, exec, error);
}

static cpb_status unembed(const void *map, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_map_unembed(map, in, out, exec, error);
}

static const char on_sphere[] = "points of the sphere have coordinates in [-1,1]";

static int run_by_map(cli_job *job, bool inverse) {
  cpb_map *map;
  cpb_error error;
  cli_input in;
  if (cpb_map_load(job->options.map, &map, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  size_t d = cli_map_options(map).d;
  way w = {inverse ? unembed : embed, map, inverse ? d : d + 1, !inverse, on_sphere};
  int result = cli_input_open(&in, job, job->operands[0], job->options.format);
  if (result == CLI_OK)
    result = cli_input_check_cols(&in, inverse ? d + 1 : d, "", job->options.map,
                                  inverse ? "unembeds rows of" : "embeds rows of");
  if (result == CLI_OK) result = flow(&in, &w);
  cli_input_close(&in);
  cpb_map_free(map);
  return result;
}

/* ---- by a transform, fitted to a base on the way ---- */

typedef struct side {
  cpb_transform *transform;
  cpb_role role;
} side;

static cpb_status apply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  const side *s = arg;
  return cpb_transform_apply(s->transform, s->role, in, out, exec, error);
}

static int fit(cli_input *in, cpb_transform_kind kind, cpb_transform **transform) {
  const cli_job *job = in->job;
  const char *path = job->options.base != NULL ? job->options.base : job->operands[0];
  cli_input base;
  cpb_error error;
  int result = cli_input_open(&base, job, path, job->options.format);
  if (result == CLI_OK)
    result = cli_input_check_cols(&base, in->info.cols, "", cli_name(in->info.path), "has");
  if (result == CLI_OK) {
    cpb_status status =
        cpb_transform_fit(&base.source, kind, job->options.skip_bad, transform, cli_exec(job), &error);
    if (status != CPB_OK) result = cli_fail_input(&base, status, &error);
  }
  cli_input_close(&base);
  return result;
}

/* What needs no base is made without one. */
static int make(cli_input *in, cpb_transform_kind kind, cpb_transform **transform) {
  cpb_transform_facts facts = cpb_transform_about(kind);
  cpb_error error;
  if (facts.centred || facts.bounded) return fit(in, kind, transform);
  cpb_status status = cpb_transform_fit(&in->source, kind, false, transform, NULL, &error);
  return status == CPB_OK ? CLI_OK : cli_fail(in->job, "%s", error.text);
}

static int check(const cli_job *job, cpb_transform_facts facts, bool query) {
  const cli_options *o = &job->options;
  const char *base = o->base != NULL ? o->base : job->operands[0];
  bool fitted = facts.centred || facts.bounded;
  if (query && fitted && o->base == NULL)
    return cli_misuse(job, "--as query: transform %s is fitted to the base; name it with --base", facts.name);
  if (fitted && strcmp(base, "-") == 0)
    return cli_misuse(job,
                      "transform %s reads its base more than once, but a pipe can be read once: give a file",
                      facts.name);
  return CLI_OK;
}

static int run_by_transform(cli_job *job) {
  cpb_transform_kind kind = (cpb_transform_kind)job->options.transform.at;
  side s = {NULL, (cpb_role)job->options.side.at};
  cli_input in;
  int result = check(job, cpb_transform_about(kind), s.role == CPB_ROLE_QUERY);
  if (result != CLI_OK) return result;
  result = cli_input_open(&in, job, job->operands[0], job->options.format);
  if (result == CLI_OK) result = make(&in, kind, &s.transform);
  if (result == CLI_OK) {
    way w = {apply, &s, cpb_transform_cols(s.transform), true, "transformed rows hold fractions"};
    result = flow(&in, &w);
  }
  cli_input_close(&in);
  cpb_transform_free(s.transform);
  return result;
}

/* OUT may be the second operand. */
static int run_embed(cli_job *job) {
  cli_options *o = &job->options;
  if ((o->map != NULL) == o->transform.given)
    return cli_misuse(job, "exactly one of --map MAP.json and --transform NAME is wanted");
  if (!o->transform.given && (o->side.given || o->base != NULL))
    return cli_misuse(job, "--as and --base go with --transform");
  if ((o->output != NULL) == (job->count == 2))
    return cli_misuse(job, "the output is wanted once: --output FILE, or as the second operand");
  if (job->count == 2) o->output = job->operands[1];
  return o->transform.given ? run_by_transform(job) : run_by_map(job, false);
}

static int run_unembed(cli_job *job) { return run_by_map(job, true); }

static const char *transform_name(size_t i) { return cpb_transform_about((cpb_transform_kind)i).name; }

static const char *role_name(size_t i) {
  static const char *const names[] = {"base", "query"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static CLI_OPTION(transform, "transform", 0, CLI_CHOICE, "NAME", transform, transform_name,
                  "in place of a map: none, center, normalize (centre + normalise), lift-ip or lift-cosine "
                  "(exact lifts of L2), ip-cosine or ip-l2 (exact lifts of inner products)");
static CLI_OPTION(side_option, "as", 0, CLI_CHOICE, "ROLE", side, role_name,
                  "with --transform: the rows are base (default) or query rows");
static CLI_OPTION(base, "base", 0, CLI_PATH, "BASE", base, NULL,
                  "with --transform: the rows it is fitted to (default: DATA)");

CLI_OPTIONS(embed_options, &cli_opt_map, &cli_opt_output, &transform, &side_option, &base, &cli_opt_dtype,
            &cli_opt_format, &cli_opt_external, &cli_opt_to, &cli_opt_skip_bad, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

CLI_OPTIONS(unembed_options, &cli_opt_map, &cli_opt_output, &cli_opt_dtype, &cli_opt_format,
            &cli_opt_external, &cli_opt_to, &cli_opt_skip_bad, &cli_opt_quiet, &cli_opt_threads,
            &cli_opt_help);

const cli_command cli_verb_embed = {
    .verb = "embed",
    .operands = "(-m MAP.json | --transform NAME) DATA -o OUT",
    .summary = "put rows on the sphere, or through another transform",
    .formula = "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)          R^d -> S^d   T1 T2 T6\n"
               "lift-ip       y = (z, -|z|^2/2),  query (z, 1),  z = (x-m)/max|x-m|                 T13\n"
               "lift-cosine   y = (z, -h|z|^2/2, sqrt(M^2-|z|^2-h^2|z|^4/4))/M,  query ~ (z, 1/h, 0)",
    .text =
        "On the sphere OUT has one column more than DATA; lift-ip, ip-cosine and ip-l2 add one as well, "
        "lift-cosine adds two, none, center and normalize add none. Numbers are f32 unless DATA is f64 or "
        "--dtype says otherwise. A row with inf goes to -v, the limit; a row with NaN is an error that "
        "names it, and nothing is written. --skip-bad leaves rows with NaN or inf out instead.\n"
        "--transform puts rows through a rival of the map instead: `capball recommend` tells which one is "
        "best. Base and query rows differ (--as); centre and largest norm are those of --base. "
        "lift-cosine, ip-cosine and ip-l2 know no rows longer than the longest of the base.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json\n"
               "capball embed -m map.json points.csv -o sphere.csv\n"
               "capball embed --transform lift-cosine points.csv -o base.csv\n"
               "capball embed --transform lift-cosine points.csv -o queries.csv --as query --base points.csv",
    .least = 1,
    .most = 2,
    .made = 1,
    .options = embed_options,
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
    .options = unembed_options,
    .required = 2,
    .run = run_unembed};
