/* A choice of scale by the options of a job, and curves as JSON. */
#ifndef CLI_CHOICE_JSON_H
#define CLI_CHOICE_JSON_H

#include "capball/advanced/abid.h"
#include "json_print.h"

/* CLI_USAGE after a message if --target is invalid, or no goal uses it. */
int cli_check_target(const cli_job *job);

/* The defaults with --scale, --goal, --target and --neighbours. */
void cli_map_wish(const cli_job *job, cpb_map_fit_options *options);

/* [[s, value], ..] */
cpb_text *cli_json_curve(const cpb_curve_point *points, size_t count);
cpb_text *cli_json_maxima(const cpb_abid_maximum *maxima, size_t count);

#endif
