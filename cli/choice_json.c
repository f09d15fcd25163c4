#include "choice_json.h"
#include "json_print.h"

int cli_check_target(const cli_job *job) {
  const cli_options *o = &job->options;
  bool recall = o->goal.given && o->goal.at == CPB_GOAL_RECALL;
  if (o->target.given && !recall) return cli_misuse(job, "--target goes with --goal recall");
  if (o->neighbours.given && !recall) return cli_misuse(job, "--neighbours goes with --goal recall");
  return CLI_OK;
}

void cli_map_wish(const cli_job *job, cpb_map_fit_options *options) {
  const cli_options *o = &job->options;
  cpb_map_fit_options_init(options, sizeof *options);
  options->s = o->scale.value;
  options->goal = (cpb_goal)o->goal.at;
  options->target = o->target.value;
  options->k = (size_t)o->neighbours.value;
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
