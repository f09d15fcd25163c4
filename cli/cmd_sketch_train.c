/* Trains a sketch: a sample of the data, a centre and a scale, directions and centres. */
#include <string.h>

#include "capball/advanced/estimator.h"
#include "choice_json.h"
#include "data_file.h"

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
  if (o->bits.given && o->bytes.given) return cli_misuse(job, "--bits and --bytes exclude each other");
  if (o->bits.value % 8 != 0)
    return cli_misuse(job, "--bits must be a multiple of 8, got %llu", (unsigned long long)o->bits.value);
  return CLI_OK;
}

static cpb_sketch_training training_of(const cli_options *o) {
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.bytes = o->bytes.given ? (size_t)o->bytes.value : 0;
  training.bits = (size_t)o->bits.value;
  training.form = (cpb_sketch_form)o->form.at;
  training.certain = o->certain;
  training.seed = o->seed.value;
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

static int tell(const cli_job *job, const cpb_sketch *sketch, const cpb_sketch_fit_report *report) {
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  if (report->bad_rows > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)report->bad_rows);
  const double *recall = o.recall;
  cli_say(job, "%zu bytes per row: %zu of %zu directions (%s), %zu of numbers; s = %.6g, %zu of %llu row%s",
          o.code_bytes, o.bits / 8, o.directions, cpb_estimator_form_name(o.form), o.numbers, o.s,
          report->sample, (unsigned long long)report->rows, cli_s(report->rows));
  if (recall[0] >= 0)
    cli_say(job,
            "held-out rows: of the 10 nearest, %.1f %% are among the 10 best estimates, %.1f %% among 100",
            100 * recall[0], 100 * recall[1]);
  if (!job->options.json) return CLI_OK;
  cpb_text *facts =
      cli_json("{s:s, s:I, s:I, s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "sketch", job->options.output,
               "dim", (uint64_t)o.d, "bits", (uint64_t)o.bits, "variant", cpb_sketch_kind_name(o.kind),
               "form", cpb_estimator_form_name(o.form), "scale", o.s, "rows", (uint64_t)report->rows,
               "sample", (uint64_t)report->sample, "skipped", (uint64_t)report->bad_rows, "directions",
               (uint64_t)o.directions, "numbers", (uint64_t)o.numbers, "code_bytes", (uint64_t)o.code_bytes);
  if (recall[0] >= 0) facts = cpb_json_set(facts, "recall", cli_json("[f, f]", recall[0], recall[1]));
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

static const char *form_name(size_t i) {
  return i < CPB_SKETCH_FORMS ? cpb_estimator_form_name((cpb_sketch_form)i) : NULL;
}

static CLI_OPTION(bytes, "bytes", 0, CLI_COUNT, "N", bytes, "bytes of a code, all counted; instead of bits",
                  .range = "in [3,8192]");
static CLI_OPTION(bits, "bits", 'b', CLI_COUNT, "N", bits,
                  "bits of a code, a multiple of 8, without the two bytes of its numbers",
                  .range = "in [8,65536]", .fallback = "256");
static CLI_OPTION(map_option, "map", 'm', CLI_PATH, "MAP.json", map,
                  "use centre and scale of a map written by `capball fit`");
static CLI_OPTION(scale, "scale", 's', CLI_NUMBER, "S", scale,
                  "the scale s > 0, in the unit of the data; instead of a goal", .range = "> 0");
static CLI_OPTION(form, "form", 0, CLI_CHOICE, "FORM", form,
                  "what bytes are of: chosen by held-out rows (default), principal directions, neighbouring "
                  "columns, signs of "
                  "rotated directions, or turned principal directions",
                  .names = form_name, .fallback = "chosen");
static CLI_OPTION(
    certain, "certain", 0, CLI_FLAG, NULL, certain,
    "keep a bound of the error in every code, which --bound of search needs, however few bytes there are");
static CLI_OPTION(sample, "sample", 0, CLI_COUNT, "N", sample, "rows of the sample used for training",
                  .fallback = "16384");

CLI_OPTIONS(options, &cli_opt_output, &bytes, &bits, &map_option, &scale, &cli_opt_goal, &cli_opt_target,
            &cli_opt_goal_neighbours, &form, &certain, &sample, &cli_opt_seed, &cli_opt_skip_bad,
            CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_train = {
    .verb = "sketch train",
    .operands = "DATA -o SKETCH.json",
    .summary = "learn short codes that estimate distances",
    .formula = "x ~ x' = m + s f G^T v,  |x-q|^2 ~ |x'-q|^2 + gamma s^2 e^2,  |x-x'| <= s e                  "
               "     T14",
    .text = "Rows are projected on directions G, and every byte of a code names the nearest of 256 centres v "
            "of a few of them: as "
            "many as carry its share of the information, log2(variance / theta) / 2 bits each. A factor f "
            "and a bound e of the error "
            "are two bytes more. Of several forms of such codes that one is kept with which held-out rows of "
            "the sample find most of "
            "their neighbours; how many they find is printed, and stored.\n"
            "Training uses a sample (--sample) chosen by a hash of the row numbers, so that data of any size "
            "can be used. The centre is "
            "the mean and s twice the mean norm about it, unless --map, --scale or --goal is given.\n"
            "The same data and seed give the same bits for any --threads.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 1,
    .check = check,
    .look = look};
