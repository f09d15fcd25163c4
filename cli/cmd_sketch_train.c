/* Training a sketch: a sample of the data, a centre and a scale, normals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choice_json.h"
#include "doubles.h"
#include "gather.h"
#include "json_print.h"

enum { SAMPLE = 8192 };

typedef struct plan {
  cli_job *job;
  cpb_statistics *gathered;
  cpb_statistics_result facts;
  cpb_map *map;
  const double *center;
  double s;
} plan;

static cpb_sketch_kind kind_of(const cli_job *job) {
  for (int kind = 0; job->options.variant != NULL && kind < CPB_SKETCH_KINDS; kind++)
    if (strcmp(job->options.variant, cpb_sketch_kind_name((cpb_sketch_kind)kind)) == 0)
      return (cpb_sketch_kind)kind;
  return CPB_SKETCH_EMBEDDED;
}

static bool needs_norms(const cli_job *job) {
  cpb_goal goal = cli_goal(job, CPB_GOAL_MEAN);
  return job->options.map == NULL && job->options.scale == 0 && goal != CPB_GOAL_SPREAD &&
         goal != CPB_GOAL_RECALL;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  int result = cli_check_target(job);
  if (result != CLI_OK) return result;
  if ((o->map != NULL) + (o->scale != 0) + (o->goal != NULL) > 1)
    return cli_misuse(job, "--map, --scale and --goal exclude each other");
  if (strcmp(job->operands[0], "-") == 0 && needs_norms(job))
    return cli_misuse(job,
                      "the goal %s reads the data twice, but a pipe can be read once: give a file, "
                      "--map, --scale, or --goal spread",
                      cpb_goal_name(cli_goal(job, CPB_GOAL_MEAN)));
  if (o->bits != 0 && (o->bits % 8 != 0 || o->bits > 65536))
    return cli_misuse(job, "--bits must be a multiple of 8, at most 65536, got %llu",
                      (unsigned long long)o->bits);
  if (o->tolerance.given && !(o->tolerance.value >= 0 && o->tolerance.value < 1))
    return cli_misuse(job, "--tolerance must be in [0,1), got %g", o->tolerance.value);
  return CLI_OK;
}

static int take_map(plan *p, size_t d) {
  const char *path = p->job->options.map;
  cpb_error error;
  if (cpb_map_load(path, &p->map, &error) != CPB_OK) return cli_fail(p->job, "%s", error.text);
  cpb_map_options map = {.size = sizeof map};
  cpb_map_describe(p->map, &map);
  if (map.d != d)
    return cli_fail(p->job, "%s has %zu column%s, but %s embeds rows of %zu", cli_name(p->job->operands[0]),
                    d, cli_s(d), path, map.d);
  if (map.pole != NULL || map.whiten != NULL || map.toward != NULL)
    return cli_fail(p->job, "%s has a %s; a sketch is made from a centre and a scale alone", path,
                    map.pole != NULL     ? "pole"
                    : map.whiten != NULL ? "whitening"
                                         : "direction turned to e");
  p->center = map.center;
  p->s = map.s;
  return CLI_OK;
}

static int choose(plan *p) {
  const cli_job *job = p->job;
  cpb_choice *choice = NULL;
  p->center = p->facts.mean;
  p->s = job->options.scale;
  if (p->s != 0) return CLI_OK;
  int result = cli_choose(job, cli_name(job->operands[0]), cli_goal(job, CPB_GOAL_MEAN), &p->facts,
                          p->facts.sample, p->center, &choice);
  if (result == CLI_OK) p->s = cli_choice_scale(choice);
  cpb_choice_free(choice);
  return result;
}

static int gather(plan *p, cpb_reader *reader) {
  cli_job *job = p->job;
  const char *path = cpb_reader_info(reader).path;
  cpb_error error;
  if (job->options.sample == 0) job->options.sample = SAMPLE;
  int result = cli_gather(job, reader, &p->gathered);
  if (result == CLI_OK) result = cli_finish(job, path, p->gathered, &p->facts);
  if (result == CLI_OK && needs_norms(job)) {
    if (cpb_reader_rewind(reader, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
    result = cli_gather_norms(job, reader, p->gathered);
    if (result == CLI_OK) result = cli_finish(job, path, p->gathered, &p->facts);
  }
  return result;
}

static int tell(const cli_job *job, const cpb_sketch *sketch, const cpb_sketch_report *report,
                const cpb_statistics_result *facts) {
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  uint64_t bad = facts->nan_rows + facts->inf_rows;
  if (bad > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)bad);
  cli_say(
      job,
      "%zu bits (%s), s = %.6g, %zu of %llu row%s; %zu step%s, dependence %.4f -> %.4f, worst %.3f -> %.3f",
      o.bits, cpb_sketch_kind_name(o.kind), o.s, facts->sample.rows, (unsigned long long)facts->rows,
      cli_s(facts->rows), report->steps, cli_s(report->steps), report->first.mean, report->last.mean,
      report->first.worst, report->last.worst);
  if (!report->settled) cli_say(job, "ended before the bits had settled");
  if (!job->options.json) return CLI_OK;
  json_t *curve = json_array();
  for (size_t i = 0; i < o.curve_count; i++)
    curve = cli_json_append(
        curve, json_pack("[I, f, f]", (json_int_t)o.curve[i].steps, o.curve[i].mean, o.curve[i].worst));
  return cli_print_json(job,
                        json_pack("{s:s, s:I, s:I, s:s, s:f, s:I, s:I, s:I, s:b, s:o}", "sketch",
                                  job->options.output, "dim", (json_int_t)o.d, "bits", (json_int_t)o.bits,
                                  "variant", cpb_sketch_kind_name(o.kind), "scale", o.s, "rows",
                                  (json_int_t)facts->rows, "sample", (json_int_t)facts->sample.rows,
                                  "skipped", (json_int_t)bad, "settled", report->settled, "curve", curve));
}

static int train(plan *p) {
  const cli_options *o = &p->job->options;
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  cpb_sketch *sketch = NULL;
  cpb_sketch_report report = {.size = sizeof report};
  cpb_error error;
  training.kind = kind_of(p->job);
  if (o->bits != 0) training.bits = (size_t)o->bits;
  training.s = p->s;
  training.center = p->center;
  training.seed = o->seed;
  training.batch = (size_t)o->batch;
  if (o->step != NULL && strcmp(o->step, "worst") == 0) training.step = CPB_SKETCH_WORST;
  if (o->tolerance.given) training.tolerance = o->tolerance.value;
  cpb_status status =
      cpb_sketch_train(p->facts.sample, &training, &sketch, &report, cpb_pool_exec(p->job->pool), &error);
  if (status != CPB_OK) return cli_fail(p->job, "%s: %s", cli_name(p->job->operands[0]), error.text);
  status = cpb_sketch_save(sketch, o->output, &error);
  int result =
      status == CPB_OK ? tell(p->job, sketch, &report, &p->facts) : cli_fail(p->job, "%s", error.text);
  cpb_sketch_free(sketch);
  return result;
}

static int run(cli_job *job) {
  plan p = {.job = job};
  cpb_reader *reader;
  int result = check(job);
  if (result == CLI_OK) result = cli_open_reader(job, job->operands[0], job->options.format, &reader);
  if (result != CLI_OK) return result;
  if (job->options.map != NULL) result = take_map(&p, cpb_reader_info(reader).cols);
  if (result == CLI_OK) result = gather(&p, reader);
  if (result == CLI_OK && job->options.map == NULL) result = choose(&p);
  if (result == CLI_OK) result = train(&p);
  cpb_statistics_free(p.gathered);
  cpb_map_free(p.map);
  cpb_reader_free(reader);
  return result;
}

const cli_command cli_verb_sketch_train = {
    .verb = "sketch train",
    .operands = "DATA -o SKETCH.json",
    .summary = "learn balls whose bits are independent",
    .formula = "h_i(x) = [2s<c'_i,x-m> + c0_i (s^2-|x-m|^2) >= 0] = [<c_i,S(x-m)> >= 0]                 T14\n"
               "c_i <- normalise(c_i + sum_j tan(scale theta_ij) u_ij),  theta_ij = (2 O_ij/n - 1) pi/2",
    .text =
        "Bit i of a row says whether it is inside of ball i; O_ij is the number of rows on which bits i and "
        "j "
        "agree. The normals begin as random pairs of rows, with a random part, and turn until a step gains "
        "little. The dependence that is told is the mean and the largest |O_ij/n - 1/2|; the whole curve is "
        "in the file.\n"
        "Training sees a sample (--sample, 8192 rows by default) that a hash of the row numbers picks, so "
        "that "
        "data of any size do; with --batch a step looks at a part of it only. The centre is the mean and s "
        "the mean norm about it, unless --map, --scale or --goal says otherwise.\n"
        "More independence than the default tolerance asks for costs recall: bits then tell directions "
        "apart in which the data hardly differ.\n"
        "The same data and seed give the same bits whatever --threads.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_BITS) | CLI_BIT(CLI_MAP) | CLI_BIT(CLI_SCALE) |
               CLI_BIT(CLI_GOAL) | CLI_BIT(CLI_TARGET) | CLI_BIT(CLI_NEIGHBOURS) | CLI_BIT(CLI_VARIANT) |
               CLI_BIT(CLI_STEP) | CLI_BIT(CLI_TOLERANCE) | CLI_BIT(CLI_BATCH) | CLI_BIT(CLI_SAMPLE) |
               CLI_BIT(CLI_SEED) | CLI_BIT(CLI_SKIP_BAD) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_JSON) |
               CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_OUTPUT),
    .run = run};
