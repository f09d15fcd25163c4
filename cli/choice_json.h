/* A choice of scale by the options of a job, and its evidence as JSON. */
#ifndef CLI_CHOICE_JSON_H
#define CLI_CHOICE_JSON_H

#include "json_print.h"

/* The goal of --goal, or `otherwise`. */
cpb_goal cli_goal(const cli_job *job, cpb_goal otherwise);

/* CLI_USAGE after a sentence for a --target that is none, or that no goal asks for. */
int cli_check_target(const cli_job *job);

/* Chooses s by --target and --neighbours. CLI_OK, or an exit code after a sentence about `name` (NULL: the
 * states together). */
int cli_choose(const cli_job *job, const char *name, cpb_goal goal, const cpb_statistics_result *facts,
               cpb_view sample, const double *center, cpb_choice **choice);

double cli_choice_scale(const cpb_choice *choice);

/* "evidence" of a map file, text that the caller frees: what the goal measures at s, the curves and the
 * scales of the other goals. */
char *cli_evidence(const cli_job *job, cpb_goal goal, const cpb_choice *choice);

/* [[s, value], ..] */
json_t *cli_json_curve(const cpb_curve_point *points, size_t count);
json_t *cli_json_maxima(const cpb_abid_maximum *maxima, size_t count);

#endif
