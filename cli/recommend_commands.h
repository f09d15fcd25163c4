/* The commands that carry a recommendation out. */
#ifndef CLI_RECOMMEND_COMMANDS_H
#define CLI_RECOMMEND_COMMANDS_H

#include "cli.h"

/* Lines of shell, apart by newlines, with the file names of the job; BASE and QUERIES stand for what came by
 * a pipe or was not given. The caller frees them. NULL when there is no memory; "" where rows go into the
 * index as they are. */
char *cli_recommend_commands(const cli_job *job, const cpb_recommendation_facts *r);

#endif
