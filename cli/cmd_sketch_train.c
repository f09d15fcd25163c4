/* Trains a sketch: a sample of the data, a centre and a scale, normals. */
#include <string.h>

#include "src/base/choice_names.h"
#include "choice_json.h"
#include "data_file.h"

/* Options that the other family of kinds has. */
static int check_family(const cli_job *job) {
  const cli_options *o = &job->options;
  bool principal = o->variant.at == CPB_SKETCH_PRINCIPAL;
  const char *turning = o->step.given        ? "step"
                        : o->tolerance.given ? "tolerance"
                        : o->batch.given     ? "batch"
                                             : NULL;
  const char *estimating = o->bits_per.given   ? "bits-per"
                           : o->rotation.given ? "rotation"
                           : o->factors.given  ? "factors"
                                               : NULL;
  if (principal && turning != NULL)
    return cli_misuse(job, "--%s is for the variants embedded and centred", turning);
  if (!principal && estimating != NULL)
    return cli_misuse(job, "--%s is for the variant principal", estimating);
  return CLI_OK;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  int result = cli_check_target(job);
  if (result != CLI_OK) return result;
  if ((o->map != NULL) + o->scale.given + o->goal.given > 1)
    return cli_misuse(job, "--map, --scale and --goal exclude each other");
  bool norms = o->map == NULL && !o->scale.given && o->goal.at < CPB_GOAL_SPREAD;
  if (strcmp(job->operands[0], "-") == 0 && norms)
    return cli_misuse(job,
                      "the goal %s reads the data twice, but a pipe can be read once: give a file, "
                      "--map, --scale, or --goal spread",
                      cpb_goal_name((cpb_goal)o->goal.at));
  if (o->bits.value % 8 != 0)
    return cli_misuse(job, "--bits must be a multiple of 8, got %llu", (unsigned long long)o->bits.value);
  return check_family(job);
}

static cpb_sketch_training training_of(const cli_options *o) {
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.kind = (cpb_sketch_kind)o->variant.at;
  training.bits_per = o->bits_per.given ? (size_t)1 << o->bits_per.at : 0;
  training.rotation = (cpb_sketch_rotation)o->rotation.at;
  training.factors = o->factors.at == 0 ? CPB_F16 : CPB_F32;
  training.bits = (size_t)o->bits.value;
  training.seed = o->seed.value;
  training.batch = (size_t)o->batch.value;
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
  wish.sample = (size_t)o->sample.value;
  wish.skip_bad = o->skip_bad;
  return wish;
}

static void say_principal(const cli_job *job, const cpb_sketch_options *o,
                          const cpb_sketch_fit_report *report) {
  cli_say(job,
          "%zu bits (%s), %zu per direction, %s rotation, %zu bytes per row; s = %.6g, %zu of %llu row%s",
          o->bits, cpb_sketch_kind_name(o->kind), o->bits_per, cpb_rotation_names[o->rotation], o->code_bytes,
          o->s, report->sample, (unsigned long long)report->rows, cli_s(report->rows));
  if (report->training.recall >= 0)
    cli_say(job, "held-out rows: %.1f %% of the 10 nearest are among the 60 best estimates",
            100 * report->training.recall);
}

static void say_turned(const cli_job *job, const cpb_sketch_options *o, const cpb_sketch_fit_report *report) {
  const cpb_sketch_report *trained = &report->training;
  cli_say(
      job,
      "%zu bits (%s), s = %.6g, %zu of %llu row%s; %zu step%s, dependence %.4f -> %.4f, worst %.3f -> %.3f",
      o->bits, cpb_sketch_kind_name(o->kind), o->s, report->sample, (unsigned long long)report->rows,
      cli_s(report->rows), trained->steps, cli_s(trained->steps), trained->first.mean, trained->last.mean,
      trained->first.worst, trained->last.worst);
  if (!trained->settled) cli_say(job, "stopped before the training converged");
}

static int tell(const cli_job *job, const cpb_sketch *sketch, const cpb_sketch_fit_report *report) {
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  if (report->bad_rows > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)report->bad_rows);
  bool principal = o.kind == CPB_SKETCH_PRINCIPAL;
  (principal ? say_principal : say_turned)(job, &o, report);
  if (!job->options.json) return CLI_OK;
  cpb_text *curve = cli_json("[]");
  for (size_t i = 0; i < o.curve_count; i++)
    curve = cpb_json_append(
        curve, cli_json("[I, f, f]", (uint64_t)o.curve[i].steps, o.curve[i].mean, o.curve[i].worst));
  cpb_text *facts =
      cli_json("{s:s, s:I, s:I, s:s, s:f, s:I, s:I, s:I, s:b, s:o, s:I, s:I}", "sketch", job->options.output,
               "dim", (uint64_t)o.d, "bits", (uint64_t)o.bits, "variant", cpb_sketch_kind_name(o.kind),
               "scale", o.s, "rows", (uint64_t)report->rows, "sample", (uint64_t)report->sample, "skipped",
               (uint64_t)report->bad_rows, "settled", report->training.settled, "curve", curve, "bits_per",
               (uint64_t)o.bits_per, "code_bytes", (uint64_t)o.code_bytes);
  if (report->training.recall >= 0)
    facts = cpb_json_set(facts, "recall", cli_json("f", report->training.recall));
  return cli_print_json(job, facts);
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

static CLI_OPTION(bits, "bits", 'b', CLI_COUNT, "N", bits,
                  "bits of a code, a multiple of 8, preferably of 64", .range = "in [8,65536]",
                  .fallback = "256");
static CLI_OPTION(map_option, "map", 'm', CLI_PATH, "MAP.json", map,
                  "use centre and scale of a map written by `capball fit`");
static CLI_OPTION(scale, "scale", 's', CLI_NUMBER, "S", scale,
                  "the scale s > 0, in the unit of the data; instead of a goal", .range = "> 0");
static CLI_OPTION(variant, "variant", 0, CLI_CHOICE, "KIND", variant,
                  "principal (default): directions of the variance, and estimates; embedded: bits of balls "
                  "that are trained to be independent; centred: the same for half-spaces; random-embedded "
                  "and random-centred: not trained",
                  .names = kind_name, .fallback = "principal");
static CLI_OPTION(
    bits_per, "bits-per", 0, CLI_CHOICE, "B", bits_per,
    "bits per direction, 1, 2 or 4 (default: the number with the highest recall on held-out rows)",
    .list = CLI_NAMES("1", "2", "4"));
static CLI_OPTION(rotation, "rotation", 0, CLI_CHOICE, "HOW", rotation,
                  "of the directions: chosen by held-out rows (default), random, learned (iterative "
                  "quantisation) or turned (as for centred)",
                  .list = cpb_rotation_names);
static CLI_OPTION(factors, "factors", 0, CLI_CHOICE, "TYPE", factors,
                  "of the three numbers that a row stores beside its bits:", .list = CLI_NAMES("f16", "f32"));
static CLI_OPTION(step, "step", 0, CLI_CHOICE, "STEP", step,
                  "embedded, centred: all (default): move every normal away from all others; worst: move one "
                  "end of the worst pair",
                  .list = CLI_NAMES("all", "worst"));
static CLI_OPTION(tolerance, "tolerance", 0, CLI_NUMBER, "T", tolerance,
                  "embedded, centred: stop when the relative gain of a step is smaller than this (default "
                  "0.03 max(1, sqrt(bits)/16), for recall; 0 makes the bits as independent as possible)",
                  .range = "in [0,1)");
static CLI_OPTION(
    batch, "batch", 0, CLI_COUNT, "N", batch,
    "embedded, centred: rows of the sample used by a step, different ones each time (default: all)");
static CLI_OPTION(sample, "sample", 0, CLI_COUNT, "N", sample, "rows of the sample used for training",
                  .fallback = "8192");

CLI_OPTIONS(options, &cli_opt_output, &bits, &map_option, &scale, &cli_opt_goal, &cli_opt_target,
            &cli_opt_goal_neighbours, &variant, &bits_per, &rotation, &factors, &step, &tolerance, &batch,
            &sample, &cli_opt_seed, &cli_opt_skip_bad, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_train = {
    .verb = "sketch train",
    .operands = "DATA -o SKETCH.json",
    .summary = "learn short codes that estimate distances",
    .formula =
        "|x-q|^2 ~ |x-m|^2 + |q-m|^2 - 2 s f <v, G(q-m)>,  v = levels of G(x-m)/s                     T14\n"
        "h_i(x) = [2s<c'_i,x-m> + c0_i (s^2-|x-m|^2) >= 0] = [<c_i,S(x-m)> >= 0]",
    .text =
        "The variant principal rotates the principal directions G of the images S(x-m). A row stores a level "
        "of "
        "1, 2 or 4 bits for each direction, and three numbers that give an estimate of its distance to any "
        "query and a bound of the error. Rotation and bits per direction are those with which held-out rows "
        "of the sample find most of their neighbours. A bit says on which side of a half-space, a ball "
        "through "
        "infinity, the row is: what a ball of finite size would tell about |x-m| is stored as a number.\n"
        "The variants embedded and centred have one bit for each ball or half-space. The normals begin as "
        "random "
        "pairs of rows, with a random part, and are moved until a step gains little: c_i <- normalise(c_i + "
        "sum_j tan(scale theta_ij) u_ij), theta_ij = (2 O_ij/n - 1) pi/2, where O_ij is the number of rows "
        "on "
        "which bits i and j agree. The reported dependence is the mean and the largest |O_ij/n - 1/2|; the "
        "file "
        "contains the whole curve. Such codes are compared bit by bit, and find fewer neighbours.\n"
        "Training uses a sample (--sample, 8192 rows by default) chosen by a hash of the row numbers, so "
        "that data of any size can be used. The centre is the mean and s the mean norm about it, for "
        "principal "
        "twice that, unless --map, --scale or --goal is given.\n"
        "The same data and seed give the same bits for any --threads.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 1,
    .check = check,
    .look = look};
