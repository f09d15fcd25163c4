#include "choice_json.h"
#include "json_print.h"

#include <math.h>
#include <string.h>

int cli_check_target(const cli_job *job) {
  const cli_options *o = &job->options;
  bool recall = o->goal.given && o->goal.at == CPB_GOAL_RECALL;
  if (o->target != 0 && !recall) return cli_misuse(job, "--target goes with --goal recall");
  if (o->neighbours != 0 && !recall) return cli_misuse(job, "--neighbours goes with --goal recall");
  if (o->target >= 1) return cli_misuse(job, "--target must be below 1, got %g", o->target);
  return CLI_OK;
}

void cli_map_wish(const cli_job *job, cpb_map_fit_options *options) {
  const cli_options *o = &job->options;
  cpb_map_fit_options_init(options, sizeof *options);
  options->s = o->scale;
  options->goal = (cpb_goal)o->goal.at;
  if (o->target != 0) options->target = o->target;
  if (o->neighbours != 0) options->k = (size_t)o->neighbours;
}

cpb_text *cli_json_curve(const cpb_curve_point *points, size_t count) {
  cpb_text *list = cli_json("[]");
  for (size_t i = 0; i < count; i++)
    list = cpb_json_append(list, cli_json("[f, f]", points[i].s, points[i].value));
  return list;
}

cpb_text *cli_json_maxima(const cpb_abid_maximum *maxima, size_t count) {
  cpb_text *list = cli_json("[]");
  for (size_t i = 0; i < count; i++)
    list = cpb_json_append(list, cli_json("[f, f]", maxima[i].s, maxima[i].abid));
  return list;
}

static const char *measured(cpb_goal goal) {
  return goal == CPB_GOAL_SPREAD ? "abid" : goal == CPB_GOAL_RECALL ? "recall" : "norm";
}

char *cli_evidence(const cli_job *job, cpb_goal goal, const cpb_choice *of) {
  cpb_choice_facts facts = {.size = sizeof facts}, *choice = &facts;
  cpb_choice_describe(of, choice);
  cpb_text *root = cli_json("{s:f}", measured(goal), choice->value), *others = cli_json("{}");
  if (goal == CPB_GOAL_RECALL) {
    uint64_t k = job->options.neighbours;
    root = cpb_json_set(root, "target", cli_json("f", job->options.target != 0 ? job->options.target : 0.99));
    root = cpb_json_set(root, "neighbours", cli_json("I", k != 0 ? (uint64_t)k : 10));
  }
  for (size_t other = 0; other < choice->alternative_count; other++)
    if (other != (size_t)goal && isfinite(choice->alternatives[other]))
      others =
          cpb_json_set(others, cpb_goal_name((cpb_goal)other), cli_json("f", choice->alternatives[other]));
  root = cpb_json_set(root, "alternatives", others);
  if (choice->abid_count > 0) {
    root = cpb_json_set(root, "abid_curve", cli_json_curve(choice->abid, choice->abid_count));
    root = cpb_json_set(root, "abid_maxima", cli_json_maxima(choice->maxima, choice->maxima_count));
  }
  if (choice->ceiling_count > 0)
    root = cpb_json_set(root, "recall_curve", cli_json_curve(choice->ceiling, choice->ceiling_count));
  return cli_json_text(root);
}
