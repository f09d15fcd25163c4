/* Trains a sketch: a sample of the data, a centre and a scale, normals. */
#include <string.h>

#include "choice_json.h"
#include "data_file.h"

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  int result = cli_check_target(job);
  if (result != CLI_OK) return result;
  if ((o->map != NULL) + (o->scale != 0) + o->goal.given > 1)
    return cli_misuse(job, "--map, --scale and --goal exclude each other");
  bool norms = o->map == NULL && o->scale == 0 && o->goal.at < CPB_GOAL_SPREAD;
  if (strcmp(job->operands[0], "-") == 0 && norms)
    return cli_misuse(job,
                      "the goal %s reads the data twice, but a pipe can be read once: give a file, "
                      "--map, --scale, or --goal spread",
                      cpb_goal_name((cpb_goal)o->goal.at));
  if (o->bits != 0 && (o->bits % 8 != 0 || o->bits > 65536))
    return cli_misuse(job, "--bits must be a multiple of 8, at most 65536, got %llu",
                      (unsigned long long)o->bits);
  if (o->tolerance.given && !(o->tolerance.value >= 0 && o->tolerance.value < 1))
    return cli_misuse(job, "--tolerance must be in [0,1), got %g", o->tolerance.value);
  return CLI_OK;
}

static cpb_sketch_training training_of(const cli_options *o) {
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.kind = (cpb_sketch_kind)o->variant.at;
  if (o->bits != 0) training.bits = (size_t)o->bits;
  training.seed = o->seed;
  training.batch = (size_t)o->batch;
  training.step = (cpb_sketch_step)o->step.at;
  if (o->tolerance.given) training.tolerance = o->tolerance.value;
  return training;
}

static cpb_sketch_fit_options wish_of(const cli_job *job) {
  const cli_options *o = &job->options;
  cpb_map_fit_options of_map;
  cpb_sketch_fit_options wish;
  cli_map_wish(job, &of_map);
  cpb_sketch_fit_options_init(&wish, sizeof wish);
  wish.s = of_map.s;
  wish.goal = of_map.goal;
  wish.target = of_map.target;
  wish.k = of_map.k;
  if (o->sample != 0) wish.sample = (size_t)o->sample;
  wish.skip_bad = o->skip_bad;
  return wish;
}

static int tell(const cli_job *job, const cpb_sketch *sketch, const cpb_sketch_fit_report *report) {
  const cpb_sketch_report *trained = &report->training;
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  if (report->bad_rows > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)report->bad_rows);
  cli_say(
      job,
      "%zu bits (%s), s = %.6g, %zu of %llu row%s; %zu step%s, dependence %.4f -> %.4f, worst %.3f -> %.3f",
      o.bits, cpb_sketch_kind_name(o.kind), o.s, report->sample, (unsigned long long)report->rows,
      cli_s(report->rows), trained->steps, cli_s(trained->steps), trained->first.mean, trained->last.mean,
      trained->first.worst, trained->last.worst);
  if (!trained->settled) cli_say(job, "stopped before the training converged");
  if (!job->options.json) return CLI_OK;
  cpb_text *curve = cli_json("[]");
  for (size_t i = 0; i < o.curve_count; i++)
    curve = cpb_json_append(
        curve, cli_json("[I, f, f]", (uint64_t)o.curve[i].steps, o.curve[i].mean, o.curve[i].worst));
  return cli_print_json(
      job, cli_json("{s:s, s:I, s:I, s:s, s:f, s:I, s:I, s:I, s:b, s:o}", "sketch", job->options.output,
                    "dim", (uint64_t)o.d, "bits", (uint64_t)o.bits, "variant", cpb_sketch_kind_name(o.kind),
                    "scale", o.s, "rows", (uint64_t)report->rows, "sample", (uint64_t)report->sample,
                    "skipped", (uint64_t)report->bad_rows, "settled", trained->settled, "curve", curve));
}

static int train(cli_input *in, const cpb_map *map) {
  const cli_job *job = in->job;
  cpb_sketch_training training = training_of(&job->options);
  cpb_sketch_fit_options wish = wish_of(job);
  cpb_sketch_fit_report report = {.size = sizeof report};
  cpb_sketch *sketch = NULL;
  cpb_error error;
  wish.training = &training;
  wish.map = map;
  cpb_status status = cpb_sketch_fit(&in->source, &wish, &sketch, &report, cli_exec(job), &error);
  if (status != CPB_OK && cli_is_about(&error, "map"))
    return cli_fail(job, "%s: %s", job->options.map, error.text);
  if (status != CPB_OK) return cli_fail_input(in, status, &error);
  int result = cpb_sketch_save(sketch, job->options.output, &error) == CPB_OK
                   ? tell(job, sketch, &report)
                   : cli_fail(job, "%s", error.text);
  cpb_sketch_free(sketch);
  return result;
}

static int look(cli_input *in) {
  const char *path = in->job->options.map;
  cpb_map *map = NULL;
  cpb_error error;
  if (path != NULL && cpb_map_load(path, &map, &error) != CPB_OK) return cli_fail(in->job, "%s", error.text);
  int result =
      map == NULL ? CLI_OK : cli_input_check_cols(in, cli_map_options(map).d, "", path, "embeds rows of");
  if (result == CLI_OK) result = train(in, map);
  cpb_map_free(map);
  return result;
}

static const char *kind_name(size_t i) {
  return i < CPB_SKETCH_KINDS ? cpb_sketch_kind_name((cpb_sketch_kind)i) : NULL;
}

static const char *step_name(size_t i) {
  static const char *const names[] = {"all", "worst"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static CLI_OPTION(bits, "bits", 'b', CLI_POSITIVE_COUNT, "N", bits, NULL,
                  "bits of a code, a multiple of 8, preferably of 64 (default 256)");
static CLI_OPTION(map_option, "map", 'm', CLI_PATH, "MAP.json", map, NULL,
                  "use centre and scale of a map written by `capball fit`");
static CLI_OPTION(scale, "scale", 's', CLI_POSITIVE, "S", scale, NULL,
                  "the scale s > 0, in the unit of the data; instead of a goal");
static CLI_OPTION(variant, "variant", 0, CLI_CHOICE, "KIND", variant, kind_name,
                  "embedded (default): trained on the sphere; centred: trained on directions; "
                  "random-embedded and random-centred: not trained");
static CLI_OPTION(
    step, "step", 0, CLI_CHOICE, "STEP", step, step_name,
    "all (default): move every normal away from all others; worst: move one end of the worst pair");
static CLI_OPTION(tolerance, "tolerance", 0, CLI_NUMBER, "T", tolerance, NULL,
                  "stop when the relative gain of a step is smaller than this (default 0.03 max(1, "
                  "sqrt(bits)/16), for recall); 0: make the bits as independent as possible");
static CLI_OPTION(batch, "batch", 0, CLI_POSITIVE_COUNT, "N", batch, NULL,
                  "rows of the sample used by a step, different ones each time (default: all)");
static CLI_OPTION(sample, "sample", 0, CLI_POSITIVE_COUNT, "N", sample, NULL,
                  "rows of the sample used for training (default 8192)");

CLI_OPTIONS(options, &cli_opt_output, &bits, &map_option, &scale, &cli_opt_goal, &cli_opt_target,
            &cli_opt_goal_neighbours, &variant, &step, &tolerance, &batch, &sample, &cli_opt_seed,
            &cli_opt_skip_bad, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_train = {
    .verb = "sketch train",
    .operands = "DATA -o SKETCH.json",
    .summary = "learn balls whose bits are independent",
    .formula = "h_i(x) = [2s<c'_i,x-m> + c0_i (s^2-|x-m|^2) >= 0] = [<c_i,S(x-m)> >= 0]                 T14\n"
               "c_i <- normalise(c_i + sum_j tan(scale theta_ij) u_ij),  theta_ij = (2 O_ij/n - 1) pi/2",
    .text = "Bit i of a row is 1 if it is inside ball i; O_ij is the number of rows on which bits i and j "
            "agree. The normals begin as random pairs of rows, with a random part, and are moved until a "
            "step gains little. The reported dependence is the mean and the largest |O_ij/n - 1/2|; the file "
            "contains the whole curve.\n"
            "Training uses a sample (--sample, 8192 rows by default) chosen by a hash of the row numbers, so "
            "that data of any size can be used; with --batch a step uses only a part of it. The centre is "
            "the mean and s the mean norm about it, unless --map, --scale or --goal is given.\n"
            "More independence than with the default tolerance costs recall: bits then separate directions "
            "in which the data hardly differ.\n"
            "The same data and seed give the same bits for any --threads.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 1,
    .check = check,
    .look = look};
