/* The one table of options, and parsing by it. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_option_id {
  CLI_OUTPUT,
  CLI_MAP,
  CLI_SCALE,
  CLI_GOAL,
  CLI_CENTER,
  CLI_POLE,
  CLI_WHITEN,
  CLI_SPHERICAL,
  CLI_SKIP_BAD,
  CLI_DTYPE,
  CLI_ROWS,
  CLI_FORMAT,
  CLI_TO,
  CLI_SEED,
  CLI_TARGET,
  CLI_NEIGHBOURS,
  CLI_METRIC,
  CLI_RADIUS,
  CLI_DISTANCES,
  CLI_KNN,
  CLI_BASE,
  CLI_POINT,
  CLI_THRESHOLDS,
  CLI_EMBEDDED,
  CLI_SCORES,
  CLI_AS,
  CLI_SCORE_ERROR,
  CLI_CERTIFICATES,
  CLI_SAMPLE,
  CLI_STATE,
  CLI_ABOUT,
  CLI_FIRST_ROW,
  CLI_SWEEP,
  CLI_MODEL,
  CLI_NU,
  CLI_METHOD,
  CLI_KERNEL,
  CLI_GAMMA,
  CLI_OFFSET,
  CLI_DEGREE,
  CLI_GAP,
  CLI_WEIGHTS,
  CLI_LABELS,
  CLI_RANKS,
  CLI_SQL,
  CLI_SKETCH,
  CLI_BITS,
  CLI_VARIANT,
  CLI_STEP,
  CLI_TOLERANCE,
  CLI_BATCH,
  CLI_CANDIDATES,
  CLI_TRANSFORM,
  CLI_SIDE,
  CLI_QUERIES,
  CLI_ENGINE,
  CLI_HTML,
  CLI_PLOT,
  CLI_JSON,
  CLI_QUIET,
  CLI_THREADS,
  CLI_HELP,
  CLI_OPTION_COUNT
} cli_option_id;

#define CLI_BIT(id) ((uint64_t)1 << (id))
_Static_assert(CLI_OPTION_COUNT <= 64, "a set of options is 64 bits");

/* A number that may be absent. */
typedef struct cli_number {
  bool given;
  double value;
} cli_number;

/* Values of the options; strings are views into argv, NULL where not given. */
typedef struct cli_options {
  const char *output, *map, *goal, *center, *pole, *dtype, *rows, *format, *to, *state, *about, *plot;
  const char *metric, *distances, *base, *thresholds, *embedded, *scores, *as, *certificates;
  const char *sketch, *variant, *step;
  const char *model, *method, *kernel, *weights, *labels, *sql;
  const char *transform, *side, *queries, *engine, *html;
  double scale, target, gamma; /* 0: not given */
  cli_number nu, gap, offset, radius, score_error, tolerance;
  uint64_t seed, threads, neighbours, sample, first_row, degree, knn; /* 0: not given */
  uint64_t bits, batch, candidates;
  bool whiten, spherical, skip_bad, sweep, ranks, point, json, quiet, help;
} cli_options;

typedef enum cli_value_kind {
  CLI_FLAG,
  CLI_TEXT,
  CLI_PATH,    /* a file that is read */
  CLI_WRITTEN, /* a file that is made */
  CLI_CHOICE,
  CLI_POSITIVE,
  CLI_NUMBER, /* any number; whether it makes sense is the job's affair */
  CLI_COUNT,
  CLI_POSITIVE_COUNT
} cli_value_kind;

typedef struct cli_option {
  const char *name; /* long name, without the dashes */
  char letter;      /* 0: none */
  cli_value_kind kind;
  const char *value; /* what help calls the value; NULL for a flag */
  size_t offset;     /* in cli_options */
  const char *help;
  const char *(*choice)(size_t i); /* the i-th legal value, NULL past the end; for CLI_CHOICE */
} cli_option;

extern const cli_option cli_option_table[CLI_OPTION_COUNT];

struct cli_job;

/* Fills job->options, operands and count from argv (argv[0] is the verb). CLI_OK or CLI_USAGE. */
int cli_parse(struct cli_job *job, int argc, char **argv);

#endif
