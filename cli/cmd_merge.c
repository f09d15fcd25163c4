/* Merges the statistics of pieces into those of the whole, or into a map. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/fitting.h"
#include "capball/advanced/rounds.h"
#include "capball/advanced/estimator.h"
#include "choice_json.h"
#include "data_file.h"

static int merge_states(const cli_job *job, cpb_statistics **whole) {
  int result = cli_read_state(job, job->operands[0], whole);
  for (size_t i = 1; i < job->count && result == CLI_OK; i++) {
    cpb_statistics *piece = NULL;
    cpb_error error;
    result = cli_read_state(job, job->operands[i], &piece);
    if (result == CLI_OK && cpb_statistics_merge(*whole, piece, &error) != CPB_OK)
      result = cli_fail(job, "%s: %s", job->operands[i], error.text);
    cpb_statistics_free(piece);
  }
  return result;
}

static int save_map(const cli_job *job, const cpb_map *map, const cpb_map_fit_options *of,
                    const cpb_map_fit_report *report) {
  cpb_map_options options = cli_map_options(map);
  char *evidence = NULL;
  cpb_error error;
  if (report->choice != NULL && cpb_choice_to_json(report->choice, of, &evidence, &error) != CPB_OK)
    return cli_fail(job, "%s", error.text);
  cpb_map_origin origin = {sizeof origin, cpb_goal_name(of->goal), NULL, report->rows, evidence};
  cpb_status status = cpb_map_save(map, job->options.output, &origin, &error);
  cpb_free(evidence);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  cli_say(job, "d = %zu, s = %.6g (%s), %llu row%s", options.d, options.s, origin.goal,
          (unsigned long long)report->rows, cli_s(report->rows));
  return CLI_OK;
}

/* Goals that depend on norms need pass 2 of every piece. */
static int check_norms(const cli_job *job, cpb_statistics *whole) {
  cpb_goal goal = (cpb_goal)job->options.goal.at;
  cpb_statistics_result facts = {.size = sizeof facts};
  cpb_error error;
  if (cpb_statistics_finish(whole, &facts, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  if (goal >= CPB_GOAL_SPREAD || facts.norm_rows == facts.rows) return CLI_OK;
  return cli_fail(
      job,
      "goal %s needs the norms of all %llu rows, these states have %llu: merge them into ALL.state, run "
      "`capball fit PIECE --about ALL.state --state P.state` on each piece, and merge those",
      cpb_goal_name(goal), (unsigned long long)facts.rows, (unsigned long long)facts.norm_rows);
}

static int make_map(const cli_job *job, cpb_statistics *whole) {
  cpb_map_fit_options options;
  cpb_map_fit_report report = {.size = sizeof report};
  cpb_map *map = NULL;
  cpb_error error;
  int result = check_norms(job, whole);
  if (result != CLI_OK) return result;
  cli_map_wish(job, &options);
  if (cpb_map_from_statistics(whole, &options, &map, &report, cli_exec(job), &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  if (result == CLI_OK) result = save_map(job, map, &options, &report);
  cpb_map_free(map);
  cpb_choice_free(report.choice);
  return result;
}

static bool is_map(const char *path) {
  size_t length = strlen(path);
  return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

static int run(cli_job *job) {
  cpb_statistics *whole = NULL;
  int result = cli_check_target(job);
  if (result == CLI_OK) result = merge_states(job, &whole);
  if (result == CLI_OK)
    result =
        is_map(job->options.output) ? make_map(job, whole) : cli_write_state(job, job->options.output, whole);
  cpb_statistics_free(whole);
  return result;
}

CLI_OPTIONS(options, &cli_opt_output, &cli_opt_goal, &cli_opt_target, &cli_opt_goal_neighbours,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_merge = {
    .verb = "merge",
    .operands = "A.state [B.state ..] -o S.state|MAP.json",
    .summary = "combine the statistics of pieces; fit a map to the whole",
    .formula = "sums without rounding, a sample by hash of (seed, row number): the same bytes for any "
               "division, in any order",
    .text = "`capball fit PIECE --state P.state --first-row N` writes the statistics of rows N, N+1, .. of "
            "the whole. Merged into MAP.json they suffice for the goals spread and recall.\n"
            "The goals mean, median and hemisphere need a second pass over each piece: `capball fit PIECE "
            "--about ALL.state --state Q.state`, where ALL.state is the merge of pass 1.\n"
            "States can be merged if columns, element type, seed and sample agree.",
    .example = "printf '3,4\\n6,8\\n' > a.csv\n"
               "printf '0,1\\n-2,5\\n' > b.csv\n"
               "capball fit a.csv --state a.state\n"
               "capball fit b.csv --state b.state --first-row 2\n"
               "capball merge a.state b.state -o all.state\n"
               "capball fit a.csv --about all.state --state a2.state\n"
               "capball fit b.csv --about all.state --state b2.state --first-row 2\n"
               "capball merge a2.state b2.state -o map.json --goal median",
    .least = 1,
    .most = 1 << 20,
    .options = options,
    .required = 1,
    .run = run};
