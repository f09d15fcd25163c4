/* The scale that the options of a job ask for, and the evidence for it. */
#ifndef CLI_CHOICE_JSON_H
#define CLI_CHOICE_JSON_H

#include "evidence.h"

/* CLI_USAGE after a sentence for a --target that is none, or that no goal asks for. */
int cli_check_target(const cli_job *job);

/* The defaults with --scale, --goal, --target and --neighbours. */
void cli_map_wish(const cli_job *job, cpb_map_fit_options *options);

#endif
