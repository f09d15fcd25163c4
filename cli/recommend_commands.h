/* The shell commands that carry out a recommendation. */
#ifndef CLI_RECOMMEND_COMMANDS_H
#define CLI_RECOMMEND_COMMANDS_H

#include "cli.h"

/* Shell commands, one per line, with the file names of the job; BASE and QUERIES stand for inputs that are pipes or were
 * not given. The caller frees them. NULL if out of memory; "" if rows are indexed without a transform. */
char *cli_recommend_commands(const cli_job *job, const cpb_recommendation_facts *r);

#endif
