#include "evidence.h"

#include <math.h>

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

char *cli_evidence(const cpb_map_fit_options *options, const cpb_choice *of) {
  cpb_choice_facts facts = {.size = sizeof facts}, *choice = &facts;
  cpb_choice_describe(of, choice);
  cpb_goal goal = options->goal;
  cpb_text *root = cli_json("{s:f}", measured(goal), choice->value), *others = cli_json("{}");
  if (goal == CPB_GOAL_RECALL) {
    root = cpb_json_set(root, "target", cli_json("f", options->target));
    root = cpb_json_set(root, "neighbours", cli_json("I", (uint64_t)options->k));
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
