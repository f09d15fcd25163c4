/* Maps rows to the sphere and back by a fitted map, or through a transform that is fitted here. */
#include <string.h>

#include "capball/advanced/seal.h"
#include "format_names.h"
#include "data_file.h"
#include "output.h"

/* The operation on the rows. */
typedef struct way {
  cpb_status (*apply)(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error);
  const void *arg;
  size_t cols;                /* of the output */
  bool fractions;             /* in the output, which integers cannot represent .. */
  const char *made;           /* .. described like this */
  const char *const *columns; /* names of the output columns; NULL: none */
} way;

static int flow(cli_input *in, const way *w, cpb_seal *seal) {
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
  return cli_flow(in, &options, o->output, dtype, w->columns, seal);
}

/* ---- by the file of a map or a transform ---- */

typedef struct side {
  cpb_transform *transform;
  cpb_role role;
} side;

static cpb_status apply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  const side *s = arg;
  return cpb_transform_apply(s->transform, s->role, in, out, exec, error);
}

static cpb_status unapply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  const side *s = arg;
  return cpb_transform_unapply(s->transform, in, out, exec, error);
}

static way way_of(const side *s, bool inverse) {
  const cpb_map *map = cpb_transform_map(s->transform);
  const char *made =
      map != NULL ? "points of the sphere have coordinates in [-1,1]" : "transformed rows contain fractions";
  cpb_transform_options of = cli_transform_options(s->transform);
  if (inverse) return (way){unapply, s, of.d, false, NULL, of.columns};
  return (way){apply, s, cpb_transform_cols(s->transform), true, made, NULL};
}

/* The output is sealed with the map that computed it. */
static int embed(cli_input *in, const side *s) {
  way w = way_of(s, false);
  cpb_error error;
  cpb_seal *seal;
  if (cpb_seal_new(s->transform, s->role, 0, &seal, &error) != CPB_OK)
    return cli_fail(in->job, "%s", error.text);
  int result = flow(in, &w, seal);
  cpb_seal_free(seal);
  return result;
}

static int run_by_file(cli_job *job, bool inverse) {
  side s = {NULL, (cpb_role)job->options.side.at};
  cpb_error error;
  cli_input in;
  if (cpb_transform_load(job->options.map, &s.transform, &error) != CPB_OK)
    return cli_fail(job, "%s", error.text);
  cpb_transform_options of = cli_transform_options(s.transform);
  int result =
      (inverse ? cli_input_open : cli_input_open_unmatched)(&in, job, job->operands[0], job->options.format);
  if (result == CLI_OK)
    result = inverse ? cli_input_check_cols(&in, cpb_transform_cols(s.transform), "", job->options.map,
                                            "unembeds rows of")
                     : cli_input_match(&in, of.columns, of.d, "", job->options.map, "embeds rows of");
  way w = way_of(&s, true);
  if (result == CLI_OK) result = inverse ? flow(&in, &w, NULL) : embed(&in, &s);
  cli_input_close(&in);
  cpb_transform_free(s.transform);
  return result;
}

/* ---- by a transform fitted here ---- */

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

/* Transforms that need no base are created without one. */
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
  if (result == CLI_OK) result = embed(&in, &s);
  cli_input_close(&in);
  cpb_transform_free(s.transform);
  return result;
}

/* OUT may be the second operand. */
static int run_embed(cli_job *job) {
  cli_options *o = &job->options;
  if ((o->map != NULL) == o->transform.given)
    return cli_misuse(job, "give exactly one of --map MAP.json and --transform NAME");
  if (!o->transform.given && o->base != NULL) return cli_misuse(job, "--base goes with --transform");
  if ((o->output != NULL) == (job->count == 2))
    return cli_misuse(job, "name the output with --output FILE or as the second operand, not both");
  if (job->count == 2) o->output = job->operands[1];
  return o->transform.given ? run_by_transform(job) : run_by_file(job, false);
}

static int run_unembed(cli_job *job) { return run_by_file(job, true); }

static CLI_OPTION(side_option, "as", 0, CLI_CHOICE, "ROLE", side,
                  "the rows are base (default) or query rows, which differ for lifts",
                  .list = CLI_NAMES("base", "query"));
static CLI_OPTION(base, "base", 0, CLI_PATH, "BASE", base,
                  "with --transform: the rows it is fitted to (default: DATA)");

CLI_OPTIONS(embed_options, &cli_opt_map, &cli_opt_output, &cli_opt_transform, &side_option, &base,
            &cli_opt_dtype, CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare, &cli_opt_skip_bad, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

CLI_OPTIONS(unembed_options, &cli_opt_map, &cli_opt_output, &cli_opt_dtype, CLI_OPT_TABLE, &cli_opt_to,
            &cli_opt_bare, &cli_opt_skip_bad, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_embed = {
    .verb = "embed",
    .operands = "(-m MAP.json | --transform NAME) DATA -o OUT",
    .summary = "map rows to the sphere, or apply another transform",
    .formula = "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)          R^d -> S^d   T1 T2 T6\n"
               "lift-ip       y = (z, -|z|^2/2),  query (z, 1)                       T13\n"
               "lift-cosine   y = (z, -h|z|^2/2, sqrt(M^2-|z|^2-h^2|z|^4/4))/M\n"
               "              query ~ (z, 1/h, 0),  z = (x-m)/max|x-m|",
    .text =
        "On the sphere OUT has one column more than DATA; lift-ip, ip-cosine and ip-l2 also add one, "
        "lift-cosine adds two, none, center and normalize add none. Numbers are f32 unless DATA is f64 or "
        "--dtype is given. A row with inf is mapped to the limit -v; a row with NaN is an error that names "
        "it, and nothing is written. --skip-bad omits rows with NaN or inf instead.\n"
        "MAP.json is any file written by `capball fit`, of a map or, with --transform, of another transform: "
        "`capball recommend` measures which is best. Columns are matched by name if the map and DATA have "
        "names; rows keep their names in csv and tsv. Base and query rows of lifts differ (--as). "
        "lift-cosine, ip-cosine and ip-l2 reject rows longer than the longest of the base, unless they were "
        "fitted with --headroom. --transform fits a transform to --base, and does not write it to a file.\n"
        "A seal states which map computed the rows, with a hash of them: OUT.capball, next to OUT, or an "
        "attribute of an HDF5 data set. `capball rescore` uses it to reject rows of another map, and to "
        "prove answers.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json\n"
               "capball embed -m map.json points.csv -o sphere.csv\n"
               "capball fit --transform lift-cosine points.csv -o lift.json\n"
               "capball embed -m lift.json points.csv -o base.csv\n"
               "capball embed -m lift.json points.csv -o queries.csv --as query",
    .least = 1,
    .most = 2,
    .made = 1,
    .options = embed_options,
    .run = run_embed};

const cli_command cli_verb_unembed = {
    .verb = "unembed",
    .operands = "-m MAP.json DATA -o OUT",
    .summary = "map rows of the sphere back to the data space",
    .formula = "x = m + W^-1 S^-1(y),  S^-1(y) = s y'/(1+y0)                      S^d -> R^d   T1 T2 T6",
    .text = "OUT has one column less than DATA, two less with lift-cosine; normalize has no inverse. Rows "
            "may have any length but 0. A row without an image (NaN, inf, 0, the pole -v) is an error that "
            "names it, and nothing is written; --skip-bad omits such rows instead.\n"
            "--dtype u8 rounds to the nearest integer; one outside 0..255 is an error.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json\n"
               "capball embed -m map.json points.csv -o sphere.npy\n"
               "capball unembed -m map.json sphere.npy -o back.csv",
    .least = 1,
    .most = 1,
    .options = unembed_options,
    .required = 2,
    .run = run_unembed};
