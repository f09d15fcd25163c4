#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "format_names.h"

static const char *goal_name(size_t i) { return i < CPB_GOALS ? cpb_goal_name((cpb_goal)i) : NULL; }

static const char *dtype_name(size_t i) { return i <= CPB_I64 ? cpb_dtype_name((cpb_dtype)i) : NULL; }

static const char *method_name(size_t i) {
  static const char *const names[] = {"exact", "cap-svm", "cap-svm-paper"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *kernel_name(size_t i) {
  static const char *const names[] = {"linear", "rbf", "polynomial"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *transform_name(size_t i) { return cpb_transform_about((cpb_transform_kind)i).name; }

static const char *role_name(size_t i) {
  static const char *const names[] = {"base", "query"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *engine_name(size_t i) { return i < CPB_ENGINES ? cpb_engine_name((cpb_engine)i) : NULL; }

static const char *metric_name(size_t i) { return i < CPB_METRICS ? cpb_metric_name((cpb_metric)i) : NULL; }

static const char *variant_name(size_t i) {
  return i < CPB_SKETCH_KINDS ? cpb_sketch_kind_name((cpb_sketch_kind)i) : NULL;
}

static const char *step_name(size_t i) {
  static const char *const names[] = {"all", "worst"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *score_name(size_t i) {
  static const char *const names[] = {"ip", "cosine", "cosine-distance"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

#define AT(member) offsetof(cli_options, member)

const cli_option cli_option_table[CLI_OPTION_COUNT] = {
    [CLI_OUTPUT] = {"output", 'o', CLI_WRITTEN, "FILE", AT(output),
                    "where the result goes; it appears whole or not at all", NULL},
    [CLI_MAP] = {"map", 'm', CLI_PATH, "MAP.json", AT(map), "the map that `capball fit` wrote", NULL},
    [CLI_SCALE] = {"scale", 's', CLI_POSITIVE, "S", AT(scale), "the scale s > 0, in the unit of the data",
                   NULL},
    [CLI_GOAL] = {"goal", 'g', CLI_CHOICE, "GOAL", AT(goal),
                  "how s is chosen: mean (default) or median of the norms about the centre, hemisphere (the "
                  "largest norm: every row in y0 >= 0), spread (the largest ABID), or recall (the smallest s "
                  "that keeps --target of the neighbours)",
                  goal_name},
    [CLI_CENTER] = {"center", 'c', CLI_PATH, "WHICH", AT(center),
                    "mean (default), none, or a vector file with one row or one column", NULL},
    [CLI_POLE] =
        {"pole", 'p', CLI_PATH, "FILE", AT(pole),
         "a vector file with one row or one column of d+1 numbers, the pole v; its length is divided out",
         NULL},
    [CLI_WHITEN] = {"whiten", 'w', CLI_FLAG, NULL, AT(whiten),
                    "whiten by the covariance of the data (about their mean, whatever --center)", NULL},
    [CLI_SPHERICAL] = {"spherical", 0, CLI_FLAG, NULL, AT(spherical),
                       "rows are directions: turn their mean direction to e, s = 1, d = columns-1", NULL},
    [CLI_SKIP_BAD] = {"skip-bad", 0, CLI_FLAG, NULL, AT(skip_bad),
                      "leave rows with NaN or inf out, and say how many", NULL},
    [CLI_DTYPE] = {"dtype", 'd', CLI_CHOICE, "TYPE", AT(dtype),
                   "element type of the output; row numbers have their own", dtype_name},
    [CLI_ROWS] = {"rows", 'r', CLI_TEXT, "A:B", AT(rows),
                  "rows A <= i < B only, counted from 0; either may be left out", NULL},
    [CLI_FORMAT] = {"format", 'f', CLI_CHOICE, "FORMAT", AT(format),
                    "format of the input (default: by its extension)", cli_format_name},
    [CLI_TO] = {"to", 0, CLI_CHOICE, "FORMAT", AT(to), "format of the output (default: by its extension)",
                cli_format_name},
    [CLI_SEED] = {"seed", 0, CLI_COUNT, "N", AT(seed), "seed of the generated data or the sample (default 0)",
                  NULL},
    [CLI_TARGET] = {"target", 0, CLI_POSITIVE, "R", AT(target),
                    "goal recall: the share of true neighbours to keep, below 1 (default 0.99)", NULL},
    [CLI_NEIGHBOURS] = {"neighbours", 'k', CLI_POSITIVE_COUNT, "K", AT(neighbours),
                        "how many neighbours (default 10); for a scale those of goal recall", NULL},
    [CLI_METRIC] = {"metric", 0, CLI_CHOICE, "METRIC", AT(metric),
                    "what near means: l2 (default), ip or cosine", metric_name},
    [CLI_RADIUS] = {"radius", 0, CLI_NUMBER, "R", AT(radius),
                    "the radius, in the unit of the data, not squared", NULL},
    [CLI_DISTANCES] = {"distances", 0, CLI_WRITTEN, "FILE", AT(distances),
                       "also write the distances: |x-q|, or <x,q>, or 1 - cosine; --dtype is their type "
                       "(default f32, in text f64)",
                       NULL},
    [CLI_KNN] = {"knn", 0, CLI_POSITIVE_COUNT, "K", AT(knn),
                 "ball queries for K neighbours: the radius is the median K-th distance to --base", NULL},
    [CLI_BASE] = {"base", 0, CLI_PATH, "BASE", AT(base),
                  "the rows of the index as they are, neither embedded nor lifted", NULL},
    [CLI_POINT] = {"point", 0, CLI_FLAG, NULL, AT(point), "point queries, the embedded queries themselves",
                   NULL},
    [CLI_THRESHOLDS] = {"thresholds", 0, CLI_WRITTEN, "FILE", AT(thresholds),
                        "also write b, one number per query: the ball is <p,y> >= b", NULL},
    [CLI_EMBEDDED] = {"embedded", 0, CLI_PATH, "EMB", AT(embedded),
                      "the embedded rows of the index, from `capball embed`", NULL},
    [CLI_SCORES] = {"scores", 0, CLI_PATH, "FILE", AT(scores),
                    "take distances from these numbers of the engine, one per candidate", NULL},
    [CLI_AS] = {"as", 0, CLI_CHOICE, "WHAT", AT(as),
                "what --scores are: ip (default), cosine or cosine-distance, 1 - cosine", score_name},
    [CLI_SCORE_ERROR] = {"score-error", 0, CLI_NUMBER, "E", AT(score_error),
                         "the largest error of the engine's products (default 2(d+4) 2^-24, that of any "
                         "product or cosine in f32; engines that quantise err by more)",
                         NULL},
    [CLI_CERTIFICATES] = {"certificates", 0, CLI_WRITTEN, "FILE", AT(certificates),
                          "also write one number per query: 0 where the answer is proven, else how many "
                          "candidates would prove it",
                          NULL},
    [CLI_SAMPLE] =
        {"sample", 0, CLI_POSITIVE_COUNT, "N", AT(sample),
         "rows of the sample that is looked at (default 4096; recommend 100000, sketch train 8192)", NULL},
    [CLI_STATE] = {"state", 0, CLI_WRITTEN, "S.state", AT(state),
                   "write the statistics, for `capball merge`; without --output only pass 1 is done", NULL},
    [CLI_ABOUT] = {"about", 0, CLI_PATH, "ALL.state", AT(about),
                   "do pass 2, the norms about the mean of these merged statistics, and write --state", NULL},
    [CLI_FIRST_ROW] = {"first-row", 0, CLI_COUNT, "N", AT(first_row),
                       "number of the first row, where the file is a piece of a whole (default 0)", NULL},
    [CLI_SWEEP] = {"sweep", 0, CLI_FLAG, NULL, AT(sweep), "print the curve over s", NULL},
    [CLI_TRANSFORM] = {"transform", 0, CLI_CHOICE, "NAME", AT(transform),
                       "in place of a map: none, center, normalize (centre + normalise), lift-ip or "
                       "lift-cosine (exact lifts of L2), ip-cosine or ip-l2 (exact lifts of inner products)",
                       transform_name},
    [CLI_SIDE] = {"as", 0, CLI_CHOICE, "ROLE", AT(side),
                  "with --transform: the rows are base (default) or query rows", role_name},
    [CLI_QUERIES] = {"queries", 0, CLI_PATH, "FILE", AT(queries),
                     "rows that will be asked for (default: rows of BASE that do not find themselves)", NULL},
    [CLI_ENGINE] = {"engine", 'e', CLI_CHOICE, "ENGINE", AT(engine),
                    "what the index stores: float (default), int8 or bits", engine_name},
    [CLI_HTML] = {"html", 0, CLI_WRITTEN, "FILE", AT(html), "write a page with the table and the curves",
                  NULL},
    [CLI_PLOT] = {"plot", 0, CLI_WRITTEN, "FILE", AT(plot),
                  "draw a picture by gnuplot, .svg or .png; without gnuplot in the terminal", NULL},
    [CLI_MODEL] = {"model", 'm', CLI_PATH, "MODEL.json", AT(model), "the model that `capball ball` wrote",
                   NULL},
    [CLI_NU] = {"nu", 'n', CLI_NUMBER, "NU", AT(nu),
                "the share of the rows that may lie outside, in (0,1]; without it none may", NULL},
    [CLI_METHOD] =
        {"method", 0, CLI_CHOICE, "METHOD", AT(method),
         "exact (default), cap-svm (a linear SVM against one hard negative), or cap-svm-paper (one C "
         "for all)",
         method_name},
    [CLI_KERNEL] = {"kernel", 'k', CLI_CHOICE, "KERNEL", AT(kernel), "linear (default), rbf or polynomial",
                    kernel_name},
    [CLI_GAMMA] =
        {"gamma", 0, CLI_POSITIVE, "GAMMA", AT(gamma),
         "of the kernels exp(-gamma |x-y|^2) and (gamma <x,y> + offset)^degree (default: 1/columns)", NULL},
    [CLI_OFFSET] = {"offset", 0, CLI_NUMBER, "OFFSET", AT(offset), "of the polynomial kernel (default 1)",
                    NULL},
    [CLI_DEGREE] = {"degree", 0, CLI_POSITIVE_COUNT, "DEGREE", AT(degree),
                    "of the polynomial kernel (default 3)", NULL},
    [CLI_GAP] = {"gap", 0, CLI_NUMBER, "GAP", AT(gap), "wanted relative gap (default 1e-9)", NULL},
    [CLI_WEIGHTS] = {"weights", 0, CLI_PATH, "FILE", AT(weights),
                     "a vector file with one weight >= 0 per row of DATA; with --nu", NULL},
    [CLI_LABELS] = {"labels", 'l', CLI_PATH, "FILE", AT(labels),
                    "a vector file with one number per row, not 0 for an outlier: prints AUC and average "
                    "precision",
                    NULL},
    [CLI_RANKS] =
        {"ranks", 0, CLI_FLAG, NULL, AT(ranks),
         "a second column: about the share of the training rows that score no more, from 101 quantiles",
         NULL},
    [CLI_SQL] = {"sql", 0, CLI_WRITTEN, "FILE", AT(sql), "the ball as a condition on columns x0, x1, ..",
                 NULL},
    [CLI_SKETCH] = {"sketch", 'm', CLI_PATH, "FILE", AT(sketch),
                    "the sketch that `capball sketch train` wrote", NULL},
    [CLI_BITS] = {"bits", 'b', CLI_POSITIVE_COUNT, "N", AT(bits),
                  "bits of a code, a multiple of 8, better of 64 (default 256)", NULL},
    [CLI_VARIANT] = {"variant", 0, CLI_CHOICE, "KIND", AT(variant),
                     "embedded (default): trained on the sphere; centred: trained on directions; "
                     "random-embedded and random-centred: not trained",
                     variant_name},
    [CLI_STEP] = {"step", 0, CLI_CHOICE, "STEP", AT(step),
                  "all (default): every normal away from all others; worst: one end of the worst pair",
                  step_name},
    [CLI_TOLERANCE] =
        {"tolerance", 0, CLI_NUMBER, "T", AT(tolerance),
         "ends when a step gains a smaller share than this (default 0.03 max(1, sqrt(bits)/16), "
         "for recall); 0: as independent as the bits get",
         NULL},
    [CLI_BATCH] = {"batch", 0, CLI_POSITIVE_COUNT, "N", AT(batch),
                   "rows of the sample that a step looks at, other ones each time (default: all)", NULL},
    [CLI_CANDIDATES] = {"candidates", 0, CLI_POSITIVE_COUNT, "N", AT(candidates),
                        "codes that are re-ranked by exact distances (default 100)", NULL},
    [CLI_JSON] = {"json", 'j', CLI_FLAG, NULL, AT(json), "print JSON", NULL},
    [CLI_QUIET] = {"quiet", 'q', CLI_FLAG, NULL, AT(quiet), "no remarks and no progress on stderr", NULL},
    [CLI_THREADS] = {"threads", 't', CLI_COUNT, "N", AT(threads),
                     "threads (default: all processors); the result does not depend on it", NULL},
    [CLI_HELP] = {"help", 'h', CLI_FLAG, NULL, AT(help), "explain this command", NULL},
};

static int misuse_choice(const cli_job *job, const cli_option *option, const char *value) {
  const char *names[32];
  size_t count = 0;
  char all[256] = "";
  for (const char *name; count < 32 && (name = option->choice(count)) != NULL; count++) {
    names[count] = name;
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", count == 0 ? "" : ", ", name);
  }
  const char *near = cli_nearest(value, names, count);
  if (near != NULL)
    return cli_misuse(job, "--%s knows no %s \"%s\"; did you mean \"%s\"?", option->name, option->value,
                      value, near);
  return cli_misuse(job, "--%s knows no %s \"%s\"; it takes %s", option->name, option->value, value, all);
}

static bool is_choice(const cli_option *option, const char *value) {
  const char *name;
  for (size_t i = 0; (name = option->choice(i)) != NULL; i++)
    if (strcmp(name, value) == 0) return true;
  return false;
}

static int store(cli_job *job, const cli_option *option, const char *value) {
  char *at = (char *)&job->options + option->offset, *end;
  errno = 0;
  switch (option->kind) {
  case CLI_FLAG: *(bool *)(void *)at = true; return CLI_OK;
  case CLI_CHOICE:
    if (!is_choice(option, value)) return misuse_choice(job, option, value);
    *(const char **)(void *)at = value;
    return CLI_OK;
  case CLI_TEXT:
  case CLI_PATH:
  case CLI_WRITTEN:
    if (*value == 0) return cli_misuse(job, "--%s wants a value: %s", option->name, option->value);
    *(const char **)(void *)at = value;
    return CLI_OK;
  case CLI_POSITIVE: {
    double number = strtod(value, &end);
    if (end == value || *end != 0 || !(number > 0) || isinf(number))
      return cli_misuse(job, "--%s must be a number > 0, got \"%s\"", option->name, value);
    *(double *)(void *)at = number;
    return CLI_OK;
  }
  case CLI_NUMBER: {
    double number = strtod(value, &end);
    if (end == value || *end != 0)
      return cli_misuse(job, "--%s must be a number, got \"%s\"", option->name, value);
    *(cli_number *)(void *)at = (cli_number){true, number};
    return CLI_OK;
  }
  case CLI_COUNT:
  case CLI_POSITIVE_COUNT: {
    unsigned long long number = strtoull(value, &end, 10), least = option->kind == CLI_POSITIVE_COUNT;
    if (*value < '0' || *value > '9' || *end != 0 || errno != 0 || number < least)
      return cli_misuse(job, "--%s must be a whole number >= %llu, got \"%s\"", option->name, least, value);
    *(uint64_t *)(void *)at = number;
    return CLI_OK;
  }
  }
  return CLI_OK;
}

static size_t accepted(const cli_command *command, const char **names) {
  size_t count = 0;
  for (size_t id = 0; id < CLI_OPTION_COUNT; id++)
    if (command->accepts & CLI_BIT(id)) names[count++] = cli_option_table[id].name;
  return count;
}

static int misuse_unknown(const cli_job *job, const char *word) {
  if (strncmp(word, "--", 2) != 0) return cli_misuse(job, "there is no option %s", word);
  char stem[64];
  snprintf(stem, sizeof stem, "%.*s", (int)strcspn(word + 2, "="), word + 2);
  const char *names[CLI_OPTION_COUNT];
  const char *near = cli_nearest(stem, names, accepted(job->command, names));
  if (near != NULL) return cli_misuse(job, "there is no option --%s; did you mean --%s?", stem, near);
  return cli_misuse(job, "there is no option --%s", stem);
}

/* getopt's two forms of the options a command accepts. val is the id + 256, clear of all letters. */
static void getopt_tables(const cli_command *command, struct option *longs, char *letters) {
  *letters++ = ':';
  for (size_t id = 0; id < CLI_OPTION_COUNT; id++) {
    const cli_option *option = &cli_option_table[id];
    if (!(command->accepts & CLI_BIT(id))) continue;
    int wants = option->kind == CLI_FLAG ? no_argument : required_argument;
    *longs++ = (struct option){option->name, wants, NULL, (int)id + 256};
    if (option->letter == 0) continue;
    *letters++ = option->letter;
    if (wants == required_argument) *letters++ = ':';
  }
  *longs = (struct option){NULL, 0, NULL, 0};
  *letters = 0;
}

/* Two options may share a letter as long as no command accepts both. */
static size_t option_of(const cli_command *command, int code) {
  if (code >= 256) return (size_t)code - 256;
  size_t id = 0;
  while (cli_option_table[id].letter != code || !(command->accepts & CLI_BIT(id))) id++;
  return id;
}

static int check_operands(cli_job *job, uint64_t given) {
  const cli_command *command = job->command;
  for (size_t id = 0; id < CLI_OPTION_COUNT; id++)
    if (command->requires & CLI_BIT(id) & ~given)
      return cli_misuse(job, "--%s %s is missing", cli_option_table[id].name, cli_option_table[id].value);
  if (job->count < command->least)
    return cli_misuse(job, "%s expected, got %zu operand%s", command->operands, job->count,
                      job->count == 1 ? "" : "s");
  if (job->count > command->most)
    return cli_misuse(job, "unexpected operand \"%s\"", job->operands[command->most]);
  for (size_t i = 0; i < job->count; i++)
    if (job->operands[i][0] == 0) return cli_misuse(job, "operand %zu is empty", i + 1);
  return CLI_OK;
}

int cli_parse(cli_job *job, int argc, char **argv) {
  struct option longs[CLI_OPTION_COUNT + 1];
  char letters[2 * CLI_OPTION_COUNT + 2];
  getopt_tables(job->command, longs, letters);
  uint64_t given = 0;
  opterr = 0;
  optind = 1;
  for (;;) {
    int code = getopt_long(argc, argv, letters, longs, NULL);
    if (code == -1) break;
    if (code == '?' && optopt >= 256)
      return cli_misuse(job, "--%s takes no value", cli_option_table[option_of(job->command, optopt)].name);
    if (code == '?') {
      char letter[3] = {'-', (char)optopt, 0};
      return misuse_unknown(job, optopt != 0 ? letter : argv[optind - 1]);
    }
    if (code == ':') {
      const cli_option *option = &cli_option_table[option_of(job->command, optopt)];
      return cli_misuse(job, "--%s wants a value: %s", option->name, option->value);
    }
    size_t id = option_of(job->command, code);
    int result = store(job, &cli_option_table[id], optarg);
    if (result != CLI_OK) return result;
    given |= CLI_BIT(id);
  }
  job->operands = argv + optind;
  job->count = (size_t)(argc - optind);
  return job->options.help ? CLI_OK : check_operands(job, given);
}
